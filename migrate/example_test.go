package migrate_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// One large item of the table documents becomes the items of a user: planned, moved, verified and cut over.
func ExampleOpen() {
	ctx := context.Background()
	engine, err := integration.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop()
	if err := engine.CreateTable(ctx, "documents", "ID:S", ""); err != nil {
		log.Fatal(err)
	}
	if err := engine.CreateTable(ctx, "users", "PK:S", "SK:S"); err != nil {
		log.Fatal(err)
	}
	documents := "documents"
	_, err = engine.Client().PutItem(ctx,
		&dynamodb.PutItemInput{TableName: &documents, Item: map[string]types.AttributeValue{
			"ID":    &types.AttributeValueMemberS{Value: "1"},
			"email": &types.AttributeValueMemberS{Value: "ann@example.com"},
			"Cart": &types.AttributeValueMemberM{
				Value: map[string]types.AttributeValue{"Lines": &types.AttributeValueMemberS{Value: "a tent"}},
			},
		}})
	if err != nil {
		log.Fatal(err)
	}

	layout, err := migrate.ReadLayout("../examples/wishlist/store/itemize.lock.json", "User")
	if err != nil {
		log.Fatal(err)
	}
	m, err := migrate.Open(ctx, engine.Client(), layout, documents)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := m.Plan(ctx, migrate.PlanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Entities, "monolith,", plan.Items, "items,", plan.Dead, "cannot be moved")
	report, err := m.Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	found, err := m.Verify(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.This.Moved, "moved, clean:", found.Clean())
	if _, err := m.Cutover(ctx); err != nil {
		log.Fatal(err)
	}

	users, err := mapper.New[store.User](engine.Client())
	if err != nil {
		log.Fatal(err)
	}
	e, err := users.Load(ctx, store.UserByID("1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Email, e.Value.Cart.Lines)
	// Output:
	// 1 monolith, 2 items, 0 cannot be moved
	// 1 moved, clean: true
	// ann@example.com a tent
}
