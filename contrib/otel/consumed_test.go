package otel_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/itemize/itemize/contrib/otel"
	"github.com/itemize/itemize/examples/models"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/mapper"
)

// By DynamoDB's semantic conventions a span has the capacity of each table, as DynamoDB reported it for all requests
// of the call, and what queries and scans read. A span that is not recorded costs nothing.
func TestSpanHasConsumedCapacity(t *testing.T) {
	ctx := context.Background()
	engine, err := engines.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Stop() })
	if err := engine.CreateTable(ctx, "threads", "Forum:S", "Subject:S"); err != nil {
		t.Fatal(err)
	}
	for _, recorded := range []bool{true, false} {
		spans, sampler := tracetest.NewSpanRecorder(), trace.NeverSample()
		if recorded {
			sampler = trace.AlwaysSample()
		}
		o, err := otel.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans), trace.WithSampler(sampler)),
			metric.NewMeterProvider())
		if err != nil {
			t.Fatal(err)
		}
		threads, err := mapper.New[models.Thread](engine.Client(), mapper.Observe(o))
		if err != nil {
			t.Fatal(err)
		}
		all := []models.Thread{
			{Forum: "f", Subject: "a"}, {Forum: "f", Subject: "b", Message: strings.Repeat("m", 1500)},
		}
		load := mapper.NoErrors(slices.Values(all))
		if _, err := threads.BulkLoad(ctx, load, mapper.Overwrite()); err != nil {
			t.Fatal(err)
		}
		e, err := threads.Load(ctx, models.ThreadByForumSubject("f", "a"))
		if err != nil {
			t.Fatal(err)
		}
		e.Value.Views++
		if _, err := threads.Save(ctx, e); err != nil {
			t.Fatal(err)
		}
		for _, err := range threads.Scan(ctx) {
			if err != nil {
				t.Fatal(err)
			}
		}
		ended := spans.Ended()
		if !recorded {
			if len(ended) > 0 {
				t.Errorf("%v", ended)
			}
			continue
		}
		for i, want := range []struct {
			units, count float64
		}{{3, -1}, {0.5, -1}, {1, -1}, {0.5, 2}} {
			units, count := consumed(t, ended[i])
			if units != want.units || count != want.count {
				t.Errorf("%s: %v units, %v items, want %v", ended[i].Name(), units, count, want)
			}
		}
	}
}

// consumed returns the units of the only table of a span, and its count, -1 for none.
func consumed(t *testing.T, span trace.ReadOnlySpan) (units, count float64) {
	t.Helper()
	count = -1
	for _, a := range span.Attributes() {
		switch a.Key {
		case "aws.dynamodb.count":
			count = float64(a.Value.AsInt64())
		case "aws.dynamodb.consumed_capacity":
			var c struct {
				TableName     string
				CapacityUnits float64
			}
			texts := a.Value.AsStringSlice()
			if err := json.Unmarshal([]byte(texts[0]), &c); err != nil || len(texts) != 1 || c.TableName != "threads" {
				t.Errorf("%q, %v", texts, err)
			}
			units = c.CapacityUnits
		}
	}
	return units, count
}
