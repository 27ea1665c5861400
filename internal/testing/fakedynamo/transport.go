package fakedynamo

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Fault is the fault of one request.
type Fault int

// The faults.
const (
	KilledBefore Fault = iota // the process ends before the request
	KilledAfter               // it ends before the answer
	LostRequest               // the request is lost, and the process continues
	LostAnswer                // the answer is lost
	Faults                    // how many there are
)

// String names the fault.
func (f Fault) String() string {
	return [...]string{"killed before", "killed after", "lost request", "lost answer"}[f]
}

// Transport is a client's transport, on which the request number At, from 1, meets a fault.
type Transport struct {
	At    int
	Fault Fault
	// Kill ends the process that sends the requests.
	Kill context.CancelFunc

	n atomic.Int64
}

// sending is a client's own transport, whose requests count with those of others.
type sending struct {
	*Transport
	next HTTPClient
}

// Err is the error of a request with a fault.
var Err = errors.New("the connection broke")

// Client returns the client as one that sends by the transport, and soon tries again what it tries again.
func (t *Transport) Client(c *dynamodb.Client) *dynamodb.Client {
	return dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.Retryer = t.Over(o.HTTPClient), FastRetries(o.Retryer)
	})
}

// FastRetries waits for a millisecond at most before each retry.
func FastRetries(r aws.Retryer) aws.Retryer { return retry.AddWithMaxBackoffDelay(r, time.Millisecond) }

// Over returns the transport over a client's own, for clients of other services than DynamoDB.
func (t *Transport) Over(next HTTPClient) HTTPClient { return sending{t, next} }

// HTTPClient is the transport of a client of the SDK.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// Sent returns how many requests were sent, or tried to be.
func (t *Transport) Sent() int { return int(t.n.Load()) }

// Do sends a request.
func (t sending) Do(r *http.Request) (*http.Response, error) {
	if t.n.Add(1) != int64(t.At) {
		return t.next.Do(r)
	}
	switch t.Fault {
	case KilledBefore:
		t.Kill()
		return nil, Err
	case LostRequest:
		return nil, Err
	}
	resp, err := t.next.Do(r)
	if err == nil {
		resp.Body.Close()
	}
	if t.Fault == KilledAfter {
		t.Kill()
	}
	return nil, Err
}
