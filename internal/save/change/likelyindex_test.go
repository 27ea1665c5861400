package change_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/tables"
)

// hive has an index of its root item, and one of its elements.
type hive struct {
	_      struct{}   `ddb:"table=hives,ttl=gone"`
	_      struct{}   `ddb:"index=byKeeper,hash=GSI1PK,range=GSI1SK,pk=K#{Keeper},sk={At}"`
	_      struct{}   `ddb:"index=byPart,hash=GSI2PK,range=GSI2SK,pk=T#{Text},sk={N:02},on=Parts"`
	ID     string     `ddb:"pk=HIVE#{ID}"`
	Keeper string     `ddb:"sk=HEAD"`
	Breed  string     `ddb:"sk=HEAD"`
	At     time.Time  `ddb:"sk=HEAD"`
	Count  int        `ddb:"sk=TALLY"`
	Parts  []kit.Part `ddb:"sk=PART#{N:02}"`
}

// The expected price of a patch has the entries in indexes: of the item that it updates, as far as its size is
// known, and of the element that it adds.
func TestPatchesExpectEntriesInIndexes(t *testing.T) {
	t.Parallel()
	ctx, c := context.Background(), testengine.Start(t).Client()
	m := kit.Must(mapper.New[hive](c, mapper.Table("hives"+testengine.Table(t, "PK:S", "SK:S"))))(t)
	for _, d := range tables.Of(m) {
		kit.Must(c.CreateTable(ctx, d.Create))(t)
	}
	kit.Must(m.Save(ctx, m.New(hive{ID: "1", Keeper: "a", At: time.Now(), Count: 1})))(t)
	breed := handmade.String[hive, string]("Breed", "", func(v *hive) *string { return &v.Breed })
	keeper := handmade.String[hive, string]("Keeper", "", func(v *hive) *string { return &v.Keeper })
	at := handmade.Time[hive, time.Time]("At", "", func(v *hive) *time.Time { return &v.At })
	count := handmade.Number[hive, int]("Count", "", func(v *hive) *int { return &v.Count })
	head := func(x string, more ...field.Change[hive]) *mapper.Patch[hive] {
		p := mapperimpl.Item[hive, hive](m.Key("1").Item("HEAD"), 0).Patch(append(more, breed.Set(x))...)
		return new(mapper.Patch[hive]).And(p)
	}
	tally := mapperimpl.Item[hive, hive](m.Key("1").Item("TALLY"), 1).Patch(count.Increment(1))
	parts := handmade.Elements[hive, kit.Part]{Node: handmade.Node(m.Key("1")), Item: 2}
	transactions := testengine.ReportsTransactions(t)
	for name, patch := range map[string]func(i int) *mapper.Patch[hive]{
		"a field": func(i int) *mapper.Patch[hive] { return head(fmt.Sprint(i)) },
		"a field of the key": func(i int) *mapper.Patch[hive] {
			return head("", keeper.Set(fmt.Sprint(i)), at.Set(time.Unix(int64(i), 0)))
		},
		"an element": func(i int) *mapper.Patch[hive] { return parts.Add(kit.Part{N: i, Text: "x"}) },
		"an element and a counter": func(i int) *mapper.Patch[hive] {
			return parts.Add(kit.Part{N: 50 + i, Text: "x"}).And(tally)
		},
		"a counter":                   func(int) *mapper.Patch[hive] { return new(mapper.Patch[hive]).And(tally) },
		"an element that is replaced": func(int) *mapper.Patch[hive] { return parts.Put(kit.Part{N: 99, Text: "x"}) },
	} {
		for i := range 4 {
			r := kit.Must(patch(i+1).Exec(ctx, m))(t)
			if !transactions && len(r.Predicted().Items) > 1 {
				continue // DynamoDB Local doubles the entries of transactions
			}
			if got := r.Predicted().WCU.Expected; got != r.Consumed.WCU && i > 0 {
				t.Errorf("%s, no. %d: expected %v WCU, consumed %v: %v", name, i, got, r.Consumed.WCU, r)
			}
		}
	}
}
