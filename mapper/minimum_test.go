package mapper

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/modeltest"
	"github.com/itemize/itemize/internal/modeltest/models"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// itemsOf encodes every item of a value in full: the oracle that saves are
// measured against. It knows nothing of snapshots and differences.
func (f *fixture) itemsOf(v any) map[place]read.Item {
	f.Helper()
	keyFields, err := f.keyFields(v)
	if err != nil {
		f.Fatal(err)
	}
	pk, err := f.partitionKey(keyFields)
	if err != nil {
		f.Fatal(err)
	}
	items := map[place]read.Item{}
	add := func(it *schema.Item, rec any, pos codec.Pos) {
		sk, err := f.sortKey(it, keyFields, rec, pos)
		if err != nil {
			f.Fatal(err)
		}
		at := place{it.Table.Index, pk, sk}
		item := f.reader.Key(at.table, at.pk, at.sk)
		for i, a := range it.Attributes {
			av, err := f.codec.Record(it.Index).Encode(rec, i)
			if err != nil {
				f.Fatal(err)
			}
			if av != nil {
				item[a.Name] = av
			}
		}
		d := &diff{c: f.core}
		if av := d.expiry(it, v, rec); av != nil {
			item[f.schema.TTL] = av
		}
		items[at] = item
	}
	for _, it := range f.schema.Items {
		if !it.Element() {
			if it == f.schema.Root || f.codec.Record(it.Index).Present(v) {
				add(it, v, codec.Pos{})
			}
			continue
		}
		f.codec.Elements(it.Index).Each(v, func(pos codec.Pos, rec any) bool {
			add(it, rec, pos)
			return true
		})
	}
	return items
}

// least is the least that a save can be.
type least struct {
	dirty int
	wcu   float64
	// sure tells that the units do not hang on the size of numbers, which is only
	// known to a byte for each.
	sure bool
}

// minimum returns how many items differ, and the WCU of writing just those.
func (f *fixture) minimum(old, new map[place]read.Item) least {
	l := least{sure: true}
	add := func(old, new read.Item) {
		a, b := f.size(old), f.size(new)
		units := cost.Put(a, b)
		l.dirty++
		l.wcu += units
		l.sure = l.sure && units == cost.Put(a+numbers(old), b+numbers(new))
	}
	for at, item := range new {
		if was, ok := old[at]; !ok || !sameItem(was, item) {
			add(old[at], item)
		}
	}
	for at, item := range old {
		if new[at] == nil {
			add(item, nil)
		}
	}
	return l
}

func (f *fixture) size(item read.Item) int {
	if item == nil {
		return 0
	}
	n := cost.ItemSize(item)
	if f.schema.Version != "" {
		n += len(f.schema.Version) + tokenSize
	}
	return n
}

// numbers counts the numbers in an item.
func numbers(item read.Item) int {
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
	for _, v := range item {
		walk(v)
	}
	return n
}

func sameItem(a, b read.Item) bool {
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

// checkMinimum edits an entity at random and saves it: what is sent and charged
// is the least that can be (law 1), as planned, and what is stored is the value.
// It returns how many edits differed in no, one, and several items.
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
		if dirty > 1 {
			wcu *= 2 // for atomicity
		}
		p, err := f.planSave(s, v, writeSettings{})
		if err != nil {
			f.Fatalf("%s: plan: %v", f.schema.Label(), err)
		}
		plan := p.describe()
		receipt, err := f.again(s, v)
		if err != nil {
			f.Fatalf("%s: save: %v", f.schema.Label(), err)
		}
		if len(plan.Items) != dirty || plan.Requests() != requests || plan.WCU != cost.Exactly(wcu) {
			f.Fatalf("%s: %d items differ, %v WCU; planned %v", f.schema.Label(), dirty, wcu, plan)
		}
		if receipt.Requests() != requests || receipt.WCU != cost.Exactly(wcu) {
			f.Fatalf("%s: %d items differ, %v WCU; sent %v", f.schema.Label(), dirty, wcu, receipt)
		}
		exact := enginetest.ReportsTransactions(f) || dirty <= 1 && l.sure
		if exact && receipt.Consumed.WCU != wcu {
			f.Fatalf("%s: %v WCU; the engine reports %v", f.schema.Label(), wcu, receipt)
		}
	}
	got, _ := f.mustRead(v)
	f.gen.Normalize(v)
	f.gen.Normalize(got)
	if d := cmp.Diff(v, got, modeltest.Options); d != "" {
		f.Fatalf("%s (-saved +loaded):\n%s", f.schema.Label(), d)
	}
	return none, one, several
}

// Law 1: a thousand random edits of random entities cost the theoretical minimum
// of requests and units, to the unit.
func TestOnlyDirtyItemsAreWritten(t *testing.T) {
	r := random(t)
	var none, one, several int
	check := func(f *fixture, edits int) {
		f.Helper()
		n, o, s := checkMinimum(f, edits)
		none, one, several = none+n, one+o, several+s
	}
	for _, m := range models.All {
		typ := reflect.TypeOf(m).Elem()
		t.Run(typ.Name(), func(t *testing.T) { check(newFixture(t, r, typ), 16) })
	}
	table := enginetest.Table(t, "PK:S", "SK:S")
	for i := range 40 {
		check(fixtureOn(t, r, modeltest.Type(r, i), map[string]string{"random": table}), 8)
	}
	t.Logf("%d edits changed nothing, %d one item, %d several", none, one, several)
	if none+one+several < 1000 || none < 50 || one < 100 || several < 100 {
		t.Error("too few edits of one kind: the test proves little")
	}
}
