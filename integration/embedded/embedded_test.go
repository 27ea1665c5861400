package embedded_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/integration/embedded"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// club has a root and members, each an item.
type club struct {
	_       struct{} `ddb:"table=clubs"`
	ID      string   `ddb:"pk=CLUB#{ID}"`
	Name    string   `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Motto   string   `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Members []member `ddb:"sk=MEMBER#{Nick}"`
}

type member struct {
	Nick, Role string
}

func newClubs(t testing.TB) *mapper.Mapper[club] {
	t.Helper()
	e := embedded.Memory(t)
	if err := e.CreateTable(t.Context(), "clubs", "PK:S", "SK:S"); err != nil {
		t.Fatal(err)
	}
	clubs, err := mapper.New[club](e.Client())
	if err != nil {
		t.Fatal(err)
	}
	return clubs
}

// The usual calls of an application's tests work: insert, load, save changed and cleared fields, query in pages,
// conflict, transact, delete. Each test has an engine of its own.
func TestMemory(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			ctx, clubs := t.Context(), newClubs(t)
			first := clubs.New(club{
				ID: "1", Name: "Chess", Motto: "e4",
				Members: []member{{"ada", "lead"}, {"bob", ""}, {"cy", ""}},
			})
			if _, err := clubs.Save(ctx, first); err != nil {
				t.Fatal(err)
			}
			if _, err := clubs.Save(ctx, clubs.New(club{ID: "1", Name: "Go"})); !errors.Is(err, mapper.ErrExists) {
				t.Error(err)
			}
			stale, err := clubs.Load(ctx, clubs.Key("1"))
			if err != nil {
				t.Fatal(err)
			}
			first.Value.Motto, first.Value.Members = "", append(first.Value.Members, member{"dee", ""})
			if _, err := clubs.Save(ctx, first); err != nil {
				t.Fatal(err)
			}
			stale.Value.Motto = "d4"
			var conflict *mapper.ConflictError
			if _, err := clubs.Save(ctx, stale); !errors.As(err, &conflict) {
				t.Error(err)
			}
			if _, err := mapper.Transact(ctx, clubs.SavePart(clubs.New(club{ID: "2", Name: "Go"})),
				clubs.DeletePart(clubs.New(club{ID: "3"}))); err == nil {
				t.Error("a transaction deleted what was not there")
			}
			if _, err := clubs.Load(ctx, clubs.Key("2")); !errors.Is(err, mapper.ErrNotFound) {
				t.Error("half of a transaction:", err)
			}
			got, err := clubs.Load(ctx, clubs.Key("1"))
			if err != nil {
				t.Fatal(err)
			}
			want := club{
				ID: "1", Name: "Chess",
				Members: []member{{"ada", "lead"}, {"bob", ""}, {"cy", ""}, {"dee", ""}},
			}
			if d := cmp.Diff(want, got.Value, cmp.AllowUnexported(club{})); d != "" {
				t.Error(d)
			}
			members, err := query.Of[member](clubs.Key("1").Prefix("MEMBER#")).Limit(3).Collect(ctx, clubs)
			if err != nil || len(members) != 3 {
				t.Error(members, err)
			}
			if _, err := clubs.Delete(ctx, got); err != nil {
				t.Error(err)
			}
			if _, err := clubs.Load(ctx, clubs.Key("1")); !errors.Is(err, mapper.ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

func BenchmarkMemory(b *testing.B) {
	for range b.N {
		embedded.Memory(b)
	}
}
