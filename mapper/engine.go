package mapper

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/sel"
	"github.com/itemize/itemize/query"
)

// Elements yields pointers to the elements of a type in a selection: the inside
// of queries.
func (c *core) Elements(ctx context.Context, s sel.Spec, elem reflect.Type, o read.Options, u *read.Usage) iter.Seq2[any, error] {
	fail := func(err error) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) { yield(nil, err) }
	}
	switch {
	case s.Err != nil:
		return fail(s.Err)
	case elem == c.schema.Type.Go:
		if !c.schema.Flat {
			return fail(fmt.Errorf("%s: a query over the model itself needs a flat model, whose partitions hold many entities: use Load", c.schema.Label()))
		}
		for _, p := range s.Parts {
			if p.Table != s.Parts[0].Table {
				return fail(fmt.Errorf("%s: the entities have items in several tables, which one query cannot read: Load them one by one", c.schema.Label()))
			}
		}
		return c.entities(ctx, s, o, u)
	}
	if err := c.onlyElements(s, elem); err != nil {
		return fail(err)
	}
	return func(yield func(any, error) bool) {
		r := &elementReader{c: c, s: s, elem: elem, o: o, u: u, roots: map[string]liveness{}}
		for r.again = true; r.again; {
			r.again = false
			r.read(ctx, yield)
		}
	}
}

// elementReader reads elements of a type, page by page.
type elementReader struct {
	c    *core
	s    sel.Spec
	elem reflect.Type
	o    read.Options
	u    *read.Usage
	// roots are the roots of staged inserts that were read, by entity.
	roots   map[string]liveness
	yielded bool
	// again tells that the elements have to be read again, from the beginning.
	again bool
}

func (r *elementReader) read(ctx context.Context, yield func(any, error) bool) {
	for page, err := range r.c.reader.Pages(ctx, r.s.Parts, r.o, r.u) {
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range page {
			rec, there, err := r.element(ctx, &page[i])
			switch {
			case err != nil:
				yield(nil, err)
				return
			case r.again:
				return
			case !there:
				continue
			}
			r.yielded = true
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// element decodes an item, if it is one of the elements asked for, and there.
func (r *elementReader) element(ctx context.Context, f *read.Found) (rec any, there bool, err error) {
	c := r.c
	if f.Kind == nil || f.Expired || !c.isOf(f.Kind, r.elem) || !c.owned(&state{spec: r.s}, f) {
		return nil, false, nil
	}
	if there, err = r.there(ctx, f); err != nil || !there {
		return nil, false, err
	}
	e, err := c.decodeElement(f, c.rowOf(f))
	return e.rec, true, err
}

// isOf tells whether an item's elements have a Go type.
func (c *core) isOf(it *schema.Item, elem reflect.Type) bool {
	return it.Element() && it.Elem.Go == elem
}

// onlyElements refuses a selection that can hold items other than the elements
// of a type, or none of them.
func (c *core) onlyElements(s sel.Spec, elem reflect.Type) error {
	some := false
	for _, it := range c.schema.Items {
		if !c.canHold(s, it) {
			continue
		}
		if !c.isOf(it, elem) {
			return fmt.Errorf("%s: the selection also holds %s, which is no %s: narrow it with Prefix", c.schema.Label(), it.Name, elem)
		}
		some = true
	}
	if !some {
		return fmt.Errorf("%s: the selection holds no elements of the type %s: name the type of a slice's or map's elements, without a pointer", c.schema.Label(), elem)
	}
	return nil
}

// canHold tells whether items of a kind can lie in a selection.
func (c *core) canHold(s sel.Spec, it *schema.Item) bool {
	for _, p := range s.Parts {
		if p.Table != it.Table.Index {
			continue
		}
		switch {
		case it.Key == nil, p.Range.Kind == sel.All:
			return true
		case p.Range.Kind == sel.One:
			if kind, _ := c.schema.Match(p.Table, p.Range.Low); kind == it {
				return true
			}
		case p.Range.Low.Type != 'S':
			return true
		case it.Key.Template.CanBegin(common(p.Range)):
			return true
		}
	}
	return false
}

// common returns what all keys of a range begin with.
func common(r sel.Range) string {
	if r.Kind == sel.Prefix {
		return r.Low.Text
	}
	n := 0
	for n < min(len(r.Low.Text), len(r.High.Text)) && r.Low.Text[n] == r.High.Text[n] {
		n++
	}
	return r.Low.Text[:n]
}

// there tells whether an item is one of the live entity: one of a staged insert
// is if the root is live with its attempt. A root that went live not long ago may
// have done so after the item was read, when not all of them were there: then they
// are read again, strongly.
func (r *elementReader) there(ctx context.Context, f *read.Found) (bool, error) {
	if f.Attempt == nil {
		return true, nil
	}
	c := r.c
	owners := c.ownersOf(f, r.s)
	name := c.entityName(owners)
	live, known := r.roots[name]
	if !known {
		var t tally
		root, err := c.readRoot(ctx, owners, &t)
		r.u.Requests += t.requests
		r.u.Predicted += t.rcu.Max
		r.u.Consumed += t.consumed.RCU
		if err != nil {
			return false, err
		}
		live = livenessOf(root)
		r.roots[name] = live
		if live.attempt != nil && !c.old(live) && !r.yielded {
			r.again, r.o.Strong = true, true
		}
	}
	return codec.SameValue(f.Attempt, live.attempt), nil
}

// ownersOf returns what an item's entity is known by: from the selection, and
// where that names several entities from the item's keys.
func (c *core) ownersOf(f *read.Found, s sel.Spec) []key.Value {
	owners := make([]key.Value, c.schema.Identities())
	copy(owners, s.Owners)
	if f.Kind.Key == nil {
		return owners
	}
	for i, src := range f.Kind.Key.Sources {
		if src.From == schema.FromOwner && src.Owner < len(owners) && (src.Lossless || owners[src.Owner].Kind == key.None) {
			owners[src.Owner] = f.Values[i]
		}
	}
	return owners
}

// group is the items of one entity, while they come.
type group struct {
	name   string
	owners []key.Value
	prefix string
	first  string // the smallest key that an item of it can have
	found  []read.Found
}

// entities yields the entities of a flat model in a selection, in the order of
// their keys. Items of one entity come together but for a root whose key is the
// prefix itself: other entities' keys may sort between it and the rest.
func (c *core) entities(ctx context.Context, s sel.Spec, o read.Options, u *read.Usage) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		var open []*group
		items := func(yield func(read.Found, error) bool) {
			for page, err := range c.reader.Pages(ctx, s.Parts, o, u) {
				if err != nil {
					yield(read.Found{}, err)
					return
				}
				for _, f := range page {
					if f.Kind != nil && !yield(f, nil) {
						return
					}
				}
			}
		}
		for f, err := range items {
			if err != nil {
				yield(nil, err)
				return
			}
			for len(open) > 0 {
				i := next(open, o.Reverse)
				if !open[i].over(f.SK, o.Reverse) {
					break
				}
				if !c.yieldEntity(ctx, open[i], u, yield) {
					return
				}
				open = slices.Delete(open, i, i+1)
			}
			if open, err = c.join(open, f, s); err != nil {
				yield(nil, err)
				return
			}
		}
		for len(open) > 0 {
			i := next(open, o.Reverse)
			if !c.yieldEntity(ctx, open[i], u, yield) {
				return
			}
			open = slices.Delete(open, i, i+1)
		}
	}
}

// next returns the group that comes next: in the order of the keys of their roots.
func next(open []*group, reverse bool) int {
	i := 0
	for j, g := range open {
		if reverse == (g.first > open[i].first) && g.first != open[i].first {
			i = j
		}
	}
	return i
}

// join adds an item to its entity's group.
func (c *core) join(open []*group, f read.Found, s sel.Spec) ([]*group, error) {
	owners := c.ownersOf(&f, s)
	name := c.entityName(owners)
	for _, g := range open {
		if g.name == name {
			g.found = append(g.found, f)
			return open, nil
		}
	}
	prefix, err := c.schema.EntityPrefix(f.Kind, owners)
	if err != nil {
		return nil, err
	}
	g := &group{name: name, owners: owners, prefix: prefix, first: strings.TrimSuffix(prefix, string(c.schema.Delim)), found: []read.Found{f}}
	return append(open, g), nil
}

// over tells whether no item of the group can come any more at a key.
func (g *group) over(sk key.Scalar, reverse bool) bool {
	if sk.Type != 'S' {
		return true // a bare key: one item each
	}
	if strings.HasPrefix(sk.Text, g.prefix) || sk.Text == g.first {
		return false
	}
	if reverse {
		return sk.Text < g.first
	}
	return sk.Text > g.prefix
}

// yieldEntity decodes a group. Items without a live root are no entity.
func (c *core) yieldEntity(ctx context.Context, g *group, u *read.Usage, yield func(any, error) bool) bool {
	var t tally
	v := c.codec.New()
	st := &state{
		core: c, spec: sel.Entity(c.schema, g.owners), old: c.codec.New(),
		rows: make([][]*row, len(c.schema.Items)), ghosts: map[place]*ghost{},
	}
	found, err := c.alive(ctx, st, g.found, &t)
	u.Requests += t.requests
	u.Predicted += t.rcu.Max
	u.Consumed += t.consumed.RCU
	if err == nil {
		err = c.setIdentity(st.spec, v)
	}
	if err == nil {
		err = c.decode(st, v, found)
	}
	switch {
	case isNotFound(err):
		return true
	case err != nil:
		yield(nil, err)
		return false
	}
	return yield(v, nil)
}

// Done delivers the receipt of a query.
func (c *core) Done(options []query.ReadOption, u *read.Usage) {
	var t tally
	t.read(u)
	deliver(readSettingsOf(options).Receipt, t.receipt())
}
