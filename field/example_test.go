package field_test

import (
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/mapper"
)

// Handles of generated code make the changes and conditions of a patch, which reads nothing.
func ExampleNumber() {
	users, err := mapper.New[store.User](dynamodb.New(dynamodb.Options{}))
	if err != nil {
		log.Fatal(err)
	}
	wish := store.WishFields
	at := time.Date(2021, time.November, 14, 0, 0, 0, 0, time.UTC)
	cheaper := store.UserByID("6297D15").Public().AddedAt(at).Patch(wish.Price.Set(80)).
		If(field.Or(wish.Price.Greater(80), wish.Price.Absent()))
	plan, err := cheaper.Plan(users)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Requests, "request,", plan.Items[0].Kind, plan.Items[0].Attributes)
	// Output:
	// 1 request, update [Price]
}
