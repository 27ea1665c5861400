package mapper_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
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
	t.Parallel()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	table, caching := mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.Caching(mapper.NewCache(&keepsAll{}, time.Hour))
	m := kit.Must(mapper.New[kit.Parcel](client, table, caching))(t)
	other := kit.Must(mapper.New[kit.Parcel](client, table, caching))(t)
	is := func(after, want string) {
		t.Helper()
		for range 2 {
			if e := kit.Must(m.Load(ctx, m.Key("1")))(t); e.Value.To != want {
				t.Errorf("after %s: %+v", after, e.Value)
			}
			all := kit.Must(m.LoadMany(ctx, []query.Selection[kit.Parcel]{m.Key("1").Item("HEAD"), m.Key("1")}))(t)
			if all[0].Value.To != want || all[1].Value.To != want {
				t.Errorf("after %s: %+v %+v", after, all[0].Value, all[1].Value)
			}
		}
	}
	set := func(to string, options ...mapper.WriteOption) func() {
		return func() {
			kit.Must(other.Update(ctx, other.Key("1"), func(p *kit.Parcel) error { p.To = to; return nil },
				options...))(t)
		}
	}
	kit.Must(m.Save(ctx, m.New(kit.Parcel{ID: "1", To: "a", Note: "n"}), mapper.Staged()))(t)
	is("a staged insert", "a")
	set("b")()
	is("an update", "b")
	set("c", mapper.ExactlyOnce())()
	is("a transaction", "c")
	e := kit.Must(other.Load(ctx, other.Key("1")))(t)
	e.Value.To, e.Value.Note = "d", "m"
	kit.Must(mapper.Transact(ctx, other.SavePart(e)))(t)
	is("Transact", "d")
	kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
	if _, err := m.Load(ctx, m.Key("1")); err == nil {
		t.Error("found after a delete")
	}
	kit.Must(other.BulkLoad(ctx,
		mapper.NoErrors(func(yield func(kit.Parcel) bool) { yield(kit.Parcel{ID: "1", To: "e"}) })))(t)
	is("a bulk load", "e")
	kit.Must(other.BulkLoad(ctx,
		mapper.NoErrors(func(yield func(kit.Parcel) bool) { yield(kit.Parcel{ID: "1", To: "f"}) }),
		mapper.Overwrite()))(t)
	is("one that overwrites", "f")
}

// strongly is a client that counts reads of batches by their consistency.
type strongly struct {
	*dynamodb.Client
	strong, weak int
}

func (c *strongly) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	for _, k := range in.RequestItems {
		if aws.ToBool(k.ConsistentRead) {
			c.strong += len(k.Keys)
		} else {
			c.weak += len(k.Keys)
		}
	}
	return c.Client.BatchGetItem(ctx, in, o...)
}

// LoadMany reads entities that were written recently strongly consistent, and the others not. The cache
// keeps both.
func TestCacheLoadManyBehindWrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &strongly{Client: testengine.Start(t).Client()}
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	second := kit.Must(mapper.New[kit.Parcel](c.Client, table))(t)
	m := kit.Must(mapper.New[kit.Parcel](c, table, mapper.Caching(mapper.NewCache(&keepsAll{}, time.Hour))))(t)
	var all []query.Selection[kit.Parcel]
	for i := range 6 {
		by := second
		if i < 2 {
			by = m
		}
		kit.Must(by.Save(ctx, by.New(kit.Parcel{ID: fmt.Sprint(i), To: "x"})))(t)
		all = append(all, m.Key(fmt.Sprint(i)).Item("HEAD"))
	}
	for range 2 {
		for i, e := range kit.Must(m.LoadMany(ctx, all))(t) {
			if e == nil || e.Value.To != "x" {
				t.Errorf("%d: %v", i, e)
			}
		}
	}
	if c.strong != 2 || c.weak != 4 {
		t.Errorf("%d were read strongly, and %d not", c.strong, c.weak)
	}
}
