package mapper

import (
	"context"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
)

// group is the items of one entity of a flat model, while they come.
type group struct {
	name   string
	keyFields []key.Value
	prefix string
	first  string     // the smallest key that an item of it can have
	at     key.Scalar // that of the item that came first
	table  int
	pk     key.Scalar
	found  []read.Found
}

// entityReader yields the entities of a flat model, in the order of their keys. Items
// of one entity come together but for a root whose key is the prefix itself: other
// entities' keys may sort between it and the rest.
type entityReader struct {
	*search
	open []*group
	// bare tells that some item's key is the prefix itself.
	bare bool
}

// entities searches for entities.
func (x *search) entities(ctx context.Context, yield func(hit) bool, pageEnd func(read.Page) bool) error {
	r := &entityReader{search: x}
	for _, it := range x.c.schema.Items {
		r.bare = r.bare || x.c.schema.PrefixParts(it) == len(it.Key.Template.Parts)
	}
	for page, err := range x.c.reader.Pages(ctx, x.s.Parts, x.o, x.u) {
		if err != nil {
			return err
		}
		for _, f := range page.Items {
			if f.Kind == nil {
				continue
			}
			if more, err := r.emit(ctx, func(g *group) bool { return g.over(f.SK, x.o.Reverse) }, yield); err != nil || !more {
				return err
			}
			if err := r.join(f); err != nil {
				return err
			}
		}
		if !page.More {
			if more, err := r.emit(ctx, func(*group) bool { return true }, yield); err != nil || !more {
				return err
			}
		}
		if !pageEnd(page) {
			return nil
		}
	}
	_, err := r.emit(ctx, func(*group) bool { return true }, yield)
	return err
}

// emit yields the groups that come next, as long as they are over.
func (r *entityReader) emit(ctx context.Context, over func(*group) bool, yield func(hit) bool) (more bool, err error) {
	for len(r.open) > 0 {
		i := r.next()
		g := r.open[i]
		if !over(g) {
			break
		}
		r.open = slices.Delete(r.open, i, i+1)
		v, err := r.entity(ctx, g)
		if err != nil {
			return false, err
		}
		if v != nil && !yield(hit{value: v, at: place{g.table, g.pk, g.at}, next: r.behind(g)}) {
			return false, nil
		}
	}
	return true, nil
}

// next returns the open group that comes next: in the order of the keys of their roots.
func (r *entityReader) next() int {
	i := 0
	for j, g := range r.open {
		if g.first != r.open[i].first && r.o.Reverse == (g.first > r.open[i].first) {
			i = j
		}
	}
	return i
}

// behind returns where to go on behind a group, with all items of those that are open
// yet.
func (r *entityReader) behind(g *group) position {
	text := func(s string) key.Scalar { return key.Scalar{Type: 'S', Text: s} }
	p := position{Start: g.at, After: g.first}
	switch {
	case g.at.Type != 'S':
		p.After = ""
	case r.o.Reverse && len(r.open) > 0:
		p.Start = text(slices.MaxFunc(r.open, func(a, b *group) int { return strings.Compare(a.prefix, b.prefix) }).prefix + lastRune)
	case r.o.Reverse:
		p.Start = text(g.first)
	case r.bare:
		p.Start = text(g.first)
	default:
		p.Start = text(g.prefix + lastRune)
	}
	return p
}

// lastRune sorts behind all that a key can go on with.
const lastRune = "\U0010FFFF"

// join adds an item to its entity's group, unless it was yielded on an earlier page.
func (r *entityReader) join(f read.Found) error {
	c := r.c
	keyFields := c.identityOf(&f, r.s)
	name := c.entityName(keyFields)
	for _, g := range r.open {
		if g.name == name {
			g.found = append(g.found, f)
			return nil
		}
	}
	prefix, err := c.schema.EntityPrefix(f.Kind, keyFields)
	if err != nil {
		return err
	}
	first := strings.TrimSuffix(prefix, string(c.schema.Delim))
	if p := r.search.at; p != nil && p.After != "" && (first == p.After || r.o.Reverse == (first > p.After)) {
		return nil
	}
	r.open = append(r.open, &group{name: name, keyFields: keyFields, prefix: prefix, first: first, at: f.SK, table: f.Table, pk: f.PK, found: []read.Found{f}})
	return nil
}

// over reports whether no item of the group can come any more at a key.
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

// entity decodes a group, nil for items without a live root, which are no entity.
func (r *entityReader) entity(ctx context.Context, g *group) (any, error) {
	c := r.c
	var t tally
	defer func() { r.add(&t) }()
	v := c.codec.New()
	st := &state{
		core: c, spec: selection.Entity(c.schema, g.keyFields), old: c.codec.New(),
		rows: make([][]*row, len(c.schema.Items)), ghosts: map[place]*ghost{},
	}
	found, err := c.alive(ctx, st, g.found, &t)
	if err == nil {
		err = c.setIdentity(st.spec, v)
	}
	if err == nil {
		err = c.decode(st, v, found)
	}
	switch {
	case isNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	kept, err := r.keeps(&g.found[0], func(k *selection.Filter) (key.Value, error) { return c.codec.KeyField(v, k.KeyField) })
	if err != nil || !kept {
		return nil, err
	}
	return v, nil
}
