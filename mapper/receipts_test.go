package mapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/query"
)

// checkReceipts has two actors change one entity in turn, so that some of their writes are refused. The
// reported units are within the prediction for the applied writes, and a refused write costs the stored
// item. It returns the numbers of applied and refused writes.
func (f *fixture) checkReceipts(r *rand.Rand, rounds int) (applied, refused int) {
	ctx := context.Background()
	v := f.gen.New()
	f.mustInsert(v)
	for range rounds {
		values, states := make([]any, 2), make([]*state, 2)
		for i := range values {
			values[i] = f.Codec.New()
			var t draft
			s, err := f.load(ctx, f.whole(v), values[i], true, &t)
			if err != nil {
				f.Fatalf("%s: %v", f.Schema.Label(), err)
			}
			states[i] = s
		}
		for i, s := range states {
			f.gen.Edit(values[i])
			option := []WriteOption{Independent(), ExactlyOnce(), nil}[r.IntN(3)]
			receipt, err := f.again(s, values[i], option)
			predicted, reported := receipt.draft.WCU, receipt.Consumed.WCU
			if !predicted.Contains(reported) || predicted.Expected < predicted.Min ||
				predicted.Expected > predicted.Max {
				f.Errorf("%s: %v, %v", f.Schema.Label(), receipt, err)
			}
			var conflict *ConflictError
			if errors.As(err, &conflict) && conflict.Model != "" && receipt.Refused.Max == 0 {
				f.Errorf("%s: refused, and not charged: %v, %v", f.Schema.Label(), receipt, err)
			}
			applied += len(receipt.Predicted().Items)
			if receipt.Refused.Max > 0 {
				refused++
				f.checkRefused(v, receipt, err)
			}
		}
	}
	return applied, refused
}

// checkRefused compares the units of a write that was refused on one item with those of the stored
// item.
func (f *fixture) checkRefused(v any, r *Receipt, err error) {
	f.Helper()
	var conflict *ConflictError
	if !errors.As(err, &conflict) || len(conflict.Items) != 1 || len(r.Predicted().Items) > 0 ||
		r.Predicted().Mode != "one" {
		return
	}
	e, err := search.EntityOf(f.Model, f.whole(v))
	if err != nil {
		f.Fatal(err)
	}
	found, err := f.search.Protocol.Remains(context.Background(), e, &write.Tally{})
	if err != nil {
		f.Fatal(err)
	}
	var stored item.Attributes
	for _, img := range found {
		if keyOf(img.Place) == conflict.Items[0].Key {
			stored = img.Attributes()
		}
	}
	want := float64(max(1, (attr.ItemSize(stored)+1023)/1024))
	if r.Refused.Expected != want && r.Refused.Expected != 2*want || !r.Refused.Contains(r.Refused.Expected) {
		f.Errorf("%s: %v, want %v WCU for what was refused", f.Schema.Label(), r, want)
	}
}

// The prediction of a receipt holds, whatever other writers do.
func TestReceiptsHold(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		t.Log("the engine misreports transactions, so that there is nothing to compare")
		return
	}
	r := random(t)
	applied, refused := 0, 0
	check := func(f *fixture, rounds int) {
		a, n := f.checkReceipts(r, rounds)
		applied, refused = applied+a, refused+n
	}
	for _, m := range family(r) {
		typ := reflect.TypeOf(m).Elem()
		t.Run(typ.Name(), func(t *testing.T) { check(newFixture(t, r, typ), draws.Times(2, 8, 80)) })
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	for i := range draws.Times(10, 40, 400) {
		check(fixtureOn(t, r, models.Type(r, i), map[string]string{"random": table}), 4)
	}
	t.Logf("%d items written, %d saves refused", applied, refused)
	if parts := draws.Times(20, 1, 1); applied < 500/parts || refused < 50/parts {
		t.Error("too few: the test proves little")
	}
}

// The receipt of a call that has written nothing lists nothing, in JSON too.
func TestReceiptWithoutItems(t *testing.T) {
	t.Parallel()
	r := (&draft{}).receipt()
	text, err := json.Marshal(r)
	if r.Predicted().Items != nil || r.Predicted().Alternatives != nil || err != nil ||
		!strings.Contains(string(text), `"items":null`) {
		t.Errorf("%v: %s", err, text)
	}
}

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
