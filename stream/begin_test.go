package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/stream"
)

// failsAtFirst are clients whose first calls of an operation fail.
type failsAtFirst struct {
	describing
	*scripted
	fail func(ctx context.Context, operation string) error
}

func (f *failsAtFirst) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	if err := f.fail(ctx, "DescribeTable"); err != nil {
		return nil, err
	}
	return f.describing.DescribeTable(ctx, in, o...)
}

func (f *failsAtFirst) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if err := f.fail(ctx, "DescribeStream"); err != nil {
		return nil, err
	}
	return f.scripted.DescribeStream(ctx, in, o...)
}

// A worker that begins in an outage reads the stream after it, and reports errors in the meantime.
func TestBeginningsInOutages(t *testing.T) {
	t.Parallel()
	faults := map[string]func(context.Context) error{
		"no answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"a throttle": func(context.Context) error {
			return &types.ProvisionedThroughputExceededException{Message: aws.String("slower")}
		},
		"a fault of the service": func(context.Context) error { return &types.InternalServerError{} },
		"a fault of the stream":  func(context.Context) error { return &streamtypes.InternalServerError{} },
		"a lost answer":          func(context.Context) error { return fmt.Errorf("read: %w", io.ErrUnexpectedEOF) },
	}
	for _, operation := range []string{
		"DescribeTable", "DescribeStream", "GetItem", "TransactWriteItems", "TransactWriteItems, done",
	} {
		for name, fault := range faults {
			t.Run(operation+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				var failed, reports atomic.Int64
				fail := func(ctx context.Context, of string) error {
					if of != operation || failed.Add(1) > 2 {
						return nil
					}
					return fault(ctx)
				}
				h := &hook{
					before: func(ctx context.Context, of, _ string) error { return fail(ctx, of) },
					after:  func(ctx context.Context, of, _ string) error { return fail(ctx, of+", done") },
				}
				client := &failsAtFirst{describing{h.client(t), w.scripted}, w.scripted, fail}
				m := w.worker(client, client, w.c.handle, quick(t, stream.OnError(func(err error) {
					reports.Add(1)
					if text := err.Error(); !strings.Contains(text, "stream of the table accounts: group default: ") {
						t.Error(text)
					}
				}))...)
				w.write("a", 1)
				if !eventually(t, 10*failover(t), "the change", func() bool { return w.c.handled() == 1 }) {
					t.Fatalf("%+v, %v", m.Stats(), m.err)
				}
				found := strings.HasPrefix(operation, "Transact") // a read has found out the outcome
				if failed.Load() < 2 || reports.Load() == 0 && !found {
					t.Errorf("%d faults, %d reports", failed.Load(), reports.Load())
				}
				m.leave()
				<-m.ended
			})
		}
	}
}

// The lag of a worker that cannot begin grows.
func TestLagOfBeginnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := &failsAtFirst{
		describing{(&hook{}).client(t), w.scripted},
		w.scripted,
		func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() },
	}
	m := w.worker(client, client, w.c.handle, quick(t)...)
	soon(t, "the lag", func() bool { s := m.Stats(); return s.Lag > failover(t) && s.Behind == 1 && s.Errors > 0 })
	m.leave()
	<-m.ended
	if m.err != nil {
		t.Error(m.err)
	}
}

// Faults that a worker would meet again and again end Run.
func TestBeginningsThatCannotSucceed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{
		"no permission":    &smithy.GenericAPIError{Code: "AccessDeniedException"},
		"no such table":    &types.ResourceNotFoundException{Message: aws.String("not found")},
		"no configuration": errors.New("operation error DynamoDB: Invalid Configuration: Missing Region"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			client := &failsAtFirst{
				describing{(&hook{}).client(t), w.scripted},
				w.scripted,
				func(context.Context, string) error { return fault },
			}
			m := w.worker(client, client, w.c.handle, quick(t)...)
			<-m.ended
			if !errors.Is(m.err, fault) {
				t.Error(m.err)
			}
			if s := m.Stats(); s.Errors != 0 || s.Behind == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}
