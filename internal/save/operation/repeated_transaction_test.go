package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// counting is a counter in an item that no part of a transaction loads, next to entities of the same
// model.
type counting struct {
	*testing.T
	f             *kit.Faulty
	client        mapper.Client
	boards, clean *mapper.Mapper[kit.Board]
	table         string
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	c := &counting{T: t, f: &kit.Faulty{At: -1}, table: testengine.Table(t, "PK:S", "SK:S")}
	c.client = kit.Client(t, c.f, 1)
	c.boards = kit.Must(mapper.New[kit.Board](c.client, mapper.Table(c.table)))(t)
	c.clean = kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(c.table)))(t)
	kit.Must(c.clean.Save(t.Context(), c.clean.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	return c
}

func (c *counting) node(id string) *mapper.ItemNode[kit.Board, *kit.Cells] {
	return mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(c.boards.Key(id)), 0)
}

func (c *counting) increment() mapper.Part {
	return c.node("P").Patch(kit.CellFields.Count.Increment(1)).PatchPart(c.boards)
}

// raw is the increment as an item of the caller's own.
func (c *counting) raw() mapper.Part {
	return mapper.RawPart(c.client, types.TransactWriteItem{Update: &types.Update{
		TableName: &c.table, Key: kit.Item{
			"PK": kit.S("BOARD#P"),
			"SK": kit.S("A"),
		}, UpdateExpression: aws.String("ADD #c :one"),
		ExpressionAttributeNames:  map[string]string{"#c": "Count"},
		ExpressionAttributeValues: kit.Item{":one": kit.N("1")},
	}})
}

func (c *counting) count() int {
	return kit.Must(c.clean.Load(context.Background(), c.clean.Key("P"), mapper.Strong()))(c.T).Value.Main.Count
}

// lost makes a call whose transactions, or the answers to them, are lost.
func (c *counting) lost(kind kit.Fault, do func() error) {
	c.Helper()
	c.f.Pick = func() kit.Fault {
		if c.f.Log[len(c.f.Log)-1] != "TransactWriteItems" {
			return kit.None
		}
		return kind
	}
	err := do()
	c.f.Pick = nil
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		c.Fatalf("it is known: %v", err)
	}
}

// A transaction of an entity with a counter, whose outcome is unknown, is repeated after an event in
// between. Whatever the event, the counter is counted once until the caller knows that it was applied,
// or that nothing shows whether it was. The error is true.
func TestRepeatedWithAnotherPart(t *testing.T) {
	t.Parallel()
	type between = func(*counting, *mapper.Entity[kit.Board])
	save := func(c *counting, e *mapper.Entity[kit.Board]) { kit.Must(c.boards.Save(context.Background(), e))(c.T) }
	interfere := func(c *counting, _ *mapper.Entity[kit.Board]) {
		kit.Must(c.clean.Update(context.Background(), c.clean.Key("E"),
			func(b *kit.Board) error { b.Main.State = "other"; return nil }))(c.T)
	}
	removed := func(c *counting, _ *mapper.Entity[kit.Board]) {
		kit.Must(c.clean.Update(context.Background(), c.clean.Key("E"),
			func(b *kit.Board) error { b.Rows = nil; return nil }))(c.T)
	}
	patched := func(c *counting, _ *mapper.Entity[kit.Board]) {
		kit.Must(mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(c.clean.Key("P")),
			0).Patch(kit.CellFields.Text.Set("b")).Exec(context.Background(), c.clean))(c.T)
	}
	nothing := func(*counting, *mapper.Entity[kit.Board]) {}
	change := func(e *mapper.Entity[kit.Board]) { e.Value.Main.Text = "z" }
	remove := func(e *mapper.Entity[kit.Board]) { e.Value.Rows = nil }
	asItIs := func(*mapper.Entity[kit.Board]) {}
	const applied, unknowns, done = "was applied", "is unknown", ""
	for name, c := range map[string]struct {
		edit    func(*mapper.Entity[kit.Board])
		kind    kit.Fault
		between between
		want    string
		count   int
	}{
		"as it is":                              {change, kit.DropAnswer, nothing, applied, 1},
		"as it is, and not applied":             {change, kit.DropRequest, nothing, done, 1},
		"the entity saved in between":           {change, kit.DropAnswer, save, applied, 1},
		"the entity unchanged":                  {asItIs, kit.DropAnswer, nothing, applied, 1},
		"the entity unchanged, and not applied": {asItIs, kit.DropRequest, nothing, unknowns, 0},
		"the entity written by another":         {change, kit.DropAnswer, interfere, applied, 1},
		"written by another, and not applied":   {change, kit.DropRequest, interfere, unknowns, 0},
		"the counter written by another":        {change, kit.DropAnswer, patched, applied, 1},
		"both written by others": {
			change, kit.DropAnswer,
			func(c *counting, e *mapper.Entity[kit.Board]) { interfere(c, e); patched(c, e) }, unknowns, 1,
		},
		"an element removed, also by another":     {remove, kit.DropRequest, removed, unknowns, 0},
		"an element removed, the counter written": {remove, kit.DropAnswer, patched, unknowns, 1},
	} {
		for _, what := range []string{"patch", "raw"} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				x := newCounting(t)
				e := x.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}, Rows: []kit.Cells{{N: 1, Text: "a"}}})
				kit.Must(x.boards.Save(t.Context(), e))(t)
				c.edit(e)
				do := func() error {
					part := x.increment()
					if what == "raw" {
						part = x.raw()
					}
					_, err := mapper.Transact(context.Background(), x.boards.SavePart(e, mapper.CheckLoaded()), part)
					return err
				}
				x.lost(c.kind, do)
				c.between(x, e)
				err, want := do(), c.want
				if what == "raw" && want == applied &&
					(name == "the entity unchanged" || name == "the entity written by another") {
					// a raw item has no version that shows it, and the entity was written since, or not
					// at all
					want = unknowns
				}
				text := ""
				if err != nil {
					text = err.Error()
				}
				if want == done && err != nil || !strings.Contains(text, want) || x.count() != c.count {
					t.Errorf("counted %d, and %v", x.count(), err)
				}
			})
		}
	}
}

// A transaction that is repeated and lost again is still one. It is reported once, whichever attempt
// was applied, and the next call is another one.
func TestRepeatedTwice(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]kit.Fault{
		"the first":  {kit.DropAnswer, kit.DropAnswer},
		"the second": {kit.DropRequest, kit.DropAnswer},
	} {
		c := newCounting(t)
		e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}})
		kit.Must(c.boards.Save(t.Context(), e))(t)
		e.Value.Main.Text = "z"
		do := func() error {
			_, err := mapper.Transact(context.Background(), c.boards.SavePart(e), c.increment())
			return err
		}
		c.lost(kinds[0], do)
		if name == "the second" {
			c.lost(kinds[1], do)
		}
		if err := do(); err == nil || !strings.Contains(err.Error(), "was applied") || c.count() != 1 {
			t.Errorf("%s: counted %d: %v", name, c.count(), err)
		}
		if err := do(); err != nil || c.count() != 2 { // which is meant
			t.Errorf("%s: counted %d: %v", name, c.count(), err)
		}
	}
}

// The written items show which of several transactions was applied. Some were repeated in parts, with
// other entities, and with deletes and late copies of others in between.
func TestRepeatedInParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	entity := func(c *counting, id string) *mapper.Entity[kit.Board] {
		e := c.boards.New(kit.Board{ID: id, Main: kit.Cells{Text: "y"}})
		kit.Must(c.boards.Save(ctx, e))(c.T)
		e.Value.Main.Text = "z"
		return e
	}
	appends := func(c *counting) mapper.Part {
		kit.Must(mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(c.clean.Key("Q")),
			0).Patch(kit.CellFields.Text.Set("q")).Upsert().Exec(ctx, c.clean))(c.T)
		return c.node("Q").Patch(kit.CellFields.Count.Increment(1)).PatchPart(c.boards)
	}
	q := func(c *counting) int {
		return kit.Must(c.clean.Load(ctx, c.clean.Key("Q"), mapper.Strong()))(c.T).Value.Main.Count
	}
	transact := func(parts ...mapper.Part) func() error {
		return func() error { _, err := mapper.Transact(ctx, parts...); return err }
	}
	t.Run("less, and then the rest", func(t *testing.T) {
		c := newCounting(t)
		e, other := entity(c, "E"), appends(c)
		c.lost(kit.DropRequest, transact(c.boards.SavePart(e), c.increment(), other))
		c.lost(kit.DropAnswer, transact(c.boards.SavePart(e), c.increment()))
		err := transact(c.boards.SavePart(e), other)()
		if err != nil && strings.Contains(err.Error(), "was applied") || c.count() != 1 || err == nil && q(c) != 1 {
			t.Errorf("counted %d and %d: %v", c.count(), q(c), err)
		}
	})
	t.Run("of two entities, each is told of it once", func(t *testing.T) {
		c := newCounting(t)
		e, f := entity(c, "E"), entity(c, "F")
		c.lost(kit.DropAnswer, transact(c.boards.SavePart(e), c.boards.SavePart(f), c.increment()))
		if err := transact(c.boards.SavePart(e), c.increment())(); err == nil || c.count() != 1 {
			t.Errorf("counted %d: %v", c.count(), err)
		}
		if err := transact(c.boards.SavePart(f), c.increment())(); err != nil || c.count() != 2 {
			t.Errorf("counted %d: %v", c.count(), err)
		}
	})
	t.Run("of two entities, one has repeated it", func(t *testing.T) {
		c := newCounting(t)
		e, f := entity(c, "E"), entity(c, "F")
		c.lost(kit.DropRequest, transact(c.boards.SavePart(e), c.boards.SavePart(f), c.increment()))
		c.lost(kit.DropAnswer, transact(c.boards.SavePart(e), c.increment()))
		if err := transact(c.boards.SavePart(f), c.increment())(); err == nil || c.count() != 1 {
			t.Errorf("counted %d: %v", c.count(), err)
		}
	})
	t.Run("an insert that somebody deletes", func(t *testing.T) {
		c := newCounting(t)
		e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}})
		do := transact(c.boards.SavePart(e), c.raw())
		c.lost(kit.DropAnswer, do)
		kit.Must(c.clean.DeleteByKey(ctx, c.clean.Key("E")))(t)
		if err := do(); err == nil || c.count() != 1 {
			t.Errorf("counted %d: %v", c.count(), err)
		}
	})
	t.Run("a late copy of what nothing told of", func(t *testing.T) {
		c := newCounting(t)
		l := &losing{operation: "TransactWriteItems", lose: 3} // as often as it is sent
		m := kit.Must(mapper.New[kit.Board](kit.Client(t, l.transport(), 1), mapper.Table(c.table)))(t)
		e := m.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}})
		do := transact(m.SavePart(e),
			mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("P")),
				0).Patch(kit.CellFields.Count.Increment(1)).PatchPart(m))
		for range 2 { // lost, and untold
			var unknown *mapper.OutcomeUnknownError
			if err := do(); !errors.As(err, &unknown) {
				t.Fatal(err)
			}
		}
		l.before = func(operation string) {
			if operation == "TransactWriteItems" {
				l.before = nil
				l.Deliver(t)
			}
		}
		if err := do(); err == nil || !strings.Contains(err.Error(), "was applied") || c.count() != 1 {
			t.Errorf("counted %d: %v", c.count(), err)
		}
	})
	t.Run("another value, of another type", func(t *testing.T) {
		c := newCounting(t)
		e := entity(c, "E")
		set := func(v types.AttributeValue) mapper.Part {
			return mapper.RawPart(c.client, types.TransactWriteItem{Update: &types.Update{
				TableName: &c.table, Key: kit.Item{"PK": kit.S("BOARD#P"), "SK": kit.S("A")},
				UpdateExpression:          aws.String("SET Flag = :v"),
				ExpressionAttributeValues: kit.Item{":v": v},
			}})
		}
		c.lost(kit.DropAnswer, transact(c.boards.SavePart(e), set(kit.S("1"))))
		if err := transact(c.boards.SavePart(e), set(kit.N("1")))(); err != nil {
			t.Error(err)
		}
	})
}

// What a repetition finds out it remembers, though it ends in an error that comes later.
func TestRepeatedWithAFailure(t *testing.T) {
	t.Parallel()
	for _, kind := range []kit.Fault{kit.Throttle, kit.DropRequest, kit.DropAnswer} {
		c := newCounting(t)
		e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}})
		p := c.node("P").Patch(kit.CellFields.Count.Increment(1)).IfEntityExists().PatchPart(c.boards)
		do := func() error { _, err := mapper.Transact(context.Background(), c.boards.SavePart(e), p); return err }
		call := 0
		at := func(n int, f kit.Fault) {
			call = 0
			c.f.Pick = func() kit.Fault {
				if call++; call == n || n == 0 && call > 1 {
					return f
				}
				return kit.None
			}
		}
		at(0, kit.DropAnswer)
		_ = do()
		at(2, kind)
		_ = do()
		c.f.Pick = nil
		if err := do(); c.count() != 1 {
			t.Errorf("%s: counted %d: %v", kit.FaultNames[kind], c.count(), err)
		}
	}
}

// A delete that turns out to be applied is done, and so is a save in the same transaction; a patch
// shows that both are.
func TestRepeatedDeleting(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	a, b := c.boards.New(kit.Board{ID: "A", Main: kit.Cells{Text: "y"}}), c.boards.New(kit.Board{
		ID:   "B",
		Main: kit.Cells{Text: "y"},
	})
	kit.Must(c.boards.Save(t.Context(), a))(t)
	do := func() error {
		_, err := mapper.Transact(context.Background(), c.boards.SavePart(b), c.boards.DeletePart(a))
		return err
	}
	c.lost(kit.DropAnswer, do)
	if err := do(); err != nil {
		t.Error(err)
	}
	kit.Must(c.boards.Save(t.Context(), a))(t)
	with := func() error {
		_, err := mapper.Transact(context.Background(), c.boards.DeletePart(a), c.increment())
		return err
	}
	c.lost(kit.DropAnswer, with)
	if err := with(); err == nil || !strings.Contains(err.Error(), "was applied") || c.count() != 1 {
		t.Errorf("counted %d: %v", c.count(), err)
	}
}

// An element with an unresolved write that the caller removes does not prevent a save of its entity in
// a transaction: the outcome of the write is determined first.
func TestTakenBackInATransaction(t *testing.T) {
	t.Parallel()
	for _, kind := range []kit.Fault{kit.DropAnswer, kit.DropRequest} {
		c := newCounting(t)
		e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}})
		kit.Must(c.boards.Save(t.Context(), e))(t)
		e.Value.Rows, e.Value.Main.Text = []kit.Cells{{N: 1, Text: "a"}}, "v"
		c.lost(kind, func() error {
			_, err := mapper.Transact(context.Background(), c.boards.SavePart(e), c.increment())
			return err
		})
		e.Value.Rows, e.Value.Main.Text = nil, "z"
		if r, err := mapper.Transact(t.Context(), c.boards.SavePart(e)); err != nil {
			t.Errorf("%s: %v, %v", kit.FaultNames[kind], r, err)
		}
	}
}

// A refusal for the size of an item names that item, and none if it is unknown.
func TestTooLargeInATransaction(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	kit.Must(c.clean.Save(t.Context(),
		c.clean.New(kit.Board{ID: "1", Main: kit.Cells{Text: strings.Repeat("x", 300_000), Lines: []string{"a"}}})))(t)
	grow := c.node("1").Patch(kit.CellFields.Lines.Append(strings.Repeat("x", 150_000))).PatchPart(c.boards)
	put := mapper.RawPart(c.client, types.TransactWriteItem{Put: &types.Put{
		TableName: &c.table, Item: kit.Item{
			"PK": kit.S("BOARD#2"), "SK": kit.S("A"),
			"B": kit.S(strings.Repeat("x", 450_000)),
		},
	}})
	e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}})
	for name, x := range map[string]struct {
		parts []mapper.Part
		want  string
	}{
		"a patch beside an entity": {[]mapper.Part{c.boards.SavePart(e), grow}, "BOARD#1"},
		"a patch beside a patch":   {[]mapper.Part{c.increment(), grow}, "BOARD#1"},
		"a raw put":                {[]mapper.Part{c.increment(), put}, "BOARD#2"},
	} {
		_, err := mapper.Transact(t.Context(), x.parts...)
		var large *mapper.TooLargeError
		if !errors.As(err, &large) || large.Key.Partition != x.want || c.count() != 0 {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// A call whose context is done sends nothing, and its receipt counts nothing.
func TestReceiptsOfWhatWasNotSent(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	var read mapper.Receipt
	e := c.boards.New(kit.Board{ID: "E", Main: kit.Cells{Text: "y"}})
	for name, do := range map[string]func() (*mapper.Receipt, error){
		"save":   func() (*mapper.Receipt, error) { return c.boards.Save(done, e) },
		"delete": func() (*mapper.Receipt, error) { return c.boards.DeleteByKey(done, c.boards.Key("P")) },
		"update": func() (*mapper.Receipt, error) {
			return c.boards.Update(done, c.boards.Key("P"), func(*kit.Board) error { return nil })
		},
		"patch": func() (*mapper.Receipt, error) {
			return c.node("P").Patch(kit.CellFields.Text.Set("z")).IfEntityExists().Exec(done, c.boards)
		},
		"load": func() (*mapper.Receipt, error) {
			_, err := c.boards.Load(done, c.boards.Key("P"), mapper.ReceiptTo(&read))
			return &read, err
		},
	} {
		r, err := do()
		if !errors.Is(err, context.Canceled) || r.Predicted().Requests != 0 {
			t.Errorf("%s: %d requests, %v", name, r.Predicted().Requests, err)
		}
	}
}
