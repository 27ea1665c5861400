package migrate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/leaks"
	"github.com/itemize/itemize/migrate"
)

// No error and no report of a migration contains a value of a monolith, of the many that cannot be moved either.
func TestNoReportContainsValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	put := func(doc map[string]types.AttributeValue) {
		t.Helper()
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
	}
	every := draws.Times(5, 3, 1) // of the damaged documents
	whole := document("whole", 2)
	w, m := s.wrapped()
	var names []string
	for _, attribute := range slices.Sorted(maps.Keys(whole)) {
		if attribute == "name" {
			continue
		}
		for i, damaged := range leaks.Damaged(whole[attribute]) {
			if i%every != 0 {
				continue
			}
			doc := document(fmt.Sprint("d", len(names)), 2)
			doc[attribute] = damaged
			names = append(names, fmt.Sprint("d", len(names)))
			put(doc)
		}
	}
	check := func(what string, out any, err error) {
		t.Helper()
		leaks.Error(t, err, "%s", what)
		b, fails := json.Marshal(out)
		if fails != nil {
			t.Fatal(fails)
		}
		if leaks.In(b) || leaks.In(fmt.Appendf(nil, "%v\n%+v", out, out)) {
			t.Errorf("%s: a value is in %.3000s", what, b)
		}
	}
	failed := 0
	load := func(when string) {
		for _, name := range names {
			_, err := w.Load(ctx, m.Key(name))
			leaks.Error(t, err, "load of %s %s", name, when)
			if err != nil {
				failed++
				continue
			}
			_, err = w.Update(ctx, m.Key(name), func(p *Package) error { p.License = "x"; return nil })
			leaks.Error(t, err, "update of %s %s", name, when)
		}
	}
	plan, err := s.migration().Plan(ctx, migrate.PlanOptions{})
	check("plan", plan, err)
	load("before")
	r, err := s.migration().Run(ctx)
	check("run", r, err)
	if err != nil || r.This.Dead == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	load("after")
	v, err := s.migration().Verify(ctx)
	check("verify", v, err)
	status, err := s.migration().Status(ctx)
	check("status", status, err)
	back, err := s.migration().Rollback(ctx)
	check("rollback", back, err)
	if failed < len(names)/10 {
		t.Errorf("%d loads failed of %d", failed, len(names))
	}
}
