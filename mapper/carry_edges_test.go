package mapper_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// putPlain stores an item without the library.
func putPlain(t *testing.T, table string, a map[string]types.AttributeValue) {
	t.Helper()
	in := &dynamodb.PutItemInput{TableName: aws.String(table), Item: a}
	must(testengine.Start(t).Client().PutItem(context.Background(), in))(t)
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
	a := must(mapper.New[old](testengine.Start(t).Client(), table))(t)
	b := must(mapper.New[next](testengine.Start(t).Client(), table))(t)
	for i := range 12 {
		id := fmt.Sprint("e", i)
		must(a.Save(ctx, a.New(old{ID: id, Text: "x", Old: []row{{1}}})))(t)
		must(b.Save(ctx, must(b.Load(ctx, b.Key(id)))(t), mapper.Move()))(t)
		if _, err := b.Save(ctx, must(b.Load(ctx, b.Key(id), mapper.Strong()))(t), mapper.Move()); err != nil {
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
	a := must(mapper.New[before](testengine.Start(t).Client(), table))(t)
	b := must(mapper.New[fewer](testengine.Start(t).Client(), table))(t)
	f := &faulty{at: -1}
	stopped := must(mapper.New[fewer](client(t, f, 1), table))(t)
	for i := range 20 {
		must(a.Save(ctx, a.New(before{Log: "l", N: i})))(t)
	}
	loaded := map[int]*mapper.Entity[fewer]{}
	for e, err := range b.Scan(ctx) {
		loaded[e.Value.N] = must(e, err)(t)
	}
	acked := map[int]bool{}                 // the scan can find an entity again, after its move
	for e, err := range stopped.Scan(ctx) { // this program adds, moves, and stops before it carries
		if err != nil {
			t.Fatal(err)
		}
		moves := 0
		f.pick = func() fault {
			if f.log[len(f.log)-1] != "TransactWriteItems" {
				return none
			}
			if moves++; moves > 1 || acked[e.Value.N] {
				return deny
			}
			o := loaded[e.Value.N]
			o.Value.Rows = []row{{1}}
			must(b.Save(ctx, o))(t)
			acked[e.Value.N] = true
			return none
		}
		_, _ = stopped.Save(ctx, e, mapper.Move())
		f.pick = nil
	}
	for e, err := range b.Scan(ctx) { // the scan of the recipe, again: no error, no conflict
		must(b.Save(ctx, must(e, err)(t), mapper.Move()))(t)
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
	a := must(mapper.New[old](testengine.Start(t).Client(), mapper.Table(name)))(t)
	b := must(mapper.New[next](testengine.Start(t).Client(), mapper.Table(name)))(t)
	f := &faulty{at: -1}
	stopped := must(mapper.New[next](client(t, f, 1), mapper.Table(name)))(t)
	for i := range 12 {
		id := fmt.Sprint("e", i)
		pk := must(a.PlanSave(a.New(old{ID: id})))(t).Items[0].Key.Partition
		putPlain(t, name, map[string]types.AttributeValue{
			"PK": s(fmt.Sprint(pk)), "SK": s(id + "#H"), "Text": s("x"),
		})
		other, moving := must(b.Load(ctx, b.Key(id)))(t), must(stopped.Load(ctx, stopped.Key(id)))(t)
		moves := 0
		f.pick = func() fault {
			if f.log[len(f.log)-1] != "TransactWriteItems" {
				return none
			}
			if moves++; moves > 1 {
				return deny
			}
			other.Value.Rows = []row{{1}}
			must(b.Save(ctx, other))(t)
			return none
		}
		_, err := stopped.Save(ctx, moving, mapper.Move())
		f.pick = nil
		if err == nil { // it is on its shard already
			continue
		}
		r := must(b.Save(ctx, must(b.Load(ctx, b.Key(id), mapper.Strong()))(t), mapper.Move()))(t)
		if got := must(b.Load(ctx, b.Key(id), mapper.Strong()))(t).Value.Rows; len(got) != 1 && len(r.LeftBehind) == 0 {
			t.Fatalf("the repeated move reports success, and the acknowledged row is lost: %v", r)
		}
	}
}

// An item without an incarnation is not carried away from an entity that another program inserts at the old key.
func TestCarriesTakeNothingFromTheNextEntity(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m2 := boardsOf(t, table, client(t, &faulty{at: -1}, 1))
	f := &faulty{at: -1}
	m := boardsOf(t, table, client(t, f, 1))
	must(m2.Save(ctx, m2.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	e := must(m.Load(ctx, m.Key("1")))(t)
	transactions := 0
	f.pick = func() fault {
		switch op := f.log[len(f.log)-1]; {
		case op == "Query": // another program inserts an entity at key 1: an element,
			putPlain(t, table, map[string]types.AttributeValue{
				"PK": s("BOARD#1"), "SK": s("ROW#07"), "Text": s("foreign"),
			})
		case op == "TransactWriteItems":
			if transactions++; transactions == 2 { // and the root item
				putPlain(t, table, map[string]types.AttributeValue{
					"PK": s("BOARD#1"), "SK": s("A"), "Text": s("next"),
				})
				if len(loadBoard(t, m2, "1").Rows) != 1 {
					t.Fatal("the new entity has no row")
				}
			}
		}
		return none
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
	clean := boardsOf(t, table, client(t, &faulty{at: -1}, 1))
	f := &faulty{at: -1}
	m := boardsOf(t, table, client(t, f, 1))
	putPlain(t, table, map[string]types.AttributeValue{
		"PK": s("BOARD#2"), "SK": s("ROW#01"), "_a": bytesOf("deadbeef"), "_v": bytesOf("12345678"),
	})
	must(clean.Save(ctx, clean.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	other, e := must(clean.Load(ctx, clean.Key("1")))(t), must(m.Load(ctx, m.Key("1")))(t)
	f.pick = func() fault {
		if other.Value.Rows == nil {
			other.Value.Rows = []cells{{N: 1, Text: "late"}}
			must(clean.Save(ctx, other))(t)
		}
		return none
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
	x := newShops(t)
	n := x.splitKeys(t, 1)[0]
	must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n})))(t)
	s := must(x.c.Load(ctx, x.c.Key("s", n)))(t)
	must(x.c.Save(ctx, s, mapper.Move()))(t)
	p := must(x.c.PlanSave(s, mapper.Move()))(t)
	r := must(x.c.Save(ctx, s, mapper.Move()))(t)
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
		clean := boardsOf(t, table, client(t, &faulty{at: -1}, 1))
		f := &faulty{at: -1}
		m := boardsOf(t, table, client(t, f, 1))
		must(clean.Save(ctx, clean.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
		e := must(m.Load(ctx, m.Key("1")))(t)
		e.Value.ID = "2"
		f.pick = func() fault {
			if f.log[len(f.log)-1] == "Query" {
				putPlain(t, table, map[string]types.AttributeValue{
					"PK": s("BOARD#1"), "SK": s("A"), "_a": bytesOf("abcdefgh"), "_v": bytesOf("12345678"),
					"_s": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
						"state": s("inserting"), "since": &types.AttributeValueMemberN{Value: "1795000000"},
					}},
				})
				putPlain(t, table, map[string]types.AttributeValue{
					"PK": s("BOARD#1"), "SK": s("ROW#05"), "_a": bytesOf("abcdefgh"), "_v": bytesOf("12345678"),
					"_s": &types.AttributeValueMemberBOOL{Value: true},
				})
			}
			return none
		}
		r := must(m.Save(ctx, e, mapper.Move()))(t)
		if len(r.LeftBehind) > 0 {
			t.Errorf("LeftBehind: %v", r.LeftBehind)
		}
	})
	t.Run("an item that was carried", func(t *testing.T) {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := boardsOf(t, table, client(t, &faulty{at: -1}, 1))
		f := &faulty{at: -1}
		m := boardsOf(t, table, client(t, f, 1))
		must(clean.Save(ctx, clean.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
		other, e := must(clean.Load(ctx, clean.Key("1")))(t), must(m.Load(ctx, m.Key("1")))(t)
		moves := 0
		f.pick = func() fault {
			if f.log[len(f.log)-1] == "TransactWriteItems" {
				switch moves++; moves {
				case 1:
					other.Value.Rows = []cells{{N: 1, Text: "late"}}
					must(clean.Save(ctx, other))(t)
				case 2:
					return dropAnswer
				}
			}
			if moves > 1 {
				return dropRequest
			}
			return none
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
	x := newShops(t)
	for n := 1; n < 20; n++ {
		at := func(p *mapper.Plan, err error) any { return must(p, err)(t).Items[0].Key.Partition }
		before, after := x.a.New(shopOld{Shop: "s", N: n}), x.d.New(shopAfter{Shop: "s", N: n})
		if at(x.a.PlanSave(before)) != at(x.d.PlanSave(after)) {
			continue // it has two shards
		}
		must(x.a.Save(context.Background(), x.a.New(shopOld{Shop: "s", N: n})))(t)
		e := must(x.c.Load(context.Background(), x.c.Key("s", n)))(t)
		e.Value.Line = []part{{N: 1}}
		if p := must(x.c.PlanSave(e))(t); p.WCU.Max != 1 {
			t.Fatal(p)
		}
	}
}
