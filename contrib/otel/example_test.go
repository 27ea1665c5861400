package otel_test

import (
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	otelapi "go.opentelemetry.io/otel"

	"github.com/itemize/itemize/contrib/otel"
	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/mapper"
)

// Each call of the mapper is a span of the program's tracer provider, and counts in its meter provider.
func ExampleNew() {
	observer, err := otel.New(otelapi.GetTracerProvider(), otelapi.GetMeterProvider())
	if err != nil {
		log.Fatal(err)
	}
	users, err := mapper.New[store.User](dynamodb.New(dynamodb.Options{}), mapper.Observe(observer))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(users != nil)
	// Output:
	// true
}
