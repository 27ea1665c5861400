package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Retries remembers the last error for which the SDK has sent a call again. If the context of a call
// ends while the SDK waits for the next try, its error says nothing of the earlier ones.
type Retries struct {
	aws.RetryerV2
	Last error
}

// Watch has the SDK report the retries of a call.
func (r *Retries) Watch(o *dynamodb.Options) {
	if next, ok := o.Retryer.(aws.RetryerV2); ok {
		r.RetryerV2, o.Retryer = next, r
	}
}

// RetryDelay is described at aws.Retryer.
func (r *Retries) RetryDelay(attempt int, err error) (time.Duration, error) {
	r.Last = err
	return r.RetryerV2.RetryDelay(attempt, err)
}

// Explain adds the throttling to the error of a call that was throttled until its context ended.
func (r *Retries) Explain(err error) error {
	ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if !ended || r.Last == nil || !Throttled(r.Last) {
		return err
	}
	return fmt.Errorf("DynamoDB throttled the request until its context ended: raise the capacity of the table, or "+
		"the deadline: %w: %w", err, r.Last)
}

// Throttled reports an error of DynamoDB for which the SDK waits, and sends a request again.
func Throttled(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
}

// Once keeps the SDK from sending a request of a call again, unless it was refused by a throttle or never sent: it was
// not applied then.
func Once(o *dynamodb.Options) {
	if next, ok := o.Retryer.(aws.RetryerV2); ok {
		o.Retryer = onlyUnapplied{next}
		return
	}
	o.Retryer = aws.NopRetryer{}
}

// onlyUnapplied is a retryer that repeats only requests that were throttled, or not sent.
type onlyUnapplied struct{ aws.RetryerV2 }

// IsErrorRetryable is described at aws.Retryer.
func (r onlyUnapplied) IsErrorRetryable(err error) bool {
	var response *smithyhttp.ResponseError
	refused := Throttled(err) && errors.As(err, &response) && response.HTTPStatusCode() < http.StatusInternalServerError
	return (refused || NeverSent(err)) && r.RetryerV2.IsErrorRetryable(err)
}

// NeverSent reports whether the error means that no connection was made.
func NeverSent(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}
