package mapper

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/leaks"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
)

func TestMain(m *testing.M) { testengine.Run(m) }

// random returns a random source, and prints the seed that makes it again.
func random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := draws.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// family returns models of the family: all of them, or by default some.
func family(r *rand.Rand) []any {
	var some []any
	for _, n := range draws.Some(r.Uint64(), len(models.All), draws.Times(10, draws.All, draws.All)) {
		some = append(some, models.All[n])
	}
	return some
}

// fixture is an untyped mapper on the engine, for models made by reflect.
type fixture struct {
	testing.TB
	*engine
	*model.Model
	gen *models.Gen
}

// newFixture returns a mapper of a model type, with tables of its own.
func newFixture(t testing.TB, r *rand.Rand, model reflect.Type) *fixture {
	t.Helper()
	e, err := schema.Of(model)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, table := range e.Tables {
		sort := ""
		if table.Range != "" {
			sort = table.Range + ":" + string(table.RangeType)
		}
		names[table.Name] = testengine.Table(t, table.Hash+":"+string(table.HashType), sort)
	}
	return fixtureOn(t, r, model, names)
}

// fixtureOn returns a mapper of a model type on existing tables.
func fixtureOn(t testing.TB, r *rand.Rand, model reflect.Type, names map[string]string) *fixture {
	t.Helper()
	e, err := schema.Of(model)
	if err != nil {
		t.Fatal(err)
	}
	client := testengine.Start(t).Client()
	c, err := newEngine(client, e, codec.ReflectedModel(e),
		settingsOf([]Option{Tables(func(name string) string { return names[name] })}))
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, c, c.model, models.NewGen(r, e)}
}

// insert saves a new entity.
func (f *fixture) insert(v any, options ...WriteOption) (*state, *Receipt, error) {
	s := f.newState(snapshot.New(f.Model, v))
	r, err := f.save(context.Background(), s, v, options)
	leaks.Error(f, err, "%s: insert", f.Schema.Label())
	return s, r, err
}

// mustInsert saves a new entity that has to succeed.
func (f *fixture) mustInsert(v any, options ...WriteOption) *state {
	f.Helper()
	s, _, err := f.insert(v, options...)
	if err != nil {
		f.Fatalf("insert %+v: %v", v, err)
	}
	return s
}

// again saves an entity again.
func (f *fixture) again(s *state, v any, options ...WriteOption) (*Receipt, error) {
	r, err := f.save(context.Background(), s, v, options)
	leaks.Error(f, err, "%s: save", f.Schema.Label())
	return r, err
}

// whole returns the selection of a value's entity.
func (f *fixture) whole(v any) selection.Selection {
	keyFields, err := f.KeyFields(v)
	if err != nil {
		f.Fatal(err)
	}
	return selection.Entity(f.Schema, f.Identity(keyFields))
}

// read loads the entity of a value.
func (f *fixture) read(v any) (any, *state, error) {
	out := f.Codec.New()
	var t draft
	s, err := f.load(context.Background(), f.whole(v), out, true, &t)
	leaks.Error(f, err, "%s: load", f.Schema.Label())
	return out, s, err
}

// mustRead loads an entity that has to be there.
func (f *fixture) mustRead(v any) (any, *state) {
	f.Helper()
	out, s, err := f.read(v)
	if err != nil {
		f.Fatalf("load %+v: %v", v, err)
	}
	return out, s
}

// Errorf is the test's, not the model's.
func (f *fixture) Errorf(format string, args ...any) { f.Helper(); f.TB.Errorf(format, args...) }
