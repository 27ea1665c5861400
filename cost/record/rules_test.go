package record_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/record"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/advice/trace"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// An operation may end while its requests run, also in other goroutines, and its context may live on.
func TestOperationsEndWhileRequestsRun(t *testing.T) {
	r := record.New(record.Options{Rate: 1})
	p := newProgram(t, r)
	p.put(t.Context(), claim(1, 2), "")
	done := make(chan bool)
	go func() {
		defer close(done)
		var all sync.WaitGroup
		for range 20 {
			ctx, end := r.Begin(t.Context(), "open")
			for range 5 {
				all.Add(2)
				go func() { defer all.Done(); _, _ = p.client.GetItem(ctx, p.getInput(1)) }()
				go func() { defer all.Done(); end() }()
			}
		}
		all.Wait()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("requests hang")
	}
	ctx, end := r.Begin(t.Context(), "early")
	end()
	for range 3 {
		p.get(ctx, 1)
	}
	_, f := recorded(t, r)
	find(t, f.Kinds[0], "GetItem", func(o *trace.Operation) bool { return o.Count >= 3 })
}

func (p *program) getInput(n int) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: &p.table, Key: keyOf(n)}
}

// Names that few entities have count as values: attributes, names inside elements, and beginnings of keys. So do whole
// partition keys.
func TestNamesOfFewEntitiesAreHidden(t *testing.T) {
	r := record.New(record.Options{Rate: 1})
	p := newProgram(t, r)
	for n := range 40 {
		it := claim(n, 1)
		it["private-"+fmt.Sprint(n)] = str("x")
		it["contacts"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: item{"private-" + fmt.Sprint(n): str("x"), "kind": str("y")}},
		}}
		p.put(t.Context(), it, "")
		expression := "SET #p = :v"
		_, err := p.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &p.table, Key: keyOf(n), UpdateExpression: &expression,
			ExpressionAttributeNames:  map[string]string{"#p": fmt.Sprint("private-update-", n)},
			ExpressionAttributeValues: item{":v": str("x")},
		})
		p.check(err)
	}
	for n := range 10 {
		it := item{"pk": str("PRIVATE"), "sk": str(fmt.Sprint("ORDER#", n)), "a": str("b")}
		p.put(t.Context(), it, "")
		p.put(t.Context(), item{"pk": str("PRIVATE" + string(rune(65+n)) + "#1"), "sk": str("DATA")}, "")
	}
	text, _ := recorded(t, r)
	if i := strings.Index(strings.ToLower(text), "private"); i >= 0 {
		t.Errorf("the recording has ...%s", text[max(0, i-80):min(len(text), i+40)])
	}
	if !strings.Contains(text, `"state"`) || !strings.Contains(text, `"kind"`) {
		t.Error("names that all entities have are missing")
	}
}

// The memory of a recorder does not grow with the number of items, names and calls.
func TestMemoryIsBounded(t *testing.T) {
	r := record.New(record.Options{Rate: 1})
	o := dynamodb.Options{
		Region: "us-east-1", HTTPClient: answers{[]byte("{}")},
		Credentials: aws.AnonymousCredentials{},
	}
	r.Client(&o)
	client := dynamodb.New(o)
	ctx, end := r.Begin(t.Context(), "a long operation")
	defer end()
	for i := range 8_000 {
		table := "claims"
		it := claim(i, 3)
		it[fmt.Sprint("name", i)] = str("x")
		for _, c := range []context.Context{ctx, t.Context()} {
			if _, err := client.PutItem(c, &dynamodb.PutItemInput{TableName: &table, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 0 { // the key attributes
			_, _ = client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: keyOf(0)})
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 60<<20 {
		t.Errorf("%d MB in use", m.HeapAlloc>>20)
	}
	runtime.KeepAlive(r)
}

// Order is one of many entities in a partition: two items, and one for each line.
type Order struct {
	_        struct{} `ddb:"table=orders"`
	Customer string   `ddb:"pk=CUSTOMER#{Customer}"`
	ID       string
	State    string `ddb:"sk=ORDER#{ID}#HEAD"`
	Note     string `ddb:"sk=ORDER#{ID}#NOTE"`
	Lines    []Line `ddb:"sk=ORDER#{^ID}#LINE#{SKU}"`
}

// Line is a line of an order.
type Line struct {
	SKU string
	N   int
}

// A load of an entity is one operation that reads all of it, also if a partition has many entities. A query counts
// elements, and a scan is one operation.
func TestCallsOfMappers(t *testing.T) {
	r := record.New(record.Options{Rate: 1})
	o := enginetest.Start(t).Client().Options()
	r.Client(&o)
	table := enginetest.Table(t, "PK:S", "SK:S")
	orders, err := mapper.New[Order](dynamodb.New(o), mapper.Table(table), mapper.Observe(r.Observer()))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for n := range 4 {
		_, err := orders.Save(ctx, orders.New(Order{
			Customer: "c", ID: fmt.Sprint("private", n), State: "new", Note: "n", Lines: []Line{
				{"a", 1},
				{"b", 2},
				{"c", 3},
			},
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 4 {
		e, err := orders.Load(ctx, orders.Key("c", fmt.Sprint("private", n)))
		if err != nil {
			t.Fatal(err)
		}
		e.Value.Lines = append(e.Value.Lines[1:], Line{"d", 4})
		e.Value.State = "paid"
		if _, err := orders.Save(ctx, e, mapper.Independent()); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 4 {
		lines := orders.Key("c", fmt.Sprint("private", n)).Prefix(fmt.Sprintf("ORDER#private%d#LINE#", n))
		if all, err := query.Of[Line](lines).Collect(ctx, orders); err != nil || len(all) != 3 {
			t.Fatal(all, err)
		}
		if all, err := query.Of[Line](lines).Limit(2).Collect(ctx, orders); err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
	}
	for _, err := range orders.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
	}
	text, f := recorded(t, r)
	if strings.Contains(text,
		"private") || len(f.Kinds) != 1 || f.Kinds[0].Table != table || len(f.Kinds[0].Documents) != 4 {
		t.Fatal(text)
	}
	k := f.Kinds[0]
	find(t, k, "Load", func(o *trace.Operation) bool { return o.All && o.Count == 4 })
	find(t, k, "Save", func(o *trace.Operation) bool { return o.Insert && o.Count == 4 })
	find(t, k, "Save", func(o *trace.Operation) bool {
		return o.Count == 4 && o.Add["Lines"] == 4 && o.Remove["Lines"] == 4 && strings.Join(o.Writes,
			" ") == "State" && !o.Atomic
	})
	find(t, k, "Query", func(o *trace.Operation) bool {
		return o.Count == 4 && strings.Join(o.Reads, " ") == "Lines"
	})
	find(t, k, "Query", func(o *trace.Operation) bool { return o.Count == 4 && o.Read["Lines"] == 8 })
	find(t, k, "Scan", func(o *trace.Operation) bool { return o.Count == 1 && o.Scan != nil })
	if l := k.Documents[0].Lists["Lines"]; l.Count != 3 || len(l.Attributes) != 3 {
		t.Errorf("%+v", l)
	}
}
