package docs

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// customer is an entity in a table of other programs.
type customer struct {
	_      struct{} `ddb:"table=shop,version=rev"`
	ID     string   `ddb:"pk=CUSTOMER#{ID}"`
	Name   string   `ddb:"sk=HEAD"`
	Mail   string   `ddb:"sk=HEAD"`
	Text   string   `ddb:"sk=TEXT"`
	Orders []order  `ddb:"sk=ORDER#{No}"`
}

type order struct{ No, State string }

// shop is a table of customers without versions, and of another program.
type shop struct {
	*testing.T
	client *dynamodb.Client
	table  string
	m      *mapper.Mapper[customer]
}

func (s *shop) put(changes map[string]types.AttributeValue, id, sk string, attributes ...string) {
	s.Helper()
	a := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "CUSTOMER#" + id}, "SK": &types.AttributeValueMemberS{Value: sk},
	}
	for i := 0; i < len(attributes); i += 2 {
		a[attributes[i]] = &types.AttributeValueMemberS{Value: attributes[i+1]}
	}
	maps.Copy(a, changes)
	if _, err := s.client.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &s.table,
		Item:      a,
	}); err != nil {
		s.Fatal(err)
	}
}

// update changes one attribute, on no condition.
func (s *shop) update(id, sk, name, value string) {
	s.Helper()
	_, err := s.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: s.key(id, sk), UpdateExpression: new("SET #n = :v"),
		ExpressionAttributeNames:  map[string]string{"#n": name},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberS{Value: value}},
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *shop) delete(id, sk string) {
	s.Helper()
	_, err := s.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &s.table, Key: s.key(id,
		sk)})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *shop) key(id, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "CUSTOMER#" + id}, "SK": &types.AttributeValueMemberS{Value: sk},
	}
}

// get returns a text attribute of an item, "" for none.
func (s *shop) get(id, sk, name string) string {
	s.Helper()
	out, err := s.client.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &s.table, Key: s.key(id, sk), ConsistentRead: new(true),
	})
	if err != nil {
		s.Fatal(err)
	}
	v, _ := out.Item[name].(*types.AttributeValueMemberS)
	if v == nil {
		return ""
	}
	return v.Value
}

// The results in the table of existing-tables.md: another program writes between a load and a save, on items with and
// without versions.
func TestExistingTables(t *testing.T) {
	ctx := context.Background()
	s := &shop{T: t, client: testengine.Start(t).Client(), table: testengine.Table(t, "PK:S", "SK:S")}
	var err error
	if s.m, err = mapper.New[customer](s.client, mapper.Table(s.table)); err != nil {
		t.Fatal(err)
	}
	const conflict, missing = "conflict", "missing"
	long := strings.Repeat("x", 5_000)
	for name, c := range map[string]struct {
		other  func(id string)
		change func(*customer)
		err    string
		// after is an attribute after the save: item, name, value.
		after [3]string
	}{
		"the same attribute": {
			func(id string) { s.update(id, "HEAD", "Mail", "other") },
			func(c *customer) { c.Mail = "mine" }, conflict,
			[3]string{"HEAD", "Mail", "other"},
		},
		"another attribute": {
			func(id string) { s.update(id, "HEAD", "Name", "other") },
			func(c *customer) { c.Mail = "mine" }, "",
			[3]string{"HEAD", "Name", "other"},
		},
		"an unknown attribute": {
			func(id string) { s.update(id, "HEAD", "Color", "red") },
			func(c *customer) { c.Mail = "mine" }, "",
			[3]string{"HEAD", "Color", "red"},
		},
		"a large attribute of another size": {
			func(id string) { s.update(id, "TEXT", "Text", long+"y") },
			func(c *customer) { c.Text = "mine" }, conflict,
			[3]string{"TEXT", "Text", long + "y"},
		},
		"a large attribute of the same size": {
			func(id string) { s.update(id, "TEXT", "Text", "y"+long[1:]) },
			func(c *customer) { c.Text = "mine" }, "",
			[3]string{"TEXT", "Text", "mine"},
		},
		"the whole item": {
			func(id string) { s.put(nil, id, "HEAD", "Name", "n", "Mail", "other") },
			func(c *customer) { c.Mail = "mine" }, conflict,
			[3]string{"HEAD", "Mail", "other"},
		},
		"another item": {
			func(id string) { s.put(nil, id, "ORDER#9", "State", "other") },
			func(c *customer) { c.Mail = "mine" }, "",
			[3]string{"ORDER#9", "State", "other"},
		},
		"a delete of the item": {
			func(id string) { s.delete(id, "ORDER#1") },
			func(c *customer) { c.Orders[0].State = "mine" }, conflict,
			[3]string{"ORDER#1", "State", ""},
		},
		"a delete of the root item, and a new element": {
			func(id string) { s.delete(id, "HEAD") },
			func(c *customer) { c.Orders = append(c.Orders, order{"2", "mine"}) }, missing,
			[3]string{
				"ORDER#2",
				"State", "",
			},
		},
		"a delete of the root item, and a change": {
			func(id string) { s.delete(id, "HEAD") },
			func(c *customer) { c.Orders[0].State = "mine" }, "",
			[3]string{"ORDER#1", "State", "mine"},
		},
	} {
		for _, versions := range []bool{false, true} {
			if name == "a large attribute of the same size" && !versions {
				continue // without a version, whole values are compared
			}
			id := strings.ReplaceAll(name, " ", "-")
			if versions {
				id += "-versions"
			}
			s.put(nil, id, "HEAD", "Name", "n", "Mail", "m")
			s.put(nil, id, "TEXT", "Text", long)
			s.put(nil, id, "ORDER#1", "State", "new")
			e, err := s.m.Load(ctx, s.m.Key(id))
			if err == nil && versions { // which the first save of each item adds
				e.Value.Name, e.Value.Orders[0].State, e.Value.Text = "N", "old", "z"+long[1:]
				_, err = s.m.Save(ctx, e)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.other(id)
			c.change(&e.Value)
			_, err = s.m.Save(ctx, e)
			var refused *mapper.ConflictError
			switch {
			case c.err == "" && err != nil, c.err == conflict && !errors.As(err, &refused),
				c.err == missing && !errors.Is(err, mapper.ErrNotFound):
				t.Errorf("%s: %v, and not %q", id, err, c.err)
			}
			if got := s.get(id, c.after[0], c.after[1]); got != c.after[2] {
				t.Errorf("%s: %s of %s is %.20q, and not %.20q", id, c.after[1], c.after[0], got, c.after[2])
			}
		}
	}
}

// shelf has elements whose number is in the key and in an attribute.
type shelf struct {
	_     struct{} `ddb:"table=shelves"`
	ID    string   `ddb:"pk=SHELF#{ID}"`
	Name  string   `ddb:"sk=HEAD"`
	Loans []loan   `ddb:"sk=LOAN#{No:02}"`
}

type loan struct {
	No  int `ddb:"stored"`
	Fee int
}

// An element whose attribute and key differ is an error of the load. A save would move the item to the key of the
// attribute, without the attributes of other programs.
func TestStoredDiffersFromKey(t *testing.T) {
	ctx := context.Background()
	s := &shop{T: t, client: testengine.Start(t).Client(), table: testengine.Table(t, "PK:S", "SK:S")}
	shelves, err := mapper.New[shelf](s.client, mapper.Table(s.table))
	if err != nil {
		t.Fatal(err)
	}
	for no, differs := range map[string]bool{"1": false, "5": true} {
		for sk, number := range map[string]types.AttributeValue{
			"HEAD":    nil,
			"LOAN#01": &types.AttributeValueMemberN{Value: no},
		} {
			item := s.key("", sk)
			item["PK"] = &types.AttributeValueMemberS{Value: "SHELF#" + no}
			if number != nil {
				item["No"] = number
			}
			if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := shelves.Load(ctx, shelves.Key(no))
		if (err != nil) != differs || differs && !strings.Contains(err.Error(),
			"its attribute and its key have different values") {
			t.Errorf("%s: %v", no, err)
		}
	}
}

// A root item with a state of a later version is not replaced or deleted: format.md promises that versions work
// together.
func TestLaterStateStays(t *testing.T) {
	ctx := context.Background()
	s := &shop{T: t, client: testengine.Start(t).Client(), table: testengine.Table(t, "PK:S", "SK:S")}
	var err error
	if s.m, err = mapper.New[customer](s.client, mapper.Table(s.table)); err != nil {
		t.Fatal(err)
	}
	state := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"state": &types.AttributeValueMemberS{Value: "evolving"}, "since": &types.AttributeValueMemberN{Value: "1"},
	}}
	s.put(map[string]types.AttributeValue{"_s": state}, "1", "HEAD", "Name", "n")
	if _, err := s.m.Load(ctx, s.m.Key("1")); err == nil || !strings.Contains(err.Error(),
		"a state of a later version") {
		t.Errorf("a load: %v", err)
	}
	if _, err := s.m.Save(ctx, s.m.New(customer{ID: "1", Name: "new"})); err == nil {
		t.Error("an insert succeeded")
	}
	many := customer{ID: "1", Name: "new"}
	for i := range 150 {
		many.Orders = append(many.Orders, order{strings.Repeat("x", i+1), "new"})
	}
	if _, err := s.m.Save(ctx, s.m.New(many)); err == nil {
		t.Error("a staged insert succeeded")
	}
	if _, err := s.m.DeleteByKey(ctx, s.m.Key("1")); err == nil {
		t.Error("a delete succeeded")
	}
	if s.get("1", "HEAD", "Name") != "n" {
		t.Error("the root item was replaced")
	}
}
