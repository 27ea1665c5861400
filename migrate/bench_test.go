package migrate_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/migrate"
)

// fill puts so many monoliths, of so many items each.
func (s *setup) fill(n, items int) {
	s.Helper()
	var wait sync.WaitGroup
	next := atomic.Int64{}
	for range 16 {
		wait.Go(func() {
			for {
				first := int(next.Add(25)) - 25
				if first >= n {
					return
				}
				var all []types.WriteRequest
				for i := first; i < min(first+25, n); i++ {
					doc := document(fmt.Sprint("p", i), items-4)
					all = append(all, types.WriteRequest{PutRequest: &types.PutRequest{Item: doc}})
				}
				for len(all) > 0 {
					out, err := s.client.BatchWriteItem(context.Background(),
						&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.source: all}})
					if err != nil {
						panic(err)
					}
					all = out.UnprocessedItems[s.source]
				}
			}
		})
	}
	wait.Wait()
}

// byHand migrates without the library: it reads a segment, splits each monolith, writes its items in
// batches, and ends each with one conditional write.
func (s *setup) byHand(ctx context.Context, segment, of int) error {
	p := dynamodb.NewScanPaginator(s.client,
		&dynamodb.ScanInput{
			TableName: &s.source, Segment: aws.Int32(int32(segment)),
			TotalSegments: aws.Int32(int32(of)),
		})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		var requests []types.WriteRequest
		flush := func(least int) error {
			for len(requests) > least {
				n := min(25, len(requests))
				out, err := s.client.BatchWriteItem(ctx,
					&dynamodb.BatchWriteItemInput{
						RequestItems: map[string][]types.WriteRequest{s.target: requests[:n]},
					})
				if err != nil {
					return err
				}
				requests = append(requests[n:], out.UnprocessedItems[s.target]...)
			}
			return nil
		}
		for _, doc := range page.Items {
			requests = append(requests, s.splitByHand(doc)...)
			if err := flush(24); err != nil {
				return err
			}
		}
		if err := flush(0); err != nil {
			return err
		}
		for _, doc := range page.Items {
			_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &s.source, Key: map[string]types.AttributeValue{"name": doc["name"]},
				UpdateExpression:    aws.String("SET moved = :t"),
				ConditionExpression: aws.String("attribute_not_exists(moved) AND stars = :stars"),
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":t": &types.AttributeValueMemberBOOL{Value: true}, ":stars": doc["stars"],
				},
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *setup) splitByHand(doc map[string]types.AttributeValue) []types.WriteRequest {
	pk := &types.AttributeValueMemberS{Value: "PACKAGE#" + text(doc["name"])}
	var all []types.WriteRequest
	add := func(sk string, a map[string]types.AttributeValue) {
		a["PK"], a["SK"] = pk, &types.AttributeValueMemberS{Value: sk}
		all = append(all, types.WriteRequest{PutRequest: &types.PutRequest{Item: a}})
	}
	add("HEAD", map[string]types.AttributeValue{
		"description": doc["description"], "license": doc["license"],
		"keywords": doc["keywords"], "stars": doc["stars"],
	})
	add("VERSIONS", map[string]types.AttributeValue{"versions": doc["versions"]})
	add("SCRIPTS", map[string]types.AttributeValue{"scripts": doc["scripts"]})
	for name, v := range doc["dist-tags"].(*types.AttributeValueMemberM).Value {
		add("TAG#"+name, map[string]types.AttributeValue{"dist-tags": v})
	}
	events, _ := doc["events"].(*types.AttributeValueMemberL)
	if events == nil {
		return all
	}
	for _, e := range events.Value {
		m := e.(*types.AttributeValueMemberM).Value
		at, err := time.Parse(time.RFC3339Nano, text(m["At"]))
		if err != nil {
			panic(err)
		}
		add("EVENT#"+at.Format("2006-01-02T15:04:05.000000000Z"), map[string]types.AttributeValue{"What": m["What"]})
	}
	return all
}

// entities is how many entities benchmarks move: ITEMIZE_MIGRATE, or few.
func entities(without int) int {
	if n, err := strconv.Atoi(os.Getenv("ITEMIZE_MIGRATE")); err == nil {
		return n
	}
	return without
}

// BenchmarkRun moves entities of 7 and of 50 items, by the library and by hand, side by side on the same engine.
func BenchmarkRun(b *testing.B) {
	const segments = 8
	for _, items := range []int{7, 50} {
		n := entities(500) * 7 / items
		for _, how := range []string{"hand", "library"} {
			b.Run(fmt.Sprintf("%d/%s", items, how), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					s := newSetup(b)
					s.fill(n, items)
					b.StartTimer()
					begun := time.Now()
					if how == "library" {
						r, err := s.migration(migrate.Segments(segments)).Run(context.Background())
						if err != nil || r.This.Moved != n {
							b.Fatalf("%+v, %v", r, err)
						}
						b.ReportMetric(r.This.WCU/float64(n), "WCU/entity")
					} else {
						var wait sync.WaitGroup
						for i := range segments {
							wait.Go(func() {
								if err := s.byHand(context.Background(), i, segments); err != nil {
									panic(err)
								}
							})
						}
						wait.Wait()
					}
					b.ReportMetric(float64(n)/time.Since(begun).Seconds(), "entities/s")
				}
			})
		}
	}
}

// The memory of a run is bounded by a page and does not grow with the table. The median of the live
// heap shows growth. The peak depends on the pages in memory during a collection, so more samples find
// a higher one.
func TestMemoryIsFlat(t *testing.T) {
	const page = 32 // MB: a page of 1 MB for each of the workers, decoded
	most := draws.Times(300, 800, 20_000)
	least := min(most/2, max(most/20, 150))
	live := func(n int) float64 {
		s := newSetup(t)
		s.fill(n, 7)
		var looks []float64
		look := func(migrate.Report) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			looks = append(looks, float64(m.HeapAlloc)/(1<<20))
		}
		r, err := s.migration(migrate.OnProgress(look)).Run(context.Background())
		if err != nil || r.This.Moved != n {
			t.Fatalf("%+v, %v", r, err)
		}
		if peak := slices.Max(looks); peak > page {
			t.Errorf("%d entities: a peak of %.1f MB", n, peak)
		}
		slices.Sort(looks)
		return looks[len(looks)/2]
	}
	few, many := live(least), live(most)
	t.Logf("median of the live heap after a collection: %.1f MB for %d entities, %.1f MB for %d", few, least, many,
		most)
	allowed := 2.0
	if most < 5000 { // so short a run is looked at once or twice, with pages in memory or without
		allowed = 16
	}
	if many > few+allowed {
		t.Errorf("%.1f MB, and %.1f MB for fewer", many, few)
	}
}

// No second passes more than the rate and one item, also of a rate that is changed.
func TestRate(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.fill(60, 7)
	var mu sync.Mutex
	var at []time.Time
	var units []float64
	m := s.over(&weighing{Client: s.client, took: func(wcu float64) {
		mu.Lock()
		defer mu.Unlock()
		at, units = append(at, time.Now()), append(units, wcu)
	}}, migrate.WriteRate(200))
	begun := time.Now()
	timer := time.AfterFunc(time.Second, func() { _ = m.SetWriteRate(400) })
	defer timer.Stop()
	r, err := m.Run(context.Background())
	if err != nil || r.This.Moved != 60 {
		t.Fatalf("%+v, %v", r, err)
	}
	took := time.Since(begun).Seconds()
	least := 1 + (r.This.WCU-200)/400
	if took < least*0.95 { // how much longer it may take is the machine's
		t.Errorf("%v WCU took %.2f s: at 200 and then 400 a second %.2f s", r.This.WCU, took, least)
	}
	if !testengine.ReportsTransactions(t) {
		return // DynamoDB Local reports nothing of statements
	}
	for i := range at {
		limit, sum, largest := 400.0, 0.0, 0.0
		if at[i].Before(begun.Add(time.Second)) {
			limit = 200
		}
		for k := i; k < len(at) && at[k].Before(at[i].Add(time.Second)); k++ {
			sum += units[k]
			largest = max(largest, units[k])
			if !at[k].Before(begun.Add(time.Second)) {
				limit = 400
			}
		}
		if sum > limit+largest {
			t.Fatalf("%.1f WCU in the second from %v on, at a rate of %v", sum, at[i].Sub(begun), limit)
		}
	}
}

// weighing is a client that reports the capacity that each write took.
type weighing struct {
	migrate.Client
	took func(wcu float64)
}

func (w *weighing) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	out, err := w.Client.BatchExecuteStatement(ctx, in, o...)
	if err == nil {
		for _, c := range out.ConsumedCapacity {
			w.took(aws.ToFloat64(c.CapacityUnits))
		}
	}
	return out, err
}

func (w *weighing) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	out, err := w.Client.UpdateItem(ctx, in, o...)
	if err == nil && out.ConsumedCapacity != nil {
		w.took(aws.ToFloat64(out.ConsumedCapacity.CapacityUnits))
	}
	return out, err
}

func (w *weighing) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	out, err := w.Client.PutItem(ctx, in, o...)
	if err == nil && out.ConsumedCapacity != nil {
		w.took(aws.ToFloat64(out.ConsumedCapacity.CapacityUnits))
	}
	return out, err
}
