package codec

import (
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// CheckDynamic returns an error for what interfaces in v hold and attributevalue would
// drop without a word. The static types are checked with the model; this is for the
// dynamic ones.
func CheckDynamic(v any) error { return checkDynamic(reflect.ValueOf(v)) }

func checkDynamic(v reflect.Value) error {
	if !v.IsValid() {
		return nil
	}
	switch v.Interface().(type) {
	case attributevalue.Marshaler, time.Time:
		return nil
	}
	switch v.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("an interface in it holds a %s, which DynamoDB cannot store: take it out", v.Type())
	case reflect.Interface, reflect.Pointer:
		return checkDynamic(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := checkDynamic(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := checkDynamic(it.Value()); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() || f.Tag.Get("dynamodbav") == "-" {
				continue
			}
			if err := checkDynamic(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}
