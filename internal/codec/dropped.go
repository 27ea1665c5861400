package codec

import (
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// checkDynamic returns an error for values in interfaces of v that attributevalue would drop silently,
// and for cyclic values. The static types are checked with the model; this function checks the dynamic
// ones. depth is the number of steps to v.
func checkDynamic(v reflect.Value, depth int) error {
	if !v.IsValid() {
		return nil
	}
	if depth > maxHops {
		return errDeep
	}
	switch v.Interface().(type) {
	case attributevalue.Marshaler, time.Time:
		return nil
	}
	switch v.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("an interface in it has a %s, which DynamoDB cannot store: remove it", v.Type())
	case reflect.Interface, reflect.Pointer:
		return checkDynamic(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := checkDynamic(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := checkDynamic(it.Value(), depth+1); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() || f.Tag.Get("dynamodbav") == "-" {
				continue
			}
			if err := checkDynamic(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
