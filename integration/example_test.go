package integration_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/integration"
)

// An engine for a program that needs a table to try something on.
func ExampleStart() {
	ctx := context.Background()
	engine, err := integration.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop()
	if err := engine.CreateTable(ctx, "example-start", "PK:S", "SK:S"); err != nil {
		log.Fatal(err)
	}
	name := "example-start"
	out, err := engine.Client().DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Table.TableStatus)
	// Output:
	// ACTIVE
}
