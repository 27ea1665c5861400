package cost

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// What one partition holds and serves (Developer Guide, "Guidelines for Working with
// Tables", Understand Partition Behavior; "Quotas").
const (
	PartitionBytes = 10 << 30
	PartitionRCU   = 3000
	PartitionWCU   = 1000
	// Burst is how long unused capacity is kept for a burst.
	Burst = 300 * time.Second
)

// Capacity is a table's size in bytes and its throughput, in units a second.
type Capacity struct {
	Bytes float64 `json:"bytes"`
	RCU   float64 `json:"rcu"`
	WCU   float64 `json:"wcu"`
}

// Partitions is how a table is spread.
type Partitions struct {
	// Count is the number of partitions: the larger of those that the size and that
	// the throughput ask for.
	Count int `json:"count"`
	// BySize and ByThroughput are those, before they are rounded up.
	BySize       float64 `json:"bySize"`
	ByThroughput float64 `json:"byThroughput"`
	// RCU and WCU are each partition's share.
	RCU float64 `json:"rcu"`
	WCU float64 `json:"wcu"`
	// BurstRCU and BurstWCU are what a partition that was idle for 300 seconds can
	// serve at once beyond its share.
	BurstRCU float64 `json:"burstRcu"`
	BurstWCU float64 `json:"burstWcu"`
}

// Partitions returns how a table of that size and throughput is spread.
func (c Capacity) Partitions() (Partitions, error) {
	for what, n := range map[string]float64{"size": c.Bytes, "read capacity": c.RCU, "write capacity": c.WCU} {
		if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
			return Partitions{}, fmt.Errorf("the %s %v: give a number of 0 or more", what, n)
		}
	}
	p := Partitions{BySize: c.Bytes / PartitionBytes, ByThroughput: c.RCU/PartitionRCU + c.WCU/PartitionWCU}
	p.Count = max(1, int(math.Ceil(math.Max(p.BySize, p.ByThroughput))))
	p.RCU, p.WCU = c.RCU/float64(p.Count), c.WCU/float64(p.Count)
	p.BurstRCU, p.BurstWCU = p.RCU*Burst.Seconds(), p.WCU*Burst.Seconds()
	return p, nil
}

// LoadIn returns the WCU that load items of that many bytes each in a time.
func LoadIn(items, bytes int, in time.Duration) (float64, error) {
	switch {
	case items < 0 || bytes < 0:
		return 0, fmt.Errorf("%d items of %d bytes: give 0 or more of both", items, bytes)
	case bytes > MaxItem:
		return 0, fmt.Errorf("items of %d bytes: an item has at most %d", bytes, MaxItem)
	case in <= 0:
		return 0, fmt.Errorf("a load in %v: give a time", in)
	}
	return float64(items) * WriteUnits(bytes) / in.Seconds(), nil
}

// HotKey is what a skewed workload asks of the busiest partition key.
type HotKey struct {
	// Share is the part of the requests that go to it, 0 to 1.
	Share float64 `json:"share"`
	RCU   float64 `json:"rcu"`
	WCU   float64 `json:"wcu"`
	// Throttled tells that no partition serves that.
	Throttled bool `json:"throttled"`
	// WriteShards and ReadShards are over how many keys its writes and reads have to be
	// spread.
	WriteShards int `json:"writeShards"`
	ReadShards  int `json:"readShards"`
}

// Hottest returns what the busiest of the keys gets of a workload whose requests are
// spread over them by Zipf's law: the key of rank k gets a share of 1/k^skew. A skew of 0
// is even.
func (c Capacity) Hottest(keys int, skew float64) (HotKey, error) {
	switch {
	case keys < 1:
		return HotKey{}, errors.New("a workload over no keys: give 1 or more")
	case skew < 0 || math.IsNaN(skew) || math.IsInf(skew, 0):
		return HotKey{}, fmt.Errorf("the skew %v: give 0 for even, about 1 for usual", skew)
	}
	sum := 0.0
	for k := 1; k <= keys; k++ {
		sum += math.Pow(float64(k), -skew)
	}
	return c.Hot(1 / sum)
}

// Hot returns what a key with that share of the requests, 0 to 1, asks of its partition.
func (c Capacity) Hot(share float64) (HotKey, error) {
	if share < 0 || share > 1 || math.IsNaN(share) {
		return HotKey{}, fmt.Errorf("the share %v: give a number from 0 to 1", share)
	}
	h := HotKey{Share: share, RCU: c.RCU * share, WCU: c.WCU * share}
	h.WriteShards = max(1, int(math.Ceil(h.WCU/PartitionWCU)))
	h.ReadShards = max(1, int(math.Ceil(h.RCU/PartitionRCU)))
	h.Throttled = h.RCU/PartitionRCU+h.WCU/PartitionWCU > 1
	return h, nil
}
