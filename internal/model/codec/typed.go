package codec

// Typed is the form of a Go type. It has no methods, which the compiler would compile for each type.
type Typed[V any] struct{ Form *Form }

// Define makes a form that [Recursive] returned the form of its type. Generated code
// calls it in init.
func Define[V any](t, of Typed[V]) { *t.Form = *of.Form }

// Recursive returns the form of a type that contains itself, to be defined later.
func Recursive[V any]() Typed[V] { return Typed[V]{&Form{}} }

// Integer types, and floats.
type (
	Signed interface {
		~int | ~int8 | ~int16 | ~int32 | ~int64
	}
	Unsigned interface {
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
	}
	Floating interface {
		~float32 | ~float64
	}
	// Number is any of them.
	Number interface{ Signed | Unsigned | Floating }
)

// Generated is the generated codec of a model.
type Generated[T any] struct {
	// Layout is the fingerprint of the layout that the code was generated from.
	Layout string
	// Table is the form of the model.
	Table Typed[T]
}

// GeneratedModel is implemented by models with generated code. The parameter of its method keeps a
// struct that embeds a model, and gets the method with it, from being taken for one.
type GeneratedModel[T any] interface{ ItemizeCodec(*T) *Generated[T] }
