package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/testengine"
)

// OperationOf is the name of a request's call.
func OperationOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
}

// Crash is the transport of a program that dies: after a number of requests none is answered. Requests
// in transfer may still arrive, much later.
type Crash struct {
	Mu    sync.Mutex
	Left  int
	Late  []*http.Request
	Bodys [][]byte
}

// Transport returns the transport.
func (c *Crash) Transport() *Faulty {
	return &Faulty{At: -1, Late: func(r *http.Request) bool {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		if c.Left > 0 {
			c.Left--
			return false
		}
		body, _ := io.ReadAll(r.Body)
		c.Late = append(c.Late, r.Clone(context.Background()))
		c.Bodys = append(c.Bodys, body)
		return true
	}}
}

// Deliver sends the writes that were in transfer.
func (c *Crash) Deliver(t *testing.T) (n int) {
	t.Helper()
	for i, r := range c.Late {
		if target := r.Header.Get("X-Amz-Target"); strings.Contains(target, "Get") ||
			strings.Contains(target, "Query") {
			continue
		}
		again := r.Clone(context.Background())
		again.Body = io.NopCloser(bytes.NewReader(c.Bodys[i]))
		resp, err := http.DefaultTransport.RoundTrip(again)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		n++
	}
	return n
}

// Fault is the fault that a transport gives one request.
type Fault int

const (
	None Fault = iota
	DropRequest
	DropAnswer
	Throttle
	ServerError // after the effect
	CancelBefore
	CancelAfter
	Collide // as a transaction that meets another
	Deny
)

// FaultNames are the faults after which an operation can be done again.
var FaultNames = map[Fault]string{
	DropRequest: "drop the request", DropAnswer: "drop the answer", Throttle: "throttle",
	ServerError: "fail after the effect", CancelBefore: "cancel before", CancelAfter: "cancel after the effect",
}

// Faulty is a transport that does one fault to one request.
type Faulty struct {
	mu     sync.Mutex
	Count  int
	At     int // the request, from 0; -1 for none
	Fault  Fault
	Cancel context.CancelFunc
	late   sync.Mutex
	// Late, if set, is given requests to be sent another time, one at a time: an operation may send several at once.
	Late func(*http.Request) bool
	// Pick, if set, chooses the fault of each request.
	Pick func() Fault
	Log  []string
}

// ErrDropped is a connection that broke.
var ErrDropped = errors.New("connection reset by test")

// Do sends a request.
func (f *Faulty) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	n := f.Count
	f.Count++
	f.Log = append(f.Log, OperationOf(r))
	do := None
	if n == f.At {
		do = f.Fault
	}
	if f.Pick != nil {
		do = f.Pick()
	}
	f.mu.Unlock()
	if f.holds(r) {
		return nil, ErrDropped
	}
	switch do {
	case DropRequest:
		return nil, ErrDropped
	case Throttle:
		return Answer(r, 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",`+
			`"message":"slow down"}`), nil
	case Collide:
		return Answer(r, 400, collision(r)), nil
	case Deny:
		return Answer(r, 400, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`), nil
	case CancelBefore:
		f.Cancel()
		return nil, context.Canceled
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	switch {
	case err != nil || do == None:
		return resp, err
	case do == CancelAfter:
		f.Cancel()
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if do == ServerError {
		return Answer(r, 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"sorry"}`),
			nil
	}
	return nil, ErrDropped
}

// holds reports whether a request is to be sent another time.
func (f *Faulty) holds(r *http.Request) bool {
	if f.Late == nil {
		return false
	}
	f.late.Lock()
	defer f.late.Unlock()
	return f.Late(r)
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

// Answer is a response of DynamoDB.
func Answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader([]byte(body))),
	}
}

// Client returns a client with a transport and a number of attempts of the SDK.
func Client(t testing.TB, f *Faulty, attempts int) *dynamodb.Client {
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

// AtRequest is a transport that calls do before the nth request, from 1, of an operation.
func AtRequest(op string, n int, do func()) *Faulty {
	var seen atomic.Int64
	return &Faulty{At: -1, Late: func(r *http.Request) bool {
		if OperationOf(r) == op && seen.Add(1) == int64(n) {
			do()
		}
		return false
	}}
}

// SmallPages is a transport whose queries are answered in pages of so many items; it calls do
// before its nth request.
func SmallPages(page, n int, do func()) *Faulty {
	var count atomic.Int64
	return &Faulty{At: -1, Late: func(r *http.Request) bool {
		if count.Add(1) == int64(n) {
			do()
		}
		if OperationOf(r) == "Query" {
			body, _ := io.ReadAll(r.Body)
			var in map[string]any
			_ = json.Unmarshal(body, &in)
			if l, ok := in["Limit"].(float64); !ok || int(l) > page {
				in["Limit"] = page
			}
			body, _ = json.Marshal(in)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
		}
		return false
	}}
}
