package mapper

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// roundTrip saves a random value and loads it again. The loaded value is equal, no item is unknown, and
// a save of it sends nothing.
func roundTrip(f *fixture) {
	f.Helper()
	v := f.gen.New()
	s, _, err := f.insert(v)
	if err != nil {
		f.Fatalf("%s: insert %+v: %v", f.Schema.Label(), v, err)
	}
	if r, err := f.again(s, v); err != nil || r.Predicted().Requests != 0 {
		f.Fatalf("%s: a second save of %+v: %v, %v", f.Schema.Label(), v, r, err)
	}
	got, loaded := f.mustRead(v)
	f.gen.Normalize(v)
	f.gen.Normalize(got)
	if d := cmp.Diff(v, got, models.Options); d != "" {
		f.Fatalf("%s (-saved +loaded):\n%s", f.Schema.Label(), d)
	}
	if loaded.Unknown > 0 {
		f.Fatalf("%s: %d items of its own are unknown", f.Schema.Label(), loaded.Unknown)
	}
	if r, err := f.again(loaded, got); err != nil || r.Predicted().Requests != 0 {
		f.Fatalf("%s: saving what was loaded, %+v: %v, %v", f.Schema.Label(), got, r, err)
	}
}

// Save then Load gives back an equal value, for every model of the family.
func TestRoundTripFamily(t *testing.T) {
	t.Parallel()
	r := random(t)
	for _, m := range family(r) {
		typ := reflect.TypeOf(m).Elem()
		t.Run(typ.Name(), func(t *testing.T) {
			f := newFixture(t, r, typ)
			for range draws.Times(2, 12, 100) {
				roundTrip(f)
			}
		})
	}
}

// Save then Load gives back an equal value, for random models made by reflect.
func TestRoundTripRandomModels(t *testing.T) {
	t.Parallel()
	r := random(t)
	table := testengine.Table(t, "PK:S", "SK:S")
	for i := range draws.Times(20, 200, 2_000) {
		typ := models.Type(r, i)
		if _, err := schema.Of(typ); err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		f := fixtureOn(t, r, typ, map[string]string{"random": table})
		for range 2 {
			roundTrip(f)
		}
	}
}
