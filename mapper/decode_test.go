package mapper_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Items of every state, and of no model, are distinguished.
func TestDecode(t *testing.T) {
	t.Parallel()
	m := must(mapper.New[account](failingClient{}))(t)
	stage := func(state string) *types.AttributeValueMemberM {
		return &types.AttributeValueMemberM{Value: item{
			"state": s(state),
			"since": &types.AttributeValueMemberN{Value: "1"},
		}}
	}
	mark := &types.AttributeValueMemberBOOL{Value: true}
	b := &types.AttributeValueMemberB{Value: []byte("x")}
	for name, c := range map[string]struct {
		item  item
		state string
		field string
		want  *account
	}{
		"root": {
			item{
				"PK": s("ACCOUNT#1"), "SK": s("HEAD"),
				"Counter": &types.AttributeValueMemberN{Value: "3"}, "_a": b,
			},
			"live", "Counter",
			&account{ID: "1", Counter: 3},
		},
		"element": {
			item{"PK": s("ACCOUNT#1"), "SK": s("ENTRY#0007"), "Text": s("x")},
			"live", "Entries",
			&account{ID: "1", Entries: []part{{7, "x"}}},
		},
		"entry": {
			item{"PK": s("ACCOUNT#1"), "SK": s("FLAG#a"), "Flags": mark},
			"live", "Flags",
			&account{ID: "1", Flags: map[string]bool{"a": true}},
		},
		"claim": {
			item{"PK": s("ACCOUNT#1"), "SK": s("HEAD"), "_s": stage("inserting")},
			"staged", "Counter",
			&account{ID: "1"},
		},
		"live": {
			item{"PK": s("ACCOUNT#1"), "SK": s("HEAD"), "_s": stage("live")},
			"live", "Counter",
			&account{ID: "1"},
		},
		"marked": {
			item{"PK": s("ACCOUNT#1"), "SK": s("HEAD"), "_s": stage("deleting")},
			"deleting", "Counter",
			&account{ID: "1"},
		},
		"staged": {
			item{"PK": s("ACCOUNT#1"), "SK": s("LEFT"), "Left": s("x"), "_s": mark, "_a": b},
			"staged", "Left",
			&account{ID: "1", Left: "x"},
		},
		"no sort key":  {item{"PK": s("ACCOUNT#1"), "SK": s("OTHER")}, "unknown", "", nil},
		"no partition": {item{"PK": s("USER#1"), "SK": s("HEAD")}, "unknown", "", nil},
		"no string":    {item{"PK": b, "SK": s("HEAD")}, "unknown", "", nil},
	} {
		d, err := m.Decode(c.item)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.State != c.state || d.Field != c.field || !cmp.Equal(d.Value, c.want, accountOptions) ||
			d.Root != (c.field == "Counter") {
			t.Errorf("%s: %+v %+v", name, d, d.Value)
		}
	}
	for text, c := range map[string]struct {
		item    item
		options []mapper.DecodeOption
	}{
		"the item's key matches no table of the model: accounts (PK, SK)": {item{"id": s("1")}, nil},
		"lacks the key attribute \"SK\"": {
			item{"PK": s("ACCOUNT#1")},
			[]mapper.DecodeOption{mapper.InTable("accounts")},
		},
		"the model has no table \"others\"": {
			item{"PK": s("ACCOUNT#1"), "SK": s("HEAD")},
			[]mapper.DecodeOption{mapper.InTable("others")},
		},
		"attribute \"Counter\"": {item{"PK": s("ACCOUNT#1"), "SK": s("HEAD"), "Counter": s("x")}, nil},
	} {
		if _, err := m.Decode(c.item, c.options...); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := m.DecodeChange(nil, nil); err == nil {
		t.Error("a change of nothing")
	}
}

// Two tables with one shape of key: the item is of the one that is named.
func TestDecodeInTable(t *testing.T) {
	t.Parallel()
	type half struct {
		_    struct{} `ddb:"table=heads"`
		_    struct{} `ddb:"table=tails,hash=PK,range=SK,name=Tails"`
		ID   string   `ddb:"pk=X#{ID}"`
		Name string   `ddb:"sk=A"`
		Tail string   `ddb:"table=tails,sk=A"`
	}
	m := must(mapper.New[half](failingClient{}))(t)
	a := item{"PK": s("X#1"), "SK": s("A"), "Name": s("n"), "Tail": s("t")}
	if _, err := m.Decode(a); err == nil ||
		!strings.Contains(err.Error(), "to the table heads or to tails: name the table with mapper.InTable") {
		t.Errorf("%v", err)
	}
	d := must(m.Decode(a, mapper.InTable("tails")))(t)
	if d.Value.Tail != "t" || d.Value.Name != "" || d.Key.Table != "tails" || d.Root {
		t.Errorf("%+v", d)
	}
}

// Every record of a table's stream decodes to the old and new values that were written, and shows the
// change of its entity.
func TestDecodeStream(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	want := draws.Times(300, 1_500, 20_000)
	table := testengine.Table(t, "PK:S", "SK:S")
	engine := testengine.Start(t)
	client := engine.Client()
	out := must(client.UpdateTable(ctx,
		&dynamodb.UpdateTableInput{TableName: &table, StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		}}))(t)
	m := must(mapper.New[account](client, mapper.Table(table)))(t)
	r := rand.New(rand.NewPCG(7, 7))
	written := writeAccounts(t, m, r, want)
	records := readStream(t, engine, aws.ToString(out.TableDescription.LatestStreamArn), written.records)
	last := map[mapper.Key]*mapper.Decoded[account]{}
	created, deleted := map[string]int{}, map[string]int{}
	for _, rec := range records {
		old := must(attributevalue.FromDynamoDBStreamsMap(rec.OldImage))(t)
		now := must(attributevalue.FromDynamoDBStreamsMap(rec.NewImage))(t)
		c := must(m.DecodeChange(old, now, mapper.InTable(table)))(t)
		d := c.New
		if d == nil {
			d = c.Old
		}
		if was := last[d.Key]; (was == nil) != (c.Old == nil) || was != nil &&
			!cmp.Equal(was.Value, c.Old.Value, accountOptions) {
			t.Fatalf("the old image of %v is %+v, and was written as %+v", d.Key, c.Old, was)
		}
		if d.State == "unknown" || d.Value.ID == "" {
			t.Fatalf("%+v", d)
		}
		switch c.Event {
		case "entityCreated":
			created[d.Value.ID]++
		case "entityDeleted":
			deleted[d.Value.ID]++
		}
		last[d.Key] = c.New
	}
	if !cmp.Equal(created, written.created) || !cmp.Equal(deleted, written.deleted) {
		t.Errorf("%d created and %d deleted, want %d and %d", len(created), len(deleted), len(written.created),
			len(written.deleted))
	}
	t.Logf("%d records", len(records))
	now := map[string]*account{}
	for _, d := range last {
		if d == nil {
			continue
		}
		a := now[d.Value.ID]
		if a == nil {
			a = &account{ID: d.Value.ID, Flags: map[string]bool{}}
			now[d.Value.ID] = a
		}
		a.Counter, a.Left, a.Right = a.Counter+d.Value.Counter, a.Left+d.Value.Left, a.Right+d.Value.Right
		a.Entries = append(a.Entries, d.Value.Entries...)
	}
	for id, a := range now {
		e := must(m.Load(ctx, m.Key(id)))(t)
		if len(e.Value.Entries) != len(a.Entries) || e.Value.Counter != a.Counter || e.Value.Left != a.Left ||
			e.Value.Right != a.Right {
			t.Fatalf("%s: %+v, and its records say %+v", id, e.Value, a)
		}
	}
}

// writing has the writes to a table with a stream.
type writing struct {
	records          int
	created, deleted map[string]int
}

// writeAccounts inserts, changes and deletes accounts, in one transaction or staged.
func writeAccounts(t *testing.T, m *mapper.Mapper[account], r *rand.Rand, records int) writing {
	t.Helper()
	ctx := context.Background()
	w := writing{created: map[string]int{}, deleted: map[string]int{}}
	text := func() string { return strings.Repeat("x", 1+r.IntN(20)) }
	var all []*mapper.Entity[account]
	for id := 0; w.records < records; id++ {
		var options []mapper.WriteOption
		if r.IntN(3) == 0 {
			options = append(options, mapper.Staged())
		}
		var receipt *mapper.Receipt
		switch n := r.IntN(10); {
		case n < 4 || len(all) == 0:
			a := account{
				ID: strconv.Itoa(id), Counter: 1 + r.IntN(9), Left: text(), Right: text(),
				Flags: map[string]bool{},
			}
			for i := range r.IntN(20) {
				a.Entries = append(a.Entries, part{i, text()})
			}
			all = append(all, m.New(a))
			receipt = must(m.Save(ctx, all[len(all)-1], options...))(t)
			w.created[a.ID]++
		case n < 9:
			e := all[r.IntN(len(all))]
			e.Value.Left, e.Value.Entries = text(), append(e.Value.Entries, part{100 + id%9000, text()})
			receipt = must(m.Save(ctx, e))(t)
		default:
			i := r.IntN(len(all))
			receipt = must(m.Delete(ctx, all[i], options...))(t)
			w.deleted[all[i].Value.ID]++
			all = slices.Delete(all, i, i+1)
		}
		w.records += len(receipt.Predicted().Items)
	}
	return w
}

// readStream reads all records of a stream.
func readStream(t *testing.T, engine *engines.Engine, arn string, want int) []*streams.StreamRecord {
	t.Helper()
	ctx := context.Background()
	o := engine.Client().Options()
	c := dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, Credentials: o.Credentials,
		BaseEndpoint: o.BaseEndpoint, HTTPClient: o.HTTPClient,
	})
	d := must(c.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}))(t)
	var all []*streams.StreamRecord
	for _, shard := range d.StreamDescription.Shards {
		it := must(c.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
		}))(t)
		next, empty := it.ShardIterator, 0
		for next != nil && len(all) < want && empty < 100 {
			out := must(c.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next}))(t)
			for i := range out.Records {
				all = append(all, out.Records[i].Dynamodb)
			}
			if next = out.NextShardIterator; len(out.Records) == 0 {
				empty++
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	return all
}
