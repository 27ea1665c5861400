package mapper

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/query"
)

// Receipts and plans print as tables by value and by pointer.
func TestReceiptsAndPlansPrintByValue(t *testing.T) {
	for _, v := range []any{Receipt{}, Plan{}, query.Plan{}} {
		p := reflect.New(reflect.TypeOf(v))
		p.Elem().Set(reflect.ValueOf(v))
		for _, verb := range []string{"%v", "%+v", "%s"} {
			byValue, byPointer := fmt.Sprintf(verb, v), fmt.Sprintf(verb, p.Interface())
			if byValue != byPointer || strings.Contains(byValue, "map[") || strings.Contains(byValue, "{") {
				t.Errorf("%T: %s: %q and %q", v, verb, byValue, byPointer)
			}
		}
		if nothing := fmt.Sprint(reflect.Zero(p.Type()).Interface()); nothing != "<nil>" {
			t.Errorf("%T: nil prints %q", v, nothing)
		}
	}
}

type printed struct {
	_      struct{} `ddb:"table=printed"`
	ID     string   `ddb:"pk=USER#{ID}"`
	N      int      `ddb:"sk=ORDER#{N:03}#HEAD"`
	Secret string   `ddb:"sk=ORDER#{N:03}#HEAD"`
}

// An entity prints its model and key, and none of its values and of the mapper's.
func TestEntitiesPrintTheirModelAndKey(t *testing.T) {
	ctx := context.Background()
	client, table := testengine.Start(t).Client(), testengine.Table(t, "PK:S", "SK:S")
	m, err := New[printed](client, Table(table))
	if err != nil {
		t.Fatal(err)
	}
	is := func(e any, want string) {
		t.Helper()
		for _, verb := range []string{"%v", "%+v", "%s"} {
			if got := fmt.Sprintf(verb, e); got != want {
				t.Errorf("%s: %q, and not %q", verb, got, want)
			}
		}
	}
	is((*Entity[printed])(nil), "no entity")
	is(&Entity[printed]{}, "no entity")
	is(m.New(printed{Secret: "secret"}), "printed without a key, not stored")
	e := m.New(printed{N: 7, Secret: "secret"})
	e.Value.ID = "1"
	is(e, "printed USER#1 ORDER#007#HEAD, not stored")
	if _, err := m.Save(ctx, e); err != nil {
		t.Fatal(err)
	}
	is(e, "printed USER#1 ORDER#007#HEAD")
	e.Value.ID = "2" // it is stored at the old key
	is(e, "printed USER#1 ORDER#007#HEAD")
	if e, err = m.Load(ctx, m.Key("1", 7)); err != nil {
		t.Fatal(err)
	}
	is(e, "printed USER#1 ORDER#007#HEAD")
}
