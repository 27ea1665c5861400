package cost_test

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
)

// The size of an item, and what writing and reading it costs.
func ExampleItemSize() {
	item := map[string]types.AttributeValue{
		"PK":    &types.AttributeValueMemberS{Value: "USER#1"},
		"email": &types.AttributeValueMemberS{Value: "ann@example.com"},
	}
	n := cost.ItemSize(item)
	fmt.Println(n, "bytes,", cost.WriteUnits(n), "WCU,", cost.ReadUnits(n)/2, "RCU")
	fmt.Println("in an item of 150 KB:", cost.Put(150<<10, 150<<10), "WCU")
	// Output:
	// 28 bytes, 1 WCU, 0.5 RCU
	// in an item of 150 KB: 150 WCU
}
