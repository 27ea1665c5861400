package query_test

import (
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func users() *mapper.Mapper[store.User] {
	m, err := mapper.New[store.User](dynamodb.New(dynamodb.Options{}))
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// A plan says which requests a query would send, and their cost, without I/O: here the wishes of a
// month, the latest first.
func ExampleQuery_Plan() {
	november := store.UserByID("6297D15").Public().Month(2021, time.November).Reverse().Limit(10)
	plan, err := november.Plan(users())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Requests, "request,", plan.RCU, "RCU")
	// Output:
	// 1 request, 0.5 (up to 178 if the range has more items) RCU
}

// The request is the SDK's, to look at, or to send oneself.
func ExampleQuery_Input() {
	in, err := query.Of[store.Wish](users().Key("6297D15").Prefix("M#WishList#Public#2021-")).Input(users())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*in.TableName, *in.KeyConditionExpression, *in.ConsistentRead)
	// Output:
	// users #pk = :pk AND begins_with(#sk, :sk0) false
}

// Join selects several parts of one entity, for one Load.
func ExampleJoin() {
	key := store.UserByID("6297D15")
	plan, err := users().PlanLoad(query.Join(key.Root(), key.Cart(), key.U().Address()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Requests, "requests")
	// Output:
	// 2 requests
}
