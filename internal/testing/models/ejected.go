package models

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
)

// Ejected requires that the code of itemize eject makes the same items of random values as an insert of the library,
// and that it reads them back.
func Ejected[T any](t *testing.T, seed uint64, n int, items func(*T) ([]map[string]types.AttributeValue, error),
	of func([]map[string]types.AttributeValue) (*T, error),
) {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	m := model.New(e, codec.ReflectedModel(e), []string{e.Tables[0].Name})
	g := NewGen(rand.New(rand.NewPCG(seed, 0)), e)
	compared := 0
	for i := range n {
		v := g.New().(*T)
		want, err := PutsOf(m, v)
		if err != nil {
			continue // a value that cannot be stored
		}
		compared++
		got, err := items(v)
		if err != nil {
			t.Fatalf("seed %d, %d: %v", seed, i, err)
		}
		sameItems(t, e, want, got)
		back, err := of(want)
		if err != nil || back == nil {
			t.Fatalf("seed %d, %d: %v, %v", seed, i, back, err)
		}
		again, err := PutsOf(m, back)
		if err != nil {
			t.Fatalf("seed %d, %d: %v", seed, i, err)
		}
		sameItems(t, e, want, again)
		if t.Failed() {
			t.Fatalf("seed %d, value %d: %+v", seed, i, v)
		}
	}
	if compared == 0 {
		t.Error("no value was compared")
	}
}

// PutsOf returns the items that an insert of a value puts.
func PutsOf(m *model.Model, v any) (all []map[string]types.AttributeValue, err error) {
	d, err := change.Of(snapshot.New(m, v), nil, v, change.Options{})
	if err != nil {
		return nil, err
	}
	for _, ch := range d.Changes {
		all = append(all, ch.Put)
	}
	return all, nil
}

// sameItems compares items without their incarnations.
func sameItems(t *testing.T, e *schema.Entity, want, got []map[string]types.AttributeValue) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d items, and not %d", len(got), len(want))
	}
	table := e.Tables[0]
	for _, a := range want {
		found := false
		for _, b := range got {
			if !attr.Same(a[table.Hash], b[table.Hash]) || !attr.Same(a[table.Range], b[table.Range]) {
				continue
			}
			found = true
			for name := range union(a, b) {
				if name != e.Incarnation && name != e.Version && !attr.Same(a[name], b[name]) {
					t.Errorf("%s of %s is %s, and not %s", name, ShowJSON(a[table.Range]), ShowJSON(b[name]),
						ShowJSON(a[name]))
				}
			}
		}
		if !found {
			t.Errorf("the item %s is missing", ShowJSON(a[table.Range]))
		}
	}
}

func union(a, b map[string]types.AttributeValue) map[string]bool {
	names := map[string]bool{}
	for _, m := range []map[string]types.AttributeValue{a, b} {
		for name := range m {
			names[name] = true
		}
	}
	return names
}
