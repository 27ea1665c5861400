package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Guard is the change of the guard of one unique value: an entity leaves the value, or gets it, or both, if an entity
// moves or several entities exchange values.
type Guard struct {
	*model.Model
	Unique *schema.Unique
	At     item.Place
	// Release is the owner that leaves the value, Take the one that gets it; nil for none.
	Release, Take *model.Owner
	// New reports that the owner is inserted, and After that a delete releases the guard when the root item is deleted.
	New, After bool
}

// Guards returns the changes of guards that go with a change of a root item, which is nil before an insert and after a
// delete.
func Guards(m *model.Model, before, after item.Attributes, from, to model.Owner) (all []Guard, err error) {
	for _, u := range m.Schema.Uniques {
		g := Guard{Model: m, Unique: u}
		var old, now item.Place
		var had, has bool
		if before != nil {
			if old, had, err = m.Guard(u, before); err != nil {
				had, err = false, nil // a value that another program has written, which has no guard
			}
		}
		if after != nil {
			if now, has, err = m.Guard(u, after); err != nil {
				return nil, err
			}
		}
		switch {
		case had && has && old == now && from.Same(to):
		case had && has && old == now:
			g.At, g.Release, g.Take = old, &from, &to
			all = append(all, g)
		default:
			if had {
				g.At, g.Release, g.Take = old, &from, nil
				all = append(all, g)
			}
			if has {
				g.At, g.Release, g.Take, g.New = now, nil, &to, before == nil
				all = append(all, g)
			}
		}
	}
	return all, nil
}

// guard finds the changes of guards that go with the changes of the root item.
func (d *differ) guard() error {
	stored := d.s.Root()
	var put, update *Change
	for _, ch := range d.Changes {
		switch {
		case !ch.Root || ch.Kind == write.Delete:
		case ch.New:
			put = ch
		default:
			update = ch
		}
	}
	if len(d.m.Schema.Uniques) == 0 || put == nil && update == nil {
		return nil
	}
	var before, after item.Attributes
	var from, to model.Owner
	if stored != nil {
		before = guarded(d.s, stored)
		from = model.Owner{Root: stored.Place, Incarnation: stored.Header.Incarnation}
	}
	switch {
	case put != nil:
		after = put.Put
		to = model.Owner{Root: put.Place, Incarnation: d.m.Reserved.Header(put.Put).Incarnation}
	case update.Kind == write.Put:
		after, to = update.Put, from
	default:
		after, to = changed(before, &update.Request), from
		if err := d.checkGuarded(update); err != nil {
			return err
		}
	}
	var err error
	if d.Guards, err = Guards(d.m, before, after, from, to); err != nil {
		return at(to.Root, err)
	}
	takes := func(g Guard) bool { return g.Take != nil }
	if put == nil && to.Incarnation == nil && slices.ContainsFunc(d.Guards, takes) {
		d.identifyRoot(update)
	}
	return nil
}

// guarded returns the stored values of the attributes that unique values consist of.
func guarded(s *snapshot.Snapshot, r *snapshot.Stored) item.Attributes {
	all, root := item.Attributes{}, s.Model.Root()
	for _, u := range s.Model.Schema.Uniques {
		for _, i := range u.Attributes {
			was := func() types.AttributeValue { return storedValue(s.Model, root, r, s.Old, i) }
			if v := r.Value(root, i, was); v != nil {
				all[r.ReadAs(root, i)] = v
			}
		}
	}
	return all
}

// changed returns the attributes of an item after an update.
func changed(before item.Attributes, r *write.Request) item.Attributes {
	after := make(item.Attributes, len(before))
	for name, v := range before {
		after[name] = v
	}
	for _, a := range r.Set {
		after[a.Name] = a.Value
	}
	for _, a := range r.Remove {
		delete(after, a.Name)
	}
	return after
}

// checkGuarded returns an error if a part of a unique value changes, and another part was not loaded.
func (d *differ) checkGuarded(update *Change) error {
	p := update.Stored.Projection
	if p == nil {
		return nil
	}
	root := d.m.Root()
	for _, u := range d.m.Schema.Uniques {
		changes := func(i int) bool {
			is := func(a item.Assignment) bool { return a.Index == i }
			return slices.ContainsFunc(update.Set, is) || slices.ContainsFunc(update.Remove, is)
		}
		if !slices.ContainsFunc(u.Attributes, changes) {
			continue
		}
		for _, i := range u.Attributes {
			if a := root.Attributes[i]; !p.Loads(a) {
				return &NotLoaded{
					Field: d.m.Schema.FieldNames(u), Needs: "the field " + a.Value.Name, At: update.Place,
				}
			}
		}
	}
	return nil
}

// identifyRoot gives a root item without an incarnation one, which the guards name: a later entity of the same key has
// another.
func (d *differ) identifyRoot(update *Change) {
	token := item.NewToken()
	a := d.m.Reserved.AssignIncarnation(token)
	for i := range d.Guards {
		if to := d.Guards[i].Take; to != nil {
			d.Guards[i].Take = &model.Owner{Root: to.Root, Incarnation: token}
		}
	}
	for _, ch := range d.Changes {
		if ch.IsAddition() && d.m.Reserved.Header(ch.Put).Incarnation == nil {
			a.Into(ch.Put) // or another writer would take the new item for one of an earlier entity
			ch.NewSize += a.Size()
		}
	}
	update.NewSize += a.Size()
	if update.Kind == write.Put {
		a.Into(update.Put)
		return
	}
	update.Set = append(update.Set, a)
}

// Request returns the request that takes the guard, which free has as it was judged free, or releases it for the owners
// before.
func (g *Guard) Request(before []*model.Owner, free item.Attributes) *write.Request {
	r := &write.Request{
		Kind: write.Delete, Place: g.At, Label: g.Label(), Field: g.Schema.FieldNames(g.Unique), Guard: true,
		Reserved: g.Reserved,
	}
	r.Reserved.TTL = "" // guards do not expire
	var old item.Attributes
	if len(before) > 0 {
		old = g.GuardItem(g.At, *before[0])
		r.OldSize = attr.ItemSize(old) + r.Reserved.VersionSize()
	}
	owners := slices.Clone(before)
	if g.Take != nil {
		r.Kind, r.Put = write.Put, g.GuardItem(g.At, *g.Take)
		r.NewSize = r.WholeSize()
		if !g.New {
			owners = append(owners, g.Take)
		}
	}
	switch {
	case free != nil:
		r.Expect = write.AsFound(g.At, r.Reserved.Header(free).Version, free)
		old, r.OldSize = free, attr.ItemSize(free)
	case len(owners) == 0:
		r.Expect = write.Expect{Absent: true}
	default:
		r.Expect = write.Expect{Blind: true, Terms: []attr.Condition{g.FreeOrOwnedBy(g.At, owners)}}
	}
	for _, x := range g.Schema.Indexes { // those on the keys of the table alone have entries of guards too
		if e := write.EntryOf(x, g.At.Table.Name, old, r.Put); g.Unique.Table == "" && e.Old+e.New > 0 {
			r.Entries = append(r.Entries, e)
		}
	}
	return r
}
