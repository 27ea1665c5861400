package mapper

import (
	"fmt"
	"time"

	"github.com/itemize/itemize/internal/compression"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/operation"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/tabledef"
)

// Internal is for other packages of itemize. No other code can call its methods.
var Internal internal

type internal struct{}

// StoreObjects stores large values as objects in S3. buckets returns the real name of a bucket that a
// tag names; nil means the same name.
func (internal) StoreObjects(_ door.Key, o large.Objects, buckets func(declared string) string) Option {
	return optionFunc(func(s *settings) { s.large.objects, s.large.buckets = o, buckets })
}

// Compress adds a codec to those of the standard library.
func (internal) Compress(_ door.Key, c compression.Coding) Option {
	return optionFunc(func(s *settings) { s.large.codings = append(s.large.codings, c) })
}

// RootInTransaction lets a save that adds items check in the same transaction that the entity is live.
// A migration that is rolled back does not see other additions.
func (internal) RootInTransaction(_ door.Key) WriteOption {
	return writeFunc(func(o *operation.Options) { o.RootInTransaction = true })
}

// Detach makes a new entity one that was not read from its items. It cannot be saved.
func (internal) Detach(_ door.Key, e any) { e.(interface{ detach() }).detach() }

func (e *Entity[T]) detach() { e.state.notStored = true }

// Throttled makes a *ThrottledError of the error of a throttled request, and leaves all others.
func (internal) Throttled(_ door.Key, label string, err error) error { return throttled(label, err) }

// Collector returns the collector of a *Mapper. It returns an error if no value of the model can be external.
func (internal) Collector(_ door.Key, m any) (*large.Collector, error) {
	return engineOf(m).collector()
}

// ModelOf returns a model that the command itemize knows by its source, and its collector as Collector does.
func (internal) ModelOf(_ door.Key, c Client, e *schema.Entity, o []Option) (*model.Model, *large.Collector, error) {
	g, err := newEngine(c, e, nil, settingsOf(o))
	if err != nil {
		return nil, nil, err
	}
	collector, err := g.collector()
	return g.model, collector, err
}

// Tables returns the present tables of the model of a *Mapper. TablesAt returns those for some times,
// TablesOf those of a period.
func (internal) Tables(_ door.Key, m any) []*tabledef.Table { return engineOf(m).tables() }

// TablesAt is described at Tables.
func (internal) TablesAt(_ door.Key, m any, times []time.Time) ([]*tabledef.Table, error) {
	return engineOf(m).tablesAt(times)
}

// TablesOf is described at Tables.
func (internal) TablesOf(_ door.Key, m any, period string) []*tabledef.Table {
	return engineOf(m).tablesOf(period)
}

// Model returns the model of a *Mapper. Tests set its clock and sizes.
func (internal) Model(_ door.Key, m any) *model.Model { return engineOf(m).model }

// engineOf returns the engine of a *Mapper, nil for none.
func engineOf(m any) *engine {
	if e, ok := m.(interface{ theEngine() *engine }); ok {
		return e.theEngine()
	}
	return nil
}

func (m *Mapper[T]) theEngine() *engine {
	if m == nil {
		return nil
	}
	return m.engine
}

// get returns the engine. Calls of a mapper that New did not make end here.
func (m *Mapper[T]) get() *engine {
	if m == nil || m.engine == nil {
		panic(fmt.Sprintf("mapper: the %T is nil or empty: make it with mapper.New", m))
	}
	return m.engine
}
