package integration_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// probe sends requests to one table of an engine that has partition key PK and sort key SK, both strings, and an index
// "byG" with partition key G.
type probe struct {
	*testing.T
	*dynamodb.Client
	table string
}

type row = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// item returns an item with a padding attribute of that many bytes.
func item(sort string, padding int) row {
	return row{"PK": str("p"), "SK": str(sort), "x": str(strings.Repeat("x", padding))}
}

func key(sort string) row { return row{"PK": str("p"), "SK": str(sort)} }

// create creates the table of the probe.
func (p probe) create() {
	p.Helper()
	_, err := p.CreateTable(p.Context(), &dynamodb.CreateTableInput{
		TableName: &p.table, BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}, {
				AttributeName: aws.String("SK"),
				KeyType:       types.KeyTypeRange,
			},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: "S"}, {
				AttributeName: aws.String("SK"),
				AttributeType: "S",
			}, {AttributeName: aws.String("G"), AttributeType: "S"},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String("byG"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("G"), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	})
	if err != nil {
		p.Fatal(err)
	}
}

func (p probe) put(i row) float64 {
	p.Helper()
	out, err := p.PutItem(p.Context(),
		&dynamodb.PutItemInput{TableName: &p.table, Item: i, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	if err != nil {
		p.Fatal(err)
	}
	return of(out.ConsumedCapacity)
}

func units(all []types.ConsumedCapacity) float64 {
	sum := 0.0
	for _, c := range all {
		sum += aws.ToFloat64(c.CapacityUnits)
	}
	return sum
}

func of(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return notReported
	}
	return aws.ToFloat64(c.CapacityUnits)
}

func (p probe) transact(all ...types.TransactWriteItem) float64 {
	p.Helper()
	out, err := p.TransactWriteItems(p.Context(),
		&dynamodb.TransactWriteItemsInput{
			TransactItems:          all,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
	if err != nil {
		p.Fatal(err)
	}
	if len(out.ConsumedCapacity) == 0 {
		return notReported
	}
	return units(out.ConsumedCapacity)
}

func (p probe) puts(n, padding int) float64 {
	p.Helper()
	var all []types.TransactWriteItem
	for i := range n {
		all = append(all,
			types.TransactWriteItem{Put: &types.Put{TableName: &p.table, Item: item(fmt.Sprint(i), padding)}})
	}
	return p.transact(all...)
}

const (
	notReported = -1
	unknown     = -2
)

// differences are the figures in which engines differ, or differed. docs/engines.md shows them.
var differences = []struct {
	what    string
	measure func(p probe) float64
	// local and dynoxide have the figures that these engines report, notReported for none. dynamodb has
	// that of DynamoDB's documentation, unknown for none.
	local, dynoxide, dynamodb float64
}{
	{"transaction of 1 put under 1 KB, WCU", func(p probe) float64 { return p.puts(1, 10) }, 2, 2, 2},
	{"transaction of 3 puts under 1 KB, WCU", func(p probe) float64 { return p.puts(3, 10) }, 2, 6, 6},
	{"transaction of 10 puts under 1 KB, WCU", func(p probe) float64 { return p.puts(10, 10) }, 2, 20, 20},
	{"transaction of 2 puts of 3 KB, WCU", func(p probe) float64 { return p.puts(2, 2900) }, 6, 12, 12},
	{"transaction of 1 update of a 3 KB item, WCU", func(p probe) float64 {
		p.put(item("a", 2900))
		return p.transact(types.TransactWriteItem{Update: &types.Update{
			TableName: &p.table, Key: key("a"),
			UpdateExpression: aws.String("SET y = :y"), ExpressionAttributeValues: row{":y": str("y")},
		}})
	}, 6, 6, 6},
	{"transaction of 1 delete of a 3 KB item, WCU", func(p probe) float64 {
		p.put(item("a", 2900))
		return p.transact(types.TransactWriteItem{Delete: &types.Delete{TableName: &p.table, Key: key("a")}})
	}, 6, 6, 6},
	{"transaction of 1 put under 1 KB and 1 ConditionCheck of a 3 KB item, WCU", func(p probe) float64 {
		p.put(item("a", 2900))
		return p.transact(types.TransactWriteItem{Put: &types.Put{TableName: &p.table, Item: item("b", 10)}},
			types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: &p.table, Key: key("a"),
				ConditionExpression: aws.String("attribute_exists(PK)"),
			}})
	}, 2, 8, 8},
	{"transaction of a put of 3 KB and one under 1 KB, WCU", func(p probe) float64 {
		return p.transact(types.TransactWriteItem{Put: &types.Put{TableName: &p.table, Item: item("a", 2900)}},
			types.TransactWriteItem{Put: &types.Put{TableName: &p.table, Item: item("b", 10)}})
	}, 8, 8, 8},
	{"transaction of a put under 1 KB and one of 3 KB, WCU", func(p probe) float64 {
		return p.transact(types.TransactWriteItem{Put: &types.Put{TableName: &p.table, Item: item("b", 10)}},
			types.TransactWriteItem{Put: &types.Put{TableName: &p.table, Item: item("a", 2900)}})
	}, 8, 8, 8},
	{"put that moves a 3 KB entry of an index, WCU of the index", func(p probe) float64 {
		i := item("a", 2800)
		i["G"] = str("1")
		p.put(i)
		i["G"] = str("2")
		out, err := p.PutItem(p.Context(),
			&dynamodb.PutItemInput{
				TableName: &p.table, Item: i,
				ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
			})
		if err != nil {
			p.Fatal(err)
		}
		if c := out.ConsumedCapacity; c != nil {
			return aws.ToFloat64(c.GlobalSecondaryIndexes["byG"].CapacityUnits)
		}
		return notReported
	}, 6, 6, 6},
	{
		"item with the number 120 and 1,024 bytes by cost.NumberSize, WCU (2: the engine counts more bytes)",
		func(p probe) float64 {
			// PK 2+1, SK 2+1, x 1, n 1, and 2 for the number by the rule of docs/costs.md
			i := item("a", 1024-2-1-2-1-1-1-2)
			i["n"] = num("120")
			return p.put(i)
		}, 2, 1, unknown,
	},
	{
		"item with the number 0.012 and 1,024 bytes by cost.NumberSize, WCU (2: the engine counts more bytes)",
		func(p probe) float64 {
			i := item("a", 1024-2-1-2-1-1-1-2)
			i["n"] = num("0.012")
			return p.put(i)
		}, 2, 1, unknown,
	},
	{"GetItem of a missing item, RCU", func(p probe) float64 {
		out, err := p.GetItem(p.Context(), &dynamodb.GetItemInput{
			TableName: &p.table, Key: key("none"),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			p.Fatal(err)
		}
		return of(out.ConsumedCapacity)
	}, 0.5, 0.5, 0.5},
	{"BatchGetItem of a missing item, RCU", func(p probe) float64 {
		out, err := p.BatchGetItem(p.Context(),
			&dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{
					p.table: {Keys: []map[string]types.AttributeValue{key("none")}},
				}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
		if err != nil {
			p.Fatal(err)
		}
		if len(out.ConsumedCapacity) == 0 {
			return notReported
		}
		return units(out.ConsumedCapacity)
	}, 0, 0.5, 0.5},
	{"Query without a match, RCU", func(p probe) float64 { c, _ := p.query("none"); return c }, 0, 0.5, 0.5},
	{"BatchWriteItem that deletes a missing item, WCU", func(p probe) float64 {
		out, err := p.BatchWriteItem(p.Context(),
			&dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{
					p.table: {{DeleteRequest: &types.DeleteRequest{Key: key("none")}}},
				}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
		if err != nil {
			p.Fatal(err)
		}
		if len(out.ConsumedCapacity) == 0 {
			return notReported
		}
		return units(out.ConsumedCapacity)
	}, 2, 1, 1},
	{"DeleteItem of a missing item, WCU", func(p probe) float64 {
		out, err := p.DeleteItem(p.Context(), &dynamodb.DeleteItemInput{
			TableName: &p.table, Key: key("none"),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			p.Fatal(err)
		}
		return of(out.ConsumedCapacity)
	}, 1, 1, 1},
	{"items of 390 KB in a 1 MB page", func(p probe) float64 {
		for i := range 4 {
			p.put(item(fmt.Sprint(i), 390<<10))
		}
		_, n := p.query("p")
		return n
	}, 3, 2, unknown},
	{"PartiQL update of an item under 1 KB, WCU", func(p probe) float64 {
		p.put(item("a", 10))
		out, err := p.ExecuteStatement(p.Context(),
			&dynamodb.ExecuteStatementInput{
				Statement:              aws.String(fmt.Sprintf(`UPDATE "%s" SET y=? WHERE PK=? AND SK=?`, p.table)),
				Parameters:             []types.AttributeValue{str("y"), str("p"), str("a")},
				ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
		if err != nil {
			p.Fatal(err)
		}
		return of(out.ConsumedCapacity)
	}, notReported, 1, 1},
	{"largest item that is accepted, bytes", func(p probe) float64 {
		p.put(item("a", 400<<10-7))
		_, err := p.PutItem(p.Context(), &dynamodb.PutItemInput{TableName: &p.table, Item: item("a", 400<<10-6)})
		if err == nil {
			return 400<<10 + 1
		}
		return 400 << 10
	}, 400 << 10, 400 << 10, 400 << 10},
	{"largest transaction that is accepted, items", func(p probe) float64 {
		p.puts(100, 1)
		var all []types.TransactWriteItem
		for i := range 101 {
			all = append(all,
				types.TransactWriteItem{Put: &types.Put{TableName: &p.table, Item: item(fmt.Sprint(i), 1)}})
		}
		if _, err := p.TransactWriteItems(p.Context(),
			&dynamodb.TransactWriteItemsInput{TransactItems: all}); err == nil {
			return 101
		}
		return 100
	}, 100, 100, 100},
	{"index with 2 partition and 1 sort key attributes is created and queried (1 yes, 0 no)", func(p probe) float64 {
		name := p.table + "-m"
		_, err := p.CreateTable(p.Context(), &dynamodb.CreateTableInput{
			TableName: &name, BillingMode: types.BillingModePayPerRequest,
			KeySchema: []types.KeySchemaElement{{
				AttributeName: aws.String("PK"),
				KeyType:       types.KeyTypeHash,
			}},
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String("PK"), AttributeType: "S"},
				{AttributeName: aws.String("a"), AttributeType: "S"},
				{
					AttributeName: aws.String("b"),
					AttributeType: "N",
				},
				{AttributeName: aws.String("c"), AttributeType: "S"},
			},
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
				IndexName:  aws.String("several"),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
				KeySchema: []types.KeySchemaElement{
					{AttributeName: aws.String("a"), KeyType: types.KeyTypeHash},
					{AttributeName: aws.String("b"), KeyType: types.KeyTypeHash},
					{
						AttributeName: aws.String("c"),
						KeyType:       types.KeyTypeRange,
					},
				},
			}},
		})
		if err != nil {
			p.Log(err)
			return 0
		}
		if _, err := p.PutItem(p.Context(),
			&dynamodb.PutItemInput{
				TableName: &name,
				Item:      row{"PK": str("1"), "a": str("x"), "b": num("2"), "c": str("z1")},
			}); err != nil {
			p.Fatal(err)
		}
		out, err := p.Client.Query(p.Context(),
			&dynamodb.QueryInput{
				TableName: &name, IndexName: aws.String("several"),
				KeyConditionExpression:    aws.String("a = :a AND b = :b AND begins_with(c, :c)"),
				ExpressionAttributeValues: row{":a": str("x"), ":b": num("2"), ":c": str("z")},
			})
		if err != nil || len(out.Items) != 1 {
			p.Log(err, out)
			return 0
		}
		return 1
	}, 1, 1, 1},
}

func (p probe) query(partition string) (rcu, items float64) {
	p.Helper()
	out, err := p.Query(p.Context(),
		&dynamodb.QueryInput{
			TableName: &p.table, KeyConditionExpression: aws.String("PK = :p"),
			ExpressionAttributeValues: row{":p": str(partition)},
			ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		})
	if err != nil {
		p.Fatal(err)
	}
	return of(out.ConsumedCapacity), float64(len(out.Items))
}

// The engine reports the figures of docs/engines.md, so that a new version of it that differs shows here.
func TestEngineReportsDocumentedFigures(t *testing.T) {
	e := testengine.Start(t)
	for i, d := range differences {
		want, listed := map[string]float64{
			engines.Local: d.local, engines.Docker: d.local,
			engines.Dynoxide: d.dynoxide,
		}[e.Name]
		if !listed {
			continue
		}
		t.Run(d.what, func(t *testing.T) {
			p := probe{t, e.Client(), fmt.Sprintf("differences-%d", i)}
			p.create()
			if got := d.measure(p); got != want {
				t.Errorf("%s reports %v; want %v", e.Name, got, want)
			}
		})
	}
}

// docs/engines.md shows the figures that the engines report.
func TestEnginesPageShowsFigures(t *testing.T) {
	var want strings.Builder
	for _, d := range differences {
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", d.what, figure(d.local), figure(d.dynoxide), figure(d.dynamodb))
	}
	page, err := os.ReadFile("../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/engines.md has another table; want\n%s", want.String())
	}
}

func figure(f float64) string {
	switch f {
	case notReported:
		return "not reported"
	case unknown:
		return "not documented"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
