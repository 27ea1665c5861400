package otel_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/itemize/itemize/contrib/otel"
	"github.com/itemize/itemize/stream"
)

// Each number of a consumer is a metric with the attributes.
func TestObserveStreamExportsEachNumber(t *testing.T) {
	router := stream.NewRouter()
	router.Unmatched(func(context.Context, *stream.Record) error { return nil })
	c, err := stream.NewConsumer(dynamodb.New(dynamodb.Options{}), dynamodbstreams.New(dynamodbstreams.Options{}),
		"users", router)
	if err != nil {
		t.Fatal(err)
	}
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	if err := otel.ObserveStream(provider, c, attribute.String("table", "users")); err != nil {
		t.Fatal(err)
	}
	var out metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range out.ScopeMetrics[0].Metrics {
		names[m.Name] = true
	}
	for _, name := range []string{
		"shards", "behind", "lag", "last.age", "handled", "unmatched", "retries", "dead_letters", "trimmed", "errors",
	} {
		if !names["itemize.stream."+name] {
			t.Errorf("no metric itemize.stream.%s: %v", name, names)
		}
	}
}
