package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/testengine"
)

func TestMain(m *testing.M) { testengine.Run(m) }

// Shop is a model whose monoliths are moved: by hand, so that no generated code is needed.
type Shop struct {
	_       struct{}          `ddb:"table=shops"`
	ID      string            `ddb:"pk=SHOP#{ID}" dynamodbav:"id"`
	Name    string            `ddb:"sk=HEAD"`
	Open    bool              `ddb:"sk=HEAD"`
	Address Address           `ddb:"sk=ADDRESS"`
	Prices  map[string]int    `ddb:"sk=PRICE#{key}"`
	Orders  []Order           `ddb:"sk=ORDER#{At}"`
	Notes   map[string]string `ddb:"sk=NOTES"`
}

// Address is where a shop is stored.
type Address struct{ Street, City string }

// Order is an order.
type Order struct {
	At   time.Time
	What string
}

// setup is a source and a target table, with a mover.
type setup struct {
	*testing.T
	client *dynamodb.Client
	*protocol.Mover
	// importing has what put stores imported first, as it is then.
	importing bool
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	return setupIn(t, &item.Table{Name: testengine.Table(t, "id:S", ""), Hash: "id"},
		func(l *layout.Layout) (*layout.Keys, error) { return l.KeyAttributes("id", "") })
}

// newOwnSetup has the monoliths among the items of the model.
func newOwnSetup(t *testing.T) *setup {
	t.Helper()
	return setupIn(t, &item.Table{Name: testengine.Table(t, "PK:S", "SK:S"), Hash: "PK", Range: "SK"},
		func(l *layout.Layout) (*layout.Keys, error) { return l.KeyTemplates("", "DOC") })
}

func setupIn(t *testing.T, source *item.Table, keysOf func(*layout.Layout) (*layout.Keys, error)) *setup {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[Shop]())
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New(e.Layout())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keysOf(l)
	if err != nil {
		t.Fatal(err)
	}
	target := &item.Table{Name: source.Name, Hash: "PK", Range: "SK"}
	if source.Range == "" {
		target.Name = testengine.Table(t, "PK:S", "SK:S")
	}
	client := testengine.Start(t).Client()
	return &setup{t, client, protocol.New(client, l, source, keys, []*item.Table{target}), false}
}

// content returns the content of a monolith.
func (s *setup) content(d *protocol.Monolith) item.Attributes {
	s.Helper()
	doc, err := s.Content(d)
	if err != nil {
		s.Error(err)
	}
	return doc
}

// put stores a monolith, and returns it as it is read.
func (s *setup) put(doc item.Attributes) *protocol.Monolith {
	s.Helper()
	at := item.Place{Table: s.Source}
	var err error
	if at.PK, at.SK, err = s.Keys.Of(doc); err != nil {
		s.Fatal(err)
	}
	stored := maps.Clone(doc)
	maps.Copy(stored, at.Key())
	if _, err := s.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &s.Source.Name, Item: stored}); err != nil {
		s.Fatal(err)
	}
	d, err := s.Monolith(context.Background(), at, &write.Tally{})
	if err != nil {
		s.Fatal(err)
	}
	return d
}

// load stores the items of an import of a monolith.
func (s *setup) load(d *protocol.Monolith, live bool) {
	s.Helper()
	items, err := s.Import(d, live)
	if err != nil {
		s.Fatal(err)
	}
	for _, it := range items {
		if _, err := s.client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &it.Place.Table.Name, Item: it.Attributes}); err != nil {
			s.Fatal(err)
		}
	}
}

// all are the monoliths in the source, or the items in a table of the model.
func (s *setup) all(table *item.Table) []item.Attributes {
	s.Helper()
	var all []item.Attributes
	p := dynamodb.NewScanPaginator(s.client,
		&dynamodb.ScanInput{TableName: &table.Name, ConsistentRead: aws.Bool(true)})
	for p.HasMorePages() {
		out, err := p.NextPage(context.Background())
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, out.Items...)
	}
	if s.Source.Name != s.Tables[0].Name {
		return all
	}
	return slices.DeleteFunc(all, func(a item.Attributes) bool {
		pk, _ := attr.ScalarOf(a["PK"])
		sk, _ := attr.ScalarOf(a["SK"])
		return s.Keys.Has(pk, sk) != (table == s.Source)
	})
}

// shop is a random monolith.
func shop(r *rand.Rand, id string, orders int) item.Attributes {
	v := Shop{
		ID: id, Name: fmt.Sprint("shop ", id), Open: r.IntN(2) == 0, Address: Address{"Street", "City"},
		Notes: map[string]string{"a": "b"}, Prices: map[string]int{"x": 1, "y": r.IntN(9)},
	}
	for n := range orders {
		v.Orders = append(v.Orders,
			Order{time.Date(2026, 1, 1+n%28, n/28, n%7, 0, r.IntN(1e9), time.UTC), fmt.Sprint("what ", n)})
	}
	r.Shuffle(len(v.Orders), func(i, j int) { v.Orders[i], v.Orders[j] = v.Orders[j], v.Orders[i] })
	doc, err := attributevalue.MarshalMap(v)
	if err != nil {
		panic(err)
	}
	doc["unclaimed"] = &types.AttributeValueMemberNS{Value: []string{"12345678901234567890123456789012345678", "0.5"}}
	return doc
}

// Entities move, and come back as they were.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 1))
	docs := map[string]item.Attributes{}
	var group []*protocol.Entity
	for i, n := range []int{0, 1, 5, 40, 130} {
		id := fmt.Sprint("s", i)
		docs[id] = shop(r, id, n)
		group = append(group, &protocol.Entity{Doc: s.put(docs[id])})
	}
	var tally write.Tally
	if err := s.Move(ctx, group, &tally); err != nil {
		t.Fatal(err)
	}
	items := 0
	for _, e := range group {
		if e.Err != nil || !e.Moved {
			t.Errorf("%s: moved %v, %v", e.Doc.Place, e.Moved, e.Err)
		}
		items += e.Items
	}
	if n := len(s.all(s.Tables[0])); n != items || items < 180 {
		t.Errorf("%d items are there, of %d", n, items)
	}
	// DynamoDB Local reports nothing of statements
	if testengine.ReportsTransactions(t) && tally.ConsumedWCU != tally.WCU.Min {
		t.Errorf("it took %v WCU, and %v was foreseen", tally.ConsumedWCU, tally.WCU)
	}
	for _, a := range s.all(s.Tables[0]) {
		if st := s.Layout.Reserved.Header(a).ReadStage(); st.State != "" && st.State != item.Live {
			t.Errorf("a root is %s", st.State)
		}
	}
	var back []*protocol.Return
	for _, e := range group {
		d, err := s.Monolith(ctx, e.Doc.Place, &write.Tally{})
		if err != nil || d.Mark() == nil || d.Changed() {
			t.Fatalf("%s: %+v, changed %v, %v", e.Doc.Place, d.Mark(), d.Changed(), err)
		}
		root, err := s.RootOf(d)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := s.DocOf(root.PK, root.SK); err != nil || at != d.Place {
			t.Errorf("the monolith of %s is sought at %s: %v", root, at, err)
		}
		back = append(back, &protocol.Return{Doc: d.Place, Root: root})
	}
	if err := s.Back(ctx, back, &tally); err != nil {
		t.Fatal(err)
	}
	for _, b := range back {
		if b.Err != nil || !b.Back {
			t.Errorf("%s: back %v, %v", b.Doc, b.Back, b.Err)
		}
	}
	if left := s.all(s.Tables[0]); len(left) > 0 {
		t.Errorf("%d items are left: %v", len(left), left[0])
	}
	for _, a := range s.all(s.Source) {
		id := a["id"].(*types.AttributeValueMemberS).Value
		delete(a, "_v")
		if !attr.SameItem(a, docs[id]) {
			t.Errorf("%s has come back as %v, and was %v", id, a, docs[id])
		}
	}
}

// What cannot be moved is a dead letter, with its reasons, and nothing of it is changed.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	r := rand.New(rand.NewPCG(1, 1))
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	cases := map[string]struct {
		change func(item.Attributes)
		want   string
	}{
		"collision": {func(a item.Attributes) {
			l := a["Orders"].(*types.AttributeValueMemberL)
			l.Value = append(l.Value, l.Value[0])
		}, "Orders: the elements 0 and 3 would have the same key"},
		"type": {
			func(a item.Attributes) { a["Prices"] = text("none") },
			"Prices: it is a S, but its elements are items: it must be a list or a map",
		},
		"element": {
			func(a item.Attributes) { a["Orders"].(*types.AttributeValueMemberL).Value[1] = text("x") },
			"Orders[1]: it is a S, but must be a map",
		},
		"reserved": {
			func(a item.Attributes) { a["_s"] = text("x") },
			"_s: no field of the model has this name, but the root has another attribute with it: rename that in " +
				"the model (hash=, range=, version=)",
		},
		"key": {func(a item.Attributes) {
			delete(a["Orders"].(*types.AttributeValueMemberL).Value[2].(*types.AttributeValueMemberM).Value, "At")
		}, "Orders[2].At: it is missing, but a key needs it: add it to the monolith"},
		"many": {func(a item.Attributes) {
			for i := range 150 {
				a[fmt.Sprint("more", i)] = text("x")
			}
		}, "the monolith has 158 attributes and no version, too many for one condition: add the attribute _v with " +
			"8 random bytes, new at each write"},
	}
	var group []*protocol.Entity
	docs := map[string]item.Attributes{}
	for name, c := range cases {
		docs[name] = shop(r, name, 3)
		c.change(docs[name])
		group = append(group, &protocol.Entity{Doc: s.put(docs[name])})
	}
	if err := s.Move(context.Background(), group, &write.Tally{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range group {
		var u *protocol.Unmovable
		name := e.Doc.PK.Text
		if !errors.As(e.Err, &u) || !strings.Contains(e.Err.Error(), cases[name].want) {
			t.Errorf("%s: %v, and not %s", name, e.Err, cases[name].want)
		}
	}
	if left := s.all(s.Tables[0]); len(left) > 0 {
		t.Errorf("%d items were written: %v", len(left), left[0])
	}
	for _, a := range s.all(s.Source) {
		if !attr.SameItem(a, docs[a["id"].(*types.AttributeValueMemberS).Value]) {
			t.Errorf("%v was changed", a["id"])
		}
	}
}
