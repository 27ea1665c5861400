package models

import (
	"bytes"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Normalize brings a value into the form that a load gives: elements in the
// order of their keys, sets in one order.
func (g *Gen) Normalize(v any) {
	root := reflect.ValueOf(v).Elem()
	for _, it := range g.Schema.Items {
		if it.Element() && !it.Map() {
			if f := look(root, it.Field.Path); f.IsValid() {
				g.sort(v, it, f)
			}
		}
		for _, a := range it.Attributes {
			if it.Element() {
				continue // their sets are made in order
			}
			if f := look(root, a.Value.Path); f.IsValid() {
				normalizeSets(f, a.Value.Type, a)
			}
		}
	}
}

// look walks to a field, and returns the zero Value where a pointer is nil.
func look(v reflect.Value, path []int) reflect.Value {
	for i, x := range path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v = v.Elem(); !v.IsValid() {
				return v
			}
		}
		v = v.Field(x)
	}
	return v
}

func (g *Gen) sort(v any, it *schema.Item, f reflect.Value) {
	type pair struct {
		sk key.Scalar
		v  reflect.Value
	}
	var all []pair
	g.codec.Elements(it.Index).Each(v, func(p codec.Pos, rec any) bool {
		c := reflect.New(f.Type().Elem()).Elem()
		c.Set(f.Index(p.Index))
		all = append(all, pair{g.SortKey(v, it, p, rec), c})
		return true
	})
	slices.SortFunc(all, func(a, b pair) int { return key.Compare(a.sk, b.sk) })
	for i, p := range all {
		f.Index(i).Set(p.v)
	}
}

func normalizeSets(v reflect.Value, t *schema.Type, a *schema.Attribute) {
	set := a.AV.Has("stringset") || a.AV.Has("numberset") || a.AV.Has("binaryset") ||
		v.Type() == reflect.TypeFor[[][]byte]()
	if set && t.Kind == schema.Slice && !v.IsNil() {
		SortSet(v)
	}
}

// Options compare values: instants without their zones, nil and empty alike, binary sets without
// their order, and unexported fields not at all.
var Options = cmp.Options{
	cmpopts.EquateEmpty(),
	// Binary sets have no order: DynamoDB Local 3.3.1 returns them in another one than dynoxide.
	cmpopts.SortSlices(func(a, b []byte) int { return bytes.Compare(a, b) }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && (f.Name() == "_" || f.Name() != "" && f.Name()[0] >= 'a' && f.Name()[0] <= 'z')
	}, cmp.Ignore()),
	cmp.FilterPath(func(p cmp.Path) bool {
		t := p.Last().Type()
		return t != nil && t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() &&
			t.ConvertibleTo(reflect.TypeFor[time.Time]())
	}, cmp.Comparer(func(a, b any) bool { return asTime(a).Equal(asTime(b)) })),
}

func asTime(v any) time.Time {
	return reflect.ValueOf(v).Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time)
}

// AsWritten makes attributevalue encode times in zones with seconds as the library does: their texts have offsets in
// minutes, so that attributevalue stores another instant.
func AsWritten(o *attributevalue.EncoderOptions) {
	o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
		if _, offset := t.Zone(); offset%60 != 0 || offset <= -24*3600 || offset >= 24*3600 {
			t = t.In(time.UTC)
		}
		return &types.AttributeValueMemberS{Value: t.Format(time.RFC3339Nano)}, nil
	}
}
