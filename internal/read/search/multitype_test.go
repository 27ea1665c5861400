package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// buyer and purchase are two models whose items are in one partition: a buyer, and its purchases.
type buyer struct {
	_      struct{}    `ddb:"table=shop"`
	ID     string      `ddb:"pk=BUYER#{ID}"`
	Name   string      `ddb:"sk=A"`
	Notes  []kit.Part  `ddb:"sk=NOTE#{N:02}"`
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
	Notes  []kit.Part  `ddb:"sk=NOTE#{N:02}"`
	Offers []kit.Part  `ddb:"sk=OFFER#{N:02}"`
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
		buyers := kit.Must(mapper.New[buyer](c, mapper.Table(table)))(t)
		purchases := kit.Must(mapper.New[purchase](c, mapper.Table(table)))(t)
		id := fmt.Sprint(size)
		kit.Must(buyers.Save(ctx,
			buyers.New(buyer{
				ID: id, Name: "n", Notes: []kit.Part{{N: 1, Text: "a"}, {N: 2, Text: "b"}},
				Wishes: []buyerWish{{1, "x"}, {2, "y"}},
			})))(t)
		for n := range 3 {
			kit.Must(purchases.Save(ctx,
				purchases.New(purchase{Buyer: id, N: n + 1, Total: n, Lines: []purchaseLine{{1, "s"}, {2, "t"}}})))(t)
		}
		key := buyers.Key(id)
		notes, wishes := query.Of[kit.Part](key.Prefix("NOTE#")), query.Of[buyerWish](key.Prefix("WISH#"))
		bought := query.Of[purchase](purchases.Key(id))
		all := query.Merge(wishes.On(buyers), notes.On(buyers), bought.On(purchases))
		text := func(j query.Merged, options ...query.ReadOption) (out string) {
			for _, x := range kit.Must(j.Collect(ctx, options...))(t) {
				switch x := x.(type) {
				case query.Ref[kit.Part]:
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
		offerings := kit.Must(mapper.New[offering](c, mapper.Table(table)))(t)
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
				query.Merge(query.Of[kit.Part](offering.Prefix("NOTE#")).On(offerings),
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

// The limit of Merge reads as much as the limit of one query. (It was once ignored for reads.)
func TestMultiTypeQueryLimitBoundsReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c, table := testengine.Start(t).Client(), testengine.Table(t, "PK:S", "SK:S")
	buyers := kit.Must(mapper.New[buyer](c, mapper.Table(table)))(t)
	v := buyer{ID: "1", Name: "n"}
	for n := range 60 {
		v.Notes = append(v.Notes, kit.Part{N: n, Text: string(make([]byte, 4000))})
		v.Wishes = append(v.Wishes, buyerWish{n, "x"})
	}
	kit.Must(buyers.Save(ctx, buyers.New(v)))(t)
	notes, wishes := query.Of[kit.Part](buyers.Key("1").Prefix("NOTE#")),
		query.Of[buyerWish](buyers.Key("1").Prefix("WISH#"))
	var a, b mapper.Receipt
	kit.Must(notes.Limit(1).Collect(ctx, buyers, mapper.ReceiptTo(&a)))(t)
	kit.Must(query.Merge(notes.On(buyers), wishes.On(buyers)).Limit(1).Collect(ctx, mapper.ReceiptTo(&b)))(t)
	t.Logf("alone:\n%v\ntogether:\n%v", &a, &b)
	if fmt.Sprint(&a) != fmt.Sprint(&b) {
		t.Error("Limit(1) of Merge reads more than that of one query")
	}
}

type bareOrder struct {
	_     struct{}       `ddb:"table=shop"`
	Buyer string         `ddb:"pk=BUYER#{Buyer}"`
	Code  string         `ddb:"sk=ORDER#{Code}"`
	Total int            `ddb:"sk=ORDER#{Code}"`
	Lines []purchaseLine `ddb:"sk=ORDER#{^Code}#LINE#{Line:02}"`
}

// Merge yields what the queries yield by themselves.
func TestMultiTypeQueryYieldsWhatItsQueriesYield(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	seed := draws.Seed(t)
	for _, size := range []int32{1, 2, 3, 4, 100} {
		c := &small{Client: testengine.Start(t).Client(), n: size}
		buyers := kit.Must(mapper.New[buyer](c, mapper.Table(table)))(t)
		orders, err := mapper.New[bareOrder](c, mapper.Table(table))
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint(size)
		kit.Must(buyers.Save(ctx,
			buyers.New(buyer{
				ID: id, Name: "n", Notes: []kit.Part{{N: 1, Text: "a"}, {N: 2, Text: "b"}},
				Wishes: []buyerWish{{1, "x"}, {2, "y"}},
			})))(t)
		for _, code := range []string{"a", "a!", "a!!", "a b", "ab", "b"} {
			kit.Must(orders.Save(ctx,
				orders.New(bareOrder{Buyer: id, Code: code, Lines: []purchaseLine{{1, "s"}, {2, "t"}}})))(t)
		}
		key := buyers.Key(id)
		notes, wishes, bought := query.Of[kit.Part](key.Prefix("NOTE#")), query.Of[buyerWish](key.Prefix("WISH#")),
			query.Of[bareOrder](orders.Key(id))
		for _, drawn := range draws.Some(seed+uint64(size), 24, draws.Times(2, draws.All, draws.All)) {
			limit, rev := drawn/2, drawn%2 == 1
			n, w, o := notes, wishes, bought
			j := query.Merge(wishes.On(buyers), notes.On(buyers), bought.On(orders)).Limit(limit)
			if rev {
				n, w, o, j = n.Reverse(), w.Reverse(), o.Reverse(), j.Reverse()
			}
			var want [3][]string
			for x, err := range n.Refs(ctx, buyers) {
				if err != nil {
					t.Fatal(err)
				}
				want[0] = append(want[0], x.Sort)
			}
			for x, err := range o.Refs(ctx, orders) {
				if err != nil {
					t.Fatal(err)
				}
				want[1] = append(want[1], fmt.Sprint(x.Sort, len(x.Value.Lines)))
			}
			for x, err := range w.Refs(ctx, buyers) {
				if err != nil {
					t.Fatal(err)
				}
				want[2] = append(want[2], x.Sort)
			}
			if rev {
				want[0], want[2] = want[2], want[0]
			}
			all := slices.Concat(want[:]...)
			if limit > 0 {
				all = all[:min(limit, len(all))]
			}
			var got []string
			for _, x := range kit.Must(j.Collect(ctx))(t) {
				switch x := x.(type) {
				case query.Ref[kit.Part]:
					got = append(got, x.Sort)
				case query.Ref[buyerWish]:
					got = append(got, x.Sort)
				case query.Ref[bareOrder]:
					got = append(got, fmt.Sprint(x.Sort, len(x.Value.Lines)))
				}
			}
			if !slices.Equal(got, all) {
				t.Errorf("answers of %d, limit %d, reverse %v:\n got %v\nwant %v", size, limit, rev, got, all)
			}
		}
	}
}
