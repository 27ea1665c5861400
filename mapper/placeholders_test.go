package mapper_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/query"
)

// A map is read as a map, and refs give the values in keys as their fields have them: typed, and
// never escaped.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	packages := kit.NewMapper[registry.Package](t, "PK:S", "SK:S")
	at := time.Date(2021, 11, 14, 9, 30, 0, 5, time.UTC)
	tags := map[string]string{"a#b": "1", "100%": "2", "~x": "3"}
	kit.Must(packages.Save(ctx,
		packages.New(registry.Package{
			Name: "p#q", Tags: tags,
			Releases: []registry.Release{{At: at, Version: "1#2"}},
		})))(t)
	node := registry.PackageByName("p#q")
	if got := kit.Must(node.Tags().Map(ctx, packages))(t); !cmp.Equal(got, tags) {
		t.Errorf("%v", got)
	}
	for ref, err := range node.Tags().Refs(ctx, packages) {
		if err != nil {
			t.Fatal(err)
		}
		if k := ref.Placeholders["key"].(string); tags[k] != ref.Value || ref.Placeholders["^Name"] != "p#q" {
			t.Errorf("%v", ref)
		}
	}
	for ref, err := range node.Releases().Refs(ctx, packages) {
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"At": at, "Version": "1#2", "^Name": "p#q"}
		if !cmp.Equal(ref.Placeholders, want) {
			t.Errorf("%v", ref.Placeholders)
		}
	}
	orders := kit.NewMapper[models.Order](t, "PK:S", "SK:S")
	kit.Must(orders.Save(ctx, orders.New(models.Order{Customer: "c", N: 7})))(t)
	for ref, err := range query.Of[models.Order](orders.Key("c")).Refs(ctx, orders) {
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(ref.Placeholders, map[string]any{"Customer": "c", "N": 7}) {
			t.Errorf("%v", ref.Placeholders)
		}
	}
}
