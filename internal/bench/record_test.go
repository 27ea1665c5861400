package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/guregu/dynamo/v2"

	"github.com/itemize/itemize/cost/record"
	"github.com/itemize/itemize/integration"
)

// The recorder records programs with guregu/dynamo, which uses the SDK's client.
func TestRecorderOfGuregu(t *testing.T) {
	ctx := t.Context()
	e, err := integration.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	r := record.New(record.Options{Rate: 1})
	o := e.Client().Options()
	r.Client(&o)
	client := dynamodb.New(o)
	_, err = client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("recorded"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("ID"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("ID"), AttributeType: "S"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	type user struct {
		ID, Email string
		Visits    []string
	}
	users := dynamo.NewFromIface(client).Table("recorded")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var u user
	for _, id := range []string{"a", "b"} {
		check(users.Put(user{ID: id, Email: "secret", Visits: []string{"x"}}).Run(ctx))
		check(users.Get("ID", id).One(ctx, &u))
		u.Email = "changed"
		check(users.Put(u).Run(ctx))
		check(users.Update("ID", id).Append("Visits", []string{"y"}).Run(ctx))
	}
	text, err := json.Marshal(r)
	check(err)
	for _, want := range []string{
		`"name":"GetItem","requests":["GetItem"],"count":2,"all":true`,
		`"name":"UpdateItem","requests":["UpdateItem"],"count":2,"add":{"Visits":2}`, `"count":2,"writes":["Email"]`,
	} {
		if !strings.Contains(string(text), want) || strings.Contains(string(text), "secret") {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}
