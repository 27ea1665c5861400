package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// panicOf returns what a function panics with, "" for nothing.
func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// Changed panics for handles of another model, and in a Change without a record. Both answers would be wrong.
func TestChangedRefusesOtherHandles(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	router := stream.NewRouter()
	stream.On(router, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if text := panicOf(func() { c.Changed(store.UserFields.Email) }); !strings.Contains(text, "another model") {
			t.Errorf("a handle of another model: %q", text)
		}
		return nil
	})
	for _, r := range kit.Must(stream.RecordsOf(m, nil, &kit.Account{ID: "1", Counter: 1}))(t) {
		if err := router.Handle(context.Background(), r); err != nil {
			t.Error(err)
		}
	}
	literal := stream.Change[store.User]{New: &store.User{}}
	if text := panicOf(func() { literal.Changed(store.UserFields.Email) }); !strings.Contains(text, "RecordsOf") {
		t.Errorf("a literal: %q", text)
	}
	shown := stream.Change[store.User]{New: &store.User{}, Snapshot: true}
	if !shown.Changed(store.UserFields.Email) {
		t.Error("in a snapshot all fields have changed")
	}
}

// RecordsOf reports values that cannot be stored, and changes no argument.
func TestRecordsOfChecksValues(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	if _, err := stream.RecordsOf(m, &kit.Account{}, nil); !errors.As(err, new(*mapper.ValueError)) {
		t.Errorf("no key: %v", err)
	}
	if all, err := stream.RecordsOf(m, nil, nil); err != nil || len(all) != 0 {
		t.Errorf("nothing: %v, %v", all, err)
	}
	same := &kit.Account{ID: "1", Counter: 1}
	if all, err := stream.RecordsOf(m, same, same); err != nil || len(all) != 0 {
		t.Errorf("no change: %v, %v", all, err)
	}
}

// A record that cannot be decoded has the error type of docs/errors.md, also through the router.
func TestUndecodableRecordsHaveTheirType(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	bad := account("HEAD", 'a', kit.Item{"Counter": kit.S("secret")})
	router := stream.NewRouter()
	stream.On(router, m, func(context.Context, *stream.Change[kit.Account]) error { return nil })
	_, decoded := m.Decode(bad)
	_, changed := m.DecodeChange(nil, bad)
	for name, err := range map[string]error{
		"Decode": decoded, "DecodeChange": changed, "Handle": router.Handle(context.Background(), record(nil, bad)),
	} {
		var e *mapper.StoredValueError
		if !errors.As(err, &e) || e.Field == "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
	f := stream.Lambda(router, stream.OnFailure(func(_ context.Context, _ *stream.Record, err error) {
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("a value in the error: %v", err)
		}
	}))
	out := kit.Must(f.Handle(context.Background(), []byte(`{"Records": [{"eventID": "e", "dynamodb": {
		"SequenceNumber": "1", "NewImage": {"PK": "secret"}}}]}`)))(t)
	if len(out.Failures) != 1 {
		t.Errorf("%+v", out)
	}
}

// Functions of the user that panic stop nothing: those for dead letters, for errors, and for failures of Lambda.
func TestPanicsOfOptionsStopNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var letters atomic.Int64
	c := w.begin(stream.Attempts(1, 1, 1), stream.OnError(func(error) { panic("OnError") }),
		stream.DeadLetters(func(context.Context, *stream.Letter) error {
			if letters.Add(1) < 3 {
				panic("DeadLetters")
			}
			return nil
		}))
	w.c.failAt = func(id string, n int) error { return errors.New("refused") }
	w.write("a", 1)
	until(t, "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
	f := stream.Lambda(
		stream.NewRouter(),
		stream.OnFailure(func(context.Context, *stream.Record, error) { panic("OnFailure") }),
	)
	if _, err := f.Handle(context.Background(), []byte(`{"Records": [{"dynamodb": {"SequenceNumber": "1",
		"NewImage": {"PK": "x"}}}]}`)); err != nil {
		t.Error(err)
	}
}

// A handler that obeys its context ends at Timeout, and is called again.
func TestTimeoutEndsCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var calls atomic.Int64
	c := w.beginWith(func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		if calls.Add(1) == 1 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}, stream.Timeout(20*time.Millisecond))
	w.write("a", 1)
	until(t, "the second call", func() bool { return c.Stats().Handled >= 1 && calls.Load() == 2 })
}

// An owner without a counter is watched like a worker: a read of the workers can be older than the lease.
func TestUnknownOwnersAreWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	until(t, "the first lease", func() bool { return first.Stats().Shards == 1 })
	first.leave()
	<-first.ended
	w.set(w.shards[0].id, "Owner", kit.S("unknown"))
	begun := time.Now()
	c := w.begin()
	until(t, "the lease", func() bool { return c.Stats().Shards == 1 })
	if d := time.Since(begun); d < failover(t) {
		t.Errorf("taken after %v, before the failover time", d)
	}
}

// A consumer runs once at a time, and again when it has ended.
func TestConsumersRunOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.begin()
	until(t, "the shard", func() bool { return c.Stats().Shards == 1 })
	if err := c.Run(w.ctx); err == nil || !strings.Contains(err.Error(), "running") {
		t.Errorf("twice: %v", err)
	}
	c.leave()
	<-c.ended
	over, stop := context.WithCancel(w.ctx)
	stop()
	if err := c.Run(over); err != nil {
		t.Errorf("again: %v", err)
	}
}

// A group is not deleted while a worker beats. The cure of an error about the table of leases is of its kind.
func TestDeleteGroupRefusesRunningWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := testengine.Start(t).Client()
	c := w.begin()
	until(t, "the shard", func() bool { return c.Stats().Shards == 1 })
	err := stream.DeleteGroup(w.ctx, client, w.leases, "accounts", "default")
	if err == nil || !strings.Contains(err.Error(), "stop all workers") {
		t.Errorf("beside a worker: %v", err)
	}
	c.kill() // its counter stays
	<-c.ended
	if err := stream.DeleteGroup(w.ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Error(err)
	}
	err = stream.DeleteGroup(w.ctx, client, "no-such-table", "accounts", "default")
	if err == nil || !strings.Contains(err.Error(), "stream.LeaseTable") {
		t.Errorf("no table: %v", err)
	}
	over, stop := context.WithCancel(w.ctx)
	stop()
	if err := stream.DeleteGroup(over, client, w.leases, "accounts", "default"); err == nil ||
		strings.Contains(err.Error(), "stream.LeaseTable") {
		t.Errorf("no network: %v", err)
	}
}

// Options that lose changes are refused, and numbers that are no durations.
func TestOptionsThatLoseChangesAreRefused(t *testing.T) {
	t.Parallel()
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(context.Context, *stream.Change[kit.Account]) error { return nil })
	for want, options := range map[string][]stream.ConsumerOption{
		"Interval(5ns)":         {stream.Interval(5)},
		"Timeout(1ns)":          {stream.Timeout(1)},
		"leave out From":        {stream.WithSnapshot(), stream.From(time.Now())},
		"From is in the future": {stream.From(time.Now().Add(time.Hour))},
	} {
		_, err := stream.NewConsumer(dynamodb.New(dynamodb.Options{}), dynamodbstreams.New(dynamodbstreams.Options{}),
			"accounts", router, options...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := stream.PlanConsumer(
		1,
		1,
		stream.Poll(-1),
	); err == nil ||
		!strings.Contains(err.Error(), "PlanConsumer: Poll") {
		t.Error(err)
	}
}

// A letter of a record that was not decoded has the text, which has no values, and one of a handler the types.
func TestLettersSayWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := testengine.Start(t).Client()
	c := w.begin(stream.Attempts(1, 1, 1))
	w.c.failAt = func(string, int) error {
		return fmt.Errorf("secret: %w", &types.ConditionalCheckFailedException{})
	}
	w.write("a", 1)
	w.write("a", 2)
	w.mu.Lock()
	w.shards[0].records[1].Dynamodb.NewImage["Counter"] = w.shards[0].records[1].Dynamodb.Keys["PK"]
	w.mu.Unlock()
	until(t, "the letters", func() bool { return c.Stats().DeadLetters >= 2 })
	all := kit.Must(stream.Letters(w.ctx, client, w.leases, "accounts", "default"))(t)
	if len(all) != 2 {
		t.Fatal(all)
	}
	if got := all[0].Err.Error(); got != "*types.ConditionalCheckFailedException ConditionalCheckFailedException" {
		t.Errorf("of the handler: %q", got)
	}
	if got := all[1].Err.Error(); !strings.Contains(got, `attribute "Counter"`) ||
		strings.Contains(got, "ACCOUNT#a\"") {
		t.Errorf("of the record: %q", got)
	}
}

// An iterator at the beginning of an empty stream is refused by DynamoDB Local as soon as there is a record. Nothing
// was trimmed.
func TestEmptyStreamsAreNotTrimmed(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	router := stream.NewRouter()
	stream.On(router, m, func(context.Context, *stream.Change[kit.Account]) error { return nil })
	c := kit.Must(stream.NewConsumer(testengine.Start(t).Client(), streamClient(t), table, router,
		quick(t, stream.Leases(leases))...))(t)
	run(t, c)
	until(t, "the shard", func() bool { return c.Stats().Shards == 1 })
	time.Sleep(100 * time.Millisecond) // some empty answers
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	until(t, "the change", func() bool { return c.Stats().Handled > 0 })
	if got := c.Stats(); got.Trimmed != 0 {
		t.Errorf("%+v", got)
	}
}
