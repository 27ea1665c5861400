package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func slice[T, E any](t testing.TB, m *mapper.Mapper[T], q *query.Query[T, E]) []E {
	t.Helper()
	return kit.Must(q.Collect(context.Background(), m))(t)
}

// An entity of a flat model is known by both keys; a partition holds many, which a
// query yields in the order of their keys.
func TestFlatModel(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	threads := kit.NewMapper[models.Thread](t, "ForumName:S", "Subject:S")
	for i := range 5 {
		kit.Must(threads.Save(ctx, threads.New(models.Thread{Forum: "go", Title: fmt.Sprint("t", i), Views: i})))(t)
	}
	kit.Must(threads.Save(ctx, threads.New(models.Thread{Forum: "java", Title: "t0"})))(t)
	e := kit.Must(threads.Load(ctx, threads.Key("go", "t3")))(t)
	e.Value.Views = 30
	if r := kit.Must(threads.Save(ctx, e))(t); r.Consumed.WCU != 1 || r.Predicted().Requests != 1 {
		t.Errorf("%v", r)
	}
	var views []int
	for _, th := range slice(t, threads, query.Of[models.Thread](threads.Key("go")).Reverse()) {
		views = append(views, th.Views)
	}
	if !cmp.Equal(views, []int{4, 30, 2, 1, 0}) {
		t.Errorf("%v", views)
	}
	_, err := threads.Load(ctx, threads.Key("go"))
	kit.WantError(t, nil, err,
		"models.Thread: the key selects several entities: add values for all of Forum, Title to "+
			"load one, or run a query")
	e.Value.Title = "moved"
	_, err = threads.Save(ctx, e)
	var changed *mapper.ValueError
	if !errors.As(err, &changed) || changed.Field != "Title" {
		t.Error(err)
	}
	kit.Must(threads.Save(ctx, e, mapper.Move()))(t)
	kit.Must(threads.DeleteByKey(ctx, threads.Key("go", "moved")))(t)
	if n := len(slice(t, threads, query.Of[models.Thread](threads.Key("go")))); n != 4 {
		t.Errorf("%d left", n)
	}
}

// flatTopic is a flat model whose roots are at the prefix of their other items.
type flatTopic struct {
	_     struct{}   `ddb:"table=topics"`
	Board string     `ddb:"pk=BOARD#{Board}"`
	Name  string     `ddb:"sk=T#{Name}"`
	Open  bool       `ddb:"sk=T#{Name}"`
	Posts []kit.Part `ddb:"sk=T#{^Name}#{N:02}"`
}

// Other entities' keys may sort between a root and the rest of its items ("A", "A!", "A!#01", "A#01").
// Entities still come in the order of their roots, in both directions.
func TestFlatModelsInterleaved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	topics := kit.NewMapper[flatTopic](t, "PK:S", "SK:S")
	names := []string{"A", "A!", "A!!", "AA", "B"}
	for i, name := range names {
		kit.Must(topics.Save(ctx,
			topics.New(flatTopic{Board: "b", Name: name, Open: true, Posts: []kit.Part{{N: 1}, {N: 2}}[:1+i%2]})))(t)
	}
	q := query.Of[flatTopic](topics.Key("b"))
	for _, reverse := range []bool{false, true} {
		if reverse {
			q = q.Reverse()
			slices.Reverse(names)
		}
		var got []string
		for _, v := range slice(t, topics, q) {
			got = append(got, fmt.Sprint(v.Name, len(v.Posts)))
		}
		if len(got) != len(names) {
			t.Fatalf("%v", got)
		}
		for i, name := range names {
			if !strings.HasPrefix(got[i], name) || len(got[i]) != len(name)+1 {
				t.Errorf("reverse %v: %v", reverse, got)
			}
		}
	}
}

// Keys of numbers sort by value.
func TestFlatModelWithNumbers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	readings := kit.NewMapper[models.Reading](t, "PK:N", "SK:N")
	for _, sec := range []int64{9, 10, 100, 99} {
		kit.Must(readings.Save(ctx,
			readings.New(models.Reading{Sensor: 7, At: time.Unix(sec, 5), Value: float64(sec)})))(t)
	}
	var got []float64
	for _, r := range slice(t, readings, query.Of[models.Reading](readings.Key(7))) {
		got = append(got, r.Value)
	}
	if !cmp.Equal(got, []float64{9, 10, 99, 100}) {
		t.Errorf("%v", got)
	}
	e := kit.Must(readings.Load(ctx, readings.Key(7, time.Unix(10, 0))))(t)
	if !e.Value.At.Equal(time.Unix(10, 5)) {
		t.Errorf("the instant lost its fraction: %v", e.Value.At)
	}
}

// An entity of several items has the items under its prefix, which ends with a delimiter. A query
// yields whole entities.
func TestFlatModelOfSeveralItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	orders := kit.NewMapper[models.Order](t, "PK:S", "SK:S")
	opts := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(models.Order{}, "_")}
	var want []models.Order
	for i := range 4 {
		o := models.Order{Customer: "c", N: 10 * i, Status: fmt.Sprint(i), Ship: &models.Address{City: "C"}}
		for j := range i {
			o.Lines = append(o.Lines, models.Line{Line: j + 1, SKU: "s", Count: i})
		}
		var options []mapper.WriteOption
		if i%2 == 0 {
			options = append(options, mapper.Staged())
		}
		kit.Must(orders.Save(ctx, orders.New(o), options...))(t)
		want = append(want, o)
	}
	got := slice(t, orders, query.Of[models.Order](orders.Key("c")))
	if d := cmp.Diff(want, got, opts); d != "" {
		t.Error(d)
	}
	e := kit.Must(orders.Load(ctx, orders.Key("c", 20)))(t)
	if d := cmp.Diff(want[2], e.Value, opts); d != "" {
		t.Error(d)
	}
	e.Value.Lines = e.Value.Lines[1:]
	e.Value.Status = "shipped"
	if r := kit.Must(orders.Save(ctx, e))(t); len(r.Predicted().Items) != 2 {
		t.Errorf("%v", r)
	}
	lines := slice(t, orders, query.Of[models.Line](orders.Key("c", 30).Prefix("ORDER#000030#LINE#")))
	if len(lines) != 3 {
		t.Errorf("%+v", lines)
	}
	kit.Must(orders.DeleteByKey(ctx, orders.Key("c", 20)))(t)
	if got := slice(t, orders, query.Of[models.Order](orders.Key("c"))); len(got) != 3 {
		t.Errorf("%d left", len(got))
	}
}

// A root whose key is the prefix itself. An entity is not mixed with one whose name begins with its
// name, even if other names sort between its root and its lines.
func TestFlatModelPrefixIsRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	bare := kit.NewMapper[models.Bare](t, "PK:S", "SK:S")
	opts := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(models.Bare{}, "_")}
	var want []models.Bare
	for _, name := range []string{"a", "a!", "a#b", "ab", "b"} {
		b := models.Bare{Name: name, Lines: []models.Line{{Line: 1, SKU: name}, {Line: 2, SKU: name}}}
		kit.Must(bare.Save(ctx, bare.New(b)))(t)
		want = append(want, b)
	}
	for _, w := range want {
		e := kit.Must(bare.Load(ctx, bare.Key(w.Name)))(t)
		if d := cmp.Diff(w, e.Value, opts); d != "" {
			t.Errorf("%s: %s", w.Name, d)
		}
	}
	byName := func(all []models.Bare) map[string]models.Bare {
		m := map[string]models.Bare{}
		for _, b := range all {
			m[b.Name] = b
		}
		return m
	}
	q := query.Of[models.Bare](bare.Key())
	for _, q := range []*query.Query[models.Bare, models.Bare]{q, q.Reverse()} {
		got := slice(t, bare, q)
		if d := cmp.Diff(byName(want), byName(got), opts); d != "" || len(got) != len(want) {
			t.Errorf("%d entities: %s", len(got), d)
		}
	}
}

// Fields of further tables: a price change writes one unit to its own table, and
// loading reads just the tables asked for.
func TestSecondaryTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	names := map[string]string{}
	for _, n := range []string{"ProductCatalog", "ProductAvailability", "ExtendedProductCatalog"} {
		names[n] = testengine.Table(t, "Id:N", "")
	}
	products := kit.Must(mapper.New[models.Product](testengine.Start(t).Client(),
		mapper.Tables(func(n string) string { return names[n] })))(t)
	text := string(make([]byte, 2900))
	p := models.Product{
		ID: 302, Title: "Red Bicycle", Text: text, Price: 125, OnHand: 8, Rating: 3.5,
		Tracks: map[string]string{"Track1": "3:59"},
	}
	kit.Must(products.Save(ctx, products.New(p)))(t)
	e := kit.Must(products.Load(ctx, products.Key(302)))(t)
	if d := cmp.Diff(p, e.Value, cmpopts.IgnoreUnexported(models.Product{}),
		cmpopts.IgnoreFields(models.Product{}, "_")); d != "" {
		t.Error(d)
	}
	e.Value.Price = 99
	r := kit.Must(products.Save(ctx, e))(t)
	if r.Consumed.WCU != 1 || len(r.Predicted().Items) != 1 ||
		r.Predicted().Items[0].Table != names["ProductAvailability"] {
		t.Errorf("%v", r)
	}
	var receipt mapper.Receipt
	part := kit.Must(products.Load(ctx, products.Key(302).Table("ProductAvailability"), mapper.ReceiptTo(&receipt)))(t)
	if part.Value.Price != 99 || part.Value.Title != "" || receipt.Predicted().Requests != 1 ||
		receipt.Consumed.RCU != 0.5 {
		t.Errorf("%+v, %v", part.Value, &receipt)
	}
	part.Value.OnHand = 7
	kit.Must(products.Save(ctx, part))(t)
	part.Value.Rating = 1
	_, err := products.Save(ctx, part)
	var not *mapper.NotLoadedError
	if !errors.As(err, &not) || not.Key.Table != names["ExtendedProductCatalog"] {
		t.Error(err)
	}
	e = kit.Must(products.Load(ctx, products.Key(302)))(t)
	e.Value.Title, e.Value.OnHand = "Blue", 6 // a transaction over two tables
	if r := kit.Must(products.Save(ctx, e))(t); r.Predicted().Requests != 1 || len(r.Predicted().Items) != 2 {
		t.Errorf("%v", r)
	}
	kit.Must(products.DeleteByKey(ctx, products.Key(302)))(t)
	if _, err := products.Load(ctx, products.Key(302)); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
}

// Elements in a further table, by a number.
func TestSecondaryTableElements(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	names := map[string]string{
		"forums":  testengine.Table(t, "Name:S", ""),
		"replies": testengine.Table(t, "Forum:S", "At:N"),
	}
	m := kit.Must(mapper.New[models.SecondaryItems](testengine.Start(t).Client(),
		mapper.Tables(func(n string) string { return names[n] })))(t)
	v := models.SecondaryItems{
		Name: "go", About: "x",
		Replies: []models.Reply{{Seq: 2, Text: "b"}, {Seq: -5, Text: "a"}, {Seq: 10, Text: "c"}},
	}
	kit.Must(m.Save(ctx, m.New(v)))(t)
	e := kit.Must(m.Load(ctx, m.Key("go")))(t)
	if r := e.Value.Replies; len(r) != 3 || r[0].Seq != -5 || r[2].Seq != 10 {
		t.Errorf("%+v", r)
	}
	got := slice(t, m, query.Of[models.Reply](m.Key("go").Table("ReplyTable")).Reverse())
	if len(got) != 3 || got[0].Seq != 10 {
		t.Errorf("%+v", got)
	}
	one := kit.Must(m.Load(ctx, m.Key("go").Table("replies").Item(2)))(t)
	one.Value.Replies[0].Text = "changed"
	if r := kit.Must(m.Save(ctx, one))(t); r.Consumed.WCU != 1 {
		t.Errorf("%v", r)
	}
}

// Items past their time to live do not exist, and an insert treats them as absent.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[models.Expiring](testengine.Start(t).Client(), mapper.Table(table)))(t)
	r := kit.NewForeign(t, table)
	past, future := time.Now().Add(-time.Hour).Truncate(time.Second), time.Now().Add(time.Hour).Truncate(time.Second)
	v := models.Expiring{
		ID: "1", Text: "x", Token: "t", Until: &past, Unix: future,
		Sessions: []models.Session{{Name: "old", Until: past}, {Name: "new", Until: future}, {Name: "never"}},
	}
	kit.Must(m.Save(ctx, m.New(v)))(t)
	if g := r.Get("1", "S#new")["gone"]; g == nil || r.Get("1", "S#never")["gone"] != nil {
		t.Errorf("the attribute: %v", g)
	}
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	if e.Value.Token != "" || e.Value.Until != nil || len(e.Value.Sessions) != 2 ||
		e.Value.Sessions[0].Name != "never" || !e.Value.Unix.Equal(future) {
		t.Errorf("%+v", e.Value)
	}
	if rc := kit.Must(m.Save(ctx, e))(t); rc.Predicted().Requests != 0 {
		t.Errorf("%v", rc)
	}
	// Put over the expired ones; the price is that of the larger.
	e.Value.Token, e.Value.Until = "t2", &future
	e.Value.Sessions = append(e.Value.Sessions, models.Session{Name: "old", Until: future, Data: "again"})
	kit.Must(m.Save(ctx, e))(t)
	e = kit.Must(m.Load(ctx, m.Key("1")))(t)
	if e.Value.Token != "t2" || len(e.Value.Sessions) != 3 {
		t.Errorf("%+v", e.Value)
	}
	// Without having been seen, too.
	r.Set("1", "S#old", "gone", kit.N(fmt.Sprint(past.Unix())))
	blind := kit.Must(m.Load(ctx, m.Key("1").Item("S#old")))(t)
	r.Set("1", "S#new", "gone", kit.N(fmt.Sprint(past.Unix())))
	blind.Value.Sessions = []models.Session{{Name: "old", Until: future, Data: "blind"}}
	kit.Must(m.Save(ctx, blind))(t)
	// An expiry that ends removes the attribute.
	e = kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Until = nil
	kit.Must(m.Save(ctx, e))(t)
	if g := r.Get("1", "T")["gone"]; g != nil {
		t.Errorf("still %v", g)
	}
}

// ttl,all: the expiry of every item follows a field of the root.
func TestTimeToLiveOfAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[models.ExpiringAll](testengine.Start(t).Client(), mapper.Table(table)))(t)
	r := kit.NewForeign(t, table)
	future := time.Now().Add(time.Hour).Truncate(time.Second)
	v := models.ExpiringAll{
		ID: "1", Text: "x", Until: future, Home: models.Address{City: "C"},
		Lines: []models.Line{{Line: 1, SKU: "a"}, {Line: 2, SKU: "b"}},
	}
	kit.Must(m.Save(ctx, m.New(v)))(t)
	for sk, it := range r.All("1") {
		if it["gone"] != float64(future.Unix()) {
			t.Errorf("%s: %v", sk, it)
		}
	}
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Until = future.Add(time.Hour)
	if rc := kit.Must(m.Save(ctx, e))(t); len(rc.Predicted().Items) != 4 {
		t.Errorf("%v", rc)
	}
	part := kit.Must(m.Load(ctx, m.Key("1").Item("A")))(t)
	part.Value.Until = future
	_, err := m.Save(ctx, part)
	var not *mapper.NotLoadedError
	if !errors.As(err, &not) {
		t.Errorf("%v", err)
	}
	lines := kit.Must(m.Load(ctx, m.Key("1").Prefix("L#")))(t)
	lines.Value.Lines[0].Count = 9 // known: it keeps its expiry
	kit.Must(m.Save(ctx, lines))(t)
	if it := r.All("1")["L#001"]; it["gone"] != float64(future.Add(time.Hour).Unix()) || it["Count"] != 9.0 {
		t.Errorf("%v", it)
	}
	lines.Value.Lines = append(lines.Value.Lines, models.Line{Line: 3})
	_, err = m.Save(ctx, lines)
	if !errors.As(err, &not) {
		t.Errorf("%v", err)
	}
	past := kit.Must(m.Load(ctx, m.Key("1")))(t)
	past.Value.Until = time.Now().Add(-time.Minute)
	kit.Must(m.Save(ctx, past))(t)
	if _, err := m.Load(ctx, m.Key("1")); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	if _, err := m.Save(ctx, m.New(v)); !errors.Is(err, mapper.ErrExists) ||
		!strings.Contains(err.Error(), "ExpiryMargin") {
		t.Errorf("the entity may be live by another clock: %v", err)
	}
	kit.Must(m.Load(ctx, m.Key("1").Prefix("L#")))(t)
	door.Mapper.Model(m).Now = func() time.Time { return time.Now().Add(15 * time.Minute) }
	kit.Must(m.Save(ctx, m.New(v)))(t) // over the expired
}

// Typed queries yield the elements of their type, over pages, in either order, and
// refuse selections that hold others.
func TestQueries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	u := kit.User{ID: "1", Email: "x"}
	for i := range 60 { // 60 x 40 KB are several pages
		u.Public = append(u.Public,
			kit.Wish{
				AddedAt: kit.Day(1, 1).AddDate(0, 0, 5*i), SKU: fmt.Sprint(i),
				Title: string(make([]byte, 40_000)),
			})
	}
	e := users.New(u)
	kit.Must(users.Save(ctx, e, mapper.Independent()))(t)
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("M#WishList#Public#unknown")})
	k := users.Key("1")
	var receipt mapper.Receipt
	all := kit.Must(query.Of[kit.Wish](k.Prefix("M#WishList#")).Collect(ctx, users, mapper.ReceiptTo(&receipt)))(t)
	if len(all) != 60 || all[0].SKU != "0" || receipt.Predicted().Requests < 3 ||
		receipt.Consumed.RCU != receipt.Predicted().RCU.Max {
		t.Errorf("%d elements, %v", len(all), &receipt)
	}
	back := slice(t, users, query.Of[kit.Wish](k.Prefix("M#WishList#Public#2021-03-")).Reverse())
	if len(back) != 6 || !back[0].AddedAt.After(back[5].AddedAt) {
		t.Errorf("%d elements", len(back))
	}
	receipt = mapper.Receipt{}
	for w, err := range query.Of[kit.Wish](k.Prefix("M#WishList#")).All(ctx, users, mapper.ReceiptTo(&receipt),
		mapper.Strong()) {
		if err != nil || w.SKU == "3" {
			break
		}
	}
	if receipt.Predicted().Requests != 2 { // the page, and the root, since the entity continues after the page
		t.Errorf("an abandoned query went on: %v", &receipt)
	}
	_, err := query.Of[kit.Wish](k).Collect(ctx, users)
	kit.WantError(t, nil, err, "kit.User: the selection also contains U#Information, which is of "+
		"another type than kit.Wish: narrow it with Prefix")
	_, err = query.Of[int](k.Prefix("M#")).Collect(ctx, users)
	kit.WantError(t, nil, err, "which is of another type than int: narrow it with Prefix")
	_, err = query.Of[kit.Wish](k.Prefix("X#")).Collect(ctx, users)
	kit.WantError(t, nil, err,
		`kit.User: no item's sort key begins with "X#": the templates are U#Information, `+
			`U#Address#Home, U#Address#Delivery, M#WishList#Public#{AddedAt}, M#WishList#Private#{AddedAt}, `+
			`M#Card#{key}`)
	_, err = query.Of[kit.User](k).Collect(ctx, users)
	kit.WantError(t, nil, err, "kit.User: a query of the model itself needs a flat model, with many entities "+
		"in a partition: use Load")
	if cards := slice(t, users, query.Of[kit.Card](k.Prefix("M#Card#"))); len(cards) != 0 {
		t.Errorf("%v", cards)
	}
}
