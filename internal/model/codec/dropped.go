package codec

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// checkDynamic returns an error for values of v that attributevalue would drop or store empty, and for cyclic values.
// The static types are checked with the model. This function checks the dynamic ones, with the same rules. It takes
// the same way through a value as attributevalue's encoder. depth is the number of steps to v.
func checkDynamic(v reflect.Value, depth int) error {
	if depth > maxHops {
		return errDeep
	}
	if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	if encodes, byPointer := marshals(v); encodes {
		return nil
	} else if byPointer {
		return fmt.Errorf("a value in it is a %s, whose pointer encodes itself, but attributevalue does not call "+
			"that in a map or an interface: store a pointer to it", v.Type())
	}
	switch v.Kind() {
	case reflect.Interface:
		return fmt.Errorf(
			"a value in it is a pointer to an interface (*%s), which attributevalue would drop: store the "+
				"value",
			v.Type(),
		)
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("a value in it is a %s, which DynamoDB cannot store: remove it", v.Type())
	case reflect.Float32:
		return checkFloat32(v)
	case reflect.Pointer:
		return checkDynamic(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		return checkDynamicList(v, depth)
	case reflect.Map:
		return checkDynamicMap(v, depth)
	case reflect.Struct:
		return checkDynamicStruct(v, depth)
	}
	return nil
}

// checkFloat32 refuses a float32 that attributevalue cannot read back, as a value and as the key of a map.
func checkFloat32(v reflect.Value) error {
	if math.Abs(v.Float()) == math.MaxFloat32 {
		return errors.New("a value in it is the largest float32, which attributevalue cannot read back: use float64")
	}
	return nil
}

// marshals reports whether a value encodes itself. byPointer says that it does so by a method of its pointer, which
// attributevalue does not call since the value has no address.
func marshals(v reflect.Value) (encodes, byPointer bool) {
	marshaler := reflect.TypeFor[attributevalue.Marshaler]()
	switch t := v.Type(); {
	case t.Kind() == reflect.Interface:
		return false, false
	case t.Implements(marshaler):
		return true, false
	case t.Kind() == reflect.Pointer || !reflect.PointerTo(t).Implements(marshaler):
		return false, false
	default:
		return v.CanAddr(), !v.CanAddr()
	}
}

func checkDynamicList(v reflect.Value, depth int) error {
	if elem := v.Type().Elem(); elem.Kind() == reflect.Uint8 {
		if elem != reflect.TypeFor[byte]() {
			return fmt.Errorf("a value in it is a %s, on which attributevalue panics: use []byte", v.Type())
		}
		return nil
	}
	for i := range v.Len() {
		if err := checkDynamic(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkDynamicMap also refuses two keys with one text, of which attributevalue would drop one, and texts of times
// that are those of other instants.
func checkDynamicMap(v reflect.Value, depth int) error {
	var texts map[string]bool
	if k := v.Type().Key(); k.Kind() != reflect.String || k.NumMethod() > 0 {
		texts = make(map[string]bool, v.Len())
	}
	for it := v.MapRange(); it.Next(); {
		if k := it.Key(); k.Kind() == reflect.Float32 {
			if err := checkFloat32(k); err != nil {
				return err
			}
		}
		if texts != nil {
			text, err := dynamicKey(it.Key())
			if err != nil {
				return err
			}
			if texts[text] {
				return fmt.Errorf(
					"two keys of a %s have the same text, so that attributevalue would drop one: use keys "+
						"with different texts",
					v.Type(),
				)
			}
			texts[text] = true
		}
		if err := checkDynamic(it.Value(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// dynamicKey returns the text of a map's key as attributevalue writes it.
func dynamicKey(k reflect.Value) (string, error) {
	if t, ok := k.Interface().(time.Time); ok {
		if u := writable(t); u.Location() != t.Location() {
			return "", fmt.Errorf("a key of a map is a time in a zone with seconds, which its text has not: use UTC")
		}
	}
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		if err != nil {
			return "", unencodable(err, k.Type())
		}
		return string(b), nil
	}
	return fmt.Sprint(k.Interface()), nil
}

func checkDynamicStruct(v reflect.Value, depth int) error {
	t := v.Type()
	if t.ConvertibleTo(reflect.TypeFor[time.Time]()) {
		return nil
	}
	stored := false
	for i := range t.NumField() {
		f := t.Field(i)
		embedded := f.Anonymous && (f.Type.Kind() == reflect.Struct ||
			f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct)
		if !f.IsExported() && !embedded {
			continue
		}
		stored = true
		name, options, _ := strings.Cut(f.Tag.Get("dynamodbav"), ",")
		if name == "-" {
			continue
		}
		asString := f.Type.Kind() == reflect.Interface && slices.Contains(strings.Split(options, ","), "string")
		if asString && f.IsExported() {
			x := v.Field(i).Interface()
			av, err := newHolder(reflect.TypeFor[any](), "F,"+options).encode(&x)
			if err == nil && misread(v.Field(i), av) {
				return errQuoted
			}
		}
		if err := checkDynamic(v.Field(i), depth+1); err != nil {
			return err
		}
	}
	if !stored && t.NumField() > 0 {
		return fmt.Errorf(
			"a value in it is a %s, which has no exported fields, so that attributevalue would store it empty: "+
				"store another type",
			t,
		)
	}
	return nil
}
