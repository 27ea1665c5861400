package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// taped keeps the bodies of answers to GetRecords.
type taped struct {
	http.RoundTripper
	bodies [][]byte
}

func (t *taped) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(q)
	if err != nil || !strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".GetRecords") {
		return answer, err
	}
	b, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(b))
	t.bodies = append(t.bodies, b)
	return answer, err
}

// event makes the event of a Lambda function from the answers to GetRecords.
func event(t *testing.T, arn string, bodies [][]byte) []byte {
	t.Helper()
	all := []map[string]any{}
	for _, b := range bodies {
		var answer struct{ Records []map[string]any }
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		for _, r := range answer.Records {
			r["eventSourceARN"] = arn
			all = append(all, r)
		}
	}
	return kit.Must(json.MarshalIndent(map[string]any{"Records": all}, "", "\t"))(t)
}

// writeSome writes accounts: inserts, a staged insert, changes, a move and deletes.
func writeSome(t *testing.T, m *mapper.Mapper[kit.Account]) {
	t.Helper()
	ctx := context.Background()
	one := m.New(kit.Account{
		ID: "1", Counter: 1, Left: "l", Flags: map[string]bool{"x": true},
		Entries: []kit.Part{{N: 1, Text: "<é>"}},
	})
	kit.Must(m.Save(ctx, one))(t)
	two := m.New(kit.Account{ID: "2", Counter: -5, Entries: []kit.Part{{N: 1, Text: "a"}, {N: 2, Text: ""}}})
	kit.Must(m.Save(ctx, two, mapper.Staged()))(t)
	one.Value.Counter, one.Value.Entries[0].Text = 7, "b"
	kit.Must(m.Save(ctx, one))(t)
	two.Value.ID = "3"
	kit.Must(m.Save(ctx, two, mapper.Move()))(t)
	kit.Must(m.Delete(ctx, one))(t)
	kit.Must(m.Delete(ctx, two, mapper.Staged()))(t)
}

// shown returns changes as text, in the order of each item.
func shown(all map[string][]string, c *stream.Change[kit.Account]) {
	text := func(a *kit.Account) string {
		if a == nil {
			return "-"
		}
		return fmt.Sprintf("%d %q %q %v %v", a.Counter, a.Left, a.Right, a.Entries, a.Flags)
	}
	k := c.Key.Partition + " " + c.Key.Sort
	all[k] = append(all[k], fmt.Sprintf("%s/%s %s => %s", c.EntityEvent, c.ItemEvent, text(c.Old), text(c.New)))
}

// A Lambda function shows the same changes as the records of the client, with the events that both engines give.
// UPDATE=1 writes the event of the engine that is running.
func TestLambdaReadsRecordedEvents(t *testing.T) {
	t.Parallel()
	ctx, table := context.Background(), streamed(t)
	engine := testengine.Start(t)
	m := kit.Must(mapper.New[kit.Account](engine.Client(), mapper.Table(table)))(t)
	writeSome(t, m)
	arn := arnOf(t, table)
	tape := &taped{RoundTripper: http.DefaultTransport}
	o := engine.Client().Options()
	c := dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, Credentials: o.Credentials, BaseEndpoint: o.BaseEndpoint,
		HTTPClient: &http.Client{Transport: tape},
	})
	d := kit.Must(c.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}))(t)
	want := map[string][]string{}
	direct := stream.NewRouter()
	stream.On(direct, m, func(_ context.Context, ch *stream.Change[kit.Account]) error { shown(want, ch); return nil })
	var records []*stream.Record
	for _, shard := range d.StreamDescription.Shards {
		it := kit.Must(c.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
		}))(t)
		for next, empty := it.ShardIterator, 0; next != nil && empty < 20; {
			out := kit.Must(c.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
				ShardIterator: next,
				Limit:         aws.Int32(7),
			}))(t)
			for i := range out.Records {
				records = append(records, kit.Must(stream.RecordOf(table, "", &out.Records[i]))(t))
			}
			if next = out.NextShardIterator; len(out.Records) == 0 {
				empty++
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	kit.Must(stream.HandleAll(ctx, direct, records))(t)
	live := event(t, arn, tape.bodies)
	if os.Getenv("UPDATE") != "" {
		name := filepath.Join("testdata", engine.Name+".json")
		if err := os.WriteFile(name, append(bytes.ReplaceAll(live, []byte(table), []byte("accounts")), '\n'),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, e := range map[string][]byte{
		"live": live, "dynoxide": kit.Must(os.ReadFile("testdata/dynoxide.json"))(t),
		"DynamoDB Local": kit.Must(os.ReadFile("testdata/dynamodb-local.json"))(t),
	} {
		t.Run(name, func(t *testing.T) {
			of := m
			if name != "live" {
				of = kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
			}
			got := map[string][]string{}
			r := stream.NewRouter()
			stream.On(r, of, func(_ context.Context, ch *stream.Change[kit.Account]) error {
				if ch.Time.Before(time.Now().AddDate(-30, 0, 0)) || ch.SequenceNumber == "" {
					t.Errorf("time %v, sequence number %q", ch.Time, ch.SequenceNumber)
				}
				shown(got, ch)
				return nil
			})
			if answer := kit.Must(stream.Lambda(r).Invoke(ctx, e))(t); string(answer) != `{"batchItemFailures":[]}` {
				t.Errorf("answer: %s", answer)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("changes (-client +event):\n%s", diff)
			}
		})
	}
}

// batch returns an event with one record of an entry for each key, with sequence numbers from 1.
func batch(keys ...string) []byte {
	var all []string
	for i, k := range keys {
		all = append(all, fmt.Sprintf(`{"eventID": "e%d", "eventName": "INSERT", "eventSource": "aws:dynamodb",
			"eventSourceARN": "arn:aws:dynamodb:us-east-1:123456789012:table/accounts/stream/2026-11-30T00:00:00.000",
			"dynamodb": {"ApproximateCreationDateTime": 1.7e9, "SequenceNumber": "%d",
				"StreamViewType": "NEW_AND_OLD_IMAGES",
			"Keys": {"PK": {"S": "ACCOUNT#%[3]s"}, "SK": {"S": "ENTRY#%04[4]d"}},
			"NewImage": {"PK": {"S": "ACCOUNT#%[3]s"}, "SK": {"S": "ENTRY#%04[4]d"},
				"Text": {"S": "x"}}}}`, i, i+1, k, i+1))
	}
	return []byte(`{"Records": [` + strings.Join(all, ",") + `]}`)
}

// After a failure the later records of the same partition key are left out, and those of others are handled.
func TestLambdaStopsAtTheFirstFailureOfEachEntity(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 3, 100} {
		m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
		var mu sync.Mutex
		var got []string
		r := stream.NewRouter()
		stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
			mu.Lock()
			got = append(got, c.New.ID+c.SequenceNumber)
			mu.Unlock()
			switch c.New.ID + c.SequenceNumber {
			case "a3":
				return errors.New("failed")
			case "b5":
				panic("poison")
			}
			return nil
		})
		f := stream.Lambda(r, stream.Parallel(parallel))
		out := kit.Must(f.Handle(context.Background(), batch("a", "b", "a", "a", "b", "c", "a", "b", "c")))(t)
		var failures []string
		for _, x := range out.Failures {
			text, _, _ := strings.Cut(x.Err.Error(), " in ")
			failures = append(failures, x.SequenceNumber+" "+text)
		}
		if diff := cmp.Diff([]string{"3 failed", "5 panic"}, failures); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"a1", "a3", "b2", "b5", "c6", "c9"}, got); diff != "" {
			t.Errorf("handled (-want +got):\n%s", diff)
		}
	}
}

// A record whose image cannot be decoded fails alone.
func TestLambdaReportsPoisonRecords(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	n := 0
	r := stream.NewRouter()
	stream.On(r, m, func(context.Context, *stream.Change[kit.Account]) error { n++; return nil })
	for name, c := range map[string]struct{ from, to string }{
		"a type that does not fit": {`{"S": "x"}}}},{"eventID": "e1"`, `{"M": {}}}}},{"eventID": "e1"`},
		"an unknown type":          {`{"S": "x"}}}},{"eventID": "e1"`, `{"Q": "x"}}}},{"eventID": "e1"`},
	} {
		n = 0
		e := strings.Replace(string(batch("a", "b", "a")), c.from, c.to, 1)
		out := kit.Must(stream.Lambda(r).Handle(context.Background(), []byte(e)))(t)
		if len(out.Failures) != 1 || out.Failures[0].SequenceNumber != "1" || n != 1 {
			t.Errorf("%s: %+v, %d handled", name, out.Failures, n)
		}
	}
}

// Events of other sources are refused with an error that says what to connect.
func TestLambdaRefusesOtherEvents(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	r := stream.NewRouter()
	stream.On(r, m, func(context.Context, *stream.Change[kit.Account]) error { return errors.New("called") })
	for _, c := range []struct{ event, want string }{
		{`{`, "invalid event"},
		{`[]`, "invalid event"},
		{`{"detail": 1}`, "event source mapping"},
		{`{"Records": [{"eventSource": "aws:kinesis", "kinesis": {"data": "x"}}]}`, "aws:kinesis"},
		{strings.ReplaceAll(string(batch("a")), "NEW_AND_OLD_IMAGES", "KEYS_ONLY"), "NEW_AND_OLD_IMAGES"},
		{strings.ReplaceAll(string(batch("a")), "table/accounts", "table/others"), "mapper.Table"},
	} {
		if _, err := stream.Lambda(r).Invoke(context.Background(), []byte(c.event)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, want %s", c.event, err, c.want)
		}
	}
	if out, err := stream.Lambda(r).Invoke(context.Background(), []byte(`{"Records": []}`)); err != nil ||
		string(out) != `{"batchItemFailures":[]}` {
		t.Errorf("no records: %s %v", out, err)
	}
}
