package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/testengine"
)

func TestMain(m *testing.M) { testengine.Run(m) }

type attributes = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func nul() types.AttributeValue         { return &types.AttributeValueMemberNULL{Value: true} }

func keyed(pk, sk string, more ...any) attributes {
	a := attributes{"PK": str(pk), "SK": str(sk)}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1].(types.AttributeValue)
	}
	return a
}

// lab is an empty table on one engine.
type lab struct {
	*testing.T
	*dynamodb.Client
	table *string
}

func newLab(t *testing.T, e *engines.Engine, name string) *lab {
	t.Helper()
	l := &lab{t, e.Client(), &name}
	_, err := l.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: definitions("PK:S", "SK:S"), KeySchema: schema("PK", "SK"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.DeleteTable(context.Background(), name) })
	return l
}

func definitions(names ...string) (all []types.AttributeDefinition) {
	for _, n := range names {
		name, typ, _ := strings.Cut(n, ":")
		all = append(all,
			types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(typ)})
	}
	return all
}

func schema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: &hash, KeyType: types.KeyTypeHash},
		{AttributeName: &sort, KeyType: types.KeyTypeRange},
	}
}

func (l *lab) put(item attributes) string {
	_, err := l.PutItem(l.Context(), &dynamodb.PutItemInput{TableName: l.table, Item: item})
	return outcome(err)
}

func (l *lab) update(expression, condition string, values attributes) string {
	in := &dynamodb.UpdateItemInput{
		TableName: l.table, Key: keyed("p", "1"), UpdateExpression: &expression,
		ExpressionAttributeValues: values,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	_, err := l.UpdateItem(l.Context(), in)
	return outcome(err)
}

// has returns one attribute of the item p 1 as text.
func (l *lab) has(attribute string) string {
	out, err := l.GetItem(l.Context(), &dynamodb.GetItemInput{TableName: l.table, Key: keyed("p", "1")})
	if err != nil {
		return outcome(err)
	}
	switch v := out.Item[attribute].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case nil:
		return "no attribute"
	default:
		return "a value"
	}
}

func (l *lab) query(change func(*dynamodb.QueryInput)) (*dynamodb.QueryOutput, error) {
	in := &dynamodb.QueryInput{
		TableName: l.table, KeyConditionExpression: aws.String("PK = :p"),
		ExpressionAttributeValues: attributes{":p": str("p")},
	}
	change(in)
	return l.Query(l.Context(), in)
}

func outcome(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return "accepted"
}

// wrong are the scenarios in which minidyn does something else than DynamoDB.
var wrong = []struct {
	name              string
	run               func(*lab) string
	minidyn, dynamoDB string
}{
	{
		"put an item of 410,000 bytes",
		func(l *lab) string { return l.put(keyed("p", "1", "a", str(strings.Repeat("x", 410_000)))) }, "accepted",
		"ValidationException",
	},
	{
		"put an item with an empty key value", func(l *lab) string { return l.put(keyed("", "1")) }, "accepted",
		"ValidationException",
	},
	{"put a=new over a=old with ReturnValues ALL_OLD: the returned a", func(l *lab) string {
		l.put(keyed("p", "1", "a", str("old")))
		out, err := l.PutItem(l.Context(),
			&dynamodb.PutItemInput{
				TableName: l.table, Item: keyed("p", "1", "a", str("new")),
				ReturnValues: types.ReturnValueAllOld,
			})
		if err != nil {
			return outcome(err)
		}
		return out.Attributes["a"].(*types.AttributeValueMemberS).Value
	}, "new", "old"},
	{"set one attribute twice in an update", func(l *lab) string {
		return l.update("SET a = :x, a = :y", "", attributes{":x": str("1"), ":y": str("2")})
	}, "accepted", "ValidationException"},
	{"take the last element out of a set", func(l *lab) string {
		set := attributes{":x": &types.AttributeValueMemberSS{Value: []string{"a", "b"}}}
		l.update("ADD s :x", "", set)
		l.update("DELETE s :x", "", set)
		return l.has("s")
	}, "1", "no attribute"},
	{"compare an attribute of type NULL with a number", func(l *lab) string {
		l.put(keyed("p", "1", "a", nul()))
		return l.update("SET b = :n", "attribute_not_exists(a) OR a <= :n", attributes{":n": num("1")})
	}, "ValidationException", "ConditionalCheckFailedException"},
	{"store an empty list: its type", func(l *lab) string {
		l.put(keyed("p", "1", "a", &types.AttributeValueMemberL{Value: []types.AttributeValue{}}))
		out, err := l.GetItem(l.Context(), &dynamodb.GetItemInput{TableName: l.table, Key: keyed("p", "1")})
		if err != nil {
			return outcome(err)
		}
		return strings.TrimPrefix(fmt.Sprintf("%T", out.Item["a"]), "*types.AttributeValueMember")
	}, "S", "L"},
	{"put two items, with the keys (a.b, c) and (a, b.c): number of items", func(l *lab) string {
		l.put(keyed("a.b", "c"))
		l.put(keyed("a", "b.c"))
		out, err := l.Scan(l.Context(), &dynamodb.ScanInput{TableName: l.table})
		if err != nil {
			return outcome(err)
		}
		return fmt.Sprint(len(out.Items))
	}, "1", "2"},
	{"send a transaction again with its ClientRequestToken", func(l *lab) string {
		for range 2 {
			_, _ = l.TransactWriteItems(l.Context(),
				&dynamodb.TransactWriteItemsInput{
					ClientRequestToken: aws.String("token"),
					TransactItems: []types.TransactWriteItem{{
						Update: &types.Update{
							TableName: l.table, Key: keyed("p", "1"),
							UpdateExpression:          aws.String("ADD a :n"),
							ExpressionAttributeValues: attributes{":n": num("1")},
						},
					}},
				})
		}
		return l.has("a")
	}, "2", "1"},
	{"a transaction of two writes whose conditions fail: reasons of it", func(l *lab) string {
		var all []types.TransactWriteItem
		for _, sk := range []string{"1", "2"} {
			all = append(all,
				types.TransactWriteItem{Put: &types.Put{
					TableName: l.table, Item: keyed("p", sk),
					ConditionExpression: aws.String("attribute_exists(PK)"),
				}})
		}
		_, err := l.TransactWriteItems(l.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: all})
		var canceled *types.TransactionCanceledException
		if !errors.As(err, &canceled) {
			return outcome(err)
		}
		failed := 0
		for _, r := range canceled.CancellationReasons {
			if aws.ToString(r.Code) == "ConditionalCheckFailed" {
				failed++
			}
		}
		return fmt.Sprint(failed)
	}, "1", "2"},
	{"a transaction of 101 puts", func(l *lab) string {
		var all []types.TransactWriteItem
		for i := range 101 {
			all = append(all,
				types.TransactWriteItem{Put: &types.Put{TableName: l.table, Item: keyed("p", fmt.Sprint(i))}})
		}
		_, err := l.TransactWriteItems(l.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: all})
		return outcome(err)
	}, "accepted", "ValidationException"},
	{"a batch that writes one item twice", func(l *lab) string {
		_, err := l.BatchWriteItem(l.Context(),
			&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*l.table: {
				{PutRequest: &types.PutRequest{Item: keyed("p", "1")}},
				{DeleteRequest: &types.DeleteRequest{Key: keyed("p", "1")}},
			}}})
		return outcome(err)
	}, "accepted", "ValidationException"},
}

// minidyn gives the wrong results that docs/testing.md lists, and DynamoDB Local or dynoxide the right ones.
func TestWrong(t *testing.T) {
	for _, w := range wrong {
		t.Run(w.name, func(t *testing.T) {
			if got := w.run(newLab(t, memory(t), "lab")); got != w.minidyn {
				t.Errorf("minidyn: %s, want %s: correct the table in docs/testing.md", got, w.minidyn)
			}
			e := testengine.Start(t)
			if e.Name == engines.Minidyn {
				return
			}
			if got := w.run(newLab(t, e, fmt.Sprintf("lab%d", os.Getpid()))); got != w.dynamoDB {
				t.Errorf("%s: %s, want %s", e.Name, got, w.dynamoDB)
			}
		})
	}
}

// missing are the calls that minidyn refuses, with an error that says where they work.
var missing = []struct {
	name string
	call func(*lab) error
}{
	{"PartiQL: ExecuteStatement", func(l *lab) error {
		_, err := l.ExecuteStatement(l.Context(),
			&dynamodb.ExecuteStatementInput{Statement: aws.String("SELECT * FROM lab")})
		return err
	}},
	{"PartiQL: BatchExecuteStatement, so BulkLoad without Overwrite, and migrations", func(l *lab) error {
		_, err := l.BatchExecuteStatement(l.Context(),
			&dynamodb.BatchExecuteStatementInput{
				Statements: []types.BatchStatementRequest{{Statement: aws.String("SELECT * FROM lab")}},
			})
		return err
	}},
	{"exports: ExportTableToPointInTime", func(l *lab) error {
		_, err := l.ExportTableToPointInTime(l.Context(),
			&dynamodb.ExportTableToPointInTimeInput{
				TableArn: aws.String("arn:aws:dynamodb:us-east-1:1:table/lab"),
				S3Bucket: aws.String("b"),
			})
		return err
	}},
	{"backups: DescribeContinuousBackups", func(l *lab) error {
		_, err := l.DescribeContinuousBackups(l.Context(), &dynamodb.DescribeContinuousBackupsInput{TableName: l.table})
		return err
	}},
	{"parameters of before expressions: Expected, QueryFilter, AttributesToGet", func(l *lab) error {
		_, err := l.PutItem(l.Context(), &dynamodb.PutItemInput{
			TableName: l.table, Item: keyed("p", "1"),
			Expected: map[string]types.ExpectedAttributeValue{"PK": {Exists: aws.Bool(false)}},
		})
		return err
	}},
	{"streams", func(l *lab) error {
		_, err := l.CreateTable(l.Context(), &dynamodb.CreateTableInput{
			TableName: aws.String("streamed"), AttributeDefinitions: definitions("PK:S", "SK:S"),
			KeySchema: schema("PK", "SK"), BillingMode: types.BillingModePayPerRequest,
			StreamSpecification: &types.StreamSpecification{
				StreamEnabled:  aws.Bool(true),
				StreamViewType: types.StreamViewTypeNewImage,
			},
		})
		return err
	}},
}

func TestMissing(t *testing.T) {
	for _, m := range missing {
		t.Run(m.name, func(t *testing.T) {
			err := m.call(newLab(t, memory(t), "lab"))
			if err == nil || !strings.Contains(err.Error(), "minidyn, the embedded engine, ") ||
				!strings.Contains(err.Error(), "docs/testing.md") {
				t.Error(err)
			}
		})
	}
	t.Run("an error in place of a panic", func(t *testing.T) {
		l := newLab(t, memory(t), "lab")
		for range 2 { // the second finds no lock held
			if _, err := l.query(func(in *dynamodb.QueryInput) {
				in.IndexName = aws.String("none")
			}); outcome(err) != "ValidationException" {
				t.Error(err)
			}
		}
	})
	t.Run("REMOVE behind a placeholder of its name", func(t *testing.T) {
		l := newLab(t, memory(t), "lab")
		l.put(keyed("p", "1", "a", str("1"), "b", str("2")))
		l.update("SET a = :remove REMOVE b", "", attributes{":remove": str("3")})
		if l.has("a") != "3" || l.has("b") != "no attribute" {
			t.Error(l.has("a"), l.has("b"))
		}
	})
	t.Run("a Scan behind a deleted item", func(t *testing.T) {
		l := newLab(t, memory(t), "lab")
		l.put(keyed("p", "3"))
		out, err := l.Scan(l.Context(), &dynamodb.ScanInput{TableName: l.table, ExclusiveStartKey: keyed("p", "2")})
		if err != nil || len(out.Items) != 1 {
			t.Error(out, err)
		}
	})
	t.Run("consumed capacity", func(t *testing.T) {
		traits, err := memory(t).Traits()
		if err != nil || !traits.Capacity || !traits.Transactions || !traits.Misses {
			t.Error(traits, err)
		}
	})
}

// The tables of docs/testing.md are those of this file.
func TestPageListsDifferences(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if _, code, _ := strings.Cut(string(example), ")\n\n"); !strings.Contains(string(page), code) {
		t.Error("docs/testing.md does not show TestInsertTwice of example_test.go")
	}
	for _, w := range wrong {
		if row := fmt.Sprintf("| %s | %s | %s |", w.name, w.minidyn, w.dynamoDB); !slices.Contains(lines, row) {
			t.Error("docs/testing.md lacks the row", row)
		}
	}
	for _, m := range missing {
		if row := "- " + m.name; !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, row) }) {
			t.Error("docs/testing.md lacks the line", row)
		}
	}
}

// memory is Memory, with the additions that tests of engines need.
func memory(t testing.TB) *engines.Engine {
	return engines.At(engines.Minidyn, Memory(t).Endpoint)
}
