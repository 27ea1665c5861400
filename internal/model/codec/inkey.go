package codec

import (
	"errors"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// inModelKey is a field that a key names: the path to it, and its form in the key.
type inModelKey struct {
	path Path
	form *Form
	kind key.Kind
	text bool // through MarshalText and UnmarshalText
	// pointer is the pointer to the value, nil for a field that is the value itself.
	pointer *Pointer
	// byText says that the value is compared and copied by its text: the fields of such
	// a struct are its own business.
	byText bool
}

func newInModelKey(root *Form, v schema.Value, kind key.Kind) inModelKey {
	path, f := root.Path(v.Path)
	x := inModelKey{path: path, form: f, kind: kind, text: schema.KeyText(v.Type, kind)}
	if x.byText = x.text && v.Type.Kind == schema.Struct; f.Pointer != nil {
		x.pointer, x.form = f.Pointer, f.Pointer.Elem
	}
	return x
}

var errNilStruct = errors.New("the embedded struct of the key field is nil: set it")

func (x *inModelKey) get(v any) (key.Value, error) {
	p := x.path.At(v)
	if p != nil && x.pointer != nil {
		p = x.pointer.Load(p)
	}
	if p == nil {
		return key.Value{}, errNilStruct
	}
	return x.form.KeyValue(p, x.kind, x.text)
}

func (x *inModelKey) set(v any, value key.Value) error {
	p := x.path.Make(v)
	if x.pointer != nil {
		p = x.pointer.Allocate(p)
	}
	return x.form.SetKeyValue(p, value, x.text)
}

func (x *inModelKey) same(a, b any) bool {
	p, q := x.path.At(a), x.path.At(b)
	if p == nil || q == nil {
		return p == nil && q == nil
	}
	if x.byText {
		return x.form.SameText(p, q)
	}
	return x.form.Same(p, q, 0)
}

func (x *inModelKey) clone(dst, src any) {
	p := x.path.At(src)
	if p == nil {
		return
	}
	if q := x.path.Make(dst); x.byText {
		x.form.CloneText(q, p)
	} else {
		x.form.Clone(q, p)
	}
}
