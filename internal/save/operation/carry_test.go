package operation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
)

// What another writer adds to an entity before it moves was acknowledged. The move carries it to the new key.

// boards are two programs that write boards.
type boards = writers[kit.Board]

func to(id string) func(*kit.Board) { return func(b *kit.Board) { b.ID = id } }

// addLate has the other program add a row.
func addLate(w *boards) {
	w.change("1", func(b *kit.Board) { b.Rows = []kit.Cells{{N: 1, Text: "late"}} })
}

// lateThen adds a row before the request that moves, and does something before the one that carries.
func lateThen(do func(w *boards)) func(w *boards) hooks {
	return func(w *boards) hooks {
		return hooks{"TransactWriteItems": func(number int) kit.Fault {
			switch number {
			case 1:
				addLate(w)
			case 2:
				do(w)
			}
			return kit.None
		}}
	}
}

// lostAfter loses the answer of each transaction, and does something before the first one.
func lostAfter(do func(w *boards)) func(w *boards) hooks {
	return func(w *boards) hooks {
		return hooks{"TransactWriteItems": func(number int) kit.Fault {
			if number == 1 {
				do(w)
			}
			return kit.DropAnswer
		}}
	}
}

// insertNext has the other program insert the next board 1.
func insertNext(w *boards) {
	w.insert(kit.Board{ID: "1", Main: kit.Cells{Text: "next"}, Rows: []kit.Cells{{N: 1, Text: "its own"}}})
}

// putRow stores a row as a foreign writer does: without an incarnation.
func putRow(w *boards) {
	kit.NewForeign(w, w.table).Put(kit.Item{"PK": kit.S("BOARD#1"), "SK": kit.S("ROW#07"), "Text": kit.S("foreign")})
}

// putStaged stores items of an insert at key 1 that is under way.
func putStaged(w *boards) {
	r := kit.NewForeign(w, w.table)
	r.Put(kit.Item{
		"PK": kit.S("BOARD#1"), "SK": kit.S("A"), "_a": bytesOf("abcdefgh"), "_v": bytesOf("12345678"),
		"_s": kit.M(kit.Item{"state": kit.S("inserting"), "since": kit.N("1795000000")}),
	})
	r.Put(kit.Item{
		"PK": kit.S("BOARD#1"), "SK": kit.S("ROW#05"), "_a": bytesOf("abcdefgh"), "_v": bytesOf("12345678"),
		"_s": &types.AttributeValueMemberBOOL{Value: true},
	})
}

func showBoard(b *kit.Board) string {
	var all []string
	for _, r := range b.Rows {
		all = append(all, r.Text)
	}
	return fmt.Sprint(all)
}

// An addition that was acknowledged is carried, or it stays and is reported. Items of other entities stay.
func TestMoveCarriesAdditions(t *testing.T) {
	t.Parallel()
	nothing := func(*boards) {}
	var plays []play[kit.Board]
	for _, c := range []struct {
		name   string
		during func(w *boards) hooks
		want   string
	}{
		{"an addition is carried", lateThen(nothing), "2: [late], carried ROW#01"},
		{
			"an addition stays and is reported if the entity has the same element",
			lateThen(func(w *boards) {
				w.change("2", func(b *kit.Board) { b.Rows = []kit.Cells{{N: 1, Text: "other"}} })
			}),
			"2: [other], left behind ROW#01, written A A, but not ROW#01",
		},
		{
			"an addition stays and is reported if the entity was deleted",
			lateThen(func(w *boards) { kit.Must(w.other.DeleteByKey(w.ctx, w.other.Key("2")))(w) }),
			"left behind ROW#01, written A A, but not ROW#01",
		},
		{
			"an addition is not carried to the next entity of the new key",
			lateThen(func(w *boards) {
				kit.Must(w.other.DeleteByKey(w.ctx, w.other.Key("2")))(w)
				w.insert(kit.Board{ID: "2", Main: kit.Cells{Text: "next"}})
			}),
			"2: [], left behind ROW#01, written A A, but not ROW#01",
		},
		{
			"an addition that was carried is not left behind if the answer was lost",
			func(w *boards) hooks {
				transactions := 0
				return hooks{"": func(int) kit.Fault {
					if w.network.Log[len(w.network.Log)-1] == "TransactWriteItems" {
						if transactions++; transactions == 1 {
							addLate(w)
						} else if transactions == 2 {
							return kit.DropAnswer
						}
					}
					if transactions > 1 {
						return kit.DropRequest
					}
					return kit.None
				}}
			},
			"2: [late], written A A",
		},
		{
			"an item without an incarnation is not taken from the next entity of the old key",
			func(w *boards) hooks {
				return hooks{
					"Query": func(int) kit.Fault { putRow(w); return kit.None },
					"TransactWriteItems": nth(2, func() {
						root := kit.Item{"PK": kit.S("BOARD#1"), "SK": kit.S("A"), "Text": kit.S("next")}
						kit.NewForeign(w, w.table).Put(root)
					}, kit.None),
				}
			},
			"1: [foreign], 2: []",
		},
		{
			"items of a staged insert at the old key are not left behind",
			func(w *boards) hooks {
				return hooks{"Query": func(int) kit.Fault { putStaged(w); return kit.None }}
			},
			"2: []",
		},
	} {
		plays = append(plays, play[kit.Board]{
			name: c.name, stored: kit.Board{ID: "1", Main: kit.Cells{Text: "x"}},
			steps: []step[kit.Board]{
				{change: to("2"), save: saves[kit.Board](mapper.Move()), during: c.during, want: c.want},
			},
		})
	}
	perform(t, showBoard, plays)
}

// A second save finishes the first move, or moves again.
func TestRepeatedMoveCarriesAdditions(t *testing.T) {
	t.Parallel()
	move, board := saves[kit.Board](mapper.Move()), kit.Board{ID: "1", Main: kit.Cells{Text: "x"}}
	unanswered := func(before func(*boards)) step[kit.Board] {
		return step[kit.Board]{change: to("2"), save: move, during: lostAfter(before), want: "2: [], unknown"}
	}
	nothing := func(*boards) {}
	perform(t, showBoard, []play[kit.Board]{
		{
			name: "an addition replaces a leftover item of a deleted entity once", stored: board,
			before: func(w *boards) {
				kit.NewForeign(w, w.table).Put(kit.Item{
					"PK": kit.S("BOARD#2"), "SK": kit.S("ROW#01"), "_a": bytesOf("deadbeef"), "_v": bytesOf("12345678"),
				})
			},
			steps: []step[kit.Board]{
				{change: to("2"), save: move, during: lateThen(nothing), want: "2: [late], carried ROW#01"},
				{save: move, want: "2: [late]"},
				{save: move, want: "2: [late]"},
			},
		},
		{
			name:   "an item without an incarnation is not left behind if the entity comes back and shows it",
			stored: board, own: true,
			steps: []step[kit.Board]{
				{
					change: to("2"), save: move, during: func(*boards) hooks {
						return hooks{"Query": func(int) kit.Fault { return kit.Deny }}
					},
					want: "2: [], written A A",
				},
				{before: putRow, change: to("1"), save: move, want: "1: [foreign]"},
			},
		},
		{
			name:   "the outcome of a repeated move is unknown if another writer has written all that moved",
			stored: board,
			steps: []step[kit.Board]{
				{
					before: addLate, change: to("2"), save: move, during: func(*boards) hooks {
						return hooks{"": func(number int) kit.Fault {
							if number == 1 {
								return kit.DropAnswer
							}
							return kit.DropRequest
						}}
					},
					want: "2: [], unknown",
				},
				{
					before: func(w *boards) { w.change("2", func(b *kit.Board) { b.Main.Text = "changed" }) },
					save:   move, want: "2: [], unknown",
				},
				{save: move, want: "2: [], unknown"},
			},
		},
		{
			name: "the save that finds a move applied, whose answer was lost, carries", stored: board, own: true,
			steps: []step[kit.Board]{unanswered(addLate), {save: move, want: "2: [late], carried ROW#01"}},
		},
		{
			name: "a move without a lost answer carries to an entity that was not loaded", stored: board, own: true,
			steps: []step[kit.Board]{
				{change: to("2"), save: move, during: lateThen(nothing), want: "2: [late], carried ROW#01"},
			},
		},
		{
			name: "a second move carries what the first one did not", stored: board, own: true,
			steps: []step[kit.Board]{
				unanswered(addLate), {change: to("3"), save: move, want: "3: [late], carried ROW#01"},
			},
		},
		{
			name: "a save does not leave the next entity of the old key behind", stored: board, own: true,
			steps: []step[kit.Board]{
				unanswered(nothing), {before: insertNext, save: saves[kit.Board](), want: "1: [its own], 2: []"},
			},
		},
		{
			name:   "an insert after a delete does not leave the next entity of the old key behind",
			stored: board, own: true,
			steps: []step[kit.Board]{
				unanswered(nothing),
				{
					before: insertNext,
					save: func(w *boards, e *mapper.Entity[kit.Board]) (*mapper.Receipt, error) {
						kit.Must(w.own.Delete(w.ctx, e))(w)
						e.Value.ID = "3"
						return w.own.Save(w.ctx, e)
					},
					want: "1: [its own], 3: []",
				},
			},
		},
	})
}

// The keys of elements name a field of the root item. If it changes, they move.
func TestMoveOfElementsCarriesToLatestKeys(t *testing.T) {
	t.Parallel()
	move := saves[book](mapper.Move())
	one := book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}}
	perform(t, showBook, []play[book]{
		{
			name: "nothing is carried to keys that the elements have left since", stored: one,
			steps: []step[book]{{
				before: func(w *books) { w.change("1", adds(2)) }, change: year("2021"), save: move,
				during: func(w *books) hooks {
					return hooks{"TransactWriteItems": nth(2, func() { w.move("1", year("2022")) }, kit.None)}
				},
				want: "1: 2022 [1] and 1 hidden, left behind E#2020#02, " +
					"written HEAD E#2021#01 E#2020#01, but not E#2020#02",
			}},
		},
		{
			name: "elements that another writer moved back stay", stored: one,
			steps: []step[book]{{
				change: year("2021"), save: move,
				during: func(w *books) hooks { return hooks{"": nth(2, func() { movedBack(w) }, kit.None)} },
				want:   "1: 2020 [1]",
			}},
		},
		{
			name:   "a move back after an interrupted move carries none of its own items",
			stored: book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}}, own: true, // and changed
			steps: []step[book]{
				{
					change: year("2021"), save: move,
					during: func(*books) hooks { return hooks{"": nth(2, nil, kit.Deny)} },
					want:   "1: 2021 [1], written HEAD E#2021#01 E#2020#01",
				},
				{change: year("2020"), save: move, want: "1: 2020 [1]"},
				{change: func(v *book) { v.Entries[0].Text = "x" }, save: saves[book](), want: "1: 2020 [1 x]"},
			},
		},
	})
	at := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)
	moveDated := saves[dated](mapper.Move())
	perform(t, showDated, []play[dated]{{
		name:   "an addition is carried though the field has changed to a value with the same key",
		stored: dated{ID: "1", At: at},
		steps: []step[dated]{
			{
				before: func(w *writers[dated]) { w.change("1", func(v *dated) { v.Entries = []kit.Part{{N: 2}} }) },
				change: func(v *dated) { v.ID = "2" }, save: moveDated,
				during: func(w *writers[dated]) hooks {
					later := func(v *dated) { v.At = at.Add(time.Minute) }
					return hooks{"": nth(2, func() { w.change("2", later) }, kit.None)}
				},
				want: "2: 09:31 [2], carried E#2021-11-14#02",
			},
			{save: moveDated, want: "2: 09:31 [2]"},
			{before: func(w *writers[dated]) { w.move("2", func(*dated) {}) }, want: "2: 09:31 [2]"},
		},
	}})
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
