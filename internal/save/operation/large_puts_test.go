package operation_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// An item near the limit is put as a whole (replace in internal/save/change). Its external values stay as they are.

type pageText struct{ Text, Note string }

// page has an external value.
type page struct {
	_     struct{}            `ddb:"table=pages"`
	ID    string              `ddb:"pk=PAGE#{ID}"`
	Count int                 `ddb:"sk=HEAD"`
	Big   string              `ddb:"sk=HEAD"`
	Body  map[string]pageText `ddb:"sk=HEAD,chunk,inline=100"`
}

type plainText struct{ Text string }

// plainPage does not know the notes of a page.
type plainPage struct {
	_     struct{}             `ddb:"table=pages"`
	ID    string               `ddb:"pk=PAGE#{ID}"`
	Count int                  `ddb:"sk=HEAD"`
	Big   string               `ddb:"sk=HEAD"`
	Body  map[string]plainText `ddb:"sk=HEAD,chunk,inline=100"`
}

// renamedPage is a plainPage with another name of the external value.
type renamedPage struct {
	_       struct{}             `ddb:"table=pages"`
	ID      string               `ddb:"pk=PAGE#{ID}"`
	Count   int                  `ddb:"sk=HEAD"`
	Big     string               `ddb:"sk=HEAD"`
	Content map[string]plainText `ddb:"sk=HEAD,chunk,inline=100,was=Body"`
}

// hookedPage changes what it has loaded.
type hookedPage struct {
	_     struct{}            `ddb:"table=pages"`
	ID    string              `ddb:"pk=PAGE#{ID}"`
	Count int                 `ddb:"sk=HEAD"`
	Big   string              `ddb:"sk=HEAD"`
	Body  map[string]pageText `ddb:"sk=HEAD,chunk,inline=100"`
}

// AfterLoad sets the note of each text.
func (p *hookedPage) AfterLoad() {
	for k, v := range p.Body {
		p.Body[k] = pageText{v.Text, "set after the load"}
	}
}

// big is the size of a string whose item is put as a whole.
const big = 401_000

func storePage(t *testing.T, table string, size int) (*mapper.Mapper[page], page) {
	t.Helper()
	m := kit.Must(mapper.New[page](testengine.Start(t).Client(), mapper.Table(table)))(t)
	v := page{
		ID: "1", Big: strings.Repeat("b", size),
		Body: map[string]pageText{"a": {strings.Repeat("x", 300), "note"}},
	}
	kit.Must(m.Save(context.Background(), m.New(v)))(t)
	return m, v
}

// count saves three more counts of the page 1, and returns the calls.
func count[T any](t *testing.T, table string, add func(*T)) []string {
	t.Helper()
	ctx := request.WithoutPauses(context.Background())
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[T](kit.Client(t, f, 1), mapper.Table(table)))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	f.Log = nil
	for range 3 {
		add(&e.Value)
		kit.Must(m.Save(ctx, e))(t)
	}
	return f.Log
}

// Laws 1 and 2: saves of a counter neither write an external value again, nor lose parts of it that the model does not
// know.
func TestPutsKeepExternalValues(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct {
		size  int
		calls string
		count func(*testing.T, string) []string
	}{
		"with unknown parts": {big, "PutItem", func(t *testing.T, table string) []string {
			return count(t, table, func(p *plainPage) { p.Count++ })
		}},
		"with a hook": {big, "PutItem", func(t *testing.T, table string) []string {
			return count(t, table, func(p *hookedPage) { p.Count++ })
		}},
		"under a new name": {10, "UpdateItem", func(t *testing.T, table string) []string {
			return count(t, table, func(p *renamedPage) { p.Count++ })
		}},
		"in a put, under a new name": {big, "PutItem", func(t *testing.T, table string) []string {
			return count(t, table, func(p *renamedPage) { p.Count++ })
		}},
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		m, v := storePage(t, table, run.size)
		if calls := run.count(t, table); !slices.Equal(calls, []string{run.calls, run.calls, run.calls}) {
			t.Errorf("%s: the calls are %v", name, calls)
		}
		got := kit.Must(m.Load(context.Background(), m.Key("1"), mapper.Strong()))(t).Value
		if strings.Contains(name, "new name") {
			if got.Count != 3 {
				t.Errorf("%s: count %d", name, got.Count)
			}
			continue
		}
		if got.Count != 3 || got.Body["a"] != v.Body["a"] {
			t.Errorf("%s: count %d, note %q", name, got.Count, got.Body["a"].Note)
		}
	}
}

// Law 3: a put that removes an attribute which had another name before forgets its value. The same value is then
// written again.
func TestPutForgetsRemovedValueOfFormerName(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	storePage(t, table, big)
	m := kit.Must(mapper.New[renamedPage](testengine.Start(t).Client(), mapper.Table(table)))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	content := e.Value.Content
	for _, v := range []map[string]plainText{nil, content} {
		e.Value.Content = v
		kit.Must(m.Save(ctx, e))(t)
		got := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t).Value.Content
		if got["a"] != v["a"] {
			t.Errorf("saved %d texts, stored %d", len(v), len(got))
		}
	}
}
