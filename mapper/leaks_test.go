package mapper

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/leaks"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// No error contains a value, whatever is stored in place of an attribute, at any depth: of each model
// of the family and of random models, by each reading call.
func TestNoErrorContainsStoredValues(t *testing.T) {
	t.Parallel()
	r := random(t)
	client := testengine.Start(t).Client()
	table := testengine.Table(t, "PK:S", "SK:S")
	types := []reflect.Type{}
	for _, m := range family(r) {
		types = append(types, reflect.TypeOf(m).Elem())
	}
	for i := range draws.Times(3, 8, 300) {
		types = append(types, models.Type(r, i))
	}
	failed, most := 0, draws.Times(18, 18, 200) // of the damaged values of an attribute
	stores := draws.Times(6, 3, 1)              // one of so many is stored and loaded; each is decoded
	for i := 0; i < len(types) || failed < 100; i++ {
		if i == len(types) {
			types = append(types, models.Type(r, i))
		}
		typ := types[i]
		var f *fixture
		if strings.HasPrefix(typ.String(), "struct") {
			f = fixtureOn(t, r, typ, map[string]string{"random": table})
		} else {
			f = newFixture(t, r, typ)
		}
		v := f.gen.New()
		f.mustInsert(v)
		ctx := context.Background()
		read := func(what string) {
			t.Helper()
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %s: panic %v\n%s", f.Schema.Label(), what, r, debug.Stack())
				}
			}()
			out := f.Codec.New()
			var tt draft
			_, err := f.load(ctx, f.whole(v), out, true, &tt)
			leaks.Error(t, err, "%s: load with %s", f.Schema.Label(), what)
			if err != nil {
				failed++
			}
		}
		for table, items := range stored(t, client, f) {
			for _, a := range items {
				for _, name := range slices.Sorted(maps.Keys(a)) {
					if name == table.Hash || name == table.Range {
						continue
					}
					for i, damaged := range leaks.Damaged(a[name]) {
						if i >= most {
							break
						}
						with := maps.Clone(a)
						with[name] = damaged
						what := fmt.Sprintf("%s of %s as %T", name, table.Name, damaged)
						if r.IntN(stores) == 0 && replace(ctx, client, table.Name, with) { // else an index refuses it
							read(what)
						}
						_, err := f.decodeItem(with, f.Codec.New(), nil)
						leaks.Error(t, err, "%s: decode with %s", f.Schema.Label(), what)
					}
				}
				replace(ctx, client, table.Name, a)
			}
		}
	}
}

// stored returns all items of a model's tables.
func stored(t *testing.T, client *dynamodb.Client, f *fixture) map[*item.Table][]item.Attributes {
	t.Helper()
	all := map[*item.Table][]item.Attributes{}
	for _, table := range f.Model.Tables {
		out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table.Name})
		if err != nil {
			t.Fatal(err)
		}
		all[table] = out.Items
	}
	return all
}

func replace(ctx context.Context, client *dynamodb.Client, table string, a item.Attributes) bool {
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: a})
	return err == nil
}

// No error contains a value that a save refuses: text that is not valid UTF-8, numbers that DynamoDB
// does not have, and sets with duplicates.
func TestNoErrorContainsRefusedValues(t *testing.T) {
	t.Parallel()
	r := random(t)
	refused, some := 0, family(r)
	for _, m := range some {
		f := newFixture(t, r, reflect.TypeOf(m).Elem())
		keyed := map[string]bool{}
		for _, o := range f.Schema.KeyFields {
			keyed[o.Name] = true
		}
		for _, it := range f.Schema.Items {
			if it.Key == nil {
				continue
			}
			for _, src := range it.Key.Sources {
				keyed[src.Value.Name] = true
			}
		}
		isKey := func(field string) bool {
			for name := range keyed {
				if name == field || strings.HasSuffix(name, "."+field) {
					return true
				}
			}
			return false
		}
		v := f.gen.New()
		spoil(reflect.ValueOf(v).Elem(), "", isKey, func(at string) {
			_, _, err := f.insert(v)
			if err != nil {
				refused++
			}
			leaks.Error(t, err, "%s: save with %s spoilt", f.Schema.Label(), at)
		})
	}
	if refused < 2*len(some) { // models with few fields have few values to spoil
		t.Errorf("%d saves of %d models were refused", refused, len(some))
	}
}

// spoil makes each value in v, except those of keys, impossible to store, calls try, and restores it.
func spoil(v reflect.Value, at string, isKey func(string) bool, try func(at string)) {
	set := func(x any) {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
		try(at)
		v.Set(was)
	}
	switch v.Kind() {
	case reflect.String:
		set(leaks.Text + "\xff")
		set(leaks.Number + "x")
		set(leaks.Number + "E300")
	case reflect.Float64:
		set(math.NaN())
		set(7351907e200)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			for _, x := range []any{
				leaks.Text + "\xff", 7351907e200,
				map[string]any{leaks.Text: math.Inf(1)},
				[]any{leaks.Text + "\xff"},
				map[string]string{leaks.Text: "\xff", leaks.Text + "\xff": "x"},
			} {
				set(x)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem(), at, isKey, try)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if sf := v.Type().Field(i); sf.IsExported() && !isKey(sf.Name) {
				spoil(v.Field(i), at+"."+sf.Name, isKey, try)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			twice := reflect.MakeSlice(v.Type(), 2, 2)
			twice.Index(0).SetString(leaks.Text)
			twice.Index(1).SetString(leaks.Text)
			set(twice.Interface())
		}
		for i := range v.Len() {
			spoil(v.Index(i), fmt.Sprintf("%s[%d]", at, i), isKey, try)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			was := v.MapIndex(k)
			spoil(e, at+"[...]", isKey, func(at string) { v.SetMapIndex(k, e); try(at) })
			v.SetMapIndex(k, was)
		}
	}
}
