package forecast

import "math"

// Billing says how a table is billed. The zero Billing is a standard table on demand, without further
// features.
type Billing struct {
	// Provisioned bills capacity by the hour. Utilization is the target of auto scaling, 0 for 0.7 of
	// the capacity.
	Provisioned bool    `json:"provisioned,omitempty"`
	Utilization float64 `json:"utilization,omitempty"`
	// Infrequent is the table class Standard-IA.
	Infrequent bool `json:"infrequentAccess,omitempty"`
	// Replicas is the number of other Regions of a global table.
	Replicas int `json:"replicas,omitempty"`
	// StreamReads are GetRecords requests of a month.
	StreamReads float64 `json:"streamReads,omitempty"`
	// Recovery is point-in-time recovery, and Backups the number of full backups that are kept.
	Recovery bool    `json:"recovery,omitempty"`
	Backups  float64 `json:"backups,omitempty"`
}

// Charge is a line of a bill.
type Charge struct {
	What string `json:"what"`
	// Amount is in units such as WCU-hours; Price is the name of their price.
	Amount float64 `json:"amount"`
	Unit   string  `json:"unit"`
	Price  string  `json:"price"`
	// Dollars is nil if the price is unknown.
	Dollars *float64 `json:"dollars"`
}

const gigabyte = 1 << 30

// Bill returns the lines of a month's bill. Provisioned capacity follows the traffic at the target of auto
// scaling, for the mean of the month: peaks and the minimum of a unit are not in it.
func (f Forecast) Bill(p Prices, b Billing) []Charge {
	var lines []Charge
	add := func(what string, amount float64, unit, price string, per float64) {
		if amount == 0 {
			return
		}
		c := Charge{What: what, Amount: amount, Unit: unit, Price: price}
		if dollars, ok := p.Of(price); ok {
			dollars *= amount / per
			c.Dollars = &dollars
		}
		lines = append(lines, c)
	}
	class := func(name, infrequent string) string {
		if b.Infrequent {
			return infrequent
		}
		return name
	}
	regions := float64(1 + b.Replicas)
	used := b.Utilization
	if used <= 0 {
		used = 0.7
	}
	hours := func(units float64) float64 { return units / 3600 / math.Min(used, 1) }
	if b.Provisioned {
		add("writes", hours(f.WCU-f.IndexWCU), "WCU-hours", class("provisionedWrite", "infrequentProvisionedWrite"), 1)
		add("writes to indexes", hours(f.IndexWCU), "WCU-hours", class("provisionedWrite",
			"infrequentProvisionedWrite"), 1)
		add("reads", hours(f.RCU), "RCU-hours", class("provisionedRead", "infrequentProvisionedRead"), 1)
	} else {
		add("writes", f.WCU-f.IndexWCU, "WRU", class("write", "infrequentWrite"), 1e6)
		add("writes to indexes", f.IndexWCU, "WRU", class("write", "infrequentWrite"), 1e6)
		add("reads", f.RCU, "RRU", class("read", "infrequentRead"), 1e6)
	}
	replicated := (f.WCU - f.IndexWCU) * float64(b.Replicas)
	if b.Provisioned {
		add("replicated writes", hours(replicated), "rWCU-hours", "provisionedReplicatedWrite", 1)
	} else {
		add("replicated writes", replicated, "rWRU", "replicatedWrite", 1e6)
	}
	gb, table := f.Bytes/gigabyte, (f.Bytes-f.IndexBytes)/gigabyte
	add("storage", gb*regions, "GB-months", class("storage", "infrequentStorage"), 1)
	add("reads of the stream", b.StreamReads, "requests", "streamRead", 1e6)
	if b.Recovery {
		add("point-in-time recovery", table*regions, "GB-months", "recovery", 1)
	}
	add("backups", table*b.Backups, "GB-months", "backup", 1)
	add("S3 puts", f.Puts, "requests", "s3Put", 1000)
	add("S3 gets", f.Gets, "requests", "s3Get", 1000)
	add("S3 storage", f.ObjectBytes/gigabyte, "GB-months", "s3Storage", 1)
	return lines
}
