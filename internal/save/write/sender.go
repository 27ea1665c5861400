package write

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/request/wire"
)

// Client has the methods of a DynamoDB client that writing needs.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput,
		error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Sender sends steps.
type Sender struct {
	Client Client
	Now    func() time.Time
	// Single reports that a client which does not accept options of calls never repeats a request by
	// itself.
	Single bool
	// Wire makes the requests; nil leaves them to the SDK.
	Wire *wire.Codec
}

// rounds bounds how often a write whose answer was lost is sent again, beyond the SDK's
// own retries; conflictTries how often one that collided with a transaction is.
const (
	rounds        = 3
	conflictTries = 12
)

// Send sends a step. The outcome is that of all its requests, or of the one that failed:
// those behind it were not sent.
func (s *Sender) Send(ctx context.Context, st *Step, t *Tally) Outcome {
	return st.How.send(ctx, s, st, t)
}

// each sends each request by itself, until one is not written.
func (s *Sender) each(ctx context.Context, st *Step, t *Tally) Outcome {
	for i := range st.Requests {
		w := &sending{s: s, t: t, requests: st.Requests[i : i+1], how: st.How}
		if o := w.one(ctx); !o.OK() || len(st.Requests) == 1 {
			return o
		}
	}
	return Outcome{State: Written, Requests: st.Requests}
}

// atOnce sends the requests concurrently. The outcome is that of the first request that is not written;
// others may be.
func (s *Sender) atOnce(ctx context.Context, st *Step, t *Tally) Outcome {
	tallies, outcomes := make([]Tally, len(st.Requests)), make([]Outcome, len(st.Requests))
	err := request.AtOnce(ctx, len(st.Requests), func(ctx context.Context, i int) error {
		outcomes[i] = (&sending{s: s, t: &tallies[i], requests: st.Requests[i : i+1], how: st.How}).one(ctx)
		return outcomes[i].Err
	})
	t.AddAll(tallies)
	for i := range outcomes {
		if !outcomes[i].OK() && outcomes[i].Err == err {
			return outcomes[i]
		}
	}
	if err != nil {
		return Outcome{State: Failed, Requests: st.Requests, Err: err}
	}
	return Outcome{State: Written, Requests: st.Requests}
}

// One sends one request, as a plain conditional call.
func (s *Sender) One(ctx context.Context, r *Request, t *Tally) Outcome {
	return (&sending{s: s, t: t, requests: []*Request{r}, how: Each}).one(ctx)
}

// Once sends a request a single time, unless it was refused for a reason that passes: where
// its answer is lost the outcome is not known. watched reports whether the client took the
// option that keeps it from sending the request again.
func (s *Sender) Once(ctx context.Context, r *Request, t *Tally) (o Outcome, watched bool) {
	w := &sending{s: s, t: t, requests: []*Request{r}, how: Each, once: true}
	o = w.one(ctx)
	return o, w.watched
}

// sending is one step that is being sent, as often as it takes.
type sending struct {
	s        *Sender
	t        *Tally
	requests []*Request
	how      *How
	// unsure reports that an attempt may have been applied without an answer that says so.
	unsure bool
	// observed reports that it is not only assumed, of a client that cannot be watched.
	observed bool
	// round is how often it was sent again, and sent how often with the retries of the SDK.
	round, sent int
	// once makes the SDK send the request once, throttles aside. watched reports that the client accepts this.
	once, watched bool
	// retries are those of the SDK, for the text of an error.
	retries wire.Retries
	// table is the table's charge for the only request, as DynamoDB reported it.
	table float64
}

// one sends the only request, as often as it takes.
func (w *sending) one(ctx context.Context) Outcome {
	r := w.requests[0]
	for {
		err := w.call(ctx, r)
		if err == nil {
			w.wrote(r)
			return Outcome{State: Written, Requests: w.requests}
		}
		var failed *types.ConditionalCheckFailedException
		if errors.As(err, &failed) {
			stored := orEmpty(failed.Item)
			w.t.Refused = w.t.Refused.Add(r.Refused(attr.ItemSize(stored)))
			return w.rejected([]item.Attributes{stored}, err)
		}
		if done, o := w.retry(ctx, r, err); done {
			return o
		}
	}
}

// inferred is the outcome of requests that stored items show to be applied.
func (w *sending) inferred() Outcome {
	only := len(w.requests) == 1 && w.requests[0].Kind == Delete
	return Outcome{State: Written, Requests: w.requests, Inferred: only}
}

// rejected returns the outcome of failed conditions. stored are the items as they are, nil for those
// whose conditions held.
func (w *sending) rejected(stored []item.Attributes, err error) Outcome {
	only := w.requests[0]
	written := w.unsure && len(w.requests) == 1 && only.Kind == Delete && len(stored[0]) == 0
	for i, r := range w.requests {
		if !written && r.IsIdentifiable() && r.Wrote(stored[i]) {
			r.returned(stored[i])
			written = true
		}
	}
	if written { // by an attempt whose answer was lost
		for _, r := range w.requests {
			w.wrote(r)
		}
		return w.inferred()
	}
	return Outcome{
		State: Rejected, Requests: w.requests, Stored: stored, Unsure: w.unsure, Assumed: !w.observed,
		Err: err,
	}
}

// wrote adds a request that was applied to the tally.
func (w *sending) wrote(r *Request) { w.t.wrote(r, w.how.Units(r), w.table) }

// failure is the outcome of a request that is not sent again.
func (w *sending) failure(ctx context.Context, err error) Outcome {
	err = w.retries.Explain(err)
	o := Outcome{State: Failed, Requests: w.requests, Err: w.s.explained(ctx, w.requests, err)}
	if w.unsure {
		o.State, o.Err = Unknown, request.Service(err)
	}
	return o
}

// retry decides, after an error that no condition explains, whether a request is sent again, and waits before that.
func (w *sending) retry(ctx context.Context, r *Request, err error) (done bool, o Outcome) {
	var conflict *types.TransactionConflictException
	single := w.once || r.Counts()
	switch {
	case errors.As(err, &conflict) && w.round < conflictTries && !(w.unsure && single):
	// the SDK repeats throttles alone
	case !w.unsure && single && wire.Throttled(err) && max(w.round, w.sent-1) < conflictTries:
	case !w.unsure, w.once, ctx.Err() != nil, w.round >= rounds:
		return true, w.failure(ctx, err)
	default:
		if done, o := w.look(ctx, r); done {
			if !o.OK() && !errors.Is(o.Err, err) {
				o.Err = fmt.Errorf("%w: %w", o.Err, request.Service(err))
			}
			return true, o
		}
	}
	w.round++
	if pauseErr := request.Pause(ctx, w.round); pauseErr != nil {
		return true, w.failure(ctx, errors.Join(err, pauseErr))
	}
	return false, Outcome{}
}

// call sends a request once.
func (w *sending) call(ctx context.Context, r *Request) (err error) {
	if !r.NotAfter.IsZero() && w.s.Now().After(r.NotAfter) {
		return &LateError{r.NotAfter}
	}
	var late item.Attributes
	if r.Late != nil {
		if late, err = r.Late(ctx, w.t); err != nil {
			return err
		}
	}
	watch := watch{single: w.s.Single, codec: w.s.Wire}
	if !r.NotAfter.IsZero() { // by the clock that requests are signed with
		watch.until = time.Now().Add(r.NotAfter.Sub(w.s.Now()))
	}
	options := watch.options(watch.option)
	if r.Counts() || w.once {
		options = watch.options(watch.once) // sent twice, it could count twice
	}
	c, now := w.s.Client, w.s.Now()
	r.Touch()
	defer func() {
		r.Touch()
		w.watched = watch.seen || watch.single
		w.t.countWrite(&watch, err)
	}()
	switch r.Kind {
	case Put:
		in := r.putInput(now, w.s.Wire.IsAlone())
		if late != nil {
			in.Item = maps.Clone(in.Item)
			maps.Copy(in.Item, late)
		}
		out, e := c.PutItem(ctx, in, options...)
		if err = e; err == nil {
			w.table = w.t.charge(ctx, out.ConsumedCapacity, w.requests)
			if r.Return {
				r.Returned = r.whole(false)
			}
		}
	case Update:
		out, e := c.UpdateItem(ctx, r.updateInput(now), options...)
		if err = e; err == nil {
			w.table = w.t.charge(ctx, out.ConsumedCapacity, w.requests)
			r.returned(out.Attributes)
		}
	case Check:
		return fmt.Errorf("%s: the check of %s is sent alone, and not in a transaction", r.Label, r.Place)
	case Delete:
		out, e := c.DeleteItem(ctx, r.deleteInput(now, w.s.Wire.IsAlone()), options...)
		if err = e; err == nil {
			w.table = w.t.charge(ctx, out.ConsumedCapacity, w.requests)
		}
	}
	if err != nil {
		w.learn(&watch, err)
	}
	return err
}

// learn notes whether an attempt that ended in an error may have been applied.
func (w *sending) learn(watch *watch, err error) {
	lost := watch.unsure
	if !watch.seen { // unless it is known to make no retries, an attempt before may have been applied
		lost = !refused(err) || !watch.single && retried(err)
	}
	w.unsure = w.unsure || lost
	w.sent += watch.sent
	w.retries.Last = watch.retries.Last
	w.observed = w.observed || w.unsure && (watch.seen || !refused(err))
}

// orEmpty returns an empty item for none: nil is a condition that held.
func orEmpty(a item.Attributes) item.Attributes {
	if a == nil {
		return item.Attributes{}
	}
	return a
}

var errLost = errors.New("an answer was lost, and the item has another version: the write failed, or another " +
	"writer changed the item afterwards")

// look reads, strongly consistent, the item of a request whose answer was lost. done is true if the
// item shows the outcome. It is false if the item is as it was before, so that the request may be sent
// again.
func (w *sending) look(ctx context.Context, r *Request) (done bool, o Outcome) {
	stored, err := w.s.Stored(ctx, r, w.t)
	switch {
	case err != nil:
		return true, Outcome{State: Unknown, Requests: w.requests, Err: request.Service(err)}
	case r.Wrote(stored):
		r.returned(stored)
		w.wrote(r)
		return true, w.inferred()
	case r.Before(stored, w.s.Now()):
		return false, o
	}
	return true, w.rejected([]item.Attributes{orEmpty(stored)}, errLost)
}

// Stored reads a request's item strongly, nil for none.
func (s *Sender) Stored(ctx context.Context, r *Request, t *Tally) (item.Attributes, error) {
	sent := 0
	if ctx.Err() == nil { // else nothing is
		sent = 1
	}
	out, err := s.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.Table.Name, Key: r.Key(), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: total,
	})
	if err != nil {
		t.AddRead(sent, cost.Units{}, 0)
		return nil, request.Explain(ctx, s.Client, r.Label, []*item.Table{r.Table}, err)
	}
	wire.Report(ctx, out.ConsumedCapacity)
	consumed := 0.0
	if out.ConsumedCapacity != nil {
		consumed = aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	t.AddRead(sent, cost.Exactly(cost.ReadUnits(attr.ItemSize(out.Item))), consumed)
	return out.Item, nil
}
