package mapper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

var accountOptions = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(account{}, "_")}

// fault is the fault that a transport gives one request.
type fault int

const (
	none fault = iota
	dropRequest
	dropAnswer
	throttle
	serverError // after the effect
	cancelBefore
	cancelAfter
	collide // as a transaction that meets another
	deny
)

var faultNames = map[fault]string{
	dropRequest: "drop the request", dropAnswer: "drop the answer", throttle: "throttle",
	serverError: "fail after the effect", cancelBefore: "cancel before", cancelAfter: "cancel after the effect",
}

// faulty is a transport that does one fault to one request.
type faulty struct {
	mu     sync.Mutex
	count  int
	at     int // the request, from 0; -1 for none
	fault  fault
	cancel context.CancelFunc
	// late, if set, is given requests to be sent another time.
	late func(*http.Request) bool
	// pick, if set, chooses the fault of each request.
	pick func() fault
	log  []string
}

var errDropped = errors.New("connection reset by test")

func (f *faulty) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	n := f.count
	f.count++
	f.log = append(f.log, operation(r))
	do := none
	if n == f.at {
		do = f.fault
	}
	if f.pick != nil {
		do = f.pick()
	}
	f.mu.Unlock()
	if f.late != nil && f.late(r) {
		return nil, errDropped
	}
	switch do {
	case dropRequest:
		return nil, errDropped
	case throttle:
		return answer(r, 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",`+
			`"message":"slow down"}`), nil
	case collide:
		return answer(r, 400, collision(r)), nil
	case deny:
		return answer(r, 400, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`), nil
	case cancelBefore:
		f.cancel()
		return nil, context.Canceled
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	switch {
	case err != nil || do == none:
		return resp, err
	case do == cancelAfter:
		f.cancel()
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if do == serverError {
		return answer(r, 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"sorry"}`),
			nil
	}
	return nil, errDropped
}

// collision is the answer to a write that meets a transaction.
func collision(r *http.Request) string {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"Transaction ` +
			`cancelled [TransactionConflict]",` +
			`"CancellationReasons":[{"Code":"TransactionConflict","Message":"ongoing"},{"Code":"None"}]}`
	}
	return `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException",` +
		`"message":"TransactionConflict: ongoing"}`
}

func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader([]byte(body))),
	}
}

// client returns a client with a transport and a number of attempts of the SDK.
func client(t testing.TB, f *faulty, attempts int) *dynamodb.Client {
	return testengine.Start(t).Client(func(o *dynamodb.Options) {
		o.HTTPClient = f
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = attempts
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration,
				error,
			) {
				return time.Millisecond, nil
			})
			o.RateLimiter = nil
		})
		o.Retryer = noLimit{o.Retryer}
	})
}

// noLimit takes the token bucket off a retryer: tests fail more often than it allows.
type noLimit struct{ aws.Retryer }

func (noLimit) GetRetryToken(context.Context, error) (func(error) error, error) {
	return func(error) error { return nil }, nil
}
func (noLimit) GetInitialToken() func(error) error { return func(error) error { return nil } }

// scenario is a change of an entity, and the stored entity after it.
type scenario struct {
	name string
	// before is the stored entity at first; nil for none.
	before *account
	// do makes the change, and after is the stored entity then; nil for none.
	do    func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error
	after *account
	// between reports whether a state that is stored after a failure is one that
	// an operation that is not atomic may leave; nil for one that is.
	between func(account) bool
}

func scenarios() []scenario {
	small := func() *account {
		return &account{Counter: 1, Left: "a", Right: "a", Entries: []part{{1, "x"}, {2, "y"}}}
	}
	save := func(change func(*account), options ...mapper.WriteOption) func(context.Context, *mapper.Mapper[account],
		*mapper.Entity[account]) error {
		return func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error {
			change(&e.Value)
			_, err := m.Save(ctx, e, options...)
			return err
		}
	}
	with := func(change func(*account)) *account {
		a := small()
		change(a)
		return a
	}
	anyOf := func(account) bool { return true }
	one := func(a *account) { a.Counter = 2 }
	both := func(a *account) { a.Left, a.Right = "b", "b" }
	list := func(a *account) { a.Entries = []part{{2, "z"}, {3, "w"}} }
	fill := func(a *account) { id := a.ID; *a = *small(); a.ID = id }
	big := func(a *account) {
		fill(a)
		a.Entries = nil
		for i := range 120 {
			a.Entries = append(a.Entries, part{i, "e"})
		}
	}
	root := func(a *account) { a.Counter = 7 }
	return []scenario{
		{"insert", nil, save(fill), small(), nil},
		{"insert one item", nil, save(root), &account{Counter: 7}, nil},
		{"insert one by one", nil, save(fill, mapper.Independent()), small(), anyOf},
		{"insert staged", nil, save(fill, mapper.Staged()), small(), nil},
		{"insert more than a transaction", nil, save(big), with(big), nil},
		{"update one item", small(), save(one), with(one), nil},
		{"update one item exactly once", small(), save(one, mapper.ExactlyOnce()), with(one), nil},
		{"update two items", small(), save(both), with(both), nil},
		{"update two items one by one", small(), save(both, mapper.Independent()), with(both), anyOf},
		{"update and check", small(), save(one, mapper.CheckLoaded()), with(one), nil},
		{"add, change and remove elements", small(), save(list), with(list), nil},
		{
			"remove an item", small(), save(func(a *account) { a.Left = "" }), with(func(a *account) { a.Left = "" }),
			nil,
		},
		{"delete", small(), func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error {
			_, err := m.Delete(ctx, e)
			return err
		}, nil, nil},
		{
			"delete one by one", small(),
			func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error {
				_, err := m.Delete(ctx, e, mapper.Independent())
				return err
			}, nil, anyOf,
		},
		{
			"delete staged", small(),
			func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error {
				_, err := m.DeleteByKey(ctx, m.Key(e.Value.ID), mapper.Staged())
				return err
			}, nil, nil,
		},
		{
			"delete staged what was loaded", small(),
			func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error {
				_, err := m.Delete(ctx, e, mapper.Staged())
				return err
			}, nil, nil,
		},
		{"update", small(), func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error {
			_, err := m.Update(ctx, m.Key(e.Value.ID), func(a *account) error { both(a); return nil })
			return err
		}, with(both), nil},
		{
			"delete a part", small(),
			func(ctx context.Context, m *mapper.Mapper[account], e *mapper.Entity[account]) error {
				_, err := m.DeleteByKey(ctx, m.Key(e.Value.ID).Prefix("ENTRY#"))
				return err
			}, with(func(a *account) { a.Entries = nil }), nil,
		},
	}
}

// newAccounts returns a mapper on a table.
func newAccounts(t testing.TB, table string, f *faulty, attempts int) *mapper.Mapper[account] {
	t.Helper()
	m, err := mapper.New[account](client(t, f, attempts), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stored loads a stored account, nil for none.
func stored(t testing.TB, m *mapper.Mapper[account], id string) *account {
	t.Helper()
	e, err := m.Load(context.Background(), m.Key(id), mapper.Strong())
	if errors.Is(err, mapper.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &e.Value
}

// same compares accounts except for their IDs.
func same(a, b *account) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.ID, y.ID = "", ""
	return cmp.Equal(x, y, accountOptions)
}

// Every fault at every request of every scenario. The stored entity is then the old or the new one,
// never a mixture. The error says if the outcome is unknown, and a retry leads to the new state.
func TestFaultAtEveryRequest(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 5)
	id := 0
	runs, unknown := 0, 0
	seed := draws.Seed(t)
	for _, attempts := range []int{1, 3} {
		for _, sc := range scenarios() {
			t.Run(fmt.Sprintf("%s with %d attempts", sc.name, attempts), func(t *testing.T) {
				run := func(at int, kind fault, what string) (requests int) {
					id++
					tr := &faulty{at: -1, fault: kind}
					requests, lost := sc.run(t, clean, newAccounts(t, table, tr, attempts), tr, at,
						fmt.Sprintf("%06d", id), what)
					if lost {
						unknown++
					}
					return requests
				}
				kinds := slices.Sorted(maps.Keys(faultNames))
				requests := run(-1, none, "no fault")
				for _, drawn := range draws.Some(seed, requests*len(kinds), draws.Times(1, 8, draws.All)) {
					at, kind := drawn/len(kinds), kinds[drawn%len(kinds)]
					if at > 5 && at < requests-5 && requests > 50 {
						continue // those between are all alike
					}
					runs++
					run(at, kind, faultNames[kind])
				}
			})
		}
	}
	t.Logf("%d runs, %d of unknown outcome", runs, unknown)
}

// run runs a scenario with a fault at one request. It returns how many requests
// it sent, and whether its outcome was unknown.
func (sc *scenario) run(t *testing.T, clean, m *mapper.Mapper[account], tr *faulty, at int, id,
	what string,
) (requests int, lost bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := m.New(account{ID: id})
	if sc.before != nil {
		b := *sc.before
		b.ID = id
		if _, err := clean.Save(ctx, clean.New(b)); err != nil {
			t.Fatal(err)
		}
		var err error
		if e, err = m.Load(ctx, m.Key(id)); err != nil {
			t.Fatal(err)
		}
	}
	tr.count, tr.at, tr.cancel, tr.log = 0, at, cancel, nil
	err := sc.do(ctx, m, e)
	requests, tr.at = tr.count, -1
	bad := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s at request %d of %v: %s (error: %v)", what, at, tr.log, fmt.Sprintf(format, args...), err)
	}
	now := stored(t, clean, id)
	var outcome *mapper.OutcomeUnknownError
	var partial *mapper.PartialError
	lost = errors.As(err, &outcome)
	switch {
	case err == nil && !same(now, sc.after):
		bad("stored %+v, want %+v", now, sc.after)
	case err != nil && !same(now, sc.before) && !same(now, sc.after) &&
		(sc.between == nil || now != nil && !sc.between(*now)):
		bad("torn: stored %+v", now)
	case err != nil && !same(now, sc.before) && !lost && !errors.As(err, &partial) && sc.between == nil:
		bad("changed without saying so: stored %+v", now)
	}
	if err == nil {
		return requests, lost
	}
	// It can be done again, with the same entity, until it succeeds.
	ctx = context.Background()
	for try := 0; ; try++ {
		err = sc.do(ctx, m, e)
		if err == nil || sc.after == nil && errors.Is(err, mapper.ErrNotFound) {
			break
		}
		// A canceled request can take a neighbour's connection with it.
		var network net.Error
		if try == 3 || !errors.As(err, &network) && !strings.Contains(err.Error(), "closed network connection") {
			bad("it cannot be done again")
		}
	}
	if now = stored(t, clean, id); !same(now, sc.after) {
		bad("after the second time: stored %+v, want %+v", now, sc.after)
	}
	return requests, lost
}
