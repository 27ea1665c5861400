package codec

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/schema"
)

// Names removes from maps that become structs the keys that attributevalue would take for
// a field because they differ from its name in case only. Of several texts of one key of a map it leaves the one that a
// load takes. A nil Names removes nothing.
type Names struct {
	fields map[string]*Names // of a struct
	elem   *Names            // of a slice, array, map or pointer
	keys   reflect.Type      // of a map whose keys can have several texts, nil for others
}

// NamesOf returns the names in a type, nil for a type without structs, and without such maps, in it.
func NamesOf(t *schema.Type) *Names { return namesOf(t, map[*schema.Type]*Names{}) }

func namesOf(t *schema.Type, seen map[*schema.Type]*Names) *Names {
	if t == nil || t.Time || t.Marshals || t.Unmarshals {
		return nil
	}
	if n, ok := seen[t]; ok {
		return n
	}
	if t.Kind == schema.Struct {
		n := &Names{fields: map[string]*Names{}}
		seen[t] = n
		for _, f := range t.EncodedFields() {
			n.fields[f.Name] = namesOf(f.Type, seen)
		}
		return n
	}
	if t.Kind == schema.Pointer {
		return namesOf(t.Elem, seen)
	}
	n := &Names{}
	seen[t] = n // until its elements are known: a type that contains itself has names
	n.elem = namesOf(t.Elem, seen)
	if k := t.Key; k != nil && (k.Kind != schema.String || k.TextValue) {
		n.keys, _ = k.Go.(reflect.Type)
	}
	if n.elem == nil && n.keys == nil {
		seen[t] = nil
		return nil
	}
	return n
}

// Exact returns the value without such keys.
func (n *Names) Exact(v types.AttributeValue) types.AttributeValue {
	if n == nil {
		return v
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		l := make([]types.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			l[i] = n.elem.Exact(e)
		}
		return &types.AttributeValueMemberL{Value: l}
	case *types.AttributeValueMemberM:
		m := make(map[string]types.AttributeValue, len(v.Value))
		var loaded map[string]string
		if n.keys != nil {
			loaded = chosen(n.keys, v.Value)
		}
		for k, e := range v.Value {
			if n.keys != nil {
				if own, ok := ownText(n.keys, k); ok && loaded[own] != k {
					continue
				}
			}
			if n.fields == nil {
				m[k] = n.elem.Exact(e)
			} else if f, ok := n.fields[k]; ok {
				m[k] = f.Exact(e)
			}
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return v
}
