package mapper_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// keepsAll is a store without bounds.
type keepsAll struct{ sync.Map }

func (s *keepsAll) Get(key string) (any, bool)                    { return s.Load(key) }
func (s *keepsAll) Set(key string, v any, _ int, _ time.Duration) { s.Store(key, v) }

// Whatever this process writes an entity with, the next load sees it: saves, patches, deletes,
// transactions, staged inserts and bulk loads; by any mapper of the cache.
func TestCacheSeesWrites(t *testing.T) {
	ctx := context.Background()
	client := enginetest.Start(t).Client()
	table, caching := mapper.Table(enginetest.Table(t, "PK:S", "SK:S")), mapper.Caching(mapper.NewCache(&keepsAll{}, time.Hour))
	m := must(mapper.New[parcel](client, table, caching))(t)
	other := must(mapper.New[parcel](client, table, caching))(t)
	is := func(after, want string) {
		t.Helper()
		for range 2 {
			if e := must(m.Load(ctx, m.Key("1")))(t); e.Value.To != want {
				t.Errorf("after %s: %+v", after, e.Value)
			}
			all := must(m.LoadMany(ctx, []query.Selection[parcel]{m.Key("1").Item("HEAD"), m.Key("1")}))(t)
			if all[0].Value.To != want || all[1].Value.To != want {
				t.Errorf("after %s: %+v %+v", after, all[0].Value, all[1].Value)
			}
		}
	}
	set := func(to string, options ...mapper.WriteOption) func() {
		return func() {
			must(other.Update(ctx, other.Key("1"), func(p *parcel) error { p.To = to; return nil }, options...))(t)
		}
	}
	must(m.Save(ctx, m.New(parcel{ID: "1", To: "a", Note: "n"}), mapper.Staged()))(t)
	is("a staged insert", "a")
	set("b")()
	is("an update", "b")
	set("c", mapper.ExactlyOnce())()
	is("a transaction", "c")
	e := must(other.Load(ctx, other.Key("1")))(t)
	e.Value.To, e.Value.Note = "d", "m"
	must(mapper.Transact(ctx, other.Saving(e)))(t)
	is("Transact", "d")
	must(other.Delete(ctx, other.Key("1")))(t)
	if _, err := m.Load(ctx, m.Key("1")); err == nil {
		t.Error("found after a delete")
	}
	must(other.BulkLoad(ctx, mapper.Each(func(yield func(parcel) bool) { yield(parcel{ID: "1", To: "e"}) })))(t)
	is("a bulk load", "e")
	must(other.BulkLoad(ctx, mapper.Each(func(yield func(parcel) bool) { yield(parcel{ID: "1", To: "f"}) }), mapper.Overwrite()))(t)
	is("one that overwrites", "f")
}
