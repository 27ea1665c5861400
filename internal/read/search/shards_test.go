package search_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// scattered runs queries of entities on shards in all forms, and compares the results with the stored
// entities, in order.
func scattered[T any](t *testing.T, m *mapper.Mapper[T], all query.Selection[T], want []T) {
	t.Helper()
	kit.ScatteredBy(t, m, query.Of[T](all), want)
}

// A query over shards yields the items of all of them in order of their keys, whatever the entities
// consist of. Each entity is found by its key alone, edited, and deleted on its shard.
func TestShards(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("one item each", func(t *testing.T) {
		m := kit.NewMapper[kit.Event](t, "PK:S", "SK:S")
		day := time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC)
		var want []kit.Event
		for i := range 20 {
			want = append(want,
				kit.Event{
					At: day.Add(time.Duration(i/2) * 10 * time.Minute), OrderID: fmt.Sprintf("O-%02d", i),
					Text: "x",
				})
			kit.Must(m.Save(ctx, m.New(want[i])))(t)
		}
		kit.Must(m.Save(ctx, m.New(kit.Event{At: day.AddDate(0, 0, 1), OrderID: "tomorrow"})))(t)
		scattered(t, m, m.Key(day), want)
		scattered(t, m, m.Key(day).Prefix("2026-11-22T01:"), want[12:])
		e := kit.Must(m.Load(ctx, m.Key(want[9].At, want[9].OrderID)))(t)
		e.Value.Text = "y"
		if r := kit.Must(m.Save(ctx, e))(t); r.Consumed.WCU != 1 {
			t.Errorf("%v", r)
		}
		if r := kit.Must(m.DeleteByKey(ctx, m.Key(want[9].At, want[9].OrderID)))(t); r.Consumed.WCU != 1 {
			t.Errorf("%v", r)
		}
		scattered(t, m, m.Key(day), slices.Delete(want, 9, 10))
	})
	t.Run("under a prefix", func(t *testing.T) {
		m := kit.NewMapper[kit.Order](t, "PK:S", "SK:S")
		var want []kit.Order
		for i := range 23 {
			o := kit.Order{Shop: "s", N: i, Total: i}
			for n := range i % 4 {
				o.Lines = append(o.Lines, kit.Part{N: n, Text: "x"})
			}
			want = append(want, o)
			kit.Must(m.Save(ctx, m.New(o)))(t)
		}
		scattered(t, m, m.Key("s"), want)
	})
	t.Run("a root before its elements", func(t *testing.T) {
		m := kit.NewMapper[kit.ShardedBoard](t, "PK:S", "SK:S")
		var want []kit.ShardedBoard
		for i, name := range []string{"a", "a!", "a!b", "a b", "ab", "b", "b\"", "b!c", "c", "aa", "a$", "x y", "x"} {
			b := kit.ShardedBoard{Board: "b", Name: name, Open: i%2 == 0}
			for n := range (i + 1) % 3 {
				b.Posts = append(b.Posts, kit.Part{N: n, Text: "x"})
			}
			want = append(want, b)
			kit.Must(m.Save(ctx, m.New(b)))(t)
		}
		slices.SortFunc(want, func(a, b kit.ShardedBoard) int { return cmp.Compare(a.Name, b.Name) })
		scattered(t, m, m.Key("b"), want)
	})
	t.Run("drawn", func(t *testing.T) {
		m := kit.NewMapper[kit.ShardedEntry](t, "PK:S", "SK:S")
		var want []kit.ShardedEntry
		places := map[string]int{}
		for i := range draws.Times(15, 40, 40) {
			want = append(want, kit.ShardedEntry{Log: "l", N: i, Text: "x"})
			e := m.New(want[i])
			places[kit.Must(m.PlanSave(e))(t).Items[0].Key.Partition]++
			kit.Must(m.Save(ctx, e))(t)
		}
		scattered(t, m, m.Key("l"), want)
		for i := range 60 { // of 15 entities alone, one of 150 runs leaves out a shard
			e := m.New(kit.ShardedEntry{Log: "l", N: 100 + i})
			places[kit.Must(m.PlanSave(e))(t).Items[0].Key.Partition]++
		}
		if len(places) != 3 {
			t.Errorf("drawn %v", places)
		}
		_, err := m.Load(ctx, m.Key("l", 3))
		kit.WantError(t, nil, err, "kit.ShardedEntry.Log: its shard is random (shardby=random), so that its "+
			"key does not give the shard")
		for e, err := range m.Scan(ctx) { // an entity that is found is edited on its shard
			if err != nil {
				t.Fatal(err)
			}
			e.Value.Text = "y"
			kit.Must(m.Save(ctx, e))(t)
		}
		for i := range want {
			want[i].Text = "y"
		}
		scattered(t, m, m.Key("l"), want)
	})
}

// While the number of shards changes, an entity is found by its key on any of its shards, and exists
// once. An insert on one shard is refused if the entity is on the other, in each phase and in both
// directions.
func TestShardsChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type old struct {
		_    struct{} `ddb:"table=events,shards=5,shardby=ID"`
		Day  string   `ddb:"pk=E#{Day}#{shard}"`
		ID   string   `ddb:"sk={ID}"`
		Text string   `ddb:"sk={ID}"`
	}
	type expected struct {
		_    struct{} `ddb:"table=events,shards='5,10',shardby=ID"`
		Day  string   `ddb:"pk=E#{Day}#{shard}"`
		ID   string   `ddb:"sk={ID}"`
		Text string   `ddb:"sk={ID}"`
	}
	type written struct {
		_    struct{} `ddb:"table=events,shards='10,5',shardby=ID"`
		Day  string   `ddb:"pk=E#{Day}#{shard}"`
		ID   string   `ddb:"sk={ID}"`
		Text string   `ddb:"sk={ID}"`
	}
	type after struct {
		_    struct{} `ddb:"table=events,shards=10,shardby=ID"`
		Day  string   `ddb:"pk=E#{Day}#{shard}"`
		ID   string   `ddb:"sk={ID}"`
		Text string   `ddb:"sk={ID}"`
	}
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	client := testengine.Start(t).Client()
	a, b := kit.Must(mapper.New[old](client, table))(t), kit.Must(mapper.New[expected](client, table))(t)
	c, d := kit.Must(mapper.New[written](client, table))(t), kit.Must(mapper.New[after](client, table))(t)
	var all []written
	moved := 0
	for i := range 18 { // a third by each phase
		id := fmt.Sprintf("%02d", i)
		all = append(all, written{Day: "d", ID: id})
		switch i % 3 {
		case 0:
			kit.Must(a.Save(ctx, a.New(old{Day: "d", ID: id})))(t)
		case 1:
			kit.Must(b.Save(ctx, b.New(expected{Day: "d", ID: id})))(t)
		case 2:
			e := c.New(written{Day: "d", ID: id})
			plan := kit.Must(c.PlanSave(e))(t)
			r := kit.Must(c.Save(ctx, e))(t)
			if len(r.Predicted().Items) == 2 {
				moved++
				if plan.WCU.Max != 4 || r.Predicted().Items[1].Kind != "check" { // two items of a transaction
					t.Errorf("%v\n%v", plan, r)
				}
			}
		}
	}
	if moved == 0 {
		t.Error("no entity had two shards")
	}
	for i, w := range all {
		if _, err := b.Save(ctx, b.New(expected{Day: "d", ID: w.ID})); !errors.Is(err, mapper.ErrExists) {
			t.Errorf("%d: known: %v", i, err)
		}
		if _, err := c.Save(ctx, c.New(written{Day: "d", ID: w.ID})); !errors.Is(err, mapper.ErrExists) {
			t.Errorf("%d: written: %v", i, err)
		}
		kit.Must(b.Load(ctx, b.Key("d", w.ID)))(t)
		e := kit.Must(c.Load(ctx, c.Key("d", w.ID), mapper.Strong()))(t)
		e.Value.Text = "x"
		kit.Must(c.Save(ctx, e))(t)
		kit.Must(b.Update(ctx, b.Key("d", w.ID), func(v *expected) error { v.Text += "y"; return nil }))(t)
		all[i].Text = "xy"
	}
	scattered(t, c, c.Key("d"), all)
	loaded := kit.Must(c.LoadMany(ctx,
		[]query.Selection[written]{c.Key("d", "00"), c.Key("d", "01"), c.Key("d", "02")}))(t)
	for i, e := range loaded {
		if e == nil || e.Value != all[i] {
			t.Errorf("%d: %v", i, e)
		}
	}
	kit.Must(c.DeleteByKey(ctx, c.Key("d", "03")))(t)
	kit.Must(c.DeleteByKey(ctx, c.Key("d", "05")))(t)
	if _, err := b.Load(ctx, b.Key("d", "03")); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	all = slices.Delete(slices.Delete(all, 5, 6), 3, 4)
	n := 0
	for e, err := range c.Scan(ctx) { // an entity on an old shard moves to the new one, and then exists only there
		if err != nil {
			t.Fatal(err)
		}
		if r := kit.Must(c.Save(ctx, e, mapper.Move()))(t); r.Predicted().Requests > 0 {
			n++
		}
	}
	if n == 0 {
		t.Error("nothing has moved")
	}
	scattered(t, c, c.Key("d"), all)
	for _, w := range all {
		if e := kit.Must(d.Load(ctx, d.Key("d", w.ID)))(t); e.Value.Text != "xy" {
			t.Errorf("%+v", e.Value)
		}
	}
}

// Two processes insert the same entity, plain or staged. One writes 20 shards and knows 40, and the
// other the reverse. The second begins and ends before each request of the first. One of them succeeds,
// and the stored entity is its own.
func TestShardsChangeTwoActors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	engine := testengine.Start(t)
	b := kit.Must(mapper.New[kit.ShopNew](engine.Client(), table))(t)
	lines := []kit.Part{{N: 1, Text: "x"}, {N: 2, Text: "y"}}
	n, distinct := 0, 0
	for _, modes := range [][2][]mapper.WriteOption{
		{nil, nil},
		{{mapper.Staged()}, nil},
		{nil, {mapper.Staged()}},
		{{mapper.Staged()}, {mapper.Staged()}},
	} {
		for at := 0; ; at++ {
			n++
			sent, second := 0, error(nil)
			insert := func() {
				_, second = b.Save(ctx, b.New(kit.ShopNew{Shop: "s", N: n, By: "b", Line: lines}), modes[1]...)
			}
			f := &before{at: at, do: insert, sent: &sent}
			a := kit.Must(mapper.New[kit.ShopExpected](engine.Client(func(o *dynamodb.Options) { o.HTTPClient = f }),
				table))(t)
			e := a.New(kit.ShopExpected{Shop: "s", N: n, By: "a", Line: lines})
			if kit.Must(a.PlanSave(e))(t).Items[0].Key.Partition != kit.Must(b.PlanSave(b.New(kit.ShopNew{
				Shop: "s",
				N:    n,
			})))(t).
				Items[0].Key.Partition {
				distinct++
			}
			_, first := a.Save(ctx, e, modes[0]...)
			if sent <= at {
				insert() // behind all of it
			}
			if (first == nil) == (second == nil) {
				t.Fatalf("%d, before request %d: %v and %v", n, at, first, second)
			}
			for _, err := range []error{first, second} {
				var conflict *mapper.ConflictError
				if err != nil && !errors.Is(err, mapper.ErrExists) && !errors.As(err, &conflict) {
					t.Errorf("%d, before request %d: %v", n, at, err)
				}
			}
			by := "a"
			if first != nil {
				by = "b"
			}
			for _, options := range [][]mapper.ReadOption{nil, {mapper.Strong()}} {
				if v := kit.Must(a.Load(ctx, a.Key("s", n), options...))(t).Value; v.By != by || len(v.Line) != 2 {
					t.Errorf("%d, before request %d: %+v, written by %s", n, at, v, by)
				}
				if v := kit.Must(b.Load(ctx, b.Key("s", n), options...))(t).Value; v.By != by || len(v.Line) != 2 {
					t.Errorf("%d, before request %d: %+v, written by %s", n, at, v, by)
				}
			}
			if sent <= at {
				break
			}
		}
	}
	if all := kit.Must(query.Of[kit.ShopNew](b.Key("s")).Collect(ctx, b))(t); len(all) != n || distinct == 0 {
		t.Errorf("%d entities of %d, %d of them had two shards", len(all), n, distinct)
	}
}

// before does something before one of the requests that it passes on.
type before struct {
	at   int
	do   func()
	mu   sync.Mutex
	sent *int
}

func (b *before) Do(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	*b.sent++
	n := *b.sent
	b.mu.Unlock()
	if n == b.at+1 {
		b.do()
	}
	return http.DefaultClient.Do(r)
}

// Over 200 shards a query yields exactly the events of its range, in order, while writers change some
// of them and add others behind it.
func TestShardsManyWhileWritten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type event struct {
		_     struct{}  `ddb:"table=events,shards=200,shardby=ID"`
		At    time.Time `ddb:"pk=EVENTS#{At:date}.{shard}"`
		ID    string    `ddb:"sk={At}#{ID}"`
		Count int       `ddb:"sk={At}#{ID}"`
	}
	m := kit.NewMapper[event](t, "PK:S", "SK:S")
	day := time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC)
	n := draws.Times(400, 10_000, 50_000)
	at := func(i int) event {
		return event{At: day.Add(time.Duration(i) * time.Millisecond), ID: fmt.Sprintf("%06d", i)}
	}
	all := func(yield func(event, error) bool) {
		for i := range n {
			if !yield(at(i), nil) {
				return
			}
		}
	}
	if r, err := m.BulkLoad(ctx, all); err != nil || r.Entities != n {
		t.Fatalf("%+v %v", r, err)
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				v := at(i * 7 % n)
				if _, err := m.Update(ctx, m.Key(v.At, v.ID),
					func(e *event) error { e.Count++; return nil }); err != nil {
					t.Error(err)
				}
				if _, err := m.Save(ctx,
					m.New(event{
						At: day.Add(12*time.Hour + time.Duration(2*i+w)*time.Millisecond),
						ID: fmt.Sprint("later", w, i),
					})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	q := query.Of[event](m.Key(day).Prefix("2026-11-22T00:"))
	check := func(what string, got []event, from, step int) {
		t.Helper()
		for i, v := range got {
			if v.ID != at(from+i*step).ID {
				t.Fatalf("%s: %s in place of %s", what, v.ID, at(from+i*step).ID)
			}
		}
	}
	got := kit.Must(q.Collect(ctx, m, mapper.Concurrency(200)))(t)
	if check("all", got, 0, 1); len(got) != n {
		t.Errorf("%d of %d", len(got), n)
	}
	got = kit.Must(q.Reverse().Collect(ctx, m, mapper.Memory(1<<20)))(t)
	if check("reverse", got, n-1, -1); len(got) != n {
		t.Errorf("%d of %d in reverse", len(got), n)
	}
	check("the latest", kit.Must(q.Reverse().Limit(20).Collect(ctx, m))(t), n-1, -1)
	paged := 0
	for page := kit.Must(q.Limit(n/2).Page(ctx, m))(t); ; page = kit.Must(q.Limit(n/2).After(page.Next).Page(ctx,
		m))(t) {
		check("a page", page.Items, paged, 1)
		if paged += len(page.Items); page.Next == "" {
			break
		}
	}
	if paged != n {
		t.Errorf("pages have %d of %d", paged, n)
	}
	close(stop)
	writers.Wait()
}
