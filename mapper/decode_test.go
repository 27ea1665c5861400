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
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Items of every state, and of no model, are distinguished.
func TestDecode(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	stage := func(state string) *types.AttributeValueMemberM {
		return &types.AttributeValueMemberM{Value: kit.Item{
			"state": kit.S(state),
			"since": &types.AttributeValueMemberN{Value: "1"},
		}}
	}
	mark := &types.AttributeValueMemberBOOL{Value: true}
	b := &types.AttributeValueMemberB{Value: []byte("x")}
	for name, c := range map[string]struct {
		item  kit.Item
		state string
		field string
		want  *kit.Account
	}{
		"root": {
			kit.Item{
				"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"),
				"Counter": &types.AttributeValueMemberN{Value: "3"}, "_a": b,
			},
			"live", "Counter",
			&kit.Account{ID: "1", Counter: 3},
		},
		"element": {
			kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0007"), "Text": kit.S("x")},
			"live", "Entries",
			&kit.Account{ID: "1", Entries: []kit.Part{{N: 7, Text: "x"}}},
		},
		"entry": {
			kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("FLAG#a"), "Flags": mark},
			"live", "Flags",
			&kit.Account{ID: "1", Flags: map[string]bool{"a": true}},
		},
		"claim": {
			kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "_s": stage("inserting")},
			"staged", "Counter",
			&kit.Account{ID: "1"},
		},
		"live": {
			kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "_s": stage("live")},
			"live", "Counter",
			&kit.Account{ID: "1"},
		},
		"marked": {
			kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "_s": stage("deleting")},
			"deleting", "Counter",
			&kit.Account{ID: "1"},
		},
		"staged": {
			kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("LEFT"), "Left": kit.S("x"), "_s": mark, "_a": b},
			"staged", "Left",
			&kit.Account{ID: "1", Left: "x"},
		},
		"no sort key":  {kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("OTHER")}, "unknown", "", nil},
		"no partition": {kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("HEAD")}, "unknown", "", nil},
		"no string":    {kit.Item{"PK": b, "SK": kit.S("HEAD")}, "unknown", "", nil},
	} {
		d, err := m.Decode(c.item)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.State != c.state || d.Field != c.field || !cmp.Equal(d.Value, c.want, kit.AccountOptions) ||
			d.Root != (c.field == "Counter") {
			t.Errorf("%s: %+v %+v", name, d, d.Value)
		}
	}
	for text, c := range map[string]struct {
		item    kit.Item
		options []mapper.DecodeOption
	}{
		"the item's key matches no table of the model: accounts (PK, SK)": {kit.Item{"id": kit.S("1")}, nil},
		"lacks the key attribute \"SK\"": {
			kit.Item{"PK": kit.S("ACCOUNT#1")},
			[]mapper.DecodeOption{mapper.InTable("accounts")},
		},
		"the model has no table \"others\"": {
			kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD")},
			[]mapper.DecodeOption{mapper.InTable("others")},
		},
		"attribute \"Counter\"": {kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.S("x")}, nil},
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
	m := kit.Must(mapper.New[half](kit.Failing{}))(t)
	a := kit.Item{"PK": kit.S("X#1"), "SK": kit.S("A"), "Name": kit.S("n"), "Tail": kit.S("t")}
	if _, err := m.Decode(a); err == nil ||
		!strings.Contains(err.Error(), "to the table heads or to tails: name the table with mapper.InTable") {
		t.Errorf("%v", err)
	}
	d := kit.Must(m.Decode(a, mapper.InTable("tails")))(t)
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
	out := kit.Must(client.UpdateTable(ctx,
		&dynamodb.UpdateTableInput{TableName: &table, StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		}}))(t)
	m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
	r := rand.New(rand.NewPCG(7, 7))
	written := writeAccounts(t, m, r, want)
	records := readStream(t, engine, aws.ToString(out.TableDescription.LatestStreamArn), written.records)
	last := map[mapper.Key]*mapper.Decoded[kit.Account]{}
	created, deleted := map[string]int{}, map[string]int{}
	for _, rec := range records {
		old := kit.Must(attributevalue.FromDynamoDBStreamsMap(rec.OldImage))(t)
		now := kit.Must(attributevalue.FromDynamoDBStreamsMap(rec.NewImage))(t)
		c := kit.Must(m.DecodeChange(old, now, mapper.InTable(table)))(t)
		d := c.New
		if d == nil {
			d = c.Old
		}
		if was := last[d.Key]; (was == nil) != (c.Old == nil) || was != nil &&
			!cmp.Equal(was.Value, c.Old.Value, kit.AccountOptions) {
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
	now := map[string]*kit.Account{}
	for _, d := range last {
		if d == nil {
			continue
		}
		a := now[d.Value.ID]
		if a == nil {
			a = &kit.Account{ID: d.Value.ID, Flags: map[string]bool{}}
			now[d.Value.ID] = a
		}
		a.Counter, a.Left, a.Right = a.Counter+d.Value.Counter, a.Left+d.Value.Left, a.Right+d.Value.Right
		a.Entries = append(a.Entries, d.Value.Entries...)
	}
	for id, a := range now {
		e := kit.Must(m.Load(ctx, m.Key(id)))(t)
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
func writeAccounts(t *testing.T, m *mapper.Mapper[kit.Account], r *rand.Rand, records int) writing {
	t.Helper()
	ctx := context.Background()
	w := writing{created: map[string]int{}, deleted: map[string]int{}}
	text := func() string { return strings.Repeat("x", 1+r.IntN(20)) }
	var all []*mapper.Entity[kit.Account]
	for id := 0; w.records < records; id++ {
		var options []mapper.WriteOption
		if r.IntN(3) == 0 {
			options = append(options, mapper.Staged())
		}
		var receipt *mapper.Receipt
		switch n := r.IntN(10); {
		case n < 4 || len(all) == 0:
			a := kit.Account{
				ID: strconv.Itoa(id), Counter: 1 + r.IntN(9), Left: text(), Right: text(),
				Flags: map[string]bool{},
			}
			for i := range r.IntN(20) {
				a.Entries = append(a.Entries, kit.Part{N: i, Text: text()})
			}
			all = append(all, m.New(a))
			receipt = kit.Must(m.Save(ctx, all[len(all)-1], options...))(t)
			w.created[a.ID]++
		case n < 9:
			e := all[r.IntN(len(all))]
			e.Value.Left, e.Value.Entries = text(), append(e.Value.Entries, kit.Part{N: 100 + id%9000, Text: text()})
			receipt = kit.Must(m.Save(ctx, e))(t)
		default:
			i := r.IntN(len(all))
			receipt = kit.Must(m.Delete(ctx, all[i], options...))(t)
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
	d := kit.Must(c.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}))(t)
	var all []*streams.StreamRecord
	for _, shard := range d.StreamDescription.Shards {
		it := kit.Must(c.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
		}))(t)
		next, empty := it.ShardIterator, 0
		for next != nil && len(all) < want && empty < 100 {
			out := kit.Must(c.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next}))(t)
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
