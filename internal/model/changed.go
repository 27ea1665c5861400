package model

import (
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
)

// Changed reports whether a field has another stored value in one of two images of an item: nil for none.
func (m *Model) Changed(old, now *Identified, field codec.Row) bool {
	var keys []string // of entries of maps
	for ; field.In != nil; field = *field.In {
		keys = append([]string{field.Key}, keys...)
	}
	for _, d := range []*Identified{old, now} {
		if d == nil || !d.OfModel() {
			continue
		}
		base := d.Kind.Elem
		if base == nil {
			base = m.Schema.Type
		}
		for _, a := range d.Kind.Attributes {
			for _, path := range fieldIn(base, a, field) {
				path = append(path, keys...)
				if !same(old.stored(a, path), now.stored(a, path)) {
					return true
				}
			}
		}
	}
	return false
}

// HasStruct reports whether the field of a handle is one of the model's struct, or of a struct in it.
func (m *Model) HasStruct(field codec.Row) bool {
	for ; field.In != nil; field = *field.In {
	}
	m.structs.once.Do(func() {
		m.structs.all = map[any]bool{}
		m.structs.add(m.Schema.Type)
	})
	return m.structs.all[any(field.Record)]
}

// structs are the types of all structs in a model.
type structs struct {
	once sync.Once
	all  map[any]bool
}

func (s *structs) add(t *schema.Type) {
	for t.Lazy || t.Kind == schema.Pointer || t.Kind == schema.Slice || t.Kind == schema.Array || t.Kind == schema.Map {
		t = t.Elem
	}
	if t.Kind != schema.Struct || s.all[t.Go] {
		return
	}
	s.all[t.Go] = true
	for _, f := range t.Fields {
		s.add(f.Type)
	}
}

// stored returns the value at a path in an attribute, nil for none.
func (d *Identified) stored(a *schema.Attribute, path []string) types.AttributeValue {
	if d == nil || !d.OfModel() {
		return nil
	}
	v := d.Attribute(a.Name)
	for i := 0; v == nil && i < len(a.Was); i++ {
		v = d.Attribute(a.Was[i])
	}
	for _, name := range path {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			return nil
		}
		v = m.Value[name]
	}
	return v
}

// same reports whether two values are equal. NULL is the same as a missing value.
func same(a, b types.AttributeValue) bool {
	absent := func(v types.AttributeValue) bool {
		_, null := v.(*types.AttributeValueMemberNULL)
		return v == nil || null
	}
	return absent(a) && absent(b) || attr.Same(a, b)
}

// fieldIn returns the paths in an attribute that hold a field, none if the attribute does not hold it. If structs are
// in a list or a map with keys, the path ends there.
func fieldIn(base *schema.Type, a *schema.Attribute, field codec.Row) [][]string {
	if base.Go == any(field.Record) && field.Name == "" && a.Name == field.Attribute() {
		return [][]string{nil} // of field.Named
	}
	at := base
	var owners []any // the struct of the next field, and those that embed it
	for _, i := range a.Value.Path {
		at = pointed(at)
		f := at.Fields[i]
		owners = append(owners, at.Go)
		if f.Name == field.Name && slices.Contains(owners, any(field.Record)) {
			return [][]string{nil}
		}
		if !f.Embedded {
			owners = nil
		}
		at = f.Type
	}
	return fieldBelow(at, field, nil, nil)
}

// fieldBelow is fieldIn for a value of a type. around are the structs around it: a type can contain itself.
func fieldBelow(t *schema.Type, field codec.Row, path []string, around []*schema.Type) (paths [][]string) {
	t = pointed(t)
	if t.Kind == schema.Slice || t.Kind == schema.Array || t.Kind == schema.Map {
		if len(fieldBelow(t.Elem, field, nil, around)) > 0 {
			return [][]string{path}
		}
		return nil
	}
	if t.Kind != schema.Struct || slices.Contains(around, t) {
		return nil
	}
	if t.Go == any(field.Record) {
		return [][]string{append(slices.Clone(path), field.Attribute())}
	}
	for _, e := range t.EncodedFields() {
		at := t
		for _, i := range e.Path {
			at = pointed(at).Fields[i].Type
		}
		paths = append(paths, fieldBelow(at, field, append(slices.Clone(path), e.Name), append(around, t))...)
	}
	return paths
}

// pointed returns the type that pointers point to.
func pointed(t *schema.Type) *schema.Type {
	for t.Kind == schema.Pointer {
		t = t.Elem
	}
	return t
}
