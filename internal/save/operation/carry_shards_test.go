package operation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// While the number of shards changes, a save with Move moves an entity to its new shard. A program can stop before it
// carries additions there. A repeated save with Move finishes the move.

// row is an element of the models of this file.
type row struct{ N int }

// fewSpread is a model on 20 shards, and moreSpread the same on 40.
type (
	fewSpread struct {
		_    struct{} `ddb:"table=spread,shards=20,shardby=ID"`
		ID   string   `ddb:"sk={ID}#H"`
		_    struct{} `ddb:"pk=S#{shard}"`
		Text string   `ddb:"sk={ID}#H"`
		Rows []row    `ddb:"sk={^ID}#R#{N:04}"`
	}
	moreSpread struct {
		_    struct{} `ddb:"table=spread,shards='40,20',shardby=ID"`
		ID   string   `ddb:"sk={ID}#H"`
		_    struct{} `ddb:"pk=S#{shard}"`
		Text string   `ddb:"sk={ID}#H"`
		Rows []row    `ddb:"sk={^ID}#R#{N:04}"`
	}
)

// stopsBefore stops a program before its nth transaction, and does something before the first one.
func stopsBefore(n int, do func()) hooks {
	return hooks{"TransactWriteItems": func(number int) kit.Fault {
		switch {
		case number >= n:
			return kit.Deny
		case number == 1:
			do()
		}
		return kit.None
	}}
}

// An entity whose move was interrupted before it carried an addition shows it after the next save with Move.
func TestRepeatedMoveFinishesMove(t *testing.T) {
	for name, foreign := range map[string]bool{
		"of an entity of the library": false, "of an entity without an incarnation": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriters[moreSpread](t, 1)
			before := kit.Must(mapper.New[fewSpread](testengine.Start(t).Client(), mapper.Table(w.table)))(t)
			finished := 0
			for i := range 12 {
				id := fmt.Sprint("e", i)
				if entity := before.New(fewSpread{ID: id, Text: "x"}); foreign {
					pk := kit.Must(before.PlanSave(entity))(t).Items[0].Key.Partition
					kit.NewForeign(t, w.table).Put(kit.Item{
						"PK": kit.S(fmt.Sprint(pk)), "SK": kit.S(id + "#H"), "Text": kit.S("x"),
					})
				} else {
					kit.Must(before.Save(w.ctx, entity))(t)
				}
				other := kit.Must(w.other.Load(w.ctx, w.other.Key(id)))(t)
				moving := kit.Must(w.own.Load(w.ctx, w.own.Key(id)))(t)
				stopsBefore(2, func() {
					other.Value.Rows = []row{{1}}
					kit.Must(w.other.Save(w.ctx, other))(t)
				}).watch(w.network)
				_, err := w.own.Save(w.ctx, moving, mapper.Move())
				w.network.Pick = nil
				if err == nil { // it is on its shard already
					continue
				}
				e := kit.Must(w.other.Load(w.ctx, w.other.Key(id), mapper.Strong()))(t)
				if len(e.Value.Rows) != 0 {
					t.Fatal("it was carried")
				}
				r := kit.Must(w.other.Save(w.ctx, e, mapper.Move()))(t)
				e = kit.Must(w.other.Load(w.ctx, w.other.Key(id), mapper.Strong()))(t)
				if len(e.Value.Rows) != 1 || len(r.Carried) != 1 {
					t.Errorf("%+v: %v", e.Value.Rows, r)
				}
				finished++
			}
			if finished == 0 {
				t.Error("no entity has moved")
			}
		})
	}
}

// A repeated move finishes an interrupted one from a shard that was drawn.
func TestRepeatedMovesOfDrawnShards(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
	type before struct {
		_    struct{}          `ddb:"table=logs,shards=20,shardby=random"`
		Log  string            `ddb:"pk=L#{Log}#{shard}"`
		N    int               `ddb:"sk={N:06}#H"`
		To   string            `ddb:"sk={N:06}#H"`
		Rows []struct{ K int } `ddb:"sk={^N:06}#R#{K:02}"`
	}
	type fewer struct {
		_    struct{}          `ddb:"table=logs,shards='2,20',shardby=random"`
		Log  string            `ddb:"pk=L#{Log}#{shard}"`
		N    int               `ddb:"sk={N:06}#H"`
		To   string            `ddb:"sk={N:06}#H"`
		Rows []struct{ K int } `ddb:"sk={^N:06}#R#{K:02}"`
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
			o.Value.Rows = []struct{ K int }{{1}}
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

// A repeated move leaves items of removed fields where they are.
func TestRepeatedMovesLeaveUnknownItems(t *testing.T) {
	ctx := request.WithoutPauses(context.Background())
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

// With drawn shards, an item without an incarnation does not go to another entity with the same key.
func TestDrawnShardsMixNoEntities(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	type fewer struct {
		_    struct{}   `ddb:"table=logs,shards='3,120',shardby=random"`
		Log  string     `ddb:"pk=L#{Log}#{shard}"`
		N    int        `ddb:"sk={N:06}#H"`
		To   string     `ddb:"sk={N:06}#H"`
		Rows []kit.Part `ddb:"sk={^N:06}#R#{N:02}"`
	}
	name := testengine.Table(t, "PK:S", "SK:S")
	b := kit.Must(mapper.New[fewer](testengine.Start(t).Client(), mapper.Table(name)))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[fewer](kit.Client(t, f, 1), mapper.Table(name)))(t)
	foreign := kit.NewForeign(t, name)
	foreign.Put(kit.Item{"PK": kit.S("L#l#1"), "SK": kit.S("000005#H"), "To": kit.S("A")})
	foreign.Put(kit.Item{"PK": kit.S("L#l#107"), "SK": kit.S("000005#H"), "To": kit.S("B")})
	mine, theirs := map[string]*mapper.Entity[fewer]{}, map[string]*mapper.Entity[fewer]{}
	for e, err := range m.Scan(ctx) {
		mine[kit.Must(e, err)(t).Value.To] = e
	}
	for e, err := range b.Scan(ctx) {
		theirs[kit.Must(e, err)(t).Value.To] = e
	}
	theirs["B"].Value.Rows = []kit.Part{{N: 1}}
	kit.Must(b.Save(ctx, theirs["B"]))(t)
	f.Pick = func() kit.Fault {
		if len(f.Log) == 2 { // B has moved: another scan saves A, which is on its shard
			kit.Must(b.Save(ctx, theirs["A"], mapper.Move()))(t)
		}
		return kit.None
	}
	err := mapper.ErrExists
	for errors.Is(err, mapper.ErrExists) { // one time in three B draws the shard of A, and has to draw again
		f.Log = nil
		_, err = m.Save(ctx, mine["B"], mapper.Move())
	}
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range query.Of[fewer](b.Key("l")).All(ctx, b) {
		if kit.Must(e, err)(t); (e.To == "A") != (len(e.Rows) == 0) {
			t.Errorf("%+v", e)
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

// The scan of the recipe docs/recipes/sharding.md moves entities to more shards while another program adds elements
// to them. No acknowledged element is lost.
func TestReshardingLosesNoAdditions(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	type before struct {
		_    struct{} `ddb:"table=spread,shards='3,5',shardby=ID"`
		Day  string   `ddb:"pk=S#{Day}#{shard}"`
		ID   string   `ddb:"sk={ID}#H"`
		Text string   `ddb:"sk={ID}#H"`
		Rows []row    `ddb:"sk={^ID}#R#{N:04}"`
	}
	type after struct {
		_    struct{} `ddb:"table=spread,shards='5,3',shardby=ID"`
		Day  string   `ddb:"pk=S#{Day}#{shard}"`
		ID   string   `ddb:"sk={ID}#H"`
		Text string   `ddb:"sk={ID}#H"`
		Rows []row    `ddb:"sk={^ID}#R#{N:04}"`
	}
	seed := draws.Seed(t)
	for round := range draws.Times(2, 6, 60) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
		c := testengine.Start(t).Client()
		old, now := kit.Must(mapper.New[before](c, table))(t), kit.Must(mapper.New[after](c, table))(t)
		const entities = 8
		for i := range entities {
			kit.Must(old.Save(ctx, old.New(before{Day: "d", ID: fmt.Sprint(i), Text: "x"})))(t)
		}
		acked := make([]map[int]bool, entities)
		var group sync.WaitGroup
		for i := range entities {
			acked[i] = map[int]bool{}
			n := 10 + r.IntN(10)
			group.Add(1)
			go func() {
				defer group.Done()
				for k := range n {
					e, err := now.Load(ctx, now.Key("d", fmt.Sprint(i)))
					if err != nil {
						continue
					}
					e.Value.Rows = append(e.Value.Rows, row{k})
					if _, err := now.Save(ctx, e); err == nil {
						acked[i][k] = true
					}
				}
			}()
		}
		scan := func() {
			for e, err := range now.Scan(ctx) {
				if err != nil {
					continue
				}
				if _, err := now.Save(ctx, e, mapper.Move()); err != nil {
					t.Log(err) // a conflict: the next scan moves it
				}
			}
		}
		scan()
		group.Wait()
		scan()
		for i := range entities {
			e := kit.Must(now.Load(ctx, now.Key("d", fmt.Sprint(i)), mapper.Strong()))(t)
			have := map[int]bool{}
			for _, r := range e.Value.Rows {
				have[r.N] = true
			}
			for k := range acked[i] {
				if !have[k] {
					t.Errorf("entity %d has lost element %d", i, k)
				}
			}
		}
	}
}
