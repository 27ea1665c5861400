package search

import (
	"context"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// checkIndex refuses what a secondary index cannot give.
func (x *Search) checkIndex() error {
	m, e := x.Model, x.in().Entry
	switch {
	case len(x.s.Parts) != 1 && !x.spanned():
		return m.Errorf("the query of the index %s has several ranges: query one", e.Index.Name)
	case e.Item.Element() && x.isOf(e.Item), !e.Item.Element() && x.flat():
	default:
		return m.Errorf("the index %s contains %s, not %s", e.Index.Name, e.Item.Name, x.r.Elem)
	}
	if len(x.stages()) < len(x.s.Parts) {
		return m.Errorf("the query of the index %s is over %d tables, without the order of time: add the values "+
			"before %s in its sort key, or narrow it to one table", e.Index.Name, len(x.s.Parts),
			m.Schema.Periods.Placeholder)
	}
	switch {
	case x.r.Strong && !e.Index.Local:
		return m.Errorf("the global index %s cannot be read with strong consistency: leave Strong out, and load "+
			"what must be up to date", e.Index.Name)
	case x.r.Roots && e.Item != m.Root():
		return m.Errorf("Roots is for root items, but the index %s contains %s: leave it out", e.Index.Name,
			e.Item.Name)
	case x.r.Projection != nil && x.wholes():
		return m.Errorf("a projection is of the items in the index, but Fetch loads whole entities: leave one out")
	case len(x.r.Filter) > 0 && x.wholes():
		return m.Errorf("a filter is of the items in the index, but Fetch loads whole entities: leave Fetch out, or " +
			"filter in the application")
	}
	for _, f := range x.r.Filter {
		if err := x.filterableInIndex(f.Fields); err != nil {
			return err
		}
	}
	return x.projects()
}

// filterableInIndex refuses a filter on what the index does not hold, or is ordered by.
func (x *Search) filterableInIndex(fields []expr.Field) error {
	in := x.in().Entry.Index
	for _, f := range fields {
		name := x.pathOf(f)[0]
		switch {
		case !in.Projects(name):
			return x.Model.Errorf("the filter names %s, which the index %s does not project: add it to project=, "+
				"or filter in the application", f.Shown(), in.Name)
		case slices.ContainsFunc(in.Attributes(), func(a schema.KeyAttribute) bool { return a.Name == name }):
			return x.Model.Errorf("the filter names %s, a key of the index %s, by which DynamoDB does not filter: "+
				"narrow the query by it", f.Shown(), in.Name)
		}
	}
	return nil
}

// wholes reports whether the search loads entities of which the index holds an item alone.
func (x *Search) wholes() bool {
	return x.flat() && x.r.Fetch && !x.r.Roots && len(x.Model.Schema.Items) > 1
}

// projects refuses a search that names attributes which the index lacks, unless they are fetched. A search that names
// none returns the attributes that the index has.
func (x *Search) projects() error {
	e := x.in().Entry
	if x.fetches() || len(x.missing()) == 0 || x.r.Projection == nil && x.in().Keep == nil {
		return nil
	}
	return x.Model.Errorf("the index %s does not project %s of %s: Project the fields that it has, add Fetch to "+
		"read the rest from the table (in batches), or extend project=", e.Index.Name,
		strings.Join(x.missing(), ", "), e.Item.Name)
}

// missing lists the fields of attributes that the search needs and the index lacks. If the search names no fields and
// does not fetch the rest, it needs none but the one that decides.
func (x *Search) missing() []string {
	e := x.in().Entry
	var out []string
	for _, a := range e.Index.Missing(e.Item) {
		switch {
		case x.r.KeysOnly, e.Reads(a):
		case x.r.Projection == nil && x.r.Fetch, x.r.Projection != nil && slices.Contains(x.projected(), a.Name):
			out = append(out, a.Value.Name)
		}
	}
	if k := x.in().Keep; k != nil {
		src := x.instant()
		i := slices.IndexFunc(e.Item.Attributes,
			func(a *schema.Attribute) bool { return slices.Equal(a.Value.Path, src.Value.Path) })
		if src.From != schema.FromModel && i >= 0 && !e.Index.Projects(e.Item.Attributes[i].Name) &&
			!slices.Contains(out, e.Item.Attributes[i].Value.Name) {
			out = append(out, e.Item.Attributes[i].Value.Name)
		}
	}
	return out
}

// fetches reports whether the items that are found are read from the table: because the caller asked for attributes
// that the index lacks, or because the index lacks those that show whether the items exist.
func (x *Search) fetches() bool { return x.unsure() || x.r.Fetch && len(x.missing()) > 0 }

// unsure reports whether an entry of the index does not show that its item exists. An index with keys only has no
// expiry, and of an item that is not a root no incarnation. A root has the keys of an index only while it is live,
// unless they are the keys of the table.
func (x *Search) unsure() bool {
	e := x.in().Entry
	return e.Index.KeysOnly() && (e.Item.Expiry != nil || !x.Model.IsRoot(e.Item) || e.Always())
}

// ReadsTable reports whether the search also reads the table. For a secondary index it may read whole
// entities, the roots of elements, or attributes that the index does not project.
func (x *Search) ReadsTable() bool {
	if x.in() == nil {
		return false
	}
	return x.fetches() || !x.Model.IsRoot(x.in().Entry.Item) || x.LoadsEntities()
}

// LoadsEntities reports whether the search loads an entity for each item that it finds in an index.
func (x *Search) LoadsEntities() bool { return x.in() != nil && x.wholes() && !x.r.KeysOnly }

// indexReader yields the hits of a secondary index. An index follows its table, and has items of
// entities that are not live. Elements are checked against their roots. With Fetch, whole entities are
// read as a load reads them. A root is in an index only while it is live.
type indexReader struct {
	*Search
	part  selection.Part
	entry *schema.Entry
	// roots are those of the answer before, by their places.
	roots map[item.Place]*item.Image
	found int
	// wanted are the attributes that the query asks for, nil for all, and projection those that an entry of the
	// index has of them.
	wanted     []string
	projection *item.Projection
}

// indexed searches in a secondary index.
func (x *Search) indexed(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	r := &indexReader{Search: x, part: x.s.Parts[0], entry: x.in().Entry}
	if x.r.Projection != nil {
		r.wanted = x.needed(x.projected())
	}
	r.projection = item.ProjectionOf(r.entry, r.wanted)
	w := &wanting{limit: x.r.Limit}
	for page, err := range read.Merged(ctx, x.Source, x.s.Parts, w.options(x.o), x.u) {
		if err != nil {
			return err
		}
		w.items += len(page.Items)
		more, err := r.page(ctx, page.Items, w, yield)
		if err != nil || !more || !pageEnd(page) {
			return err
		}
	}
	return nil
}

// page yields the hits of an answer. Whole entities and fetched items are read from the table, a number
// of them at a time.
func (r *indexReader) page(ctx context.Context, items []item.Image, w *wanting, yield func(Hit) bool) (more bool,
	err error,
) {
	found := slices.DeleteFunc(items, func(f item.Image) bool { return f.Kind != r.entry.Item || f.Expired })
	whole := r.wholes() && !r.r.KeysOnly
	for len(found) > 0 {
		n := len(found)
		if whole {
			n = min(n, findsAtOnce)
		}
		if r.r.Limit > 0 {
			n = min(n, r.r.Limit-r.found)
		}
		next := r.single
		if whole {
			next = r.whole
		}
		hits, err := next(ctx, found[:n])
		if err != nil {
			return false, err
		}
		found = found[n:]
		w.hits += len(hits)
		for _, h := range hits {
			r.found++
			if !yield(h) || r.found == r.r.Limit {
				return false, nil
			}
		}
	}
	return true, nil
}

// whose returns the identity of an item's entity, false for an item that is none of the model's.
func (r *indexReader) whose(f *item.Image) ([]key.Value, bool) { return r.Model.Whose(f) }

// hit returns the hit of an item of the index, with the position after it.
func (r *indexReader) hit(f *item.Image, identity []key.Value, v any) Hit {
	h := Hit{
		Value: v, At: f.Place, where: &where{next: Position{Keys: read.StartOf(r.part, f)}}, m: r.Model,
		identity: identity,
	}
	if r.entry.Item.Element() {
		h.Item, h.values = f.Kind, f.Values
	}
	return h
}

// single returns the hits of requested items: those that are in the table as they are in the index, and
// belong to live entities.
func (r *indexReader) single(ctx context.Context, found []item.Image) ([]Hit, error) {
	stored, err := r.table(ctx, found)
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for i := range found {
		f := &found[i]
		identity, ok := r.whose(f)
		now := stored.of(f)
		if !ok || now == nil || now.Expired || !r.sameKeys(f, now) {
			continue
		}
		if there, err := r.live(now, identity, stored); err != nil || !there {
			if err != nil {
				return nil, err
			}
			continue
		}
		if now != f {
			if now, err = r.project(now); err != nil {
				return nil, err
			}
		} else {
			now.Projection = r.projection
		}
		v, s, kept, err := r.decode(ctx, now, identity)
		if err != nil {
			return nil, err
		}
		if kept {
			h := r.hit(f, identity, v)
			h.Snapshot = s
			hits = append(hits, h)
		}
	}
	return hits, nil
}

// tabled are items of the table by their keys: nil for one that does not exist. An item that was not
// requested is taken from the index.
type tabled struct {
	asked map[item.Place]bool
	found map[item.Place]*item.Image
}

// of returns an item as it is, as far as it was read.
func (t *tabled) of(f *item.Image) *item.Image {
	if t.asked[f.Place] {
		return t.found[f.Place]
	}
	return f
}

// table reads the needed items of the table in batches: the items that the index does not hold
// completely, and the roots of others.
func (r *indexReader) table(ctx context.Context, found []item.Image) (*tabled, error) {
	t := &tabled{asked: map[item.Place]bool{}, found: map[item.Place]*item.Image{}}
	var keys [][]selection.Part
	ask := func(at item.Place) {
		if !t.asked[at] {
			t.asked[at] = true
			keys = append(keys, []selection.Part{model.PartOf(at)})
		}
	}
	fetches := r.fetches()
	for i := range found {
		f := &found[i]
		identity, ok := r.whose(f)
		if !ok {
			continue
		}
		if fetches {
			ask(f.Place)
		}
		if r.Model.IsRoot(f.Kind) {
			continue
		}
		at, err := r.Model.RootPlace(identity)
		if err != nil {
			return nil, err
		}
		if root, ok := r.roots[at]; ok {
			t.asked[at], t.found[at] = true, root
			continue
		}
		ask(at)
	}
	if len(keys) == 0 {
		return t, nil
	}
	early, err := r.Reader.Batches(ctx, keys, findsAtOnce, read.Options{Strong: r.o.Strong}, r.u)
	if err != nil {
		return nil, err
	}
	for at := range t.asked {
		if f := early.Item(at); f != nil {
			t.found[at] = f
		}
	}
	r.roots = t.found
	for at := range t.asked {
		if t.found[at] == nil {
			r.roots[at] = nil
		}
	}
	return t, nil
}

// live reports whether an item is of a live entity.
func (r *indexReader) live(f *item.Image, identity []key.Value, t *tabled) (bool, error) {
	if r.Model.IsRoot(f.Kind) {
		return f.Header.Live(), nil
	}
	at, err := r.Model.RootPlace(identity)
	if err != nil {
		return false, err
	}
	root := staging.Reading{Root: t.found[at], Asked: true}
	return root.Root != nil && root.Joined(f), nil
}

// sameKeys reports whether an item of the table has the keys that it was found by in the index, which
// follows later.
func (r *indexReader) sameKeys(f, now *item.Image) bool {
	return f == now || !slices.ContainsFunc(r.entry.Index.Attributes(), func(a schema.KeyAttribute) bool {
		return !attr.Same(f.Attribute(a.Name), now.Attribute(a.Name))
	})
}

// project leaves of an item that was read from the table what a projection asks for.
func (r *indexReader) project(f *item.Image) (*item.Image, error) {
	if r.r.Projection == nil || !r.fetches() {
		return f, nil
	}
	part := item.Attributes{}
	for name, v := range f.Attributes() {
		if slices.Contains(r.wanted, name) {
			part[name] = v
		}
	}
	image, err := r.Model.Image(f.Table, part)
	image.Projection = item.ProjectionOf(nil, r.wanted)
	return &image, err
}

// decode makes the element, or the entity with the fields of one item.
func (r *indexReader) decode(ctx context.Context, f *item.Image, identity []key.Value) (v any, s *snapshot.Snapshot,
	kept bool, err error,
) {
	m := r.Model
	if err := r.fetchCurrent(ctx, f); err != nil || f.Expired {
		return nil, nil, false, err
	}
	if r.entry.Item.Element() {
		if v, err = snapshot.DecodeElement(m, f); err != nil {
			return nil, nil, false, err
		}
		kept, err = r.keepsInIndex(v, v)
		return v, nil, kept, err
	}
	v = m.Codec.New()
	if s, err = r.decodeItem(f, identity, v); err != nil {
		return nil, nil, false, err
	}
	kept, err = r.keepsInIndex(v, v)
	return v, s, kept, err
}

// instant is the placeholder whose instant decides.
func (x *Search) instant() schema.Source {
	k, it := x.in().Keep, x.in().Entry.Item
	if k.Derived < 0 {
		return it.Key.Sources[k.Source]
	}
	return it.Derived[k.Derived].Sources[k.Source]
}

// keepsInIndex reports whether the instant that is stored is in the range, where the key holds less.
func (x *Search) keepsInIndex(v, rec any) (bool, error) {
	k, it := x.in().Keep, x.in().Entry.Item
	if k == nil {
		return true, nil
	}
	var at key.Value
	var err error
	switch src := x.instant(); {
	case src.From == schema.FromModel && it.Element():
		return true, nil // it belongs to the owner, and the key has everything known about it
	case src.From == schema.FromModel:
		at, err = x.Model.Codec.KeyField(v, src.KeyField)
	case k.Derived < 0:
		at, err = x.Model.Codec.Record(it.Index).Key(rec, k.Source)
	default:
		at, err = x.Model.Codec.Record(it.Index).IndexKey(rec, k.Derived, k.Source)
	}
	return err == nil && k.Keeps(at.Time), err
}

// whole returns the entities of items that were found, as a load reads them.
func (r *indexReader) whole(ctx context.Context, found []item.Image) ([]Hit, error) {
	m := r.Model
	var t write.Tally
	defer func() { r.add(&t) }()
	var sels []selection.Selection
	var of []*item.Image
	for i := range found {
		identity, ok := r.whose(&found[i])
		if !ok {
			continue
		}
		s := selection.Entity(m.Schema, identity)
		if s.Err != nil {
			return nil, s.Err
		}
		sels, of = append(sels, s), append(of, &found[i])
	}
	all, err := r.FindMany(ctx, sels, read.Options{Strong: r.o.Strong}, &t)
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for i, f := range all {
		if !f.Live() || !r.carries(f, of[i]) {
			continue
		}
		v := m.Codec.New()
		s, err := r.Engine.Decode(ctx, f, v, &t)
		if err != nil {
			return nil, err
		}
		kept, err := r.keepsInIndex(v, v)
		if err != nil {
			return nil, err
		}
		if kept {
			h := r.hit(of[i], sels[i].Identity, v)
			h.Snapshot = s
			hits = append(hits, h)
		}
	}
	return hits, nil
}

// carries reports whether an entity has the item by which it was found in the index, as it was.
func (r *indexReader) carries(f *Found, by *item.Image) bool {
	return slices.ContainsFunc(f.Items, func(now item.Image) bool {
		return now.Place == by.Place && !now.Expired && f.Joined(&now) && r.sameKeys(by, &now)
	})
}
