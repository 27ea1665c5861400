package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost/record"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/advice/trace"
	"github.com/itemize/itemize/mapper"
)

// A recording of the day has its operations, as changes and reads of the models' attributes and elements.
func TestRecording(t *testing.T) {
	r := record.New(record.Options{Rate: 1})
	o := enginetest.Start(t).Client().Options()
	r.Client(&o)
	client := dynamodb.New(o)
	if err := createTable(t.Context(), client, "tracker"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		name := "tracker"
		_, _ = client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
	})
	if err := day(t.Context(), io.Discard, client, mapper.Observe(r.Observer())); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "acme") {
		t.Error("the recording has values")
	}
	f, err := trace.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	f = trace.Merge(f)
	for _, want := range []struct{ kind, operation string }{
		{"Project", `{"name":"Transact","count":81,"writes":["Counters"],"atomic":true,"add":{"Activity":81}}`},
		{"Project", `{"name":"Load","count":80,"reads":["CreatedAt","Name"]}`},
		{"Project", `{"name":"Patch","count":1,"add":{"Members":1}}`},
		{"Ticket", `{"name":"Query","count":20,"reads":["Labels","State","Title","UpdatedAt"]}`},
		{"Ticket", `{"name":"Load","count":1,"all":true}`},
		{"Ticket", `{"name":"Patch","count":1,"writes":["UpdatedAt"],"atomic":true,"add":{"Comments":1}}`},
		{"Ticket", `{"name":"Transact","count":1,"writes":["State","UpdatedAt"],"atomic":true}`},
	} {
		found := false
		for _, k := range f.Kinds {
			for _, o := range k.Operations {
				text, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				found = found || k.Name == want.kind && string(text) == want.operation
			}
		}
		if !found {
			t.Errorf("no operation %s of %s", want.operation, want.kind)
		}
	}
}
