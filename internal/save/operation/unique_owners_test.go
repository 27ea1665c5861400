package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

// author has guards of the name that those of reader have.
type author struct {
	_     struct{} `ddb:"table=people"`
	ID    string   `ddb:"pk=AUTHOR#{ID}"`
	Email string   `ddb:"sk=HEAD,unique,as='User#email'"`
}

type reader struct {
	_     struct{} `ddb:"table=people"`
	ID    string   `ddb:"pk=READER#{ID}"`
	Email string   `ddb:"sk=HEAD,unique,as='User#email'"`
}

// seller has guards in a table of their own.
type seller struct {
	_     struct{} `ddb:"table=sellers"`
	ID    string   `ddb:"pk=SELLER#{ID}"`
	Email string   `ddb:"sk=HEAD,unique,guards=values"`
}

// board has partition keys without fixed text.
type board struct {
	_     struct{} `ddb:"table=boards"`
	Forum string   `ddb:"pk={Forum}"`
	Title string   `ddb:"sk=HEAD"`
}

// A guard of another model, or of another table, is not free: that would take the value from its entity.
func TestGuardsOfOtherOwnersAreNotFree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := testengine.Start(t).Client()
	table, values := testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "")
	authors := kit.Must(mapper.New[author](c, mapper.Table(table), mapper.AssumeVerified()))(t)
	readers := kit.Must(mapper.New[reader](c, mapper.Table(table), mapper.AssumeVerified()))(t)
	kit.Must(authors.Save(ctx, authors.New(author{ID: "1", Email: "a"})))(t)
	_, lookup := readers.Load(ctx, readers.Unique("Email", "a"))
	kept := readers.New(reader{ID: "2", Email: "b"})
	kit.Must(readers.Save(ctx, kept))(t)
	kept.Value.Email = "a"
	_, pass := unique.Run(ctx, readers)
	otherTable := func() error {
		for _, sellers := range []string{testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "SK:S")} {
			name := func(declared string) string {
				return map[string]string{"sellers": sellers, "values": values}[declared]
			}
			m := kit.Must(mapper.New[seller](c, mapper.Tables(name)))(t)
			if _, err := m.Save(ctx, m.New(seller{ID: "1", Email: "a"})); err != nil {
				return err
			}
		}
		return nil
	}
	for name, err := range map[string]error{
		"insert": kit.Err(readers.Save(ctx, readers.New(reader{ID: "1", Email: "a"}))),
		"staged": kit.Err(readers.Save(ctx, readers.New(reader{ID: "1", Email: "a"}), mapper.Staged())),
		"change": kit.Err(readers.Save(ctx, kept)),
		"lookup": lookup,
		"table":  otherTable(),
	} {
		if err == nil || errors.Is(err, mapper.ErrTaken) || errors.Is(err, mapper.ErrNotFound) ||
			!strings.Contains(err.Error(), "as=") && !strings.Contains(err.Error(), "guards=") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if pass != nil {
		t.Errorf("a pass over entities with guards of their own: %v", pass)
	}
	if got := guardKeys(t, table); len(got) != 2 {
		t.Errorf("guards %q", got)
	}
}

// Values that would give an entity the partition key of a guard are refused.
func TestKeysOfGuardsBelongToNoEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[board](testengine.Start(t).Client(), mapper.Table(table)))(t)
	pk := "~unique#player#Email#a"
	_, load := m.Load(ctx, m.Key(pk))
	for name, err := range map[string]error{
		"save": kit.Err(m.Save(ctx, m.New(board{Forum: pk}))), "load": load,
		"delete": kit.Err(m.DeleteByKey(ctx, m.Key(pk))),
	} {
		if err == nil || !strings.Contains(err.Error(), "Forum") || strings.Contains(err.Error(), "player") {
			t.Errorf("%s: %v", name, err)
		}
	}
	kit.Must(m.Save(ctx, m.New(board{Forum: "~unique"})))(t)
}
