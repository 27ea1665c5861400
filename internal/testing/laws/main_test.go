package laws

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

func TestMain(m *testing.M) { testengine.Run(m) }

type attributes = map[string]types.AttributeValue

// must fails the test at an error.
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// store is a mapper of a model, and its table, which has string keys PK and SK.
type store[T any] struct {
	testing.TB
	*mapper.Mapper[T]
	client *dynamodb.Client
	table  string
}

// open returns a store with a table of its own.
func open[T any](t testing.TB, options ...mapper.Option) *store[T] {
	t.Helper()
	s := &store[T]{TB: t, client: testengine.Start(t).Client(), table: testengine.Table(t, "PK:S", "SK:S")}
	s.Mapper = must(mapper.New[T](s.client, append(options, mapper.Table(s.table))...))(t)
	return s
}

// put stores an item as another program does.
func (s *store[T]) put(pk, sk string, a attributes) {
	s.Helper()
	it := attributes{"PK": text(pk), "SK": text(sk)}
	for name, v := range a {
		it[name] = v
	}
	must(s.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &s.table, Item: it}))(s)
}

// get returns a stored item without its keys.
func (s *store[T]) get(pk, sk string) attributes {
	s.Helper()
	out := must(s.client.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &s.table, Key: attributes{"PK": text(pk), "SK": text(sk)},
	}))(s)
	delete(out.Item, "PK")
	delete(out.Item, "SK")
	return out.Item
}

// want fails the test unless an attribute of a stored item is v, nil for none.
func (s *store[T]) want(pk, sk, name string, v types.AttributeValue) {
	s.Helper()
	if got := s.get(pk, sk)[name]; (got == nil) != (v == nil) || v != nil && !attr.Same(got, v) {
		s.Errorf("%s %s: %s is stored as %s, not as %s", pk, sk, name, show(got), show(v))
	}
}

// load reads an entity.
func (s *store[T]) load(args ...any) *mapper.Entity[T] {
	s.Helper()
	return must(s.Load(context.Background(), s.Key(args...), mapper.Strong()))(s)
}

// save saves an entity.
func (s *store[T]) save(e *mapper.Entity[T], options ...mapper.WriteOption) {
	s.Helper()
	must(s.Save(context.Background(), e, options...))(s)
}

// refuses fails the test unless a save of an entity is a ValueError.
func (s *store[T]) refuses(e *mapper.Entity[T], options ...mapper.WriteOption) {
	s.Helper()
	_, err := s.Save(context.Background(), e, options...)
	if v := new(mapper.ValueError); !errors.As(err, &v) {
		s.Errorf("no ValueError: %v", err)
		return
	}
	s.Log(err)
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
func null() types.AttributeValue           { return &types.AttributeValueMemberNULL{Value: true} }
func list(all ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: all}
}
func object(a attributes) types.AttributeValue { return &types.AttributeValueMemberM{Value: a} }
func numbers(all ...string) types.AttributeValue {
	return &types.AttributeValueMemberNS{Value: all}
}

func show(v types.AttributeValue) string {
	if v == nil {
		return "nothing"
	}
	b, err := attributevalue.MarshalMapJSON(attributes{"v": v})
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func scanOf(table string) *dynamodb.ScanInput { return &dynamodb.ScanInput{TableName: &table} }
