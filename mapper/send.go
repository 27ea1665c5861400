package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// rounds bounds how often a write whose answer was lost is sent again by the
// mapper, beyond the SDK's own retries; conflictTries how often a transaction
// that collided with another is.
const (
	rounds        = 3
	conflictTries = 12
)

// send writes a step. errRetry means that an item turned out to hold an earlier
// write of this entity, or a leftover, and that the save has to be planned again.
func (c *core) send(ctx context.Context, s *state, d *diff, st step, t *tally) error {
	for _, ch := range st.changes {
		c.prepare(ch)
	}
	if st.transact {
		return c.transact(ctx, s, d, st.changes, t)
	}
	return c.single(ctx, s, d, st.changes[0], t)
}

// single writes one item by a plain conditional request.
func (c *core) single(ctx context.Context, s *state, d *diff, ch *change, t *tally) error {
	unsure := false
	for round := 0; ; {
		var w watch
		stored, err := c.request(ctx, ch, &w, t)
		if err == nil {
			t.wrote(c.describe(ch, ch.wcu()))
			return nil
		}
		unsure = unsure || w.lost(err)
		var failed *types.ConditionalCheckFailedException
		var conflict *types.TransactionConflictException
		switch {
		case errors.As(err, &failed):
			t.failed(cost.ItemSize(stored), ch.wcu())
			return c.failed(ctx, s, d, []*change{ch}, []read.Item{stored}, unsure, err, t)
		case errors.As(err, &conflict) && round < conflictTries:
		case !unsure && ch.patch != nil && throttled(err) && round < conflictTries:
		case !unsure:
			return c.explain([]*change{ch}, err)
		case ctx.Err() != nil || round >= rounds:
			return c.unknown(s, d, []*change{ch}, err)
		default:
			settled, lookErr := c.look(ctx, s, d, ch, t)
			if settled || lookErr != nil {
				return lookErr
			}
		}
		round++
		if pauseErr := read.Pause(ctx, round); pauseErr != nil {
			if unsure {
				return c.unknown(s, d, []*change{ch}, errors.Join(err, pauseErr))
			}
			return c.explain([]*change{ch}, errors.Join(err, pauseErr))
		}
	}
}

// throttled tells of an error that the SDK would have sent the request again for.
func throttled(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
}

// request sends a change once. With a failed condition it returns what is stored.
func (c *core) request(ctx context.Context, ch *change, w *watch, t *tally) (stored read.Item, err error) {
	t.requests++
	option := w.option
	if ch.patch != nil && len(ch.patch.increments) > 0 {
		option = w.once // sent twice, it could count twice
	}
	switch ch.kind {
	case KindPut:
		out, e := c.client.PutItem(ctx, c.putInput(ch), option)
		if err = e; err == nil {
			t.charge(out.ConsumedCapacity)
		}
	case KindUpdate:
		out, e := c.client.UpdateItem(ctx, c.updateInput(ch), option)
		if err = e; err == nil {
			t.charge(out.ConsumedCapacity)
		}
	default:
		out, e := c.client.DeleteItem(ctx, c.deleteInput(ch), option)
		if err = e; err == nil {
			t.charge(out.ConsumedCapacity)
		}
	}
	if err != nil {
		stored = storedIn(err)
	}
	return stored, err
}

// storedIn returns the item as it is, of a write whose condition failed.
func storedIn(err error) read.Item {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return nil
	}
	return orEmpty(failed.Item)
}

// orEmpty returns an empty item for none: nil stands for a condition that held.
func orEmpty(item read.Item) read.Item {
	if item == nil {
		return read.Item{}
	}
	return item
}

// look reads, strongly, the item of a write whose answer was lost. It returns
// true where the write is settled, false where it may be sent again: the item is
// still as it was before.
func (c *core) look(ctx context.Context, s *state, d *diff, ch *change, t *tally) (settled bool, err error) {
	stored, err := c.strongly(ctx, ch.place, t)
	if err != nil {
		return false, c.unknown(s, d, []*change{ch}, err)
	}
	switch {
	case c.wrote(ch, stored):
		t.wrote(c.describe(ch, ch.wcu()))
		return true, nil
	case c.isOld(ch, stored):
		return false, nil
	}
	return false, c.failed(ctx, s, d, []*change{ch}, []read.Item{orEmpty(stored)}, true, errLost, t)
}

var errLost = errors.New("an answer was lost, and the item has been written since")

func (c *core) strongly(ctx context.Context, p place, t *tally) (read.Item, error) {
	var u read.Usage
	f, err := c.reader.One(ctx, p.table, p.pk, p.sk, read.Options{Strong: true}, &u)
	t.read(&u)
	if f == nil {
		return nil, err
	}
	return f.Item, err
}

// wrote reports whether a stored item is what a change has made of it: it holds
// the change's own token, or is gone.
func (c *core) wrote(ch *change, stored read.Item) bool {
	if ch.kind == KindDelete {
		return len(stored) == 0
	}
	return ch.token != nil && attr.Same(ch.token, stored[c.schema.Version])
}

// isOld reports whether a stored item is as it was before a change.
func (c *core) isOld(ch *change, stored read.Item) bool {
	switch {
	case ch.patch != nil:
		return false // it was not read
	case ch.row == nil && ch.kind == KindDelete:
		return true
	case ch.row == nil:
		return len(stored) == 0 || c.reader.Expired(stored) || ch.ghost.is(stored)
	case len(stored) == 0:
		return false
	case ch.row.version != nil:
		return attr.Same(ch.row.version, stored[c.schema.Version])
	case c.schema.Version != "" && stored[c.schema.Version] != nil:
		return false
	}
	for _, name := range c.guarded(ch) {
		if !attr.Same(ch.row.raw[name], stored[name]) {
			return false
		}
	}
	return true
}

// is reports whether a stored item is the ghost that was met.
func (g *ghost) is(stored read.Item) bool {
	switch {
	case g == nil:
		return false
	case g.stage != nil:
		return attr.Same(stored[schema.State], g.stage)
	}
	return g.attempt != nil && attr.Same(stored[schema.Attempt], g.attempt)
}

// failed finds out what failed conditions mean. stored are the items as they
// are, nil for those whose conditions held; unsure tells that an attempt may have
// been applied before.
func (c *core) failed(ctx context.Context, s *state, d *diff, changes []*change, stored []read.Item, unsure bool, cause error, t *tally) error {
	if c.wereWritten(changes, stored, unsure) {
		for _, ch := range changes {
			t.wrote(c.describe(ch, c.priceOf(ch, len(changes))))
		}
		return nil
	}
	if c.adoptStored(s, changes, stored) {
		return errRetry
	}
	if unsure {
		return c.unknown(s, d, changes, cause)
	}
	if changes[0].patch != nil {
		return c.patchFailed(changes, stored)
	}
	e := &ConflictError{Model: c.schema.Label(), insert: s.fresh}
	rootExists := false
	for i, ch := range changes {
		if stored[i] == nil {
			continue
		}
		e.Items = append(e.Items, ItemConflict{Key: c.public(ch.place), Field: fieldOf(ch.item), Conflict: conflictOf(ch, stored[i])})
		e.stored = append(e.stored, stored[i])
		rootExists = rootExists || ch.item == c.schema.Root && ch.row == nil
	}
	if rootExists {
		return &existsError{c.entityName(d.keyFields), e}
	}
	switch found, err := c.leftovers(ctx, s, d, changes, stored, t); {
	case err != nil:
		return err
	case found:
		return errRetry
	}
	return e
}

// wereWritten reports whether the stored items show that the changes were applied by
// an attempt whose answer was lost.
func (c *core) wereWritten(changes []*change, stored []read.Item, unsure bool) bool {
	for i, ch := range changes {
		if ch.token != nil && c.wrote(ch, stored[i]) {
			return true
		}
	}
	only := changes[0]
	return unsure && len(changes) == 1 && only.kind == KindDelete && len(stored[0]) == 0
}

func (c *core) priceOf(ch *change, together int) cost.Units {
	if together > 1 {
		return ch.transactWCU()
	}
	return ch.wcu()
}

func conflictOf(ch *change, stored read.Item) Conflict {
	switch {
	case ch.row == nil:
		return ConflictCreated
	case len(stored) == 0:
		return ConflictDeleted
	}
	return ConflictChanged
}

// transact writes changes in one transaction. Its client token makes it safe to
// send again for ten minutes, whatever became of the answer.
func (c *core) transact(ctx context.Context, s *state, d *diff, changes []*change, t *tally) error {
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(clientToken()), ReturnConsumedCapacity: total,
	}
	for _, ch := range changes {
		in.TransactItems = append(in.TransactItems, c.transactItem(ch))
	}
	unsure, started := false, time.Now()
	for round := 1; ; round++ {
		var w watch
		t.requests++
		out, err := c.client.TransactWriteItems(ctx, in, w.option)
		if err == nil {
			for i := range out.ConsumedCapacity {
				t.charge(&out.ConsumedCapacity[i])
			}
			for _, ch := range changes {
				t.wrote(c.describe(ch, ch.transactWCU()))
			}
			return nil
		}
		unsure = unsure || w.lost(err)
		var canceled *types.TransactionCanceledException
		if errors.As(err, &canceled) {
			if stored, failed := reasons(canceled, len(changes)); failed {
				for i, ch := range changes {
					t.failed(cost.ItemSize(stored[i]), ch.transactWCU())
				}
				return c.failed(ctx, s, d, changes, stored, unsure && time.Since(started) > tokenLife, err, t)
			}
		}
		again := collided(err) && round < conflictTries || unsure && round < rounds
		if !again {
			if unsure {
				return c.unknown(s, d, changes, err)
			}
			return c.explain(changes, err)
		}
		if pauseErr := read.Pause(ctx, round); pauseErr != nil {
			if unsure {
				return c.unknown(s, d, changes, errors.Join(err, pauseErr))
			}
			return c.explain(changes, errors.Join(err, pauseErr))
		}
	}
}

// tokenLife is how long a client token makes a transaction idempotent.
const tokenLife = 10 * time.Minute

// reasons returns the stored items of the changes whose conditions failed. An
// item that is not there is an empty, not a nil one.
func reasons(canceled *types.TransactionCanceledException, n int) (stored []read.Item, failed bool) {
	stored = make([]read.Item, n)
	for i, r := range canceled.CancellationReasons {
		if i < n && aws.ToString(r.Code) == "ConditionalCheckFailed" {
			failed = true
			stored[i] = orEmpty(r.Item)
		}
	}
	return stored, failed
}

// collided tells of a transaction that was canceled because of another, or of
// throttling, and may succeed when it is sent again.
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

// explain adds the items to a request's error: the one, or in a transaction those
// that it names as the reason.
func (c *core) explain(changes []*change, err error) error {
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) {
		var blamed []*change
		for i, r := range canceled.CancellationReasons {
			if code := aws.ToString(r.Code); i < len(changes) && code != "" && code != "None" {
				blamed = append(blamed, changes[i])
			}
		}
		if len(blamed) > 0 {
			changes = blamed
		}
	}
	var tables []string
	for _, ch := range changes {
		if !slices.Contains(tables, c.tables[ch.table]) {
			tables = append(tables, c.tables[ch.table])
		}
	}
	first := changes[0]
	return read.Explain(fmt.Sprintf("%s.%s: %s %s", c.schema.Label(), fieldOf(first.item), first.kind, c.public(first.place)), tables, err)
}
