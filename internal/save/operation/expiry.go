package operation

import (
	"context"
	"errors"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
)

// Items that a patch has created expire with the root item (ttl,all). The specification is Expiry.tla in
// internal/save/staging/spec.

var errExpiryMoves = errors.New("the expiry of the root item keeps changing")

// confirmExpiry makes sure that the items which the patch has created have the expiry of the root item. If that
// item has changed since the patch read it, it reads them, and corrects their expiry in a transaction with a
// check of the root item. It returns the root item as it is then.
func (p *modify) confirmExpiry(ctx context.Context, root *item.Image, t *Tally) (*item.Image, bool, error) {
	last := p.root
	for try := range minTries {
		if last != nil && attr.SameItem(root.Attributes(), last.Attributes()) {
			return root, true, nil
		}
		if err := pause(ctx, try); err != nil {
			return nil, false, err
		}
		stale, err := p.stale(ctx, root, t)
		if err != nil {
			return nil, false, err
		}
		last = root
		if len(stale) > 0 {
			corrected, err := p.correctExpiry(ctx, root, stale, t)
			if err != nil {
				return nil, false, err
			}
			if !corrected {
				last = nil // it may not have been applied
			}
		}
		live := false
		if root, live, err = p.confirmRoot(ctx, t); err != nil || !live {
			return root, live, err
		}
	}
	return nil, false, errExpiryMoves
}

// stale returns those of the items that do not have the expiry of the root item.
func (p *modify) stale(ctx context.Context, root *item.Image, t *Tally) (all []*write.Request, err error) {
	for _, r := range p.Added() {
		if !r.Item.ExpiryOfRoot {
			continue
		}
		stored, err := p.env.Sender.Stored(ctx, r, &t.Tally)
		if err != nil {
			return nil, err
		}
		if len(stored) > 0 && !attr.Same(stored[r.Reserved.TTL], change.ExpiryIn(root)) {
			all = append(all, r)
		}
	}
	return all, nil
}

// correctExpiry reports whether it has given items the expiry of the root item.
func (p *modify) correctExpiry(ctx context.Context, root *item.Image, stale []*write.Request, t *Tally) (bool, error) {
	for some := range slices.Chunk(stale, cost.MaxTransactItems-1) {
		writes, check := change.CorrectExpiry(p.env.Model, root, some)
		plan, err := write.Arrange(writes, []*write.Request{check}, write.Choice{})
		if err != nil {
			return false, err
		}
		switch o := p.env.Sender.Send(ctx, &plan.Steps[0], &t.Tally); {
		case o.State == write.Failed:
			return false, o.Err
		case !o.OK():
			return false, nil
		}
	}
	return true, nil
}
