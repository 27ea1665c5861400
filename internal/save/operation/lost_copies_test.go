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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// A request without an answer leaves a copy that may have been applied, or may still be. These tests
// repeat, refuse or interrupt operations while such copies are under way.

func isUnknown(err error) bool { return errors.As(err, new(*mapper.OutcomeUnknownError)) }

// increment is a patch that counts how often it is applied.
func increment(m *mapper.Mapper[kit.Board]) mapper.Part {
	return mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("P")),
		0).Patch(kit.CellFields.Count.Increment(1)).PatchPart(m)
}

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
	clean := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
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

// An own move that arrives while the entity is deleted does not hide it from the delete.
func TestDeleteFollowsOwnLateMove(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for name, c := range map[string]struct {
		before  string
		options []mapper.WriteOption
	}{"in a transaction": {"TransactWriteItems", nil}, "staged": {"Query", []mapper.WriteOption{mapper.Staged()}}} {
		table := testengine.Table(t, "PK:S", "SK:S")
		l := &losing{operation: "TransactWriteItems"}
		m := kit.NewAccounts(t, table, l.transport(), 1)
		e := m.New(kit.Account{ID: "1", Counter: 1, Left: "a"})
		kit.Must(m.Save(ctx, e))(t)
		l.lose = 100
		e.Value.ID = "2"
		if _, err := m.Save(ctx, e, mapper.Move()); !isUnknown(err) {
			t.Fatal(err)
		}
		l.lose = 0
		l.before = func(op string) {
			if op == c.before {
				l.before = nil
				l.Deliver(t)
			}
		}
		if _, err := m.Delete(ctx, e, c.options...); err != nil ||
			kit.ItemsOf(t, table, "1")+kit.ItemsOf(t, table, "2") != 0 {
			t.Errorf("%s: %v, and %d items are left", name, err, kit.ItemsOf(t, table, "1")+kit.ItemsOf(t, table, "2"))
		}
	}
}

// After a request without an answer every error of a later try is an unknown outcome: the first copy
// can still be applied.
func TestErrorAfterLostCopyIsUnknown(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]struct {
		operation string
		fault     kit.Fault
	}{
		"the root item cannot be read": {"GetItem", kit.Deny}, "the context ends": {"GetItem", kit.CancelAfter},
		"the second request is refused": {"DeleteItem", kit.Deny},
	} {
		ctx, cancel := context.WithCancel(request.WithoutPauses(context.Background()))
		defer cancel()
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"})))(t)
		l := &losing{operation: "DeleteItem", lose: 1}
		f := l.transport()
		sent := 0
		f.Cancel = cancel
		f.Pick = func() kit.Fault {
			op := f.Log[len(f.Log)-1]
			if op == "DeleteItem" {
				sent++
			}
			if op == then.operation && sent > 0 && !(op == "DeleteItem" && sent == 1) {
				return then.fault
			}
			return kit.None
		}
		m := kit.NewAccounts(t, table, f, 1)
		_, err := m.DeleteByKey(ctx, m.Key("1").Item("LEFT"))
		l.lose = 0
		l.Deliver(t)
		if left := kit.Stored(t, clean, "1").Left; left != "" {
			t.Fatalf("%s: the late copy was not applied: %q", name, left)
		}
		if !isUnknown(err) {
			t.Errorf("%s: %T: %v", name, err, err)
		}
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

// A delete by key deletes the entity that it has read, and not one that is inserted after its lost
// copy. This also holds if another program has written the first entity, without an incarnation. It
// also holds for a transaction with no other write, since it is a plain request.
func TestUnwatchedDeleteByKeyDeletesOneEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	deletes := map[string]func(m *mapper.Mapper[kit.Account]) error{
		"DeleteByKey": func(m *mapper.Mapper[kit.Account]) error {
			_, err := m.DeleteByKey(ctx, m.Key("1"))
			return err
		},
		"Transact": func(m *mapper.Mapper[kit.Account]) error {
			_, err := mapper.Transact(ctx, m.DeletePartByKey(m.Key("1")))
			return err
		},
		"Transact with an unchanged entity": func(m *mapper.Mapper[kit.Account]) error {
			_, err := mapper.Transact(ctx, m.DeletePartByKey(m.Key("1")),
				m.SavePart(kit.Must(m.Load(ctx, m.Key("2")))(t)))
			return err
		},
	}
	attempt := func(name string, foreign bool) {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		if foreign {
			kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("1")})
		} else {
			kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
		}
		sent, f := 0, &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] == "DeleteItem" {
				switch sent++; sent {
				case 1:
					return kit.DropAnswer
				case 2:
					kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
				}
			}
			return kit.None
		}
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "2"})))(t)
		m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, f, 2)}, mapper.Table(table)))(t)
		err := deletes[name](m)
		// Of an entity of another program that is unknown: an Upsert can have given it an incarnation.
		if now := kit.Stored(t, clean, "1"); now == nil || now.Counter != 2 || err != nil &&
			!(foreign && isUnknown(err)) {
			t.Errorf("%s, foreign %v: %v, and %+v is stored (%v)", name, foreign, err, now, f.Log)
		}
	}
	for name := range deletes {
		attempt(name, false)
		attempt(name, true)
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

// An element that is missing now may have been written by the lost copy, and deleted by another writer
// since: it is not written again.
func TestSaveDoesNotUndoDeleteBehindItsLostCopy(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[kit.Board](kit.Client(t, f, 1), mapper.Table(table)))(t)
	e := m.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}, Rows: []kit.Cells{{N: 1, Text: "a"}}})
	kit.Must(m.Save(ctx, e))(t)
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "DeleteItem" {
			return kit.DropRequest
		}
		return kit.None
	}
	e.Value.Rows = nil
	if _, err := m.Save(ctx, e); !isUnknown(err) {
		t.Fatal(err)
	}
	e.Value.Rows = []kit.Cells{{N: 1, Text: "b"}}
	written, deleted := false, false
	f.Pick = func() kit.Fault {
		switch op := f.Log[len(f.Log)-1]; {
		case op == "UpdateItem" && !written:
			written = true
			return kit.DropAnswer
		case op == "GetItem" && written && !deleted:
			deleted = true
			kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
		}
		return kit.None
	}
	_, err := m.Save(ctx, e)
	if now := kit.Must(clean.Load(ctx, clean.Key("E"), mapper.Strong()))(t).Value; !deleted || !isUnknown(err) ||
		len(now.Rows) > 0 {
		t.Errorf("%v, and %+v is stored", err, now.Rows)
	}
}

// An unknown outcome of an earlier try is an unresolved write of the entity: its next save sees to it
// that it is not applied later.
func TestUnknownOfEarlierTryIsRecorded(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	dead := kit.Must(clean.Load(ctx, clean.Key("E")))(t)
	kit.Must(clean.DeleteByKey(ctx, clean.Key("E")))(t)
	dead.Value.Rows = []kit.Cells{{N: 5, Text: "dead"}}
	kit.Must(clean.Save(ctx, dead, mapper.Blind()))(t) // a leftover row
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "live"}})))(t)
	l := &losing{operation: "PutItem", lose: 1}
	f := l.transport()
	puts := 0
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "PutItem" {
			if puts++; puts == 3 {
				return kit.Deny
			}
		}
		return kit.None
	}
	m := kit.Must(mapper.New[kit.Board](kit.Unwatched{C: kit.Client(t, f, 2)}, mapper.Table(table)))(t)
	e := kit.Must(m.Load(ctx, m.Key("E")))(t)
	e.Value.Rows = []kit.Cells{{N: 5, Text: "mine"}}
	if _, err := m.Save(ctx, e); !isUnknown(err) {
		t.Fatal(err)
	}
	e.Value.Rows = nil
	_, err := m.Save(ctx, e)
	kit.Must(clean.Update(ctx, clean.Key("E"),
		func(b *kit.Board) error { b.Rows = []kit.Cells{{N: 5, Text: "z"}}; return nil }))(t)
	kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
	l.Deliver(t)
	if now := kit.Must(clean.Load(ctx, clean.Key("E"), mapper.Strong()))(t).Value; err == nil && len(now.Rows) > 0 {
		t.Errorf("the save is acknowledged, and %+v arrived later", now.Rows)
	}
}

// If an entity moves to another shard while an unwatched client deletes it by its key, the outcome is
// unknown: it can be the next entity of the key. The next delete finds it.
func TestUnwatchedDeleteOfEntityThatMovesIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, By: "x", Line: []kit.Part{{N: 1}, {N: 2}}})))(t)
	m := kit.Must(mapper.New[kit.ShopExpected](kit.Unwatched{C: kit.Client(t,
		kit.AtRequest("TransactWriteItems", 1, func() {
			kit.Must(x.C.Save(ctx, kit.Must(x.C.Load(ctx, x.C.Key("s", n)))(t), mapper.Move()))(t)
		}), 2)}, x.Table))(t)
	if _, err := m.DeleteByKey(ctx, m.Key("s", n)); !isUnknown(err) {
		t.Error(err)
	}
	kit.Must(m.DeleteByKey(ctx, m.Key("s", n)))(t)
	if _, err := x.C.Load(ctx, x.C.Key("s", n), mapper.Strong()); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("it is deleted, and loads: %v", err)
	}
}

// A transaction that only requires that an item is missing is not sent again over a leftover item: the
// item can be missing again when the first copy arrives.
func TestUnwatchedTransactionOverLeftoverIsNotAppliedTwice(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	dead := kit.Must(clean.Load(ctx, clean.Key("E")))(t)
	kit.Must(clean.DeleteByKey(ctx, clean.Key("E")))(t)
	dead.Value.Rows = []kit.Cells{{N: 5, Text: "dead"}}
	kit.Must(clean.Save(ctx, dead, mapper.Blind()))(t) // a leftover row
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "live"}})))(t)
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

// chapter has values in parts.
type chapter struct {
	_     struct{} `ddb:"table=chapters"`
	ID    string   `ddb:"pk=CHAPTER#{ID}"`
	Name  string   `ddb:"sk=HEAD"`
	Lines []verse  `ddb:"sk=LINE#{No:03}"`
}

type verse struct {
	No   int
	Text string `ddb:"chunk,inline=100"`
}

// A PartialError names each item of a step of several, and no record of an external value.
func TestPartialErrorNamesAllItemsOfSteps(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	big := strings.Repeat("z", 500)
	for _, refused := range []string{"TransactWriteItems", "PutItem"} {
		table, f := testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}
		m := kit.Must(mapper.New[chapter](kit.Client(t, f, 1), mapper.Table(table)))(t)
		transactions := 0
		f.Pick = func() kit.Fault {
			op := f.Log[len(f.Log)-1]
			if op == "TransactWriteItems" {
				transactions++
			}
			if op == refused && (op != "PutItem" || transactions > 0) {
				return kit.Deny
			}
			return kit.None
		}
		_, err := m.Save(ctx,
			m.New(chapter{ID: "1", Name: "n", Lines: []verse{{No: 1, Text: big}, {No: 2, Text: big}}}),
			mapper.Independent())
		var p *mapper.PartialError
		if !errors.As(err, &p) {
			if refused == "TransactWriteItems" {
				t.Errorf("%s: %v", refused, err)
			}
			continue
		}
		all := fmt.Sprint(p.Written, p.Rest)
		if len(p.Written)+len(p.Rest) != 3 || strings.Contains(all, "~blob") || !strings.Contains(all, "LINE#002") {
			t.Errorf("%s: written %v, rest %v", refused, p.Written, p.Rest)
		}
	}
}

// While the number of shards changes, a delete by key whose items another writer deletes in between has
// nothing left to do.
func TestUnwatchedDeleteOnChangingShardsEnds(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, By: "x", Line: []kit.Part{{N: 1}, {N: 2}}})))(t)
	m := kit.Must(mapper.New[kit.ShopNew](kit.Unwatched{C: kit.Client(t, kit.AtRequest("TransactWriteItems", 1, func() {
		kit.Must(x.A.DeleteByKey(ctx, x.A.Key("s", n)))(t)
	}), 2)}, x.Table))(t)
	if _, err := m.DeleteByKey(ctx, m.Key("s", n)); err != nil {
		t.Error(err)
	}
}

// A patch that gives up because another writer keeps changing its item returns a ConflictError.
func TestPatchThatGivesUpIsConflict(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	r := kit.NewForeign(t, table)
	r.Set("BOARD#P", "A", "Count", &types.AttributeValueMemberNULL{Value: true})
	i, f := 0, &kit.Faulty{At: -1}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "UpdateItem" {
			i++
			r.Set("BOARD#P", "A", "_v", kit.S(fmt.Sprint(i)))
		}
		return kit.None
	}
	m := kit.Must(mapper.New[kit.Board](kit.Client(t, f, 1), mapper.Table(table)))(t)
	_, err := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("P")),
		0).Patch(kit.CellFields.Count.Increment(1)).Exec(ctx,
		m)
	if !errors.As(err, new(*mapper.ConflictError)) {
		t.Errorf("%T: %v", err, err)
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
		clean := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
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

// boardsOf returns a mapper of boards.
func boardsOf(t *testing.T, table string, c mapper.Client) *mapper.Mapper[kit.Board] {
	return kit.Must(mapper.New[kit.Board](c, mapper.Table(table)))(t)
}

// loadBoard reads a board strongly consistent.
func loadBoard(t *testing.T, m *mapper.Mapper[kit.Board], id string) kit.Board {
	return kit.Must(m.Load(context.Background(), m.Key(id), mapper.Strong()))(t).Value
}

// A save of an unwatched client is not sent again over the delete of another writer, who can have seen the first copy.
func TestUnwatchedSaveDoesNotUndoDelete(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Unwatched{C: kit.Client(t, f, 2)})
	e := m.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}, Rows: []kit.Cells{{N: 1, Text: "a"}}})
	kit.Must(m.Save(ctx, e))(t)
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "DeleteItem" {
			return kit.DropRequest
		}
		return kit.None
	}
	e.Value.Rows = nil
	if _, err := m.Save(ctx, e); !isUnknown(err) {
		t.Fatal(err)
	}
	e.Value.Rows = []kit.Cells{{N: 1, Text: "b"}}
	sent := 0
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "UpdateItem" {
			switch sent++; sent {
			case 1:
				return kit.DropAnswer // it is applied
			case 2: // by the SDK
				if got := loadBoard(t, clean, "E"); len(got.Rows) != 1 || got.Rows[0].Text != "b" {
					t.Fatalf("the update was not applied: %+v", got.Rows)
				}
				kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
			}
		}
		return kit.None
	}
	f.Log = nil
	_, err := m.Save(ctx, e)
	now := loadBoard(t, clean, "E")
	if !isUnknown(err) || len(now.Rows) > 0 {
		t.Errorf("another writer deleted the row: %v, and %d rows are stored", err, len(now.Rows))
	}
}

// An increment that may have been applied is not sent again after a TransactionConflict.
func TestUnwatchedIncrementIsNotRepeatedAfterConflict(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	sent, f := 0, &kit.Faulty{At: -1}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "UpdateItem" {
			switch sent++; sent {
			case 1:
				return kit.DropAnswer // it is applied
			case 2:
				return kit.Collide
			}
		}
		return kit.None
	}
	m := boardsOf(t, table, kit.Unwatched{C: kit.Client(t, f, 2)})
	_, err := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("P")),
		0).Patch(kit.CellFields.Count.Increment(1)).Exec(ctx,
		m)
	n := loadBoard(t, clean, "P").Main.Count
	if n > 1 {
		t.Errorf("counted %d times: %v", n, err)
	}
}

// A put of a new item keeps an unresolved write out only while the item exists. So the save also gives
// a new version to an item that existed before.
func TestPutOfNewItemDoesNotFence(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{
		"the client deletes the new item":     true,
		"another writer deletes the new item": false,
	} {
		t.Run(name, func(t *testing.T) {
			ctx := request.WithoutPauses(context.Background())
			table := testengine.Table(t, "PK:S", "SK:S")
			l := &losing{operation: "TransactWriteItems"}
			clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
			m := boardsOf(t, table, kit.Client(t, l.transport(), 1))
			e := m.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})
			kit.Must(m.Save(ctx, e))(t)
			l.lose = 100
			e.Value.Main.Text, e.Value.Rows = "late", []kit.Cells{{N: 1, Text: "a"}}
			if _, err := m.Save(ctx, e); !isUnknown(err) {
				t.Fatal(err)
			}
			l.lose = 0
			e.Value.Main.Text = "x"
			kit.Must(m.Save(ctx, e))(t)
			if own {
				e.Value.Rows = nil
				kit.Must(m.Save(ctx, e))(t)
			} else {
				kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
			}
			l.Deliver(t)
			if now := loadBoard(t, clean, "E"); now.Main.Text != "x" || len(now.Rows) > 0 {
				t.Errorf("a later save is acknowledged, and the first arrives: %q, rows %v", now.Main.Text, now.Rows)
			}
		})
	}
}

// Without incarnations, an unwatched delete whose first attempt may have been applied does not delete
// what a foreign program put since.
func TestUnwatchedDeleteWithoutIncarnationIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	r := kit.NewForeign(t, table)
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("1")})
	sent, f := 0, &kit.Faulty{At: -1}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "DeleteItem" {
			switch sent++; sent {
			case 1:
				return kit.DropAnswer
			case 2:
				r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("2")})
			}
		}
		return kit.None
	}
	m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, f, 2)}, mapper.Table(table)))(t)
	_, err := m.DeleteByKey(ctx, m.Key("1"))
	if now := kit.Stored(t, clean, "1"); now == nil {
		t.Errorf("two were deleted: %v", err)
	}
}

// An unwatched delete of a range does not delete elements that were added after its first attempt.
func TestUnwatchedDeleteOfRangeKeepsNewElements(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx,
		clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}, Rows: []kit.Cells{{N: 1, Text: "old"}}})))(t)
	sent, f := 0, &kit.Faulty{At: -1}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "DeleteItem" {
			switch sent++; sent {
			case 1:
				return kit.DropAnswer
			case 2:
				kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error {
					if len(b.Rows) != 0 {
						t.Error("not applied")
					}
					b.Rows = []kit.Cells{{N: 1, Text: "new"}}
					return nil
				}))(t)
			}
		}
		return kit.None
	}
	m := boardsOf(t, table, kit.Unwatched{C: kit.Client(t, f, 2)})
	_, err := m.DeleteByKey(ctx, m.Key("E").Prefix("ROW#"))
	now := loadBoard(t, clean, "E")
	if len(now.Rows) == 0 {
		t.Errorf("the new row is deleted: %v", err)
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

// An increment in a missing map is sent as the whole map, and is still sent once: another writer can
// delete the item after the first copy.
func TestIncrementOfMissingMapIsSentOnce(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for attempts := 1; attempts <= 2; attempts++ {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
		kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
		seen := 0
		take := func() {
			kit.Must(clean.Update(ctx, clean.Key("P"), func(b *kit.Board) error {
				seen += b.Other.Counts["a"]
				b.Other = kit.Cells{}
				return nil
			}))(t)
		}
		sent, f := 0, &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			op := f.Log[len(f.Log)-1]
			if op == "UpdateItem" {
				sent++
				if sent == 2 {
					return kit.DropAnswer
				}
			}
			if (op == "GetItem" || op == "UpdateItem" && sent == 3) && seen == 0 && sent >= 2 {
				take()
			}
			return kit.None
		}
		m := boardsOf(t, table, kit.Client(t, f, attempts))
		_, err := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("P")),
			1).Patch(kit.CellFields.Counts.Key("a").Increment(1)).Exec(ctx, m)
		now := loadBoard(t, clean, "P").Other.Counts["a"]
		if seen+now > 1 {
			t.Errorf("%d attempts: one increment: another writer took %d, and %d is stored: %v", attempts, seen, now,
				err)
		}
	}
}

// An item that a later try wrote is no unresolved write: a transaction has it once.
func TestWrittenItemIsNoOpenTry(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	dead := kit.Must(clean.Load(ctx, clean.Key("E")))(t)
	kit.Must(clean.DeleteByKey(ctx, clean.Key("E")))(t)
	dead.Value.Rows = []kit.Cells{{N: 1, Text: "dead"}}
	kit.Must(clean.Save(ctx, dead, mapper.Blind()))(t)
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "live"}})))(t)
	l := &losing{operation: "PutItem", lose: 1}
	f := l.transport()
	puts := 0
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "PutItem" {
			if puts++; puts == 4 {
				return kit.Deny
			}
		}
		return kit.None
	}
	m := boardsOf(t, table, kit.Unwatched{C: kit.Client(t, f, 2)})
	e := kit.Must(m.Load(ctx, m.Key("E")))(t)
	e.Value.Rows = []kit.Cells{{N: 1, Text: "mine"}, {N: 2, Text: "mine"}}
	if _, err := m.Save(ctx, e, mapper.Independent()); err == nil {
		t.Fatal("a request was denied")
	}
	f.Pick = nil
	kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
	l.Deliver(t)
	e.Value.Rows = nil
	_, err := m.Save(ctx, e) // the row has another version now, which an unwatched client can have written
	if now := loadBoard(t, clean, "E"); err == nil && len(now.Rows) > 0 || err != nil &&
		strings.Contains(err.Error(), "multiple operations") {
		t.Errorf("%v, and %+v is stored", err, now.Rows)
	}
}

// A move whose answer was lost carries additions in the save that finds out that it was applied.
func TestMoveWithoutAnswerCarriesAdditions(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, lost := range []bool{false, true} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
		f := &kit.Faulty{At: -1}
		m := boardsOf(t, table, kit.Client(t, f, 1))
		e := m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})
		kit.Must(m.Save(ctx, e))(t)
		other := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
		other.Value.Rows = []kit.Cells{{N: 1, Text: "late"}}
		added := false
		f.Pick = func() kit.Fault {
			op := f.Log[len(f.Log)-1]
			if op == "TransactWriteItems" && !added {
				added = true
				kit.Must(clean.Save(ctx, other))(t) // before the move arrives
			}
			if lost && op == "TransactWriteItems" {
				return kit.DropAnswer
			}
			return kit.None
		}
		e.Value.ID = "2"
		r, err := m.Save(ctx, e, mapper.Move())
		f.Pick = nil
		if lost {
			if !isUnknown(err) {
				t.Fatal(err)
			}
			r, err = m.Save(ctx, e, mapper.Move())
		}
		if err != nil || len(r.LeftBehind) != 0 || len(r.Carried) != 1 {
			t.Errorf("lost %v: left behind %v, carried %v: %v", lost, r.LeftBehind, r.Carried, err)
		}
		if got := loadBoard(t, clean, "2").Rows; len(got) != 1 || got[0].Text != "late" {
			t.Errorf("lost %v: %+v", lost, got)
		}
	}
}

// lostMove moves an entity from key 1 to key 2. Before the move arrives another writer adds a row, if
// late is set. The answer is lost.
func lostMove(t *testing.T, late bool) (clean *mapper.Mapper[kit.Board], m *mapper.Mapper[kit.Board],
	e *mapper.Entity[kit.Board],
) {
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	f := &kit.Faulty{At: -1}
	clean, m = boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1)), boardsOf(t, table, kit.Client(t, f, 1))
	e = m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})
	kit.Must(m.Save(ctx, e))(t)
	other := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] != "TransactWriteItems" {
			return kit.None
		}
		if late {
			late, other.Value.Rows = false, []kit.Cells{{N: 1, Text: "late"}}
			kit.Must(clean.Save(ctx, other))(t)
		}
		return kit.DropAnswer
	}
	e.Value.ID = "2"
	if _, err := m.Save(ctx, e, mapper.Move()); !isUnknown(err) {
		t.Fatal(err)
	}
	f.Pick = nil
	return clean, m, e
}

// A second move carries additions to the key before the first.
func TestSecondMoveCarriesAdditionsToFirst(t *testing.T) {
	t.Parallel()
	clean, m, e := lostMove(t, true)
	e.Value.ID = "3"
	if r, err := m.Save(context.Background(), e, mapper.Move()); err != nil || len(r.LeftBehind) != 0 ||
		len(r.Carried) != 1 {
		t.Errorf("left behind %v, carried %v: %v", r.LeftBehind, r.Carried, err)
	}
	if got := loadBoard(t, clean, "3").Rows; len(got) != 1 || got[0].Text != "late" {
		t.Errorf("%+v", got)
	}
}

// The next entity of the old key is not left behind.
func TestNextEntityIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, insert := range map[string]bool{"saved": false, "deleted and inserted": true} {
		clean, m, e := lostMove(t, false)
		kit.Must(clean.Save(ctx,
			clean.New(kit.Board{ID: "1", Main: kit.Cells{Text: "next"}, Rows: []kit.Cells{{N: 1}}})))(t)
		if insert {
			kit.Must(m.Delete(ctx, e))(t)
			e.Value.ID = "9"
		}
		if r, err := m.Save(ctx, e); err != nil || len(r.LeftBehind) > 0 {
			t.Errorf("%s: left behind %v: %v", name, r.LeftBehind, err)
		}
	}
}

// An independent delete of an entity without an incarnation continues after a conflict, if no answer was lost.
func TestIndependentDeleteWithoutIncarnationContinues(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	r := kit.NewForeign(t, table)
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("1")})
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0001"), "N": kit.N("1"), "Text": kit.S("old")})
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0002"), "N": kit.N("2"), "Text": kit.S("old")})
	m := kit.NewAccounts(t, table, kit.AtRequest("DeleteItem", 2, func() {
		r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0002"), "N": kit.N("2"), "Text": kit.S("new")})
	}), 1)
	kit.Must(m.DeleteByKey(request.WithoutPauses(context.Background()), m.Key("1"), mapper.Independent()))(t)
}

// If the plan of a later try fails, an open try is still recorded.
func TestPlanFailsAfterOpenTry(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	dead := kit.Must(clean.Load(ctx, clean.Key("E")))(t)
	kit.Must(clean.DeleteByKey(ctx, clean.Key("E")))(t)
	dead.Value.Rows = []kit.Cells{{N: 1, Text: "dead"}}
	kit.Must(clean.Save(ctx, dead, mapper.Blind()))(t) // a leftover row
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "live"}})))(t)
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Unwatched{C: kit.Client(t, f, 2)})
	e := kit.Must(m.Load(ctx, m.Key("E")))(t)
	e.Value.Rows = []kit.Cells{{N: 1, Text: "mine"}}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "PutItem" {
			e.Value.ID = "other" // a key that changes needs Move
		}
		return kit.None
	}
	if _, err := m.Save(ctx, e); !isUnknown(err) {
		t.Error(err)
	}
}
