package codec

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
)

var (
	encoder = attributevalue.NewEncoder(func(o *attributevalue.EncoderOptions) { o.EncodeTime = encodeTime })
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
	defer recovered(&err, reflect.TypeOf(p).Elem())
	return undecodable(decoder.Decode(av, p), av, reflect.TypeOf(p).Elem())
}

// undecodable returns an error of attributevalue, or of a type's own method, without the value in it.
func undecodable(err error, av types.AttributeValue, t reflect.Type) error {
	var wrongType *attributevalue.UnmarshalTypeError
	var wrongTime *attributevalue.UnmarshalError
	stored := storedName(av)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		stored = wrongType.Value
		for _, before := range []string{" overflow", ` "`} { // the number, or the key of a map, follows
			stored, _, _ = strings.Cut(stored, before)
		}
		t = wrongType.Type
	case errors.As(err, &wrongTime):
		t = wrongTime.Type
	}
	return redact.Hide(err, "cannot decode a stored %s into %s%s", stored, t, misfit(av, t))
}

// storedName names the type of a stored value as attributevalue does.
func storedName(av types.AttributeValue) string {
	switch av.(type) {
	case *types.AttributeValueMemberS:
		return "string"
	case *types.AttributeValueMemberN:
		return "number"
	}
	return attr.TypeName(av)
}

// misfit says why a stored number or text does not fit a type, "" if that is not known.
func misfit(av types.AttributeValue, t reflect.Type) string {
	text := ""
	switch av := av.(type) {
	case *types.AttributeValueMemberN:
		text = av.Value
	case *types.AttributeValueMemberS:
		text = av.Value
	}
	_, digits, exp, ok := key.Decimal(text)
	isTime := t.Kind() == reflect.Struct && t.ConvertibleTo(reflect.TypeFor[time.Time]())
	_, isText := av.(*types.AttributeValueMemberS)
	switch integer := t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64; {
	case isText && isTime:
		return ": it is not a time of RFC 3339"
	case !ok:
		return ""
	case (integer || isTime) && exp < len(digits):
		return ": it is not an integer"
	case integer || isTime || t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return ": it is out of the range of the type"
	}
	return ""
}

// unencodable is the same of an error in encoding. Those of attributevalue itself name types alone.
func unencodable(err error, t reflect.Type) error {
	var own *attributevalue.InvalidMarshalError
	if err == nil || errors.As(err, &own) || redact.IsSafe(err) {
		return err
	}
	return redact.Hide(err, "the encoding of %s failed", t)
}

// recovered turns a panic into an error: attributevalue panics on bytes that do not fit
// an array, and marshalers may do so on anything.
func recovered(err *error, t reflect.Type) {
	if r := recover(); r != nil {
		*err = redact.Errorf("a method of %s, or of a type in it, panicked%v", t, redact.Of(r))
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
	defer recovered(&err, h.typ.Field(0).Type)
	v := reflect.New(h.typ)
	v.Elem().Field(0).Set(reflect.ValueOf(p).Elem())
	m, err := encoder.Encode(v.Interface())
	if err != nil {
		return nil, unencodable(err, h.typ.Field(0).Type)
	}
	av := m.(*types.AttributeValueMemberM).Value["F"]
	if av == nil {
		return nil, nil
	}
	return av, attr.CheckShape(av) // a method may have returned a nil pointer
}

func (h holder) decode(p any, av types.AttributeValue) (err error) {
	defer recovered(&err, h.typ.Field(0).Type)
	v := reflect.New(h.typ)
	m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"F": av}}
	if err := decoder.Decode(m, v.Interface()); err != nil {
		return undecodable(err, av, h.typ.Field(0).Type)
	}
	reflect.ValueOf(p).Elem().Set(v.Elem().Field(0))
	return nil
}
