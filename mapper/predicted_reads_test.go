package mapper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// partOf returns a random selection of an entity, by some of its stored items: single ones,
// prefixes, all of it, joined.
func (f *fixture) partOf(r *rand.Rand, whole selection.Selection, stored []item.Image) selection.Selection {
	var sel selection.Selection
	for n := range 1 + r.IntN(3) {
		one := whole
		if r.IntN(5) > 0 && len(stored) > 0 {
			at := stored[r.IntN(len(stored))].Place
			low := at.SK
			part := model.PartOf(at)
			if low.Type == 'S' && r.IntN(2) == 0 {
				text := []rune(low.Text)
				low = key.Scalar{Type: 'S', Text: string(text[:1+r.IntN(len(text))])}
				part.Range = selection.Range{Kind: selection.Prefix, Low: low}
			}
			one.Whole, one.Parts = false, []selection.Part{part}
		}
		if n == 0 {
			sel = one
		} else {
			sel = sel.Join(one)
		}
	}
	return sel
}

// putForeign puts items that the model does not know among those of an entity, some as if a
// staged insert had left them. It takes away again what no load would read: a key of a form of the
// model with a value that is none of its type's.
func (f *fixture) putForeign(r *rand.Rand, whole selection.Selection, stored []item.Image) {
	ctx, client := context.Background(), testengine.Start(f).Client()
	for range r.IntN(3) {
		near := stored[r.IntN(len(stored))].Place
		if near.SK.Type != 'S' {
			continue
		}
		near.SK.Text += fmt.Sprint(".", r.IntN(100))
		a := near.Key()
		a["size"] = &types.AttributeValueMemberB{Value: make([]byte, r.IntN(9000))}
		put := func() {
			if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &near.Table.Name, Item: a}); err != nil {
				f.Fatal(err)
			}
		}
		put()
		if _, err := f.load(ctx, whole, f.Codec.New(), true, &draft{}); err != nil {
			if _, err := client.DeleteItem(ctx,
				&dynamodb.DeleteItemInput{TableName: &near.Table.Name, Key: near.Key()}); err != nil {
				f.Fatal(err)
			}
			continue
		}
		if r.IntN(2) == 0 {
			a["_a"] = &types.AttributeValueMemberB{Value: []byte("somebody")}
			put()
		}
	}
}

// checkRehearsals loads parts of an entity, and compares the cost of their next load with the plan. It
// returns the number of plans.
func (f *fixture) checkRehearsals(r *rand.Rand, rounds int) (plans int) {
	ctx := context.Background()
	for range rounds {
		v := f.gen.New()
		option := Independent()
		if f.Reserved.Versions() && r.IntN(2) == 0 {
			option = Staged()
		}
		s, _, err := f.insert(v, option)
		if err != nil {
			f.Fatalf("insert %+v: %v", v, err)
		}
		whole, stored := f.whole(v), s.Images()
		check := func(s *state, sel selection.Selection, strong bool) {
			f.Helper()
			var options []ReadOption
			if strong {
				options = []ReadOption{Strong()}
			}
			plan, err := f.planLoad(sel, s, options)
			if err != nil {
				f.Fatalf("%s: %v", f.Schema.Label(), err)
			}
			var t draft
			if _, err := f.load(ctx, sel, f.Codec.New(), strong, &t); err != nil {
				f.Fatalf("%s: %v", f.Schema.Label(), err)
			}
			plans++
			misses := t.ConsumedRCU != t.RCU.Min && !testengine.ReportsMisses(f)
			if plan.RCU != t.RCU || plan.Requests != t.Requests || !misses && !plan.RCU.Contains(t.ConsumedRCU) {
				f.Errorf("%s: planned %v, %v: %+v", f.Schema.Label(), plan, t.receipt(), sel.Parts)
			}
		}
		check(s, whole, r.IntN(2) == 0)
		f.putForeign(r, whole, stored)
		sel := f.partOf(r, whole, stored)
		var t draft
		out := f.Codec.New()
		part, err := f.load(ctx, sel, out, r.IntN(2) == 0, &t)
		if err != nil {
			continue // without the root the items of the entity are unknown
		}
		check(part, sel, r.IntN(2) == 0)
		f.gen.Edit(out)
		if _, err := f.again(part, out, Independent()); err == nil {
			check(part, part.Selection, r.IntN(2) == 0)
		}
	}
	return plans
}

// The plan for the load of an entity that was loaded equals the cost, to half a unit. The test has
// models of all kinds, any selection, plain and staged inserts, items of others in the collection, and
// saves in between.
func TestLoadsArePredicted(t *testing.T) {
	t.Parallel()
	r := random(t)
	plans := 0
	for _, m := range family(r) {
		typ := reflect.TypeOf(m).Elem()
		t.Run(typ.Name(),
			func(t *testing.T) { plans += newFixture(t, r, typ).checkRehearsals(r, draws.Times(1, 4, 20)) })
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	for i := range draws.Times(4, 20, 200) {
		plans += fixtureOn(t, r, models.Type(r, i), map[string]string{"random": table}).checkRehearsals(r, 4)
	}
	t.Logf("%d plans", plans)
	if plans < draws.Times(40, 500, 4_000) {
		t.Error("too few plans: the test proves little")
	}
}
