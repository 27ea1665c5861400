package mapper_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// counting is a counter in an item that no part of a transaction loads, next to entities of the same
// model.
type counting struct {
	*testing.T
	f             *faulty
	client        mapper.Client
	boards, clean *mapper.Mapper[board]
	table         string
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	c := &counting{T: t, f: &faulty{at: -1}, table: testengine.Table(t, "PK:S", "SK:S")}
	c.client = client(t, c.f, 1)
	c.boards = must(mapper.New[board](c.client, mapper.Table(c.table)))(t)
	c.clean = must(mapper.New[board](client(t, &faulty{at: -1}, 1), mapper.Table(c.table)))(t)
	must(c.clean.Save(t.Context(), c.clean.New(board{ID: "P", Main: cells{Text: "x"}})))(t)
	return c
}

func (c *counting) node(id string) *mapper.ItemNode[board, cells] {
	return mapperimpl.Item[board, cells](handmade.Node(c.boards.Key(id)), 0)
}

func (c *counting) increment() mapper.Part {
	return c.node("P").Patch(cellFields.Count.Increment(1)).PatchPart(c.boards)
}

// raw is the increment as an item of the caller's own.
func (c *counting) raw() mapper.Part {
	return mapper.RawPart(c.client, types.TransactWriteItem{Update: &types.Update{
		TableName: &c.table, Key: item{"PK": s("BOARD#P"), "SK": s("A")}, UpdateExpression: aws.String("ADD #c :one"),
		ExpressionAttributeNames: map[string]string{"#c": "Count"}, ExpressionAttributeValues: item{":one": n("1")},
	}})
}

func (c *counting) count() int {
	return must(c.clean.Load(context.Background(), c.clean.Key("P"), mapper.Strong()))(c.T).Value.Main.Count
}

// lost makes a call whose transactions, or the answers to them, are lost.
func (c *counting) lost(kind fault, do func() error) {
	c.Helper()
	c.f.pick = func() fault {
		if c.f.log[len(c.f.log)-1] != "TransactWriteItems" {
			return none
		}
		return kind
	}
	err := do()
	c.f.pick = nil
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
	type between = func(*counting, *mapper.Entity[board])
	save := func(c *counting, e *mapper.Entity[board]) { must(c.boards.Save(context.Background(), e))(c.T) }
	interfere := func(c *counting, _ *mapper.Entity[board]) {
		must(c.clean.Update(context.Background(), c.clean.Key("E"),
			func(b *board) error { b.Main.State = "other"; return nil }))(c.T)
	}
	removed := func(c *counting, _ *mapper.Entity[board]) {
		must(c.clean.Update(context.Background(), c.clean.Key("E"),
			func(b *board) error { b.Rows = nil; return nil }))(c.T)
	}
	patched := func(c *counting, _ *mapper.Entity[board]) {
		must(mapperimpl.Item[board, cells](handmade.Node(c.clean.Key("P")),
			0).Patch(cellFields.Text.Set("b")).Exec(context.Background(), c.clean))(c.T)
	}
	nothing := func(*counting, *mapper.Entity[board]) {}
	change := func(e *mapper.Entity[board]) { e.Value.Main.Text = "z" }
	remove := func(e *mapper.Entity[board]) { e.Value.Rows = nil }
	asItIs := func(*mapper.Entity[board]) {}
	const applied, unknowns, done = "was applied", "is unknown", ""
	for name, c := range map[string]struct {
		edit    func(*mapper.Entity[board])
		kind    fault
		between between
		want    string
		count   int
	}{
		"as it is":                              {change, dropAnswer, nothing, applied, 1},
		"as it is, and not applied":             {change, dropRequest, nothing, done, 1},
		"the entity saved in between":           {change, dropAnswer, save, applied, 1},
		"the entity unchanged":                  {asItIs, dropAnswer, nothing, applied, 1},
		"the entity unchanged, and not applied": {asItIs, dropRequest, nothing, unknowns, 0},
		"the entity written by another":         {change, dropAnswer, interfere, applied, 1},
		"written by another, and not applied":   {change, dropRequest, interfere, unknowns, 0},
		"the counter written by another":        {change, dropAnswer, patched, applied, 1},
		"both written by others": {
			change, dropAnswer,
			func(c *counting, e *mapper.Entity[board]) { interfere(c, e); patched(c, e) }, unknowns, 1,
		},
		"an element removed, also by another":     {remove, dropRequest, removed, unknowns, 0},
		"an element removed, the counter written": {remove, dropAnswer, patched, unknowns, 1},
	} {
		for _, what := range []string{"patch", "raw"} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				x := newCounting(t)
				e := x.boards.New(board{ID: "E", Main: cells{Text: "y"}, Rows: []cells{{N: 1, Text: "a"}}})
				must(x.boards.Save(t.Context(), e))(t)
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
	for name, kinds := range map[string][]fault{
		"the first":  {dropAnswer, dropAnswer},
		"the second": {dropRequest, dropAnswer},
	} {
		c := newCounting(t)
		e := c.boards.New(board{ID: "E", Main: cells{Text: "y"}})
		must(c.boards.Save(t.Context(), e))(t)
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
	entity := func(c *counting, id string) *mapper.Entity[board] {
		e := c.boards.New(board{ID: id, Main: cells{Text: "y"}})
		must(c.boards.Save(ctx, e))(c.T)
		e.Value.Main.Text = "z"
		return e
	}
	appends := func(c *counting) mapper.Part {
		must(mapperimpl.Item[board, cells](handmade.Node(c.clean.Key("Q")),
			0).Patch(cellFields.Text.Set("q")).Upsert().Exec(ctx, c.clean))(c.T)
		return c.node("Q").Patch(cellFields.Count.Increment(1)).PatchPart(c.boards)
	}
	q := func(c *counting) int {
		return must(c.clean.Load(ctx, c.clean.Key("Q"), mapper.Strong()))(c.T).Value.Main.Count
	}
	transact := func(parts ...mapper.Part) func() error {
		return func() error { _, err := mapper.Transact(ctx, parts...); return err }
	}
	t.Run("less, and then the rest", func(t *testing.T) {
		c := newCounting(t)
		e, other := entity(c, "E"), appends(c)
		c.lost(dropRequest, transact(c.boards.SavePart(e), c.increment(), other))
		c.lost(dropAnswer, transact(c.boards.SavePart(e), c.increment()))
		err := transact(c.boards.SavePart(e), other)()
		if err != nil && strings.Contains(err.Error(), "was applied") || c.count() != 1 || err == nil && q(c) != 1 {
			t.Errorf("counted %d and %d: %v", c.count(), q(c), err)
		}
	})
	t.Run("of two entities, each is told of it once", func(t *testing.T) {
		c := newCounting(t)
		e, f := entity(c, "E"), entity(c, "F")
		c.lost(dropAnswer, transact(c.boards.SavePart(e), c.boards.SavePart(f), c.increment()))
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
		c.lost(dropRequest, transact(c.boards.SavePart(e), c.boards.SavePart(f), c.increment()))
		c.lost(dropAnswer, transact(c.boards.SavePart(e), c.increment()))
		if err := transact(c.boards.SavePart(f), c.increment())(); err == nil || c.count() != 1 {
			t.Errorf("counted %d: %v", c.count(), err)
		}
	})
	t.Run("an insert that somebody deletes", func(t *testing.T) {
		c := newCounting(t)
		e := c.boards.New(board{ID: "E", Main: cells{Text: "y"}})
		do := transact(c.boards.SavePart(e), c.raw())
		c.lost(dropAnswer, do)
		must(c.clean.DeleteByKey(ctx, c.clean.Key("E")))(t)
		if err := do(); err == nil || c.count() != 1 {
			t.Errorf("counted %d: %v", c.count(), err)
		}
	})
	t.Run("a late copy of what nothing told of", func(t *testing.T) {
		c := newCounting(t)
		l := &losing{operation: "TransactWriteItems", lose: 3} // as often as it is sent
		m := must(mapper.New[board](client(t, l.transport(), 1), mapper.Table(c.table)))(t)
		e := m.New(board{ID: "E", Main: cells{Text: "y"}})
		do := transact(m.SavePart(e),
			mapperimpl.Item[board, cells](handmade.Node(m.Key("P")),
				0).Patch(cellFields.Count.Increment(1)).PatchPart(m))
		for range 2 { // lost, and untold
			var unknown *mapper.OutcomeUnknownError
			if err := do(); !errors.As(err, &unknown) {
				t.Fatal(err)
			}
		}
		l.before = func(operation string) {
			if operation == "TransactWriteItems" {
				l.before = nil
				l.deliver(t)
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
				TableName: &c.table, Key: item{"PK": s("BOARD#P"), "SK": s("A")},
				UpdateExpression:          aws.String("SET Flag = :v"),
				ExpressionAttributeValues: item{":v": v},
			}})
		}
		c.lost(dropAnswer, transact(c.boards.SavePart(e), set(s("1"))))
		if err := transact(c.boards.SavePart(e), set(n("1")))(); err != nil {
			t.Error(err)
		}
	})
}

// What a repetition finds out it remembers, though it ends in an error that comes later.
func TestRepeatedWithAFailure(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault{throttle, dropRequest, dropAnswer} {
		c := newCounting(t)
		e := c.boards.New(board{ID: "E", Main: cells{Text: "y"}})
		p := c.node("P").Patch(cellFields.Count.Increment(1)).IfEntityExists().PatchPart(c.boards)
		do := func() error { _, err := mapper.Transact(context.Background(), c.boards.SavePart(e), p); return err }
		call := 0
		at := func(n int, f fault) {
			call = 0
			c.f.pick = func() fault {
				if call++; call == n || n == 0 && call > 1 {
					return f
				}
				return none
			}
		}
		at(0, dropAnswer)
		_ = do()
		at(2, kind)
		_ = do()
		c.f.pick = nil
		if err := do(); c.count() != 1 {
			t.Errorf("%s: counted %d: %v", faultNames[kind], c.count(), err)
		}
	}
}

// A delete that turns out to be applied is done, and so is a save in the same transaction; a patch
// shows that both are.
func TestRepeatedDeleting(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	a, b := c.boards.New(board{ID: "A", Main: cells{Text: "y"}}), c.boards.New(board{ID: "B", Main: cells{Text: "y"}})
	must(c.boards.Save(t.Context(), a))(t)
	do := func() error {
		_, err := mapper.Transact(context.Background(), c.boards.SavePart(b), c.boards.DeletePart(a))
		return err
	}
	c.lost(dropAnswer, do)
	if err := do(); err != nil {
		t.Error(err)
	}
	must(c.boards.Save(t.Context(), a))(t)
	with := func() error {
		_, err := mapper.Transact(context.Background(), c.boards.DeletePart(a), c.increment())
		return err
	}
	c.lost(dropAnswer, with)
	if err := with(); err == nil || !strings.Contains(err.Error(), "was applied") || c.count() != 1 {
		t.Errorf("counted %d: %v", c.count(), err)
	}
}

// An element with an unresolved write that the caller removes does not prevent a save of its entity in
// a transaction: the outcome of the write is determined first.
func TestTakenBackInATransaction(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault{dropAnswer, dropRequest} {
		c := newCounting(t)
		e := c.boards.New(board{ID: "E", Main: cells{Text: "y"}})
		must(c.boards.Save(t.Context(), e))(t)
		e.Value.Rows, e.Value.Main.Text = []cells{{N: 1, Text: "a"}}, "v"
		c.lost(kind, func() error {
			_, err := mapper.Transact(context.Background(), c.boards.SavePart(e), c.increment())
			return err
		})
		e.Value.Rows, e.Value.Main.Text = nil, "z"
		if r, err := mapper.Transact(t.Context(), c.boards.SavePart(e)); err != nil {
			t.Errorf("%s: %v, %v", faultNames[kind], r, err)
		}
	}
}

// A refusal for the size of an item names that item, and none if it is unknown.
func TestTooLargeInATransaction(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	must(c.clean.Save(t.Context(),
		c.clean.New(board{ID: "1", Main: cells{Text: strings.Repeat("x", 300_000), Lines: []string{"a"}}})))(t)
	grow := c.node("1").Patch(cellFields.Lines.Append(strings.Repeat("x", 150_000))).PatchPart(c.boards)
	put := mapper.RawPart(c.client, types.TransactWriteItem{Put: &types.Put{
		TableName: &c.table, Item: item{"PK": s("BOARD#2"), "SK": s("A"), "B": s(strings.Repeat("x", 450_000))},
	}})
	e := c.boards.New(board{ID: "E", Main: cells{Text: "y"}})
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
	e := c.boards.New(board{ID: "E", Main: cells{Text: "y"}})
	for name, do := range map[string]func() (*mapper.Receipt, error){
		"save":   func() (*mapper.Receipt, error) { return c.boards.Save(done, e) },
		"delete": func() (*mapper.Receipt, error) { return c.boards.DeleteByKey(done, c.boards.Key("P")) },
		"update": func() (*mapper.Receipt, error) {
			return c.boards.Update(done, c.boards.Key("P"), func(*board) error { return nil })
		},
		"patch": func() (*mapper.Receipt, error) {
			return c.node("P").Patch(cellFields.Text.Set("z")).IfEntityExists().Exec(done, c.boards)
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
