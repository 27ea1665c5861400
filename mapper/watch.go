package mapper

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// watch learns of one call how often it was sent, and whether an attempt may
// have been applied without an answer. The SDK retries on its own, and its error
// tells of the last attempt only.
type watch struct {
	// seen tells that the client runs the SDK's middleware.
	seen bool
	// attempts is how often the request was sent, unsure that one of those had
	// no answer that says that it was not applied.
	attempts int
	unsure   bool
}

// option adds the watch to a call.
func (w *watch) option(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		w.seen = true
		m := middleware.FinalizeMiddlewareFunc("itemizeWatch", w.handle)
		if stack.Finalize.Insert(m, "Retry", middleware.After) == nil {
			return nil
		}
		return stack.Finalize.Add(m, middleware.Before)
	})
}

func (w *watch) handle(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	w.attempts++
	out, metadata, err := next.HandleFinalize(ctx, in)
	if err != nil && !refused(err) {
		w.unsure = true
	}
	return out, metadata, err
}

// lost tells, after an error, whether an attempt may have been applied: one
// without an answer was seen, or the client cannot be watched, and retries have
// to be assumed.
func (w *watch) lost(err error) bool {
	if w.seen {
		return w.unsure
	}
	return !refused(err) || retried(err)
}

// refused tells of an answer that says that the request was not applied, or of a
// connection that was never made.
func refused(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	var inProgress *types.TransactionInProgressException
	if errors.As(err, &inProgress) {
		return false // an earlier attempt is still at work
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		code := response.HTTPStatusCode()
		return code >= 400 && code < 500 && code != http.StatusRequestTimeout
	}
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient
}

// retried tells of answers that a client which retries can get after an attempt
// that was applied: a failed condition, and what it tries again after.
func retried(err error) bool {
	var condition *types.ConditionalCheckFailedException
	var throughput *types.ProvisionedThroughputExceededException
	var limit *types.RequestLimitExceeded
	var throttled *types.ThrottlingException
	return errors.As(err, &condition) || errors.As(err, &throughput) || errors.As(err, &limit) || errors.As(err, &throttled)
}
