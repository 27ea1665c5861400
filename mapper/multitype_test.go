package mapper_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// buyer and purchase are two models whose items are in one partition: a buyer, and its purchases.
type buyer struct {
	_      struct{}    `ddb:"table=shop"`
	ID     string      `ddb:"pk=BUYER#{ID}"`
	Name   string      `ddb:"sk=A"`
	Notes  []part      `ddb:"sk=NOTE#{N:02}"`
	Wishes []buyerWish `ddb:"sk=WISH#{N:02}"`
}

type buyerWish struct {
	N    int
	Text string
}

type purchase struct {
	_     struct{} `ddb:"table=shop"`
	Buyer string   `ddb:"pk=BUYER#{Buyer}"`
	N     int
	Total int            `ddb:"sk=PURCHASE#{N:04}#HEAD"`
	Lines []purchaseLine `ddb:"sk=PURCHASE#{^N:04}#LINE#{Line:02}"`
}

type purchaseLine struct {
	Line int
	SKU  string
}

type offering struct {
	_      struct{}    `ddb:"table=shop"`
	ID     string      `ddb:"pk=OFFERING#{ID}"`
	Name   string      `ddb:"sk=A"`
	Notes  []part      `ddb:"sk=NOTE#{N:02}"`
	Offers []part      `ddb:"sk=OFFER#{N:02}"`
	Wishes []buyerWish `ddb:"sk=WISH#{N:02}"`
}

// One query reads several types of one collection in order of their sort keys, in both directions, with
// a limit, and with answers that end anywhere. Searches without one common range are refused.
func TestMultiTypeQueries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	for _, size := range []int32{1, 2, 3, 100} {
		c := &small{Client: testengine.Start(t).Client(), n: size}
		buyers := must(mapper.New[buyer](c, mapper.Table(table)))(t)
		purchases := must(mapper.New[purchase](c, mapper.Table(table)))(t)
		id := fmt.Sprint(size)
		must(buyers.Save(ctx,
			buyers.New(buyer{
				ID: id, Name: "n", Notes: []part{{1, "a"}, {2, "b"}},
				Wishes: []buyerWish{{1, "x"}, {2, "y"}},
			})))(t)
		for n := range 3 {
			must(purchases.Save(ctx,
				purchases.New(purchase{Buyer: id, N: n + 1, Total: n, Lines: []purchaseLine{{1, "s"}, {2, "t"}}})))(t)
		}
		key := buyers.Key(id)
		notes, wishes := query.Of[part](key.Prefix("NOTE#")), query.Of[buyerWish](key.Prefix("WISH#"))
		bought := query.Of[purchase](purchases.Key(id))
		all := query.Merge(wishes.On(buyers), notes.On(buyers), bought.On(purchases))
		text := func(j query.Merged, options ...query.ReadOption) (out string) {
			for _, x := range must(j.Collect(ctx, options...))(t) {
				switch x := x.(type) {
				case query.Ref[part]:
					out += " " + x.Sort + x.Value.Text
				case query.Ref[buyerWish]:
					out += " " + x.Sort + x.Value.Text
				case query.Ref[purchase]:
					out += fmt.Sprint(" ", x.Sort, len(x.Value.Lines))
				}
			}
			return out
		}
		var r mapper.Receipt
		forwards := " NOTE#01a NOTE#02b PURCHASE#0001#HEAD2 PURCHASE#0002#HEAD2 PURCHASE#0003#HEAD2 WISH#01x WISH#02y"
		if got := text(all, mapper.Strong(), mapper.ReceiptTo(&r)); got != forwards {
			t.Errorf("answers of %d: %s", size, got)
		}
		if size == 100 && r.Predicted().Requests > 1 {
			t.Errorf("%v", &r)
		}
		backwards := " WISH#02y WISH#01x PURCHASE#0003#HEAD2 PURCHASE#0002#HEAD2 PURCHASE#0001#HEAD2 NOTE#02b NOTE#01a"
		if got := text(all.Reverse()); got != backwards {
			t.Errorf("answers of %d, reversed: %s", size, got)
		}
		if got := text(all.Limit(3)); !strings.HasPrefix(forwards, got) || strings.Count(got, " ") != 3 {
			t.Errorf("answers of %d, limited: %s", size, got)
		}
		offerings := must(mapper.New[offering](c, mapper.Table(table)))(t)
		offering := offerings.Key(id)
		for name, c := range map[string]struct {
			of   query.Merged
			want string
		}{
			"nothing": {query.Merge(), "has no queries"},
			"partitions": {query.Merge(notes.On(buyers),
				query.Of[buyerWish](buyers.Key("other").Prefix("WISH#")).On(buyers)), "for one partition"},
			"twice": {query.Merge(notes.On(buyers), notes.On(buyers)), "do not overlap"},
			"between": {query.Merge(notes.On(buyers), query.Of[buyerWish](key.Prefix("WISH#")).On(buyers),
				query.Of[purchaseLine](purchases.Key(id, 1).Prefix("PURCHASE#0001#LINE#")).On(purchases)), ""},
			"a limit": {query.Merge(notes.Limit(1).On(buyers)), "leave them out, and call Limit and Reverse on the " +
				"merged query"},
			"in vain": {
				query.Merge(query.Of[purchaseLine](purchases.Key(id, 1).Prefix("PURCHASE#0001#LINE#")).On(purchases),
					query.Of[purchaseLine](purchases.Key(id, 3).Prefix("PURCHASE#0003#LINE#")).On(purchases)), "",
			},
			"a gap": {
				query.Merge(query.Of[part](offering.Prefix("NOTE#")).On(offerings),
					query.Of[buyerWish](offering.Prefix("WISH#")).On(offerings)),
				"would read Offers (OFFER#{N:02}) between its queries in vain",
			},
			"all": {
				query.Merge(notes.On(buyers), query.Of[buyerWish](key.Prefix("WISH#")).Reverse().On(buyers)),
				"leave them out, and call Limit and Reverse on the merged query",
			},
		} {
			_, err := c.of.Collect(ctx)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
