package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// errDenied is the answer to a caller without a permission.
var errDenied = &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized"}

// denial refuses requests while it is on: those to the stream, and those to tables whose name or body has a text.
type denial struct {
	on        atomic.Bool
	operation string
	text      string
}

func (d *denial) fail(operation, _ string) error {
	if d.on.Load() && operation == d.operation {
		return errDenied
	}
	return nil
}

func (d *denial) do(q *http.Request, body string) (*http.Response, error) {
	_, operation, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	if d.on.Load() && operation == d.operation && strings.Contains(body, d.text) {
		return &http.Response{
			StatusCode: 400, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazon.coral.service#AccessDeniedException",` +
				`"message":"not authorized"}`)),
		}, nil
	}
	return http.DefaultClient.Do(q)
}

// While requests of any kind fail, the lag of a worker that had caught up grows. It is 0 again when they succeed, and
// the reports name the table, the group and a cure.
func TestLagGrowsWhileRequestsFail(t *testing.T) {
	t.Parallel()
	for _, d := range []*denial{
		{operation: "GetRecords"},
		{operation: "DescribeTable"},
		{operation: "DescribeStream"},
		{operation: "Query", text: "SHARDS#"},
		{operation: "UpdateItem", text: "WORKERS#"},
	} {
		t.Run(d.operation+d.text, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if d.text == "" {
				w.fail = d.fail
			}
			m := w.through(d.do, nil, w.c.handle)
			w.write("a", 1)
			ended := func(n int64) func() bool {
				return func() bool { s := m.Stats(); return s.Handled >= n && s.Behind == 0 && s.Lag == 0 }
			}
			soon(t, "the end of the shard", ended(1))
			d.on.Store(true)
			if strings.HasPrefix(d.operation, "Describe") { // it cannot find the shards after this one
				w.split(0, false)
			}
			soon(t, "a lag that grows", func() bool { s := m.Stats(); return s.Behind > 0 && s.Lag > failover(t)/2 })
			eventually(t, 10*failover(t), "a report with its subject and cure", func() bool {
				text, _ := w.last.Load().(string)
				return !slices.ContainsFunc(
					[]string{"stream of the table accounts: group default: ", "denied", "allow"},
					func(part string) bool { return !strings.Contains(text, part) },
				)
			})
			d.on.Store(false)
			w.write("a", 2)
			soon(t, "the end", ended(2))
		})
	}
}

// A consumer is behind before it begins, while a snapshot is scanned, until its records are handled, and after its end.
func TestBehindUntilTheSnapshotIsComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	table := testengine.Table(t, "PK:S", "SK:S")
	accounts := kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table)))(t)
	for n := range 3 {
		kit.Must(accounts.Save(context.Background(), accounts.New(kit.Account{ID: fmt.Sprint(n)})))(t)
	}
	out := make(chan struct{})
	m := w.snapshots(table, nil, nil, func(context.Context, *stream.Change[kit.Account]) error { <-out; return nil },
		stream.WithSnapshot())
	begun := time.Now()
	for range 3 {
		if s := m.Stats(); s.Behind == 0 {
			t.Fatalf("it has not begun: %+v", s)
		}
		out <- struct{}{}
	}
	soon(t, "the end", func() bool { return m.Stats().Behind == 0 })
	if s := m.Stats(); s.Handled != 3 || s.Lag != 0 {
		t.Errorf("at the end, after %v: %+v", time.Since(begun), s)
	}
	m.leave()
	<-m.ended
	if s := m.Stats(); s.Behind == 0 || s.Lag != 0 {
		t.Errorf("after Run: %+v", s)
	}
}

// Shards that no worker reads count: those whose parent another worker has, and those whose lease cannot be taken.
func TestShardsWithoutAReaderAreBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &denial{operation: "UpdateItem", text: "SHARDS#"}
	d.on.Store(true)
	m := w.through(d.do, nil, w.c.handle)
	soon(t, "a lag", func() bool { s := m.Stats(); return s.Behind == 1 && s.Shards == 0 && s.Lag > failover(t)/2 })
	d.on.Store(false)
	soon(t, "the end", func() bool { s := m.Stats(); return s.Behind == 0 && s.Shards == 1 })
}

// Records of no model are counted: the keys of a model can have changed.
func TestUnmatchedRecordsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a", 1)
	m := w.begin()
	for _, key := range []string{"OTHER#1", "OTHER#2"} {
		w.mu.Lock()
		w.next++
		keys := map[string]streams.AttributeValue{
			"PK": &streams.AttributeValueMemberS{Value: key}, "SK": &streams.AttributeValueMemberS{Value: "X"},
		}
		w.shards[0].records = append(w.shards[0].records, streams.Record{Dynamodb: &streams.StreamRecord{
			Keys: keys, NewImage: keys, SequenceNumber: aws.String(fmt.Sprintf("%021d", w.next)),
		}})
		w.mu.Unlock()
	}
	soon(t, "both", func() bool { s := m.Stats(); return s.Handled >= 3 && s.Unmatched >= 2 })
}

// Run does not begin if a program, a table or permissions have to be changed first. Other errors are survived.
func TestRunRefusesWhatFailsAgain(t *testing.T) {
	t.Parallel()
	client := testengine.Start(t).Client()
	denied := func(code string) func(*scripted) {
		return func(s *scripted) {
			s.fail = func(operation, _ string) error {
				if operation == "DescribeStream" {
					return &smithy.GenericAPIError{Code: code, Message: "x"}
				}
				return nil
			}
		}
	}
	for name, c := range map[string]struct {
		change  func(*scripted)
		streams stream.Streams
		table   string
		cure    string
	}{
		"denied":      {change: denied("AccessDeniedException"), cure: "IAM policy"},
		"credentials": {change: denied("UnrecognizedClientException"), cure: "credentials"},
		"signature":   {change: denied("InvalidSignatureException"), cure: "credentials"},
		"no region": {
			streams: dynamodbstreams.New(dynamodbstreams.Options{Retryer: aws.NopRetryer{}}), cure: "Region",
		},
		"no table": {table: "practise", cure: "check the name"},
		"no permission for the table": {change: func(s *scripted) {
			s.fail = func(operation, _ string) error {
				if operation == "DescribeTable" {
					return errDenied
				}
				return nil
			}
		}, cure: "IAM policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScripted()
			if c.change != nil {
				c.change(s)
			}
			of := c.streams
			if of == nil {
				of = s
			}
			router := stream.NewRouter()
			router.Unmatched(func(context.Context, *stream.Record) error { return nil })
			var from stream.Client = describing{client, s}
			table := "accounts"
			if c.table != "" {
				from, table = client, c.table
			}
			consumer := kit.Must(stream.NewConsumer(from, of, table, router, quick(t, stream.Leases(testengine.Table(t,
				"PK:S", "SK:S")))...))(t)
			err := consumer.Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), "stream of the table "+table+": ") ||
				!strings.Contains(err.Error(), c.cure) || strings.Count(err.Error(), "stream of the table") > 1 {
				t.Errorf("%v", err)
			}
		})
	}
}

// Errors of calls that a program has to change are of the class mapper.ErrUsage.
func TestWrongCallsAreUsageErrors(t *testing.T) {
	t.Parallel()
	_, ofConsumer := stream.NewConsumer(nil, nil, "t", nil)
	_, ofPlan := stream.PlanConsumer(-1, 1)
	_, ofOptions := stream.PlanConsumer(1, 1, stream.Interval(0))
	ofRecord := stream.NewRouter().Handle(context.Background(), nil)
	_, ofEvent := stream.EventOf(nil)
	for i, err := range []error{ofConsumer, ofPlan, ofOptions, ofRecord, ofEvent} {
		if !errors.Is(err, mapper.ErrUsage) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// Handlers are added before a router is used.
func TestRoutersInUseAreClosed(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	records := kit.Must(stream.RecordsOf(m, nil, &kit.Account{ID: "a"}))(t)
	none := func(context.Context, *stream.Change[kit.Account]) error { return nil }
	for name, use := range map[string]func(*stream.Router) error{
		"Handle": func(r *stream.Router) error { return r.Handle(context.Background(), records[0]) },
		"Lambda": func(r *stream.Router) error {
			_, err := stream.Lambda(r).Invoke(context.Background(), kit.Must(stream.EventOf(records...))(t))
			return err
		},
		"Run": func(r *stream.Router) error {
			ctx, cancel := context.WithCancel(context.Background())
			c := kit.Must(stream.NewConsumer(describing{testengine.Start(t).Client(), newScripted()}, newScripted(),
				"accounts", r, quick(t, stream.Leases(testengine.Table(t, "PK:S", "SK:S")))...))(t)
			go func() { soon(t, "a shard", func() bool { return c.Stats().Shards > 0 }); cancel() }()
			return c.Run(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			router := stream.NewRouter()
			stream.On(router, m, none)
			if err := use(router); err != nil {
				t.Fatal(err)
			}
			for _, add := range []func(){
				func() { stream.On(router, m, none) },
				func() { router.Unmatched(func(context.Context, *stream.Record) error { return nil }) },
			} {
				if text := panicOf(add); !strings.Contains(text, "used already") {
					t.Errorf("added: %s", text)
				}
			}
		})
	}
}

// A panic is reported with its function and line, also one inside of the library or the runtime.
func TestPanicsNameTheirPlace(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	records := kit.Must(stream.RecordsOf(m, &kit.Account{ID: "a"}, nil))(t)
	for name, handle := range map[string]func(context.Context, *stream.Change[kit.Account]) error{
		"nil":     func(_ context.Context, c *stream.Change[kit.Account]) error { return errors.New(c.New.ID) },
		"library": func(_ context.Context, c *stream.Change[kit.Account]) error { c.Changed(nil); return nil },
		"value":   func(context.Context, *stream.Change[kit.Account]) error { panic("x") },
		"index": func(_ context.Context, c *stream.Change[kit.Account]) error {
			return errors.New(c.Old.Entries[len(c.Old.ID)+5].Text)
		},
	} {
		router := stream.NewRouter()
		stream.On(router, m, handle)
		err := router.Handle(context.Background(), records[0])
		if err == nil || !strings.Contains(err.Error(), "panic in stream_test.TestPanicsNameTheirPlace.func") ||
			!strings.Contains(err.Error(), ", reports_test.go:") || strings.Contains(err.Error(), "/reports_test.go") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Redrive says what it could not read, and why.
func TestRedriveSaysWhyItCannotRead(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"any more, which it keeps": &streams.TrimmedDataAccessException{Message: aws.String("x")},
		"does not exist":           &streams.ResourceNotFoundException{Message: aws.String("x")},
		"IAM policy":               errDenied,
		"wrong length":             &smithy.GenericAPIError{Code: "ValidationException", Message: "wrong length"},
	} {
		s := newScripted()
		s.fail = func(string, string) error { return err }
		got := stream.Lambda(stream.NewRouter()).Redrive(context.Background(), s, []byte(`{"DDBStreamBatchInfo": {
			"shardId": "s", "startSequenceNumber": "1", "endSequenceNumber": "2", "streamArn": "x:table/t/stream/1"}}`))
		if got == nil || !strings.Contains(got.Error(), want) || want != "any more, which it keeps" &&
			strings.Contains(got.Error(), "24 hours") {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
