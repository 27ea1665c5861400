// Package item knows items as they are stored: their places, their attributes, and the
// attributes that the library keeps for itself.
package item

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request/wire"
)

// Attributes are all that an item holds, by name.
type Attributes = map[string]types.AttributeValue

// Table is a table as requests name it.
type Table struct {
	// Name is the real name, Hash and Range the key attributes; Range is "" for a table
	// without a sort key.
	Name, Hash, Range string
	// Index is that of the model's table, and Period the time that it holds the items of: "" for one
	// that holds those of all times.
	Index  int
	Period string
	// Watch is called with the partition key of each write, before the request and after the answer;
	// nil is no watcher.
	Watch func(pk key.Scalar)
}

// KeyAttributes returns how many attributes the primary key has.
func (t *Table) KeyAttributes() int {
	if t.Range == "" {
		return 1
	}
	return 2
}

// Place is the place of an item: its table and its key. Two places are the same item's if they are equal.
type Place struct {
	Table  *Table
	PK, SK key.Scalar
}

// Key returns the item's primary key, as requests take it.
func (p Place) Key() Attributes {
	k := make(Attributes, 2)
	p.KeyInto(k)
	return k
}

// KeyInto sets the item's primary key in attributes.
func (p Place) KeyInto(a Attributes) {
	if p.PK.Type == 'S' && p.SK.Type == 'S' && p.Table.Range != "" { // as nearly always; side by side in memory
		k := &struct{ pk, sk types.AttributeValueMemberS }{}
		k.pk.Value, k.sk.Value = p.PK.Text, p.SK.Text
		a[p.Table.Hash], a[p.Table.Range] = &k.pk, &k.sk
		return
	}
	a[p.Table.Hash] = attr.ValueOf(p.PK)
	if p.Table.Range != "" {
		a[p.Table.Range] = attr.ValueOf(p.SK)
	}
}

// Touch reports a write of this item to the watcher of its table.
func (p Place) Touch() {
	if p.Table != nil && p.Table.Watch != nil {
		p.Table.Watch(p.PK)
	}
}

// Partition returns the item collection that the item is in.
func (p Place) Partition() key.Partition { return key.Partition{PK: p.PK, Period: p.Table.Period} }

// KeySize returns the size of the primary key in bytes, names included.
func (p Place) KeySize() int {
	n := len(p.Table.Hash) + size(p.PK)
	if p.Table.Range != "" {
		n += len(p.Table.Range) + size(p.SK)
	}
	return n
}

func size(s key.Scalar) int {
	if s.Type == 'N' {
		return attr.NumberSize(s.Text)
	}
	return len(s.Text)
}

// Sort returns the sort key as text, "" where the table has none.
func (p Place) Sort() string {
	if p.SK.Type == 0 {
		return ""
	}
	return p.SK.Plain()
}

// String returns the two keys, or in a table without a sort key the table and its key.
func (p Place) String() string {
	if sk := p.Sort(); sk != "" {
		return p.PK.Plain() + " " + sk
	}
	return p.Table.Name + " " + p.PK.Plain()
}

// Image is an item as it was read.
type Image struct {
	Place
	// Arguments are the attributes if the SDK has decoded them. Otherwise Wire is the item as it was
	// received, and At are the positions of the kind's attributes in it, -1 for one that is not stored.
	Arguments Attributes
	Wire      wire.Item
	At        []int32

	Header Header
	// Kind is the model's kind of item, nil for an item that matches no template or belongs to no
	// entity. Values are the values of the placeholders in its sort key.
	Kind   *schema.Item
	Values []key.Value
	// Size is its size in bytes; Sizes are those of the kind's attributes, names
	// included, 0 for one that is not stored.
	Size  int
	Sizes []int32
	// Listed is how many of its attributes the kind lists.
	Listed int
	// Former are the names that it has of attributes which are called otherwise now.
	Former []string
	// Expired reports that its time to live is over.
	Expired bool
	// Projection says which attributes were read, nil for all.
	Projection *Projection
	// Loaded are the external values of the item, by the attributes that point to them. Partial
	// says that others are left out.
	Loaded  Attributes
	Partial bool
	// Answer is the number of the response that it came with.
	Answer int
}

// Attributes returns all that the item holds.
func (i *Image) Attributes() Attributes {
	if i.Wire.Shape != nil {
		return i.Wire.Attributes()
	}
	return i.Arguments
}

// Attribute returns the value of one attribute, nil for none.
func (i *Image) Attribute(name string) types.AttributeValue {
	if i.Wire.Shape == nil {
		return i.Arguments[name]
	}
	if v, ok := i.Wire.Get(name); ok {
		return v.Attribute()
	}
	return nil
}

// Has reports whether the item has an attribute.
func (i *Image) Has(name string) bool {
	if i.Wire.Shape != nil {
		return i.Wire.Shape.Index(name) >= 0
	}
	return i.Arguments[name] != nil
}

// Len returns the number of its attributes.
func (i *Image) Len() int {
	if i.Wire.Shape != nil {
		return len(i.Wire.Shape.Names)
	}
	return len(i.Arguments)
}

// Detach parts the image from the answer that it came with.
func (i *Image) Detach() {
	if i.Wire.Shape != nil {
		i.Arguments, i.Wire, i.At = i.Wire.Copy(), wire.Item{}, nil
		i.PK.Text, i.SK.Text = strings.Clone(i.PK.Text), strings.Clone(i.SK.Text)
		i.Values = slices.Clone(i.Values)
		for n := range i.Values {
			i.Values[n].Text = strings.Clone(i.Values[n].Text)
		}
	}
}

// Is reports whether the image is that of the item at a place.
func (i *Image) Is(p Place) bool { return i.Place == p }

// Assignment is an attribute with its new value.
type Assignment struct {
	Name string
	// Index is the attribute's index in the item's kind; Expiry or Unlisted for another.
	Index int
	Value types.AttributeValue
}

// The indexes of attributes that a kind of item does not list.
const (
	Expiry = -1 - iota
	Unlisted
	// Former is the index of a name that an attribute had before, which a write removes.
	Former
	// Indexed is that of an attribute which is written for secondary indexes alone.
	Indexed
)

// Into sets the assignment in an item, and returns its size in bytes.
func (a Assignment) Into(to Attributes) int {
	to[a.Name] = a.Value
	return attr.AttributeSize(a.Name, a.Value)
}

// Size returns the attribute's size in bytes, 0 for one without a value.
func (a Assignment) Size() int {
	if a.Value == nil {
		return 0
	}
	return attr.AttributeSize(a.Name, a.Value)
}
