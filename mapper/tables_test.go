package mapper_test

import (
	"context"
	"fmt"
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
	"github.com/itemize/itemize/tables"
)

type depot struct {
	_     struct{}  `ddb:"table=depots,ttl=gone"`
	_     struct{}  `ddb:"table=depotlogs,hash=Depot,range=At,name=Logs"`
	_     struct{}  `ddb:"index=byCity,pk={City},sk={Open:unix},project='Name'"`
	_     struct{}  `ddb:"index=byName,local,range=Name,sk={Name}"`
	ID    string    `ddb:"pk=DEPOT#{ID}"`
	City  string    `ddb:"sk=HEAD"`
	Name  string    `ddb:"sk=HEAD"`
	Open  time.Time `ddb:"sk=HEAD" dynamodbav:"Opened,unixtime"`
	Until time.Time `ddb:"sk=HEAD,ttl"`
	Log   string    `ddb:"table=depotlogs,sk=LOG"`
}

// All differences between a live table and the model are reported, and no others.
func TestCheckTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	now := time.Now().UnixNano()
	m := kit.Must(mapper.New[depot](client,
		mapper.Tables(func(name string) string { return fmt.Sprint(name, "-", now) })))(t)
	all := tables.Of(m)
	check := func(want ...string) {
		t.Helper()
		differences := kit.Must(tables.Check(ctx, client, all))(t)
		var got []string
		for _, d := range differences {
			text := strings.ReplaceAll(d.String(), fmt.Sprint("-", now), "")
			if d.Harmless {
				text = "harmless: " + text
			}
			got = append(got, text)
		}
		if len(got) != len(want) {
			t.Fatalf("%d differences:\n%s", len(got), strings.Join(got, "\n"))
		}
		for i, w := range want {
			if !strings.HasPrefix(got[i], w) {
				t.Errorf("%s\nwant\n%s", got[i], w)
			}
		}
	}
	check(
		"the table depots: it does not exist: send Definition.Create",
		"the table depotlogs: it does not exist",
	)
	for _, d := range all {
		kit.Must(client.CreateTable(ctx, d.Create))(t)
	}
	check(`the table depots: the table's time to live is off, but the model's is by the attribute "gone": expired `+
		`items are not found, and never deleted: send Definition.TimeToLive`,
		`the table depotlogs: the table's time to live is off`)
	for _, d := range all {
		kit.Must(client.UpdateTimeToLive(ctx, d.TimeToLive))(t)
	}
	check()

	// A table that another program has created.
	for _, d := range all {
		kit.Must(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &d.Name}))(t)
	}
	wrong := *all[0].Create
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
	}
	wrong.AttributeDefinitions = []types.AttributeDefinition{
		{AttributeName: aws.String("PK"), AttributeType: "S"},
		{AttributeName: aws.String("SK"), AttributeType: "N"},
		{AttributeName: aws.String("City"), AttributeType: "S"},
		{AttributeName: aws.String("Opened"), AttributeType: "S"},
	}
	wrong.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{
		{
			IndexName:  aws.String("byCity"),
			KeySchema:  []types.KeySchemaElement{key("City", "HASH"), key("Opened", "RANGE")},
			Projection: &types.Projection{ProjectionType: "INCLUDE", NonKeyAttributes: []string{"_s", "Other"}},
		},
		{
			IndexName: aws.String("another"), KeySchema: []types.KeySchemaElement{key("Opened", "HASH")},
			Projection: &types.Projection{ProjectionType: "ALL"},
		},
	}
	wrong.LocalSecondaryIndexes = nil
	kit.Must(client.CreateTable(ctx, &wrong))(t)
	kit.Must(client.CreateTable(ctx, all[1].Create))(t)
	kit.Must(client.UpdateTimeToLive(ctx, all[1].TimeToLive))(t)
	check(
		"the table depots: the table has the keys PK (S); SK (N), but the model has PK (S); SK (S): the keys of a "+
			"table cannot be changed",
		"the table depots, index byCity: the index has the keys City (S); Opened (S), but in the model City (S); "+
			"Opened (N): create a new index",
		"the table depots, index byCity: the index does not project _a, gone, Name: create a new index",
		"harmless: the table depots, index byCity: the index also projects Other",
		"the table depots, index byName: the table does not have the local index: local indexes are created only "+
			"with their table",
		"harmless: the table depots, index another: the model does not declare the index",
		"the table depots: the table's time to live is off",
	)
}

// The definitions of models that share a table are joined, and contradictions are reported.
func TestJoinDefinitions(t *testing.T) {
	t.Parallel()
	type first struct {
		_    struct{} `ddb:"table=shared"`
		_    struct{} `ddb:"index=GSI1,hash=K,range=S,pk=A#{Name},sk=A,project='Name'"`
		ID   string   `ddb:"pk=A#{ID}"`
		Name string   `ddb:"sk=HEAD"`
	}
	type second struct {
		_     struct{}  `ddb:"table=shared,ttl=gone"`
		_     struct{}  `ddb:"index=GSI1,hash=K,range=S,pk=B#{Size:04},sk=B,project='Size'"`
		_     struct{}  `ddb:"index=GSI2,pk={Size}"`
		ID    string    `ddb:"pk=B#{ID}"`
		Size  int       `ddb:"sk=HEAD"`
		Until time.Time `ddb:"sk=HEAD,ttl"`
	}
	type third struct {
		_    struct{} `ddb:"table=shared"`
		_    struct{} `ddb:"index=GSI1,hash=K,pk=C#{Size:04}"`
		ID   string   `ddb:"pk=C#{ID}"`
		Size int      `ddb:"sk=HEAD"`
	}
	client := testengine.Start(t).Client()
	a, b, c := tables.Of(kit.Must(mapper.New[first](client))(t)), tables.Of(kit.Must(mapper.New[second](client))(t)),
		tables.Of(kit.Must(mapper.New[third](client))(t))
	all := kit.Must(tables.Join(a, b))(t)
	if len(all) != 1 || len(all[0].Create.GlobalSecondaryIndexes) != 2 || all[0].TimeToLive == nil ||
		fmt.Sprint(all[0].Create.GlobalSecondaryIndexes[0].Projection.NonKeyAttributes) != "[_s _a Name gone Size]" {
		t.Errorf("%s", tables.CloudFormation(all))
	}
	if text := tables.Terraform(all); !strings.Contains(text, `resource "aws_dynamodb_table" "shared"`) ||
		!strings.Contains(text, `attribute_name = "gone"`) {
		t.Error(text)
	}
	_, err := tables.Join(a, c)
	if err == nil || !strings.Contains(err.Error(), "the index GSI1 of the table shared has different keys in two "+
		"models: write the same attributes") {
		t.Error(err)
	}
}

// Tables may be named by their ARN.
func TestTablesByARN(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if !testengine.TakesARNs(t) {
		return
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	arn := "arn:aws:dynamodb:us-east-1:000000000000:table/" + table
	m := kit.Must(mapper.New[kit.Account](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(arn)))(t)
	var keys []query.Selection[kit.Account]
	for i := range 5 {
		id := fmt.Sprint(i)
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: id, Counter: i})))(t)
		keys = append(keys, m.Key(id).Item("HEAD"))
	}
	all := kit.Must(m.LoadMany(ctx, keys))(t)
	for i, e := range all {
		if e == nil || e.Value.Counter != i {
			t.Errorf("%d: %+v", i, e)
		}
	}
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
	kit.Must(m.Save(ctx, e))(t)
	kit.Must(m.Delete(ctx, e, mapper.Independent()))(t)
	var values []kit.Account
	for i := range 40 {
		values = append(values, kit.Account{ID: fmt.Sprint("bulk", i), Counter: i + 1, Left: "x"})
	}
	kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(values)), mapper.Overwrite()))(t)
	for _, v := range values {
		if got := kit.Stored(t, m, v.ID); got == nil || got.Counter != v.Counter || got.Left != "x" {
			t.Errorf("%s: %+v", v.ID, got)
		}
	}
}
