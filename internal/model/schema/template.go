package schema

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/naming"
)

// scope says what the placeholders of a template can name.
type scope struct {
	// elem is set in an element's template: the fields of its struct.
	elem     bool
	fieldsOf []*taggedField
	// field is the slice or map.
	field *taggedField
	// index is the item whose index has the template, nil for a key of a table.
	index *Item
	// pk is set in the template of the partition key.
	pk bool
}

// key resolves a template. at is the field that holds the option.
func (b *builder) key(at *taggedField, o grammar.Option, sc scope) *Key {
	k := &Key{
		Text: o.Template.Text, At: at.Field, Pos: o.Pos, End: o.End,
		Template: &key.Template{Type: 'S', Delim: b.e.Delim},
	}
	pl := place{at.in, at.Field, o.Pos, o.End}
	parts := o.Template.Parts
	b.literals(pl, parts)
	faults := len(b.faults)
	for i, p := range parts {
		if p.Name == "" {
			k.Template.Parts = append(k.Template.Parts, key.Part{Text: p.Literal})
			continue
		}
		k.names = append(k.names, p.Name)
		pp := place{at.in, at.Field, p.Pos, p.End}
		src, ok := b.source(pp, p, sc)
		if !ok {
			continue
		}
		src.Text = p.String()
		if t := src.Value.Type; sc.index != nil && t.Kind == Pointer &&
			(src.From == FromItem || src.From == FromElement) {
			src.Value.Type, src.Optional = t.Elem, true
		}
		format := b.format
		if src.From == FromShard {
			format = b.shardFormat
		}
		f, ok := format(pp, p, &src, len(parts) == 1, i == len(parts)-1)
		if !ok {
			continue
		}
		if f.Kind == key.Native {
			k.Template.Type = nativeType(f, b.avOf(src))
		}
		k.Template.Parts = append(k.Template.Parts, key.Part{Format: f})
		k.Sources = append(k.Sources, src)
	}
	if i := k.Template.Ambiguous(); i >= 0 && len(b.faults) == faults {
		b.fault(place{at.in, at.Field, parts[i].Pos, parts[i].End}, "put the delimiter "+string(b.e.Delim)+
			" between them",
			"two placeholders of variable width adjoin in %q, so that two pairs of values could make one key",
			o.Template.Text)
	}
	return k
}

// literals checks the literal text of a template.
func (b *builder) literals(at place, parts []grammar.Part) {
	size := 0
	for i, p := range parts {
		size += len(p.Literal)
		if !utf8.ValidString(p.Literal) {
			b.fault(at, "write valid UTF-8", "the template's text is not valid UTF-8")
		}
		for j, seg := range strings.Split(p.Literal, string(b.e.Delim)) {
			if strings.HasPrefix(seg, "~") && (j > 0 || i == 0) {
				b.fault(at, "begin it with another character",
					"the key segment %q begins with ~, which is reserved by the library", seg)
			}
		}
	}
	if size > key.MaxSort {
		b.fault(at, "shorten it", "the template has %d bytes of text, over the limit of %d for a sort key", size,
			key.MaxSort)
	}
}

// source finds what a placeholder names.
func (b *builder) source(at place, p grammar.Part, sc scope) (Source, bool) {
	if sc.elem && !p.KeyField {
		return b.elementSource(at, p, sc)
	}
	switch {
	case p.Name == "shard" && !sc.pk:
		b.fault(at, "write it in pk=", "{shard} is for the partition key")
		return Source{}, false
	case p.Name == "shard":
		return Source{
			From: FromShard, KeyField: -1,
			Value: Value{Name: "shard", Type: &Type{Kind: String, Name: "string"}},
		}, true
	case p.Name == "key" || p.Name == ".":
		cure := "name a field of the model"
		if sc.field != nil && sc.field.Type.holdsElements() {
			cure = "use a slice or map of values or pointers"
		}
		b.fault(at, cure, "%s is only for the elements of slices and maps", p)
		return Source{}, false
	case p.KeyField && !sc.elem:
		b.fault(at, "write {"+p.Name+"}", "%s is only for the elements of slices and maps", p)
		return Source{}, false
	}
	if sc.index != nil {
		return b.indexSource(at, p, sc.index)
	}
	m := find(b.fields, p.Name)
	if m == nil && sc.field != nil && sc.field.Type.holdsElements() {
		b.fault(at, "use a slice or map of values or pointers", "%s names no field of the model, and the elements "+
			"of %s are not items", p, sc.field.Type.Name)
		return Source{}, false
	}
	if m == nil {
		b.missing(at, cureOf(p, b.fields, "the fields are "), "%s does not name a field of %s", p, b.e.Type.Name)
		return Source{}, false
	}
	return Source{From: FromModel, KeyField: b.keyField(m), Value: m.value(), field: m.Field}, true
}

func (b *builder) elementSource(at place, p grammar.Part, sc scope) (Source, bool) {
	elem := sc.field.Type.Elem.deref()
	isMap := sc.field.Type.Kind == Map
	switch p.Name {
	case "shard":
		b.fault(at, "write it in pk=", "{shard} is for the partition key")
		return Source{}, false
	case "key":
		if !isMap {
			b.fault(at, "name a field of the element, or use {.}", "{key} is only for maps")
			return Source{}, false
		}
		return Source{From: FromMapKey, Value: Value{Name: sc.field.Name + " key", Type: sc.field.Type.Key}}, true
	case ".":
		if isMap {
			b.fault(at, "use {key}", "{.} is only for slices")
			return Source{}, false
		}
		return Source{From: FromSelf, Value: Value{Name: sc.field.Name, Type: elem}, field: sc.field.Field}, true
	}
	if m := find(sc.fieldsOf, p.Name); m != nil {
		return Source{From: FromElement, Value: m.value(), field: m.Field}, true
	}
	held := true
	if sc.index != nil {
		_, held = b.heldSource(p.Name, sc.index)
	}
	switch {
	case find(b.fields, p.Name) != nil && !held:
		return b.indexSource(at, p, sc.index)
	case find(b.fields, p.Name) != nil:
		b.fault(at, "write {^"+p.Name+"} for the field of "+b.e.Type.Name+", or {key} for the key of a map",
			"%s does not name a field of the "+
				"element %s", p,
			elem.Name)
	case len(sc.fieldsOf) == 0:
		b.fault(at, "use {key} of a map or {.} of a slice of scalars", "%s names a field, but %s has no fields", p,
			elem.Name)
	default:
		b.fault(at, cureOf(p, sc.fieldsOf, "its fields are "), "%s does not name a field of the element %s", p,
			elem.Name)
	}
	return Source{}, false
}

// cureOf says what a placeholder that names no field could name.
func cureOf(p grammar.Part, all []*taggedField, list string) string {
	var fieldNames []string
	for _, m := range all {
		fieldNames = append(fieldNames, m.Name)
	}
	if n := naming.Nearest(p.Name, fieldNames); n != "" {
		p.Name = n
		return "write " + p.String()
	}
	return list + names(all)
}

func names(all []*taggedField) string {
	s := make([]string, len(all))
	for i, m := range all {
		s[i] = m.Name
	}
	return strings.Join(s, ", ")
}

// keyField returns the index in KeyFields of a field that a key names.
func (b *builder) keyField(m *taggedField) int {
	i := slices.IndexFunc(b.e.KeyFields, func(o *KeyField) bool { return o.Field == m.Field })
	if i < 0 {
		i = len(b.e.KeyFields)
		b.e.KeyFields = append(b.e.KeyFields, &KeyField{Value: m.value(), Field: m.Field})
		b.keyFieldTags = append(b.keyFieldTags, m)
	}
	return i
}

// avOf returns the dynamodbav options of the field that a source names.
func (b *builder) avOf(s Source) grammar.AV {
	if s.field == nil {
		return grammar.AV{}
	}
	return b.parsed[s.field].AV
}

// format decides how a placeholder's value is written, and whether the key
// gives it back in full.
func (b *builder) format(at place, p grammar.Part, src *Source, bare, last bool) (key.Format, bool) {
	t := src.Value.Type
	av := b.avOf(*src)
	f := key.Format{Max: maxOf(t), Unsigned: t.Kind == Uint, Value: valueKind(t)}
	src.Lossless = true
	refuse := func(cure, format string, args ...any) (key.Format, bool) {
		b.fault(at, cure, format, args...)
		return key.Format{}, false
	}
	width, isWidth := grammar.Width(p.Format)
	switch {
	case f.Value == key.None:
		return refuse(keyCure(t), "%s cannot be in a key, since it is a %s", p, t.Name)
	case isWidth || p.Format == "sortable":
		if t.Kind != Int && t.Kind != Uint {
			return refuse("remove it", "the format of %s is only for integers, unlike %s", p, t.Name)
		}
		f.Kind, f.Width = key.Digits, width
		if !isWidth {
			f.Kind = key.Sortable
		}
	case p.Format == "raw":
		if f.Value != key.String {
			return refuse("remove it", "the format of %s is only for strings", p)
		}
		if !last {
			return refuse("move it to the end, or drop :raw",
				"%s can contain the delimiter, so that it must be the last placeholder", p)
		}
		f.Kind = key.Raw
	case p.Format != "":
		if !t.Time {
			return refuse("remove it", "the format of %s is only for times, unlike %s", p, t.Name)
		}
		f.Kind = timeFormats[p.Format]
		if bare && f.Kind == key.Unix {
			f.Kind = key.Native
		}
		whole := p.Format == "seconds" || p.Format == "unix"
		src.Lossless = whole && av.Has("unixtime")
	case t.Time:
		f.Kind = key.Nanos
	case bare:
		f.Kind = key.Native
	case t.Kind == Int || t.Kind == Uint:
		if !t.MarshalsText {
			return refuse("write {"+strings.Trim(p.String(), "{}")+":010}, or :sortable for any sign",
				"the number %s needs a width to sort", p)
		}
		f.Kind, f.Value = key.Plain, key.String
	case f.Value == key.Number:
		return refuse("use an integer type with a width",
			"the decimal number %s has no width, so that it must be the whole key", p)
	case f.Value == key.Bytes:
		if !t.MarshalsText {
			return refuse("use it as the whole key, or declare MarshalText",
				"the bytes %s cannot be part of a key's text",
				p)
		}
		f.Kind, f.Value = key.Plain, key.String
	default:
		f.Kind = key.Plain
	}
	return f, b.readable(at, src, f.Value)
}

// readable refuses a value that a key could not give back, or that is in keys as
// values of two kinds.
func (b *builder) readable(at place, src *Source, kind key.Kind) bool {
	t := src.Value.Type
	if KeyText(t, kind) && t.MarshalsText != t.UnmarshalsText {
		b.fault(at, "add the other method", "%s has one of MarshalText and UnmarshalText, but a key needs both", t.Name)
		return false
	}
	if src.From != FromModel {
		return true
	}
	if k, ok := b.keyFieldKinds[src.KeyField]; ok && k != kind {
		b.fault(at, "write it the same way in all keys", "%s is text in one key and a number in another",
			src.Value.Name)
		return false
	}
	b.keyFieldKinds[src.KeyField] = kind
	return true
}

var timeFormats = map[string]key.FormatKind{
	"millis": key.Millis, "seconds": key.Seconds, "unix": key.Unix,
	"date": key.Date, "month": key.Month, "week": key.Week, "year": key.Year,
}

// valueKind is the kind of key value that a type has, None if it has none.
func valueKind(t *Type) key.Kind {
	switch {
	case t.Kind == Pointer: // whatever methods it has, it can be nil
		return key.None
	case t.Time:
		return key.Time
	case t.Marshals && !(t.MarshalsText && t.UnmarshalsText):
		return key.None
	case t.Number:
		return key.Number
	case t.Kind == String:
		return key.String
	case t.Kind == Int:
		return key.Int
	case t.Kind == Uint:
		return key.Uint
	case t.Kind == Bytes:
		return key.Bytes
	case t.MarshalsText || t.UnmarshalsText:
		return key.String
	}
	return key.None
}

func keyCure(t *Type) string {
	switch t.Kind {
	case Float:
		return "floats do not compare exactly: use an integer, or attributevalue.Number as the whole key"
	case Pointer:
		return "a pointer can be nil, but a key always has a value: use " + t.Elem.Name
	case BigInt, BigFloat:
		return "use an integer type, or attributevalue.Number as the whole key, which has 38 digits too"
	case Bool:
		return "use a string or an integer"
	}
	return "use a string, an integer, a time.Time, or a type with MarshalText and UnmarshalText"
}

func maxOf(t *Type) uint64 {
	switch t.Kind {
	case Int:
		return 1<<(t.Bits-1) - 1
	case Uint:
		if t.Bits == 64 {
			return math.MaxUint64
		}
		return 1<<t.Bits - 1
	}
	return 0
}

// nativeType is the type of the key attribute of a bare placeholder.
func nativeType(f key.Format, av grammar.AV) byte {
	switch f.Value {
	case key.Bytes:
		return 'B'
	case key.Int, key.Uint, key.Number, key.Time:
		if av.Has("string") {
			return 'S'
		}
		return 'N'
	}
	return 'S'
}

// KeyText reports whether a key holds a value of this type as the text that its
// MarshalText gives, where kind is the kind of value that the key holds.
func KeyText(t *Type, kind key.Kind) bool {
	return kind == key.String && t.Kind != String
}
