package codegen

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/tags"
)

// ref returns a pointer to an addressable expression.
func ref(x string) string {
	if p, ok := strings.CutPrefix(x, "(*"); ok && strings.HasSuffix(p, ")") && !strings.ContainsAny(p[:len(p)-1], "(). ") {
		return p[:len(p)-1]
	}
	return "&" + x
}

func goType(t *schema.Type) types.Type { return t.Go.(types.Type) }

// byteSlices is the type that attributevalue makes a set of.
var byteSlices = types.NewSlice(types.NewSlice(types.Typ[types.Uint8]))

// options returns dynamodbav options as generated code writes them.
func (w *writer) options(av tags.AV) string {
	var out []string
	for _, o := range av.Options {
		if name, ok := optionNames[o]; ok {
			out = append(out, w.impl(name))
		}
	}
	if len(out) == 0 {
		return "0"
	}
	return strings.Join(out, "|")
}

var optionNames = map[string]string{
	"omitempty": "OmitEmpty", "omitemptyelem": "OmitEmptyElem", "nullempty": "NullEmpty", "nullemptyelem": "NullEmptyElem",
	"string": "AsString", "stringset": "StringSet", "numberset": "NumberSet", "binaryset": "BinarySet", "unixtime": "UnixTime",
}

// scalar returns the suffix of the functions for a type without parts, "" for one
// with parts.
func scalar(t *schema.Type) string {
	switch {
	case t.Time:
		return "Time"
	case t.Number:
		return "Number"
	}
	switch t.Kind {
	case schema.Bool:
		return "Bool"
	case schema.Int:
		return "Int"
	case schema.Uint:
		return "Uint"
	case schema.Float:
		return "Float" + strconv.Itoa(t.Bits)
	case schema.String:
		return "String"
	case schema.Bytes:
		if !isArray(t) {
			return "Bytes"
		}
	}
	return ""
}

func isArray(t *schema.Type) bool {
	_, ok := goType(t).Underlying().(*types.Array)
	return ok
}

// timeRef returns a *time.Time of an expression.
func (w *writer) timeRef(t *schema.Type, x string) string {
	if goType(t).String() == "time.Time" {
		return ref(x)
	}
	return fmt.Sprintf("(*%s)(%s)", w.time(), ref(x))
}

// encode returns a call that encodes x, with options.
func (w *writer) encode(t *schema.Type, x, o string) string {
	if t.Time {
		return fmt.Sprintf("%s(%s, %s)", w.impl("EncodeTime"), w.timeRef(t, x), o)
	}
	if s := scalar(t); s != "" {
		return fmt.Sprintf("%s(%s, %s)", w.impl("Encode"+s), ref(x), o)
	}
	switch t.Kind {
	case schema.Bytes:
		return fmt.Sprintf("%s(%s[:], %s)", w.impl("EncodeByteArray"), x, o)
	case schema.Slice:
		if types.Identical(goType(t), byteSlices) {
			// attributevalue makes a set of just this type, whatever the tag says.
			if set := w.impl("BinarySet"); !strings.Contains(o, set) {
				o += "|" + set
			}
		}
		return fmt.Sprintf("%s(%s, %s, %s)", w.impl("EncodeSlice"), ref(x), o, w.encoder(t.Elem))
	case schema.Array:
		return fmt.Sprintf("%s(%s[:], %s, %s)", w.impl("EncodeArray"), x, o, w.encoder(t.Elem))
	case schema.Map:
		return fmt.Sprintf("%s(%s, %s, %s[%s], %s)", w.impl("EncodeMap"), ref(x), o, w.impl(mapKey(t.Key)+"Key"), w.typ(goType(t.Key)), w.encoder(t.Elem))
	case schema.Pointer:
		return fmt.Sprintf("%s(%s, %s, %s)", w.impl("EncodePointer"), ref(x), o, w.encoder(t.Elem))
	}
	return fmt.Sprintf("%s(%s, %s)", w.encoder(t), ref(x), o)
}

// encoder returns a function that encodes a type.
func (w *writer) encoder(t *schema.Type) string {
	name := w.typ(goType(t))
	if s := scalar(t); s != "" && (!t.Time || name == w.time()) {
		if t.Time {
			return w.impl("EncodeTime")
		}
		return fmt.Sprintf("%s[%s]", w.impl("Encode"+s), name)
	}
	return w.helper("encode "+name, "Encode"+helperName(name), func(fn string) {
		w.p("func %s(v *%s, o %s) (%s, error) {", fn, name, w.opts(), w.av())
		if t.Kind == schema.Struct && !t.Time {
			w.encodeStruct(t)
		} else {
			w.p("return %s", w.encode(t, "(*v)", "o"))
		}
		w.p("}\n")
	})
}

func (w *writer) encodeStruct(t *schema.Type) {
	fields := t.EncodedFields()
	w.p("s := %s(%d)", w.impl("NewStruct"), len(fields))
	for _, f := range fields {
		a := w.access(goType(t), f.Path)
		if cond := a.there("v"); cond != "" {
			w.p("if %s {", cond)
		}
		w.p("s.At(%q).Set(%s)", f.Name, w.encode(f.Type, a.of("v"), w.options(f.AV)))
		if a.there("v") != "" {
			w.p("}")
		}
	}
	w.p("return s.Value()")
}

// helperName makes the part of a helper's name that tells its type.
func helperName(typ string) string {
	r := strings.NewReplacer("[]", " slice of ", "*", " pointer to ", "map[", " map of ", "]", " to ", "[", " array of ")
	return identifier("X " + r.Replace(typ))[1:]
}
