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
)

// movingBoard is a board that moves from key 1 to key 2. Before the move arrives another writer adds a row. between
// runs when the move asks for the items under the old key.
func movingBoard(
	t *testing.T,
	between func(clean *mapper.Mapper[kit.Board]),
) (clean *mapper.Mapper[kit.Board], r *mapper.Receipt, err error) {
	t.Helper()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean = boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Client(t, f, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	other := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	added, asked := false, false
	f.Pick = func() kit.Fault {
		switch op := f.Log[len(f.Log)-1]; {
		case op == "TransactWriteItems" && !added:
			added, other.Value.Rows = true, []kit.Cells{{N: 1, Text: "late"}}
			kit.Must(clean.Save(ctx, other))(t)
		case op == "TransactWriteItems" && !asked: // the one that carries
			asked = true
			between(clean)
		}
		return kit.None
	}
	e.Value.ID = "2"
	r, err = m.Save(ctx, e, mapper.Move())
	return clean, r, err
}

// An addition that was acknowledged before its entity moved is carried to the new key, also if it changes meanwhile.
func TestMoveCarriesAdditions(t *testing.T) {
	t.Parallel()
	clean, r, err := movingBoard(t, func(*mapper.Mapper[kit.Board]) {})
	if got := loadBoard(t, clean, "2").Rows; err != nil || len(got) != 1 || got[0].Text != "late" ||
		len(r.Carried) != 1 {
		t.Errorf("%+v, %v: %v", got, r, err)
	}
}

// What cannot be carried is an error and stays: the entity has the same element, or does not exist any more.
func TestMoveReportsAdditionsThatStay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, between := range map[string]func(*mapper.Mapper[kit.Board]){
		"the element exists": func(clean *mapper.Mapper[kit.Board]) {
			e := kit.Must(clean.Load(ctx, clean.Key("2"), mapper.Strong()))(t)
			e.Value.Rows = []kit.Cells{{N: 1, Text: "other"}}
			kit.Must(clean.Save(ctx, e))(t)
		},
		"the entity was deleted": func(clean *mapper.Mapper[kit.Board]) {
			kit.Must(clean.DeleteByKey(ctx, clean.Key("2")))(t)
		},
		"the entity was deleted and inserted again": func(clean *mapper.Mapper[kit.Board]) {
			kit.Must(clean.DeleteByKey(ctx, clean.Key("2")))(t)
			kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "2", Main: kit.Cells{Text: "next"}})))(t)
		},
	} {
		clean, r, err := movingBoard(t, between)
		partial := new(mapper.PartialError)
		if !errors.As(err, &partial) || len(r.LeftBehind) != 1 || r.LeftBehind[0].Sort != "ROW#01" ||
			len(r.Carried) > 0 {
			t.Errorf("%s: %v: %v", name, r, err)
		}
		if e, err := clean.Load(ctx, clean.Key("2"), mapper.Strong()); err == nil {
			for _, row := range e.Value.Rows {
				if row.Text == "late" {
					t.Errorf("%s: the addition to one entity is in another: %+v", name, e.Value)
				}
			}
		}
	}
}

// The scan of the recipe docs/recipes/sharding.md moves entities to more shards while another program adds elements
// to them. No acknowledged element is lost.
func TestReshardingLosesNoAdditions(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	type row struct{ N int }
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

// A program stops between the transaction of a move to another shard and the one that carries an addition. Another
// save with Move finishes it.
func TestRepeatedMoveFinishesMove(t *testing.T) {
	t.Parallel()
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
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	a := kit.Must(mapper.New[old](testengine.Start(t).Client(), table))(t)
	b := kit.Must(mapper.New[next](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	stopped := kit.Must(mapper.New[next](kit.Client(t, f, 1), table))(t)
	finished := 0
	for i := range 12 {
		id := fmt.Sprint("e", i)
		kit.Must(a.Save(ctx, a.New(old{ID: id, Text: "x"})))(t)
		other := kit.Must(b.Load(ctx, b.Key(id)))(t)
		moving := kit.Must(stopped.Load(ctx, stopped.Key(id)))(t)
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
		e := kit.Must(b.Load(ctx, b.Key(id), mapper.Strong()))(t)
		if len(e.Value.Rows) != 0 {
			t.Fatal("it was carried")
		}
		r := kit.Must(b.Save(ctx, e, mapper.Move()))(t)
		if got := kit.Must(b.Load(ctx, b.Key(id), mapper.Strong()))(t).Value.Rows; len(got) != 1 ||
			len(r.Carried) != 1 {
			t.Errorf("%+v: %v", got, r)
		}
		finished++
	}
	if finished == 0 {
		t.Error("no entity has moved")
	}
}

// Law 1: only changed items are written. A moved entity is compared with its items at the new key.
func TestOnlyChangedItemsAreWrittenAfterMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := kit.NewBoards(t)
	e := m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}, Rows: []kit.Cells{{N: 1, Text: "a"}}})
	kit.Must(m.Save(ctx, e))(t)
	e.Value.ID = "2"
	kit.Must(m.Save(ctx, e, mapper.Move()))(t)
	if r := kit.Must(m.Save(ctx, e))(t).Predicted(); r.Requests > 0 {
		t.Errorf("an unchanged entity: %v", r)
	}
	e.Value.Rows[0].Text = "b"
	r := kit.Must(m.Save(ctx, e))(t).Predicted()
	if got := loadBoard(t, m, "2").Rows; len(r.Items) != 1 || len(got) != 1 || got[0].Text != "b" {
		t.Errorf("%v, stored %+v", r, got)
	}
}
