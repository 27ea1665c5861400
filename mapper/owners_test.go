package mapper_test

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

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// An element's key that names a field of another item cannot be made where that
// item was not loaded: it would hold the zero value, and be elsewhere.
func TestKeysOfFieldsThatWereNotLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newMapper[regional](t, "PK:S", "SK:S")
	must(m.Save(ctx, m.New(regional{ID: "1", Region: "eu", Notes: "n"})))(t)
	must(m.Save(ctx, m.New(regional{ID: "2", Region: "eu", Stock: []stock{{"a", 1}}})))(t)

	e := must(m.Load(ctx, m.Key("1").Prefix("STOCK#")))(t)
	e.Value.Stock = append(e.Value.Stock, stock{"b", 1})
	var missing *mapper.NotLoadedError
	if _, err := m.Save(ctx, e); !errors.As(err, &missing) || !strings.Contains(err.Error(), "Region") {
		t.Errorf("an element was added without its region: %v", err)
	}
	// The keys of the loaded items have the region, and so has its own item.
	for id, sel := range map[string]query.Selection[regional]{
		"2": m.Key("2").Prefix("STOCK#"),
		"1": query.Join(m.Key("1").Prefix("STOCK#"), m.Key("1").Item("HEAD")),
	} {
		e := must(m.Load(ctx, sel))(t)
		e.Value.Stock = append(e.Value.Stock, stock{"b", 2})
		must(m.Save(ctx, e))(t)
		whole := must(m.Load(ctx, m.Key(id)))(t)
		if !slices.Contains(whole.Value.Stock, stock{"b", 2}) {
			t.Errorf("%s: stored %+v", id, whole.Value)
		}
	}
}

// Elements whose keys hold another value of a key field are none of the entity, as where another
// program has changed the field. They are not loaded.
func TestElementsOfAnotherValueOfKeyFieldAreNotLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newMapper[regional](t, "PK:S", "SK:S")
	must(m.Save(ctx, m.New(regional{ID: "1", Region: "eu", Stock: []stock{{"a", 1}, {"b", 2}}})))(t)
	table, root, err := m.RootKey(m.Key("1"))
	if err != nil {
		t.Fatal(err)
	}
	must(testengine.Start(t).Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: root, UpdateExpression: aws.String("SET #r = :r"),
		ExpressionAttributeNames:  map[string]string{"#r": "Region"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":r": &types.AttributeValueMemberS{Value: "us"}},
	}))(t)
	e := must(m.Load(ctx, m.Key("1")))(t)
	if e.Value.Region != "us" || len(e.Value.Stock) != 0 {
		t.Errorf("loaded %+v", e.Value)
	}
	e.Value.Stock = []stock{{"c", 3}}
	must(m.Save(ctx, e))(t)
	if e := must(m.Load(ctx, m.Key("1")))(t); !slices.Equal(e.Value.Stock, []stock{{"c", 3}}) {
		t.Errorf("loaded %+v", e.Value)
	}
}

// expiring has all of its items expire with the root.
type expiring struct {
	_     struct{}  `ddb:"table=expiring,ttl=exp"`
	ID    string    `ddb:"pk=E#{ID}"`
	Until time.Time `ddb:"sk=HEAD,ttl,all"`
	Parts []part    `ddb:"sk=PART#{N:02}"`
}

// The expiry of items whose root was not loaded stays, also where an item is put
// as a whole; and it cannot be changed without all of them.
func TestExpiryOfItemsWithoutTheirRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := must(mapper.New[expiring](testengine.Start(t).Client(), mapper.Table(table)))(t)
	r := newRaw(t, table)
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	must(m.Save(ctx, m.New(expiring{ID: "1", Until: until, Parts: []part{{1, strings.Repeat("x", 401_000)}}})))(t)
	was := r.get("E#1", "PART#01")["exp"]
	e := must(m.Load(ctx, m.Key("1").Prefix("PART#")))(t)
	e.Value.Parts[0].Text = strings.Repeat("y", 402_000)
	must(m.Save(ctx, e))(t)
	if now := r.get("E#1", "PART#01")["exp"]; text(now) != text(was) {
		t.Errorf("the expiry was %v, and is %v", text(was), text(now))
	}
	e = must(m.Load(ctx, m.Key("1").Item("HEAD")))(t)
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
	m := must(mapper.New[contradicting](testengine.Start(t).Client(), mapper.Table(table)))(t)
	must(m.Save(ctx, m.New(contradicting{At: day(time.November, 14), Name: "n"})))(t)
	newRaw(t, table).set("MONTH#2021-11", "HEAD", "At", s("2021-12-24T09:00:00Z"))
	_, err := m.Load(ctx, m.Key(day(time.November, 1)))
	if err == nil || !strings.Contains(mapper.Detail(err), "2021-12-24") {
		t.Errorf("loaded an item whose attribute contradicts its key: %v", err)
	}
}

// Empty selections, keys and entities are refused with a cure, and never a panic.
func TestEmptySelections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := newUsers(t)
	var none *mapper.Entity[user]
	key := &query.Key[user]{}
	for name, sel := range map[string]query.Selection[user]{
		"nil entity": none, "nil key": (*query.Key[user])(nil), "empty entity": &mapper.Entity[user]{},
		"empty key": key, "empty node": &query.Node[user]{},
		"prefix of an empty key": key.Prefix("U#"), "item of an empty key": key.Item("U#"),
		"table of an empty key": key.Table("x"),
		"no UTF-8":              users.Key("1").Prefix("U#\xff#"), "no UTF-8 item": users.Key("1").Item("\xff"),
	} {
		if _, err := users.Load(ctx, sel, nil); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}
