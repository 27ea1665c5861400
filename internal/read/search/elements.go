package search

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// elementReader reads elements of a type, page by page. The elements of one entity are of one live
// incarnation, or the search ends in an error. The root is read before a possible leftover item is
// yielded. It is read again at the end if more of the entity was read since.
type elementReader struct {
	*Search
	began time.Time
	// entities are those whose items were met, by name; last is that of the last item.
	entities map[string]*entity
	last     *entity
	// passed is the place that was passed last, if one was, for when pages are read again.
	passed    item.Place
	hasPassed bool
	// found is the number of hits.
	found int
	// made are elements to decode into, and left is how many items of the page are not decoded yet.
	made snapshot.Elements
	left int
}

// entity is the state of an entity whose items a search has read.
type entity struct {
	name     string
	identity []key.Value
	// incarnation is the incarnation of the first item, and shown that of the yielded items.
	incarnation, shown types.AttributeValue
	// doubtful reports that the items have different incarnations, and bare that some have none. asked
	// reports that the root has been read since; it then decides which of the items exist.
	doubtful, bare, asked bool
	// crossed reports that more of it may have been read since, yielded that some was found.
	crossed, yielded bool
	root             staging.Reading
}

// elements searches for elements.
func (x *Search) elements(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	r := &elementReader{Search: x, began: x.begun(), entities: map[string]*entity{}}
	r.made.Make, r.o.Light = x.r.Make, true
	if err := r.begin(ctx); err != nil {
		return err
	}
	for {
		retry, err := r.read(ctx, yield, pageEnd)
		if err != nil || !retry {
			return err
		}
		r.o.Strong = true
	}
}

// begin notes the entity that all is searched of, if it is one. Where several ranges of it are
// read strongly, one after the other, the root is read before them.
func (r *elementReader) begin(ctx context.Context) error {
	if !r.s.Entity {
		return nil
	}
	r.last = r.entity(r.s.Identity)
	if !r.o.Strong || len(r.s.Parts) == 1 {
		return nil
	}
	r.last.crossed = true
	return r.askRoot(ctx, r.last)
}

// unchanged returns an error if an entity has changed of which more was read after its root. The
// yielded elements could otherwise be a part of it.
func (r *elementReader) unchanged(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.entities)) {
		if e := r.entities[name]; e.crossed && e.yielded {
			if err := r.askRoot(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads the pages. again reports that they must be read again, strongly consistent; hits that were
// passed are then not yielded again.
func (r *elementReader) read(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) (retry bool,
	err error,
) {
	for page, err := range read.Merged(ctx, r.Source, r.s.Parts, r.o, r.u) {
		if err != nil {
			return false, err
		}
		items := r.ahead(page.Items)
		if retry, err = r.ask(ctx, items, page.More); retry || err != nil {
			return retry, err
		}
		stopped, err := r.ofPage(ctx, items, yield)
		if err != nil {
			return false, err
		}
		page.Release()
		switch {
		case stopped:
			return false, nil // the caller wants no more, and no error either
		case r.enough():
			return false, r.unchanged(ctx)
		}
		if !pageEnd(page) {
			break
		}
		if r.last != nil {
			r.last.crossed = r.last.crossed || page.More
		}
	}
	return false, r.unchanged(ctx)
}

// ofPage yields the items of a page that are searched for, until there are enough. stopped reports that
// the caller wants no more of them.
func (r *elementReader) ofPage(ctx context.Context, items []item.Image, yield func(Hit) bool) (stopped bool,
	err error,
) {
	for i := range items {
		r.left = len(items) - i
		more, err := r.hit(ctx, &items[i], yield)
		if err != nil || !more || r.enough() {
			return !more, err
		}
	}
	return false, nil
}

// enough reports whether as many were found as are wanted.
func (r *elementReader) enough() bool { return r.found > 0 && r.found == r.r.Limit }

// hit yields an item, if it is one that is searched for.
func (r *elementReader) hit(ctx context.Context, f *item.Image, yield func(Hit) bool) (more bool, err error) {
	rec, there, err := r.element(ctx, f)
	if err != nil {
		return false, err
	}
	r.passed, r.hasPassed = f.Place, true
	if !there {
		return true, nil
	}
	r.found++
	r.last.yielded = true
	if h := f.Header.Incarnation; h != nil {
		r.last.shown = h
	}
	return yield(Hit{Value: rec, Item: f.Kind, At: f.Place, m: r.Model, identity: r.last.identity, values: f.Values}),
		nil
}

// ahead returns the items of a page that have not been passed.
func (r *elementReader) ahead(items []item.Image) []item.Image {
	for r.hasPassed && len(items) > 0 && !read.Before(r.passed, items[0].Place, r.o.Reverse) {
		items = items[1:]
	}
	return items
}

// ask reads the roots of the entities that need it, before any item of the page is yielded. These are
// entities whose items have different incarnations, or continue after the page. again reports that an
// entity went live so recently that the page may be older, or may have changed.
func (r *elementReader) ask(ctx context.Context, items []item.Image, more bool) (retry bool, err error) {
	var doubtful []*entity
	wanted := 0
	for i := range items {
		f := &items[i]
		if !r.wanted(f) {
			continue
		}
		wanted++
		e := r.entityOf(f)
		if e.doubtful && !e.asked && !slices.Contains(doubtful, e) {
			doubtful = append(doubtful, e)
		}
	}
	goesOn := more && (r.o.Limit == 0 || r.found+wanted < r.o.Limit)
	if e := r.last; goesOn && e != nil && !e.asked && !e.doubtful {
		doubtful = append(doubtful, e)
	}
	for _, e := range doubtful {
		if err := r.askRoot(ctx, e); err != nil {
			return false, err
		}
		if r.older(e) {
			retry, e.crossed = true, true
		}
	}
	return retry, nil
}

// older reports whether the items of an entity may be older than its root. That is so if the entity may
// have become live during the search, unless items on the page show that they are its own. If nothing
// shows it, only a strongly consistent search reads again.
func (r *elementReader) older(e *entity) bool {
	root, since := e.root.Root, e.root.LiveSince()
	switch {
	case root == nil:
		return e.bare && r.o.Strong
	case !e.root.Live():
		return false
	case !since.IsZero():
		return staging.RecentlyLive(since, r.began)
	case e.incarnation == nil && !e.doubtful:
		return r.o.Strong && root.Header.Incarnation != nil
	}
	return e.doubtful || !e.root.Is(e.incarnation)
}

// askRoot reads an entity's root. The yielded elements must be of the same live incarnation.
func (r *elementReader) askRoot(ctx context.Context, e *entity) error {
	at, err := r.Engine.entity(e.identity)
	if err != nil {
		return err
	}
	var t write.Tally
	defer func() { r.add(&t) }()
	was, asked := e.root, e.asked
	if e.root.Root, err = r.Protocol.ReadRoot(ctx, at, &t); err != nil {
		return err
	}
	e.asked, e.root.Asked = true, true
	another := asked && (was.Live() || e.root.Live()) && !was.Same(&e.root)
	if e.yielded && (e.shown != nil && !e.root.Is(e.shown) || another) {
		return r.Model.Errorf("%s was inserted or deleted during the query: query again", e.name)
	}
	return nil
}

// entityOf returns the entity of an item, and records the item's incarnation.
func (r *elementReader) entityOf(f *item.Image) *entity {
	h := f.Header
	if e := r.last; e != nil && h.Stage == nil && h.Incarnation != nil && attr.Same(h.Incarnation, e.incarnation) {
		return e
	}
	e := r.last
	if !r.s.Entity { // else it is the one
		e = r.entity(r.Model.IdentityOf(f, r.s.Identity))
	}
	if e.incarnation == nil {
		e.incarnation = h.Incarnation
	}
	e.bare = e.bare || h.Incarnation == nil
	e.doubtful = e.doubtful || h.Stage != nil || h.Incarnation != nil && !attr.Same(h.Incarnation, e.incarnation)
	r.last = e
	return e
}

func (r *elementReader) entity(identity []key.Value) *entity {
	name := r.Model.EntityName(identity)
	e := r.entities[name]
	if e == nil {
		e = &entity{name: name, identity: identity}
		r.entities[name] = e
	}
	return e
}

// wanted reports whether an item is one of the requested elements, if its entity exists.
func (r *elementReader) wanted(f *item.Image) bool {
	return f.Kind != nil && !f.Expired && r.isOf(f.Kind) && r.Model.Agrees(f, r.s.Identity)
}

// element decodes an item, if it is one of the elements asked for, and there.
func (r *elementReader) element(ctx context.Context, f *item.Image) (rec any, there bool, err error) {
	m := r.Model
	if !r.wanted(f) || !r.entityOf(f).root.Joined(f) {
		return nil, false, nil
	}
	if err := r.fetchCurrent(ctx, f); err != nil || f.Expired {
		return nil, false, err
	}
	if rec, err = r.made.Decode(m, f, r.wants()); err != nil {
		return nil, false, err
	}
	kept, err := r.keeps(f,
		func(k *selection.Filter) (key.Value, error) { return m.Codec.Record(k.Item).Key(rec, k.Source) })
	return rec, kept, err
}

// wants returns how many elements may come of a page, at most.
func (r *elementReader) wants() int {
	if r.r.Limit > 0 {
		return min(r.left, r.r.Limit-r.found)
	}
	return r.left
}

// keeps reports whether one of the parts that an item is in keeps it: by the instant that
// it stores, where its key holds less.
func (x *Search) keeps(f *item.Image, instant func(*selection.Filter) (key.Value, error)) (bool, error) {
	if len(x.s.Parts) == 1 && x.s.Parts[0].Keep == nil {
		return true, nil // it was read of that part
	}
	for _, p := range x.s.Parts {
		if x.Model.TableOf(p) != f.Table || !p.Range.Contains(f.SK) {
			continue
		}
		if p.Keep == nil || p.Keep.KeyField < 0 && p.Keep.Item != f.Kind.Index {
			return true, nil
		}
		if at, err := instant(p.Keep); err != nil || p.Keep.Keeps(at.Time) {
			return err == nil, err
		}
	}
	return false, nil
}

// isOf reports whether an item's elements have the type that is asked for.
func (x *Search) isOf(it *schema.Item) bool {
	return it.Element() && it.Elem.Go == x.r.Elem
}

// onlyElements refuses a selection that can hold items other than the elements of a type,
// or none of them.
func (x *Search) onlyElements() error {
	some := false
	for _, it := range x.Model.Schema.Items {
		if !x.canHold(it) {
			continue
		}
		if !x.isOf(it) {
			return x.Model.Errorf("the selection also contains %s, which is of another type than %s: narrow it with "+
				"Prefix", it.Name, x.r.Elem)
		}
		some = true
	}
	for _, p := range x.s.Parts {
		some = some || p.Range.Kind == selection.None
	}
	if !some {
		return x.Model.Errorf("the selection has no elements of the type %s: name the type of the elements of a "+
			"slice or map, without a pointer", x.r.Elem)
	}
	return nil
}

// canHold reports whether items of a kind can be in the selection.
func (x *Search) canHold(it *schema.Item) bool {
	for _, p := range x.s.Parts {
		if p.Table != it.Table.Index {
			continue
		}
		switch {
		case p.Range.Kind == selection.None:
		case it.Key == nil, p.Range.Kind == selection.All:
			return true
		case p.Range.Kind == selection.One:
			if kind, _ := x.Model.Schema.Match(p.Table, p.Range.Low); kind == it {
				return true
			}
		case p.Range.Low.Type != 'S':
			return true
		case it.Key.Template.CanBegin(p.Range.Common()):
			return true
		}
	}
	return false
}

// add adds what an inner read took.
func (x *Search) add(t *write.Tally) {
	x.u.Requests += t.Requests
	x.u.Predicted = x.u.Predicted.Add(t.RCU)
	x.u.Consumed += t.ConsumedRCU
}
