package codegen

import (
	"fmt"

	"github.com/itemize/itemize/internal/schema"
)

// decode returns a call that sets x from an attribute value, with options.
func (w *writer) decode(t *schema.Type, x, av, o string) string {
	if t.Time {
		return fmt.Sprintf("%s(%s, %s, %s)", w.impl("DecodeTime"), av, w.timeRef(t, x), o)
	}
	if s := scalar(t); s != "" {
		return fmt.Sprintf("%s(%s, %s, %s)", w.impl("Decode"+s), av, ref(x), o)
	}
	switch t.Kind {
	case schema.Bytes:
		return fmt.Sprintf("%s(%s, %s, %s[:], %s)", w.impl("DecodeByteArray"), av, ref(x), x, o)
	case schema.Slice:
		return fmt.Sprintf("%s(%s, %s, %s, %s)", w.impl("DecodeSlice"), av, ref(x), o, w.decoder(t.Elem))
	case schema.Array:
		return fmt.Sprintf("%s(%s, %s, %s[:], %s, %s)", w.impl("DecodeArray"), av, ref(x), x, o, w.decoder(t.Elem))
	case schema.Map:
		return fmt.Sprintf("%s(%s, %s, %s, %s[%s], %s)", w.impl("DecodeMap"), av, ref(x), o, w.impl("Parse"+mapKey(t.Key)+"Key"), w.typ(goType(t.Key)), w.decoder(t.Elem))
	case schema.Pointer:
		return fmt.Sprintf("%s(%s, %s, %s, %s)", w.impl("DecodePointer"), av, ref(x), o, w.decoder(t.Elem))
	}
	return fmt.Sprintf("%s(%s, %s, %s)", w.decoder(t), av, ref(x), o)
}

// mapKey returns the name of the functions for a map's keys.
func mapKey(t *schema.Type) string {
	switch {
	case t.Kind == schema.Float:
		return "Float"
	case t.Kind == schema.String:
		return "String"
	}
	return scalar(t)
}

// decoder returns a function that decodes a type.
func (w *writer) decoder(t *schema.Type) string {
	name := w.typ(goType(t))
	if s := scalar(t); s != "" && (!t.Time || name == w.time()) {
		if t.Time {
			return w.impl("DecodeTime")
		}
		return fmt.Sprintf("%s[%s]", w.impl("Decode"+s), name)
	}
	return w.helper("decode "+name, "Decode"+helperName(name), func(fn string) {
		w.p("func %s(av %s, v *%s, o %s) error {", fn, w.av(), name, w.opts())
		if t.Kind == schema.Struct && !t.Time {
			w.decodeStruct(t, name)
		} else {
			w.p("return %s", w.decode(t, "(*v)", "av", "o"))
		}
		w.p("}\n")
	})
}

func (w *writer) decodeStruct(t *schema.Type, name string) {
	w.p("return %s(av, v, o, func(name string, av %s, v *%s) error {", w.impl("DecodeStruct"), w.av(), name)
	w.p("switch name {")
	for _, f := range t.EncodedFields() {
		a := w.access(goType(t), f.Path)
		w.p("case %q:", f.Name)
		w.allocate(a, "v")
		w.p("return %s", w.decode(f.Type, a.of("v"), "av", w.options(f.AV)))
	}
	w.p("}\nreturn nil\n})")
}
