package record_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/record"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/advice/trace"
)

func TestMain(m *testing.M) { enginetest.Run(m) }

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// program is a program with the SDK alone.
type program struct {
	*testing.T
	client *dynamodb.Client
	table  string
}

// newProgram returns a program whose client records.
func newProgram(t *testing.T, r *record.Recorder) *program {
	t.Helper()
	o := enginetest.Start(t).Client().Options()
	r.Client(&o)
	return &program{t, dynamodb.New(o), enginetest.Table(t, "pk:S", "sk:S")}
}

func (p *program) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func keyOf(n int) item { return item{"pk": str(fmt.Sprintf("CLAIM#%d", n)), "sk": str("PROFILE")} }

// claim is a document with log entries.
func claim(n, entries int) item {
	it := keyOf(n)
	it["state"], it["text"] = str("open"), str(strings.Repeat("secret text ", 200))
	log := &types.AttributeValueMemberL{}
	for i := range entries {
		log.Value = append(log.Value, &types.AttributeValueMemberM{Value: item{
			"at": str(fmt.Sprintf("2026-01-%02d", i+1)), "note": str("secret note"),
		}})
	}
	it["log"] = log
	return it
}

func (p *program) get(ctx context.Context, n int) item {
	p.Helper()
	out, err := p.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &p.table, Key: keyOf(n)})
	p.check(err)
	return out.Item
}

func (p *program) put(ctx context.Context, it item, condition string) {
	p.Helper()
	in := &dynamodb.PutItemInput{TableName: &p.table, Item: it}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	_, err := p.client.PutItem(ctx, in)
	p.check(err)
}

// recorded returns the recording as JSON and merged.
func recorded(t *testing.T, r *record.Recorder) (string, *trace.File) {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := trace.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), trace.Merge(f)
}

// find returns the operation with a name that matches.
func find(t *testing.T, k *trace.Kind, name string, match func(*trace.Operation) bool) *trace.Operation {
	t.Helper()
	for _, o := range k.Operations {
		if o.Name == name && match(o) {
			return o
		}
	}
	text, _ := json.MarshalIndent(k.Operations, "", " ")
	t.Fatalf("no operation %s as wanted: %s", name, text)
	return nil
}

// A program that replaces whole items is recorded with the attributes and elements that changed, without values.
func TestReplacedItemsAreCompared(t *testing.T) {
	r := record.New(record.Options{Rate: 1})
	p, ctx := newProgram(t, r), context.Background()
	for n := range 6 {
		p.get(ctx, n) // finds nothing, and shows the key attributes
		p.put(ctx, claim(n, 3), "attribute_not_exists(pk)")
	}
	for n := range 6 {
		it := p.get(ctx, n)
		it["state"] = str("closed")
		p.put(ctx, it, "")
		it = claim(n, 5)
		it["state"] = str("closed")
		p.put(ctx, it, "")
		log := it["log"].(*types.AttributeValueMemberL)
		log.Value = log.Value[1:]
		log.Value[0].(*types.AttributeValueMemberM).Value["note"] = str("changed")
		p.put(ctx, it, "")
	}
	text, f := recorded(t, r)
	if strings.Contains(text, "secret") || strings.Contains(text, "closed") {
		t.Errorf("the recording has values: %s", text)
	}
	if len(f.Kinds) != 1 || f.Kinds[0].Name != "CLAIM# PROFILE" || len(f.Kinds[0].Documents) != 6 {
		t.Fatalf("%+v", f.Kinds)
	}
	k := f.Kinds[0]
	if n := k.Count(); n < 4.5 || n > 6.5 {
		t.Errorf("%v entities", n)
	}
	for _, c := range []struct {
		name  string
		match func(*trace.Operation) bool
	}{
		{"PutItem", func(o *trace.Operation) bool { return o.Insert && o.Count == 6 }},
		{"GetItem", func(o *trace.Operation) bool { return o.All && o.Count == 6 }},
		{"PutItem", func(o *trace.Operation) bool {
			return strings.Join(o.Writes, " ") == "state" && len(o.Add) == 0 && o.Count == 6
		}},
		{"PutItem", func(o *trace.Operation) bool {
			return o.Add["log"] == 12 && len(o.Writes) == 0 && o.Count == 6
		}},
		{"PutItem", func(o *trace.Operation) bool { return o.Change["log"] == 6 && o.Remove["log"] == 6 }},
	} {
		find(t, k, c.name, c.match)
	}
}

// Requests on parts of items, on several items, on indexes, and of an operation with a name.
func TestRequests(t *testing.T) {
	r := record.New(record.Options{Rate: 1})
	p, ctx := newProgram(t, r), context.Background()
	for n := range 6 {
		p.put(ctx, claim(n, 2), "")
	}
	update := func(expression string, names map[string]string, values item) {
		t.Helper()
		for n := range 6 {
			_, err := p.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &p.table, Key: keyOf(n), UpdateExpression: &expression, ExpressionAttributeNames: names,
				ExpressionAttributeValues: values,
			})
			p.check(err)
		}
	}
	update("SET #s = :s, updated = if_not_exists(updated, :s) REMOVE gone", map[string]string{"#s": "state"}, item{
		":s": str("x"),
	})
	entry := &types.AttributeValueMemberM{Value: item{"at": str("z"), "note": str("n")}}
	update("set #l = list_append(#l, :l)", map[string]string{"#l": "log"}, item{
		":l": &types.AttributeValueMemberL{Value: []types.AttributeValue{entry, entry}},
	})
	update("SET #l[0].note = :n REMOVE #l[1]", map[string]string{"#l": "log"}, item{":n": str("m")})
	update("ADD visits :one", nil, item{":one": &types.AttributeValueMemberN{Value: "1"}})
	named, end := r.Begin(ctx, "show a row", "state", "text")
	p.get(named, 1)
	p.get(named, 1)
	end()
	out, err := p.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &p.table, Key: keyOf(2), ProjectionExpression: aws.String("#s, #l[0]"),
		ExpressionAttributeNames: map[string]string{"#s": "state", "#l": "log"}, ConsistentRead: aws.Bool(true),
	})
	p.check(err)
	if len(out.Item) != 2 {
		t.Fatal(out.Item)
	}
	_, err = p.client.Scan(ctx, &dynamodb.ScanInput{
		TableName: &p.table, FilterExpression: aws.String("#s = :s AND visits > :n"),
		ExpressionAttributeNames:  map[string]string{"#s": "state"},
		ExpressionAttributeValues: item{":s": str("x"), ":n": &types.AttributeValueMemberN{Value: "0"}},
	})
	p.check(err)
	_, err = p.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Update: &types.Update{
				TableName: &p.table, Key: keyOf(1), UpdateExpression: aws.String("SET visitor = :o"),
				ExpressionAttributeValues: item{":o": str("me")},
			}},
			{Delete: &types.Delete{TableName: &p.table, Key: keyOf(2)}},
		},
	})
	p.check(err)
	_, f := recorded(t, r)
	k := f.Kinds[0]
	for _, c := range []struct {
		name  string
		match func(*trace.Operation) bool
	}{
		{"UpdateItem", func(o *trace.Operation) bool {
			return strings.Join(o.Writes, " ") == "gone state updated" && o.Count == 6
		}},
		{"UpdateItem", func(o *trace.Operation) bool { return o.Add["log"] == 12 && o.Count == 6 }},
		{"UpdateItem", func(o *trace.Operation) bool { return o.Change["log"] == 6 && o.Remove["log"] == 6 }},
		{"UpdateItem", func(o *trace.Operation) bool { return strings.Join(o.Writes, " ") == "visits" }},
		{"show a row", func(o *trace.Operation) bool {
			return strings.Join(o.Reads,
				" ") == "state text" && o.Count == 1
		}},
		{"GetItem", func(o *trace.Operation) bool { return strings.Join(o.Reads, " ") == "log state" && o.Strong }},
		{"Scan", func(o *trace.Operation) bool { return strings.Join(o.Scan, " ") == "state" && o.Found == 6 }},
		{"TransactWriteItems", func(o *trace.Operation) bool {
			return o.Atomic && strings.Join(o.Writes,
				" ") == "visitor"
		}},
		{"TransactWriteItems", func(o *trace.Operation) bool { return o.Atomic && o.Delete }},
	} {
		find(t, k, c.name, c.match)
	}
}
