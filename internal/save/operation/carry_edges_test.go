package operation_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// putPlain stores an item without the library.
func putPlain(t *testing.T, table string, a map[string]types.AttributeValue) {
	t.Helper()
	in := &dynamodb.PutItemInput{TableName: aws.String(table), Item: a}
	kit.Must(testengine.Start(t).Client().PutItem(context.Background(), in))(t)
}

// A repeated move leaves items of removed fields where they are.
func TestRepeatedMovesLeaveUnknownItems(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	type row struct{ N int }
	type old struct {
		_    struct{} `ddb:"table=spread,shards=20,shardby=ID"`
		ID   string   `ddb:"sk={ID}#H,stored"`
		_    struct{} `ddb:"pk=S#{shard}"`
		Text string   `ddb:"sk={ID}#H"`
		Old  []row    `ddb:"sk={^ID}#OLD#{N:04}"`
	}
	type next struct {
		_    struct{} `ddb:"table=spread,shards='40,20',shardby=ID"`
		ID   string   `ddb:"sk={ID}#H,stored"`
		_    struct{} `ddb:"pk=S#{shard}"`
		Text string   `ddb:"sk={ID}#H"`
	}
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	a := kit.Must(mapper.New[old](testengine.Start(t).Client(), table))(t)
	b := kit.Must(mapper.New[next](testengine.Start(t).Client(), table))(t)
	for i := range 12 {
		id := fmt.Sprint("e", i)
		kit.Must(a.Save(ctx, a.New(old{ID: id, Text: "x", Old: []row{{1}}})))(t)
		kit.Must(b.Save(ctx, kit.Must(b.Load(ctx, b.Key(id)))(t), mapper.Move()))(t)
		if _, err := b.Save(ctx, kit.Must(b.Load(ctx, b.Key(id), mapper.Strong()))(t), mapper.Move()); err != nil {
			t.Error("the second scan:", err)
		}
	}
}

// A repeated move finishes an interrupted one from a shard that was drawn.
func TestRepeatedMovesOfDrawnShards(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	type row struct{ K int }
	type before struct {
		_    struct{} `ddb:"table=logs,shards=20,shardby=random"`
		Log  string   `ddb:"pk=L#{Log}#{shard}"`
		N    int      `ddb:"sk={N:06}#H"`
		To   string   `ddb:"sk={N:06}#H"`
		Rows []row    `ddb:"sk={^N:06}#R#{K:02}"`
	}
	type fewer struct {
		_    struct{} `ddb:"table=logs,shards='2,20',shardby=random"`
		Log  string   `ddb:"pk=L#{Log}#{shard}"`
		N    int      `ddb:"sk={N:06}#H"`
		To   string   `ddb:"sk={N:06}#H"`
		Rows []row    `ddb:"sk={^N:06}#R#{K:02}"`
	}
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	a := kit.Must(mapper.New[before](testengine.Start(t).Client(), table))(t)
	b := kit.Must(mapper.New[fewer](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	stopped := kit.Must(mapper.New[fewer](kit.Client(t, f, 1), table))(t)
	for i := range 20 {
		kit.Must(a.Save(ctx, a.New(before{Log: "l", N: i})))(t)
	}
	loaded := map[int]*mapper.Entity[fewer]{}
	for e, err := range b.Scan(ctx) {
		loaded[e.Value.N] = kit.Must(e, err)(t)
	}
	acked := map[int]bool{}                 // the scan can find an entity again, after its move
	for e, err := range stopped.Scan(ctx) { // this program adds, moves, and stops before it carries
		if err != nil {
			t.Fatal(err)
		}
		moves := 0
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] != "TransactWriteItems" {
				return kit.None
			}
			if moves++; moves > 1 || acked[e.Value.N] {
				return kit.Deny
			}
			o := loaded[e.Value.N]
			o.Value.Rows = []row{{1}}
			kit.Must(b.Save(ctx, o))(t)
			acked[e.Value.N] = true
			return kit.None
		}
		_, _ = stopped.Save(ctx, e, mapper.Move())
		f.Pick = nil
	}
	for e, err := range b.Scan(ctx) { // the scan of the recipe, again: no error, no conflict
		kit.Must(b.Save(ctx, kit.Must(e, err)(t), mapper.Move()))(t)
	}
	rows := 0
	for e, err := range query.Of[fewer](b.Key("l")).All(ctx, b) {
		if err != nil {
			t.Fatal(err)
		}
		rows += len(e.Rows)
	}
	if rows != len(acked) {
		t.Errorf("%d rows of %d that were acknowledged, after a scan without an error", rows, len(acked))
	}
}

// A repeated move finishes an interrupted one, also of an entity without an incarnation.
func TestRepeatedMovesWithoutIncarnations(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	type row struct{ N int }
	type old struct {
		_    struct{} `ddb:"table=spread,shards=20,shardby=ID"`
		ID   string   `ddb:"sk={ID}#H"`
		_    struct{} `ddb:"pk=S#{shard}"`
		Text string   `ddb:"sk={ID}#H"`
		Rows []row    `ddb:"sk={^ID}#R#{N:04}"`
	}
	type next struct {
		_    struct{} `ddb:"table=spread,shards='40,20',shardby=ID"`
		ID   string   `ddb:"sk={ID}#H"`
		_    struct{} `ddb:"pk=S#{shard}"`
		Text string   `ddb:"sk={ID}#H"`
		Rows []row    `ddb:"sk={^ID}#R#{N:04}"`
	}
	name := testengine.Table(t, "PK:S", "SK:S")
	a := kit.Must(mapper.New[old](testengine.Start(t).Client(), mapper.Table(name)))(t)
	b := kit.Must(mapper.New[next](testengine.Start(t).Client(), mapper.Table(name)))(t)
	f := &kit.Faulty{At: -1}
	stopped := kit.Must(mapper.New[next](kit.Client(t, f, 1), mapper.Table(name)))(t)
	for i := range 12 {
		id := fmt.Sprint("e", i)
		pk := kit.Must(a.PlanSave(a.New(old{ID: id})))(t).Items[0].Key.Partition
		putPlain(t, name, map[string]types.AttributeValue{
			"PK": kit.S(fmt.Sprint(pk)), "SK": kit.S(id + "#H"), "Text": kit.S("x"),
		})
		other, moving := kit.Must(b.Load(ctx, b.Key(id)))(t), kit.Must(stopped.Load(ctx, stopped.Key(id)))(t)
		moves := 0
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] != "TransactWriteItems" {
				return kit.None
			}
			if moves++; moves > 1 {
				return kit.Deny
			}
			other.Value.Rows = []row{{1}}
			kit.Must(b.Save(ctx, other))(t)
			return kit.None
		}
		_, err := stopped.Save(ctx, moving, mapper.Move())
		f.Pick = nil
		if err == nil { // it is on its shard already
			continue
		}
		r := kit.Must(b.Save(ctx, kit.Must(b.Load(ctx, b.Key(id), mapper.Strong()))(t), mapper.Move()))(t)
		if got := kit.Must(b.Load(ctx, b.Key(id), mapper.Strong()))(t).Value.Rows; len(got) != 1 &&
			len(r.LeftBehind) == 0 {
			t.Fatalf("the repeated move reports success, and the acknowledged row is lost: %v", r)
		}
	}
}

// An item without an incarnation is not carried away from an entity that another program inserts at the old key.
func TestCarriesTakeNothingFromTheNextEntity(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m2 := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Client(t, f, 1))
	kit.Must(m2.Save(ctx, m2.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	transactions := 0
	f.Pick = func() kit.Fault {
		switch op := f.Log[len(f.Log)-1]; {
		case op == "Query": // another program inserts an entity at key 1: an element,
			putPlain(t, table, map[string]types.AttributeValue{
				"PK": kit.S("BOARD#1"), "SK": kit.S("ROW#07"), "Text": kit.S("foreign"),
			})
		case op == "TransactWriteItems":
			if transactions++; transactions == 2 { // and the root item
				putPlain(t, table, map[string]types.AttributeValue{
					"PK": kit.S("BOARD#1"), "SK": kit.S("A"), "Text": kit.S("next"),
				})
				if len(loadBoard(t, m2, "1").Rows) != 1 {
					t.Fatal("the new entity has no row")
				}
			}
		}
		return kit.None
	}
	e.Value.ID = "2"
	r, err := m.Save(ctx, e, mapper.Move())
	if got := loadBoard(t, m2, "1").Rows; len(got) == 0 {
		t.Errorf("the row of the live entity 1 was moved to entity 2: %v, carried %v, left behind %v", err, r.Carried,
			r.LeftBehind)
	}
}

// A carried item replaces a leftover item of a deleted entity.
func TestCarriesReplaceLeftovers(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Client(t, f, 1))
	putPlain(t, table, map[string]types.AttributeValue{
		"PK": kit.S("BOARD#2"), "SK": kit.S("ROW#01"), "_a": bytesOf("deadbeef"), "_v": bytesOf("12345678"),
	})
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	other, e := kit.Must(clean.Load(ctx, clean.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	f.Pick = func() kit.Fault {
		if other.Value.Rows == nil {
			other.Value.Rows = []kit.Cells{{N: 1, Text: "late"}}
			kit.Must(clean.Save(ctx, other))(t)
		}
		return kit.None
	}
	e.Value.ID = "2"
	for range 3 {
		if r, err := m.Save(ctx, e, mapper.Move()); err != nil {
			t.Errorf("%v: %d requests", err, r.Predicted().Requests)
		}
	}
}

// The plan of a repeated move has the queries of the former shards.
func TestPlansOfRepeatedMoves(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n})))(t)
	s := kit.Must(x.C.Load(ctx, x.C.Key("s", n)))(t)
	kit.Must(x.C.Save(ctx, s, mapper.Move()))(t)
	p := kit.Must(x.C.PlanSave(s, mapper.Move()))(t)
	r := kit.Must(x.C.Save(ctx, s, mapper.Move()))(t)
	if p.Requests != r.Predicted().Requests {
		t.Errorf("planned %d requests, %v RCU; sent %d, %v RCU", p.Requests, p.RCU, r.Predicted().Requests,
			r.Consumed.RCU)
	}
}

// LeftBehind has no items of a staged insert that is under way, and none that was carried though its answer was
// lost.
func TestLeftBehindNamesWhatStays(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	t.Run("a staged insert under way", func(t *testing.T) {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
		f := &kit.Faulty{At: -1}
		m := boardsOf(t, table, kit.Client(t, f, 1))
		kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		e.Value.ID = "2"
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] == "Query" {
				putPlain(t, table, map[string]types.AttributeValue{
					"PK": kit.S("BOARD#1"), "SK": kit.S("A"), "_a": bytesOf("abcdefgh"), "_v": bytesOf("12345678"),
					"_s": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
						"state": kit.S("inserting"), "since": &types.AttributeValueMemberN{Value: "1795000000"},
					}},
				})
				putPlain(t, table, map[string]types.AttributeValue{
					"PK": kit.S("BOARD#1"), "SK": kit.S("ROW#05"), "_a": bytesOf("abcdefgh"), "_v": bytesOf("12345678"),
					"_s": &types.AttributeValueMemberBOOL{Value: true},
				})
			}
			return kit.None
		}
		r := kit.Must(m.Save(ctx, e, mapper.Move()))(t)
		if len(r.LeftBehind) > 0 {
			t.Errorf("LeftBehind: %v", r.LeftBehind)
		}
	})
	t.Run("an item that was carried", func(t *testing.T) {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
		f := &kit.Faulty{At: -1}
		m := boardsOf(t, table, kit.Client(t, f, 1))
		kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
		other, e := kit.Must(clean.Load(ctx, clean.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
		moves := 0
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] == "TransactWriteItems" {
				switch moves++; moves {
				case 1:
					other.Value.Rows = []kit.Cells{{N: 1, Text: "late"}}
					kit.Must(clean.Save(ctx, other))(t)
				case 2:
					return kit.DropAnswer
				}
			}
			if moves > 1 {
				return kit.DropRequest
			}
			return kit.None
		}
		e.Value.ID = "2"
		r, err := m.Save(ctx, e, mapper.Move())
		if len(loadBoard(t, clean, "2").Rows) == 1 && len(r.LeftBehind) > 0 {
			t.Errorf("it is carried, but LeftBehind has it (%v), and the error says: %v", r.LeftBehind, err)
		}
	})
}

// An addition to an entity that has one shard before and after the change needs no check.
func TestAdditionsOnOneShard(t *testing.T) {
	x := kit.NewShops(t)
	for n := 1; n < 20; n++ {
		at := func(p *mapper.Plan, err error) any { return kit.Must(p, err)(t).Items[0].Key.Partition }
		before, after := x.A.New(kit.ShopOld{Shop: "s", N: n}), x.D.New(kit.ShopAfter{Shop: "s", N: n})
		if at(x.A.PlanSave(before)) != at(x.D.PlanSave(after)) {
			continue // it has two shards
		}
		kit.Must(x.A.Save(context.Background(), x.A.New(kit.ShopOld{Shop: "s", N: n})))(t)
		e := kit.Must(x.C.Load(context.Background(), x.C.Key("s", n)))(t)
		e.Value.Line = []kit.Part{{N: 1}}
		if p := kit.Must(x.C.PlanSave(e))(t); p.WCU.Max != 1 {
			t.Fatal(p)
		}
	}
}
