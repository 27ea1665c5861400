package codegen

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/tags"
)

// recordWriter writes the functions of one kind of item.
type recordWriter struct {
	*writer
	it *schema.Item
	// fn is what the names of the functions begin with, rec the record's type.
	fn, rec string
	root    types.Type
}

// codec writes the model's codec.
func (w *writer) codec(m *Model) {
	model := w.typ(m.named)
	fn := w.prefix + m.Name
	records := make([]string, len(m.Schema.Items))
	for i, it := range m.Schema.Items {
		records[i] = w.item(m, it, fn+fmt.Sprintf("Item%d", i))
	}
	keyFields := w.keyFields(m, fn)
	w.p("// ItemizeCodec is for the mapper.")
	w.p("func (*%s) ItemizeCodec(*%s) *%s[%s] {", model, model, w.impl("Codec"), model)
	w.p("return &%s[%s]{", w.impl("Codec"), model)
	w.p("Layout: %q,", m.Schema.Fingerprint())
	w.p("KeyFields: %s,", keyFields)
	w.p("Items: []%s[%s]{\n%s,\n},", w.impl("Item"), model, strings.Join(records, ",\n"))
	w.p("}\n}\n")
}

// item writes the functions of an item, and returns the expression of its codec.
func (w *writer) item(m *Model, it *schema.Item, fn string) string {
	r := &recordWriter{writer: w, it: it, fn: fn, rec: w.typ(m.named), root: m.named}
	if it.Element() {
		r.root = goType(it.Elem)
		r.rec = w.typ(r.root)
	}
	r.encodeFunc()
	r.decodeFunc()
	r.sameFunc()
	r.equalFunc()
	r.cloneFunc()
	fields := fmt.Sprintf("Encode: %[1]sEncode, Decode: %[1]sDecode, Same: %[1]sSame, Equal: %[1]sEqual, Clone: %[1]sClone,", fn)
	if it.Expiry != nil {
		r.expiryFunc(m)
		fields += fmt.Sprintf(" Expiry: %sExpiry,", fn)
	}
	if !it.Element() {
		r.presentFunc()
		fields += fmt.Sprintf(" Present: %sPresent,", fn)
		if it.Pointer {
			r.allocateFunc()
			fields += fmt.Sprintf(" Allocate: %sAllocate,", fn)
		}
		return fmt.Sprintf("%s(%s[%s]{%s})", w.impl("Singleton"), w.impl("Record"), r.rec, fields)
	}
	if r.keyFuncs() {
		fields += fmt.Sprintf(" Key: %[1]sKey, SetKey: %[1]sSetKey,", fn)
	}
	return r.elements(m, fmt.Sprintf("%s[%s]{%s}", w.impl("Record"), r.rec, fields))
}

func (r *recordWriter) at(v schema.Value) access { return r.access(r.root, v.Path) }

// attributes writes a switch over the attributes.
func (r *recordWriter) attributes(each func(a *schema.Attribute)) {
	if len(r.it.Attributes) == 0 {
		return
	}
	r.p("switch attribute {")
	for i, a := range r.it.Attributes {
		r.p("case %d: // %s", i, a.Name)
		each(a)
	}
	r.p("}")
}

func (r *recordWriter) encodeFunc() {
	r.p("func %sEncode(r *%s, attribute int) (%s, error) {", r.fn, r.rec, r.av())
	r.attributes(func(a *schema.Attribute) {
		at := r.at(a.Value)
		if missing := at.missing("r"); missing != "" {
			r.p("if %s {\nreturn nil, nil\n}", missing)
		}
		if a.Opaque {
			tag := strings.Join(append([]string{"F"}, a.AV.Options...), ",")
			r.p("return %s(&struct { F %s `dynamodbav:%q` }{%s})", r.impl("EncodeOpaque"), r.typ(goType(a.Value.Type)), tag, at.of("r"))
			return
		}
		r.p("return %s", r.encode(a.Value.Type, at.of("r"), r.options(a.AV)))
	})
	r.p("return nil, nil\n}\n")
}

func (r *recordWriter) decodeFunc() {
	r.p("func %sDecode(r *%s, attribute int, av %s) error {", r.fn, r.rec, r.av())
	r.attributes(func(a *schema.Attribute) {
		at := r.at(a.Value)
		r.allocate(at, "r")
		if a.Opaque {
			r.opaqueDecode(a, at)
			return
		}
		r.p("return %s", r.decode(a.Value.Type, at.of("r"), "av", r.options(a.AV)))
	})
	r.p("return nil\n}\n")
}

// opaqueDecode decodes with attributevalue, whose option string is read from a
// struct's tag.
func (r *recordWriter) opaqueDecode(a *schema.Attribute, at access) {
	if a.AV.Has("string") {
		r.p("var h struct { F %s `dynamodbav:\"F,string\"` }", r.typ(goType(a.Value.Type)))
		r.p("if err := %s(av, &h); err != nil {\nreturn err\n}", r.impl("DecodeOpaqueField"))
		r.p("%s = h.F\nreturn nil", at.of("r"))
		return
	}
	r.p("return %s(av, %s)", r.impl("DecodeOpaque"), ref(at.of("r")))
}

func (r *recordWriter) sameFunc() {
	r.p("func %sSame(a, b *%s, attribute int) bool {", r.fn, r.rec)
	r.attributes(func(a *schema.Attribute) {
		if a.Opaque {
			r.p("return false")
			return
		}
		at := r.at(a.Value)
		same := r.same(a.Value.Type, at.of("a"), at.of("b"), a.AV)
		if len(at.ptrs) > 0 {
			r.sameBehind(at, same)
			r.p("return true")
			return
		}
		r.p("return %s", same)
	})
	r.p("return true\n}\n")
}

// equalFunc compares all but opaque attributes, the fields in keys, the expiry.
func (r *recordWriter) equalFunc() {
	r.p("func %sEqual(a, b *%s) bool {", r.fn, r.rec)
	var terms []string
	for i, a := range r.it.Attributes {
		at := r.at(a.Value)
		switch {
		case a.Opaque:
		case len(at.ptrs) > 0:
			terms = append(terms, fmt.Sprintf("%sSame(a, b, %d)", r.fn, i))
		default:
			terms = append(terms, r.same(a.Value.Type, at.of("a"), at.of("b"), a.AV))
		}
	}
	for i, src := range r.named() {
		if src == nil {
			continue
		}
		at := r.at(src.Value)
		same := r.sameKey(*src, r.it.Key.Format(i).Value, at)
		if len(at.ptrs) > 0 {
			r.sameBehind(at, same)
			continue
		}
		terms = append(terms, same)
	}
	if r.it.Pointer {
		at := r.at(*r.it.Field)
		x, y := at.of("a")+" == nil", at.of("b")+" == nil"
		if m := at.missing("a"); m != "" {
			x, y = m+" || "+x, at.missing("b")+" || "+y
		}
		terms = append(terms, fmt.Sprintf("(%s) == (%s)", x, y))
	}
	if r.it.Expiry != nil && !r.it.ExpiryOfRoot {
		terms = append(terms, fmt.Sprintf("%s(a, b, %sExpiry)", r.impl("SameExpiry"), r.fn))
	}
	r.p("return %s\n}\n", conjunction(terms))
}

// named lists the sources of the key by index, nil for those that are no fields of
// the element.
func (r *recordWriter) named() []*schema.Source {
	if !r.it.Element() {
		return nil
	}
	out := make([]*schema.Source, len(r.it.Key.Sources))
	for i := range r.it.Key.Sources {
		if s := &r.it.Key.Sources[i]; s.From == schema.FromElement || s.From == schema.FromSelf {
			out[i] = s
		}
	}
	return out
}

// sameKey compares a field that a key names.
func (r *recordWriter) sameKey(src schema.Source, kind key.Kind, at access) string {
	t := src.Value.Type
	if schema.KeyText(t, kind) && t.Kind == schema.Struct {
		return fmt.Sprintf("%s(%s, %s)", r.impl("SameText"), ref(at.of("a")), ref(at.of("b")))
	}
	return r.same(t, at.of("a"), at.of("b"), tags.AV{})
}

func (r *recordWriter) presentFunc() {
	r.p("func %sPresent(r *%s) bool {", r.fn, r.rec)
	defer r.p("}\n")
	if r.it.Pointer {
		at := r.at(*r.it.Field)
		cond := at.of("r") + " != nil"
		if there := at.there("r"); there != "" {
			cond = there + " && " + cond
		}
		r.p("return %s", cond)
		return
	}
	for _, a := range r.it.Attributes {
		r.presentAttribute(a)
	}
	r.p("return false")
}

// presentAttribute writes the test of one attribute. A pointer of the item's own that
// is there is something to store; one of the model's embedding is not.
func (r *recordWriter) presentAttribute(a *schema.Attribute) {
	at := r.at(a.Value)
	var terms []string
	for _, p := range at.ptrs {
		terms = append(terms, "r"+p.sel+" != nil")
		if p.depth >= a.Place {
			r.p("if %s {\nreturn true\n}", strings.Join(terms, " && "))
			return
		}
	}
	terms = append(terms, r.notZero(a.Value.Type, at.of("r")))
	r.p("if %s {\nreturn true\n}", strings.Join(terms, " && "))
}

func (w *writer) notZero(t *schema.Type, x string) string {
	if t.Time {
		return fmt.Sprintf("!%s.IsZero()", w.timeValue(t, x))
	}
	switch scalar(t) {
	case "Bool":
		return "bool(" + x + ")"
	case "Int", "Uint":
		return x + " != 0"
	case "String", "Number":
		return x + ` != ""`
	case "Bytes":
		return x + " != nil"
	}
	switch t.Kind {
	case schema.Slice, schema.Map, schema.Pointer, schema.Interface:
		return x + " != nil"
	}
	return fmt.Sprintf("!%s(%s)", w.impl("IsZero"), ref(x))
}

// timeValue returns a time.Time of an expression.
func (w *writer) timeValue(t *schema.Type, x string) string {
	if goType(t).String() == "time.Time" {
		return x
	}
	return fmt.Sprintf("%s(%s)", w.time(), x)
}

func (r *recordWriter) allocateFunc() {
	at := r.at(*r.it.Field)
	r.p("func %sAllocate(r *%s) {", r.fn, r.rec)
	r.allocate(at, "r")
	r.p("if %s == nil {\n%s = new(%s)\n}\n}\n", at.of("r"), at.of("r"), r.typ(goType(r.it.Field.Type.Elem)))
}

func (r *recordWriter) expiryFunc(m *Model) {
	e := r.it.Expiry
	r.p("func %sExpiry(r *%s) (%s, bool) {", r.fn, r.rec, r.time())
	defer r.p("}\n")
	if r.it.ExpiryOfRoot && r.it.Element() {
		r.p("return %s{}, false // that of the root", r.time())
		return
	}
	at := r.access(r.root, e.Path)
	x, missing := at.of("r"), at.missing("r")
	t := e.Type
	if t.Kind == schema.Pointer {
		if missing != "" {
			missing += " || "
		}
		missing += x + " == nil"
		x, t = "(*"+x+")", t.Elem
	}
	if missing != "" {
		r.p("if %s {\nreturn %s{}, false\n}", missing, r.time())
	}
	r.p("t := %s", r.timeValue(t, x))
	r.p("return t, !t.IsZero()")
}
