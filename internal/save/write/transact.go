package write

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
)

// transact sends a step as one transaction. Its client token makes it safe to send again
// for ten minutes, whatever became of the answer (API Reference, TransactWriteItems). Where
// an attempt's answer was lost, a later refusal is not final: the first copy may yet arrive.
func (s *Sender) transact(ctx context.Context, st *Step, t *Tally) Outcome {
	w := &sending{s: s, t: t, requests: st.Requests, how: st.How}
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken:     aws.String(rand.Text()),
		ReturnConsumedCapacity: byIndex,
	}
	c := newCondition(s.Wire.IsAlone())
	in.TransactItems = make([]types.TransactWriteItem, len(st.Requests))
	for i, r := range st.Requests {
		in.TransactItems[i] = r.transactItem(s.Now(), c)
	}
	c.release()
	for {
		err := w.callAll(ctx, in, st)
		if err == nil {
			return Outcome{State: Written, Requests: w.requests}
		}
		if stored, failed := w.reasons(err, st); failed {
			return w.rejected(stored, err)
		}
		w.round++
		if !(collided(err) && w.round < conflictTries || w.unsure && w.round < rounds) {
			return w.failure(ctx, err)
		}
		if pauseErr := request.Pause(ctx, w.round); pauseErr != nil {
			return w.failure(ctx, errors.Join(err, pauseErr))
		}
	}
}

// callAll sends a transaction once.
func (w *sending) callAll(ctx context.Context, in *dynamodb.TransactWriteItemsInput, st *Step) error {
	watch := watch{single: w.s.Single, codec: w.s.Wire}
	touch(st.Requests)
	out, err := w.s.Client.TransactWriteItems(ctx, in, watch.options(watch.option)...)
	touch(st.Requests)
	w.t.countWrite(&watch, err)
	if err != nil {
		w.learn(&watch, err)
		return err
	}
	for i := range out.ConsumedCapacity {
		w.t.charge(ctx, &out.ConsumedCapacity[i], st.Requests)
	}
	if n := len(st.Requests); n > 1 {
		w.t.Items = slices.Grow(w.t.Items, n)
	}
	for _, r := range st.Requests {
		w.wrote(r)
	}
	return nil
}

// touch reports the written items to the watchers of the tables.
func touch(requests []*Request) {
	for _, r := range requests {
		if r.Writes() {
			r.Touch()
		}
	}
}

// reasons returns the stored items of the requests whose conditions failed. An item that does not exist
// is empty and not nil.
func (w *sending) reasons(err error, st *Step) (stored []item.Attributes, failed bool) {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return nil, false
	}
	stored = make([]item.Attributes, len(st.Requests))
	for i, r := range canceled.CancellationReasons {
		if i < len(stored) && aws.ToString(r.Code) == "ConditionalCheckFailed" {
			failed = true
			stored[i] = orEmpty(r.Item)
		}
	}
	for i, r := range st.Requests {
		if failed {
			w.t.Refused = w.t.Refused.Add(w.how.refused(r, stored[i]))
		}
	}
	return stored, failed
}

// collided reports a transaction that was canceled because of another, or of throttling,
// and may succeed when it is sent again.
func collided(err error) bool {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return false
	}
	for _, r := range canceled.CancellationReasons {
		switch aws.ToString(r.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			return true
		}
	}
	return false
}

// explained adds the items to the error of a step: the one, or in a transaction those
// that it names as the reason.
func (s *Sender) explained(ctx context.Context, requests []*Request, err error) error {
	reasons := reasonsOf(requests, err)
	if r := tooLarge(requests, reasons, err); r != nil {
		return &Outgrown{r, err}
	}
	if len(reasons) > 0 {
		requests = nil
	}
	for _, r := range reasons {
		requests = append(requests, r.request)
		if r.text != "" {
			err = fmt.Errorf("%s: %w", r.text, err)
		}
	}
	var tables []*item.Table
	for _, r := range requests {
		if !slices.ContainsFunc(tables, func(t *item.Table) bool { return t.Name == r.Table.Name }) {
			tables = append(tables, r.Table)
		}
	}
	first := requests[0]
	what := fmt.Sprintf("%s.%s: %s %s", first.Label, first.Field, first.Kind, first.Target())
	if n := len(requests) - 1; n > 0 {
		what += fmt.Sprintf(" and %d more in one transaction", n)
	}
	return request.Explain(ctx, s.Client, what, tables, err)
}

// reason is a request that caused the cancellation of a transaction, with the message of its
// validation.
type reason struct {
	request *Request
	text    string
}

// reasonsOf returns the reasons of a canceled transaction, as far as the error has them.
func reasonsOf(requests []*Request, err error) (all []reason) {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return nil
	}
	for i, r := range canceled.CancellationReasons {
		code := aws.ToString(r.Code)
		if i >= len(requests) || code == "" || code == "None" {
			continue
		}
		x := reason{request: requests[i]}
		if code == "ValidationError" {
			x.text = request.Private(aws.ToString(r.Message))
		}
		all = append(all, x)
	}
	return all
}

// tooLarge returns the request that was refused because of its item's size, nil for none. It is the
// request that the error names, or the only one whose item may be larger than known.
func tooLarge(requests []*Request, reasons []reason, err error) *Request {
	for _, r := range reasons {
		if outgrown(r.text) {
			return r.request
		}
	}
	var api smithy.APIError
	if len(reasons) > 0 || !errors.As(err, &api) || api.ErrorCode() != "ValidationException" &&
		api.ErrorCode() != "TransactionCanceledException" || !outgrown(err.Error()) {
		return nil
	}
	grows := slices.DeleteFunc(slices.Clone(requests),
		func(r *Request) bool { return r.Kind == Delete || !r.Writes() || !r.Unread })
	switch {
	case len(requests) == 1:
		return requests[0]
	case len(grows) == 1:
		return grows[0]
	}
	return nil
}

// Outgrown says that DynamoDB refused a write for the size that its item would have, which was not
// known before. Nothing was written.
type Outgrown struct {
	Request *Request
	Err     error
}

func (e *Outgrown) Error() string { return e.Err.Error() }
func (e *Outgrown) Unwrap() error { return e.Err }

// outgrown reports whether a text of an error is about an item's size.
func outgrown(text string) bool {
	return strings.Contains(text, "Item size") && strings.Contains(text, "exceeded")
}
