package codec

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/schema"
)

// attribute encodes and decodes one attribute with attributevalue.
type attribute struct {
	*schema.Attribute
	// view is a struct with just this field and its dynamodbav tag, since
	// attributevalue applies options to the fields of structs only.
	view reflect.Type
	ops  typeOps
	// names are the structs in it, whose names must match exactly.
	names *exactNames
}

var (
	encoder = attributevalue.NewEncoder()
	decoder = attributevalue.NewDecoder()
)

func newAttribute(a *schema.Attribute) attribute {
	tag := a.Name
	for _, o := range a.AV.Options {
		tag += "," + o
	}
	return attribute{
		Attribute: a,
		view: reflect.StructOf([]reflect.StructField{{
			Name: "F", Type: a.Value.Type.Go.(reflect.Type), Tag: reflect.StructTag(fmt.Sprintf("dynamodbav:%q", tag)),
		}}),
		ops:   opsOf(a.Value.Type, a.AV.Has("unixtime")),
		names: exactNamesOf(a.Value.Type),
	}
}

// encode returns the value of the field v, nil where it is omitted.
func (a *attribute) encode(v reflect.Value) (_ types.AttributeValue, err error) {
	defer recovered(&err)
	if a.Opaque {
		if err := checkDynamic(v); err != nil {
			return nil, err
		}
	}
	holder := reflect.New(a.view)
	holder.Elem().Field(0).Set(v)
	m, err := encoder.Encode(holder.Interface())
	if err != nil {
		return nil, err
	}
	return m.(*types.AttributeValueMemberM).Value[a.Name], nil
}

// decode sets the field v.
func (a *attribute) decode(v reflect.Value, av types.AttributeValue) (err error) {
	defer recovered(&err)
	av = a.names.exact(av)
	if !a.AV.Has("string") {
		return decoder.Decode(av, v.Addr().Interface())
	}
	holder := reflect.New(a.view)
	m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{a.Name: av}}
	if err := decoder.Decode(m, holder.Interface()); err != nil {
		return err
	}
	v.Set(holder.Elem().Field(0))
	return nil
}

// recovered turns a panic into an error: attributevalue panics on bytes that do
// not fit an array, and marshalers may do so on anything.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

// exactNames removes from maps that become structs the keys that attributevalue
// would take for a field because they differ from its name in case only.
type exactNames struct {
	fields map[string]*exactNames // of a struct
	elem   *exactNames            // of a slice, array, map or pointer
}

// exactNamesOf returns nil for a type without structs in it.
func exactNamesOf(t *schema.Type) *exactNames {
	switch {
	case t == nil, t.Time, t.Marshals:
		return nil
	case t.Kind == schema.Struct:
		n := &exactNames{fields: map[string]*exactNames{}}
		for _, f := range t.EncodedFields() {
			n.fields[f.Name] = exactNamesOf(f.Type)
		}
		return n
	}
	elem := exactNamesOf(t.Elem)
	if elem == nil || t.Kind == schema.Pointer {
		return elem
	}
	return &exactNames{elem: elem}
}

func (n *exactNames) exact(v types.AttributeValue) types.AttributeValue {
	if n == nil {
		return v
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		l := make([]types.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			l[i] = n.elem.exact(e)
		}
		return &types.AttributeValueMemberL{Value: l}
	case *types.AttributeValueMemberM:
		m := make(map[string]types.AttributeValue, len(v.Value))
		for k, e := range v.Value {
			if n.fields == nil {
				m[k] = n.elem.exact(e)
			} else if f, ok := n.fields[k]; ok {
				m[k] = f.exact(e)
			}
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return v
}
