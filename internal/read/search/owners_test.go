package search_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// An element's key that names a field of another item cannot be made where that
// item was not loaded: it would hold the zero value, and be elsewhere.
func TestKeysOfFieldsThatWereNotLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Regional](t, "PK:S", "SK:S")
	kit.Must(m.Save(ctx, m.New(kit.Regional{ID: "1", Region: "eu", Notes: "n"})))(t)
	kit.Must(m.Save(ctx, m.New(kit.Regional{ID: "2", Region: "eu", Stock: []kit.Stock{{SKU: "a", N: 1}}})))(t)

	e := kit.Must(m.Load(ctx, m.Key("1").Prefix("STOCK#")))(t)
	e.Value.Stock = append(e.Value.Stock, kit.Stock{SKU: "b", N: 1})
	var missing *mapper.NotLoadedError
	if _, err := m.Save(ctx, e); !errors.As(err, &missing) || !strings.Contains(err.Error(), "Region") {
		t.Errorf("an element was added without its region: %v", err)
	}
	// The keys of the loaded items have the region, and so has its own item.
	for id, sel := range map[string]query.Selection[kit.Regional]{
		"2": m.Key("2").Prefix("STOCK#"),
		"1": query.Join(m.Key("1").Prefix("STOCK#"), m.Key("1").Item("HEAD")),
	} {
		e := kit.Must(m.Load(ctx, sel))(t)
		e.Value.Stock = append(e.Value.Stock, kit.Stock{SKU: "b", N: 2})
		kit.Must(m.Save(ctx, e))(t)
		whole := kit.Must(m.Load(ctx, m.Key(id)))(t)
		if !slices.Contains(whole.Value.Stock, kit.Stock{SKU: "b", N: 2}) {
			t.Errorf("%s: stored %+v", id, whole.Value)
		}
	}
}

// Elements whose keys hold another value of a key field are none of the entity, as where another
// program has changed the field. They are not loaded.
func TestElementsOfAnotherValueOfKeyFieldAreNotLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Regional](t, "PK:S", "SK:S")
	kit.Must(m.Save(ctx, m.New(kit.Regional{
		ID: "1", Region: "eu",
		Stock: []kit.Stock{{SKU: "a", N: 1}, {SKU: "b", N: 2}},
	})))(t)
	table, root, err := m.RootKey(m.Key("1"))
	if err != nil {
		t.Fatal(err)
	}
	kit.Must(testengine.Start(t).Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: root, UpdateExpression: aws.String("SET #r = :r"),
		ExpressionAttributeNames:  map[string]string{"#r": "Region"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":r": &types.AttributeValueMemberS{Value: "us"}},
	}))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	if e.Value.Region != "us" || len(e.Value.Stock) != 0 {
		t.Errorf("loaded %+v", e.Value)
	}
	e.Value.Stock = []kit.Stock{{SKU: "c", N: 3}}
	kit.Must(m.Save(ctx, e))(t)
	if e := kit.Must(m.Load(ctx, m.Key("1")))(t); !slices.Equal(e.Value.Stock, []kit.Stock{{SKU: "c", N: 3}}) {
		t.Errorf("loaded %+v", e.Value)
	}
}

// The expiry of items whose root was not loaded stays, also where an item is put
// as a whole; and it cannot be changed without all of them.
func TestExpiryOfItemsWithoutTheirRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Expiring](testengine.Start(t).Client(), mapper.Table(table)))(t)
	r := kit.NewForeign(t, table)
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	kit.Must(m.Save(ctx, m.New(kit.Expiring{
		ID: "1", Until: until,
		Parts: []kit.Part{{N: 1, Text: strings.Repeat("x", 401_000)}},
	})))(t)
	was := r.Get("E#1", "PART#01")["exp"]
	e := kit.Must(m.Load(ctx, m.Key("1").Prefix("PART#")))(t)
	e.Value.Parts[0].Text = strings.Repeat("y", 402_000)
	kit.Must(m.Save(ctx, e))(t)
	if now := r.Get("E#1", "PART#01")["exp"]; kit.Text(now) != kit.Text(was) {
		t.Errorf("the expiry was %v, and is %v", kit.Text(was), kit.Text(now))
	}
	e = kit.Must(m.Load(ctx, m.Key("1").Item("HEAD")))(t)
	e.Value.Until = until.Add(time.Hour)
	var missing *mapper.NotLoadedError
	if _, err := m.Save(ctx, e); !errors.As(err, &missing) {
		t.Errorf("the expiry of items that were not loaded was changed: %v", err)
	}
}

// An item whose attributes contradict its key is refused, since a save would write another item.
func TestAttributesThatContradictTheKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type contradicting struct {
		_    struct{}  `ddb:"table=monthly"`
		At   time.Time `ddb:"pk=MONTH#{At:month},sk=HEAD"`
		Name string    `ddb:"sk=HEAD"`
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[contradicting](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(contradicting{At: kit.Day(time.November, 14), Name: "n"})))(t)
	kit.NewForeign(t, table).Set("MONTH#2021-11", "HEAD", "At", kit.S("2021-12-24T09:00:00Z"))
	_, err := m.Load(ctx, m.Key(kit.Day(time.November, 1)))
	if err == nil || !strings.Contains(mapper.Detail(err), "2021-12-24") {
		t.Errorf("loaded an item whose attribute contradicts its key: %v", err)
	}
}

// Empty selections, keys and entities are refused with a cure, and never a panic.
func TestEmptySelections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	var none *mapper.Entity[kit.User]
	key := &query.Key[kit.User]{}
	for name, sel := range map[string]query.Selection[kit.User]{
		"nil entity": none, "nil key": (*query.Key[kit.User])(nil), "empty entity": &mapper.Entity[kit.User]{},
		"empty key": key, "empty node": &query.Node[kit.User]{},
		"prefix of an empty key": key.Prefix("U#"), "item of an empty key": key.Item("U#"),
		"table of an empty key": key.Table("x"),
		"no UTF-8":              users.Key("1").Prefix("U#\xff#"), "no UTF-8 item": users.Key("1").Item("\xff"),
	} {
		if _, err := users.Load(ctx, sel, nil); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}
