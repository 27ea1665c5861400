package codec_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// randomOf returns a random value, with much that is empty.
func randomOf[V any](r *rand.Rand) *V {
	v := new(V)
	fill(r, reflect.ValueOf(v).Elem(), 0)
	return v
}

func fill(r *rand.Rand, v reflect.Value, depth int) {
	if r.IntN(4) == 0 {
		v.SetZero()
		return
	}
	switch v.Interface().(type) {
	case time.Time, stamp:
		t := time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("", 60*(r.IntN(600)-300)))
		v.Set(reflect.ValueOf(t).Convert(v.Type()))
		return
	case attributevalue.Number:
		v.SetString(strconv.Itoa(r.IntN(1000)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "a", "Ä b", "12"}[r.IntN(4)])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, math.Copysign(0, -1), 1.5, -1e10, float64(float32(r.Float64()))}[r.IntN(5)])
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 5))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k, depth+1)
			fill(r, e, depth+1)
			if k.Kind() != reflect.Float32 || k.Float() != 0 {
				v.SetMapIndex(k, e)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(r, v.Field(i), depth+1)
			} else if f.Anonymous {
				fill(r, v.Field(i).Field(0), depth+1)
			}
		}
	}
}
