package codec

import (
	"reflect"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request/wire"
)

// Form is all that is known of a Go type: a function for each thing that is done with its
// values. Those of composite types call those of their parts.
type Form struct {
	// Type is the type of the values.
	Type reflect.Type

	memory
	encode func(p any, o Options, depth int) (types.AttributeValue, error)
	decode func(p any, av types.AttributeValue, o Options) error
	// scan is decode of a value from the wire. It reports that it does not know a value before it sets
	// anything, and then that is decoded; nil knows none.
	scan func(p any, v wire.Value, o Options) (decided bool, err error)
	// set is scan of a type without parts, whose value is at p; nil for another type. It reports whether it knows the
	// value, and has set it.
	set func(p unsafe.Pointer, v wire.Value, o Options) bool
	// text reports that values are strings, and set sets them.
	text bool
	// exact is described at Exact. It is nil for types that are encoded to find out.
	exact func(p any, v wire.Value, o Options) bool
	// same and clone are nil for types that are opaque: they are compared as they are
	// encoded.
	same  func(a, b any, o Options) bool
	clone func(dst, src any)
	// isZero is nil where reflect says it.
	isZero func(p any) bool

	// equal is nil, or a func(a, b *V) bool that compares elements as items: nil pointers
	// are not equal.
	equal any
	inKey inKey
	// time returns a value of a type that converts to time.Time as one.
	time func(p any) *time.Time
	// The parts of types that have some: a pointer's target, the elements of a slice or array, a map's
	// entries, a struct's fields.
	Pointer *Pointer
	List    *List
	Entries *Entries
	Table   *Table
}

// memory is how values of a type are made and moved.
type memory struct {
	// at returns a pointer to the value at p.
	at     func(p unsafe.Pointer) any
	make   func() any
	makeN  func(n int) []any
	assign func(dst, src any)
	clear  func(p any)
}

// Encode returns the value at p, nil where it is left out.
func (f *Form) Encode(p any, o Options) (types.AttributeValue, error) { return f.encode(p, o, 0) }

// Decode sets the value at p.
func (f *Form) Decode(p any, av types.AttributeValue, o Options) error { return f.decode(p, av, o) }

// Scan is Decode of a value from the wire.
func (f *Form) Scan(p any, v wire.Value, o Options) error {
	if f.scan != nil {
		if decided, err := f.scan(p, v, o); decided {
			return err
		}
	}
	return f.decode(p, v.Attribute(), o)
}

// Same reports whether two values encode alike, without encoding them. It may say no for
// two that do, never yes for two that do not.
func (f *Form) Same(a, b any, o Options) bool { return f.same != nil && f.same(a, b, o) }

// Clone copies src, so that no later change of it shows in dst. It does nothing for
// opaque types.
func (f *Form) Clone(dst, src any) {
	if f.clone != nil {
		f.clone(dst, src)
	}
}

// IsZero reports whether the value is the zero value.
func (f *Form) IsZero(p any) bool {
	if f.isZero != nil {
		return f.isZero(p)
	}
	return reflect.ValueOf(p).Elem().IsZero()
}

// New returns a pointer to a new zero value, and NewN returns n adjacent ones.
func (f *Form) New() any { return f.make() }

// NewN is described at New.
func (f *Form) NewN(n int) []any { return f.makeN(n) }

// Assign sets dst to src, as = does.
func (f *Form) Assign(dst, src any) { f.assign(dst, src) }

// Clear makes the value zero.
func (f *Form) Clear(p any) { f.clear(p) }

// Time returns a value of a type that converts to time.Time as one.
func (f *Form) Time(p any) *time.Time { return f.time(p) }

// typed returns the beginning of a form with typed access.
func typed[V any]() *Form {
	return &Form{Type: reflect.TypeFor[V](), memory: memory{
		at:   func(p unsafe.Pointer) any { return (*V)(p) },
		make: func() any { return new(V) },
		makeN: func(n int) []any {
			all, out := make([]V, n), make([]any, n)
			for i := range out {
				out[i] = &all[i]
			}
			return out
		},
		assign: func(dst, src any) { *dst.(*V) = *src.(*V) },
		clear:  func(p any) { *p.(*V) = *new(V) },
	}}
}

// untyped returns the beginning of a form with access by reflect.
func untyped(t reflect.Type) *Form {
	slice := reflect.SliceOf(t)
	return &Form{Type: t, memory: memory{
		at:   func(p unsafe.Pointer) any { return reflect.NewAt(t, p).Interface() },
		make: func() any { return reflect.New(t).Interface() },
		makeN: func(n int) []any {
			all, out := reflect.MakeSlice(slice, n, n), make([]any, n)
			for i := range out {
				out[i] = all.Index(i).Addr().Interface()
			}
			return out
		},
		assign: func(dst, src any) { reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem()) },
		clear:  func(p any) { reflect.ValueOf(p).Elem().SetZero() },
	}}
}
