package operation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A delete is the guard of its transaction: if another writer deletes the entity, the other parts are
// not written. An own write of the entity without an answer, whichever it is, does not change that.
func TestTransactionIsNotWrittenWithoutItsDelete(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for name, lost := range map[string]func(c *counting, e *mapper.Entity[kit.Board]) error{
		"no unresolved write": func(*counting, *mapper.Entity[kit.Board]) error { return nil },
		"an unresolved save": func(c *counting, e *mapper.Entity[kit.Board]) error {
			e.Value.Main.Text = "seen"
			return kit.Err(c.boards.Save(ctx, e))
		},
		"an unresolved delete": func(c *counting, e *mapper.Entity[kit.Board]) error {
			return kit.Err(c.boards.Delete(ctx, e))
		},
		"an unresolved transaction of other patches": func(c *counting, e *mapper.Entity[kit.Board]) error {
			return kit.Err(mapper.Transact(ctx, c.boards.DeletePart(e),
				c.node("P").Patch(kit.CellFields.Count.Increment(2)).PatchPart(c.boards)))
		},
	} {
		c := newCounting(t)
		e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "ticket"}})
		kit.Must(c.boards.Save(ctx, e))(t)
		c.f.Pick = func() kit.Fault {
			if op := c.f.Log[len(c.f.Log)-1]; op == "UpdateItem" || op == "DeleteItem" || op == "TransactWriteItems" {
				return kit.DropRequest
			}
			return kit.None
		}
		if err := lost(c, e); err != nil && !isUnknown(err) {
			t.Fatalf("%s: %v", name, err)
		}
		c.f.Pick = nil
		other := kit.Must(c.clean.Load(ctx, c.clean.Key("E")))(t)
		kit.Must(mapper.Transact(ctx, c.clean.DeletePart(other), increment(c.clean)))(t)
		_, err := mapper.Transact(ctx, c.boards.DeletePart(e), c.increment())
		if n := c.count(); !errors.Is(err, mapper.ErrNotFound) || n != 1 {
			t.Errorf("%s: counted %d times: %v", name, n, err)
		}
	}
}

// The same of an entity that is deleted by its key, by a client that cannot be watched.
func TestUnwatchedTransactionIsNotWrittenWithoutItsDelete(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	m := kit.Must(mapper.New[kit.Board](kit.Unwatched{C: kit.Client(t, kit.AtRequest("TransactWriteItems", 1, func() {
		kit.Must(mapper.Transact(ctx, clean.DeletePartByKey(clean.Key("E")), increment(clean)))(t)
	}), 2)}, mapper.Table(table)))(t)
	_, err := mapper.Transact(ctx, m.DeletePartByKey(m.Key("E")), increment(m))
	if n := kit.Must(clean.Load(ctx, clean.Key("P")))(t).Value.Main.Count; n != 1 || err == nil {
		t.Errorf("counted %d times: %v", n, err)
	}
}

// A transaction whose first copy may still be applied is not planned again when an earlier write of an
// element arrives in between. The element can be deleted, and the first copy applied.
func TestTransactionIsUnknownWhileItsFirstCopyMayArrive(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	c := newCounting(t)
	first, second := &losing{operation: "PutItem"}, &losing{operation: "TransactWriteItems", lose: 1}
	e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})
	kit.Must(c.boards.Save(ctx, e))(t)
	c.f.Late, first.lose = first.transport().Late, 100
	e.Value.Rows = []kit.Cells{{N: 1, Text: "a"}}
	if _, err := c.boards.Save(ctx, e); !isUnknown(err) {
		t.Fatal(err)
	}
	first.lose, c.f.Late = 0, second.transport().Late
	second.before = func(op string) {
		if op == "TransactWriteItems" {
			second.before = nil
			first.Deliver(t)
		}
	}
	_, err := mapper.Transact(ctx, c.boards.SavePart(e), c.increment())
	kit.Must(c.clean.Update(ctx, c.clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
	second.Deliver(t)
	if n := c.count(); n > 1 || n == 0 && !isUnknown(err) {
		t.Errorf("counted %d times: %v", n, err)
	}
}

// A transaction of other patches that has deleted the entity is not this one.
func TestTransactionIsNotWrittenAfterAnotherOwnDelete(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "ticket"}})
	kit.Must(c.boards.Save(t.Context(), e))(t)
	c.lost(kit.DropAnswer, func() error {
		return kit.Err(mapper.Transact(t.Context(), c.boards.DeletePart(e),
			c.node("P").Patch(kit.CellFields.Count.Increment(2)).PatchPart(c.boards)))
	})
	_, err := mapper.Transact(t.Context(), c.boards.DeletePart(e), c.increment())
	if n := c.count(); n != 2 || err == nil {
		t.Errorf("counted %d: %v", n, err)
	}
}

// An unwatched transaction is planned again over a leftover item if it also writes a loaded item: only
// one copy finds its version.
func TestUnwatchedTransactionOverLeftoverIsWritten(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.LeaveEntries(t, clean, kit.Part{N: 5, Text: "dead"})
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "2", Counter: 1})))(t)
	m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, &kit.Faulty{At: -1}, 2)},
		mapper.Table(table)))(t)
	two := kit.Must(m.Load(ctx, m.Key("2")))(t)
	two.Value.Counter = 2
	kit.Must(mapper.Transact(ctx,
		m.SavePart(m.New(kit.Account{ID: "1", Counter: 7, Entries: []kit.Part{{N: 5, Text: "mine"}}})),
		m.SavePart(two)))(t)
}

// A transaction that only requires that an item is missing is not sent again over a leftover item: the
// item can be missing again when the first copy arrives.
func TestUnwatchedTransactionOverLeftoverIsNotAppliedTwice(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	saveOverLeftoverRow(t, clean, 5)
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := kit.Must(mapper.New[kit.Board](kit.Unwatched{C: kit.Client(t, l.transport(), 2)}, mapper.Table(table)))(t)
	e := kit.Must(m.Load(ctx, m.Key("E")))(t)
	e.Value.Rows = []kit.Cells{{N: 5, Text: "mine"}}
	_, err := mapper.Transact(ctx, m.SavePart(e), increment(m))
	kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
	l.Deliver(t)
	if n := kit.Must(clean.Load(ctx, clean.Key("P")))(t).Value.Main.Count; n > 1 || n == 0 && !isUnknown(err) {
		t.Errorf("counted %d times: %v", n, err)
	}
}

// Two actors delete entities in transactions that count each of them, while requests and answers are
// lost, and late copies arrive: each deleted entity is counted once.
func TestEachDeletedEntityIsCountedOnce(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	seed := draws.Seed(t)
	for n := range draws.Times(5, 150, 3_000) {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
		kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
		for _, id := range []string{"0", "1", "2"} {
			kit.Must(clean.Save(ctx,
				clean.New(kit.Board{ID: id, Main: kit.Cells{Text: "t"}, Rows: []kit.Cells{{N: 1}}})))(t)
		}
		var log []string
		var copies kit.Crash
		disturbed := false
		f := &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			if !disturbed || r.IntN(4) > 0 {
				return kit.None
			}
			if r.IntN(3) == 0 {
				id := fmt.Sprint(r.IntN(3))
				_, err := mapper.Transact(ctx, clean.DeletePartByKey(clean.Key(id)), increment(clean))
				log = append(log, fmt.Sprintf("the rival deletes %s: %v", id, err))
				return kit.None
			}
			do := []kit.Fault{
				kit.DropRequest, kit.DropAnswer, kit.Throttle, kit.ServerError, kit.Collide,
				kit.Deny,
			}[r.IntN(6)]
			log = append(log, f.Log[len(f.Log)-1]+": "+kit.FaultNames[do])
			return do
		}
		f.Late = func(q *http.Request) bool {
			if !disturbed || r.IntN(8) > 0 || q.Body == nil {
				return false
			}
			body := kit.Must(io.ReadAll(q.Body))(t)
			q.Body = io.NopCloser(bytes.NewReader(body))
			copies.Late, copies.Bodys = append(copies.Late, q.Clone(context.Background())), append(copies.Bodys, body)
			log = append(log, kit.OperationOf(q)+": late")
			return true
		}
		var c mapper.Client = kit.Client(t, f, 1+r.IntN(2))
		if r.IntN(2) == 0 {
			c = kit.Unwatched{C: kit.Client(t, f, 2)}
			log = append(log, "unwatched")
		}
		m := kit.Must(mapper.New[kit.Board](c, mapper.Table(table)))(t)
		held, unknown := map[string]*mapper.Entity[kit.Board]{}, map[string]bool{}
		for range 6 {
			id := fmt.Sprint(r.IntN(3))
			e, err := held[id], error(nil)
			if e == nil {
				if e, err = m.Load(ctx, m.Key(id), mapper.Strong()); err != nil {
					continue
				}
				held[id] = e
			}
			disturbed = true
			what := []string{"delete", "delete by key", "save"}[r.IntN(3)]
			if what == "save" && unknown[id] {
				what = "delete" // a save would insert the deleted entity again
			}
			switch what {
			case "delete":
				_, err = mapper.Transact(ctx, m.DeletePart(e), increment(m))
			case "delete by key":
				_, err = mapper.Transact(ctx, m.DeletePartByKey(m.Key(id)), increment(m))
			case "save":
				e.Value.Main.N++
				_, err = m.Save(ctx, e)
			}
			disturbed = false
			log = append(log, fmt.Sprintf("%s of %s: %v", what, id, err))
			switch {
			case what == "save" && err == nil:
			case !isUnknown(err):
				delete(held, id)
				delete(unknown, id)
			case what != "save":
				unknown[id] = true
			}
			if r.IntN(2) == 0 {
				copies.Deliver(t)
				copies.Late, copies.Bodys = nil, nil
			}
		}
		copies.Deliver(t)
		deleted := 0
		for _, id := range []string{"0", "1", "2"} {
			if kit.NewForeign(t, table).Get("BOARD#"+id, "A") == nil {
				deleted++
			}
		}
		if count := kit.Must(clean.Load(ctx, clean.Key("P"), mapper.Strong()))(t).Value.Main.Count; count != deleted {
			t.Fatalf("draw %d: %d are deleted, and %d counted:\n%s", n, deleted, count, strings.Join(log, "\n"))
		}
	}
}

// A try that may still be applied is an unresolved write, also if the outcome of the next try is unknown.
func TestOpenTryIsRecordedBeforeUnknownTry(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	u, l := &losing{operation: "PutItem"}, &losing{operation: "TransactWriteItems"}
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Unwatched{C: kit.Client(t, f, 2)})
	e := kit.Must(m.Load(ctx, m.Key("E"), mapper.Strong()))(t)
	// A put of row 3 is late.
	f.Late = u.transport().Late
	u.lose = 100
	e.Value.Rows = []kit.Cells{{N: 3, Text: "u"}}
	if _, err := m.Save(ctx, e); !isUnknown(err) {
		t.Fatal(err)
	}
	u.lose = 0
	u.Late, u.Bodys = u.Late[:1], u.Bodys[:1]
	// The first copy of a transaction is late, the put arrives, the second copy is refused, and all
	// later requests are lost.
	f.Late = l.transport().Late
	l.lose = 1
	n := 0
	l.before = func(op string) {
		if op == "TransactWriteItems" {
			if n++; n == 1 {
				u.Deliver(t)
			}
		}
	}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "TransactWriteItems" && n >= 1 {
			return kit.DropRequest
		}
		return kit.None
	}
	e.Value.Main.Text = "S"
	e.Value.Rows = []kit.Cells{{N: 3, Text: "s"}}
	f.Log = nil
	_, err := m.Save(ctx, e)
	if !isUnknown(err) {
		t.Fatal(err)
	}
	f.Pick, l.before = nil, nil
	e.Value.Main.Text, e.Value.Rows = "x", nil
	_, err = m.Save(ctx, e)
	l.Deliver(t)
	now := loadBoard(t, clean, "E")
	if err == nil && (now.Main.Text != "x" || len(now.Rows) > 0) {
		t.Errorf("the save is acknowledged, and an earlier arrives: %q, %d rows", now.Main.Text, len(now.Rows))
	}
}

// Late refusal: a transaction that is refused after a lost answer is unknown. Its first copy may have been applied
// before another writer changed the item.
func TestTransactionRefusedAfterLostAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}, Other: kit.Cells{Text: "x"}})))(t)
	sent, f := 0, &kit.Faulty{At: -1}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] != "TransactWriteItems" {
			return kit.None
		}
		if sent++; sent == 1 {
			return kit.DropRequest
		}
		kit.Must(clean.Update(ctx, clean.Key("P"), func(b *kit.Board) error { b.Main.Text = "theirs"; return nil }))(t)
		return kit.None
	}
	m := boardsOf(t, table, kit.Client(t, f, 1))
	e := kit.Must(m.Load(ctx, m.Key("P")))(t)
	e.Value.Main.Text, e.Value.Other.Text = "mine", "mine"
	if _, err := m.Save(ctx, e); sent != 2 || !isUnknown(err) {
		t.Errorf("sent %d times: %v", sent, err)
	}
}
