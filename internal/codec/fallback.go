package codec

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	encoder = attributevalue.NewEncoder()
	decoder = attributevalue.NewDecoder()
)

// fallback decodes with attributevalue what a form does not read itself, so that it is
// read, or refused, as that does.
func fallback(p any, av types.AttributeValue, o Options) error {
	if o&AsString == 0 {
		return plainly(p, av)
	}
	return newHolder(reflect.TypeOf(p).Elem(), "F,string").decode(p, av)
}

func plainly(p any, av types.AttributeValue) (err error) {
	defer recovered(&err)
	return decoder.Decode(av, p)
}

// recovered turns a panic into an error: attributevalue panics on bytes that do not fit
// an array, and marshalers may do so on anything.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

// holder is a struct with one field, whose tag has options: attributevalue applies them
// to the fields of structs only.
type holder struct{ typ reflect.Type }

// newHolder returns the holder of a type's values; tag begins with the name F.
func newHolder(t reflect.Type, tag string) holder {
	return holder{reflect.StructOf([]reflect.StructField{{
		Name: "F", Type: t, Tag: reflect.StructTag(fmt.Sprintf("dynamodbav:%q", tag)),
	}})}
}

func (h holder) encode(p any) (_ types.AttributeValue, err error) {
	defer recovered(&err)
	v := reflect.New(h.typ)
	v.Elem().Field(0).Set(reflect.ValueOf(p).Elem())
	m, err := encoder.Encode(v.Interface())
	if err != nil {
		return nil, err
	}
	return m.(*types.AttributeValueMemberM).Value["F"], nil
}

func (h holder) decode(p any, av types.AttributeValue) (err error) {
	defer recovered(&err)
	v := reflect.New(h.typ)
	m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"F": av}}
	if err := decoder.Decode(m, v.Interface()); err != nil {
		return err
	}
	reflect.ValueOf(p).Elem().Set(v.Elem().Field(0))
	return nil
}
