package codec

import (
	"reflect"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// elements is the reflected Elements, of a slice or a map.
type elements struct {
	*record
	path    []int
	typ     reflect.Type // of the field
	elem    reflect.Type // of the records
	pointer bool
	isMap   bool
	mapKey  keyField
}

func newElements(it *schema.Item, r *record) *elements {
	e := &elements{
		record: r, path: it.Field.Path, typ: it.Field.Type.Go.(reflect.Type),
		elem: it.Elem.Go.(reflect.Type), pointer: it.ElemPointer, isMap: it.Map(),
	}
	for i, src := range it.Key.Sources {
		if src.From == schema.FromMapKey {
			e.mapKey = newKeyField(src.Value.Type, it.Key.Format(i).Value)
		}
	}
	return e
}

func (e *elements) field(v any) reflect.Value { return walk(valueOf(v), e.path) }

func (e *elements) Len(v any) int {
	f := e.field(v)
	if !f.IsValid() {
		return 0
	}
	return f.Len()
}

// rec returns a record for an element: a pointer to it. Elements of maps are
// copied, since they have no address.
func (e *elements) rec(v reflect.Value) any {
	switch {
	case e.pointer && v.IsNil():
		return nil
	case e.pointer:
		return v.Interface()
	case v.CanAddr():
		return v.Addr().Interface()
	}
	c := reflect.New(e.elem)
	c.Elem().Set(v)
	return c.Interface()
}

func (e *elements) Each(v any, yield func(Pos, any) bool) {
	f := e.field(v)
	if !f.IsValid() {
		return
	}
	if e.isMap {
		for it := f.MapRange(); it.Next(); {
			if !yield(Pos{Key: it.Key().Interface()}, e.rec(it.Value())) {
				return
			}
		}
		return
	}
	for i := range f.Len() {
		if !yield(Pos{Index: i}, e.rec(f.Index(i))) {
			return
		}
	}
}

func (e *elements) At(v any, p Pos) any {
	if e.isMap {
		return e.rec(e.field(v).MapIndex(reflect.ValueOf(p.Key)))
	}
	return e.rec(e.field(v).Index(p.Index))
}

func (e *elements) Equal(a, b any) bool {
	x, y := e.field(a), e.field(b)
	if !x.IsValid() || !y.IsValid() {
		return e.Len(a) == e.Len(b)
	}
	if x.Len() != y.Len() {
		return false
	}
	if e.isMap {
		for it := x.MapRange(); it.Next(); {
			if !e.equalElement(it.Value(), y.MapIndex(it.Key())) {
				return false
			}
		}
		return true
	}
	for i := range x.Len() {
		if !e.equalElement(x.Index(i), y.Index(i)) {
			return false
		}
	}
	return true
}

func (e *elements) equalElement(x, y reflect.Value) bool {
	if !y.IsValid() {
		return false
	}
	if e.pointer {
		if x.IsNil() || y.IsNil() {
			return false // nil elements are reported, not compared
		}
		x, y = x.Elem(), y.Elem()
	}
	return e.equal(x, y)
}

func (e *elements) Clone(dst, src any) {
	n := e.Len(src)
	e.Reset(dst, n)
	if n > 0 && !e.isMap && !e.pointer {
		from, to := e.field(src), e.field(dst)
		to.SetLen(n)
		for i := range n {
			e.clone(to.Index(i), from.Index(i))
		}
		return
	}
	e.Each(src, func(p Pos, rec any) bool {
		c := e.NewElement()
		if rec != nil {
			e.record.Clone(c, rec)
		}
		e.Append(dst, p.Key, c)
		return true
	})
}

func (e *elements) NewElement() any { return reflect.New(e.elem).Interface() }

func (e *elements) NewElements(n int) []any {
	all := reflect.MakeSlice(reflect.SliceOf(e.elem), n, n)
	out := make([]any, n)
	for i := range out {
		out[i] = all.Index(i).Addr().Interface()
	}
	return out
}

func (e *elements) Reset(v any, n int) {
	if n == 0 {
		if f := e.field(v); f.IsValid() {
			f.SetZero()
		}
		return
	}
	f := walkNew(valueOf(v), e.path)
	if e.isMap {
		f.Set(reflect.MakeMapWithSize(e.typ, n))
		return
	}
	f.Set(reflect.MakeSlice(e.typ, 0, n))
}

// value is what the field holds for a record: the pointer, or what it points to.
func (e *elements) value(rec any) reflect.Value {
	v := reflect.ValueOf(rec)
	if e.pointer {
		return v
	}
	return v.Elem()
}

func (e *elements) Append(v any, k any, rec any) {
	f := walkNew(valueOf(v), e.path)
	if e.isMap {
		if f.IsNil() {
			f.Set(reflect.MakeMap(e.typ))
		}
		f.SetMapIndex(reflect.ValueOf(k), e.value(rec))
		return
	}
	n := f.Len()
	if n == f.Cap() {
		f.Grow(1)
	}
	f.SetLen(n + 1)
	f.Index(n).Set(e.value(rec))
}

func (e *elements) Set(v any, p Pos, rec any) {
	if e.isMap {
		e.field(v).SetMapIndex(reflect.ValueOf(p.Key), e.value(rec))
		return
	}
	e.field(v).Index(p.Index).Set(e.value(rec))
}

func (e *elements) MapKey(k any) (key.Value, error) { return e.mapKey.get(reflect.ValueOf(k)) }

func (e *elements) FromKey(value key.Value) (any, error) {
	k := reflect.New(e.typ.Key()).Elem()
	err := e.mapKey.set(k, value)
	return k.Interface(), err
}
