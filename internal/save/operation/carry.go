package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
)

// What another writer added to an entity after it was loaded, and before it moved, is under the old key. It was
// acknowledged, so that the move carries it to the new key. internal/save/staging/spec/Carry.tla specifies this.

// carryTries is how often a move reads the old key while other writers change what it finds.
const carryTries = 8

// carry carries the items of the entity that are under keys which it has moved away from, and records those that
// stay.
func (p *save) carry(ctx context.Context, t *Tally) error {
	// It has moved in this save, in an earlier one whose answer was lost, or in a move that another program did not
	// finish.
	former, keyFields, err := p.former()
	if err != nil {
		return err
	}
	p.entity.LatestRoot = nil
	for ; len(p.entity.moved) > 0; p.entity.moved = p.entity.moved[1:] {
		d := p.entity.moved[0]
		at := p.env.Model.Identity(d.Old)
		here := slices.EqualFunc(at, p.env.Model.Identity(keyFields), key.Value.Equal)
		ours := func(found []item.Image, i int, live types.AttributeValue) bool {
			own := found[i].Header.Incarnation
			switch {
			case own == nil: // it belongs to any entity with its key
				return here && !d.RootMoves || !p.env.isLiveIn(found)
			case here && attr.Same(own, live):
				return true
			}
			return item.MovedFrom(live, own)
		}
		left := func(found []item.Image, i int) bool {
			cameBack := here && d.RootMoves && found[i].Header.Incarnation == nil // the entity shows it again
			return !cameBack && d.LeftBehind(p.env.Model, keyFields, found, i)
		}
		if err := p.carryFrom(ctx, &oldKey{at, keyFields, left, ours}, t); err != nil {
			return err
		}
	}
	// An item without an incarnation on a drawn shard may be of another entity with the same key.
	drawn := len(former) > 0 && p.env.Model.Schema.Shards.Random()
	ours := func(found []item.Image, i int, live types.AttributeValue) bool {
		if own := found[i].Header.Incarnation; own != nil {
			return item.MovedFrom(live, own)
		}
		return !drawn && !p.env.isLiveIn(found)
	}
	for _, at := range former {
		live, _ := p.entity.Incarnation()
		left := func(found []item.Image, i int) bool {
			f := &found[i]
			return f.Kind != nil && (ours(found, i, live) || f.Header.Incarnation == nil && !p.env.isLiveIn(found))
		}
		if err := p.carryFrom(ctx, &oldKey{at, keyFields, left, ours}, t); err != nil {
			return err
		}
	}
	return nil
}

// former returns the keys that the entity may have had before another save moved it, and its key fields now, both nil
// if nothing has to be carried.
func (p *save) former() (keys [][]key.Value, keyFields []key.Value, err error) {
	by := p.env.Model.Schema.Shards
	// a save with Move that moves nothing finishes that move
	again := p.options.Move && !p.diff.Moves && by != nil && len(by.Counts) > 1
	if len(p.entity.moved) == 0 && !again {
		return nil, nil, nil
	}
	switch {
	case p.keys.KeyFields != nil:
		keyFields = p.keys.KeyFields
	case p.entity.KeyFields != nil:
		keyFields = p.entity.KeyFields
	default:
		if keyFields, err = p.env.Model.KeyFields(p.entity.Old); err == nil {
			err = p.entity.KeepShard(keyFields, false)
		}
	}
	if err != nil || !again {
		return nil, keyFields, err
	}
	own := p.env.Model.Identity(keyFields)
	shards, err := p.env.Model.Schema.FormerShards(own[:len(own)-1])
	if err != nil {
		return nil, nil, p.env.fault(err)
	}
	for _, shard := range shards {
		keys = append(keys, append(slices.Clone(own[:len(own)-1]), shard))
	}
	return keys, keyFields, nil
}

// isLiveIn reports whether a live root item is among items that were found.
func (e *Env) isLiveIn(found []item.Image) bool {
	return slices.ContainsFunc(found, func(f item.Image) bool {
		return f.Kind != nil && e.Model.IsRoot(f.Kind) && f.Header.Live()
	})
}

// oldKey is a key that the entity had. to are the key fields where it is now. left reports whether an item that was
// found there is of no entity, and ours whether it is of this one, whose incarnation is live.
type oldKey struct {
	at, to []key.Value
	left   func(found []item.Image, i int) bool
	ours   func(found []item.Image, i int, live types.AttributeValue) bool
}

// carryFrom carries the items under an old key.
func (p *save) carryFrom(ctx context.Context, from *oldKey, t *Tally) error {
	m := p.env.Model
	e, err := search.EntityOf(m, selection.Entity(m.Schema, from.at))
	if err != nil {
		return p.env.fault(err)
	}
	var why error
	for try := 0; ; try++ {
		found, err := p.env.Protocol.Remains(ctx, e, &t.Tally)
		if err != nil {
			return p.hasMoved(nil, fmt.Errorf("reading items of other writers under its old key failed: %w", err))
		}
		live, _ := p.entity.Incarnation()
		var stay, rest []item.Place
		carried := 0
		for i := range found {
			f := &found[i]
			if !from.left(found, i) {
				continue
			}
			if m.IsRoot(f.Kind) || f.Expired || !from.ours(found, i, live) {
				stay = append(stay, f.Place)
				continue
			}
			if err := p.carryItem(ctx, f, from, live, t); errors.Is(err, errInPlace) {
				continue
			} else if err != nil {
				why, rest = err, append(rest, f.Place)
				continue
			}
			carried++
		}
		again := carried > 0 || errors.Is(why, errCarryChanged) || errors.Is(why, errCarryLost)
		if len(rest) > 0 && try < carryTries && again {
			continue
		}
		if t.LeftBehind = append(t.LeftBehind, append(stay, rest...)...); len(rest) > 0 {
			return p.hasMoved(
				rest,
				fmt.Errorf("other writers added items under its old key, and they could not be carried to the "+
					"new one: save it again, or add them by hand: %w", why),
			)
		}
		return nil
	}
}

// hasMoved is the error of a move whose transaction was applied, and that is not finished.
func (p *save) hasMoved(rest []item.Place, err error) error {
	return &Partial{
		Label: p.env.Model.Label(), Written: written(change.Requests(p.diff.Changes)), Rest: rest,
		Err: fmt.Errorf("the entity has moved: %w", err),
	}
}

// errCarryChanged says that the item or the root item was written since it was read.
var errCarryChanged = errors.New("an item of the transaction that carries it was changed by another writer, or exists")

// errCarryLost says that no answer came: the next query shows whether the item was carried.
var errCarryLost = errors.New("the transaction that carries it has no answer")

// errInPlace says that the entity has come back to the key of the item.
var errInPlace = errors.New("the item is an element of the entity where it is")

// carryItem carries one item from an old key, in a transaction that requires the root item of the entity, and
// replaces a leftover item in its place.
func (p *save) carryItem(ctx context.Context, f *item.Image, from *oldKey, live types.AttributeValue, t *Tally) error {
	m, latest := p.env.Model, false
	var leftover *item.Hidden
	for {
		writes, checks, err := change.Carry(p.entity.Snapshot, f, from.at, from.to, live)
		if err != nil {
			return p.env.fault(err)
		}
		put := writes[0]
		if leftover != nil {
			put.Expect.Instead = leftover
		}
		plan, err := write.Arrange(writes, checks, write.Choice{})
		if err != nil {
			return err
		}
		o := p.env.Sender.Send(ctx, &plan.Steps[0], &t.Tally)
		switch {
		case o.OK():
			t.Carried = append(t.Carried, put.Place)
			return nil
		case o.State == write.Unknown:
			return fmt.Errorf("%w: %w", errCarryLost, o.Err)
		case o.State != write.Rejected:
			return o.Err
		}
		if root := p.refusing(&o, live); root != nil && !latest {
			if moved, err := m.Image(put.Table, put.Put); err == nil && p.env.agree(root, &moved) == nil {
				latest, p.entity.LatestRoot = true, root.Attributes() // a field has changed, but not in keys
				continue
			}
			if p.env.agree(root, f) == nil {
				return errInPlace
			}
		}
		i := slices.Index(o.Requests, put)
		if leftover != nil || i < 0 || len(o.Stored[i]) == 0 || !put.Expect.Absent {
			return errCarryChanged
		}
		leftover = m.Reserved.HiddenOf(o.Stored[i])
		own := leftover.Header.Incarnation
		if own == nil || attr.Same(own, live) || item.MovedFrom(live, own) {
			return errCarryChanged // it is of the entity
		}
	}
}
