package codegen

import (
	"fmt"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// keyValue returns a call that makes a key's value of x: (Value, error).
func (w *writer) keyValue(t *schema.Type, kind key.Kind, x string) string {
	if schema.KeyText(t, kind) {
		return fmt.Sprintf("%s(%s)", w.impl("TextValue"), ref(x))
	}
	switch kind {
	case key.Int:
		return fmt.Sprintf("%s(%s)", w.impl("IntValue"), x)
	case key.Uint:
		return fmt.Sprintf("%s(%s)", w.impl("UintValue"), x)
	case key.Time:
		return fmt.Sprintf("%s(%s)", w.impl("TimeValue"), w.timeValue(t, x))
	case key.Number:
		return fmt.Sprintf("%s(%s)", w.impl("NumberValue"), x)
	case key.Bytes:
		if isArray(t) {
			x += "[:]"
		}
		return fmt.Sprintf("%s(%s)", w.impl("BytesValue"), x)
	}
	return fmt.Sprintf("%s(%s)", w.impl("StringValue"), x)
}

// setKey writes what sets x from value, and returns.
func (w *writer) setKey(t *schema.Type, kind key.Kind, x string) {
	name := w.typ(goType(t))
	if schema.KeyText(t, kind) {
		w.p("return %s(%s, value)", w.impl("SetText"), ref(x))
		return
	}
	switch kind {
	case key.Int:
		w.p("%s = %s(value.Int)", x, name)
	case key.Uint:
		w.p("%s = %s(value.Uint)", x, name)
	case key.Time:
		if name == w.time() {
			w.p("%s = value.Time", x)
			break
		}
		w.p("%s = %s(value.Time)", x, name)
	case key.Bytes:
		if isArray(t) {
			w.p("return %s(%s[:], value, %q)", w.impl("SetByteArray"), x, t.Name)
			return
		}
		w.p("%s = %s(value.Text)", x, name)
	default:
		w.p("%s = %s(value.Text)", x, name)
	}
	w.p("return nil")
}

// keyFuncs writes how the fields of the element in its key are read and set. It
// returns false where there are none.
func (r *recordWriter) keyFuncs() bool {
	some := false
	for _, src := range r.named() {
		some = some || src != nil
	}
	if !some {
		return false
	}
	r.p("func %sKey(r *%s, source int) (%s, error) {\nswitch source {", r.fn, r.rec, r.impl("Value"))
	for i, src := range r.named() {
		if src == nil {
			continue
		}
		at := r.at(src.Value)
		r.p("case %d: // %s", i, src.Text)
		if missing := at.missing("r"); missing != "" {
			r.p("if %s {\nreturn %s{}, %s\n}", missing, r.impl("Value"), r.impl("ErrNilStruct"))
		}
		r.p("return %s", r.keyValue(src.Value.Type, r.it.Key.Format(i).Value, at.of("r")))
	}
	r.p("}\nreturn %s{}, nil\n}\n", r.impl("Value"))
	r.p("func %sSetKey(r *%s, source int, value %s) error {\nswitch source {", r.fn, r.rec, r.impl("Value"))
	for i, src := range r.named() {
		if src == nil {
			continue
		}
		at := r.at(src.Value)
		r.p("case %d: // %s", i, src.Text)
		r.allocate(at, "r")
		r.setKey(src.Value.Type, r.it.Key.Format(i).Value, at.of("r"))
	}
	r.p("}\nreturn nil\n}\n")
	return true
}

// elements returns the expression of the codec of a slice or map.
func (r *recordWriter) elements(m *Model, record string) string {
	it := r.it
	field := r.fieldFunc(m)
	kind := "Slice"
	if it.Map() {
		kind = "Map"
	}
	if it.ElemPointer {
		kind = "Pointer" + kind
	}
	if !it.Map() {
		return fmt.Sprintf("%s(%s, %s)", r.impl(kind), field, record)
	}
	return fmt.Sprintf("%s(%s, %s, %s, %s)", r.impl(kind), field, r.mapKeys(), r.mapEqual(), record)
}

// fieldFunc writes the function that returns the slice or map.
func (r *recordWriter) fieldFunc(m *Model) string {
	at := r.access(m.named, r.it.Field.Path)
	fn := r.fn + "Field"
	r.p("func %s(v *%s, allocate bool) *%s {", fn, r.typ(m.named), r.typ(goType(r.it.Field.Type)))
	if missing := at.missing("v"); missing != "" {
		r.p("if !allocate && (%s) {\nreturn nil\n}", missing)
		r.allocate(at, "v")
	}
	r.p("return %s\n}\n", ref(at.of("v")))
	return fn
}

// mapKeys returns how a map's keys become values, and back.
func (r *recordWriter) mapKeys() string {
	for i, src := range r.it.Key.Sources {
		if src.From != schema.FromMapKey {
			continue
		}
		t, kind := src.Value.Type, r.it.Key.Format(i).Value
		name := r.typ(goType(t))
		r.p("func %sKeyFrom(value %s) (k %s, err error) {", r.fn, r.impl("Value"), name)
		r.p("err = func() error {")
		r.setKey(t, kind, "k")
		r.p("}()\nreturn k, err\n}\n")
		return fmt.Sprintf("%s[%s]{To: func(k %s) (%s, error) { return %s }, From: %sKeyFrom}",
			r.impl("Keys"), name, name, r.impl("Value"), r.keyValue(t, kind, "k"), r.fn)
	}
	panic("a map without {key}") // the schema refuses it
}

// mapEqual writes the comparison of two maps, which allocates nothing.
func (r *recordWriter) mapEqual() string {
	fn := r.fn + "EqualMap"
	r.p("func %[1]s(a, b %[2]s) bool {\nif len(a) != len(b) {\nreturn false\n}\nfor k, x := range a {\ny, ok := b[k]", fn, r.typ(goType(r.it.Field.Type)))
	if r.it.ElemPointer {
		r.p("if !ok || x == nil || y == nil || !%sEqual(x, y) {", r.fn)
	} else {
		r.p("if !ok || !%sEqual(&x, &y) {", r.fn)
	}
	r.p("return false\n}\n}\nreturn true\n}\n")
	return fn
}

// keyFields writes how the fields of the model that keys name are read and set, and
// returns the expression for the codec.
func (w *writer) keyFields(m *Model, fn string) string {
	e := m.Schema
	model := w.typ(m.named)
	r := &recordWriter{writer: w, fn: fn, rec: model, root: m.named}
	w.p("func %sKeyField(v *%s, i int) (%s, error) {\nswitch i {", fn, model, w.impl("Value"))
	for i, o := range e.KeyFields {
		at := w.access(m.named, o.Path)
		w.p("case %d: // %s", i, o.Name)
		if missing := at.missing("v"); missing != "" {
			w.p("if %s {\nreturn %s{}, %s\n}", missing, w.impl("Value"), w.impl("ErrNilStruct"))
		}
		w.p("return %s", w.keyValue(o.Type, keyFieldKind(e, i), at.of("v")))
	}
	w.p("}\nreturn %s{}, nil\n}\n", w.impl("Value"))
	w.p("func %sSetKeyField(v *%s, i int, value %s) error {\nswitch i {", fn, model, w.impl("Value"))
	for i, o := range e.KeyFields {
		at := w.access(m.named, o.Path)
		w.p("case %d: // %s", i, o.Name)
		w.allocate(at, "v")
		w.setKey(o.Type, keyFieldKind(e, i), at.of("v"))
	}
	w.p("}\nreturn nil\n}\n")
	w.p("func %sSameKeyFields(a, b *%s) bool {", fn, model)
	var terms []string
	for i, o := range e.KeyFields {
		at := w.access(m.named, o.Path)
		same := r.sameKey(schema.Source{Value: o.Value}, keyFieldKind(e, i), at)
		if len(at.ptrs) > 0 {
			w.sameBehind(at, same)
			continue
		}
		terms = append(terms, same)
	}
	w.p("return %s\n}\n", conjunction(terms))
	w.p("func %sCloneKeyFields(dst, src *%s) {", fn, model)
	for i, o := range e.KeyFields {
		at := w.access(m.named, o.Path)
		r.ifThere(at, func() {
			if schema.KeyText(o.Type, keyFieldKind(e, i)) && o.Type.Kind == schema.Struct {
				w.p("%s(%s, %s)", w.impl("CloneText"), ref(at.of("dst")), ref(at.of("src")))
				return
			}
			w.clone(o.Type, at.of("dst"), at.of("src"))
		})
	}
	w.p("}\n")
	return fmt.Sprintf("%[1]s[%[2]s]{Get: %[3]sKeyField, Set: %[3]sSetKeyField, Same: %[3]sSameKeyFields, Clone: %[3]sCloneKeyFields}", w.impl("KeyFields"), model, fn)
}

// keyFieldKind is the kind of value that keys hold of an owner's field.
func keyFieldKind(e *schema.Entity, owner int) key.Kind {
	k, source := e.KeyOf(owner)
	return k.Format(source).Value
}
