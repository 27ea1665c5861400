package bulk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func parcels(n int) []kit.Parcel {
	all := make([]kit.Parcel, n)
	for i := range all {
		all[i] = kit.Parcel{ID: fmt.Sprint(i), To: "t", Note: strings.Repeat("n", i%7*300)}
		for k := range i % 4 {
			all[i].Item = append(all[i].Item, kit.Part{N: k, Text: "x"})
		}
	}
	return all
}

func readings(from, to, sensors int) iter.Seq2[kit.Reading, error] {
	return func(yield func(kit.Reading, error) bool) {
		for i := from; i < to; i++ { // sorted by sensor, as an export is
			if !yield(kit.Reading{
				Sensor: fmt.Sprintf("%03d", i*sensors/(to-from)), N: i,
				Text: strings.Repeat("x", 180),
			},
				nil) {
				return
			}
		}
	}
}

// A bulk load, in both forms, stores the same items as saves would. An entity that existed before is
// reported and kept, or replaced, and a second run recognizes its own entities.
func TestBulkLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := parcels(60)
	for _, overwrite := range []bool{false, true} {
		m := kit.NewMapper[kit.Parcel](t, "PK:S", "SK:S")
		options := []mapper.BulkOption{mapper.LoadID("l"), mapper.Concurrency(3)}
		if overwrite {
			options = append(options, mapper.Overwrite())
		}
		kit.Must(m.Save(ctx, m.New(kit.Parcel{ID: "7", To: "before", Note: "b"})))(t)
		r, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), options...)
		if err != nil {
			t.Fatal(err)
		}
		plan := kit.Must(m.PlanBulkLoad(mapper.NoErrors(slices.Values(all)), options...))(t)
		failed := 1
		if overwrite {
			failed = 0
			if float64(plan.Items) != float64(r.Items) || r.WCU < plan.WCU.Min || plan.WCU.Min < float64(plan.Items) {
				t.Errorf("%+v of %+v", r, plan)
			}
		}
		if r.Entities != 60-failed || r.Failed != failed || r.Next != "" || plan.Entities != 60 {
			t.Errorf("%+v", r)
		}
		for _, f := range r.Failures {
			if f.Number != 7 || f.Key.Partition != "P#7" || !errors.Is(f.Err, mapper.ErrExists) {
				t.Errorf("%+v", f)
			}
		}
		for i, want := range all {
			if i == 7 && !overwrite {
				want = kit.Parcel{ID: "7", To: "before", Note: "b"}
			}
			e := kit.Must(m.Load(ctx, m.Key(want.ID), mapper.Strong()))(t)
			if fmt.Sprint(e.Value) != fmt.Sprint(want) || e.Unknown() > 0 {
				t.Errorf("%+v, want %+v", e.Value, want)
			}
		}
		e := kit.Must(m.Load(ctx, m.Key("9")))(t)
		e.Value.To = "somebody else"
		kit.Must(m.Save(ctx, e))(t)
		r, err = m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), options...)
		if err != nil || r.Failed != failed || r.Entities != 60-failed || !overwrite && r.Items > 0 {
			t.Errorf("%+v %v", r, err)
		}
		if e := kit.Must(m.Load(ctx, m.Key("9")))(t); !overwrite && e.Value.To != "somebody else" {
			t.Errorf("brought back: %+v", e.Value)
		}
	}
}

// requests records the partition keys of the writes, call by call.
type requests struct {
	mu    sync.Mutex
	calls [][]string
	// throttled says how many of the items of a call are refused.
	throttled func() int
	stop      func(call int) bool
}

func (r *requests) Do(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		RequestItems map[string][]json.RawMessage
		Statements   []struct{ Parameters []map[string]any }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	var keys []string
	for _, all := range in.RequestItems {
		for _, w := range all {
			var put struct {
				PutRequest struct{ Item map[string]map[string]any }
			}
			_ = json.Unmarshal(w, &put)
			keys = append(keys, fmt.Sprint(put.PutRequest.Item["PK"]["S"]))
		}
	}
	for _, s := range in.Statements {
		for _, p := range s.Parameters {
			if k, ok := p["S"].(string); ok && (strings.HasPrefix(k, "P#") || strings.HasPrefix(k, "S#")) {
				keys = append(keys, k)
			}
		}
	}
	if keys == nil {
		return http.DefaultClient.Do(q)
	}
	r.mu.Lock()
	r.calls = append(r.calls, keys)
	n, stop := 0, r.stop != nil && r.stop(len(r.calls))
	if r.throttled != nil {
		n = min(r.throttled(), len(keys))
	}
	r.mu.Unlock()
	switch {
	case stop:
		return nil, kit.ErrDropped
	case n == 0:
		return http.DefaultClient.Do(q)
	case in.Statements != nil:
		return r.throttleStatements(q, body, n)
	}
	return r.throttleItems(q, in.RequestItems, n)
}

// throttleItems passes a BatchWriteItem on without its last items, and answers that these are
// unprocessed.
func (r *requests) throttleItems(q *http.Request, items map[string][]json.RawMessage, n int) (*http.Response, error) {
	rest := map[string][]json.RawMessage{}
	for table, all := range items {
		items[table], rest[table] = all[:len(all)-n], all[len(all)-n:]
		if len(items[table]) == 0 {
			delete(items, table)
		}
	}
	unprocessed, _ := json.Marshal(rest)
	if len(items) == 0 {
		return kit.Answer(q, 200, `{"UnprocessedItems":`+string(unprocessed)+`}`), nil
	}
	some, _ := json.Marshal(map[string]any{"RequestItems": items})
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(some)), int64(len(some))
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	return kit.Answer(q, 200, `{"UnprocessedItems":`+string(unprocessed)+`}`), nil
}

// throttleStatements passes statements on without the last, and answers that these were throttled.
func (r *requests) throttleStatements(q *http.Request, body []byte, n int) (*http.Response, error) {
	var in struct{ Statements []json.RawMessage }
	_ = json.Unmarshal(body, &in)
	in.Statements = in.Statements[:len(in.Statements)-n]
	var out struct{ Responses []json.RawMessage }
	if len(in.Statements) > 0 {
		some, _ := json.Marshal(in)
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(some)), int64(len(some))
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			return nil, err
		}
	}
	for range n {
		out.Responses = append(out.Responses,
			json.RawMessage(`{"Error":{"Code":"ThrottlingError","Message":"slow down"}}`))
	}
	text, _ := json.Marshal(out)
	return kit.Answer(q, 200, string(text)), nil
}

// Consecutive writes have different partition keys, although the input is sorted by them. Throttled or
// unprocessed items are written in the end.
func TestBulkLoadInterleaves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, overwrite := range []bool{false, true} {
		var options []mapper.BulkOption
		if overwrite {
			options = append(options, mapper.Overwrite())
		}
		n := 0
		r := &requests{throttled: func() int { n++; return n % 3 / 2 * 9 }}
		table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
		c := testengine.Start(t).Client(func(o *dynamodb.Options) { o.HTTPClient = r })
		m := kit.Must(mapper.New[kit.Reading](c, table))(t)
		report, err := m.BulkLoad(ctx, readings(0, 600, 40), options...)
		if err != nil || report.Entities != 600 || report.Items != 600 {
			t.Fatalf("%+v %v", report, err)
		}
		same, all := 0, 0
		for _, call := range r.calls {
			for i, k := range call {
				all++
				if i > 0 && k == call[i-1] {
					same++
				}
			}
			if all < 300 && len(call) == 25 && len(slices.Compact(slices.Sorted(slices.Values(call)))) < 20 {
				t.Errorf("a call of %v", call)
			}
		}
		if all < 650 || same > all/50 {
			t.Errorf("%d of %d writes follow one of the same key", same, all)
		}
		total := 0
		for i := range 40 {
			total += kit.Must(query.Of[kit.Reading](m.Key(fmt.Sprintf("%03d", i))).Count(ctx, m))(t)
		}
		if total != 600 {
			t.Errorf("%d of 600", total)
		}
	}
}

// A load that ends at any call can be continued, and loses nothing. Before its root is stored no reader
// finds a part of an entity.
func TestBulkLoadResumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := parcels(40)
	step := draws.Times(4, 1, 1)
	for at := step; ; at += step {
		r := &requests{stop: func(call int) bool { return call >= at }}
		table := testengine.Table(t, "PK:S", "SK:S")
		broken := kit.Must(mapper.New[kit.Parcel](
			testengine.Start(t).Client(func(o *dynamodb.Options) { o.HTTPClient, o.RetryMaxAttempts = r, 1 }),
			mapper.Table(table),
		))(t)
		m := kit.Must(mapper.New[kit.Parcel](testengine.Start(t).Client(), mapper.Table(table)))(t)
		var last mapper.BulkReport
		first, err := broken.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Concurrency(2),
			mapper.OnProgress(func(p mapper.BulkReport) { last = p }))
		if err != nil &&
			(!errors.Is(err, kit.ErrDropped) ||
				!strings.Contains(err.Error(), "has ended before entity "+strconv.Itoa(numberOf(first.Next)))) ||
			err != nil && last.Next != first.Next {
			t.Fatalf("%+v %v", first, err)
		}
		found := 0
		for e, err := range m.Scan(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			i, _ := strconv.Atoi(e.Value.ID)
			if found++; fmt.Sprint(len(e.Value.Item), e.Value.Note, e.Value.To) != fmt.Sprint(len(all[i].Item),
				all[i].Note, all[i].To) {
				t.Errorf("a part: %+v", e.Value)
			}
		}
		if found < first.Entities {
			t.Errorf("%d of %d", found, first.Entities)
		}
		second, err2 := m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Resume(last.Next))
		if err2 != nil || second.Failed > 0 || second.Next != "" || numberOf(last.Next)+second.Entities != 40 {
			t.Fatalf("%+v %v", second, err2)
		}
		for _, want := range all {
			if e := kit.Must(m.Load(ctx, m.Key(want.ID)))(t); e.Value.Note != want.Note ||
				len(e.Value.Item) != len(want.Item) {
				t.Errorf("%+v, want %+v", e.Value, want)
			}
		}
		if err == nil {
			return
		}
	}
}

// What cannot be loaded is said before anything is sent, or of the entity that it is.
func TestBulkLoadRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[kit.Parcel](kit.Failing{}))(t)
	_, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values(parcels(1))))
	kit.WantError(t, nil, err, "kit.Parcel: BulkLoad inserts with BatchExecuteStatement, which the client "+
		"lacks: use a *dynamodb.Client, or Overwrite")
	m = kit.NewMapper[kit.Parcel](t, "PK:S", "SK:S")
	_, err = m.BulkLoad(ctx, nil, mapper.Resume("3"))
	kit.WantError(t, nil, err, "kit.Parcel: Resume got \"3\": pass the Next of a report")
	_, err = m.BulkLoad(ctx, nil, mapper.WriteRate(-1))
	kit.WantError(t, nil, err, "kit.Parcel: WriteRate is -1")
	all := parcels(3)
	all[1].ID = ""
	all[2].Note = strings.Repeat("x", 500_000)
	reports := 0
	r, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)),
		mapper.OnFailure(func(mapper.BulkFailure) { reports++ }))
	var value *mapper.ValueError
	var large *mapper.TooLargeError
	if err != nil || r.Entities != 1 || r.Failed != 2 || reports != 2 || !errors.As(r.Failures[0].Err, &value) ||
		!errors.As(r.Failures[1].Err, &large) {
		t.Errorf("%+v %v", r, err)
	}
	broken := errors.New("the file ends")
	r, err = m.BulkLoad(ctx,
		func(yield func(kit.Parcel, error) bool) {
			_ = yield(kit.Parcel{ID: "new"}, nil) && yield(kit.Parcel{}, broken)
		})
	if !errors.Is(err, broken) || r.Entities != 1 || numberOf(r.Next) != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// dyingClient is a client whose statements fail for good after so many calls.
type dyingClient struct {
	*dynamodb.Client
	left atomic.Int64
}

func (c *dyingClient) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	if c.left.Add(-1) < 0 {
		return nil, errors.New("killed")
	}
	return c.Client.BatchExecuteStatement(ctx, in, o...)
}

// A load that is interrupted repeatedly comes to its end. The first entities are complete before the
// last ones are begun, and each run continues from there. The report has the written entities.
func TestBulkLoadAdvances(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &dyingClient{Client: testengine.Start(t).Client()}
	m := kit.Must(mapper.New[kit.Order](c, mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	entities := draws.Times(200, 400, 400)
	all := func(yield func(kit.Order, error) bool) {
		for i := range entities {
			o := kit.Order{Shop: fmt.Sprint("s", i), N: i, Total: i}
			for n := range 5 {
				o.Lines = append(o.Lines, kit.Part{N: n, Text: "x"})
			}
			if !yield(o, nil) {
				return
			}
		}
	}
	next, runs, items := "", 0, 0
	for done := false; !done; runs++ {
		c.left.Store(30) // 750 items
		r, err := m.BulkLoad(ctx, all, mapper.LoadID("again"), mapper.Resume(next))
		if (err == nil) != (r.Next == "") || err != nil && numberOf(r.Next) < numberOf(next) {
			t.Fatalf("run %d: %v, from %s to %s", runs, err, next, r.Next)
		}
		if items += r.Items; runs > 12 {
			t.Fatalf("%s of %d are done after %d runs", r.Next, entities, runs)
		}
		next, done = r.Next, r.Next == ""
	}
	t.Logf("%d runs", runs)
	n := 0
	for e, err := range m.Scan(ctx) {
		if err != nil || len(e.Value.Lines) != 5 {
			t.Fatal(err, e)
		}
		n++
	}
	if n != entities || items != 6*entities {
		t.Errorf("%d of %d are there, and %d items were told to be written", n, entities, items)
	}
}

// The rate is kept, and the progress shows the remaining time. On a pipe there is no progress output.
func TestBulkLoadRate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Reading](t, "PK:S", "SK:S")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var reports []mapper.BulkReport
	r := kit.Must(m.BulkLoad(ctx, readings(0, 750, 30), mapper.WriteRate(500), mapper.ProgressLine(out, 750),
		mapper.OnProgress(func(p mapper.BulkReport) { reports = append(reports, p) })))(t)
	out.Close()
	charged := 750.0
	if traits, _ := testengine.Start(t).Traits(); !traits.Transactions {
		charged = 0 // DynamoDB Local does not tell what statements take
	}
	if text, _ := io.ReadAll(in); len(text) > 0 || r.WCU != charged {
		t.Errorf("%q in a pipe, %v WCU", text, r.WCU)
	}
	if r.Took < 450*time.Millisecond { // one second's units are available, and 250 arrive
		t.Errorf("%d items took %v", r.Items, r.Took)
	}
	if p := reports[len(reports)-1]; p.Entities != 750 || numberOf(p.Next) != 750 || p.Took == 0 {
		t.Errorf("%+v", p)
	}
}

// BenchmarkBulkLoad loads items (ITEMIZE_BULK of them), and compares with loops by hand. One uses
// BatchWriteItem, one the same with the reserved attributes (_a and _v), and one BatchExecuteStatement
// with these.
func BenchmarkBulkLoad(b *testing.B) {
	ctx := context.Background()
	n := 500
	if text := os.Getenv("ITEMIZE_BULK"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	engine := testengine.Start(b)
	for range b.N {
		for _, c := range []struct {
			name string
			load func(table string) error
		}{
			{"hand", func(table string) error { return byHand(ctx, engine.Client(), table, n, 8, false) }},
			{"hand-same", func(table string) error { return byHand(ctx, engine.Client(), table, n, 8, true) }},
			{"hand-statements", func(table string) error { return byStatements(ctx, engine.Client(), table, n, 8) }},
			{"overwrite", func(table string) error {
				m, err := mapper.New[kit.Reading](engine.Client(), mapper.Table(table))
				if err == nil {
					_, err = m.BulkLoad(ctx, spread(n), mapper.Overwrite(), mapper.Concurrency(8))
				}
				return err
			}},
			{"insert", func(table string) error {
				m, err := mapper.New[kit.Reading](engine.Client(), mapper.Table(table))
				if err == nil {
					_, err = m.BulkLoad(ctx, spread(n), mapper.Concurrency(8))
				}
				return err
			}},
		} {
			table := testengine.Table(b, "PK:S", "SK:S")
			runtime.GC()
			begun, peak := time.Now(), memory()
			if err := c.load(table); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(n)/time.Since(begun).Seconds(), c.name+"-items/s")
			b.ReportMetric(float64(peak())/(1<<20), c.name+"-peak-MB")
			if err := engine.DeleteTable(ctx, table); err != nil { // an engine is slower the more it has
				b.Fatal(err)
			}
		}
	}
}

// atOnce is a client that answers bulk loads at once.
type atOnce struct{ *dynamodb.Client }

func (atOnce) BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	return &dynamodb.BatchWriteItemOutput{}, nil
}

func (atOnce) BatchExecuteStatement(_ context.Context, in *dynamodb.BatchExecuteStatementInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	return &dynamodb.BatchExecuteStatementOutput{Responses: make([]types.BatchStatementResponse, len(in.Statements))},
		nil
}

// BenchmarkBulkLoadOwn is the library's own share of a bulk load, an item each.
func BenchmarkBulkLoadOwn(b *testing.B) {
	for name, options := range map[string][]mapper.BulkOption{"insert": nil, "overwrite": {mapper.Overwrite()}} {
		b.Run(name, func(b *testing.B) {
			m := kit.Must(mapper.New[kit.Reading](atOnce{}))(b)
			b.ReportAllocs()
			b.ResetTimer()
			kit.Must(m.BulkLoad(context.Background(), spread(b.N), options...))(b)
		})
	}
}

// memory returns a function that returns the peak of memory in use since.
func memory() func() uint64 {
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			most = max(most, s.HeapAlloc)
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-peak
	}
}

// spread are the readings of 500 sensors as they come.
func spread(n int) iter.Seq2[kit.Reading, error] {
	return func(yield func(kit.Reading, error) bool) {
		for i := range n {
			if !yield(kit.Reading{Sensor: fmt.Sprintf("%03d", i%500), N: i, Text: strings.Repeat("x", 180)}, nil) {
				return
			}
		}
	}
}

// byHand is a bulk load as one writes it: batches of 25, in the order of the input.
func byHand(ctx context.Context, client *dynamodb.Client, table string, n, parallel int, same bool) error {
	return inBatches(n, parallel, same, func(batch []map[string]types.AttributeValue) error {
		var left []types.WriteRequest
		for _, i := range batch {
			left = append(left, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
		}
		for len(left) > 0 {
			out, err := client.BatchWriteItem(ctx,
				&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: left}})
			if err != nil {
				return err
			}
			left = out.UnprocessedItems[table]
		}
		return nil
	})
}

// byStatements is a loop over BatchExecuteStatement as one writes it by hand, of the attributes that the
// library stores.
func byStatements(ctx context.Context, client *dynamodb.Client, table string, n, parallel int) error {
	text := fmt.Sprintf(`INSERT INTO "%s" VALUE {'PK':?,'SK':?,'Text':?,'_a':?,'_v':?}`, table)
	return inBatches(n, parallel, true, func(batch []map[string]types.AttributeValue) error {
		in := &dynamodb.BatchExecuteStatementInput{}
		for _, i := range batch {
			in.Statements = append(in.Statements, types.BatchStatementRequest{
				Statement: &text, Parameters: []types.AttributeValue{i["PK"], i["SK"], i["Text"], i["_a"], i["_v"]},
			})
		}
		_, err := client.BatchExecuteStatement(ctx, in)
		return err
	})
}

// inBatches sends the readings, 25 at a time; same adds what the library adds to each.
func inBatches(n, parallel int, same bool, send func([]map[string]types.AttributeValue) error) error {
	batches := make(chan []map[string]types.AttributeValue, parallel)
	errs := make(chan error, parallel)
	for range parallel {
		go func() {
			var failed error
			for batch := range batches {
				if failed == nil {
					failed = send(batch)
				}
			}
			errs <- failed
		}()
	}
	var batch []map[string]types.AttributeValue
	for r := range spread(n) {
		i := map[string]types.AttributeValue{
			"PK":   &types.AttributeValueMemberS{Value: "S#" + r.Sensor},
			"SK":   &types.AttributeValueMemberS{Value: fmt.Sprintf("%08d", r.N)},
			"Text": &types.AttributeValueMemberS{Value: r.Text},
		}
		if same {
			token := fmt.Sprintf("%016d", r.N)
			i["_a"], i["_v"] = &types.AttributeValueMemberB{Value: []byte(token)},
				&types.AttributeValueMemberB{Value: []byte(token)}
		}
		if batch = append(batch, i); len(batch) == 25 {
			batches <- batch
			batch = nil
		}
	}
	if len(batch) > 0 {
		batches <- batch
	}
	close(batches)
	var failed error
	for range parallel {
		failed = errors.Join(failed, <-errs)
	}
	return failed
}

// What an attack has found: what ends a load, and what only an entity.
func TestBulkLoadEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, body := range map[string]string{
		"AccessDeniedException": `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`,
		"ExpiredTokenException": `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"no"}`,
		"ValidationException":   `{"__type":"com.amazon.coral.validate#ValidationException","message":"no"}`,
		"ResourceNotFoundException": `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",` +
			`"message":"no"}`,
	} {
		deny := answering(func(r *http.Request) (*http.Response, error) { return kit.Answer(r, 400, body), nil })
		c := testengine.Start(t).Client(func(o *dynamodb.Options) { o.HTTPClient = deny })
		m := kit.Must(mapper.New[kit.Parcel](c))(t)
		for _, options := range [][]mapper.BulkOption{nil, {mapper.Overwrite()}} {
			r, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values(parcels(100))), options...)
			if err == nil || !strings.Contains(err.Error(), name) || numberOf(r.Next) != 0 || r.Failed > 0 {
				t.Errorf("%s: %+v %v", name, r, err)
			}
		}
	}
	missing := kit.Must(mapper.New[kit.Parcel](testengine.Start(t).Client(), mapper.Table("not-there")))(t)
	if r, err := missing.BulkLoad(ctx, mapper.NoErrors(slices.Values(parcels(3)))); err == nil ||
		numberOf(r.Next) != 0 {
		t.Errorf("no table: %+v %v", r, err)
	}
}

type answering func(*http.Request) (*http.Response, error)

func (a answering) Do(r *http.Request) (*http.Response, error) { return a(r) }

// If a key occurs twice, one of the two entities is stored completely. A repeated load does not restore
// items that were deleted since, and recognizes its own entities.
func TestBulkLoadTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Parcel](t, "PK:S", "SK:S")
	var all []kit.Parcel
	for i := range 60 {
		id := fmt.Sprint(i)
		all = append(all, kit.Parcel{ID: id, To: "A", Note: "A", Item: []kit.Part{{N: 1}, {N: 2}}},
			kit.Parcel{ID: id, To: "B", Note: "B"})
	}
	if r := kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Overwrite()))(t); r.Failed > 0 {
		t.Errorf("%+v", r)
	}
	for i := range 60 {
		if v := kit.Must(m.Load(ctx, m.Key(fmt.Sprint(i))))(t).Value; v.To != "B" || v.Note != "B" || len(v.Item) > 0 {
			t.Errorf("%+v", v)
		}
	}
	retry := []kit.Parcel{{ID: "again", To: "a", Item: []kit.Part{{N: 1}, {N: 2}}}, {ID: "left", To: "a", Note: "n"}}
	kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(retry)), mapper.LoadID("l")))(t)
	kit.Must(m.Update(ctx, m.Key("again"), func(p *kit.Parcel) error { p.Item = p.Item[:1]; return nil }))(t)
	r := kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(retry)), mapper.LoadID("l")))(t)
	if v := kit.Must(m.Load(ctx, m.Key("again")))(t).Value; len(v.Item) != 1 || r.Failed > 0 || r.Items > 0 ||
		r.Entities != 2 {
		t.Errorf("%+v, %+v", v, r)
	}
}

// numberOf is the number of the entity at a report's Next.
func numberOf(next string) int {
	_, text, _ := strings.Cut(next, ":")
	n, _ := strconv.Atoi(text)
	return n
}

// A bulk load whose context ends does not count an entity as failed, so that a resumed load writes it.
func TestCanceledBulkLoadResumesAtEntity(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	f := kit.Claimed(t, table)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	change, tries := f.Late, 0
	f.Late = func(q *http.Request) bool {
		if kit.OperationOf(q) == "TransactWriteItems" {
			if tries++; tries == 3 {
				cancel()
			}
		}
		return change(q)
	}
	m := kit.NewAccounts(t, table, f, 1)
	report, err := m.BulkLoad(ctx,
		mapper.NoErrors(slices.Values([]kit.Account{{
			ID: "1", Counter: 5,
			Entries: []kit.Part{{N: 1, Text: "b"}},
		}})), mapper.LoadID("x"))
	if numberOf(report.Next) != 0 || report.Failed != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("next %d, %v: %v", numberOf(report.Next), report.Failures, err)
	}
}

// The error that ends a bulk load is found by errors.As.
func TestBulkLoadErrorIsPublic(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	f := kit.Claimed(t, table)
	f.Late, f.Pick = nil, func() kit.Fault {
		if f.Log[len(f.Log)-1] == "TransactWriteItems" {
			return kit.DropAnswer
		}
		return kit.None
	}
	m := kit.NewAccounts(t, table, f, 1)
	_, err := m.BulkLoad(request.WithoutPauses(context.Background()),
		mapper.NoErrors(slices.Values([]kit.Account{{
			ID: "1", Counter: 5,
			Entries: []kit.Part{{N: 1, Text: "b"}},
		}})), mapper.LoadID("x"))
	if !errors.As(err, new(*mapper.OutcomeUnknownError)) {
		t.Errorf("%v", err)
	}
}
