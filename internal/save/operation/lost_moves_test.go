package operation_test

import (
	"context"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

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
