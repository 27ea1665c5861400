package codec

import (
	"reflect"
	"time"

	"github.com/itemize/itemize/internal/model/schema"
)

// StringOf returns the form of a string type.
func StringOf[V ~string]() Typed[V] { return Typed[V]{stringForm(typed[V](), textOf[V]())} }

// NumberOf returns the form of a string type that is a number.
func NumberOf[V ~string]() Typed[V] { return Typed[V]{numberForm(typed[V](), textOf[V]())} }

func textOf[V ~string]() access[string] {
	return access[string]{
		func(p any) string { return string(*p.(*V)) },
		func(p any, s string) { *p.(*V) = V(s) },
	}
}

// BigOf returns the form of big.Int or big.Float.
func BigOf[V any]() Typed[V] { return Typed[V]{bigForm(typed[V]())} }

// BoolOf returns the form of a bool type.
func BoolOf[V ~bool]() Typed[V] {
	return Typed[V]{boolForm(typed[V](), access[bool]{
		func(p any) bool { return bool(*p.(*V)) },
		func(p any, b bool) { *p.(*V) = V(b) },
	})}
}

// NumericOf returns the form of an integer or a float.
func NumericOf[V Number]() Typed[V] {
	f := typed[V]()
	switch kind := f.Type.Kind(); {
	case kind == reflect.Float32 || kind == reflect.Float64:
		floatForm(f, f.Type.Bits(), numberAs[V, float64]())
	case f.Type.Kind() >= reflect.Uint:
		uintForm(f, f.Type.Bits(), numberAs[V, uint64]())
	default:
		intForm(f, f.Type.Bits(), numberAs[V, int64]())
	}
	return Typed[V]{f}
}

func numberAs[V, N Number]() access[N] {
	return access[N]{
		func(p any) N { return N(*p.(*V)) },
		func(p any, n N) { *p.(*V) = V(n) },
	}
}

// TimeOf returns the form of a type that converts to time.Time.
func TimeOf[V any]() Typed[V] {
	f := typed[V]()
	return Typed[V]{timeForm(f, timeOf(f.Type))}
}

// timeOf returns the function that returns a value as a time.Time.
func timeOf(t reflect.Type) func(p any) *time.Time {
	if t == reflect.TypeFor[time.Time]() {
		return func(p any) *time.Time { return p.(*time.Time) }
	}
	to := reflect.TypeFor[*time.Time]()
	return func(p any) *time.Time { return reflect.ValueOf(p).Convert(to).Interface().(*time.Time) }
}

// BytesOf returns the form of a slice of bytes.
func BytesOf[V ~[]byte]() Typed[V] {
	return Typed[V]{bytesForm(typed[V](), access[[]byte]{
		func(p any) []byte { return []byte(*p.(*V)) },
		func(p any, b []byte) { *p.(*V) = V(b) },
	})}
}

// ByteArrayOf returns the form of an array of bytes.
func ByteArrayOf[V any]() Typed[V] { return Typed[V]{byteArrayForm(typed[V]())} }

// SliceOf returns the form of a slice.
func SliceOf[S ~[]E, E any](elem Typed[E]) Typed[S] {
	return Typed[S]{listForm(typed[S](), &List{
		Elem:  elem.Form,
		len:   func(p any) int { return len(*p.(*S)) },
		at:    func(p any, i int) any { return &(*p.(*S))[i] },
		isNil: func(p any) bool { return *p.(*S) == nil },
		make: func(p any, length, room int) {
			if length < 0 {
				*p.(*S) = nil
				return
			}
			*p.(*S) = make(S, length, room)
		},
		grow: func(p any) {
			s := p.(*S)
			*s = append(*s, *new(E))
		},
		equal: func(a, b any) (equal, decided bool) {
			same, ok := elem.Form.equal.(func(a, b *E) bool)
			return ok && equalElements(*a.(*S), *b.(*S), same), ok
		},
	})}
}

func equalElements[E any](a, b []E, same func(a, b *E) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// ArrayOf returns the form of an array A of E; at returns it as a slice.
func ArrayOf[A, E any](elem Typed[E], at func(*A) []E) Typed[A] {
	f := typed[A]()
	n := f.Type.Len()
	return Typed[A]{listForm(f, &List{
		Elem: elem.Form,
		len:  func(any) int { return n },
		at:   func(p any, i int) any { return &at(p.(*A))[i] },
	})}
}

// MapOf returns the form of a map.
func MapOf[M ~map[K]E, K comparable, E any](elem Typed[E]) Typed[M] {
	return Typed[M]{entriesForm(typed[M](), &Entries{
		Key: reflectedOf(reflect.TypeFor[K]()), Elem: elem.Form,
		isNil: func(p any) bool { return *p.(*M) == nil },
		len:   func(p any) int { return len(*p.(*M)) },
		make: func(p any, n int) {
			if n < 0 {
				*p.(*M) = nil
				return
			}
			*p.(*M) = make(M, n)
		},
		each: func(p any, yield func(k, e any) bool) {
			k, e := new(K), new(E)
			for *k, *e = range *p.(*M) {
				if !yield(k, e) {
					return
				}
			}
		},
		at: func(p, k, e any) bool {
			v, ok := (*p.(*M))[*k.(*K)]
			*e.(*E) = v
			return ok
		},
		put:   func(p, k, e any) { (*p.(*M))[*k.(*K)] = *e.(*E) },
		box:   func(k any) any { v := k.(K); return &v },
		unbox: func(k any) any { return *k.(*K) },
	})}
}

// PointerOf returns the form of a pointer.
func PointerOf[E any](elem Typed[E]) Typed[*E] {
	f := pointerForm(typed[*E](), &Pointer{
		Elem: elem.Form,
		load: func(p any) any {
			if e := *p.(**E); e != nil {
				return e
			}
			return nil
		},
		store: func(p, e any) {
			if e == nil {
				*p.(**E) = nil
				return
			}
			*p.(**E) = e.(*E)
		},
	})
	return Typed[*E]{f}
}

// OpaqueOf returns the form of a type that only attributevalue knows how to encode.
func OpaqueOf[V any]() Typed[V] { return Typed[V]{opaqueForm(typed[V]())} }

// TextOf returns the form of a struct that only keys hold, as the text of its
// MarshalText.
func TextOf[V any]() Typed[V] {
	f := opaqueForm(typed[V]())
	f.same, f.clone = func(a, b any, _ Options) bool { return f.SameText(a, b) }, f.CloneText
	return Typed[V]{f}
}

// Funcs are the functions that compare and copy values of a struct. Without them its
// fields are compared and copied one by one.
type Funcs[R any] struct {
	Same  func(a, b *R) bool
	Clone func(dst, src *R)
}

// StructOf returns the form of a struct.
func StructOf[R any](funcs Funcs[R], fields ...Field) Typed[R] {
	f := typed[R]()
	structForm(f, func() *schema.Type { return schema.TypeOf(f.Type) }, fields)
	if same := funcs.Same; same != nil {
		f.same = func(a, b any, _ Options) bool { return same(a.(*R), b.(*R)) }
		f.equal = same
	}
	if clone := funcs.Clone; clone != nil {
		f.clone = func(dst, src any) { clone(dst.(*R), src.(*R)) }
	}
	f.Table.Compared = funcs.Same != nil && funcs.Clone != nil
	return Typed[R]{f}
}
