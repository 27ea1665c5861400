package otel_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/itemize/itemize/contrib/otel"
	"github.com/itemize/itemize/examples/models"
	"github.com/itemize/itemize/mapper"
)

type throttling struct{}

func (throttling) Do(*http.Request) (*http.Response, error) {
	const body = `{"__type":"ThrottlingException","throttlingReasons":[{"reason":"TableReadAccountLimitExceeded"}]}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// The span of a throttled call has the type of the error and DynamoDB's reasons.
func TestSpanHasThrottlingReasons(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	o, err := otel.New(trace.NewTracerProvider(trace.WithSpanProcessor(spans)), metric.NewMeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", HTTPClient: throttling{}, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})
	threads, err := mapper.New[models.Thread](client, mapper.Observe(o))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := threads.Load(t.Context(), models.ThreadByForumSubject("f", "s")); err == nil {
		t.Fatal("no error")
	}
	has := spans.Ended()[0].Attributes()
	for _, want := range []attribute.KeyValue{
		attribute.String("error.type", "mapper.ThrottledError"),
		attribute.StringSlice("itemize.throttling.reasons", []string{"TableReadAccountLimitExceeded"}),
	} {
		if !slices.Contains(has, want) {
			t.Errorf("no %v in %v", want, has)
		}
	}
}
