package staging

import (
	"context"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/write"
)

// Alive finds out which attempt of a staged insert the live root carries, where items
// carry one. If the items may have been read before the root went live, when not all of
// them were there, they are read again, strongly. It returns the items to go by, and the
// liveness of the root: an item belongs to the entity if it is Joined with that.
func (p *Protocol) Alive(ctx context.Context, e *Entity, parts []selection.Part, found []item.Image, t *write.Tally) ([]item.Image, item.Liveness, error) {
	var seen item.Liveness // that of a root which was read before the items
	for range tries {
		among := e.rootAmong(found)
		live := item.LivenessOf(among)
		if among == nil {
			live = seen
		}
		foreign, early := p.uncertain(e, found, live)
		if !foreign && !early || live.Attempt != nil && attr.Same(live.Attempt, seen.Attempt) {
			return found, live, nil
		}
		root, err := p.ReadRoot(ctx, e, t)
		if err != nil {
			return nil, item.Liveness{}, err
		}
		e.Asked = root
		seen = item.LivenessOf(root)
		switch {
		case seen.Attempt == nil: // not live, or not staged: nothing that carries an attempt is there
			if among != nil {
				found = e.replaceRoot(found, root)
			}
			return found, seen, nil
		case among != nil && !early && attr.Same(live.Attempt, seen.Attempt), among == nil && p.LongLive(seen):
			return found, seen, nil
		}
		if found, err = p.Collect(ctx, parts, read.Options{Strong: true}, t); err != nil {
			return nil, item.Liveness{}, err
		}
	}
	return nil, item.Liveness{}, fmt.Errorf("%s was inserted and deleted again and again while it was read: load it again", e.Name())
}

// uncertain reports whether items carry another attempt than the live root, and whether
// items of its attempt may have been read before it went live, when not all of them were
// there: not if it came with the same answer as they, or is live for long.
func (p *Protocol) uncertain(e *Entity, found []item.Image, live item.Liveness) (foreign, early bool) {
	root := e.rootAmong(found)
	for i := range found {
		switch f := &found[i]; {
		case e.IsRoot(f), f.Header.Attempt == nil:
		case !attr.Same(f.Header.Attempt, live.Attempt):
			foreign = true
		case !p.LongLive(live) && (root == nil || f.Answer == 0 || root.Answer != f.Answer):
			early = true
		}
	}
	return foreign, early
}

func (e *Entity) replaceRoot(found []item.Image, root *item.Image) []item.Image {
	found = slices.DeleteFunc(found, func(f item.Image) bool { return e.isRoot(&f) })
	if root != nil {
		found = append(found, *root)
	}
	return found
}

// LeftBehind finds out about new items that cannot be put because a staged write has left
// something in their place: it returns images of those that are none of the live entity's,
// by the request's index, so that a put may replace them. known reports what has been
// found out before.
func (p *Protocol) LeftBehind(ctx context.Context, e *Entity, o *write.Outcome, known func(item.Place) *item.Hidden, t *write.Tally) (map[int]item.Image, error) {
	var left map[int]item.Image
	var live item.Liveness
	for i, r := range o.Requests {
		attempt := r.Reserved.Header(o.Stored[i]).Attempt
		if !r.New || r.Root || attempt == nil {
			continue
		}
		if h := known(r.Place); h != nil && attr.Same(h.Attempt, attempt) {
			continue // it has been tried
		}
		if left == nil {
			root, err := p.ReadRoot(ctx, e, t)
			if err != nil {
				return nil, err
			}
			live, left = item.LivenessOf(root), map[int]item.Image{}
		}
		if attr.Same(attempt, live.Attempt) {
			continue
		}
		f, err := p.Describe(r.Table, o.Stored[i])
		if err != nil {
			return nil, err
		}
		left[i] = f
	}
	return left, nil
}
