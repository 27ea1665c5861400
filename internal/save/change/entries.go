package change

import (
	"slices"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/write"
)

// index computes the effect of a change on its item's entries in secondary indexes, once the request is complete.
func (ch *Change) index(m *model.Model) {
	ch.Entries, ch.Indexed = nil, nil
	if len(ch.Item.Entries) == 0 || ch.Kind == write.Check {
		return
	}
	x := &indexing{Change: ch, m: m}
	for _, name := range ch.Item.IndexAttributes() {
		if n := x.size(name); n > 0 {
			ch.Indexed = append(ch.Indexed, write.Attribute{Name: name, Size: n})
		}
	}
	for _, e := range ch.Item.Entries {
		ch.Entries = append(ch.Entries, x.entry(e))
	}
}

// indexing is a change while its entries are computed.
type indexing struct {
	*Change
	m *model.Model
}

// entry compares the entry in an index before and after; an item that lacks one of its keys has none.
func (x *indexing) entry(e *schema.Entry) write.Entry {
	in := e.Index
	out := write.Entry{Index: x.Table.Name + "/" + in.Name, Always: e.Always(), Staged: in.All ||
		slices.Contains(in.Include, x.m.Reserved.StateName()), Whole: x.Kind == write.Put}
	if x.Stored != nil {
		out.Old = in.EntrySize(x.before, x.OldSize)
	}
	if x.Kind != write.Delete {
		out.New = in.EntrySize(x.size, x.NewSize)
	}
	out.Moves = slices.ContainsFunc(in.Attributes(), func(a schema.KeyAttribute) bool { return x.changes(a.Name) })
	touches := in.All || out.Moves || slices.ContainsFunc(in.Include, x.changes)
	out.Same = out.Old > 0 && out.New > 0 && !touches
	// the stored item may differ from the item that was read
	if x.Unread || x.Expect.Instead != nil || x.Expect.Version == nil && x.Expect.Old != nil {
		out.Unread, out.Same = true, x.Kind == write.Update && !touches &&
			(x.Expect.Present && !x.mayMake || !e.Always())
	}
	return out
}

// changes reports whether the change gives an attribute another value.
func (x *indexing) changes(name string) bool {
	if x.Shown != nil {
		return slices.Contains(x.Shown, name) || name == x.m.Reserved.StateName() && x.before(name) != x.size(name)
	}
	is := func(a item.Assignment) bool { return a.Name == name }
	operates := func(o item.Operation) bool { return o.Path[0] == name }
	return slices.ContainsFunc(x.Set, is) || slices.ContainsFunc(x.Remove, is) || slices.ContainsFunc(x.Defaults, is) ||
		slices.ContainsFunc(x.Operations, operates)
}

// size returns the size of an attribute after the change, or of a delete before it.
func (x *indexing) size(name string) int {
	is := func(a item.Assignment) bool { return a.Name == name }
	switch {
	case x.Kind == write.Put && (name == x.Table.Hash || name == x.Table.Range):
	case x.Kind == write.Put:
		if v := x.Put[name]; v != nil {
			return attr.AttributeSize(name, v)
		}
		return 0
	case x.Kind == write.Delete:
		return x.before(name)
	}
	if i := slices.IndexFunc(x.Set, is); i >= 0 {
		return x.Set[i].Size()
	}
	if slices.ContainsFunc(x.Remove, is) {
		return 0
	}
	if k, ok := x.Key()[name]; ok {
		return attr.AttributeSize(name, k)
	}
	return x.before(name)
}

// before returns the size of an attribute as it was read, with its name; 0 for none.
func (x *indexing) before(name string) int {
	it, r := x.Item, x.Stored
	if r == nil {
		return 0
	}
	if k, ok := r.Key()[name]; ok {
		return attr.AttributeSize(name, k)
	}
	if i := it.Attribute(name); i >= 0 {
		return int(r.Sizes[i])
	}
	if j := it.DerivedKey(name); j >= 0 {
		return item.Assignment{Name: name, Value: r.IndexKey(j)}.Size()
	}
	v := r.Unknown[name]
	switch {
	case name == x.m.Reserved.StateName():
		v = r.Header.Stage
	case name == x.m.Reserved.IncarnationName():
		v = r.Header.Incarnation
	case x.m.Reserved.Has(name, it):
		v = r.Header.Expiry
	}
	return item.Assignment{Name: name, Value: v}.Size()
}
