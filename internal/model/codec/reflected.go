package codec

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/schema"
)

// Reflected returns the form of a type that was described by reflect.
func Reflected(t *schema.Type) *Form { return make(reflector).of(t) }

// reflectedOf is Reflected of a type that is described here.
func reflectedOf(t reflect.Type) *Form {
	if f := typedForms[t]; f != nil {
		return f
	}
	return Reflected(schema.TypeOf(t))
}

// Marshal encodes the value at p as a field of its type is encoded, nil for a value that is left out.
func Marshal(p any) (types.AttributeValue, error) {
	f := reflectedOf(reflect.TypeOf(p).Elem())
	return f.encode(p, 0, 0)
}

// Unmarshal decodes a value as a field of its type is decoded: names of attributes match exactly.
func Unmarshal(v types.AttributeValue, p any) error {
	return reflectedOf(reflect.TypeOf(p).Elem()).decode(p, v, 0)
}

// byteSlices is the type that attributevalue makes a set of.
var byteSlices = reflect.TypeFor[[][]byte]()

// reflector makes the forms of types, each once, so that types may contain themselves.
type reflector map[*schema.Type]*Form

func (r reflector) of(t *schema.Type) *Form {
	if f := r[t]; f != nil {
		return f
	}
	typ := t.Go.(reflect.Type)
	if f := typedForms[typ]; f != nil {
		return f
	}
	f := untyped(typ)
	r[t] = f
	r.complete(f, t)
	return f
}

// reflectedLeaves are the forms of types without parts, by the names that package schema
// gives them.
var reflectedLeaves = map[string]func(f *Form, t *schema.Type){
	"Time":     func(f *Form, _ *schema.Type) { timeForm(f, timeOf(f.Type)) },
	"Number":   func(f *Form, _ *schema.Type) { numberForm(f, texts) },
	"String":   func(f *Form, _ *schema.Type) { stringForm(f, texts) },
	"BigInt":   func(f *Form, _ *schema.Type) { bigForm(f) },
	"BigFloat": func(f *Form, _ *schema.Type) { bigForm(f) },
	"Bool": func(f *Form, _ *schema.Type) {
		boolForm(f, access[bool]{
			func(p any) bool { return reflect.ValueOf(p).Elem().Bool() },
			func(p any, b bool) { reflect.ValueOf(p).Elem().SetBool(b) },
		})
	},
	"Int": func(f *Form, t *schema.Type) {
		intForm(f, t.Bits, access[int64]{
			func(p any) int64 { return reflect.ValueOf(p).Elem().Int() },
			func(p any, n int64) { reflect.ValueOf(p).Elem().SetInt(n) },
		})
	},
	"Uint": func(f *Form, t *schema.Type) {
		uintForm(f, t.Bits, access[uint64]{
			func(p any) uint64 { return reflect.ValueOf(p).Elem().Uint() },
			func(p any, n uint64) { reflect.ValueOf(p).Elem().SetUint(n) },
		})
	},
	"Float": func(f *Form, t *schema.Type) {
		floatForm(f, t.Bits, access[float64]{
			func(p any) float64 { return reflect.ValueOf(p).Elem().Float() },
			func(p any, n float64) { reflect.ValueOf(p).Elem().SetFloat(n) },
		})
	},
}

// complete gives a form what its kind of type does.
func (r reflector) complete(f *Form, t *schema.Type) {
	if l, ok := t.Leaf(); ok {
		reflectedLeaves[l.Form](f, t)
		return
	}
	if t.Marshals || t.Unmarshals {
		opaqueForm(f)
		return
	}
	switch t.Kind {
	case schema.Bytes:
		reflectedBytes(f)
	case schema.Slice:
		reflectedSlice(f, r.of(t.Elem))
	case schema.Array:
		arrayForm(f, r.of(t.Elem))
	case schema.Map:
		reflectedMap(f, r.of(t.Key), r.of(t.Elem))
	case schema.Pointer:
		reflectedPointer(f, r.of(t.Elem))
	case schema.Struct:
		structForm(f, func() *schema.Type { return t }, r.fields(t))
	default:
		opaqueForm(f)
	}
}

// fields returns the forms of the fields that can be stored.
func (r reflector) fields(t *schema.Type) []Field {
	var fields []Field
	for _, f := range t.Fields {
		if f.Exported || f.Embedded {
			fields = append(fields, Field{f.Name, r.of(f.Type)})
		}
	}
	return fields
}

var texts = access[string]{
	func(p any) string { return reflect.ValueOf(p).Elem().String() },
	func(p any, s string) { reflect.ValueOf(p).Elem().SetString(s) },
}

func reflectedBytes(f *Form) {
	if f.Type.Kind() == reflect.Array {
		byteArrayForm(f)
		return
	}
	bytesForm(f, access[[]byte]{
		func(p any) []byte { return reflect.ValueOf(p).Elem().Bytes() },
		func(p any, b []byte) { reflect.ValueOf(p).Elem().SetBytes(b) },
	})
}

func elementAt(p any, i int) any { return reflect.ValueOf(p).Elem().Index(i).Addr().Interface() }

// arrayForm completes the form of an array, whose elements reflect reaches without
// allocating.
func arrayForm(f *Form, elem *Form) *Form {
	n := f.Type.Len()
	return listForm(f, &List{Elem: elem, len: func(any) int { return n }, at: elementAt})
}

func reflectedSlice(f *Form, elem *Form) {
	typ := f.Type
	listForm(f, &List{
		Elem:  elem,
		len:   func(p any) int { return reflect.ValueOf(p).Elem().Len() },
		at:    elementAt,
		isNil: func(p any) bool { return reflect.ValueOf(p).Elem().IsNil() },
		make: func(p any, length, room int) {
			v := reflect.ValueOf(p).Elem()
			if length < 0 {
				v.SetZero()
				return
			}
			v.Set(reflect.MakeSlice(typ, length, room))
		},
		grow: func(p any) {
			v := reflect.ValueOf(p).Elem()
			n := v.Len()
			if n == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(n + 1)
			v.Index(n).SetZero()
		},
	})
}

func reflectedMap(f *Form, k, elem *Form) {
	typ := f.Type
	entriesForm(f, &Entries{
		Key: k, Elem: elem,
		isNil: func(p any) bool { return reflect.ValueOf(p).Elem().IsNil() },
		len:   func(p any) int { return reflect.ValueOf(p).Elem().Len() },
		make: func(p any, n int) {
			v := reflect.ValueOf(p).Elem()
			if n < 0 {
				v.SetZero()
				return
			}
			v.Set(reflect.MakeMapWithSize(typ, n))
		},
		each: func(p any, yield func(k, e any) bool) {
			k, e := reflect.New(typ.Key()), reflect.New(typ.Elem())
			for it := reflect.ValueOf(p).Elem().MapRange(); it.Next(); {
				k.Elem().SetIterKey(it)
				e.Elem().SetIterValue(it)
				if !yield(k.Interface(), e.Interface()) {
					return
				}
			}
		},
		at: func(p, k, e any) bool {
			v := reflect.ValueOf(p).Elem().MapIndex(reflect.ValueOf(k).Elem())
			if !v.IsValid() {
				reflect.ValueOf(e).Elem().SetZero()
				return false
			}
			reflect.ValueOf(e).Elem().Set(v)
			return true
		},
		put: func(p, k, e any) {
			reflect.ValueOf(p).Elem().SetMapIndex(reflect.ValueOf(k).Elem(), reflect.ValueOf(e).Elem())
		},
		box: func(k any) any {
			v := reflect.New(typ.Key())
			v.Elem().Set(reflect.ValueOf(k))
			return v.Interface()
		},
		unbox: func(k any) any { return reflect.ValueOf(k).Elem().Interface() },
	})
}

func reflectedPointer(f *Form, elem *Form) {
	pointerForm(f, &Pointer{
		Elem: elem,
		load: func(p any) any {
			v := reflect.ValueOf(p).Elem()
			if v.IsNil() {
				return nil
			}
			return v.Interface()
		},
		store: func(p, e any) {
			v := reflect.ValueOf(p).Elem()
			if e == nil {
				v.SetZero()
				return
			}
			v.Set(reflect.ValueOf(e))
		},
	})
}
