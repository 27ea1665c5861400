package read_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

func tableOf(p selection.Part) *item.Table { return []*item.Table{main, side}[p.Table] }

// reader reads plain items, of no model.
func reader(c *Client) *read.Reader {
	return &read.Reader{
		Client: c, Label: "Thing", TableOf: tableOf,
		Describe: func(t *item.Table, items []item.Attributes) ([]item.Image, error) {
			var images []item.Image
			for _, a := range items {
				pk, okPK := attr.ScalarOf(a["PK"])
				sk, okSK := attr.ScalarOf(a["SK"])
				if !okPK || !okSK {
					return nil, fmt.Errorf("an item without a key")
				}
				images = append(images,
					item.Image{Place: item.Place{Table: t, PK: pk, SK: sk}, Arguments: a, Size: attr.ItemSize(a)})
			}
			return images, nil
		},
	}
}

func sized(sk string, bytes int) item.Attributes {
	a := Item("p", sk, nil)
	a["x"] = S(strings.Repeat("x", bytes-attr.ItemSize(a)-1))
	return a
}

// A range becomes a Query with its key condition, direction, limit and filter.
func TestInput(t *testing.T) {
	start := Text("s")
	for _, c := range []struct {
		name string
		r    selection.Range
		o    read.Options
		want string
	}{
		{"all", selection.Range{Kind: selection.All}, read.Options{}, "PK = 'p'"},
		{"one", one("a"), read.Options{}, "PK = 'p' AND SK = 'a'"},
		{"a prefix", prefix("a"), read.Options{Strong: true}, "PK = 'p' AND begins_with(SK, 'a') strong"},
		{"between", between("a", "b"), read.Options{Reverse: true}, "PK = 'p' AND SK BETWEEN 'a' AND 'b' reverse"},
		{"limited", prefix("a"), read.Options{Limit: 7}, "PK = 'p' AND begins_with(SK, 'a') limit 7"},
		{"from a key", prefix("a"), read.Options{Start: &start}, "PK = 'p' AND begins_with(SK, 'a') from s"},
		{
			"filtered", prefix("a"),
			read.Options{Expr: &read.Expression{
				Filter: aws.String("#0 = :0"), Projection: aws.String("#1"), Names: map[string]string{
					"#0": "n",
					"#1": "m",
				}, Values: item.Attributes{":0": N("1")},
			}},
			"PK = 'p' AND begins_with(SK, 'a') filter n = 1 project m",
		},
	} {
		in := reader(nil).Input(selection.Part{Partition: In(Text("p")), Range: c.r}, c.o)
		if err := CheckInput(in); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := KeyCondition(in)
		if *in.ConsistentRead {
			got += " strong"
		}
		if in.ScanIndexForward != nil && !*in.ScanIndexForward {
			got += " reverse"
		}
		if in.Limit != nil {
			got += fmt.Sprintf(" limit %d", *in.Limit)
		}
		if in.ExclusiveStartKey != nil {
			got += " from " + in.ExclusiveStartKey["SK"].(*types.AttributeValueMemberS).Value
		}
		if in.FilterExpression != nil {
			got += " filter " + Expand(*in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
			got += " project " + Expand(*in.ProjectionExpression, in.ExpressionAttributeNames, nil)
		}
		if got != c.want || *in.TableName != "main" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// A query reads all pages, and knows for each item which answer contained it.
func TestQueryPages(t *testing.T) {
	c := &Client{Answers: []Answer{
		Page("a2", sized("a1", 100), sized("a2", 5000)), Page("a3"), Page("", sized("a4", 100)),
	}}
	var u read.Usage
	found, err := collect(context.Background(), reader(c), ranges(prefix("a")), read.Options{}, &u)
	if err != nil || len(found) != 3 {
		t.Fatalf("%d items: %v", len(found), err)
	}
	if found[0].Answer != 1 || found[1].Answer != 1 || found[2].Answer != 3 {
		t.Errorf("answers %d, %d, %d", found[0].Answer, found[1].Answer, found[2].Answer)
	}
	for i, want := range []string{"", "a2", "a3"} {
		start := c.Calls()[i].Input.(*dynamodb.QueryInput).ExclusiveStartKey
		if want == "" && start != nil || want != "" && Show(start["SK"]) != "'"+want+"'" {
			t.Errorf("the query %d begins at %v", i, start)
		}
	}
	// 5,100 bytes, none and 100, each half of the units begun.
	if u.Requests != 3 || u.Predicted != cost.Exactly(2) {
		t.Errorf("%+v", u)
	}
}

// What a filter hides is charged for as well, so that the price is a bound.
func TestQueryFiltered(t *testing.T) {
	c := &Client{Answers: []Answer{
		{Out: &dynamodb.QueryOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(12)}}},
	}}
	var u read.Usage
	o := read.Options{
		Strong: true,
		Expr:   &read.Expression{Projection: aws.String("#0"), Names: map[string]string{"#0": "n"}},
	}
	if _, err := collect(context.Background(), reader(c), ranges(one("a")), o, &u); err != nil {
		t.Fatal(err)
	}
	if u.Predicted.Min != 1 || u.Predicted.Max != 356 || u.Consumed != 12 || c.Names()[0] != "Query" {
		t.Errorf("%+v", u)
	}
}

// One item is read by GetItem, strongly where that is asked for; nothing there is nothing
// found, at the price of a small item.
func TestGet(t *testing.T) {
	c := &Client{Answers: []Answer{
		Stored(sized("a", 5000)), Stored(nil), Stored(sized("a", 5000)), Stored(nil),
	}}
	r := reader(c)
	var u read.Usage
	for _, want := range []int{1, 0} {
		found, err := collect(context.Background(), r, ranges(one("a")), read.Options{}, &u)
		if err != nil || len(found) != want {
			t.Errorf("%d items: %v", len(found), err)
		}
	}
	if u.Requests != 2 || u.Predicted != cost.Exactly(1.5) {
		t.Errorf("%+v", u)
	}
	at := item.Place{Table: side, PK: Text("p"), SK: Text("a")}
	for _, there := range []bool{true, false} {
		f, err := r.One(context.Background(), at, read.Options{Strong: true}, &u)
		if err != nil || (f != nil) != there || there && !f.Is(at) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	in := c.Calls()[2].Input.(*dynamodb.GetItemInput)
	if !*in.ConsistentRead || *in.TableName != "side" || *c.Calls()[0].Input.(*dynamodb.GetItemInput).ConsistentRead {
		t.Errorf("read: %+v", in)
	}
}

// batch answers a BatchGetItem: the items of the main table, and the keys that are left.
func batch(left []string, found ...item.Attributes) Answer {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]item.Attributes{"main": found}}
	if len(left) > 0 {
		var keys []item.Attributes
		for _, sk := range left {
			keys = append(keys, Item("p", sk, nil))
		}
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{"main": {Keys: keys}}
	}
	return Answer{Out: out}
}

// Several items are read with BatchGetItem, and are returned in order of their keys. Keys that an
// answer leaves unprocessed are requested again. A missing item costs as much as a small item.
func TestBatch(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &Client{Answers: []Answer{
				batch([]string{"a", "d"}, sized("c", 100)), batch([]string{"d"}, sized("a", 5000)),
				batch(nil, sized("d", 100)),
			}}
			var u read.Usage
			parts := ranges(one("d"), one("a"), one("b"), one("c"), one("a"))
			got, err := keysOf(read.Pages(context.Background(), reader(c), parts,
				read.Options{Reverse: reverse, Strong: true}, &u))
			if want := map[bool]string{false: "a c d", true: "d c a"}[reverse]; err != nil || got != want {
				t.Errorf("%s: %v", got, err)
			}
			if u.Requests != 3 || u.Predicted != cost.Exactly(1+2+1+1) {
				t.Errorf("%+v", u)
			}
			first := c.Calls()[0].Input.(*dynamodb.BatchGetItemInput).RequestItems["main"]
			if len(first.Keys) != 4 || !*first.ConsistentRead {
				t.Errorf("asked for %d keys", len(first.Keys))
			}
			if last := c.Calls()[2].Input.(*dynamodb.BatchGetItemInput).RequestItems["main"]; len(last.Keys) != 1 {
				t.Errorf("asked again for %d keys", len(last.Keys))
			}
		})
	}
}

// A batch takes a hundred keys at most.
func TestBatchOfMany(t *testing.T) {
	var all []selection.Range
	for i := range 150 {
		all = append(all, one(fmt.Sprintf("%03d", i)))
	}
	c := &Client{Answers: []Answer{batch(nil, sized("007", 100)), batch(nil, sized("120", 100))}}
	var u read.Usage
	got, err := keysOf(read.Merged(context.Background(), reader(c), ranges(all...), read.Options{}, &u))
	if err != nil || got != "007 120" || u.Requests != 2 || u.Predicted != cost.Exactly(75) {
		t.Errorf("%s: %+v %v", got, u, err)
	}
	if n := len(c.Calls()[1].Input.(*dynamodb.BatchGetItemInput).RequestItems["main"].Keys); n != 50 {
		t.Errorf("%d keys in the second", n)
	}
}

// Items of several tables come from one batch.
func TestBatchOfTables(t *testing.T) {
	c := &Client{Answers: []Answer{{Out: &dynamodb.BatchGetItemOutput{Responses: map[string][]item.Attributes{
		"main": {sized("a", 100)}, "side": {sized("a", 100), sized("b", 100)},
	}}}}}
	parts := append(ranges(one("a")), selection.Part{Table: 1, Partition: In(Text("p")), Range: one("b")},
		selection.Part{Table: 1, Partition: In(Text("p")), Range: one("a")})
	found, err := collect(context.Background(), reader(c), parts, read.Options{}, &read.Usage{})
	if err != nil || len(found) != 3 || found[0].Table != main || found[1].Table != side || found[2].SK.Text != "b" {
		t.Errorf("%+v %v", found, err)
	}
}

// A batch whose keys stay unprocessed ends with its context.
func TestBatchContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		left := batch([]string{"a", "b"})
		left.Do = func(Call) { cancel() }
		_, err := collect(ctx, reader(&Client{Answers: []Answer{left}}), ranges(one("a"), one("b")), read.Options{},
			&read.Usage{})
		if err == nil || err.Error() != "Thing: DynamoDB throttled the batch: raise the read capacity of the table, "+
			"or load fewer entities at once: context canceled" {
			t.Error(err)
		}
	})
}

// An empty range asks for nothing.
func TestNothingToRead(t *testing.T) {
	c := &Client{}
	found, err := collect(context.Background(), reader(c), ranges(selection.Range{Kind: selection.None}),
		read.Options{}, &read.Usage{})
	if err != nil || len(found) > 0 || len(c.Calls()) > 0 {
		t.Errorf("%v %v %v", found, err, c.Names())
	}
}

// Errors name the model and the table, whatever the call; a failed call is counted.
func TestReadErrors(t *testing.T) {
	missing := Answer{Err: &types.ResourceNotFoundException{}}
	want := `Thing: the table "main" does not exist in this account and Region: create it`
	for name, parts := range map[string][]selection.Part{
		"GetItem":      ranges(one("a")),
		"BatchGetItem": ranges(one("a"), one("b")), "Query": ranges(prefix("a")),
	} {
		var u read.Usage
		_, err := collect(context.Background(), reader(&Client{Answers: []Answer{missing}}), parts, read.Options{}, &u)
		if err == nil || !strings.HasPrefix(err.Error(), want) || u.Requests != 1 {
			t.Errorf("%s: %v, %d requests", name, err, u.Requests)
		}
	}
	odd := item.Attributes{"PK": S("p"), "SK": Bool(true)}
	for name, c := range map[string]struct {
		parts  []selection.Part
		answer Answer
	}{
		"GetItem": {ranges(one("a")), Stored(odd)}, "BatchGetItem": {ranges(one("a"), one("b")), batch(nil, odd)},
		"Query": {ranges(prefix("a")), Page("", odd)},
	} {
		if _, err := collect(context.Background(), reader(&Client{Answers: []Answer{c.answer}}), c.parts,
			read.Options{}, &read.Usage{}); err == nil || err.Error() != "an item without a key" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A part of a table without a sort key is one item.
func TestTableWithoutSortKey(t *testing.T) {
	r := reader(nil)
	r.TableOf = func(selection.Part) *item.Table { return &item.Table{Name: "alone", Hash: "id"} }
	in := r.Input(selection.Part{
		Partition: In(key.Scalar{Type: 'N', Text: "7"}),
		Range:     selection.Range{Kind: selection.One},
	}, read.Options{})
	if err := CheckInput(in); err != nil || KeyCondition(in) != "id = 7" {
		t.Errorf("%s: %v", KeyCondition(in), err)
	}
}

// Items that were read ahead are returned once. A second read, because the first ones were of different
// moments, asks DynamoDB.
func TestAheadRetries(t *testing.T) {
	c := &Client{Answers: []Answer{batch(nil, sized("a", 100)), batch(nil, sized("a", 100), sized("b", 100))}}
	parts := ranges(one("a"), one("b"))
	var u read.Usage
	early, err := reader(c).Batches(context.Background(), [][]selection.Part{parts}, 1, read.Options{}, &u)
	if err != nil {
		t.Fatal(err)
	}
	ahead := &read.Ahead{Reader: reader(c), Early: early}
	for i, want := range []string{"a", "a b"} {
		got, err := keysOf(read.Pages(context.Background(), ahead, parts, read.Options{}, &u))
		if err != nil || got != want || len(c.Calls()) != i+1 {
			t.Errorf("reading %d: %q after %d calls, want %q: %v", i, got, len(c.Calls()), want, err)
		}
	}
}
