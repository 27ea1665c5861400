package write

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/internal/request/wire"
)

// watch finds out whether an attempt of one call may have been applied without an answer. The SDK
// retries by itself, and its error describes only the last attempt, so the watch sees each request.
type watch struct {
	// seen reports that the client accepts the options of a call.
	seen bool
	// sent is the number of requests that the client has started to send.
	sent int
	// unsure reports that a request was sent that was not refused.
	unsure bool
	// until is the time after which nothing is sent that was signed later, the zero time for never.
	until time.Time
	// single reports that a client which does not accept options never repeats a request.
	single bool

	client dynamodb.HTTPClient
	// codec creates the requests.
	codec   *wire.Codec
	request wire.Request
	retries wire.Retries
	set     [1]func(*dynamodb.Options)
}

// options are those of a call, with one that adds the watch.
func (w *watch) options(add func(*dynamodb.Options)) []func(*dynamodb.Options) {
	w.set[0] = add
	return w.set[:]
}

// option adds the watch to a call.
func (w *watch) option(o *dynamodb.Options) {
	w.codec.Make(&w.request, o)
	w.retries.Watch(o)
	if o.HTTPClient != nil {
		w.seen, w.client, o.HTTPClient = true, o.HTTPClient, w
	}
}

// once is option for a request that the SDK must not send again after it may have been applied.
func (w *watch) once(o *dynamodb.Options) {
	w.option(o)
	wire.Once(o)
}

// Do sends a request.
func (w *watch) Do(r *http.Request) (*http.Response, error) {
	if err := InTime(r, w.until); err != nil {
		return nil, err
	}
	w.sent++
	resp, err := w.client.Do(r)
	switch {
	case err != nil:
		w.unsure = w.unsure || !wire.NeverSent(err)
	default:
		w.unsure = w.unsure || !refusing(resp.StatusCode)
	}
	return resp, err
}

// InTime reports a request that was signed after a time, the zero time for none: when it was signed
// decides for how long copies of it may arrive.
func InTime(r *http.Request, until time.Time) error {
	if until.IsZero() {
		return nil
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		at = time.Now()
	}
	if at.After(until) {
		return &LateError{until}
	}
	return nil
}

// LateError says that a request was not sent since its time is over.
type LateError struct{ NotAfter time.Time }

func (e *LateError) Error() string {
	return "it was not sent: its deadline was " + e.NotAfter.UTC().Format(time.RFC3339)
}

// refusing reports whether a status means that the request was not applied.
func refusing(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout
}

// refused reports whether the error means that the request was not applied.
func refused(err error) bool {
	if wire.NeverSent(err) {
		return true
	}
	var inProgress *types.TransactionInProgressException
	if errors.As(err, &inProgress) {
		return false // an earlier attempt is still at work
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		return refusing(response.HTTPStatusCode())
	}
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient
}

// expired are the codes of errors of credentials that are not valid any more (Developer Guide, "Error handling with
// DynamoDB").
var expired = []string{
	"ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidSignatureException",
}

// retried reports whether a client that retries can return this error after an attempt that was
// applied. These are a failed condition, the errors after which it retries, and the errors of
// credentials that expire between two attempts.
func retried(err error) bool {
	var condition *types.ConditionalCheckFailedException
	var canceled *types.TransactionCanceledException
	var throughput *types.ProvisionedThroughputExceededException
	var limit *types.RequestLimitExceeded
	var throttled *types.ThrottlingException
	var conflict *types.TransactionConflictException
	var api smithy.APIError
	return wire.NeverSent(err) || errors.As(err, &conflict) || errors.As(err, &condition) ||
		errors.As(err, &canceled) || errors.As(err, &throughput) || errors.As(err, &limit) ||
		errors.As(err, &throttled) || errors.As(err, &api) && slices.Contains(expired, api.ErrorCode())
}
