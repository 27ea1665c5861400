package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// An entity on its old shard is found by queries of its whole key.
func TestShardsQueryOfOneEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, Line: []kit.Part{{N: 1}, {N: 2}}})))(t)
	q := query.Of[kit.Part](x.C.Key("s", n).Prefix(fmt.Sprintf("O#%06d#L#", n)))
	if all := kit.Must(q.Collect(ctx, x.C))(t); len(all) != 2 {
		t.Errorf("elements: %v", all)
	}
	if page := kit.Must(q.Limit(1).Page(ctx, x.C))(t); len(page.Items) != 1 || page.Next == "" {
		t.Errorf("a page: %+v", page)
	}
	if plan := kit.Must(q.Plan(x.C))(t); plan.Requests.Min != 2 {
		t.Errorf("%+v", plan)
	}
	if n := kit.Must(query.Of[kit.ShopNew](x.C.Key("s", n)).Count(ctx, x.C))(t); n != 1 {
		t.Errorf("counted %d", n)
	}
}

// An entity moves to its new shard before any request of another operation: nothing is missed and
// nothing is lost.
func TestShardsMoveDuringReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := kit.NewShops(t)
	numbers := x.SplitKeys(t, 80)
	lines := []kit.Part{{N: 1, Text: "x"}, {N: 2, Text: "y"}}
	for name, c := range map[string]struct {
		do   func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected], prefix string) error
		want string
	}{
		"load": {func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected], _ string) error {
			e, err := m.Load(ctx, k, mapper.Strong())
			if err == nil && len(e.Value.Line) != 2 {
				err = fmt.Errorf("%+v", e.Value)
			}
			return err
		}, "2 lines"},
		"load many": {func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected], _ string) error {
			all, err := m.LoadMany(ctx, []query.Selection[kit.ShopExpected]{k})
			if err == nil && (all[0] == nil || len(all[0].Value.Line) != 2) {
				err = fmt.Errorf("%+v", all)
			}
			return err
		}, "2 lines"},
		"load a part": {func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected], prefix string) error {
			e, err := m.Load(ctx, k.Prefix(prefix), mapper.Strong())
			if err == nil && len(e.Value.Line) != 2 {
				err = fmt.Errorf("%+v", e.Value)
			}
			return err
		}, "2 lines"},
		"update": {func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected], _ string) error {
			_, err := m.Update(ctx, k, func(v *kit.ShopExpected) error { v.By = "u"; return nil })
			return err
		}, "2 lines by u"},
		"add": {func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected], _ string) error {
			_, err := m.Update(ctx, k,
				func(v *kit.ShopExpected) error { v.Line = append(v.Line, kit.Part{N: 51}); return nil })
			return err
		}, "3 lines"},
		"delete": {func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected], _ string) error {
			_, err := m.DeleteByKey(ctx, k)
			return err
		}, "not found"},
		"delete a part": {func(m *mapper.Mapper[kit.ShopExpected], k *query.Key[kit.ShopExpected],
			prefix string,
		) error {
			_, err := m.DeleteByKey(ctx, k.Prefix(prefix))
			return err
		}, "0 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			for at := 0; ; at++ {
				n := numbers[0]
				numbers = numbers[1:]
				kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, Line: lines})))(t)
				moved, sent := false, 0
				f := &before{at: at, sent: &sent, do: func() {
					moved = true
					e, err := x.C.Load(ctx, x.C.Key("s", n))
					if err == nil {
						_, err = x.C.Save(ctx, e, mapper.Move())
					}
					var conflict *mapper.ConflictError
					if err != nil && !errors.Is(err, mapper.ErrNotFound) && !errors.As(err, &conflict) {
						t.Error(err)
					}
				}}
				client := testengine.Start(t).Client(func(o *dynamodb.Options) { o.HTTPClient = f })
				m := kit.Must(mapper.New[kit.ShopExpected](client, x.Table))(t)
				if err := c.do(m, m.Key("s", n), fmt.Sprintf("O#%06d#L#", n)); err != nil {
					t.Errorf("moved before request %d: %v", at, err)
				}
				got := "not found"
				if e, err := x.C.Load(ctx, x.C.Key("s", n), mapper.Strong()); err == nil {
					got = fmt.Sprintf("%d lines by %s", len(e.Value.Line), e.Value.By)
				}
				if !strings.HasPrefix(got, c.want) {
					t.Errorf("moved before request %d: %s, want %s", at, got, c.want)
				}
				if !moved {
					break
				}
			}
		})
	}
}

// An entity on a shard of no number that is known any more stays there, unless it is to move, whether
// it was planned before or not.
func TestShardsStale(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, Line: []kit.Part{{N: 1}}})))(t)
	for e, err := range x.D.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		e.Value.By = "x"
		for range 2 {
			if p := kit.Must(x.D.PlanSave(e))(t); len(p.Items) != 1 || p.Items[0].Kind != "update" {
				t.Errorf("%v", p)
			}
		}
		if r := kit.Must(x.D.Save(ctx, e))(t); len(r.Predicted().Items) != 1 || r.Consumed.WCU != 1 {
			t.Errorf("%v", r)
		}
		if r := kit.Must(x.D.Save(ctx, e, mapper.Move()))(t); len(r.Predicted().Items) != 4 {
			t.Errorf("%v", r)
		}
	}
	if v := kit.Must(x.D.Load(ctx, x.D.Key("s", n)))(t).Value; v.By != "x" || len(v.Line) != 1 {
		t.Errorf("%+v", v)
	}
}

// A staged insert of an entity that is on another shard reports that it exists.
func TestShardsStagedExists(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n})))(t)
	_, err := x.C.Save(ctx, x.C.New(kit.ShopNew{Shop: "s", N: n, Line: []kit.Part{{N: 1}, {N: 2}}}), mapper.Staged())
	if !errors.Is(err, mapper.ErrExists) || strings.Contains(err.Error(), "insert again") {
		t.Error(err)
	}
}

// What moves between two pages comes once.
func TestShardsMoveBetweenPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := kit.NewShops(t)
	for n := range 8 {
		kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n})))(t)
	}
	var all []int
	for page := kit.Must(query.Of[kit.ShopNew](x.C.Key("s")).Limit(1).Page(ctx,
		x.C))(t); ; page = kit.Must(query.Of[kit.ShopNew](x.C.Key("s")).Limit(1).After(page.Next).Page(ctx, x.C))(t) {
		for _, v := range page.Items {
			all = append(all, v.N)
			kit.Must(x.C.Save(ctx, kit.Must(x.C.Load(ctx, x.C.Key("s", v.N)))(t), mapper.Move()))(t)
		}
		if page.Next == "" {
			break
		}
	}
	if len(all) != 8 || !slices.IsSorted(all) {
		t.Errorf("%v", all)
	}
}

// An expired root that another shard has a successor of is not brought back by one who holds it.
func TestShardsExpired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type expected struct {
		_   struct{}  `ddb:"table=leases,shards='20,40',shardby=ID,ttl=exp"`
		Day string    `ddb:"pk=L#{Day}#{shard}"`
		ID  string    `ddb:"sk={ID}"`
		Exp time.Time `ddb:"sk={ID},ttl"`
	}
	type written struct {
		_   struct{}  `ddb:"table=leases,shards='40,20',shardby=ID,ttl=exp"`
		Day string    `ddb:"pk=L#{Day}#{shard}"`
		ID  string    `ddb:"sk={ID}"`
		Exp time.Time `ddb:"sk={ID},ttl"`
	}
	table, client := mapper.Table(testengine.Table(t, "PK:S", "SK:S")), testengine.Start(t).Client()
	a, b := kit.Must(
		mapper.New[expected](client, table),
	)(
		t,
	), kit.Must(
		mapper.New[written](client, table, mapper.ExpiryMargin(0)),
	)(
		t,
	)
	var held []*mapper.Entity[expected]
	for i := range 6 {
		e := a.New(expected{Day: "d", ID: fmt.Sprint(i), Exp: time.Now().Add(time.Second)})
		kit.Must(a.Save(ctx, e))(t)
		held = append(held, e)
	}
	later := func() time.Time { return time.Now().Add(2100 * time.Millisecond) }
	door.Mapper.Model(a).Now = later
	door.Mapper.Model(b).Now = later
	for i, e := range held {
		kit.Must(b.Save(ctx, b.New(written{Day: "d", ID: fmt.Sprint(i), Exp: time.Now().Add(time.Hour)})))(t)
		e.Value.Exp = time.Now().Add(time.Hour)
		var conflict *mapper.ConflictError
		if _, err := a.Save(ctx, e); !errors.As(err, &conflict) {
			t.Errorf("%d was brought back: %v", i, err)
		}
	}
	if n := kit.Must(query.Of[written](b.Key("d")).Count(ctx, b))(t); n != 6 {
		t.Errorf("%d of 6", n)
	}
}

// Drawn shards of a larger number that is retired are left by a move.
func TestShardsDrawnMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type ten struct {
		_   struct{} `ddb:"table=logs,shards=10,shardby=random"`
		Log string   `ddb:"pk=L#{Log}#{shard}"`
		N   int      `ddb:"sk={N:06}"`
		To  string   `ddb:"sk={N:06}"`
	}
	type fewer struct {
		_   struct{} `ddb:"table=logs,shards='2,10',shardby=random"`
		Log string   `ddb:"pk=L#{Log}#{shard}"`
		N   int      `ddb:"sk={N:06}"`
		To  string   `ddb:"sk={N:06}"`
	}
	type two struct {
		_   struct{} `ddb:"table=logs,shards=2,shardby=random"`
		Log string   `ddb:"pk=L#{Log}#{shard}"`
		N   int      `ddb:"sk={N:06}"`
		To  string   `ddb:"sk={N:06}"`
	}
	table, client := mapper.Table(testengine.Table(t, "PK:S", "SK:S")), testengine.Start(t).Client()
	a, b, c := kit.Must(mapper.New[ten](client, table))(t), kit.Must(mapper.New[fewer](client, table))(t),
		kit.Must(mapper.New[two](client, table))(t)
	for n := range 20 {
		kit.Must(a.Save(ctx, a.New(ten{Log: "l", N: n})))(t)
	}
	for e, err := range b.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		kit.Must(b.Save(ctx, e, mapper.Move()))(t)
	}
	if n := kit.Must(query.Of[two](c.Key("l")).Count(ctx, c))(t); n != 20 {
		t.Errorf("%d of 20", n)
	}
}
