package codec

import (
	"math"
	"reflect"
	"time"

	"github.com/itemize/itemize/internal/schema"
)

// typeOps compares and copies the values of one type without encoding them.
type typeOps struct {
	same  func(a, b reflect.Value) bool
	clone func(dst, src reflect.Value)
}

// opsOf returns the operations of a type. Opaque types are not asked for. Two
// values that encode differently are never the same; unixTime says how times do.
func opsOf(t *schema.Type, unixTime bool) typeOps {
	set := func(dst, src reflect.Value) { dst.Set(src) }
	switch {
	case t.Time:
		return typeOps{func(a, b reflect.Value) bool { return SameTime(timeOf(a), timeOf(b), unixTime) }, set}
	case t.Marshals, t.Kind == schema.Interface, t.Kind == schema.Other:
		return typeOps{func(a, b reflect.Value) bool { return false }, func(dst, src reflect.Value) {}}
	}
	switch t.Kind {
	case schema.Bool:
		return typeOps{func(a, b reflect.Value) bool { return a.Bool() == b.Bool() }, set}
	case schema.Int:
		return typeOps{func(a, b reflect.Value) bool { return a.Int() == b.Int() }, set}
	case schema.Uint:
		return typeOps{func(a, b reflect.Value) bool { return a.Uint() == b.Uint() }, set}
	case schema.Float:
		return typeOps{func(a, b reflect.Value) bool { return math.Float64bits(a.Float()) == math.Float64bits(b.Float()) }, set}
	case schema.String:
		return typeOps{func(a, b reflect.Value) bool { return a.String() == b.String() }, set}
	case schema.Bytes:
		return bytesOps(t)
	case schema.Slice:
		return sliceOps(opsOf(t.Elem, false))
	case schema.Array:
		return arrayOps(opsOf(t.Elem, false))
	case schema.Map:
		return mapOps(opsOf(t.Elem, false))
	case schema.Pointer:
		return pointerOps(opsOf(t.Elem, unixTime))
	}
	return structOps(t)
}

func timeOf(v reflect.Value) time.Time {
	if v.Type() == timeType && v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Convert(timeType).Interface().(time.Time)
}

var timeType = reflect.TypeFor[time.Time]()

// SameTime reports whether two times encode alike: as text with nanoseconds and
// the zone's offset in minutes, or as epoch seconds.
func SameTime(a, b time.Time, unixTime bool) bool {
	if unixTime {
		return a.Unix() == b.Unix()
	}
	if !a.Equal(b) {
		return false
	}
	_, x := a.Zone()
	_, y := b.Zone()
	return x/60 == y/60
}

func bytesOps(t *schema.Type) typeOps {
	if t.Len > 0 || t.Go.(reflect.Type).Kind() == reflect.Array {
		return arrayOps(typeOps{func(a, b reflect.Value) bool { return a.Uint() == b.Uint() }, nil})
	}
	return typeOps{
		func(a, b reflect.Value) bool {
			return a.IsNil() == b.IsNil() && string(a.Bytes()) == string(b.Bytes())
		},
		func(dst, src reflect.Value) {
			if src.IsNil() {
				dst.SetZero()
				return
			}
			c := reflect.MakeSlice(src.Type(), src.Len(), src.Len())
			reflect.Copy(c, src)
			dst.Set(c)
		},
	}
}

func sliceOps(elem typeOps) typeOps {
	return typeOps{
		func(a, b reflect.Value) bool {
			return a.IsNil() == b.IsNil() && a.Len() == b.Len() && sameElements(a, b, elem)
		},
		func(dst, src reflect.Value) {
			if src.IsNil() {
				dst.SetZero()
				return
			}
			c := reflect.MakeSlice(src.Type(), src.Len(), src.Len())
			for i := range src.Len() {
				elem.clone(c.Index(i), src.Index(i))
			}
			dst.Set(c)
		},
	}
}

func sameElements(a, b reflect.Value, elem typeOps) bool {
	for i := range a.Len() {
		if !elem.same(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func arrayOps(elem typeOps) typeOps {
	return typeOps{
		func(a, b reflect.Value) bool { return sameElements(a, b, elem) },
		func(dst, src reflect.Value) {
			if elem.clone == nil {
				dst.Set(src)
				return
			}
			for i := range src.Len() {
				elem.clone(dst.Index(i), src.Index(i))
			}
		},
	}
}

func mapOps(elem typeOps) typeOps {
	return typeOps{
		func(a, b reflect.Value) bool {
			if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
				return false
			}
			for it := a.MapRange(); it.Next(); {
				other := b.MapIndex(it.Key())
				if !other.IsValid() || !elem.same(it.Value(), other) {
					return false
				}
			}
			return true
		},
		func(dst, src reflect.Value) {
			if src.IsNil() {
				dst.SetZero()
				return
			}
			c := reflect.MakeMapWithSize(src.Type(), src.Len())
			for it := src.MapRange(); it.Next(); {
				e := reflect.New(src.Type().Elem()).Elem()
				elem.clone(e, it.Value())
				c.SetMapIndex(it.Key(), e)
			}
			dst.Set(c)
		},
	}
}

func pointerOps(elem typeOps) typeOps {
	return typeOps{
		func(a, b reflect.Value) bool {
			if a.IsNil() || b.IsNil() {
				return a.IsNil() && b.IsNil()
			}
			return elem.same(a.Elem(), b.Elem())
		},
		func(dst, src reflect.Value) {
			if src.IsNil() {
				dst.SetZero()
				return
			}
			c := reflect.New(src.Type().Elem())
			elem.clone(c.Elem(), src.Elem())
			dst.Set(c)
		},
	}
}

// structOps compares the fields that attributevalue encodes.
func structOps(t *schema.Type) typeOps {
	type field struct {
		path []int
		ops  typeOps
	}
	var fields []field
	for _, e := range t.EncodedFields() {
		fields = append(fields, field{e.Path, opsOf(e.Type, e.AV.Has("unixtime"))})
	}
	return typeOps{
		func(a, b reflect.Value) bool {
			for _, f := range fields {
				x, y := walk(a, f.path), walk(b, f.path)
				if x.IsValid() != y.IsValid() || x.IsValid() && !f.ops.same(x, y) {
					return false
				}
			}
			return true
		},
		func(dst, src reflect.Value) {
			dst.SetZero() // embedded pointers that are nil in src are so in dst
			for _, f := range fields {
				if s := walk(src, f.path); s.IsValid() {
					f.ops.clone(walkNew(dst, f.path), s)
				}
			}
		},
	}
}

// walk returns the field at a path, the zero Value where a pointer on the way
// is nil. The way ends at the field itself, be that a pointer or not.
func walk(v reflect.Value, path []int) reflect.Value {
	for i, x := range path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// walkNew is walk for a field to be set: it makes the structs on the way.
func walkNew(v reflect.Value, path []int) reflect.Value {
	for i, x := range path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}
