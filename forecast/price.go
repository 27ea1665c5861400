package forecast

import (
	"errors"
	"fmt"
	"math"
)

// Prices are the on-demand prices of a Region, in US dollars.
type Prices struct {
	// Region and Date say where and when the prices were valid.
	Region string `json:"region"`
	Date   string `json:"date"`
	// Write and Read are the prices of a million request units.
	Write float64 `json:"writePerMillion"`
	Read  float64 `json:"readPerMillion"`
	// Storage is the price of a GB (2^30 bytes) for a month.
	Storage float64 `json:"storagePerGBMonth"`
	// Export and Import are the prices for a GB of ExportTableToPointInTime and ImportTable.
	Export float64 `json:"exportPerGB"`
	Import float64 `json:"importPerGB"`
}

// DefaultPrices returns the on-demand prices of us-east-1 on 2026-11-20.
func DefaultPrices() Prices {
	return Prices{
		Region: "us-east-1", Date: "2026-11-20", Write: 0.625, Read: 0.125, Storage: 0.25, Export: 0.1,
		Import: 0.15,
	}
}

// check returns all faults of the prices.
func (p Prices) check() error {
	var errs []error
	for _, c := range []struct {
		name  string
		price float64
	}{
		{"writePerMillion", p.Write},
		{"readPerMillion", p.Read},
		{"storagePerGBMonth", p.Storage},
		{"exportPerGB", p.Export},
		{"importPerGB", p.Import},
	} {
		if c.price < 0 || math.IsNaN(c.price) || math.IsInf(c.price, 0) {
			errs = append(errs, fmt.Errorf("the price %s is %v: write dollars, 0 or more", c.name, c.price))
		}
	}
	return errors.Join(errs...)
}

// itemOverhead is the storage that DynamoDB adds for each item, in bytes (Developer Guide, "DynamoDB
// item sizes and formats").
const itemOverhead = 100

// Units returns the price of write and read request units, in dollars.
func (p Prices) Units(wcu, rcu float64) float64 { return (wcu*p.Write + rcu*p.Read) / 1e6 }

// store returns the price of storing items for a month, in dollars, including the overhead.
func (p Prices) store(items, bytes int) float64 {
	return p.Storage * (float64(bytes) + itemOverhead*float64(items)) / (1 << 30)
}
