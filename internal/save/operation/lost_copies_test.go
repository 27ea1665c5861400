package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
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

// saveOverLeftoverRow saves board E, where a row of an earlier board E is left over.
func saveOverLeftoverRow(t *testing.T, m *mapper.Mapper[kit.Board], row int) {
	t.Helper()
	ctx := context.Background()
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	dead := kit.Must(m.Load(ctx, m.Key("E")))(t)
	kit.Must(m.DeleteByKey(ctx, m.Key("E")))(t)
	dead.Value.Rows = []kit.Cells{{N: row, Text: "dead"}}
	kit.Must(m.Save(ctx, dead, mapper.Blind()))(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "E", Main: kit.Cells{Text: "live"}})))(t)
}

// loseFirst loses the answer of the first request of an operation, and calls then before the second.
func loseFirst(f *kit.Faulty, operation string, then func() kit.Fault) {
	sent := 0
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == operation {
			switch sent++; sent {
			case 1:
				return kit.DropAnswer
			case 2:
				return then()
			}
		}
		return kit.None
	}
}

// An element that is missing now may have been written by the lost copy, and deleted by another writer
// since: it is not written again.
func TestSaveDoesNotUndoDeleteBehindItsLostCopy(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
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
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	saveOverLeftoverRow(t, clean, 5)
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

// A patch that gives up because another writer keeps changing its item returns a ConflictError.
func TestPatchThatGivesUpIsConflict(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
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
	loseFirst(f, "UpdateItem", func() kit.Fault {
		if got := loadBoard(t, clean, "E"); len(got.Rows) != 1 || got.Rows[0].Text != "b" {
			t.Fatalf("the update was not applied: %+v", got.Rows)
		}
		kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error { b.Rows = nil; return nil }))(t)
		return kit.None
	})
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
	f := &kit.Faulty{At: -1}
	loseFirst(f, "UpdateItem", func() kit.Fault { return kit.Collide })
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

// Count: an increment of a NULL is sent as the whole value, and is still sent once. Another writer can take the first
// copy back, so that the item is as it was before.
func TestIncrementOfNullIsSentOnce(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	null := map[string]types.AttributeValue{
		"PK": kit.S("BOARD#P"), "SK": kit.S("OTHER"), "Count": &types.AttributeValueMemberNULL{Value: true},
	}
	kit.NewForeign(t, table).Put(null)
	sent, f := 0, &kit.Faulty{At: -1}
	f.Pick = func() kit.Fault {
		switch f.Log[len(f.Log)-1] {
		case "UpdateItem":
			if sent++; sent == 2 {
				return kit.DropAnswer
			}
		case "GetItem":
			kit.NewForeign(t, table).Put(null)
		}
		return kit.None
	}
	m := boardsOf(t, table, kit.Client(t, f, 1))
	_, err := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("P")),
		1).Patch(kit.CellFields.Count.Increment(1)).Exec(ctx, m)
	if sent != 2 || !isUnknown(err) {
		t.Errorf("sent %d times: %v", sent, err)
	}
}

// An item that a later try wrote is no unresolved write: a transaction has it once.
func TestWrittenItemIsNoOpenTry(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	saveOverLeftoverRow(t, clean, 1)
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

// If the plan of a later try fails, an open try is still recorded.
func TestPlanFailsAfterOpenTry(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	saveOverLeftoverRow(t, clean, 1)
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
