package forecast_test

import (
	"fmt"
	"log"

	"github.com/itemize/itemize/cost/forecast"
)

// What a month costs as one item, with an item for each attribute, and in the cheapest layout.
func ExampleWorkload_Advise() {
	users := forecast.Workload{
		Entities: 1000,
		Attributes: []forecast.Attribute{
			{Name: "email", Sizes: []int{30}},
			{Name: "address", Sizes: []int{200}},
			{Name: "history", Sizes: []int{150_000}},
		},
		Operations: []forecast.Operation{
			{Name: "change the e-mail address", PerMonth: 1, Writes: []string{"email"}},
			{Name: "open the profile", PerMonth: 20, Reads: []string{"email", "address"}},
		},
	}
	prices := forecast.DefaultPrices()
	advice, err := users.Advise(prices, users.Monolith())
	if err != nil {
		log.Fatal(err)
	}
	all, err := users.Forecast(prices, users.Monolith(), users.Single(), advice.Best.Layout)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range all {
		fmt.Printf("%d items: %.0f WCU, %.0f RCU\n", len(f.Items), f.WCU, f.RCU)
	}
	fmt.Println(advice.Changes[0].What)
	// Output:
	// 1 items: 147000 WCU, 370000 RCU
	// 3 items: 1000 WCU, 20000 RCU
	// 2 items: 1000 WCU, 10000 RCU
	// move email and address to a new item
}
