package codec

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request/wire"
)

// Pointer is the way through a pointer.
type Pointer struct {
	// Elem is the form of the target.
	Elem *Form
	// load returns what the pointer is, nil for a nil pointer; store sets it, to nil for
	// nil.
	load  func(p any) any
	store func(p, e any)
}

// pointerForm completes the form of a pointer.
func pointerForm(f *Form, x *Pointer) *Form {
	f.Pointer = x
	f.encode, f.decode, f.scan, f.exact = x.encode, x.decode, x.scan, x.exact
	f.same, f.clone = x.same, x.clone
	f.isZero = func(p any) bool { return x.load(p) == nil }
	return f
}

func (x *Pointer) encode(p any, o Options, depth int) (types.AttributeValue, error) {
	e := x.load(p)
	switch {
	case o&pointee == 0 && e == nil:
		av, _ := o.empty(true)
		return av, nil
	case o&pointee == 0:
		return x.Elem.encode(e, o|pointee, depth)
	case e != nil: // a pointer behind a pointer
		return x.Elem.encode(e, o&^pointee, depth)
	case o&OmitEmpty != 0 && o&OmitEmptyElem != 0:
		return nil, nil
	}
	return null(), nil
}

// decode decodes what a pointer points to; NULL is nil.
func (x *Pointer) decode(p any, av types.AttributeValue, o Options) error {
	if _, ok := av.(*types.AttributeValueMemberNULL); ok {
		x.store(p, nil)
		return nil
	}
	return x.Elem.decode(x.Allocate(p), av, o)
}

// scan is decode of a value from the wire.
func (x *Pointer) scan(p any, v wire.Value, o Options) (bool, error) {
	if v.Kind() == wire.NULL {
		x.store(p, nil)
		return true, nil
	}
	return true, x.Elem.Scan(x.Allocate(p), v, o)
}

// Allocate returns what a pointer points to, made if it is nil.
func (x *Pointer) Allocate(p any) any {
	e := x.load(p)
	if e == nil {
		e = x.Elem.New()
		x.store(p, e)
	}
	return e
}

func (x *Pointer) same(a, b any, o Options) bool {
	v, w := x.load(a), x.load(b)
	if v == nil || w == nil {
		return v == nil && w == nil
	}
	return x.Elem.Same(v, w, o)
}

func (x *Pointer) clone(dst, src any) {
	e := x.load(src)
	if e == nil {
		x.store(dst, nil)
		return
	}
	c := x.Elem.New()
	x.Elem.Clone(c, e)
	x.store(dst, c)
}

// Load returns what the pointer is: nil for a nil pointer.
func (x *Pointer) Load(p any) any { return x.load(p) }

// Store sets the pointer.
func (x *Pointer) Store(p, e any) { x.store(p, e) }
