package staging

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// errOver ends a delete whose mark no longer exists. The marked entity is never live again, and items
// that exist now are not part of the delete.
var errOver = errors.New("the delete has ended")

// Remains reads, strongly, all items that a delete finds, also those of other incarnations.
//
// The answer of a Query is no snapshot: it can contain items of an entity that was inserted after the Query passed
// the place of its root item. So items without a root item of their incarnation are leftover items only if a later
// read of the root item finds the same one, or none again.
func (p *Protocol) Remains(ctx context.Context, e *Entity, t *write.Tally) ([]item.Image, error) {
	for range tries {
		c, err := p.collect(ctx, e, reading{Options: read.Options{Strong: true}}, t)
		if err != nil {
			return nil, err
		}
		if !e.WithRoot || !e.leaves(c) && (c.root != nil || !c.paged && len(e.Parts) == 1) {
			return c.items, nil
		}
		root, err := p.ReadRoot(ctx, e, t)
		if err != nil {
			return nil, err
		}
		if (root == nil) == (c.root == nil) &&
			(root == nil || attr.Same(root.Header.Incarnation, c.root.Header.Incarnation)) {
			return c.items, nil
		}
	}
	return nil, errors.New(e.Name() + " was inserted and deleted several times during the read: delete it again")
}

// leaves reports whether items were read without a root item of their incarnation.
func (e *Entity) leaves(c *collected) bool {
	return slices.ContainsFunc(c.items, func(f item.Image) bool {
		switch a := f.Header.Incarnation; {
		case f.Kind == nil, e.isRoot(&f), e.Belongs != nil && !e.Belongs(&f):
			return false
		case c.root == nil:
			return true
		default:
			return a != nil && !attr.Same(a, c.root.Header.Incarnation)
		}
	})
}

// DeleteAdded deletes items of an entity whose root item was deleted, each as it was read. An item that
// was changed since is deleted if it still has the incarnation of the entity. It returns the places of
// the deleted items.
func (p *Protocol) DeleteAdded(ctx context.Context, e *Entity, found []item.Image,
	t *write.Tally,
) (deleted []item.Place, err error) {
	for i := range found {
		r := e.DeleteOf(&found[i])
		for try := 0; ; try++ {
			o := p.Sender.One(ctx, r, t)
			if o.OK() {
				deleted = append(deleted, r.Place)
				break
			}
			if o.State != write.Rejected {
				return deleted, unless(o)
			}
			stored := o.Stored[0]
			if h := e.Reserved.Header(stored); len(stored) == 0 || h.Incarnation == nil ||
				!attr.Same(h.Incarnation, r.Header.Incarnation) {
				break // another writer deleted it, or it is an item of another entity
			}
			f, err := p.Describe(r.Table, stored)
			if err != nil {
				return deleted, err
			}
			r = e.DeleteOf(&f)
			if err := request.Pause(ctx, try); err != nil {
				return deleted, err
			}
		}
	}
	return deleted, nil
}

// deletion is a staged delete under way.
type deletion struct {
	p *Protocol
	e *Entity
	// by distinguishes this delete from others.
	by types.AttributeValue
	// incarnation is that of the entity.
	incarnation types.AttributeValue
	t           *write.Tally
	// planned are the deletes of the plan, by their places.
	planned map[item.Place]*write.Request
	mu      sync.Mutex
	rest    []item.Place
}

// Delete sends the plan of a staged delete: the mark, which is never taken back, then the
// others, as they are found after that, then the root. What it marked is applied even where
// the outcome is not good: the entity is not found any more, and the delete can be repeated.
func (p *Protocol) Delete(ctx context.Context, e *Entity, plan *write.Plan, t *write.Tally) Result {
	mark, last := plan.Steps[0].Requests[0], plan.Steps[2].Requests[0]
	var result Result
	if result.Outcome = p.Sender.One(ctx, mark, t); !result.OK() {
		return result
	}
	result.Applied = []*write.Request{mark}
	d := &deletion{
		p: p, e: e, by: last.Header.ReadStage().By, incarnation: last.Header.Incarnation, t: t,
		planned: map[item.Place]*write.Request{},
	}
	for _, r := range plan.Steps[1].Requests {
		d.planned[r.Place] = r
	}
	err := d.parts(ctx)
	result.Items = d.rest
	if err == nil {
		if o := p.Sender.One(ctx, last, t); o.State != write.Rejected {
			err = unless(o)
		} // otherwise another writer has finished it, or taken it over
	}
	if errors.Is(err, errOver) {
		err = nil
	}
	result.Outcome = outcomeOf(err)
	return result
}

// parts deletes the items as they are now. That the mark still exists, read after them, says
// that no other insert can have put any of them.
func (d *deletion) parts(ctx context.Context) error {
	c, err := d.p.collect(ctx, d.e, reading{Options: read.Options{Strong: true}}, d.t)
	if err != nil {
		return err
	}
	if err := d.stillMarked(ctx, d.t); err != nil {
		return err
	}
	var all []*write.Request
	for i := range c.items {
		if f := &c.items[i]; !d.e.isRoot(f) && d.e.Belongs(f) {
			all = append(all, d.e.DeleteOf(f))
		}
	}
	return d.p.atOnce(ctx, len(all), d.t, func(ctx context.Context, i int, t *write.Tally) error {
		return d.one(ctx, all[i], t)
	})
}

// stillMarked returns errOver unless the mark still exists.
func (d *deletion) stillMarked(ctx context.Context, t *write.Tally) error {
	root, err := d.p.ReadRoot(ctx, d.e, t)
	switch {
	case err != nil:
		return err
	case root == nil:
		return errOver
	}
	if s := root.Header.ReadStage(); s.State != item.Deleting || !attr.Same(s.By, d.by) {
		return errOver
	}
	return nil
}

// one deletes an item as it was read. One that was written since is deleted as it is now, if
// the mark, read after it, still exists.
func (d *deletion) one(ctx context.Context, r *write.Request, t *write.Tally) error {
	for try := 0; ; try++ {
		o := d.p.Sender.One(ctx, r, t)
		if o.OK() {
			d.deleted(r)
		}
		if o.State != write.Rejected {
			return unless(o)
		}
		stored := o.Stored[0]
		if len(stored) == 0 {
			return nil // gone
		}
		if err := d.stillMarked(ctx, t); err != nil {
			return err
		}
		f, err := d.p.Describe(r.Table, stored)
		if err != nil {
			return err
		}
		r = d.e.DeleteOf(&f)
		if err := request.Pause(ctx, try); err != nil {
			return err
		}
	}
}

// deleted records items that were deleted although they were changed or added after the plan.
func (d *deletion) deleted(r *write.Request) {
	if a := r.Header.Incarnation; a != nil && !attr.Same(a, d.incarnation) {
		return // left over from another entity
	}
	if p := d.planned[r.Place]; p != nil && attr.Same(p.Header.Version, r.Header.Version) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = append(d.rest, r.Place)
}
