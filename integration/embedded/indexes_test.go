package embedded

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// numbered is a table with a sort key of type N, and indexes with each projection.
func numbered(name string) *dynamodb.CreateTableInput {
	projected := func(index string, keys []types.KeySchemaElement, p types.ProjectionType,
		more ...string,
	) types.GlobalSecondaryIndex {
		return types.GlobalSecondaryIndex{
			IndexName: &index, KeySchema: keys,
			Projection: &types.Projection{ProjectionType: p, NonKeyAttributes: more},
		}
	}
	local := projected("local", schema("PK", "K"), types.ProjectionTypeInclude, "A")
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: schema("PK", "SK"),
		AttributeDefinitions: definitions("PK:S", "SK:N", "G:S", "K:N", "H:N", "T:S"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			projected("all", schema("G", "K"), types.ProjectionTypeAll),
			projected("keys", schema("H", "T"), types.ProjectionTypeKeysOnly),
			projected("some", schema("G", "SK"), types.ProjectionTypeInclude, "A"),
			projected("sole", schema("T", "SK")[:1], types.ProjectionTypeAll),
		},
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
			IndexName: local.IndexName, KeySchema: local.KeySchema, Projection: local.Projection,
		}},
	}
}

// twins are the same table on minidyn and on another engine.
type twins struct {
	*testing.T
	*rand.Rand
	labs  [2]*lab
	exact bool // the other engine pages through indexes as DynamoDB does
}

func newTwins(t *testing.T) *twins {
	seed := draws.Seed(t)
	w := &twins{T: t, Rand: rand.New(rand.NewPCG(seed, 0))}
	for i, e := range []*engines.Engine{memory(t), testengine.Start(t)} {
		name := fmt.Sprintf("numbered%d", os.Getpid())
		if _, err := e.Client().CreateTable(t.Context(), numbered(name)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.DeleteTable(context.Background(), name) })
		w.exact = e.Name == engines.Dynoxide
		w.labs[i] = &lab{t, e.Client(), &name}
	}
	return w
}

func (w *twins) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *twins) number() types.AttributeValue {
	return num(w.pick("-10", "-2", "0", "0.5", "1", "1.0", "2", "10", "1E2", "9", "-0.25"))
}

func (w *twins) key() attributes { return attributes{"PK": str(w.pick("p", "q")), "SK": w.number()} }

// values draws attributes, some of which are keys of indexes. A few have a type that an index refuses.
func (w *twins) values() attributes {
	a := attributes{}
	for name, draw := range map[string]func() types.AttributeValue{
		"G": func() types.AttributeValue { return str(w.pick("g", "h")) }, "K": w.number, "H": w.number,
		"T": func() types.AttributeValue { return str(w.pick("a", "ab", "b")) },
		"A": func() types.AttributeValue { return str(strings.Repeat("x", w.IntN(3000))) },
		"B": w.number,
	} {
		if w.IntN(3) > 0 {
			a[name] = draw()
		}
	}
	if w.IntN(20) == 0 {
		a[w.pick("G", "K")] = &types.AttributeValueMemberBOOL{Value: true}
	}
	return a
}

// write draws a write of one item.
func (w *twins) write(table *string, k attributes) types.TransactWriteItem {
	var condition *string
	if w.IntN(4) == 0 {
		condition = aws.String(w.pick("attribute_exists(PK)", "attribute_not_exists(PK)", "attribute_exists(K)"))
	}
	values := w.values()
	switch w.IntN(4) {
	case 0:
		return types.TransactWriteItem{Delete: &types.Delete{TableName: table, Key: k, ConditionExpression: condition}}
	case 1:
		maps.Copy(values, k)
		return types.TransactWriteItem{Put: &types.Put{TableName: table, Item: values, ConditionExpression: condition}}
	}
	var set, remove []string
	placed := attributes{}
	for _, name := range []string{"G", "K", "H", "T", "A", "B"} {
		if v := values[name]; v != nil {
			set, placed[":"+name] = append(set, name+" = :"+name), v
		} else if w.IntN(2) == 0 {
			remove = append(remove, name)
		}
	}
	update := "SET C = :C"
	placed[":C"] = num("1")
	update = strings.Join(append([]string{update}, set...), ", ")
	if len(remove) > 0 {
		update += " REMOVE " + strings.Join(remove, ", ")
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: table, Key: k, ConditionExpression: condition, UpdateExpression: &update,
		ExpressionAttributeValues: placed,
	}}
}

// send sends a write to one engine, alone or in a transaction.
func (l *lab) send(writes []types.TransactWriteItem, alone bool) (string, any) {
	var err error
	var charged []types.ConsumedCapacity
	const indexes = types.ReturnConsumedCapacityIndexes
	switch x := writes[0]; {
	case !alone:
		var out *dynamodb.TransactWriteItemsOutput
		if out, err = l.TransactWriteItems(l.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: writes, ReturnConsumedCapacity: indexes,
		}); err == nil {
			charged = out.ConsumedCapacity
		}
	case x.Put != nil:
		var out *dynamodb.PutItemOutput
		if out, err = l.PutItem(l.Context(), &dynamodb.PutItemInput{
			TableName: l.table, Item: x.Put.Item, ConditionExpression: x.Put.ConditionExpression,
			ReturnConsumedCapacity: indexes,
		}); err == nil {
			charged = append(charged, *out.ConsumedCapacity)
		}
	case x.Delete != nil:
		var out *dynamodb.DeleteItemOutput
		if out, err = l.DeleteItem(l.Context(), &dynamodb.DeleteItemInput{
			TableName: l.table, Key: x.Delete.Key, ConditionExpression: x.Delete.ConditionExpression,
			ReturnConsumedCapacity: indexes,
		}); err == nil {
			charged = append(charged, *out.ConsumedCapacity)
		}
	default:
		var out *dynamodb.UpdateItemOutput
		if out, err = l.UpdateItem(l.Context(), &dynamodb.UpdateItemInput{
			TableName: l.table, Key: x.Update.Key, ConditionExpression: x.Update.ConditionExpression,
			UpdateExpression: x.Update.UpdateExpression, ExpressionAttributeValues: x.Update.ExpressionAttributeValues,
			ReturnConsumedCapacity: indexes,
		}); err == nil {
			charged = append(charged, *out.ConsumedCapacity)
		}
	}
	return outcome(err), charges(charged)
}

// charges returns the units of a request by index.
func charges(all []types.ConsumedCapacity) map[string]float64 {
	out := map[string]float64{}
	for _, c := range all {
		out["total"] += *c.CapacityUnits
		for _, indexes := range []map[string]types.Capacity{c.GlobalSecondaryIndexes, c.LocalSecondaryIndexes} {
			for name, one := range indexes {
				if *one.CapacityUnits > 0 {
					out[name] += *one.CapacityUnits
				}
			}
		}
	}
	return out
}

// question draws a query of the table or of an index.
func (w *twins) question() *dynamodb.QueryInput {
	index, hash, sort := "", "PK", "SK"
	switch w.IntN(6) {
	case 0:
		index, hash, sort = "all", "G", "K"
	case 1:
		index, hash, sort = "keys", "H", "T"
	case 2:
		index, hash, sort = "some", "G", "SK"
	case 3:
		index, hash, sort = "sole", "T", ""
	case 4:
		index, hash, sort = "local", "PK", "K"
	}
	draw := func(key string) types.AttributeValue {
		if key == "T" {
			return str(w.pick("a", "ab", "b"))
		}
		return w.number()
	}
	in := &dynamodb.QueryInput{
		ExpressionAttributeNames:  map[string]string{"#h": hash},
		ExpressionAttributeValues: attributes{":h": draw(hash)}, KeyConditionExpression: aws.String("#h = :h"),
		ScanIndexForward: aws.Bool(w.IntN(2) == 0), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	}
	if index != "" {
		in.IndexName = &index
	}
	switch hash {
	case "PK":
		in.ExpressionAttributeValues[":h"] = str(w.pick("p", "q"))
	case "G":
		in.ExpressionAttributeValues[":h"] = str(w.pick("g", "h"))
	}
	if sort != "" && w.IntN(3) > 0 {
		operators := []string{"= :x", "< :x", "<= :x", "> :x", ">= :x", "BETWEEN :x AND :y"}
		condition := "#s " + operators[w.IntN(len(operators))]
		if sort == "T" && w.IntN(2) == 0 {
			condition = "begins_with(#s, :x)"
		}
		in.ExpressionAttributeNames["#s"], in.ExpressionAttributeValues[":x"] = sort, draw(sort)
		if strings.Contains(condition, ":y") {
			in.ExpressionAttributeValues[":y"] = draw(sort)
		}
		in.KeyConditionExpression = aws.String("(#h = :h) AND (" + condition + ")")
	}
	// of other attributes only DynamoDB Local refuses a filter (TestFiltersNameWhatIndexesHave)
	filters := map[string][]string{
		"": {"attribute_exists(G)", "B > :f"}, "all": {"attribute_exists(A)", "attribute_not_exists(T)"},
		"some": {"attribute_exists(A)"}, "local": {"attribute_exists(A)"}, "sole": {"K > :f", "B IN (:f)"},
	}[index]
	if len(filters) > 0 && w.IntN(3) == 0 {
		in.FilterExpression = aws.String(w.pick(filters...))
		if strings.Contains(*in.FilterExpression, ":f") {
			in.ExpressionAttributeValues[":f"] = num("2")
		}
	}
	// DynamoDB Local loses items of an index between two pages if their keys in the index are equal.
	if w.IntN(2) == 0 && (index == "" || w.exact) {
		in.Limit = aws.Int32(1 + w.Int32N(4))
	}
	return in
}

// pages is everything that a query answers.
type pages struct {
	Items  []attributes
	Counts []int32
	Units  []float64 // of the table and of the index, if items were read
	Last   []string  // the attributes of each LastEvaluatedKey
	Err    string
}

func (l *lab) ask(in dynamodb.QueryInput) (p pages) {
	in.TableName = l.table
	for range 100 {
		out, err := l.Query(l.Context(), &in)
		if err != nil {
			// both engines refuse an interval whose ends are in the wrong order, or neither
			p.Err = outcome(err)
			return p
		}
		if out.ScannedCount > 0 { // DynamoDB Local does not charge others
			p.Units = append(p.Units, *out.ConsumedCapacity.CapacityUnits, units(out.ConsumedCapacity))
		}
		p.Items = append(p.Items, out.Items...)
		p.Counts = append(p.Counts, out.ScannedCount)
		p.Last = append(p.Last, strings.Join(slices.Sorted(maps.Keys(out.LastEvaluatedKey)), " "))
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	// DynamoDB Local does not return a key after the last item, as DynamoDB does if the limit is reached there.
	if n := len(p.Counts); n > 1 && p.Counts[n-1] == 0 {
		p.Counts, p.Last = p.Counts[:n-1], append(p.Last[:n-2], "")
	}
	return p
}

// units returns what a query took in its index.
func units(c *types.ConsumedCapacity) float64 {
	for _, all := range []map[string]types.Capacity{c.GlobalSecondaryIndexes, c.LocalSecondaryIndexes} {
		for _, one := range all {
			return *one.CapacityUnits
		}
	}
	return 0
}

// untie orders items whose keys in the index are equal: DynamoDB promises no order.
func untie(items []attributes, sort string) {
	at := 0
	for i := 1; i <= len(items); i++ {
		if i == len(items) || !gocmp.Equal(items[i][sort], items[at][sort], values) {
			slices.SortFunc(items[at:i], func(a, b attributes) int {
				return cmp.Compare(place(a), place(b))
			})
			at = i
		}
	}
}

func place(a attributes) string {
	sk := a["SK"].(*types.AttributeValueMemberN).Value
	return a["PK"].(*types.AttributeValueMemberS).Value + " " + attr.Canonical(sk)
}

var values = gocmp.Comparer(attr.Same)

// Queries of tables and indexes answer what another engine answers, after any writes.
func TestIndexesFollowWritesAsOnOtherEngines(t *testing.T) {
	w := newTwins(t)
	for range draws.Times(300, 1000, 30_000) {
		alone := w.IntN(3) > 0
		writes := []types.TransactWriteItem{w.write(w.labs[0].table, w.key())}
		if !alone {
			k := attributes{"PK": str("r"), "SK": w.number()}
			writes = append(writes, w.write(w.labs[0].table, k))
		}
		a, chargedA := w.labs[0].send(writes, alone)
		b, chargedB := w.labs[1].send(writes, alone)
		if d := gocmp.Diff(chargedB, chargedA); d != "" && w.exact {
			t.Fatalf("a write in a transaction %v (-other +minidyn):\n%s%+v", !alone, d, writes)
		}
		if a != b && (alone || a == "accepted" || b == "accepted") { // refused transactions have several codes
			t.Fatalf("a write: minidyn %s, the other engine %s: %+v", a, b, writes)
		}
		in := w.question()
		p, q := w.labs[0].ask(*in), w.labs[1].ask(*in)
		sort := map[string]string{"": "SK", "all": "K", "keys": "T", "some": "SK", "local": "K", "sole": ""}
		for _, p := range []pages{p, q} {
			untie(p.Items, sort[aws.ToString(in.IndexName)])
		}
		if d := gocmp.Diff(q, p, values); d != "" {
			t.Fatalf("%s %s limit %d filter %s (-other +minidyn):\n%s", aws.ToString(in.IndexName),
				*in.KeyConditionExpression, aws.ToInt32(in.Limit), aws.ToString(in.FilterExpression), d)
		}
	}
}

// A filter that names an attribute which the index does not have, or a key of it, is refused.
func TestFiltersNameWhatIndexesHave(t *testing.T) {
	e := testengine.Start(t)
	for _, l := range newTwins(t).labs[:] {
		for _, q := range []struct{ index, filter string }{
			{"keys", "attribute_exists(A)"},
			{"some", "attribute_exists(B)"},
			{"local", "size(G) > :h"},
			{"keys", "begins_with(T, :t)"},
		} {
			in := &dynamodb.QueryInput{
				TableName: l.table, IndexName: &q.index, FilterExpression: &q.filter,
				KeyConditionExpression: aws.String("#h = :h"), ExpressionAttributeNames: map[string]string{"#h": "H"},
				ExpressionAttributeValues: attributes{":h": num("1")},
			}
			if q.index != "keys" {
				in.ExpressionAttributeNames["#h"] = map[string]string{"some": "G", "local": "PK"}[q.index]
				in.ExpressionAttributeValues[":h"] = str("g")
			}
			if strings.Contains(q.filter, ":t") {
				in.ExpressionAttributeValues[":t"] = str("t")
			}
			_, err := l.Query(t.Context(), in)
			if outcome(err) != "ValidationException" && e.Name != engines.Dynoxide {
				t.Error(q, err)
			}
		}
	}
}
