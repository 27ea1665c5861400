package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// inBoth makes two entities that are in both layouts: a has a mark that does not fit, and b none.
func inBoth(t *testing.T) *setup {
	t.Helper()
	ctx := context.Background()
	s := newSetup(t)
	for _, name := range []string{"a", "b", "c"} {
		s.put(document(name, 3))
	}
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.source, Key: attributes{"name": textValue("a")},
		UpdateExpression:          aws.String("SET description = :x"),
		ExpressionAttributeValues: attributes{":x": textValue("late")},
	})
	if err != nil {
		t.Fatal(err)
	}
	late := document("b", 5)
	late["description"] = textValue("late")
	s.put(late)
	return s
}

// settles decides for one of two layouts.
func settles(keep string, g *migrate.Migration, ctx context.Context, name string) error {
	if keep == "monolith" {
		return g.KeepMonolith(ctx, attributes{"name": textValue(name)})
	}
	return g.KeepCollection(ctx, attributes{"name": textValue(name)})
}

// The cure in a verification's message works. An entity in both layouts is settled, in favor of either,
// and the migration continues and is finished.
func TestSettle(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for keep, want := range map[string]string{"monolith": "late", "collection": "of "} {
		s := inBoth(t)
		v, err := s.migration().Verify(ctx)
		if err != nil || v.Wrong != 1 || v.Unmoved != 1 ||
			!strings.Contains(fmt.Sprint(v.Findings), "itemize migrate settle") {
			t.Fatalf("%s: %+v, %v", keep, v, err)
		}
		for _, name := range []string{"a", "b"} {
			if err := settles(keep, s.migration(), ctx, name); err != nil {
				t.Fatalf("%s: %v", keep, err)
			}
		}
		var conflict *migrate.ConflictError
		for _, name := range []string{"a", "b", "c"} {
			if err := settles(keep, s.migration(), ctx, name); !errors.As(err, &conflict) {
				t.Errorf("%s: %s again: %v", keep, name, err)
			}
		}
		w, m := s.wrapped()
		for _, name := range []string{"a", "b"} {
			if e, err := w.Load(ctx, m.Key(name)); err != nil || !strings.HasPrefix(e.Value.Description, want) {
				t.Errorf("%s: %+v, %v", keep, e, err)
			}
		}
		if _, err := s.migration().Run(ctx); err != nil {
			t.Error(err)
		}
		if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
			t.Errorf("%s: %+v, %v", keep, v, err)
		}
		for _, name := range []string{"a", "b", "c"} {
			if e, err := m.Load(ctx, m.Key(name)); err != nil || name != "c" &&
				!strings.HasPrefix(e.Value.Description, want) {
				t.Errorf("%s: after a run: %+v, %v", keep, e, err)
			}
		}
		if _, err := s.migration().Rollback(ctx); err != nil {
			t.Error(err)
		}
		for _, a := range s.all(s.source) {
			if text(a["name"]) != "c" && !strings.HasPrefix(text(a["description"]), want) {
				t.Errorf("%s: %v came back", keep, a)
			}
		}
		for _, a := range s.all(s.target) {
			if !strings.HasPrefix(text(a["PK"]), "~migrate#") {
				t.Errorf("%s: %v is left", keep, a)
			}
		}
	}
}

// A settlement may die at any request, and is repeated: one of the two layouts is kept completely.
func TestSettleSurvivesFaults(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	every := draws.Times(7, 4, 1) // request meets a fault
	for keep, want := range map[string]string{"monolith": "late", "collection": "of "} {
		for what := range fakedynamo.Faults {
			for at := 1; ; at += every {
				s := inBoth(t)
				b := s.failing(ctx, what, at,
					func(g *migrate.Migration, ctx context.Context) error { return settles(keep, g, ctx, "a") })
				var conflict *migrate.ConflictError
				if err := settles(keep, s.migration(), ctx, "a"); err != nil && !errors.As(err, &conflict) {
					t.Fatalf("%s, %s %d: %v", keep, what, at, err)
				}
				w, m := s.wrapped()
				if e, err := w.Load(ctx, m.Key("a"), mapper.Strong()); err != nil ||
					!strings.HasPrefix(e.Value.Description, want) || len(e.Value.Events) != 3 {
					t.Fatalf("%s, %s %d: %+v, %v", keep, what, at, e, err)
				}
				if !b {
					break
				}
			}
		}
	}
}

// A key that is none of the table's is refused.
func TestSettleRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := inBoth(t)
	refused(t, s.migration().KeepMonolith(ctx, attributes{"id": textValue("a")}), "the key of a monolith in "+s.source+
		" is name")
	refused(t, s.migration().KeepCollection(ctx, attributes{"name": textValue("none")}),
		"no monolith has that key")
}
