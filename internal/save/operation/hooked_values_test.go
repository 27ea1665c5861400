package operation_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Fields that AfterLoad changes or empties do not count as changed: each way to write the item keeps the stored values.

// note is stored by an older program.
type note struct {
	_       struct{}   `ddb:"table=notes"`
	ID      string     `ddb:"pk=N#{ID}"`
	Count   int        `ddb:"sk=HEAD"`
	Big     string     `ddb:"sk=HEAD"`
	Plain   string     `ddb:"sk=HEAD"`
	Left    string     `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Old     string     `ddb:"sk=HEAD"`
	OldLeft string     `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Packed  string     `ddb:"sk=HEAD,compress=gzip"`
	Code    string     `ddb:"sk=HEAD"`
	Empties int        `ddb:"sk=HEAD"`
	Lines   []noteLine `ddb:"sk=LINE#{N:02}"`
}

type noteLine struct {
	N       int
	Text    string
	OldLeft string `dynamodbav:",omitempty"`
}

// emptiedNote and bareNote, without versions, are the model now. AfterLoad empties the fields of the bits of Empties.
type (
	emptiedNote struct {
		_ struct{} `ddb:"table=notes"`
		_ struct{} `ddb:"index=byCode,hash=Code,pk={Code}"`
		NoteFields
	}
	bareNote struct {
		_ struct{} `ddb:"table=notes,noversion"`
		_ struct{} `ddb:"index=byCode,hash=Code,pk={Code}"`
		NoteFields
	}
)

type NoteFields struct {
	ID      string            `ddb:"pk=N#{ID}"`
	Count   int               `ddb:"sk=HEAD"`
	Big     string            `ddb:"sk=HEAD"`
	Plain   string            `ddb:"sk=HEAD"`
	Left    string            `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Now     string            `ddb:"sk=HEAD,was=Old"`
	NowLeft string            `ddb:"sk=HEAD,was=OldLeft" dynamodbav:",omitempty"`
	Packed  string            `ddb:"sk=HEAD,compress=gzip"`
	Code    string            `ddb:"sk=HEAD"`
	Empties int               `ddb:"sk=HEAD"`
	Lines   []emptiedNoteLine `ddb:"sk=LINE#{N:02}"`
}

type emptiedNoteLine struct {
	N       int
	Text    string
	NowLeft string `ddb:"was=OldLeft" dynamodbav:",omitempty"`
}

func (n *NoteFields) AfterLoad() {
	for i, f := range []*string{&n.Plain, &n.Left, &n.Now, &n.NowLeft, &n.Packed, &n.Code} {
		if n.Empties>>i&1 == 1 {
			*f = ""
		}
	}
	for i := range n.Lines {
		n.Lines[i].NowLeft = ""
	}
}

// Law 2: a save keeps what the program did not change. AfterLoad is not the program.
func TestSavesKeepValuesThatAfterLoadHasEmptied(t *testing.T) {
	t.Parallel()
	count := func(n *NoteFields) { n.Count++; n.Lines[0].Text += "x" }
	move := func(n *NoteFields) { n.ID += "2" }
	for _, steps := range [][]func(*NoteFields){
		{count, count}, {move}, {move, count, count}, {count, move}, {count, move, count}, {move, move},
	} {
		for _, size := range []int{10, big} {
			keepsEmptied(t, size, 63, steps, func(v *emptiedNote) *NoteFields { return &v.NoteFields })
			keepsEmptied(t, size, 63, steps, func(v *bareNote) *NoteFields { return &v.NoteFields })
		}
	}
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range draws.Times(10, 50, 1000) {
		var steps []func(*NoteFields)
		for range 1 + r.IntN(5) {
			steps = append(steps, []func(*NoteFields){count, move}[r.IntN(2)])
		}
		size, empties := []int{10, big}[r.IntN(2)], r.IntN(64)
		keepsEmptied(t, size, empties, steps, func(v *emptiedNote) *NoteFields { return &v.NoteFields })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// keepsEmptied saves the entity 1 after each step, and checks the stored items.
func keepsEmptied[T any](
	t *testing.T, size, empties int, steps []func(*NoteFields), fields func(*T) *NoteFields,
) {
	t.Helper()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	old := kit.Must(mapper.New[note](client, mapper.Table(table)))(t)
	kit.Must(old.Save(ctx, old.New(note{
		ID: "1", Big: strings.Repeat("b", size), Plain: "p", Left: "l", Old: "o", OldLeft: "ol", Packed: "packed",
		Code: "c", Empties: empties, Lines: []noteLine{{1, "t", "line"}},
	})))(t)
	m := kit.Must(mapper.New[T](client, mapper.Table(table)))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	for _, step := range steps {
		step(fields(&e.Value))
		kit.Must(m.Save(ctx, e, mapper.Move()))(t)
	}
	id := fields(&e.Value).ID
	f := kit.NewForeign(t, table)
	head, line := f.Get("N#"+id, "HEAD"), f.Get("N#"+id, "LINE#01")
	for attribute, want := range map[string]string{
		"Plain": "p", "Left": "l", "Now": "o", "NowLeft": "ol", "Code": "c",
	} {
		if s := kit.Text(head[attribute]); s != want {
			t.Errorf("%T: %s is stored as %q, want %q", e.Value, attribute, s, want)
		}
	}
	if s := kit.Text(line["NowLeft"]); s != "line" {
		t.Errorf("%T: the line has %q", e.Value, s)
	}
	if got := kit.Must(old.Load(ctx, old.Key(id)))(t).Value.Packed; got != "packed" {
		t.Errorf("%T: compressed: %q", e.Value, got)
	}
}

// A field that the program itself empties is removed under each of its names.
func TestClearedFieldsAreRemovedUnderFormerNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, size := range []int{10, big} {
		for _, id := range []string{"1", "2"} {
			table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
			old := kit.Must(mapper.New[note](client, mapper.Table(table)))(t)
			kit.Must(old.Save(ctx, old.New(note{ID: "1", Big: strings.Repeat("b", size), OldLeft: "x"})))(t)
			m := kit.Must(mapper.New[renamedNote](client, mapper.Table(table)))(t)
			e := kit.Must(m.Load(ctx, m.Key("1")))(t)
			e.Value.NowLeft, e.Value.ID = "", id
			for range 2 {
				e.Value.Count++
				kit.Must(m.Save(ctx, e, mapper.Move()))(t)
			}
			head := kit.NewForeign(t, table).Get("N#"+id, "HEAD")
			if head["OldLeft"] != nil || head["NowLeft"] != nil || kit.Text(head["Big"]) == "" {
				t.Errorf("%d bytes, to %s: %v, %v", size, id, head["OldLeft"], head["NowLeft"])
			}
		}
	}
}

// renamedNote has no AfterLoad.
type renamedNote struct {
	_       struct{} `ddb:"table=notes"`
	ID      string   `ddb:"pk=N#{ID}"`
	Count   int      `ddb:"sk=HEAD"`
	Big     string   `ddb:"sk=HEAD"`
	NowLeft string   `ddb:"sk=HEAD,was=OldLeft" dynamodbav:",omitempty"`
}

// A move is refused if it would lose an external value.
func TestMoveWithoutExternalValueIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	storePage(t, table, 10)
	m := kit.Must(mapper.New[emptiedPage](testengine.Start(t).Client(), mapper.Table(table)))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.ID = "2"
	if _, err := m.Save(ctx, e, mapper.Move()); err == nil || !strings.Contains(err.Error(), "AfterLoad has emptied") {
		t.Error(err)
	}
	e.Value.Body = map[string]pageText{"b": {"text", "note"}}
	kit.Must(m.Save(ctx, e, mapper.Move()))(t)
}

// emptiedPage has an external value that AfterLoad empties.
type emptiedPage struct {
	_     struct{}            `ddb:"table=pages"`
	ID    string              `ddb:"pk=PAGE#{ID}"`
	Count int                 `ddb:"sk=HEAD"`
	Big   string              `ddb:"sk=HEAD"`
	Body  map[string]pageText `ddb:"sk=HEAD,chunk,inline=100"`
}

// AfterLoad empties the value.
func (p *emptiedPage) AfterLoad() { p.Body = nil }
