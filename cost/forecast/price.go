package forecast

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Prices are the prices of a Region, in US dollars. Figures has them by name; the file prices.json of
// this package lists the known ones. A name that is missing, and a figure without a source, mean that the
// price is unknown.
type Prices struct {
	Region  string            `json:"region"`
	Figures map[string]Figure `json:"prices"`
}

// Figure is a price with its source.
type Figure struct {
	Dollars float64 `json:"dollars"`
	// Per is the amount that costs so much. It depends on the name, and is for readers only.
	Per string `json:"per,omitempty"`
	// Source and Date say where the price was found, and when.
	Source string `json:"source"`
	Date   string `json:"date"`
}

// priceNames are the names of all prices, with the amounts that they are for.
var priceNames = map[string]string{
	"write":                      "1,000,000 write request units",
	"read":                       "1,000,000 read request units",
	"storage":                    "GB-month",
	"provisionedWrite":           "WCU-hour",
	"provisionedRead":            "RCU-hour",
	"infrequentWrite":            "1,000,000 write request units",
	"infrequentRead":             "1,000,000 read request units",
	"infrequentStorage":          "GB-month",
	"infrequentProvisionedWrite": "WCU-hour",
	"infrequentProvisionedRead":  "RCU-hour",
	"provisionedReplicatedWrite": "rWCU-hour",
	"replicatedWrite":            "1,000,000 replicated write request units",
	"streamRead":                 "1,000,000 stream read request units",
	"recovery":                   "GB-month",
	"backup":                     "GB-month",
	"export":                     "GB",
	"import":                     "GB",
	"s3Storage":                  "GB-month",
	"s3Put":                      "1,000 requests",
	"s3Get":                      "1,000 requests",
}

//go:embed prices.json
var defaultPrices []byte

// DefaultPrices returns the prices of prices.json, which are those of us-east-1.
func DefaultPrices() Prices {
	var p Prices
	if err := json.Unmarshal(defaultPrices, &p); err != nil {
		panic(err) // a test reads it
	}
	return p
}

// Of returns a price. ok is false if it is unknown.
func (p Prices) Of(name string) (dollars float64, ok bool) {
	f := p.Figures[name]
	return f.Dollars, f.Source != ""
}

// orZero returns a price, 0 if it is unknown.
func (p Prices) orZero(name string) float64 {
	dollars, ok := p.Of(name)
	if !ok {
		return 0
	}
	return dollars
}

// Units returns the price of write and read request units on demand, in dollars.
func (p Prices) Units(wcu, rcu float64) float64 {
	return (wcu*p.orZero("write") + rcu*p.orZero("read")) / 1e6
}

// Check returns all faults of the prices: unknown names, and amounts that are no dollars.
func (p Prices) Check() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.Figures)) {
		f := p.Figures[name]
		if priceNames[name] == "" {
			errs = append(errs, fmt.Errorf("unknown price %s: write one of %s", name,
				strings.Join(slices.Sorted(maps.Keys(priceNames)), ", ")))
		}
		if f.Dollars < 0 || math.IsNaN(f.Dollars) || math.IsInf(f.Dollars, 0) {
			errs = append(errs, fmt.Errorf("the price %s is %v: write dollars, 0 or more", name, f.Dollars))
		}
	}
	return errors.Join(errs...)
}

// itemOverhead is the storage that DynamoDB adds for each item, in bytes (Developer Guide, "DynamoDB
// item sizes and formats").
const itemOverhead = 100

// store returns the price of storing items for a month, in dollars, including the overhead.
func (p Prices) store(items, bytes float64) float64 {
	return p.orZero("storage") * (bytes + itemOverhead*items) / (1 << 30)
}
