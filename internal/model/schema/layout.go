package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
)

// Layout is a schema as data: the places and the forms of values, as they are
// encoded, and nothing of Go beyond the names of fields.
type Layout struct {
	Model   string `json:"model"`
	Delim   string `json:"delim"`
	Version string `json:"version,omitempty"`
	TTL     string `json:"ttl,omitempty"`
	// State, Incarnation and Moved are the names of the library's other attributes if tags rename them.
	State        string        `json:"state,omitempty"`
	Incarnation  string        `json:"incarnation,omitempty"`
	Moved        string        `json:"migration,omitempty"`
	Flat         bool          `json:"flat,omitempty"`
	Tables       []LayoutTable `json:"tables"`
	PartitionKey LayoutKey     `json:"partitionKey"`
	Shards       *LayoutShards `json:"shards,omitempty"`
	Items        []LayoutItem  `json:"items"`
	Indexes      []LayoutIndex `json:"indexes,omitempty"`
	// Unique are the values that must be unique.
	Unique []LayoutUnique `json:"unique,omitempty"`
	// Removed are items that the model had before, and that may be stored yet.
	Removed []LayoutItem `json:"removed,omitempty"`
}

// LayoutShards has the shards of the partition keys: the number that is written, the other numbers, and
// the field from which the shard is computed, "" for a random shard.
type LayoutShards struct {
	Counts []int  `json:"counts"`
	By     string `json:"by,omitempty"`
}

// LayoutUnique is a value that must be unique: the name in the keys of its guards, the attributes of the root item that
// it consists of, how they are compared, and the table of the guards, "" for that of the root item.
type LayoutUnique struct {
	Name       string   `json:"name"`
	Attributes []string `json:"attributes"`
	// Forms are the normal forms of the attributes, "" for the stored value: "time", "fold", or the type whose method
	// Normal returns it, or that and "fold".
	Forms []string `json:"forms,omitempty"`
	Table string   `json:"table,omitempty"`
}

// LayoutTable is a table with its key attributes and their types (S, N or B).
type LayoutTable struct {
	Name      string `json:"name"`
	Word      string `json:"word,omitempty"`
	Hash      string `json:"hash"`
	HashType  string `json:"hashType"`
	Range     string `json:"range,omitempty"`
	RangeType string `json:"rangeType,omitempty"`
}

// LayoutKey is a key template with the sources of its placeholders.
type LayoutKey struct {
	Template     string              `json:"template"`
	Placeholders []LayoutPlaceholder `json:"placeholders,omitempty"`
}

// LayoutPlaceholder is a placeholder: where its value comes from, its kind, and
// how it is written.
type LayoutPlaceholder struct {
	From   string `json:"from"` // model, element, key, self, item
	Field  string `json:"field,omitempty"`
	Kind   string `json:"kind"`             // string, int, uint, time, bytes, number, text
	Number string `json:"number,omitempty"` // the Go type that a number has to fit
	Len    int    `json:"len,omitempty"`    // the bytes of an array
	Format string `json:"format"`
	// Attribute is the name under which attributevalue encodes the field, "" for Field, and Options
	// are those of its dynamodbav tag: what a monolith has.
	Attribute string   `json:"attribute,omitempty"`
	Options   []string `json:"options,omitempty"`
}

// LayoutItem is a kind of item.
type LayoutItem struct {
	Name  string `json:"name"`
	Table string `json:"table"`
	Kind  string `json:"kind"` // fixed, slice, map
	Root  bool   `json:"root,omitempty"`
	// From is the attribute of a monolith that holds the elements, and Scalar reports that each is one
	// value, and no struct whose fields are spread over its item.
	From       string            `json:"from,omitempty"`
	Scalar     bool              `json:"scalar,omitempty"`
	Pointer    bool              `json:"pointer,omitempty"`
	SortKey    *LayoutKey        `json:"sortKey,omitempty"`
	Expiry     string            `json:"expiry,omitempty"`
	ExpiryAll  bool              `json:"expiryAll,omitempty"`
	Attributes []LayoutAttribute `json:"attributes,omitempty"`
	// Removed are attributes that the item had before, and stored items may still hold.
	Removed []LayoutAttribute `json:"removed,omitempty"`
}

// LayoutIndex has the position of the items of one kind in a secondary index. These are its key
// attributes, with their sources, and the attributes that it projects in addition to keys: nil for all.
type LayoutIndex struct {
	Name    string           `json:"name"`
	Table   string           `json:"table"`
	Item    string           `json:"item"`
	Local   bool             `json:"local,omitempty"`
	Hash    []LayoutIndexKey `json:"hash"`
	Range   []LayoutIndexKey `json:"range,omitempty"`
	Include []string         `json:"include"`
}

// LayoutIndexKey is a key attribute of an index.
type LayoutIndexKey struct {
	Attribute string `json:"attribute"`
	Type      string `json:"type"`
	// Own reports that it is an attribute that the item has anyhow.
	Own bool `json:"own,omitempty"`
	LayoutKey
}

// LayoutAttribute is an attribute: its name, its field, and the type and options
// that decide its encoding.
type LayoutAttribute struct {
	Name    string   `json:"name"`
	Field   string   `json:"field"`
	Type    string   `json:"type"`
	Options []string `json:"options,omitempty"`
	// In is the attribute of a monolith that holds the struct which the attribute is in, "" for none.
	In string `json:"in,omitempty"`
	// Was are the names that it had before.
	Was []string `json:"was,omitempty"`
	// Wire is the stored form.
	Wire Wire `json:"wire"`
	// Large is how a large value is stored.
	Large *Large `json:"large,omitempty"`
}

// IsLarge reports whether the attribute is of a large value.
func (a LayoutAttribute) IsLarge() bool { return a.Large != nil }

// Layout returns the schema as data.
func (e *Entity) Layout() Layout {
	l := Layout{
		Model: e.Name, Delim: string(e.Delim), Version: e.Version, TTL: e.TTL, Flat: e.Flat,
		PartitionKey: e.PK.layout(), State: other(e.State, DefaultState),
		Incarnation: other(e.Incarnation, DefaultIncarnation), Moved: other(e.Moved, DefaultMoved),
	}
	if s := e.Shards; s != nil {
		l.Shards = &LayoutShards{Counts: s.Counts}
		if !s.Random() {
			l.Shards.By = e.KeyFields[s.By].Name
		}
	}
	for _, t := range e.Tables {
		lt := LayoutTable{Name: t.Name, Word: t.Word, Hash: t.Hash, HashType: string(t.HashType)}
		if t.Range != "" {
			lt.Range, lt.RangeType = t.Range, string(t.RangeType)
		}
		l.Tables = append(l.Tables, lt)
	}
	for _, it := range e.Items {
		l.Items = append(l.Items, it.layout(e, it == e.Root))
	}
	for _, u := range e.Uniques {
		l.Unique = append(l.Unique, e.LayoutOf(u))
	}
	for _, x := range e.Indexes {
		for _, n := range x.Entries {
			l.Indexes = append(l.Indexes, n.layout())
		}
	}
	return l
}

// other returns a name that is not the default, "" for the default.
func other(name, usual string) string {
	if name == usual {
		return ""
	}
	return name
}

func (n *Entry) layout() LayoutIndex {
	x := n.Index
	l := LayoutIndex{
		Name: x.Name, Table: x.Table.Name, Item: n.Item.Name, Local: x.Local, Hash: layoutKeys(n.Hash),
		Range: layoutKeys(n.Range),
	}
	if !x.All {
		l.Include = append([]string{}, x.Include...)
	}
	return l
}

func layoutKeys(keys []*IndexKey) []LayoutIndexKey {
	var out []LayoutIndexKey
	for _, k := range keys {
		out = append(out, LayoutIndexKey{
			Attribute: k.Name, Type: string(k.Template.Type), Own: k.Own != Derived,
			LayoutKey: k.layout(),
		})
	}
	return out
}

func (it *Item) layout(e *Entity, root bool) LayoutItem {
	li := LayoutItem{
		Name: it.Name, Table: it.Table.Name, Kind: "fixed", Root: root, Pointer: it.Pointer,
		ExpiryAll: it.ExpiryOfRoot,
	}
	if it.Element() {
		li.Kind = it.Field.Type.Kind.String()
		li.Pointer = it.ElemPointer
		li.From, li.Scalar = it.encodedName(), !it.Elem.Spreads()
	}
	if it.Key != nil {
		k := it.Key.layout()
		li.SortKey = &k
	}
	if it.Expiry != nil {
		li.Expiry = it.Expiry.Name
	}
	for _, a := range it.Attributes {
		li.Attributes = append(li.Attributes,
			LayoutAttribute{
				Name: a.Name, Field: a.Value.Name, Type: a.Value.Type.describe(), Options: a.AV.Options,
				In: it.in(e, a), Was: a.Was, Wire: a.Value.Type.Wire(a.AV.Options), Large: a.Large,
			})
	}
	return li
}

// avOf returns the dynamodbav options of a field.
func avOf(f *Field) grammar.AV {
	t, _ := grammar.Parse(f.Raw, grammar.OnField)
	return t.AV
}

// encodedName is the name under which attributevalue encodes the slice or map of the elements.
func (it *Item) encodedName() string {
	if av := avOf(it.Decl); av.Name != "" {
		return av.Name
	}
	return it.Field.Name
}

// in returns the name under which attributevalue encodes the struct that contains a singleton's
// attribute. It is "" if the attribute is encoded on its own.
func (it *Item) in(e *Entity, a *Attribute) string {
	if it.Element() || a.Place == 0 || a.Place == len(a.Value.Path) {
		return ""
	}
	var f *Field
	for t, path := e.Type, a.Value.Path[:a.Place]; len(path) > 0; path = path[1:] {
		i := slices.IndexFunc(t.deref().Fields, func(f *Field) bool { return f.Index == path[0] })
		f = t.deref().Fields[i]
		t = f.Type
	}
	if av := avOf(f); av.Name != "" || !f.Embedded {
		return cmp.Or(av.Name, f.Name)
	}
	return ""
}

var fromNames = [...]string{"model", "element", "key", "self", "item", "shard"}

var keyKinds = [...]string{"none", "string", "int", "uint", "time", "bytes", "number"}

func (k *Key) layout() LayoutKey {
	l := LayoutKey{Template: k.Text}
	for i, s := range k.Sources {
		f := k.Format(i)
		kind := keyKinds[f.Value]
		if KeyText(s.Value.Type, f.Value) {
			kind = textKind
		}
		p := LayoutPlaceholder{From: fromNames[s.From], Field: s.Value.Name, Kind: kind, Format: f.String()}
		if kind == "int" || kind == "uint" {
			p.Number = s.Value.Type.describe()
		}
		if kind == "bytes" {
			p.Len = s.Value.Type.deref().Len
		}
		if s.field != nil && s.From != FromSelf {
			av := avOf(s.field)
			p.Options = av.Options
			if av.Name != s.Value.Name {
				p.Attribute = av.Name
			}
		}
		l.Placeholders = append(l.Placeholders, p)
	}
	return l
}

// Fingerprint identifies a layout: it changes with all that generated code depends
// on.
func (e *Entity) Fingerprint() string {
	b, err := json.Marshal(e.Layout())
	if err != nil {
		panic(err) // it holds strings and bools
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// describe returns a type's structure, without the names of types: what decides
// how its values are encoded. A type inside itself is written as the number of declared
// types around it that lead back to it.
func (t *Type) describe() string { return t.inside(nil) }

// inside is describe inside other types, the outermost first.
func (t *Type) inside(around []*Type) string {
	switch {
	case t.Time:
		return "time"
	case t.Marshals:
		return "marshaler"
	case t.Unmarshals:
		return "unmarshaler"
	case t.Number:
		return "number"
	}
	if t.declared() {
		if i := slices.Index(around, t); i >= 0 {
			return fmt.Sprintf("recursive%d", len(around)-i)
		}
		around = append(around[:len(around):len(around)], t)
	}
	switch t.Kind {
	case Int, Uint, Float:
		bits := t.Bits
		if t.Word {
			bits = 64
		}
		return fmt.Sprintf("%s%d", t.Kind, bits)
	case Bytes:
		if t.Len > 0 {
			return fmt.Sprintf("[%d]byte", t.Len)
		}
		return "bytes"
	case Slice:
		return "[]" + t.Elem.inside(around)
	case Array:
		return fmt.Sprintf("[%d]%s", t.Len, t.Elem.inside(around))
	case Map:
		k := t.Key.inside(around)
		if t.Key.TextValue {
			k = "text"
		}
		return "map[" + k + "]" + t.Elem.inside(around)
	case Pointer:
		return "*" + t.Elem.inside(around)
	case Struct:
		var fields []string
		for _, f := range t.EncodedFields() {
			fields = append(fields,
				strings.Join(slices.Concat([]string{f.GoName, f.Type.inside(around), f.Name}, f.AV.Options), " "))
		}
		return "struct{" + strings.Join(fields, "; ") + "}"
	}
	return t.Kind.String()
}

// declared reports whether the type has a name of its own.
func (t *Type) declared() bool {
	return t.Name != unnamed && !strings.HasPrefix(t.Name, "*") && !strings.HasPrefix(t.Name, "[") &&
		!strings.HasPrefix(t.Name, "map[")
}
