package codec

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Opaque returns the form of a type that only attributevalue knows how to encode, in a
// field with these options. names are the structs in it, whose names match exactly.
func Opaque(f *Form, options []string, names *Names) *Form {
	h := newHolder(f.Type, strings.Join(append([]string{"F"}, options...), ","))
	asString := OptionsOf(options)&AsString != 0
	o := &Form{Type: f.Type, memory: f.memory}
	o.encode = func(p any, _ Options, _ int) (types.AttributeValue, error) {
		if err := dynamic(p); err != nil {
			return nil, err
		}
		av, err := h.encode(p)
		if asString && err == nil && f.Type.Kind() == reflect.Interface && misread(reflect.ValueOf(p), av) {
			return nil, errQuoted
		}
		return av, err
	}
	o.decode = func(p any, av types.AttributeValue, _ Options) error {
		av = names.Exact(av)
		if asString {
			return h.decode(p, av)
		}
		return plainly(p, av)
	}
	return o
}

var errQuoted = errors.New("it holds a text, which attributevalue would read back as a number because of the option " +
	"string: remove the option")

// misread reports whether attributevalue would read a text as a number, in the encoding of an interface with the
// option string. It writes a number as a text only if that is the value itself.
func misread(v reflect.Value, av types.AttributeValue) bool {
	if text, ok := av.(*types.AttributeValueMemberS); ok && numeric(v) {
		_, err := strconv.ParseFloat(text.Value, 64)
		return err != nil
	}
	return holdsText(av)
}

// holdsText reports whether a text is in a value, outside of sets.
func holdsText(av types.AttributeValue) bool {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		return true
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(av.Value, holdsText)
	case *types.AttributeValueMemberM:
		for _, v := range av.Value {
			if holdsText(v) {
				return true
			}
		}
	}
	return false
}

// numeric reports whether attributevalue writes a value as a number, or with the option string as its text.
func numeric(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return false
	}
	if encodes, _ := marshals(v); encodes {
		return false
	}
	return v.CanInt() || v.CanUint() || v.CanFloat() || v.Type() == reflect.TypeFor[attributevalue.Number]()
}

// dynamic is checkDynamic of a pointer's target.
func dynamic(p any) (err error) {
	defer recovered(&err, reflect.TypeOf(p).Elem())
	return checkDynamic(reflect.ValueOf(p).Elem(), 0)
}

// opaqueForm completes the form of an opaque type with the options of its place.
func opaqueForm(f *Form) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		return Opaque(f, o.words(), nil).encode(p, 0, 0)
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		return Opaque(f, o.words(), nil).decode(p, av, 0)
	}
	return f
}
