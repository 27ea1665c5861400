package charge

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// partitionBytes is the capacity of one partition (Developer Guide, "Guidelines for Working with
// Tables", Understand Partition Behavior; "Quotas").
const partitionBytes = 10 << 30

// Burst is how long DynamoDB keeps unused capacity for a burst.
const Burst = 300 * time.Second

// Capacity is a table's size in bytes and its throughput, in units a second.
type Capacity struct {
	Bytes float64 `json:"bytes"`
	RCU   float64 `json:"rcu"`
	WCU   float64 `json:"wcu"`
}

// Partitions is the distribution of a table.
type Partitions struct {
	// Count is the number of partitions: the larger of the numbers that the size and the throughput
	// need.
	Count int `json:"count"`
	// BySize and ByThroughput are these numbers before they are rounded up.
	BySize       float64 `json:"bySize"`
	ByThroughput float64 `json:"byThroughput"`
	// RCU and WCU are the share of each partition.
	RCU float64 `json:"rcu"`
	WCU float64 `json:"wcu"`
	// BurstRCU and BurstWCU are the additional units that a partition can serve at once after 300 idle
	// seconds.
	BurstRCU float64 `json:"burstRcu"`
	BurstWCU float64 `json:"burstWcu"`
}

// Partitions returns the distribution of a table of that size and throughput.
func (c Capacity) Partitions() (Partitions, error) {
	if err := c.check(); err != nil {
		return Partitions{}, err
	}
	p := Partitions{BySize: c.Bytes / partitionBytes, ByThroughput: c.partitionsBusy()}
	p.Count = max(1, int(math.Ceil(math.Max(p.BySize, p.ByThroughput))))
	return p.share(c), nil
}

// maxAsked is far beyond any table, in bytes and in units.
const maxAsked = 1e18

func (c Capacity) check() error {
	var errs []error
	for _, x := range []struct {
		what string
		n    float64
	}{{"size in bytes", c.Bytes}, {"read capacity", c.RCU}, {"write capacity", c.WCU}} {
		if x.n < 0 || x.n > maxAsked || math.IsNaN(x.n) {
			errs = append(errs, fmt.Errorf("the %s %v: write a number from 0 to %v", x.what, x.n, maxAsked))
		}
	}
	return errors.Join(errs...)
}

// partitionsBusy returns the number of partitions that the throughput keeps busy. Reads and writes
// share them. The division comes last, so that the result is whole where it should be.
func (c Capacity) partitionsBusy() float64 {
	return (c.RCU*cost.PartitionWCU + c.WCU*cost.PartitionRCU) / (cost.PartitionRCU * cost.PartitionWCU)
}

// share sets each partition's share of a capacity.
func (p Partitions) share(c Capacity) Partitions {
	p.RCU, p.WCU = c.RCU/float64(p.Count), c.WCU/float64(p.Count)
	p.BurstRCU, p.BurstWCU = p.RCU*Burst.Seconds(), p.WCU*Burst.Seconds()
	return p
}

// Then returns the distribution after the capacity was changed to c. A table never has fewer partitions
// than before: they then share less (Developer Guide, "Consider Workload Uniformity When Adjusting
// Provisioned Throughput").
func (p Partitions) Then(c Capacity) (Partitions, error) {
	next, err := c.Partitions()
	if err != nil || next.Count >= p.Count {
		return next, err
	}
	return p.share(c), nil
}

// LoadIn returns the WCU for loading items of that size in a time.
func LoadIn(items, bytes int, in time.Duration) (float64, error) {
	switch {
	case items < 0 || bytes < 0:
		return 0, fmt.Errorf("%d items of %d bytes: write numbers of 0 or more", items, bytes)
	case bytes > cost.MaxItem:
		return 0, fmt.Errorf("items of %s: an item has at most 400 KB: write the parts of each item",
			attr.Bytes(bytes))
	case in <= 0:
		return 0, fmt.Errorf("a load in %v: write a longer time", in)
	}
	return float64(items) * cost.WriteUnits(bytes) / in.Seconds(), nil
}

// HotKey describes the traffic of the busiest partition key.
type HotKey struct {
	// Share is its share of the requests, 0 to 1.
	Share float64 `json:"share"`
	// RCU and WCU are its traffic a second.
	RCU float64 `json:"rcu"`
	WCU float64 `json:"wcu"`
	// Throttled means that one partition cannot serve this, reads and writes together.
	Throttled bool `json:"throttled"`
	// Shards is the number of keys over which its items must be spread, so that one partition can serve
	// each. Reads and writes share a partition, so one number holds for both.
	Shards int `json:"shards"`
	// Keys is the number of keys, this one included, with more traffic than a partition serves, if the
	// other keys are known.
	Keys int `json:"keys"`
}

// Hottest returns the traffic of the busiest key if the requests are spread over the keys by Zipf's
// law. By that law the key of rank k gets a share of 1/k^skew, and a skew of 0 is even. The running
// time does not depend on the number of keys.
func (c Capacity) Hottest(keys int, skew float64) (HotKey, error) {
	switch {
	case keys < 1:
		return HotKey{}, fmt.Errorf("a workload over %d keys: write 1 or more", keys)
	case skew < 0 || math.IsNaN(skew) || math.IsInf(skew, 0):
		return HotKey{}, fmt.Errorf("the skew %v: write 0 for even, about 1 for usual", skew)
	}
	h, err := c.Hot(1 / zipfSum(keys, skew))
	if err != nil || !h.Throttled {
		return h, err
	}
	// The key of rank k gets 1/k^skew of the traffic of the first one.
	h.Keys = keys
	if first := math.Ceil(math.Pow(h.busy(), 1/skew)) - 1; first < float64(keys) {
		h.Keys = max(1, int(first))
	}
	return h, nil
}

// Hot returns the traffic of a key with that share of the requests, 0 to 1.
func (c Capacity) Hot(share float64) (HotKey, error) {
	if share < 0 || share > 1 || math.IsNaN(share) {
		return HotKey{}, fmt.Errorf("the share %v: write a number from 0 to 1", share)
	}
	if err := c.check(); err != nil {
		return HotKey{}, err
	}
	h := HotKey{Share: share, RCU: c.RCU * share, WCU: c.WCU * share}
	h.Shards = max(1, int(math.Ceil(h.busy())))
	if h.Throttled = h.Shards > 1; h.Throttled {
		h.Keys = 1
	}
	return h, nil
}

// busy returns the number of partitions that the key would keep busy. It ignores a millionth above a
// whole number, which is a rounding error of the share.
func (h HotKey) busy() float64 {
	n := Capacity{RCU: h.RCU, WCU: h.WCU}.partitionsBusy()
	if whole := math.Round(n); math.Abs(n-whole) < 1e-6*whole {
		return whole
	}
	return n
}
