package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// usualAttempts is the number of times that a request is sent, if its answers are errors that can pass. A throttled
// request is sent throttledAttempts times: with the pauses of maxPause that is about a quarter of an hour. Without a
// connection from the beginning a request is sent dialAttempts times, and later for maxOutage.
const (
	usualAttempts     = 10
	throttledAttempts = 60
	maxPause          = 20 * time.Second
	dialAttempts      = 3
	maxOutage         = 5 * time.Minute
	// manyThrottles is the number of throttles in a pause from which a line says so, though other requests are
	// answered.
	manyThrottles = 20
)

// retryer sends a request again after answers that can pass. Without a quota: many throttles in a row are a reason to
// wait, and not to stop.
func (p *patience) retryer(attempts int) aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = attempts, p.longest, ratelimit.None
	})
	if attempts == 1 { // the command measures throttles
		return standard
	}
	return &waiting{standard, p, attempts}
}

// waiting is a retryer that counts the errors of a call by their kinds.
type waiting struct {
	*retry.Standard
	p        *patience
	attempts int
}

// MaxAttempts returns the larger number of attempts; RetryDelay ends those of other errors.
func (r *waiting) MaxAttempts() int { return max(r.attempts, throttledAttempts) }

// RetryDelay returns the pause before a request is sent again. The error ends the attempts.
func (r *waiting) RetryDelay(attempt int, err error) (time.Duration, error) {
	c := callOf(err)
	if c == nil {
		c = &call{faults: attempt - 1, dials: attempt - 1}
	}
	switch {
	case isThrottle(err):
		r.p.throttled()
	case isDial(err):
		if c.dials++; c.cut.IsZero() {
			c.cut = time.Now()
		}
		since := time.Since(c.cut)
		if reached := r.p.reached.Load(); !reached && c.dials >= dialAttempts || reached && since > r.p.outage {
			return 0, err
		}
		if since >= r.p.pause {
			r.p.say("no connection for %s: the command waits up to %s for it", since.Round(time.Second), r.p.outage)
		}
	default:
		if c.faults++; c.faults >= r.attempts {
			return 0, err
		}
	}
	return r.Standard.RetryDelay(attempt, err)
}

// call has the errors of one call that can pass, throttles aside.
type call struct {
	faults, dials int
	cut           time.Time // the first time without a connection
}

// callKey is the key of a call in the context of its requests.
type callKey struct{}

// withCall adds a call to the context of the requests of each call.
func withCall(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("itemizeCall",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error,
		) {
			return next.HandleInitialize(context.WithValue(ctx, callKey{}, &call{}), in)
		}), middleware.Before)
}

func callIn(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// callOf returns the call that an error is of, nil if it is not known.
func callOf(err error) *call {
	var f *failed
	if errors.As(err, &f) {
		return f.call
	}
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil && answer.Response.Response != nil &&
		answer.Response.Request != nil {
		return callIn(answer.Response.Request.Context())
	}
	return nil
}

// failed is a request of a call without an answer.
type failed struct {
	call *call
	error
}

// Unwrap returns the error.
func (f *failed) Unwrap() error { return f.error }

// isDial reports whether no connection could be made: the endpoint is wrong, or nothing runs there.
func isDial(err error) bool {
	e := (&net.OpError{})
	return errors.As(err, &e) && e.Op == "dial" || errors.As(err, new(*net.DNSError))
}

// isThrottle reports whether an answer says that requests come too fast.
func isThrottle(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary &&
		!errors.As(err, new(*types.TransactionInProgressException))
}

const (
	throttleCure = "raise the capacity of the table, or write a lower -rate if the command has it"
	bucketCure   = "S3 takes fewer requests for a while"
	localCure    = "DynamoDB Local has a database for each access key and Region: package integration uses " +
		localKey + " and " + localRegion
	expiredCure = "renew the credentials, and run the command again: a migration continues where it ended"
)

// withCure adds what to do about an error that ends a command, if the error does not say it.
func (c *command) withCure(err error, text string) string {
	cure := ""
	var op *smithy.OperationError
	var api smithy.APIError
	switch {
	case isThrottle(err) && !(errors.As(err, &op) && op.Service() != dynamodb.ServiceID):
		cure = throttleCure
	case errors.As(err, &api) && strings.Contains(api.ErrorCode(), "ExpiredToken"):
		cure = expiredCure
	case c.local && errors.As(err, new(*types.ResourceNotFoundException)):
		cure = localCure
	}
	if cure == "" || strings.Contains(text, cure) {
		return text
	}
	return text + ": " + cure
}
