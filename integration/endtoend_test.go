package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func TestMain(m *testing.M) { testengine.Run(m) }

type address struct{ Street, City string }

type wish struct {
	AddedAt time.Time
	SKU     string
	Title   string
	Price   float64
}

type card struct{ Last4 string }

type user struct {
	_        struct{}        `ddb:"table=users,hash=PK,range=SK"`
	ID       string          `ddb:"pk=USER#{ID}"`
	Email    string          `ddb:"sk=U#Information" dynamodbav:"email"`
	Name     string          `ddb:"sk=U#Information" dynamodbav:"name,omitempty"`
	Home     address         `ddb:"sk=U#Address#Home"`
	Delivery *address        `ddb:"sk=U#Address#Delivery"`
	Public   []wish          `ddb:"sk=M#WishList#Public#{AddedAt}"`
	Private  []wish          `ddb:"sk=M#WishList#Private#{AddedAt}"`
	Cards    map[string]card `ddb:"sk=M#Card#{key}"`
}

func newUsers(t *testing.T) *mapper.Mapper[user] {
	t.Helper()
	m, err := mapper.New[user](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// One changed attribute in an entity of 150 KB over 20 items is one request and
// one WCU, as the engine reports it; saving it again sends nothing.
func TestOneAttributeOf150KB(t *testing.T) {
	ctx := context.Background()
	users := newUsers(t)
	u := user{ID: "6297D15", Email: "a@example.com", Home: address{"Street", "Town"}}
	for i := range 18 {
		u.Public = append(u.Public,
			wish{AddedAt: time.Date(2021, 1, 1+i, 0, 0, 0, 0, time.UTC), Title: strings.Repeat("t", 8450)})
	}
	e := users.New(u)
	stored, err := users.Save(ctx, e, mapper.Independent())
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for _, it := range stored.Predicted().Items {
		bytes += it.NewBytes
	}
	if len(stored.Predicted().Items) != 20 || bytes < 150*1024 {
		t.Fatalf("%d items of %d bytes", len(stored.Predicted().Items), bytes)
	}
	for _, load := range []bool{false, true} {
		if load {
			if e, err = users.Load(ctx, users.Key("6297D15")); err != nil {
				t.Fatal(err)
			}
		}
		e.Value.Email += "!"
		plan, err := users.PlanSave(e)
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := users.Save(ctx, e)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Requests != 1 || plan.WCU.Max != 1 || receipt.Predicted().Requests != 1 || receipt.Consumed.WCU != 1 ||
			receipt.Consumed.RCU != 0 {
			t.Errorf("planned %v, sent %v", plan, receipt)
		}
		if receipt, err = users.Save(ctx, e); err != nil || receipt.Predicted().Requests != 0 {
			t.Errorf("%v, %v", receipt, err)
		}
	}
}

// The calls of the documentation, in their order.
func TestWalkThrough(t *testing.T) {
	ctx := context.Background()
	users := newUsers(t)
	at := func(month time.Month, day int) time.Time { return time.Date(2021, month, day, 0, 0, 0, 0, time.UTC) }
	want := user{
		ID: "6297D15", Email: "a@example.com", Home: address{"S", "C"},
		Public: []wish{
			{AddedAt: at(10, 3), SKU: "b", Title: "Bicycle", Price: 125},
			{AddedAt: at(11, 14), SKU: "t", Title: "Tent", Price: 80},
		},
		Private: []wish{{AddedAt: at(6, 21), SKU: "m", Title: "Maps", Price: 30}},
		Cards:   map[string]card{"visa": {"1111"}},
	}
	equal := func(got user) {
		t.Helper()
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(user{}, "_")); d != "" {
			t.Error(d)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e := users.New(want)
	_, err := users.Save(ctx, e)
	check(err)
	if _, err = users.Save(ctx, users.New(user{ID: "6297D15"})); !errors.Is(err, mapper.ErrExists) {
		t.Error(err)
	}
	key := users.Key("6297D15")
	e, err = users.Load(ctx, key)
	check(err)
	equal(e.Value)
	e.Value.Email, want.Email = "b@example.com", "b@example.com"
	_, err = users.Save(ctx, e)
	check(err)
	_, err = users.Update(ctx, key.Item("U#Information"), func(u *user) error {
		u.Name = "Ann"
		return nil
	})
	check(err)
	want.Name = "Ann"
	e, err = users.Load(ctx, query.Join(key.Prefix("U#"), key.Prefix("M#")))
	check(err)
	equal(e.Value)
	var titles []string
	for w, err := range query.Of[wish](key.Prefix("M#WishList#Public#")).Reverse().All(ctx, users) {
		check(err)
		titles = append(titles, w.Title)
	}
	if fmt.Sprint(titles) != "[Tent Bicycle]" {
		t.Error(titles)
	}
	_, err = users.DeleteByKey(ctx, key)
	check(err)
	if _, err = users.Load(ctx, key); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
}
