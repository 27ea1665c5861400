package embedded_test

import (
	"errors"
	"testing"

	"github.com/itemize/itemize/integration/embedded"
	"github.com/itemize/itemize/mapper"
)

func TestInsertTwice(t *testing.T) {
	t.Parallel()
	engine := embedded.Memory(t) // starts in a millisecond and stops with the test
	if err := engine.CreateTable(t.Context(), "clubs", "PK:S", "SK:S"); err != nil {
		t.Fatal(err)
	}
	clubs, err := mapper.New[club](engine.Client())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clubs.Save(t.Context(), clubs.New(club{ID: "1", Name: "Chess"})); err != nil {
		t.Fatal(err)
	}
	if _, err := clubs.Save(t.Context(), clubs.New(club{ID: "1", Name: "Go"})); !errors.Is(err, mapper.ErrExists) {
		t.Error(err)
	}
}
