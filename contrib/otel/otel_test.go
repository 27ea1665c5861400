package otel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/itemize/itemize/contrib/otel"
	"github.com/itemize/itemize/examples/models"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/leaks"
	"github.com/itemize/itemize/mapper"
)

// Each call of a mapper on a real engine is a span and a count. It has the predicted units (minimum,
// expected and maximum), and those that the engine reported.
func TestExport(t *testing.T) {
	ctx := context.Background()
	engine, err := engines.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Stop() })
	if err := engine.CreateTable(ctx, "threads", "Forum:S", "Subject:S"); err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewSpanRecorder()
	reader := metric.NewManualReader()
	o, err := otel.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)),
		metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	threads, err := mapper.New[models.Thread](engine.Client(), mapper.Observe(o))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := threads.Save(ctx, threads.New(models.Thread{Forum: "f", Subject: "s", Views: 1})); err != nil {
		t.Fatal(err)
	}
	if _, err := threads.Load(ctx, models.ThreadByForumSubject("f", "none")); err == nil {
		t.Fatal("found")
	}
	if _, err := models.ThreadByForumSubject("f", "s").Patch(models.ThreadFields.Views.Increment(1)).Exec(ctx,
		threads); err != nil {
		t.Fatal(err)
	}
	if _, err := threads.Save(ctx, threads.New(models.Thread{Forum: "f", Subject: "s"})); !errors.Is(err,
		mapper.ErrExists) {
		t.Fatal(err)
	}
	ended := spans.Ended()
	if len(ended) != 4 || ended[0].Name() != "Save models.Thread" || ended[1].Status().Code != codes.Unset ||
		ended[3].Status().Code != codes.Error {
		t.Errorf("%v", ended)
	}
	for _, want := range []attribute.KeyValue{
		attribute.String("db.collection.name", "threads"),
		attribute.StringSlice("aws.dynamodb.table_names", []string{"threads"}),
	} {
		if !slices.Contains(ended[0].Attributes(), want) {
			t.Errorf("no %v in %v", want, ended[0].Attributes())
		}
	}
	if want := attribute.String("error.type", "mapper.ErrExists"); !slices.Contains(ended[3].Attributes(), want) {
		t.Errorf("%v", ended[3].Attributes())
	}
	if s := ended[3].Status(); s.Description != "mapper.ErrExists" || len(ended[3].Events()) != 0 {
		t.Errorf("the span has %q and %v", s.Description, ended[3].Events())
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[float64]); ok {
			for _, p := range sum.DataPoints {
				op, _ := p.Attributes.Value(attribute.Key("db.operation.name"))
				got[op.AsString()+" "+m.Name] = p.Value
			}
		}
	}
	for name, want := range map[string]float64{
		"Save itemize.wcu.least": 2, "Save itemize.wcu.expected": 2, "Save itemize.wcu.most": 2,
		"Save itemize.wcu.refused": 1, "Save itemize.wcu.consumed": 1,
		"Load itemize.rcu.least": 0.5, "Load itemize.rcu.expected": 0.5, "Load itemize.rcu.most": 0.5,
		"Patch itemize.wcu.least":    1,
		"Patch itemize.wcu.expected": 1, "Patch itemize.wcu.most": 400, "Patch itemize.wcu.consumed": 1,
		"Patch itemize.wcu.refused": 0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// Keys are in the text of an error, and spans contain it only if the application asks for it.
func TestErrorTextsOnlyIfAskedFor(t *testing.T) {
	ctx := context.Background()
	engine, err := engines.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Stop() })
	if err := engine.CreateTable(ctx, "threads", "Forum:S", "Subject:S"); err != nil {
		t.Fatal(err)
	}
	const key = "ann@example.com"
	for _, texts := range []bool{false, true} {
		var options []otel.Option
		if texts {
			options = append(options, otel.ErrorTexts())
		}
		spans := tracetest.NewSpanRecorder()
		o, err := otel.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), metric.NewMeterProvider(),
			options...)
		if err != nil {
			t.Fatal(err)
		}
		threads, err := mapper.New[models.Thread](engine.Client(), mapper.Observe(o))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = threads.Save(ctx, threads.New(models.Thread{Forum: key, Subject: "s"}))
		}
		if !errors.Is(err, mapper.ErrExists) {
			t.Fatal(err)
		}
		f := models.ThreadFields.Views
		_, err = models.ThreadByForumSubject(key, "s").Patch(f.Set(1)).If(f.Equal(7351907)).Exec(ctx, threads)
		if detail := mapper.Detail(err); !leaks.In([]byte(detail)) {
			t.Errorf("the details are %s", detail)
		}
		for _, s := range spans.Ended()[1:] {
			text := fmt.Sprint(s.Name(), s.Attributes(), s.Status(), s.Events())
			if leaks.In([]byte(text)) {
				t.Errorf("a value is in %s", text)
			}
			if strings.Contains(text, key) != texts {
				t.Errorf("with texts %v the span is %s", texts, text)
			}
		}
	}
}
