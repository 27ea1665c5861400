package generated

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// The handle of a stored field that keys name takes no changes, and makes conditions.
func TestHandlesOfKeyFieldsHaveNoChanges(t *testing.T) {
	ctx := context.Background()
	at := reflect.TypeOf(VisitFields.At)
	for _, name := range []string{"Set", "SetIfAbsent", "Remove", "Increment"} {
		if _, ok := at.MethodByName(name); ok {
			t.Errorf("the handle of the key field At has %s", name)
		}
	}
	m := must(mapper.New[Visit](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	when := time.Date(2021, time.November, 15, 8, 0, 0, 500, time.UTC)
	must(m.Save(ctx, m.New(Visit{Site: "s", At: when, User: "u", Page: "p"})))(t)
	f := VisitFields.At
	for i, c := range []bool{
		len(must(VisitBySite("s").Filter(f.Equal(when)).Collect(ctx, m))(t)) == 1,
		len(must(VisitBySite("s").Filter(f.Greater(when)).Collect(ctx, m))(t)) == 0,
		len(must(VisitBySite("s").Filter(f.Between(when.Add(-time.Hour), when)).Collect(ctx, m))(t)) == 1,
	} {
		if !c {
			t.Errorf("condition %d does not hold", i)
		}
	}
}
