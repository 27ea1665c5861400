package search

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// A lookup reads the guard of a unique value, and then its owner. The owner counts if its root item is live, and has
// the incarnation of the guard and the value. Otherwise the guard is read again, strongly consistent: the value has no
// owner if the guard is missing, or unchanged after a strong look at the owner. The specification is Unique.tla in
// internal/save/staging/spec, clauses LookTwice and MissReadsStrongly.

// lookups bounds how often a lookup follows a value from owner to owner.
const lookups = 10

// GuardOf returns the guard of the value of a lookup.
func (e *Engine) GuardOf(l *selection.Lookup) (u *schema.Unique, at item.Place, err error) {
	m := e.Model
	u = m.Schema.Uniques[l.Unique]
	v := m.Codec.New()
	if err := l.Set(v); err != nil {
		return u, at, err
	}
	root := item.Attributes{}
	for _, i := range u.Attributes {
		a, err := m.Codec.Record(m.Root().Index).Encode(v, i)
		if err == nil {
			err = attr.Check(a)
		}
		if err != nil {
			return u, at, m.ValueErrorf(m.Root().Attributes[i].Value.Name, "%w", err)
		}
		if a != nil {
			root[m.Root().Attributes[i].Name] = a
		}
	}
	at, ok, err := m.Guard(u, root)
	if err == nil && !ok {
		err = m.ValueErrorf(m.Schema.FieldNames(u), "a lookup needs a value, but a part of it is empty: no entity has "+
			"a guard for it")
	}
	return u, at, err
}

// unowned returns the error of a value without an owner. pending is the unfinished operation on the last one.
func (e *Engine) unowned(u *schema.Unique, pending string) error {
	name := e.Model.Schema.Root.Table.Name
	fields := strings.ReplaceAll(e.Model.Schema.FieldNames(u), ",", ", ")
	return &NotFound{
		Name: "an entity with this " + fields, Pending: pending, Root: item.Place{Table: &item.Table{Name: name}},
	}
}

// Look finds the entity of a lookup. find reads a selection of the entity, strongly consistent or not, and returns its
// root item; it is called again if the entity turned out not to have the value.
func (e *Engine) Look(ctx context.Context, sel selection.Selection, o read.Options, t *write.Tally,
	find func(selection.Selection, read.Options) (root *item.Image, err error),
) error {
	u, at, err := e.GuardOf(sel.Lookup)
	if err != nil {
		return err
	}
	if err := e.Notes.Check(ctx, e.Reader, u, t); err != nil {
		return err
	}
	var last item.Attributes // of a strongly consistent read
	pending := ""
	for try := range lookups {
		if try > 1 {
			if err := request.Pause(ctx, try-1); err != nil {
				return err
			}
		}
		var usage read.Usage
		guard, err := e.Reader.Item(ctx, at, o, &usage)
		t.AddRead(usage.Requests, usage.Predicted, usage.Consumed)
		if err != nil {
			return err
		}
		owner, err := e.Model.GuardOwner(u, guard)
		if err != nil {
			return err
		}
		switch {
		case owner != nil && !(o.Strong && last != nil && attr.SameItem(last, guard)):
			identity, _ := e.Model.RootIdentity(owner.Root)
			root, err := find(sel.Of(e.Model.Schema, identity), o)
			if err != nil {
				return err
			}
			if e.owns(u, at, *owner, root) {
				return nil
			}
			if root != nil && attr.Same(root.Header.Incarnation, owner.Incarnation) {
				pending = staging.Pending(root)
			}
		case o.Strong:
			return e.unowned(u, pending)
		}
		if o.Strong {
			last = guard
		}
		o.Strong = true
	}
	return e.Model.Errorf("%s: the value changes its owner all the time: look it up again",
		e.Model.Schema.FieldNames(u))
}

// owns reports whether a root item is that of the owner that a guard names, and has its value.
func (e *Engine) owns(u *schema.Unique, at item.Place, owner model.Owner, root *item.Image) bool {
	return root != nil && !root.Expired && root.PK == owner.Root.PK && root.SK == owner.Root.SK &&
		e.Model.Holds(u, at, owner, root)
}

// WithRoot adds the root item to a selection of one entity.
func (e *Engine) WithRoot(sel selection.Selection) selection.Selection {
	inIndex := len(sel.Parts) > 0 && sel.Parts[0].In != nil
	if sel.Err != nil || sel.Whole || !sel.Entity || inIndex {
		return sel
	}
	entity, err := EntityOf(e.Model, sel)
	if err != nil {
		sel.Err = err
		return sel
	}
	if entity.WithRoot {
		return sel
	}
	root := selection.Range{Kind: selection.One, Low: entity.Root.SK}
	s := e.Model.Schema
	return sel.Join(selection.Entity(s, sel.Identity).Narrow(s, entity.Root.Table.Index, root))
}

// FindOwner reads the entity of a lookup, with its root item.
func (e *Engine) FindOwner(ctx context.Context, sel selection.Selection, o read.Options, t *write.Tally) (found *Found,
	err error,
) {
	if err := sel.Fault(); err != nil {
		return nil, err
	}
	err = e.Look(ctx, sel, o, t, func(at selection.Selection, o read.Options) (*item.Image, error) {
		if at = e.WithRoot(at); at.Err != nil {
			return nil, at.Err
		}
		if found, err = e.Find(ctx, e.Protocol, at, o, t); err != nil {
			return nil, err
		}
		return found.Root, nil
	})
	return found, err
}

// FindOwners is FindOwner of several lookups, several at a time; nil for another selection, and for a value without an
// owner. Equal lookups are read once.
func (e *Engine) FindOwners(ctx context.Context, sels []selection.Selection, o read.Options, t *write.Tally) ([]*Found,
	error,
) {
	found, tallies := make([]*Found, len(sels)), make([]write.Tally, len(sels))
	first, same := map[string]int{}, make([]int, len(sels))
	for i, sel := range sels {
		if same[i] = i; sel.Lookup == nil {
			continue
		}
		u, at, err := e.GuardOf(sel.Lookup)
		if err == nil { // before all lookups at once, which would each read it
			err = e.Notes.Check(ctx, e.Reader, u, t)
		}
		if err != nil {
			return nil, err
		}
		sel.Lookup, sel.Err = nil, nil // the fault of lookups where a key is needed
		name := fmt.Sprintf("%q %#v", at.PK.Text, sel)
		if n, ok := first[name]; ok {
			same[i] = n
		} else {
			first[name] = i
		}
	}
	err := request.AtOnce(ctx, len(sels), func(ctx context.Context, i int) error {
		if sels[i].Lookup == nil || same[i] != i {
			return nil
		}
		f, err := e.FindOwner(ctx, sels[i], o, &tallies[i])
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		found[i] = f
		return err
	})
	t.AddAll(tallies)
	for i, n := range same {
		if f := found[n]; f != nil && n != i {
			found[i] = f.Copy() // decoding uses up the original
		}
	}
	return found, err
}

// SomeOwner returns a selection like that of a lookup, of an entity whose key is unknown, for a plan. noted reports
// that the note of the value is not read.
func (e *Engine) SomeOwner(sel selection.Selection) (at selection.Selection, noted bool, err error) {
	u, _, err := e.GuardOf(sel.Lookup)
	if err != nil {
		return sel, false, err
	}
	at = e.WithRoot(sel.Of(e.Model.Schema, e.Model.SomeIdentity()))
	return at, e.Notes.IsVerified(u), at.Err
}

// Owned is the entity that has a unique value, as it was found.
type Owned struct {
	selection.Selection
	Unique *schema.Unique
	Root   *item.Image
}

// Values are the stored parts of the value.
func (o *Owned) Values(m *model.Model) []item.Assignment {
	return m.UniqueValues(o.Unique, o.Root.Attributes())
}

// Still reports whether a root item is live, and still of the owner, with the value.
func (o *Owned) Still(m *model.Model, root item.Attributes) bool {
	h := m.Reserved.Header(root)
	if len(root) == 0 || !h.Live() || h.Expired(m.Now()) || !attr.Same(h.Incarnation, o.Root.Header.Incarnation) {
		return false
	}
	for _, a := range o.Values(m) {
		if !attr.Same(root[a.Name], a.Value) {
			return false
		}
	}
	return true
}

// Owner finds the entity of a lookup by strongly consistent reads of the guard and the root item.
func (e *Engine) Owner(ctx context.Context, sel selection.Selection, t *write.Tally) (*Owned, error) {
	owned := &Owned{Unique: e.Model.Schema.Uniques[sel.Lookup.Unique]}
	err := e.Look(ctx, sel, read.Options{Strong: true}, t,
		func(at selection.Selection, _ read.Options) (*item.Image, error) {
			entity, err := EntityOf(e.Model, at)
			if err != nil {
				return nil, err
			}
			owned.Selection = at
			owned.Root, err = e.Protocol.ReadRoot(ctx, entity, t)
			return owned.Root, err
		})
	return owned, err
}
