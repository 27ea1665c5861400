package search_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// What an attack on loads, scans, decoding and pages found. Each test failed when it was written; its comment
// has the sentence that was broken.

// small is a client whose answers to Query and Scan hold at most n items, as if those were large;
// between, if set, is called before each.
type small struct {
	*dynamodb.Client
	n       int32
	between func(call int)
	calls   int
	mu      sync.Mutex
}

func (c *small) next() *int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if c.between != nil {
		c.between(c.calls)
	}
	return &c.n
}

func (c *small) Query(ctx context.Context, in *dynamodb.QueryInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	x := *in
	if l := c.next(); x.Limit == nil || *x.Limit > *l {
		x.Limit = l
	}
	return c.Client.Query(ctx, &x, o...)
}

func (c *small) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput,
	error,
) {
	x := *in
	if l := c.next(); x.Limit == nil || *x.Limit > *l {
		x.Limit = l
	}
	return c.Client.Scan(ctx, &x, o...)
}

type sheet struct {
	_    struct{}   `ddb:"table=sheets"`
	ID   string     `ddb:"pk=SHEET#{ID}"`
	Name string     `ddb:"sk=HEAD"`
	Rows []kit.Part `ddb:"sk=ROW#{N:04}"`
}

// "a root going live is the creation": also over an expired one, which an insert treats as absent.
func TestDecodeChangeOverExpiredRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Lease](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Lease{ID: "1", Log: []string{"old"}, Until: time.Now().Add(-time.Hour)})))(t)
	raw := kit.NewForeign(t, table)
	old := raw.Get("E#1", "HEAD")
	kit.Must(m.Save(ctx, m.New(kit.Lease{ID: "1", Log: []string{"new"}, Until: time.Now().Add(time.Hour)})))(t)
	c := kit.Must(m.DecodeChange(old, raw.Get("E#1", "HEAD")))(t)
	if c.Event != "entityCreated" {
		t.Errorf("%s, from incarnation %x to %x", c.Event, c.Old.Incarnation, c.New.Incarnation)
	}
}

// Flat models: Roots "at the price of the heads", "a page asks DynamoDB for no more than it needs".
func TestRootOnlyQueryReadsNoMoreThanLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	orders := kit.NewMapper[models.Order](t, "PK:S", "SK:S")
	for i := range 2 {
		o := models.Order{Customer: "c", N: i + 1}
		for i := range 120 {
			o.Lines = append(o.Lines, models.Line{Line: i + 1, SKU: "s"})
		}
		kit.Must(orders.Save(ctx, orders.New(o)))(t)
	}
	q := query.Of[models.Order](orders.Key("c"))
	var r, whole mapper.Receipt
	kit.Must(q.Limit(2).Roots().Collect(ctx, orders, mapper.ReceiptTo(&r)))(t)
	kit.Must(q.Limit(2).Collect(ctx, orders, mapper.ReceiptTo(&whole)))(t)
	if r.Predicted().Requests > whole.Predicted().Requests || r.Consumed.RCU > whole.Consumed.RCU {
		t.Errorf("two heads: %v; two whole orders: %v", &r, &whole)
	}
}

// The same if the entities are separate, and elements under the root's prefix.
func TestRootOnlyQueryBetweenElementsReadsNoMoreThanLimit(t *testing.T) {
	t.Parallel()
	type thing struct {
		_     struct{} `ddb:"table=things"`
		List  string   `ddb:"pk=LIST#{List}"`
		ID    string
		Head  string     `ddb:"sk=THING#{ID}#HEAD"`
		Text  string     `ddb:"sk=TEXT#{ID}"`
		Parts []kit.Part `ddb:"sk=THING#{^ID}#PART#{N:04}"`
	}
	ctx := context.Background()
	m := kit.NewMapper[thing](t, "PK:S", "SK:S")
	for i := range 2 {
		o := thing{List: "l", ID: fmt.Sprint(i), Head: "h", Text: "t"}
		for i := range 120 {
			o.Parts = append(o.Parts, kit.Part{N: i + 1})
		}
		kit.Must(m.Save(ctx, m.New(o)))(t)
	}
	var r mapper.Receipt
	all := kit.Must(query.Of[thing](m.Key("l")).Limit(2).Collect(ctx, m, mapper.ReceiptTo(&r)))(t)
	if len(all) != 2 || r.Predicted().Requests > 20 {
		t.Errorf("%d for %v", len(all), &r)
	}
}

// heads.go: filter and projection "are those of the roots"; a filter on what no root stores hides every entity.
func TestRootOnlyQueryRefusesFilterOfOtherItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[models.Ticket](t, "PK:S", "SK:S")
	manyTickets(t, m, 2)
	text := handmade.String("Text", "", func(x *models.Ticket) *string { return &x.Text })
	got, err := query.Of[models.Ticket](m.Key("p")).Filter(text.BeginsWith("x")).Roots().Collect(ctx, m)
	if err == nil && len(got) != 2 {
		t.Errorf("%d heads, and no error", len(got))
	}
}

// Every value that cannot be stored, such as an empty or zero part of a key, is a *mapper.ValueError:
// status 400 and not 500. A zero time in a key is refused like an empty string.
func TestUnstorableValueIsValueError(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	users := kit.Must(mapper.New[store.User](kit.Failing{}))(t)
	tickets := kit.Must(mapper.New[models.Ticket](kit.Failing{}))(t)
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"Load":          second(m.Load(ctx, m.Key(""))),
		"Load utf8":     second(m.Load(ctx, m.Key("\xff"))),
		"LoadMany":      second(m.LoadMany(ctx, []query.Selection[kit.Account]{m.Key("")})),
		"Delete":        second(m.DeleteByKey(ctx, m.Key(""))),
		"query":         second(query.Of[kit.Part](m.Key("").Prefix("ENTRY#")).Collect(ctx, m)),
		"query utf8":    second(query.Of[kit.Part](m.Key("\xff").Prefix("ENTRY#")).Collect(ctx, m)),
		"page":          second(query.Of[kit.Part](m.Key("").Prefix("ENTRY#")).Page(ctx, m)),
		"count":         second(query.Of[kit.Part](m.Key("").Prefix("ENTRY#")).Count(ctx, m)),
		"plan":          second(query.Of[kit.Part](m.Key("").Prefix("ENTRY#")).Plan(m)),
		"PlanLoad":      second(m.PlanLoad(m.Key(""))),
		"gen load":      second(users.Load(ctx, store.UserByID(""))),
		"gen query":     second(store.UserByID("").Public().Collect(ctx, users)),
		"gen zero time": second(users.Load(ctx, store.UserByID("1").Public().AddedAt(time.Time{}))),
		"gen zero query": second(query.Of[store.Wish](store.UserByID("1").Public().AddedAt(time.Time{})).
			Collect(ctx, users)),
		"heads":     second(query.Of[models.Ticket](tickets.Key("")).Roots().Collect(ctx, tickets)),
		"zero time": second(tickets.Load(ctx, tickets.Key("p", time.Time{}, "1"))),
		"item utf8": second(m.Load(ctx, m.Key("1").Item("FLAG#\xff"))),
		"long":      second(m.Load(ctx, m.Key(strings.Repeat("x", 3000)))),
		"Update":    second(m.Update(ctx, m.Key(""), func(*kit.Account) error { return nil })),
		"gen patch": second(store.UserByID("").Public().Add(store.Wish{AddedAt: time.Now()}).Exec(ctx, users)),
		"save":      second(m.Save(ctx, m.New(kit.Account{}))),
		"save utf8": second(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Left: "\xff"}))),
		"save dup": second(m.Save(ctx,
			m.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "x"}, {N: 1, Text: "y"}}}))),
		"save key": second(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Flags: map[string]bool{"": true}}))),
		"save wide": second(m.Save(ctx,
			m.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 12345, Text: "x"}}}))),
	} {
		var value *mapper.ValueError
		switch {
		case !errors.As(err, &value):
			t.Errorf("%s: no ValueError: %v", name, err)
		case value.Field == "" || value.Model == "" || strings.ContainsAny(value.Field, " {}"):
			t.Errorf("%s: model %q, field %q: %v", name, value.Model, value.Field, value)
		default:
			t.Logf("%s: %q %q", name, value.Field, value.Reason)
		}
	}
}

// saving.md: "Two elements with one key, an empty value in a key, a number too wide: an error, all of them at once".
func TestAllUnstorableValuesAreReported(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	for _, id := range []string{"1", ""} {
		_, err := m.Save(context.Background(),
			m.New(kit.Account{
				ID: id, Counter: 1, Left: "\xff", Right: "\xfe",
				Entries: []kit.Part{
					{N: 1, Text: "x"},
					{N: 1, Text: "y"},
					{N: -1, Text: ""},
					{N: 12345, Text: "\xff"},
				}, Flags: map[string]bool{
					"":     true,
					"\xff": true,
				},
			}))
		t.Logf("%q: %v", id, err)
		if n := strings.Count(err.Error(), "\n"); n < 6 {
			t.Errorf("%d lines", n+1)
		}
	}
}

// Flat models: "A page of entities of several items asks DynamoDB for no more than it needs": also one with a
// projection, and a count.
func TestProjectionReadsNoMoreThanLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Memo](t, "PK:S", "SK:S")
	for i := range 40 {
		kit.Must(m.Save(ctx,
			m.New(kit.Memo{List: "l", ID: fmt.Sprintf("%02d", i), Head: "h", Text: strings.Repeat("x", 20_000)})))(t)
	}
	head := handmade.String("Head", "", func(x *kit.Memo) *string { return &x.Head })
	p := kit.Must(query.Of[kit.Memo](m.Key("l")).Project(head).Limit(2).Page(ctx, m))(t)
	if len(p.Items) != 2 || p.RCU > 20 {
		t.Errorf("%d for %v RCU", len(p.Items), p.RCU)
	}
	var r mapper.Receipt
	kit.Must(query.Of[kit.Memo](m.Key("l")).Limit(2).Count(ctx, m, mapper.ReceiptTo(&r)))(t)
	if r.Consumed.RCU > 20 {
		t.Errorf("count: %v", &r)
	}
}

type doc struct {
	_    struct{} `ddb:"table=docs"`
	List string   `ddb:"pk=LIST#{List}"`
	ID   string
	Head int        `ddb:"sk=DOC#{ID}#B"`
	Note int        `ddb:"sk=DOC#{ID}#A"`
	Rows []kit.Part `ddb:"sk=DOC#{^ID}#R#{N:03}"`
}

// query.go, Ref: "Table, Partition and Sort are its keys": those of an entity are its root's, in either order.
func TestRefsOfEntitiesAreRootKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[doc](t, "PK:S", "SK:S")
	kit.Must(m.Save(ctx, m.New(doc{List: "l", ID: "a", Head: 1, Note: 2, Rows: []kit.Part{{N: 1, Text: "x"}}})))(t)
	q := query.Of[doc](m.Key("l"))
	for _, q := range []*query.Query[doc, doc]{q, q.Reverse()} {
		for ref, err := range q.Refs(ctx, m) {
			if err != nil || ref.Sort != "DOC#a#B" {
				t.Errorf("%q %v", ref.Sort, err)
			}
		}
	}
}

func memos(t *testing.T) *mapper.Mapper[kit.Memo] {
	m := kit.NewMapper[kit.Memo](t, "PK:S", "SK:S")
	for _, id := range []string{"a", "a b", "b"} {
		kit.Must(m.Save(context.Background(), m.New(kit.Memo{List: "l", ID: id, Head: "h"})))(t)
	}
	return m
}

// With pages of one entity, "a" is not skipped: the item of "a b" sorts before it, although the prefix of
// "a" sorts first.
func TestPagesLoseNoEntities(t *testing.T) {
	t.Parallel()
	m := memos(t)
	var got []string
	for cursor, more := query.Cursor(""), true; more; more = cursor != "" {
		p := kit.Must(query.Of[kit.Memo](m.Key("l")).Limit(1).After(cursor).Page(context.Background(), m))(t)
		for _, x := range p.Items {
			got = append(got, x.ID)
		}
		cursor = p.Next
	}
	if len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// query.go: "Reverse returns the query in descending order of the sort keys".
func TestReverseOrderOfEntities(t *testing.T) {
	t.Parallel()
	m := memos(t)
	var got [2][]string
	q := query.Of[kit.Memo](m.Key("l"))
	for i, q := range []*query.Query[kit.Memo, kit.Memo]{q, q.Reverse()} {
		for _, x := range kit.Must(q.Collect(context.Background(), m))(t) {
			got[i] = append(got[i], x.ID)
		}
	}
	if slices.Reverse(got[1]); !slices.Equal(got[0], got[1]) {
		t.Errorf("%q, and from the end %q", got[0], got[1])
	}
}

// Errors: "*mapper.ValueError{Model, Field, Key, Reason}".
func TestValueErrorHasKey(t *testing.T) {
	t.Parallel()
	if _, ok := reflect.TypeFor[mapper.ValueError]().FieldByName("Key"); !ok {
		t.Error("no Key")
	}
}

// Errors: "A zero time in a key is refused as an empty string is."
func TestZeroTimeInKeyIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var value *mapper.ValueError
	tickets := kit.Must(mapper.New[models.Ticket](kit.Failing{}))(t)
	if _, err := tickets.Save(ctx, tickets.New(models.Ticket{Project: "p", ID: "1", Title: "t"})); !errors.As(err,
		&value) {
		t.Error(err)
	}
	times := kit.Must(mapper.New[models.TimeElements](kit.Failing{}))(t)
	for _, v := range []models.TimeElements{
		{Nanos: []models.Wish{{}}},
		{Millis: []models.Wish{{}}},
		{Seconds: []models.Wish{{SKU: "s"}}},
		{Unix: []models.Wish{{SKU: "s"}}},
		{Dates: []models.Wish{{SKU: "s"}}},
		{Weeks: []models.Wish{{SKU: "s"}}},
	} {
		v.ID, v.Head = "1", "h"
		if _, err := times.Save(ctx, times.New(v)); !errors.As(err, &value) {
			t.Error(err)
		}
	}
}

// The same as TestPagesLoseNoEntities, with an everyday key: "foo" and "foo-bar" behind the delimiter "/".
func TestPagesLoseNoEntitiesBehindSlashes(t *testing.T) {
	t.Parallel()
	type file struct {
		_    struct{} `ddb:"table=files,delim=/"`
		List string   `ddb:"pk=l/{List}"`
		Name string
		Head string `ddb:"sk=f/{Name}/head"`
		Text string `ddb:"sk=f/{Name}/text"`
	}
	m := kit.NewMapper[file](t, "PK:S", "SK:S")
	for _, name := range []string{"foo", "foo-bar"} {
		kit.Must(m.Save(context.Background(), m.New(file{List: "l", Name: name, Head: "h"})))(t)
	}
	first := kit.Must(query.Of[file](m.Key("l")).Limit(1).Page(context.Background(), m))(t)
	second := kit.Must(query.Of[file](m.Key("l")).Limit(1).After(first.Next).Page(context.Background(), m))(t)
	if len(second.Items) != 1 {
		t.Errorf("%+v, and then %+v", first.Items, second.Items)
	}
}
