package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/testing/testengine"
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

func answerOf(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// "The service does not answer, throttles or fails when the worker begins: reported, and the worker tries again".
func TestBeginningsSurviveFaults(t *testing.T) {
	t.Parallel()
	cancelled := func(reason string) string {
		return `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
			`"Message":"Transaction cancelled",` +
			`"CancellationReasons":[{"Code":"` + reason + `","Message":"x"},{"Code":"None"}]}`
	}
	type fault func() (*http.Response, error)
	faults := map[string]fault{
		"503 json": func() (*http.Response, error) {
			return answerOf(
				503,
				`{"__type":"com.amazon.coral.service#ServiceUnavailable","message":"unavailable"}`,
			), nil
		},
		"503 html":  func() (*http.Response, error) { return answerOf(503, `<html>Service Unavailable</html>`), nil },
		"502 empty": func() (*http.Response, error) { return answerOf(502, ``), nil },
		"500 generic": func() (*http.Response, error) {
			return answerOf(500, `{"__type":"com.amazon.coral.service#InternalFailure","message":"x"}`), nil
		},
		"EPIPE": func() (*http.Response, error) {
			return nil, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
		},
		"ENETUNREACH": func() (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
		},
		"DNS temporary": func() (*http.Response, error) {
			return nil, &net.OpError{
				Op:  "dial",
				Net: "tcp",
				Err: &net.DNSError{Err: "server misbehaving", IsTemporary: true},
			}
		},
		"conflict":   func() (*http.Response, error) { return answerOf(400, cancelled("TransactionConflict")), nil },
		"throttling": func() (*http.Response, error) { return answerOf(400, cancelled("ThrottlingError")), nil },
		"provisioned": func() (*http.Response, error) {
			return answerOf(400, cancelled("ProvisionedThroughputExceeded")), nil
		},
	}
	for name, f := range faults {
		op := "GetItem"
		if strings.Contains("conflict throttling provisioned", name) {
			op = "TransactWriteItems"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var n atomic.Int64
			m := w.through(func(q *http.Request, _ string) (*http.Response, error) {
				if strings.HasSuffix(q.Header.Get("X-Amz-Target"), "."+op) && n.Add(1) <= 2 {
					return f()
				}
				return http.DefaultClient.Do(q)
			}, nil, w.c.handle)
			w.handlesOne(m)
		})
	}
}

// The same, with the SDK's own retryer, whose bucket of retries is empty in an outage.
func TestBeginningsWithoutRetriesLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var n atomic.Int64
	do := httpFunc(func(q *http.Request, _ string) (*http.Response, error) {
		if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".GetItem") && n.Add(1) <= 12 {
			return answerOf(500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"x"}`), nil
		}
		return http.DefaultClient.Do(q)
	})
	client := dynamodb.New(testengine.Start(t).Client().Options(), func(o *dynamodb.Options) {
		o.HTTPClient = do
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.RateLimiter = ratelimit.NewTokenRateLimit(20)
			o.MaxBackoff = time.Millisecond
		})
	})
	m := w.worker(describing{client, w.scripted}, w.scripted, w.c.handle, w.options()...)
	w.handlesOne(m)
}

// handlesOne shows that a worker reads the stream.
func (w *world) handlesOne(m *process) {
	w.t.Helper()
	w.write("a", 1)
	if !eventually(w.t, 10*failover(w.t), "the change", func() bool { return w.c.handled() == 1 }) {
		select {
		case <-m.ended:
			w.t.Errorf("Run has ended: %v", m.err)
		default:
		}
	}
}

// A program without credentials, outside of EC2.
func TestBeginningsWithoutCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := dynamodb.New(testengine.Start(t).Client().Options(), func(o *dynamodb.Options) {
		o.Credentials = aws.NewCredentialsCache(
			aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, fmt.Errorf("no EC2 IMDS role found, operation error ec2imds: GetMetadata, %w",
					&aws.RequestCanceledError{Err: context.DeadlineExceeded})
			}),
		)
		o.Retryer = aws.NopRetryer{}
	})
	m := w.worker(client, w.scripted, w.c.handle, w.options()...)
	select {
	case <-m.ended:
		t.Log(m.err)
	case <-time.After(6 * failover(t)):
		t.Errorf("Run waits: %v", w.last.Load())
	}
}

// Run stops at once when its context ends.
func TestBeginningsStop(t *testing.T) {
	t.Parallel()
	for _, op := range []string{
		"DescribeTable", "DescribeStream", "GetItem", "TransactWriteItems", "TransactWriteItems, done", "sleep",
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := make(chan struct{}, 1000)
			hang := func(ctx context.Context, of string) error {
				if of == op {
					in <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				}
				if op == "sleep" && of == "GetItem" {
					in <- struct{}{}
					return io.EOF
				}
				return nil
			}
			h := &hook{
				before: func(ctx context.Context, of, _ string) error { return hang(ctx, of) },
				after:  func(ctx context.Context, of, _ string) error { return hang(ctx, of+", done") },
			}
			client := &failsAtFirst{describing{h.client(t), w.scripted}, w.scripted, hang}
			m := w.worker(
				client,
				client,
				w.c.handle,
				patient(t, stream.Poll(10*time.Second), stream.Attempts(3, 10*time.Second, 20*time.Second))...)
			<-in
			time.Sleep(100 * time.Millisecond)
			begun := time.Now()
			m.leave()
			<-m.ended
			if d := time.Since(begun); d > 300*time.Millisecond || m.err != nil {
				t.Errorf("%v %v", d, m.err)
			}
		})
	}
}

// A second Run of the same consumer in an outage.
func TestASecondRunInAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out atomic.Bool
	client := &failsAtFirst{
		describing{(&hook{}).client(t), w.scripted},
		w.scripted,
		func(context.Context, string) error {
			if out.Load() {
				return io.EOF
			}
			return nil
		},
	}
	m := w.worker(client, client, w.c.handle, w.options()...)
	w.write("a", 1)
	soon(t, "one", func() bool { s := m.Stats(); return w.c.handled() == 1 && s.Behind == 0 })
	m.leave()
	<-m.ended
	if s := m.Stats(); s.Behind != 1 || s.Shards != 0 {
		t.Errorf("%+v", s)
	}
	out.Store(true)
	w.write("a", 2)
	n := w.run(m.Consumer)
	soon(t, "lag", func() bool { s := n.Stats(); return s.Behind == 1 && s.Lag > failover(t) })
	out.Store(false)
	for w.c.handled() < 2 {
		if s := n.Stats(); s.Behind == 0 && w.c.handled() < 2 {
			t.Fatalf("%+v", s)
		}
	}
	soon(t, "caught up", func() bool { s := n.Stats(); return s.Behind == 0 && s.Lag == 0 })
}
