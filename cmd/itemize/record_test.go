package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/cost/record"
)

// A program with the SDK alone and large items is recorded. The recording becomes a workload, for which discover
// writes a model; the items are migrated, and the operations replayed: they consume what was predicted.
func TestRecordedProgram(t *testing.T) {
	const patients = 12
	var items []attributes
	for n := range patients {
		items = append(items, joined(patient(n), attributes{"id": str(fmt.Sprint("p", n))}))
	}
	d := newDiscovery(t, "id:S", "", items)
	r := record.New(record.Options{Rate: 1})
	o := d.client.Options()
	r.Client(&o)
	client := dynamodb.New(o)
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range patients {
		key := attributes{"id": str(fmt.Sprint("p", n))}
		get := func() attributes {
			out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.table, Key: key})
			check(err)
			return out.Item
		}
		put := func(it attributes) {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &d.table, Item: it})
			check(err)
		}
		it := get()
		it["name"] = str(fmt.Sprint("secrer", n))
		put(it) // another name
		visits := it["visits"].(*types.AttributeValueMemberL)
		visits.Value = append(visits.Value, mapOf(attributes{
			"at": str(fmt.Sprintf("2025-01-01T10:%02d:00Z", n)), "text": str(strings.Repeat("y", 300)),
		}))
		put(it) // a visit
		_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &d.table, Key: key, UpdateExpression: aws.String("SET notes = :n"),
			ExpressionAttributeValues: attributes{":n": str(strings.Repeat("a long nota ", 200+n))},
		})
		check(err)
		for range 3 {
			_, err := client.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: &d.table, Key: key, ProjectionExpression: aws.String("#n, born"),
				ExpressionAttributeNames: map[string]string{"#n": "name"},
			})
			check(err)
		}
	}
	path := filepath.Join(d.dir, "recording.json")
	check(r.WriteFile(path))
	text, err := os.ReadFile(path)
	check(err)
	if strings.Contains(string(text), "secre") || strings.Contains(string(text), "long not") {
		t.Error("the recording has values")
	}
	month := d.itemize(0, "cost", "workload", "-entities", fmt.Sprint(patients), "recording.json")
	var w forecast.Workload
	check(json.Unmarshal([]byte(month), &w))
	if w.Entities != patients || len(w.Attributes) != 4 || len(w.Operations) != 5 {
		t.Fatalf("%s", month)
	}
	per := w.Operations[slices.IndexFunc(w.Operations, func(o forecast.Operation) bool { return o.All })].PerMonth
	for _, want := range []forecast.Operation{
		{Name: "GetItem: born, name", PerMonth: 3 * per, Reads: []string{"born", "name"}},
		{Name: "PutItem: name", PerMonth: per, Writes: []string{"name"}},
		{Name: "PutItem: visits", PerMonth: per, Add: map[string]int{"visits": 1}},
		{Name: "UpdateItem", PerMonth: per, Writes: []string{"notes"}},
	} {
		if !slices.ContainsFunc(w.Operations, func(o forecast.Operation) bool {
			near := o.PerMonth > 0.99*want.PerMonth && o.PerMonth < 1.01*want.PerMonth
			o.PerMonth = want.PerMonth
			return near && fmt.Sprint(o) == fmt.Sprint(want)
		}) {
			t.Errorf("no operation %+v in %s", want, month)
		}
	}
	d.write("month.json", []byte(month))
	advice := d.itemize(0, "cost", "advise", "month.json")
	if !strings.Contains(advice, "1. store each element of visits as an item") {
		t.Error(advice)
	}
	report := d.discover("-workload", filepath.Join(d.dir, "month.json"))
	d.migrate(report, 0)
	d.replay(report, 0)
}
