package schema

import (
	"slices"

	"github.com/itemize/itemize/internal/model/key"
)

// Limits of secondary indexes (Developer Guide, "Service, account, and table quotas", secondary
// indexes; "Multi-attribute keys pattern").
const (
	// MaxIndexKeys is how many attributes the partition key of a global index may have, and as many
	// its sort key.
	MaxIndexKeys = 4
	// MaxGlobal and MaxLocal are how many indexes a table may have.
	MaxGlobal = 20
	MaxLocal  = 5
	// MaxProjected is how many attributes the indexes of a table may list in all.
	MaxProjected = 100
)

// Index is a secondary index of a table.
type Index struct {
	Name  string
	Table *Table
	// Local reports that the index has the table's partition key.
	Local bool
	// Hash and Range are its key attributes. Range may be empty.
	Hash, Range []KeyAttribute
	// All reports that it projects all attributes. Otherwise it projects its keys, the table's keys,
	// and Include.
	All     bool
	Include []string
	// Entries are the kinds of items in it.
	Entries []*Entry
	// Number is its index in Entity.Indexes.
	Number int
	// Field is the blank field that declares it first.
	Field *Field
}

// KeyAttribute is a key attribute: its name and its type, 'S', 'N' or 'B'.
type KeyAttribute struct {
	Name string
	Type byte
}

// Attributes are the index's key attributes.
func (x *Index) Attributes() []KeyAttribute { return slices.Concat(x.Hash, x.Range) }

// KeysOnly reports whether the index projects only keys, so that items found in it must be read from
// the table.
func (x *Index) KeysOnly() bool { return !x.All && len(x.Include) == 0 }

// Projects reports whether the index holds an attribute of its items.
func (x *Index) Projects(name string) bool {
	if x.All || name == x.Table.Hash || name == x.Table.Range || slices.Contains(x.Include, name) {
		return true
	}
	return slices.ContainsFunc(x.Attributes(), func(a KeyAttribute) bool { return a.Name == name })
}

// EntrySize returns the size in bytes of an item's entry in the index, 0 if it lacks one of the keys.
// size returns the size of an attribute, with its name, 0 for none; all is the size of the item.
func (x *Index) EntrySize(size func(name string) int, all int) int {
	n := 0
	for _, a := range x.Attributes() {
		s := size(a.Name)
		if s == 0 {
			return 0
		}
		n += s
	}
	if x.All {
		return all
	}
	for _, name := range slices.Concat([]string{x.Table.Hash, x.Table.Range}, x.Include) {
		if name != "" && !slices.ContainsFunc(x.Attributes(), func(a KeyAttribute) bool { return a.Name == name }) {
			n += size(name)
		}
	}
	return n
}

// Missing lists the attributes of a kind of item that the index does not hold.
func (x *Index) Missing(it *Item) []*Attribute {
	var out []*Attribute
	for _, a := range it.Attributes {
		if !x.Projects(a.Name) {
			out = append(out, a)
		}
	}
	return out
}

// Entry is the entry of one kind of items in an index.
type Entry struct {
	Index *Index
	Item  *Item
	// Hash and Range are the templates of the index's key attributes.
	Hash, Range []*IndexKey
	// Name is name=, "" for none.
	Name  string
	Field *Field
}

// Keys are the templates of all key attributes.
func (e *Entry) Keys() []*IndexKey { return slices.Concat(e.Hash, e.Range) }

// Always reports whether the entry's keys are the table's, so that every item of the kind is in the
// index.
func (e *Entry) Always() bool {
	return !slices.ContainsFunc(e.Keys(), func(k *IndexKey) bool { return k.Own != Primary })
}

// Reads reports whether the keys of the index hold the whole value of an attribute of its item, so that it can be read
// from them.
func (e *Entry) Reads(a *Attribute) bool {
	k, i := e.KeyOf(a)
	return k != nil && k.Sources[i].Lossless
}

// KeyOf returns the key that holds the value of an attribute of the item, and the placeholder of the value; nil for
// none. A key that holds the whole value comes first, and then one that holds the beginning of a time.
func (e *Entry) KeyOf(a *Attribute) (k *IndexKey, source int) {
	for _, x := range e.Keys() {
		for i, src := range x.Sources {
			if x.Own != Derived || src.From == FromModel || !slices.Equal(src.Value.Path, a.Value.Path) {
				continue
			}
			if src.Lossless {
				return x, i
			}
			if k == nil && src.Value.Type.Time {
				k, source = x, i
			}
		}
	}
	return k, source
}

// IndexKey is a key attribute of an index on one kind of item. A value that is empty leaves the
// attribute out, and the item is not in the index then.
type IndexKey struct {
	*Key
	// Name is the attribute's.
	Name string
	// Own is the position of the item's attribute that is the key. It is Derived if the attribute exists only
	// for the index, and Primary if it is one of the table's keys.
	Own int
}

// The sources of the value of an IndexKey that is not an attribute of the item.
const (
	Derived = -1 - iota
	Primary
)

// Sparse reports whether an attribute of the item's own is a key of an index, so that an empty
// value has to be left out.
func (it *Item) Sparse(attribute int) bool {
	for _, e := range it.Entries {
		for _, k := range e.Keys() {
			if k.Own == attribute {
				return true
			}
		}
	}
	return false
}

// DerivedKey returns the index in Derived of an attribute that is written for indexes alone, or -1.
func (it *Item) DerivedKey(name string) int {
	return slices.IndexFunc(it.Derived, func(k *IndexKey) bool { return k.Name == name })
}

// EmptyKeyText says why nothing compares with an empty value of an attribute that is a key of an index
// as it is.
const EmptyKeyText = "the condition compares it with an empty value, which is not stored, since it is a key of the " +
	"index %s: use Absent"

// IndexOf is the name of the first index that an attribute is a key of on the item, "" for none.
func (it *Item) IndexOf(attribute string) string {
	for _, e := range it.Entries {
		if slices.ContainsFunc(e.Keys(), func(k *IndexKey) bool { return k.Name == attribute }) {
			return e.Index.Name
		}
	}
	return ""
}

// IndexAttributes lists the attributes that put an item into indexes: those of the table's own key
// aside, without any of them it is in none.
func (it *Item) IndexAttributes() []string {
	var names []string
	for _, e := range it.Entries {
		for _, k := range e.Keys() {
			if k.Own != Primary && !slices.Contains(names, k.Name) {
				names = append(names, k.Name)
			}
		}
	}
	return names
}

// Empty reports whether a value leaves the keys of indexes out: a text or bytes without a byte, or
// the zero time.
func Empty(v key.Value) bool {
	switch v.Kind {
	case key.String, key.Bytes, key.Number:
		return v.Text == ""
	case key.Time:
		return v.Time.IsZero()
	}
	return false
}
