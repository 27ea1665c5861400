package schema

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost"
)

// Large is how a large value is stored.
type Large struct {
	// Codec is the compression codec, "" for none.
	Codec string `json:"codec,omitempty"`
	// Chunk says that an external value is stored in parts, Bucket that it is an object in that bucket.
	// Parts is the table of the parts, "" for the model's own.
	Chunk  bool   `json:"chunk,omitempty"`
	Parts  string `json:"parts,omitempty"`
	Bucket string `json:"bucket,omitempty"`
	// Preview is the number of bytes that stay in the item in addition to the external value. Inline is
	// the size from which a value is external, 0 if it is external only when it does not fit.
	Preview int `json:"preview,omitempty"`
	Inline  int `json:"inline,omitempty"`
}

// The type large.Value, whose values are read when they are asked for.
const (
	LazyPackage = "github.com/itemize/itemize/large"
	LazyName    = "Value"
)

// External reports whether values may be outside their item.
func (l *Large) External() bool { return l != nil && (l.Chunk || l.Bucket != "") }

// HasExternal reports whether values of the item may be stored outside it.
func (it *Item) HasExternal() bool {
	return slices.ContainsFunc(it.Attributes, func(a *Attribute) bool { return a.Large.External() })
}

// HasLazy reports whether values of the item are read when they are asked for.
func (it *Item) HasLazy() bool {
	return slices.ContainsFunc(it.Attributes, func(a *Attribute) bool { return a.Value.Type.Lazy })
}

// LargeText says that DynamoDB cannot look into a large value.
const LargeText = "it is a large value (compress, chunk, s3=), which DynamoDB cannot read: %s %s, or by a small " +
	"field with the same information"

// largeOptions are the options of large values.
var largeOptions = []string{"compress", "chunk", "s3", "preview", "inline"}

func (m *taggedField) large() bool { return slices.ContainsFunc(largeOptions, m.tag.Has) }

// largeValues takes from their fields' tags how large values are stored.
func (b *builder) largeValues() {
	taken := map[*Field]bool{}
	for _, it := range b.e.Items {
		for _, a := range it.Attributes {
			if m := b.taggedOf(a.Field); m != nil && m.large() {
				taken[m.Field] = true
				b.mayBeLarge(it, a, m)
				a.Large = b.largeOf(m)
				if a.Large.External() {
					a.Opaque, it.Opaque = true, true
				}
			}
		}
	}
	for _, it := range b.e.Items {
		for _, a := range it.Attributes {
			if a.Value.Type.Lazy && !a.Large.External() && a.Field != nil {
				m := b.taggedOf(a.Field)
				b.fault(m.at(), "add chunk or s3=BUCKET to its tag, or use "+a.Value.Type.Elem.Name,
					"a large.Value is read on demand, but all values of the field are stored in their item")
			}
		}
	}
	for _, it := range b.e.Items {
		for _, a := range it.Attributes {
			if m := b.taggedOf(a.Field); m != nil && !a.Value.Type.Lazy && a.Value.Type.holdsLazy(nil) {
				b.fault(m.at(),
					"store each in a field of its own, such as those of the elements of a slice or map with sk=",
					"a large.Value in a %s would be part of its value, and no item would own its external value",
					a.Value.Type.Name)
			}
		}
	}
	for _, m := range b.storable() {
		switch {
		case !m.large() || taken[m.Field]:
			continue
		case slices.ContainsFunc(b.keyFieldTags, func(o *taggedField) bool { return o.Field == m.Field }):
			b.fault(m.option(m.largeOption()), "remove it", "%s is for large values, but a key names this one",
				m.largeOption())
		default:
			b.fault(m.option(m.largeOption()), "put it on the fields in it",
				"%s is for a field that is stored in one attribute, unlike %s", m.largeOption(), m.Name)
		}
		taken[m.Field] = true
	}
}

// holdsLazy reports whether a type is a large.Value, or holds one. seen are the types that hold it.
func (t *Type) holdsLazy(seen []*Type) bool {
	if t == nil || slices.Contains(seen, t) {
		return false
	}
	if t.Lazy {
		return true
	}
	seen = append(seen, t)
	return t.Key.holdsLazy(seen) || t.Elem.holdsLazy(seen) ||
		slices.ContainsFunc(t.Fields, func(f *Field) bool { return !f.Ignored() && f.Type.holdsLazy(seen) })
}

// largeOption returns the first of the field's options of large values.
func (m *taggedField) largeOption() string {
	return largeOptions[slices.IndexFunc(largeOptions, m.tag.Has)]
}

func (b *builder) largeOf(m *taggedField) *Large {
	l := &Large{Codec: m.tag.Value("compress"), Chunk: m.tag.Has("chunk"), Bucket: m.tag.Value("s3")}
	if l.Chunk {
		l.Parts = m.tag.Value("table")
	}
	if o, ok := m.tag.Option("preview"); ok {
		l.Preview = o.Number
	}
	if o, ok := m.tag.Option("inline"); ok {
		l.Inline = o.Number
	}
	return l
}

// mayBeLarge refuses options of large values on fields that they mean nothing for, or that could not be found any more.
func (b *builder) mayBeLarge(it *Item, a *Attribute, m *taggedField) {
	word := m.largeOption()
	t := a.Value.Type.deref()
	external := m.tag.Has("chunk") || m.tag.Has("s3")
	switch {
	case slices.ContainsFunc(b.keyFieldTags, func(o *taggedField) bool { return o.Field == m.Field }) ||
		b.inItsKey(it, m):
		b.fault(m.option(word), "remove it", "%s is for large values, but a key names this one", word)
	case m.tag.Has("ttl"):
		b.fault(m.option(word), "remove it", "%s is for large values, but this one is an expiry", word)
	case !t.Opaque() && (t.Time || t.Number || t.Kind == Int || t.Kind == Uint || t.Kind == Float || t.Kind == Bool ||
		t.Kind == BigInt || t.Kind == BigFloat):
		b.fault(m.option(word), "remove it",
			"%s is for text, bytes, lists, maps and structs, but a %s takes a few bytes", word, t.Name)
	case external && len(b.timed) > 0:
		b.fault(m.option(word), "store it in its item (compress=), or in a separate model",
			"external values need a table that stays, but the model has rotating tables")
	case m.tag.Has("chunk") && m.tag.Has("s3"):
		b.fault(m.option("s3"), "keep one of them", "chunk and s3 are two ways to store one value")
	case m.tag.Has("preview") && !external:
		b.fault(m.option("preview"), "add chunk or s3", "preview= is for external values")
	case m.tag.Has("inline") && !external:
		b.fault(m.option("inline"), "add chunk or s3", "inline= is for external values")
	case m.atMost("preview") != "" || m.atMost("inline") != "":
		word := cmp.Or(m.atMost("preview"), m.atMost("inline"))
		b.fault(m.option(word), fmt.Sprintf("write a number below %d", cost.MaxItem),
			"%s= is a number of bytes in the item, which holds at most %d", word, cost.MaxItem)
	case m.tag.Has("preview") && t.Lazy && (t.Elem.Kind == String || t.Elem.Kind == Bytes):
	case m.tag.Has("preview") && t.Kind != String && t.Kind != Bytes:
		b.fault(m.option("preview"), "put it on text or bytes",
			"preview= is the beginning of text or bytes, not of %s", t.Name)
	}
	for _, e := range it.Entries {
		for _, k := range slices.Concat(e.Hash, e.Range) {
			if k.Own >= 0 && it.Attributes[k.Own] == a {
				b.fault(m.option(word), "remove it, or declare another key of the index",
					"%s would hide the value from the index %s, of which it is a key", word, e.Index.Name)
			}
		}
	}
}

// atMost returns an option that leaves more in an item than that holds, "" for one that does not.
func (m *taggedField) atMost(word string) string {
	if o, ok := m.tag.Option(word); ok && o.Number >= cost.MaxItem {
		return word
	}
	return ""
}

// inItsKey reports whether the sort key of an element names its field.
func (b *builder) inItsKey(it *Item, m *taggedField) bool {
	return it.Element() && slices.ContainsFunc(it.Key.Sources, func(s Source) bool { return s.field == m.Field })
}

// Text reports whether the values of a large attribute are text when they are stored as they are, and nothing else.
func (a *Attribute) Text() bool {
	t := a.Value.Type.deref()
	return t.Kind == String && !t.Opaque() && !t.Number
}
