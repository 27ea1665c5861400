package mapper

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// itemsOf encodes every item of a value in full: the oracle that saves are
// measured against. It knows nothing of snapshots and differences.
func (f *fixture) itemsOf(v any) map[item.Place]item.Attributes {
	f.Helper()
	keyFields, err := f.KeyFields(v)
	if err != nil {
		f.Fatal(err)
	}
	partition, err := f.Schema.Partition(keyFields)
	if err != nil {
		f.Fatal(err)
	}
	items := map[item.Place]item.Attributes{}
	add := func(it *schema.Item, rec any, pos codec.Pos) {
		sk, err := f.SortKey(model.Record{Item: it, Value: rec, Pos: pos}, keyFields)
		if err != nil {
			f.Fatal(err)
		}
		at := f.Place(it, partition, sk)
		stored := at.Key()
		for i, a := range it.Attributes {
			av, err := f.Codec.Record(it.Index).Encode(rec, i)
			if err != nil {
				f.Fatal(err)
			}
			if av != nil {
				stored[a.Name] = av
			}
		}
		if av := f.expiry(it, v, rec); av != nil {
			stored[f.Schema.TTL] = av
		}
		items[at] = stored
	}
	for _, it := range f.Schema.Items {
		if !it.Element() {
			if it == f.Schema.Root || f.Codec.Record(it.Index).Present(v) {
				add(it, v, codec.Pos{})
			}
			continue
		}
		f.Codec.Elements(it.Index).Each(v, func(pos codec.Pos, rec any) bool {
			add(it, rec, pos)
			return true
		})
	}
	return items
}

// expiry returns the value of the TTL attribute that is set by a field of another item, or
// that is stored nowhere else.
func (f *fixture) expiry(it *schema.Item, v, rec any) types.AttributeValue {
	if it.Expiry == nil || it.Attribute(f.Schema.TTL) >= 0 {
		return nil
	}
	record := f.Codec.Record(it.Index)
	if it.ExpiryOfRoot {
		record, rec = f.Codec.Record(f.Schema.Root.Index), v
	}
	at, ok := record.Expiry(rec)
	if !ok {
		return nil
	}
	return item.Epoch(at)
}

// least is the least that a save can be.
type least struct {
	dirty int
	wcu   float64
	// sure reports that the units do not depend on the size of numbers, which is known only to within a
	// byte each.
	sure bool
	// confirms reports that items are added without the root item, which is read afterwards then.
	confirms bool
}

// minimum returns how many items differ, and the WCU of writing just those.
func (f *fixture) minimum(old, new map[item.Place]item.Attributes) least {
	l := least{sure: true}
	root, added := false, false
	isRoot := func(at item.Place) bool {
		it, _ := f.Schema.Match(at.Table.Index, at.SK)
		return it == f.Schema.Root
	}
	add := func(old, new item.Attributes) {
		a, b := f.size(old), f.size(new)
		units := cost.Put(a, b)
		l.dirty++
		l.wcu += units
		l.sure = l.sure && units == cost.Put(a+numbers(old), b+numbers(new))
	}
	for at, is := range new {
		if was, ok := old[at]; !ok || !sameItem(was, is) {
			add(old[at], is)
			root, added = root || isRoot(at), added || !ok
		}
	}
	for at, was := range old {
		if new[at] == nil {
			add(was, nil)
		}
	}
	l.confirms = added && !root
	return l
}

func (f *fixture) size(a item.Attributes) int {
	if a == nil {
		return 0
	}
	const incarnation = 2 + 8 // _a, and eight random bytes
	return cost.ItemSize(a) + f.Reserved.VersionSize() + incarnation
}

// numbers counts the numbers in an item.
func numbers(a item.Attributes) int {
	n := 0
	var walk func(types.AttributeValue)
	walk = func(v types.AttributeValue) {
		switch v := v.(type) {
		case *types.AttributeValueMemberN:
			n++
		case *types.AttributeValueMemberNS:
			n += len(v.Value)
		case *types.AttributeValueMemberL:
			for _, e := range v.Value {
				walk(e)
			}
		case *types.AttributeValueMemberM:
			for _, e := range v.Value {
				walk(e)
			}
		}
	}
	for _, v := range a {
		walk(v)
	}
	return n
}

func sameItem(a, b item.Attributes) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if !attr.Same(v, b[name]) {
			return false
		}
	}
	return true
}

// checkMinimum edits an entity at random and saves it. The requests and the charge are the minimum (law
// 1) and as planned, and the stored entity equals the value. It returns the numbers of edits that
// changed no, one, and several items.
func checkMinimum(f *fixture, edits int) (none, one, several int) {
	f.Helper()
	v := f.gen.New()
	s := f.mustInsert(v)
	for range edits {
		old := f.itemsOf(v)
		f.gen.Edit(v)
		l := f.minimum(old, f.itemsOf(v))
		dirty, wcu := l.dirty, l.wcu
		switch dirty {
		case 0:
			none++
		case 1:
			one++
		default:
			several++
		}
		requests := min(dirty, 1)
		if l.confirms {
			requests++
		}
		if dirty > 1 {
			wcu *= 2 // for atomicity
		}
		plan, err := f.planSave(s, v, nil)
		if err != nil {
			f.Fatalf("%s: plan: %v", f.Schema.Label(), err)
		}
		receipt, err := f.again(s, v)
		if err != nil {
			f.Fatalf("%s: save: %v", f.Schema.Label(), err)
		}
		if len(plan.Items) != dirty || plan.Requests != requests || !costs(plan.WCU, wcu) {
			f.Fatalf("%s: %d items differ, %v WCU; planned %v", f.Schema.Label(), dirty, wcu, plan)
		}
		if l.confirms != (receipt.Consumed.RCU > 0) || plan.RCU != receipt.Predicted().RCU ||
			!plan.RCU.Contains(receipt.Consumed.RCU) || !plan.RCU.Exact() {
			f.Fatalf("%s: the root item is read, %v: planned %v, sent %v", f.Schema.Label(), l.confirms, plan, receipt)
		}
		if receipt.Predicted().Requests != requests || !costs(receipt.Predicted().WCU, wcu) {
			f.Fatalf("%s: %d items differ, %v WCU; sent %v", f.Schema.Label(), dirty, wcu, receipt)
		}
		exact := testengine.ReportsTransactions(f) || dirty <= 1 && l.sure
		if exact && receipt.Consumed.WCU != wcu {
			f.Fatalf("%s: %v WCU; the engine reports %v", f.Schema.Label(), wcu, receipt)
		}
	}
	got, _ := f.mustRead(v)
	f.gen.Normalize(v)
	f.gen.Normalize(got)
	if d := cmp.Diff(v, got, models.Options); d != "" {
		f.Fatalf("%s (-saved +loaded):\n%s", f.Schema.Label(), d)
	}
	return none, one, several
}

// costs reports whether units are expected to be so many, and may be.
func costs(u cost.Units, wcu float64) bool { return u.Expected == wcu && u.Contains(wcu) }

// Law 1: random edits of random entities, a thousand in .ci/full, cost the theoretical minimum
// of requests and units, to the unit.
func TestOnlyDirtyItemsAreWritten(t *testing.T) {
	t.Parallel()
	r := random(t)
	var none, one, several int
	check := func(f *fixture, edits int) {
		f.Helper()
		n, o, s := checkMinimum(f, edits)
		none, one, several = none+n, one+o, several+s
	}
	for _, m := range family(r) {
		typ := reflect.TypeOf(m).Elem()
		t.Run(typ.Name(), func(t *testing.T) { check(newFixture(t, r, typ), draws.Times(4, 16, 160)) })
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	for i := range draws.Times(10, 40, 400) {
		check(fixtureOn(t, r, models.Type(r, i), map[string]string{"random": table}), 8)
	}
	t.Logf("%d edits changed nothing, %d one item, %d several", none, one, several)
	if parts := draws.Times(15, 1, 1); none+one+several < 1000/parts || none < 50/parts || one < 100/parts ||
		several < 100/parts {
		t.Error("too few edits of one kind: the test proves little")
	}
}
