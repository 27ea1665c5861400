package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/migrate"
)

// trace is the requests of a run, in the order in which they began.
type trace struct {
	mu    sync.Mutex
	calls []*call
	ended int
}

// call is a request of a trace.
type call struct {
	in any
	// after is how many requests had ended when it began, and place when it ended, counted among all ends.
	after, place int
}

// option has a client note its requests.
func (t *trace) option(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("trace", func(ctx context.Context,
			in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			t.mu.Lock()
			c := &call{in: in.Parameters, after: t.ended}
			t.calls = append(t.calls, c)
			t.mu.Unlock()
			out, md, err := next.HandleInitialize(ctx, in)
			t.mu.Lock()
			defer t.mu.Unlock()
			c.place = t.ended
			t.ended++
			return out, md, err
		}), middleware.Before)
	})
}

// replay sends the requests again, by the SDK alone: each when those have ended that had ended before it, so that as
// many are under way as were.
func (t *trace) replay(ctx context.Context, c *dynamodb.Client) error {
	var mu sync.Mutex
	var failed error
	moved := sync.NewCond(&mu)
	done, through := make([]bool, len(t.calls)), 0 // the first requests that have ended, in the order of the trace
	work := make(chan *call)
	idle := 0
	for _, next := range t.calls {
		mu.Lock()
		for through < next.after && failed == nil {
			moved.Wait()
		}
		if failed != nil {
			mu.Unlock()
			break
		}
		if idle == 0 {
			go func() {
				for x := range work {
					err := send(ctx, c, x.in)
					mu.Lock()
					if err != nil {
						failed = err
					}
					for done[x.place] = true; through < len(done) && done[through]; {
						through++
					}
					idle++
					moved.Signal()
					mu.Unlock()
				}
			}()
		} else {
			idle--
		}
		mu.Unlock()
		work <- next
	}
	close(work)
	mu.Lock()
	defer mu.Unlock()
	for through < len(t.calls) && failed == nil {
		moved.Wait()
	}
	return failed
}

// send sends a request.
func send(ctx context.Context, c *dynamodb.Client, in any) (err error) {
	switch in := in.(type) {
	case *dynamodb.ScanInput:
		_, err = c.Scan(ctx, in)
	case *dynamodb.QueryInput:
		_, err = c.Query(ctx, in)
	case *dynamodb.GetItemInput:
		_, err = c.GetItem(ctx, in)
	case *dynamodb.BatchGetItemInput:
		_, err = c.BatchGetItem(ctx, in)
	case *dynamodb.PutItemInput:
		_, err = c.PutItem(ctx, in)
	case *dynamodb.UpdateItemInput:
		_, err = c.UpdateItem(ctx, in)
	case *dynamodb.DeleteItemInput:
		_, err = c.DeleteItem(ctx, in)
	case *dynamodb.BatchWriteItemInput:
		_, err = c.BatchWriteItem(ctx, in)
	case *dynamodb.BatchExecuteStatementInput:
		_, err = c.BatchExecuteStatement(ctx, in)
	case *dynamodb.TransactWriteItemsInput:
		_, err = c.TransactWriteItems(ctx, in)
	case *dynamodb.DescribeTableInput:
		_, err = c.DescribeTable(ctx, in)
	default:
		err = fmt.Errorf("the benchmark does not send a %T", in)
	}
	return err
}

// BenchmarkRatio compares a run with the SDK alone that sends the same requests, with as many under way: x-same is how
// many times as fast the run is, a median. least and most are those of the rounds, and x-best compares the fastest of
// each side.
func BenchmarkRatio(b *testing.B) {
	for _, items := range []int{7, 50} {
		b.Run(fmt.Sprintf("job=migrate-entities-of-%d-items/lib=itemize", items), func(b *testing.B) {
			againstReplay(b, entities(500)*7/items, items)
		})
	}
}

func againstReplay(b *testing.B, n, items int) {
	ctx := context.Background()
	var ratios, hands, libraries []float64
	for range 10 {
		s := newSetup(b)
		s.fill(n, items)
		library := timed(func() error {
			r, err := s.migration(migrate.Segments(8)).Run(ctx)
			if err == nil && r.This.Moved != n {
				err = fmt.Errorf("%d entities were moved", r.This.Moved)
			}
			return err
		})
		s.again()
		s.fill(n, items)
		var t trace
		m := s.over(testengine.Start(b).Client(t.option), migrate.Segments(8))
		t.calls, t.ended = nil, 0 // of opening
		if _, err := m.Run(ctx); err != nil {
			b.Fatal(err)
		}
		s.again()
		s.fill(n, items)
		hand := timed(func() error { return t.replay(ctx, s.client) })
		if hand.err != nil || library.err != nil {
			b.Fatal(hand.err, library.err)
		}
		ratios = append(ratios, hand.seconds/library.seconds)
		hands, libraries = append(hands, hand.seconds), append(libraries, library.seconds)
	}
	slices.Sort(ratios)
	b.ReportMetric((ratios[4]+ratios[5])/2, "x-same")
	b.ReportMetric(slices.Min(hands)/slices.Min(libraries), "x-best")
	b.ReportMetric(ratios[0], "least")
	b.ReportMetric(ratios[9], "most")
	b.ReportMetric(0, "ns/op")
}

// took is how long something took.
type took struct {
	seconds float64
	err     error
}

func timed(do func() error) took {
	runtime.GC()
	from := time.Now()
	err := do()
	return took{time.Since(from).Seconds(), err}
}

// again makes the tables empty.
func (s *setup) again() {
	s.Helper()
	e, ctx := testengine.Start(s.TB), context.Background()
	for table, keys := range map[string][2]string{s.source: {"name:S", ""}, s.target: {"PK:S", "SK:S"}} {
		if err := errors.Join(e.DeleteTable(ctx, table), e.CreateTable(ctx, table, keys[0], keys[1])); err != nil {
			s.Fatal(err)
		}
	}
}
