package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// group is the items of one entity of a flat model, while they come.
type group struct {
	name     string
	identity []key.Value
	prefix   string
	first    string     // the smallest key that an item of it can have
	order    string     // what decides which of two comes first: first of a bare key, prefix of others
	at       item.Place // the key of the first item
	found    []item.Image
	// crossed reports that a page ended while items of it could still come; missed that one
	// ended so before the first came.
	crossed, missed bool
	// alone reports that the entity is one item, whatever comes next.
	alone bool
}

// entityReader yields the entities of a flat model, in the order of their keys. Items of one entity are
// adjacent, except a root whose key is the prefix itself: other entities' keys may sort between it and
// the rest.
type entityReader struct {
	*Search
	began time.Time
	open  []*group
	// bare reports that some item's key is the prefix itself.
	bare  bool
	yield func(Hit) bool
	found int
	// items is how many items have come, groups how many entities they were of.
	items, groups int
	// ended is where the last page did, "" for the first.
	ended string
}

// entities searches for entities.
func (x *Search) entities(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	r := &entityReader{Search: x, yield: yield, began: x.begun()}
	for _, it := range x.Model.Schema.Items {
		r.bare = r.bare || x.Model.Schema.PrefixParts(it) == len(it.Key.Template.Parts)
	}
	all := func(*group) bool { return true }
	o := x.o
	if o.Limit == 0 && x.r.Limit > 0 && len(x.r.Filter) == 0 {
		o.Want = r.want
	}
	for page, err := range read.Merged(ctx, x.Source, x.s.Parts, o, x.u) {
		if err != nil {
			return err
		}
		if more, err := r.page(ctx, page); err != nil || !more {
			return err
		}
		r.ended = page.Last.Text
		for _, g := range r.open {
			g.crossed = g.crossed || page.More && !g.over(page.Last, r.o.Reverse)
		}
		if !page.More {
			if more, err := r.emit(ctx, all); err != nil || !more {
				return err
			}
		}
		if !pageEnd(page) {
			return nil
		}
	}
	_, err := r.emit(ctx, all)
	return err
}

// want returns the number of items to request. It assumes that the remaining entities have as many
// items as those before. If there were none, it assumes one item of each kind that is no element, and
// one more that shows the end. For a very long entity it requests as many items again as it has had so
// far.
func (r *entityReader) want() int {
	open := 0
	for _, g := range r.open {
		open += len(g.found)
	}
	each := 0
	for _, it := range r.Model.Schema.Items {
		if !it.Element() {
			each++
		}
	}
	if r.groups > 0 {
		each = (r.items + r.groups - 1) / r.groups
	}
	return max((r.r.Limit-r.found)*each-open+1, open, 1)
}

// page adds the items of a page to their groups, and yields those that are over.
func (r *entityReader) page(ctx context.Context, page read.Page) (more bool, err error) {
	for _, f := range page.Items {
		if f.Kind == nil {
			continue
		}
		if more, err := r.emit(ctx, func(g *group) bool { return g.over(f.SK, r.o.Reverse) }); err != nil || !more {
			return false, err
		}
		if err := r.join(f); err != nil {
			return false, err
		}
	}
	return r.emit(ctx, func(g *group) bool { return g.alone })
}

// emit yields the groups that come next, as long as they are over.
func (r *entityReader) emit(ctx context.Context, over func(*group) bool) (more bool, err error) {
	for len(r.open) > 0 {
		i := r.next()
		g := r.open[i]
		if !over(g) {
			break
		}
		r.open = slices.Delete(r.open, i, i+1)
		v, s, err := r.decode(ctx, g)
		if err != nil {
			return false, err
		}
		if v == nil {
			continue
		}
		r.found++
		at, err := r.Model.RootPlace(g.identity)
		if err != nil {
			return false, err
		}
		hit := Hit{
			Value: v, Snapshot: s, At: at, where: &where{r.behind(g), g.key()}, m: r.Model, identity: g.identity,
		}
		if !r.yield(hit) || r.found == r.r.Limit {
			return false, nil
		}
	}
	return true, nil
}

// next returns the open group that comes next: in the order of their keys.
func (r *entityReader) next() int {
	i := 0
	for j, g := range r.open {
		if g.order != r.open[i].order && r.o.Reverse == (g.order > r.open[i].order) {
			i = j
		}
	}
	return i
}

// behind returns the position after a group, and after all items of the groups that are still open.
func (r *entityReader) behind(g *group) Position {
	text := func(s string) key.Scalar { return key.Scalar{Type: 'S', Text: s} }
	p := Position{Start: g.at.SK, After: g.order}
	switch {
	case g.at.SK.Type != 'S':
		p.After = ""
	case r.o.Reverse && len(r.open) > 0:
		p.Start = text(slices.MaxFunc(r.open, func(a, b *group) int { return strings.Compare(a.prefix, b.prefix) }).
			prefix + lastRune)
	case r.o.Reverse, r.bare:
		p.Start = text(g.order)
	default:
		p.Start = text(g.prefix + lastRune)
	}
	return p
}

// key returns the key that decides which of two groups comes first.
func (g *group) key() key.Scalar {
	if g.at.SK.Type != 'S' {
		return g.at.SK
	}
	return key.Scalar{Type: 'S', Text: g.order}
}

// lastRune sorts after every continuation of a key.
const lastRune = "\U0010FFFF"

// join adds an item to its entity's group, unless it was yielded on an earlier page.
func (r *entityReader) join(f item.Image) error {
	m := r.Model
	identity := m.IdentityOf(&f, r.s.Identity)
	name := m.EntityName(identity)
	r.items++
	for _, g := range r.open {
		if g.name == name {
			g.found = append(g.found, f)
			return nil
		}
	}
	prefix, err := m.Schema.EntityPrefix(f.Kind, identity)
	if err != nil {
		return err
	}
	first := strings.TrimSuffix(prefix, string(m.Schema.Delim))
	order := prefix
	if r.bare {
		order = first
	}
	if p := r.Search.at; p != nil && p.After != "" && (order == p.After || r.o.Reverse == (order > p.After)) {
		return nil
	}
	g := &group{
		name: name, identity: identity, prefix: prefix, first: first, order: order, at: f.Place,
		found: []item.Image{f},
	}
	g.alone = r.bare && len(m.Schema.Items) == 1
	g.missed = g.first <= r.ended && r.ended <= g.prefix+lastRune
	r.open = append(r.open, g)
	r.groups++
	return nil
}

// over reports whether no item of the group can come any more at a key.
func (g *group) over(sk key.Scalar, reverse bool) bool {
	if sk.Type != 'S' || g.alone {
		return true // a bare key: one item each
	}
	if strings.HasPrefix(sk.Text, g.prefix) || sk.Text == g.first {
		return false
	}
	if reverse {
		return sk.Text < g.order
	}
	return sk.Text > g.prefix
}

// decode makes the value of a group, nil for items without a live root, which are no
// entity.
func (r *entityReader) decode(ctx context.Context, g *group) (any, *snapshot.Snapshot, error) {
	var t write.Tally
	defer func() { r.add(&t) }()
	v := r.Model.Codec.New()
	s, err := r.decodeGroup(ctx, g, v, &t)
	var missing *NotFound
	switch {
	case errors.As(err, &missing):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	kept, err := r.keeps(&g.found[0],
		func(k *selection.Filter) (key.Value, error) { return r.Model.Codec.KeyField(v, k.KeyField) })
	if err != nil || !kept {
		return nil, nil, err
	}
	return v, s, nil
}

// decodeGroup decodes the items of a group, or the items that a second read returns.
func (r *entityReader) decodeGroup(ctx context.Context, g *group, v any, t *write.Tally) (*snapshot.Snapshot, error) {
	sel := selection.Entity(r.Model.Schema, g.identity)
	e, err := EntityOf(r.Model, sel)
	if err != nil {
		return nil, err
	}
	reading, err := r.Protocol.Among(ctx, e, g.found,
		staging.How{Strong: r.o.Strong, Missed: g.missed, Paged: g.crossed, Began: r.began}, t)
	if err != nil {
		return nil, err
	}
	if r.r.Projection != nil {
		projection := item.ProjectionOf(nil, r.needed(r.projected()))
		for i := range reading.Items {
			reading.Items[i].Projection = projection
		}
	}
	return r.Engine.Decode(ctx, &Found{reading, sel, e}, v, t)
}
