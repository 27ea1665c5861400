package mapper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
)

// ThrottledError says that DynamoDB refused a request, or a part of a batch, because of a limit of
// throughput, also in the retries. Repeat the call later; the reasons say which limit to raise. It wraps
// the SDK's error, if there is one.
type ThrottledError struct {
	// Model is the name of the model, "" for a transaction and for the parts of a large value.
	Model string
	// Reasons are those of the answer, nil if it has none. Canceled transactions and batches have none.
	Reasons []ThrottlingReason

	err error
}

// ThrottlingReason is a limit that a request reached.
type ThrottlingReason struct {
	// Reason is DynamoDB's name, for example TableWriteKeyRangeThroughputExceeded. It joins "Table" or
	// "Index", "Read" or "Write", and the Limit.
	Reason string
	// Resource is the ARN of the table or index.
	Resource string
	// Limit says which limit was reached, "" if it is not known.
	Limit ThrottlingLimit
	// Index reports that an index is throttled, and not its table. Write reports that writes are.
	Index, Write bool
}

// ThrottlingLimit is a limit of throughput, by DynamoDB's name.
type ThrottlingLimit string

const (
	// LimitProvisioned is the provisioned capacity of a table or index.
	LimitProvisioned ThrottlingLimit = "ProvisionedThroughputExceeded"
	// LimitAccount is the quota of the account for one table in on-demand mode.
	LimitAccount ThrottlingLimit = "AccountLimitExceeded"
	// LimitKeyRange is the throughput of one partition.
	LimitKeyRange ThrottlingLimit = "KeyRangeThroughputExceeded"
	// LimitOnDemand is the maximum that a table or index in on-demand mode is configured to have.
	LimitOnDemand ThrottlingLimit = "MaxOnDemandThroughputExceeded"
)

// cures are those of each limit.
var cures = map[ThrottlingLimit]string{
	LimitProvisioned: "raise the provisioned capacity, or use auto scaling",
	LimitAccount:     "request a higher quota of the account for throughput of a table",
	LimitKeyRange:    "shard the partition key (shards=), or spread its requests over time",
	LimitOnDemand:    "raise the maximum throughput of on-demand mode",
}

// String returns what is throttled, by which limit, and the cure.
func (r ThrottlingReason) String() string {
	_, name, _ := strings.Cut(r.Resource, ":table/")
	cure, ok := cures[r.Limit]
	if !ok {
		return strings.TrimSpace(r.Reason + " " + name)
	}
	return fmt.Sprintf("%s %s: %s", r.Reason, name, cure)
}

// Error returns the text of the SDK's error, and the reasons with their cures.
func (e *ThrottledError) Error() string {
	if len(e.Reasons) == 0 {
		return e.err.Error()
	}
	texts := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		texts[i] = r.String()
	}
	return e.err.Error() + ": " + joinFew(texts)
}

// Unwrap returns the SDK's error.
func (e *ThrottledError) Unwrap() error { return e.err }

// throttled makes a *ThrottledError of the error of a throttled request. All others stay as they are.
// label is the name of the model.
func throttled(label string, err error) error {
	reasons, is := reasonsOf(err)
	if !is || errors.As(err, new(*ThrottledError)) {
		return err
	}
	out := &ThrottledError{Model: label, err: err}
	for _, r := range reasons {
		out.Reasons = append(out.Reasons, throttlingReason(aws.ToString(r.Reason), aws.ToString(r.Resource)))
	}
	return out
}

// throttlingReason splits a reason of DynamoDB, if it is a known one.
func throttlingReason(reason, resource string) ThrottlingReason {
	out := ThrottlingReason{Reason: reason, Resource: resource}
	limit, index := strings.CutPrefix(reason, "Index")
	limit, table := strings.CutPrefix(limit, "Table")
	limit, write := strings.CutPrefix(limit, "Write")
	limit, read := strings.CutPrefix(limit, "Read")
	if _, ok := cures[ThrottlingLimit(limit)]; ok && index != table && write != read {
		out.Limit, out.Index, out.Write = ThrottlingLimit(limit), index, write
	}
	return out
}

// reasonsOf returns the reasons of an answer, and whether it says that a request was throttled.
func reasonsOf(err error) (all []types.ThrottlingReason, is bool) {
	var throttling *types.ThrottlingException
	var provisioned *types.ProvisionedThroughputExceededException
	var limit *types.RequestLimitExceeded
	var canceled *types.TransactionCanceledException
	switch {
	case errors.As(err, &throttling):
		return throttling.ThrottlingReasons, true
	case errors.As(err, &provisioned):
		return provisioned.ThrottlingReasons, true
	case errors.As(err, &limit):
		return limit.ThrottlingReasons, true
	case errors.As(err, &canceled):
		return nil, slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
			code := aws.ToString(r.Code)
			return code == "ThrottlingError" || code == "ProvisionedThroughputExceeded"
		})
	}
	return nil, errors.As(err, new(*request.Throttled))
}
