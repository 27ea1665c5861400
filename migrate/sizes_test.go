package migrate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/migrate"
)

// A monolith that does not fit an item with its mark is a dead letter, by the byte, and does not stop the run.
func TestMonolithAtTheLimit(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	moved, dead := 0, 0
	for size := cost.MaxItem - 76; size <= cost.MaxItem-68; size++ {
		s := newSetup(t)
		d := document("a", 1)
		d["scripts"] = &types.AttributeValueMemberM{Value: attributes{"x": textValue(strings.Repeat("s", 200_000))}}
		d["description"] = textValue("")
		d["description"] = textValue(strings.Repeat("x", size-attr.ItemSize(d)))
		s.put(d)
		r, err := s.migration(migrate.Segments(1)).Run(ctx)
		if err != nil {
			t.Fatalf("%d bytes: %.300v", size, err)
		}
		moved, dead = moved+r.This.Moved, dead+r.This.Dead
	}
	if moved == 0 || dead == 0 {
		t.Errorf("%d have moved, and %d are dead letters", moved, dead)
	}
}

// Predicted and consumed units of runs and rollbacks are equal, where the marks take an item over a kilobyte.
func TestUnitsAroundAKilobyte(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	if !testengine.ReportsTransactions(t) {
		return
	}
	for n := 880; n < 1010; n += 6 {
		s := newSetup(t)
		s.put(attributes{"name": textValue("a"), "description": textValue(strings.Repeat("x", n))})
		plan, err := s.migration().Plan(ctx, migrate.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.mustRun(ctx)
		w, _ := s.wrapped()
		if _, err := w.Insert(ctx,
			Package{Name: "b", Description: strings.Repeat("x", n), Tags: map[string]string{"b": "c"}}); err != nil {
			t.Fatal(err)
		}
		st, err := s.migration().Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if st.Counts.WCU != st.Counts.ConsumedWCU || plan.WCU != st.Counts.ConsumedWCU {
			t.Errorf("%d: a run is planned with %v WCU, predicted with %v, and took %v", n, plan.WCU, st.Counts.WCU,
				st.Counts.ConsumedWCU)
		}
		if r, err := s.migration().Rollback(ctx); err != nil || r.This.WCU != r.This.ConsumedWCU {
			t.Errorf("%d: a rollback is predicted with %v WCU, and took %v; %v", n, r.This.WCU, r.This.ConsumedWCU, err)
		}
	}
}
