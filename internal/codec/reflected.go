package codec

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// Reflected returns the codec of a schema that was built from reflect.
func Reflected(e *schema.Entity) Model {
	m := &model{typ: e.Type.Go.(reflect.Type)}
	for i, o := range e.KeyFields {
		m.keyFields = append(m.keyFields, newField(o.Value, keyFieldKind(e, i)))
	}
	for _, it := range e.Items {
		r := newRecord(it)
		m.records = append(m.records, r)
		if !it.Element() {
			m.elements = append(m.elements, nil)
			continue
		}
		m.elements = append(m.elements, newElements(it, r))
	}
	return m
}

// keyFieldKind is the kind of value that keys hold of an owner's field.
func keyFieldKind(e *schema.Entity, owner int) key.Kind {
	k, source := e.KeyOf(owner)
	return k.Format(source).Value
}

// field is a field that a key names.
type field struct {
	keyField
	path []int
	ops  typeOps
}

func newField(v schema.Value, kind key.Kind) field {
	f := field{newKeyField(v.Type, kind), v.Path, opsOf(v.Type, false)}
	if f.text && v.Type.Kind == schema.Struct {
		f.ops = f.textOps() // its fields are its own business
	}
	return f
}

// textOps compares and copies values by their text.
func (f keyField) textOps() typeOps {
	return typeOps{
		func(a, b reflect.Value) bool {
			x, errX := f.get(a)
			y, errY := f.get(b)
			return errX == nil && errY == nil && x.Text == y.Text
		},
		func(dst, src reflect.Value) {
			if x, err := f.get(src); err != nil || f.set(dst, x) != nil {
				dst.Set(src) // a value that has no text is reported when its key is made
			}
		},
	}
}

func (f field) at(v reflect.Value) reflect.Value {
	if len(f.path) == 0 {
		return v
	}
	return walk(v, f.path)
}

func (f field) getFrom(v reflect.Value) (key.Value, error) {
	x := f.at(v)
	if !x.IsValid() {
		return key.Value{}, errors.New("the embedded struct that holds it is nil")
	}
	return f.get(x)
}

func (f field) setIn(v reflect.Value, value key.Value) error {
	if len(f.path) > 0 {
		v = walkNew(v, f.path)
	}
	return f.set(v, value)
}

func (f field) same(a, b reflect.Value) bool {
	x, y := f.at(a), f.at(b)
	return x.IsValid() == y.IsValid() && (!x.IsValid() || f.ops.same(x, y))
}

func (f field) clone(dst, src reflect.Value) {
	if s := f.at(src); s.IsValid() {
		d := dst
		if len(f.path) > 0 {
			d = walkNew(dst, f.path)
		}
		f.ops.clone(d, s)
	}
}

type model struct {
	typ       reflect.Type
	keyFields []field
	records   []*record
	elements  []*elements
}

func valueOf(v any) reflect.Value { return reflect.ValueOf(v).Elem() }

func (m *model) New() any { return reflect.New(m.typ).Interface() }

func (m *model) KeyField(v any, i int) (key.Value, error) { return m.keyFields[i].getFrom(valueOf(v)) }

func (m *model) SetKeyField(v any, i int, value key.Value) error {
	return m.keyFields[i].setIn(valueOf(v), value)
}

func (m *model) SameKeyFields(a, b any) bool {
	x, y := valueOf(a), valueOf(b)
	for _, f := range m.keyFields {
		if !f.same(x, y) {
			return false
		}
	}
	return true
}

func (m *model) CloneKeyFields(dst, src any) {
	d, s := valueOf(dst), valueOf(src)
	for _, f := range m.keyFields {
		f.clone(d, s)
	}
}

func (m *model) Record(item int) Record { return m.records[item] }

func (m *model) Elements(item int) Elements {
	if m.elements[item] == nil {
		return nil
	}
	return m.elements[item]
}

// record is the reflected Record.
type record struct {
	item       *schema.Item
	attributes []attribute
	keys       []field // by source; unused for keyFields and map keys
}

func newRecord(it *schema.Item) *record {
	r := &record{item: it}
	for _, a := range it.Attributes {
		r.attributes = append(r.attributes, newAttribute(a))
	}
	if it.Element() {
		for i, src := range it.Key.Sources {
			r.keys = append(r.keys, newField(src.Value, it.Key.Format(i).Value))
		}
	}
	return r
}

func (r *record) named(i int) bool {
	from := r.item.Key.Sources[i].From
	return from == schema.FromElement || from == schema.FromSelf
}

// at returns an attribute's field; the zero Value where a pointer on the way is nil.
func (r *record) at(v reflect.Value, a *attribute) reflect.Value {
	if len(a.Value.Path) == 0 {
		return v
	}
	return walk(v, a.Value.Path)
}

func (r *record) Encode(rec any, i int) (types.AttributeValue, error) {
	a := &r.attributes[i]
	v := r.at(valueOf(rec), a)
	if !v.IsValid() {
		return nil, nil
	}
	return a.encode(v)
}

func (r *record) Decode(rec any, i int, value types.AttributeValue) error {
	a := &r.attributes[i]
	v := valueOf(rec)
	if len(a.Value.Path) > 0 {
		v = walkNew(v, a.Value.Path)
	}
	return a.decode(v, value)
}

func (r *record) Same(a, b any, i int) bool {
	return r.same(valueOf(a), valueOf(b), &r.attributes[i])
}

func (r *record) same(x, y reflect.Value, a *attribute) bool {
	x, y = r.at(x, a), r.at(y, a)
	return x.IsValid() == y.IsValid() && (!x.IsValid() || a.ops.same(x, y))
}

func (r *record) Equal(a, b any) bool { return r.equal(valueOf(a), valueOf(b)) }

func (r *record) equal(x, y reflect.Value) bool {
	for i := range r.attributes {
		if a := &r.attributes[i]; !a.Opaque && !r.same(x, y, a) {
			return false
		}
	}
	for i, f := range r.keys {
		if r.named(i) && !f.same(x, y) {
			return false
		}
	}
	if r.item.Pointer && isNil(walk(x, r.item.Field.Path)) != isNil(walk(y, r.item.Field.Path)) {
		return false
	}
	if r.item.Expiry == nil || r.item.ExpiryOfRoot {
		return true
	}
	at, ok := r.expiresAt(x)
	was, had := r.expiresAt(y)
	return ok == had && at.Unix() == was.Unix()
}

func (r *record) Clone(dst, src any) { r.clone(valueOf(dst), valueOf(src)) }

func (r *record) clone(d, s reflect.Value) {
	if r.item.Pointer {
		p := walk(s, r.item.Field.Path)
		if isNil(p) {
			clearPointer(d, s, r.item.Field.Path, len(r.item.Field.Path))
			return
		}
		walkNew(d, r.item.Field.Path).Set(reflect.New(p.Type().Elem()))
	}
	for i := range r.attributes {
		a := &r.attributes[i]
		v := r.at(s, a)
		switch {
		case a.Opaque:
		case !v.IsValid():
			// A nil struct on the way: nothing of it may be left in dst.
			clearPointer(d, s, a.Value.Path, a.Place)
		case len(a.Value.Path) == 0:
			a.ops.clone(d, v)
		default:
			a.ops.clone(walkNew(d, a.Value.Path), v)
		}
	}
	for i, f := range r.keys {
		if r.named(i) {
			f.clone(d, s)
		}
	}
	if e := r.item.Expiry; e != nil && !r.item.ExpiryOfRoot {
		if v := walk(s, e.Path); v.IsValid() {
			opsOf(e.Type, false).clone(walkNew(d, e.Path), v)
		}
	}
}

// isNil reports whether a pointer is nil, or lies in a struct that is.
func isNil(p reflect.Value) bool { return !p.IsValid() || p.IsNil() }

// clearPointer makes nil in d the pointer on a path, or at its end, that is nil in s.
// One that does not belong to the item alone, which place tells, other items may have
// made: of what it points to just the field at the end is cleared.
func clearPointer(d, s reflect.Value, path []int, place int) {
	whole := d
	for i := 0; ; i++ {
		if i > 0 && s.Kind() == reflect.Pointer {
			switch {
			case s.IsNil() && i < place:
				if leaf := walk(whole, path); leaf.IsValid() {
					leaf.SetZero()
				}
				return
			case s.IsNil():
				d.SetZero()
				return
			}
			if d.IsNil() {
				return
			}
			s, d = s.Elem(), d.Elem()
		}
		if i == len(path) {
			return
		}
		s, d = s.Field(path[i]), d.Field(path[i])
	}
}

func (r *record) Present(rec any) bool {
	v := valueOf(rec)
	if r.item.Pointer {
		p := walk(v, r.item.Field.Path)
		return p.IsValid() && !p.IsNil()
	}
	for i := range r.attributes {
		if !isZero(v, &r.attributes[i]) {
			return true
		}
	}
	return false
}

// isZero reports whether an attribute's field is zero, and with it the pointers on
// the way that belong to its item alone. Those of the model's own embedding do not
// count: other items may have made them.
func isZero(v reflect.Value, a *attribute) bool {
	for i, x := range a.Value.Path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return true
			}
			if i >= a.Place {
				return false
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	if a.Value.Type.Time {
		return timeOf(v).IsZero()
	}
	return v.IsZero()
}

func (r *record) Allocate(rec any) {
	if r.item.Pointer {
		if p := walkNew(valueOf(rec), r.item.Field.Path); p.IsNil() {
			p.Set(reflect.New(p.Type().Elem()))
		}
	}
}

func (r *record) Expiry(rec any) (time.Time, bool) { return r.expiresAt(valueOf(rec)) }

func (r *record) expiresAt(v reflect.Value) (time.Time, bool) {
	if r.item.Expiry == nil {
		return time.Time{}, false
	}
	v = walk(v, r.item.Expiry.Path)
	if v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return time.Time{}, false
	}
	t := timeOf(v)
	return t, !t.IsZero()
}

func (r *record) Key(rec any, source int) (key.Value, error) {
	return r.keys[source].getFrom(valueOf(rec))
}

func (r *record) SetKey(rec any, source int, value key.Value) error {
	if err := r.keys[source].setIn(valueOf(rec), value); err != nil {
		return fmt.Errorf("%s: %w", r.item.Key.Sources[source].Text, err)
	}
	return nil
}
