package layout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// indexKey is an attribute that puts the items of a kind into secondary indexes.
type indexKey struct {
	name, index string
	// key makes it, nil for an attribute of the item's own.
	key *template
	// timed reports that an own attribute is a time in epoch seconds; its type is a letter.
	timed bool
	kind  byte
	// most is how many bytes it may have.
	most int
}

// zeroTime is how a zero time is stored in epoch seconds, which no index holds.
var zeroTime = item.Epoch(time.Time{})

// indexed notes the keys of indexes on their kinds of items.
func (x *Layout) indexed() error {
	for i := range x.Indexes {
		l := &x.Indexes[i]
		at := slices.IndexFunc(x.Kinds, func(k *Kind) bool { return k.Name == l.Item && k.LayoutItem.Table == l.Table })
		if at < 0 {
			return fmt.Errorf("the index %s is of the item %s, which is missing in the layout: run itemize gen",
				l.Name, l.Item)
		}
		for n := range l.Hash {
			if err := x.indexKey(x.Kinds[at], l.Name, &l.Hash[n], key.MaxPartition); err != nil {
				return err
			}
		}
		for n := range l.Range {
			if err := x.indexKey(x.Kinds[at], l.Name, &l.Range[n], key.MaxSort); err != nil {
				return err
			}
		}
	}
	for _, k := range x.Kinds {
		if k.Expiry != "" && k.listed[x.TTL] { // which is never zero in an item: it would be over
			k.keys = append(k.keys, &indexKey{name: x.TTL, timed: true, kind: 'N', most: key.MaxPartition})
		}
	}
	return nil
}

func (x *Layout) indexKey(k *Kind, index string, l *schema.LayoutIndexKey, most int) error {
	if t := x.Tables[k.Table]; l.Attribute == t.Hash || l.Attribute == t.Range || l.Type == "" {
		return nil
	}
	if i := slices.IndexFunc(k.keys, func(n *indexKey) bool { return n.name == l.Attribute }); i >= 0 {
		k.keys[i].most = min(k.keys[i].most, most)
		return nil
	}
	n := &indexKey{name: l.Attribute, index: index, kind: l.Type[0], most: most}
	t, err := readTemplate(&l.LayoutKey, l.Type, x.Delim[0])
	if err != nil {
		return fmt.Errorf("the index %s: %w", index, err)
	}
	if l.Own {
		n.timed = len(t.from) == 1 && t.from[0].kind == key.Time
	} else {
		n.key = t
		for i := range t.from {
			t.from[i].attribute = k.stored(l.Placeholders[i].Field, t.from[i].attribute)
		}
	}
	k.keys = append(k.keys, n)
	return nil
}

// stored is the attribute in which an item holds a field, and otherwise where there is none.
func (k *Kind) stored(field, otherwise string) string {
	for _, a := range k.Attributes {
		if a.Field == field {
			return a.Name
		}
	}
	return otherwise
}

// adds reports whether an attribute of an item is written for indexes or for its expiry alone.
func (x *Layout) adds(k *Kind, name string) bool {
	return x.expires(k) && name == x.TTL ||
		slices.ContainsFunc(k.keys, func(n *indexKey) bool { return n.key != nil && n.name == name })
}

// expires reports whether the library sets the expiry of a kind's items in addition to their content.
func (x *Layout) expires(k *Kind) bool {
	return k.Expiry != "" && x.TTL != "" && !k.listed[x.TTL]
}

// RootExpires reports whether DynamoDB may delete the root of an entity, whose parts stay then.
func (x *Layout) RootExpires() bool { return x.Root.Expiry != "" && x.TTL != "" }

// forIndexes reports whether an attribute is a key of an index of the kind's table, and none of the kind's own.
func (x *Layout) forIndexes(k *Kind, name string) bool {
	is := func(n schema.LayoutIndexKey) bool { return n.Attribute == name }
	return !k.listed[name] && slices.ContainsFunc(x.Indexes, func(l schema.LayoutIndex) bool {
		return l.Table == k.LayoutItem.Table && (slices.ContainsFunc(l.Hash, is) || slices.ContainsFunc(l.Range, is))
	})
}

// add gives an item the attributes that exist only for indexes and for its expiry, from its attributes
// or those of its element. It removes attributes that an index cannot hold. in names the element, ""
// for none.
func (s *splitter) add(it *Item, fields item.Attributes, self types.AttributeValue, mapKey, in string) {
	k, at := it.Kind, len(s.errs)
	for _, n := range k.keys {
		if n.key == nil {
			s.sparse(it, n)
			continue
		}
		if v := s.indexValue(n, fields, self, mapKey); v != nil {
			it.Attributes[n.name] = v
		}
	}
	if s.expires(k) {
		s.expire(it, fields)
	}
	for _, err := range s.errs[at:] {
		if p := err.(*Problem); in != "" {
			p.Attribute = under(in, p.Attribute)
		}
	}
}

// sparse leaves an attribute out that an index cannot hold as its key, and notes it on the item.
func (s *splitter) sparse(it *Item, n *indexKey) {
	v := it.Attributes[n.name]
	if v == nil {
		return
	}
	held, scalar := attr.ScalarOf(v)
	switch {
	case null(v), scalar && held.Type != 'N' && held.Text == "", n.timed && attr.Same(v, zeroTime):
		delete(it.Attributes, n.name)
		s.noteOn(it, n.name, v)
	case n.index == "" && (!scalar || held.Type != n.kind):
		s.fault(n.name, "it is a %s, but an expiry is a number of epoch seconds", attr.TypeName(v))
	case !scalar || held.Type != n.kind:
		s.fault(n.name, "it is a %s, but the key of the index %s has the type %c", attr.TypeName(v), n.index, n.kind)
	default:
		if err := held.CheckSize(n.most); err != nil {
			s.fault(n.name, "as a key of the index %s: %v", n.index, err)
		}
	}
}

// leftOut is the word of the note on an item that says what it would hold of an attribute, if an index took it.
const leftOut = "empty"

// kept is the word of the note that the monolith, too, holds what an item does for indexes, or for its expiry.
const kept = "kept"

func (x *Layout) noteOn(it *Item, name string, v types.AttributeValue) {
	all, ok := it.Attributes[x.Reserved.MovedName()].(*types.AttributeValueMemberM)
	if !ok {
		all = &types.AttributeValueMemberM{Value: item.Attributes{}}
		it.Attributes[x.Reserved.MovedName()] = all
	}
	all.Value[name] = &types.AttributeValueMemberM{Value: item.Attributes{leftOut: v}}
}

// whole are the attributes of an item, with those that were left out since an index cannot hold them.
func (x *Layout) whole(it *Item) item.Attributes {
	all, _ := it.Attributes[x.Reserved.MovedName()].(*types.AttributeValueMemberM)
	if all == nil || len(it.Kind.keys) == 0 {
		return it.Attributes
	}
	out := it.Attributes
	for name, note := range all.Value {
		m, ok := note.(*types.AttributeValueMemberM)
		if !ok || m.Value[leftOut] == nil || it.Attributes[name] != nil {
			continue
		}
		if len(out) == len(it.Attributes) {
			out = attr.CopyItem(it.Attributes)
		}
		out[name] = m.Value[leftOut]
	}
	return out
}

// indexValue makes a key of an index; nil where a value is empty, so that the item is not in it.
func (s *splitter) indexValue(n *indexKey, fields item.Attributes, self types.AttributeValue,
	mapKey string,
) types.AttributeValue {
	values := make([]key.Value, len(n.key.from))
	for i := range n.key.from {
		from := &n.key.from[i]
		v, name := s.source(from, fields, self, mapKey)
		var err error
		if values[i], err = from.orZero(v); err != nil {
			s.fault(name, "%v of the index %s", err, n.index)
			return nil
		}
	}
	if slices.ContainsFunc(values, schema.Empty) {
		return nil
	}
	scalar, err := n.key.Render(values)
	if err == nil {
		err = scalar.CheckSize(n.most)
	}
	if err != nil {
		s.fault(n.key.name(err, ""), "as a key of the index %s: %v", n.index, err)
		return nil
	}
	return attr.ValueOf(scalar)
}

// orZero is value, and that of the zero value where there is none.
func (s *source) orZero(v types.AttributeValue) (key.Value, error) {
	if v != nil && !null(v) {
		return s.value(v)
	}
	return key.Value{Kind: s.kind}, nil
}

// expire sets the expiry of an item in epoch seconds, of a time that is not zero.
func (s *splitter) expire(it *Item, fields item.Attributes) {
	k := it.Kind
	if k.ExpiryAll {
		k, fields = s.Root, s.rootFields(it, fields)
	}
	name := k.stored(k.Expiry, "")
	for _, t := range []*template{k.key, &s.pk} {
		if name != "" || t == nil {
			continue
		}
		if i := slices.IndexFunc(t.from, func(f source) bool { return f.field == k.Expiry }); i >= 0 {
			name = t.from[i].attribute
			if t.from[i].from == "model" {
				fields = s.doc
			}
		}
	}
	v, err := (&source{kind: key.Time}).orZero(fields[name])
	switch {
	case err != nil:
		s.fault(cmp.Or(name, k.Expiry), "%v, but it is the expiry", err)
	case !v.Time.IsZero():
		it.Attributes[s.TTL] = item.Epoch(v.Time)
	}
}

// rootFields are the attributes of the root.
func (s *splitter) rootFields(it *Item, fields item.Attributes) item.Attributes {
	if it.Kind == s.Root {
		return fields
	}
	return s.out.Root().Attributes
}
