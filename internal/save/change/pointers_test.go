package change_test

import (
	"context"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
)

// Sight is a struct that a model embeds by a pointer.
type Sight struct {
	By string `dynamodbav:",omitempty"`
}

type pointed struct {
	_      struct{} `ddb:"table=pointed"`
	ID     string   `ddb:"pk=POINTED#{ID}"`
	Name   string   `ddb:"sk=HEAD"`
	*Sight `ddb:"sk=HEAD"`
	Home   *pointedAddress `ddb:"sk=INFO"`
	Bio    string          `ddb:"sk=INFO" dynamodbav:",omitempty"`
}

type pointedAddress struct{ Street string }

// A value that was cleared through a pointer, and is set to what it was, is written again.
func TestValueBehindPointerIsRewritten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[pointed](t, "PK:S", "SK:S")
	e := m.New(pointed{ID: "1", Name: "a", Sight: &Sight{By: "ada"}})
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Sight = nil
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Sight = &Sight{By: "ada"}
	kit.Must(m.Save(ctx, e))(t)
	if v := kit.Must(m.Load(ctx, m.Key("1")))(t).Value; v.Sight == nil || v.By != "ada" {
		t.Errorf("%+v", v)
	}
}

// A pointer to a zero struct is a value: its item is written, and comes back as that.
func TestPointerToZeroStructIsPresent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[pointed](t, "PK:S", "SK:S")
	e := m.New(pointed{ID: "1", Name: "a", Home: &pointedAddress{}})
	kit.Must(m.Save(ctx, e))(t)
	if v := kit.Must(m.Load(ctx, m.Key("1")))(t).Value; v.Home == nil {
		t.Errorf("inserted: %+v", v)
	}
	e.Value.Home = &pointedAddress{Street: "x"}
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Home.Street = ""
	kit.Must(m.Save(ctx, e))(t)
	if v := kit.Must(m.Load(ctx, m.Key("1")))(t).Value; v.Home == nil {
		t.Errorf("saved: %+v", v)
	}
}
