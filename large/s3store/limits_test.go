package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/tables"
)

// Each case was once a fault of the first version.

// A collector leaves the values alone that are of another mapper's table, though both share a table of
// records; and those of another model in its table.
func TestCollectForeign(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client, records := testengine.Start(t).Client(), testengine.Table(t, "PK:S", "SK:S")
	c := &clock{time.Now()}
	tenant := func() *mapper.Mapper[tome] {
		m := must(mapper.New[tome](client, mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
			mapper.LargeRecords(records)))(t)
		setNow(m, c.now)
		return m
	}
	one, two := tenant(), tenant()
	must(one.Save(ctx, one.New(tome{ID: "1", Text: long("one")})))(t)
	must(two.Save(ctx, two.New(tome{ID: "2", Text: long("two")})))(t)
	for range 4 {
		c.Time = c.Add(3 * time.Hour)
		if done := must(collectAll(ctx, one, large.Delete()))(t); done.Foreign != 1 || done.Next != "" {
			t.Errorf("%+v", done)
		}
	}
	if e := must(two.Load(ctx, two.Key("2")))(t); e.Value.Text != long("two") {
		t.Error("it is another")
	}
}

// shouted shows its text in capitals.
type shouted struct {
	_    struct{} `ddb:"table=shouted"`
	ID   string   `ddb:"pk=SHOUTED#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Text string   `ddb:"sk=HEAD,chunk,inline=50"`
}

func (h *shouted) AfterLoad() { h.Text = strings.ToUpper(h.Text) }

// What AfterLoad has made of a large value is not written by a save of something else.
func TestLargeAfterLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m := must(mapper.New[shouted](client, mapper.Table(table)))(t)
	for _, text := range []string{long("small"), "short"} {
		must(m.Save(ctx, m.New(shouted{ID: text, Name: "a", Text: text})))(t)
		e := must(m.Load(ctx, m.Key(text)))(t)
		if r := must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 || e.Value.Text != strings.ToUpper(text) {
			t.Errorf("%q: a save sent %v", text, r)
		}
		e.Value.Name = "b"
		if r := must(m.Save(ctx, e))(t); r.Predicted().Requests != 1 {
			t.Errorf("%q: a save of the name sent %v", text, r)
		}
		e.Value.Text = "now"
		must(m.Save(ctx, e))(t)
		if got := must(m.Load(ctx, m.Key(text)))(t); got.Value.Text != "NOW" {
			t.Errorf("%q became %q", text, got.Value.Text)
		}
	}
}

// unaware is a tome of a program that does not know its texts, and renamed one that calls it otherwise.
type (
	unaware struct {
		_      struct{} `ddb:"table=tomes"`
		ID     string   `ddb:"pk=TOME#{ID}"`
		Origin string   `ddb:"sk=HEAD"`
		Other  string   `ddb:"sk=TEXT"`
	}
	renamed struct {
		_      struct{}            `ddb:"table=tomes"`
		ID     string              `ddb:"pk=TOME#{ID}"`
		Origin string              `ddb:"sk=HEAD"`
		Words  large.Value[string] `ddb:"sk=TEXT,chunk,inline=40,was=Text"`
		Other  string              `ddb:"sk=TEXT"`
	}
)

// A pointer does not move with its item by a program that does not know it, and stays when its
// attribute gets another name.
func TestPointersStay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m := must(mapper.New[tome](client, mapper.Table(table)))(t)
	must(m.Save(ctx, m.New(tome{ID: "1", Text: long("text")})))(t)
	old := must(mapper.New[unaware](client, mapper.Table(table)))(t)
	e := must(old.Load(ctx, old.Key("1")))(t)
	e.Value.ID = "2"
	if _, err := old.Save(ctx, e, mapper.Move()); err == nil ||
		!strings.Contains(err.Error(), "move it with the model that declares it") {
		t.Errorf("%v", err)
	}
	now := must(mapper.New[renamed](client, mapper.Table(table)))(t)
	x := must(now.Load(ctx, now.Key("1")))(t)
	x.Value.Other = "other"
	if r := must(now.Save(ctx, x))(t); r.Predicted().Requests != 1 {
		t.Errorf("a save of another attribute sent %v", r)
	}
	x = must(now.Load(ctx, now.Key("1")))(t)
	if s, err := x.Value.Words.Get(ctx); err != nil || s != long("text") {
		t.Errorf("%q, %v", s, err)
	}
}

// A damaged pointer is an error of a load and of a stream, whatever its content: no panic, and no
// memory for it.
func TestHostilePointers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	plain := must(mapper.New[renamed](testengine.Start(t).Client(), mapper.Table(table)))(t)
	must(plain.Save(ctx, plain.New(renamed{ID: "x", Words: large.Of(long("x"))})))(t)
	client := testengine.Start(t).Client()
	key := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "TOME#x"},
		"SK": &types.AttributeValueMemberS{Value: "TEXT"},
	}
	item := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key}))(t).Item
	pointer := item["Words"].(*types.AttributeValueMemberM).Value
	for _, c := range [][3]string{
		{"1", "4611686018427387904", "4611686018427387904"},
		{"281474976710657", "65536", "99"},
		{"268435456", "1", "268435456"},
		{"0", "10", "99"},
		{"1", "0", "99"},
	} {
		for i, name := range []string{"parts", "size", "length"} {
			pointer[name] = &types.AttributeValueMemberN{Value: c[i]}
		}
		must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}))(t)
		e := must(plain.Load(ctx, plain.Key("x")))(t)
		var corrupt *extern.CorruptError
		if _, err := e.Value.Words.Get(ctx); err == nil {
			t.Errorf("%v was read", c)
		}
		if r, err := e.Value.Words.Reader(ctx); !errors.As(err, &corrupt) {
			t.Errorf("%v: a stream: %v, %v", c, r, err)
		}
	}
}

// indexedTome has an index whose key is called as the bytes of parts might be.
type indexedTome struct {
	_    struct{} `ddb:"table=indexed"`
	_    struct{} `ddb:"index=byData,pk={Data}"`
	ID   string   `ddb:"pk=INDEXED#{ID}"`
	Data string   `ddb:"sk=HEAD" dynamodbav:"data"`
	Text string   `ddb:"sk=HEAD,chunk,inline=50"`
}

// Parts and records are in no index of the model, whatever its attributes are called.
func TestPartsInNoIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	name := fmt.Sprint("indexed-", time.Now().UnixNano())
	m := must(mapper.New[indexedTome](client, mapper.Table(name)))(t)
	must(client.CreateTable(ctx, tables.Of(m)[0].Create))(t)
	t.Cleanup(func() { _, _ = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}) })
	must(m.Save(ctx, m.New(indexedTome{ID: "1", Data: "d", Text: long("text")})))(t)
	index := "byData"
	if out := must(client.Scan(ctx, &dynamodb.ScanInput{TableName: &name, IndexName: &index}))(t); out.Count != 1 {
		t.Errorf("%d items are in the index", out.Count)
	}
}

// A record has at most the number of values that fit with a collector's notes. More are refused before
// anything is sent.
func TestTooManyLargeValues(t *testing.T) {
	t.Parallel()
	m := newReports(t)
	r := report{ID: strings.Repeat("i", 1900)}
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 250 {
		r.Pages = append(r.Pages, page{No: i, Text: letters(rnd, 4000)})
	}
	if _, err := m.Save(context.Background(), m.New(r)); err == nil ||
		!strings.Contains(err.Error(), "save fewer at once") {
		t.Errorf("%v", err)
	}
}
