package mapper

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/define"
	"github.com/itemize/itemize/internal/schema"
)

type ticketText struct {
	At    time.Time
	By    string
	Words string
}

type ticket struct {
	_      struct{}     `ddb:"table=tickets"`
	_      struct{}     `ddb:"index=byState,hash=GSI1PK,range=GSI1SK,pk=STATE#{State},sk={Opened:millis}"`
	_      struct{}     `ddb:"index=byOwner,pk={Owner},project='State'"`
	_      struct{}     `ddb:"index=byAuthor,hash=Author,range=AuthorAt,pk=BY#{By},sk={At},on=Texts,project=keys"`
	_      struct{}     `ddb:"index=byWeight,local,range=Weight,sk={Weight},on=HEAD"`
	ID     string       `ddb:"pk=TICKET#{ID}"`
	State  string       `ddb:"sk=HEAD"`
	Owner  string       `ddb:"sk=HEAD"`
	Weight int          `ddb:"sk=HEAD"`
	Opened time.Time    `ddb:"sk=HEAD"`
	Text   string       `ddb:"sk=HEAD"`
	Texts  []ticketText `ddb:"sk=TEXT#{At}"`
}

// indexed creates the tables of a model with its indexes, and returns their names.
func indexed[T any](t testing.TB, name string) string {
	t.Helper()
	return name
}

func TestIndexFirst(t *testing.T) {
	ctx := context.Background()
	client := enginetest.Start(t).Client()
	table := fmt.Sprintf("tickets-%d", time.Now().UnixNano())
	m, err := New[ticket](client, Table(table))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range define.Of(m.engine.model.Schema, []string{table}) {
		if _, err := client.CreateTable(ctx, d.Input()); err != nil {
			t.Fatal(err)
		}
	}
	_ = schema.Derived
	e := m.New(ticket{ID: "1", State: "open", Owner: "ann", Weight: 3, Opened: time.Now(), Text: "hello", Texts: []ticketText{{At: time.Now(), By: "bob", Words: "x"}}})
	step := func(what string) {
		r, err := m.Save(ctx, e)
		if err != nil {
			t.Fatal(what, err)
		}
		t.Log(what, "\n", r)
		for name, got := range r.Consumed.Indexes {
			if want := r.Indexes[name]; want != cost.Exactly(got) {
				t.Errorf("%s: %s: %v, predicted %v", what, name, got, want)
			}
		}
		for name, want := range r.Indexes {
			if r.Consumed.Indexes[name] != want.Expected {
				t.Errorf("%s: %s: %v, predicted %v", what, name, r.Consumed.Indexes[name], want)
			}
		}
	}
	step("insert")
	e.Value.State = "closed"
	step("state")
	e.Value.Owner = ""
	step("no owner")
	e.Value.Text = "other"
	step("text")
	e.Value.Texts[0].Words = "other"
	step("words")
	e.Value.Texts[0].By = "eve"
	step("by")
	r, err := m.Delete(ctx, e)
	t.Log(r, err)
}
