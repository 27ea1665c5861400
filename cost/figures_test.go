package cost

import (
	"math"
	"slices"
	"testing"
	"time"
)

// The worked figures of the documents that the project implements. Each names the
// sentence that it comes from, and where that errs what is right.
func TestWorkedFigures(t *testing.T) {
	parts := func(c Capacity) Partitions {
		p, err := c.Partitions()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	load := func(items, bytes int, in time.Duration) float64 {
		n, err := LoadIn(items, bytes, in)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	breakEven := func(s Split) float64 {
		n, ok, err := s.BreakEven()
		if err != nil || !ok {
			t.Fatal(n, ok, err)
		}
		return float64(n)
	}
	eventually := func(bytes int) float64 { u, _ := Pages(Eventual, bytes); return u.Min }
	after := func(s Split, n int, split bool) float64 {
		whole, parts := s.After(n)
		if split {
			return parts
		}
		return whole
	}
	hundred := slices.Repeat([]int{512}, 100)
	thirty := load(20_000_000, 1024, 30*time.Minute)
	for _, c := range []struct {
		source, sentence string
		got, want        float64
	}{
		{"vertical-partitioning", "150 KB of data, change one attribute: 150 write units", WriteUnits(150 << 10), 150},
		{"vertical-partitioning", "the same as an item of under 1 KB: 1", WriteUnits(200), 1},
		{"vertical-partitioning", "reading 150 KB eventually consistently: 19 (the text says 37.5)", eventually(150 << 10), 19},
		{"vertical-partitioning", "the same principle applies to an item of 250 KB", eventually(250 << 10), 31.5},
		{"vertical-partitioning", "... and to 350 KB", eventually(350 << 10), 44},
		{"vertical-partitioning", "to read the e-mail address now: 0.5 RCU", eventually(200), 0.5},
		{"vertical-partitioning", "125 bytes of data: 1 WCU", WriteUnits(125), 1},
		{"vertical-partitioning", "after one update the large item has cost 100", after(Split{Whole: 50 << 10, Parts: hundred}, 1, false), 100},
		{"vertical-partitioning", "... and the partitioned model 101", after(Split{Whole: 50 << 10, Parts: hundred}, 1, true), 101},
		{"guidelines-for-items", "an item of 3 KB: updating 300 bytes of it costs three", Put(3<<10, 3<<10), 3},
		{"guidelines-for-items", "in a table of their own: one write capacity unit", Put(300, 300), 1},
		{"guidelines-for-tables", "20 million items of 1 KB: 20 million write capacity units", load(20_000_000, 1024, time.Second), 20_000_000},
		{"guidelines-for-tables", "... resulting in 20 GB: 2 partitions by size", math.Ceil(parts(Capacity{Bytes: 20_000_000 * 1024}).BySize), 2},
		{"large-objects", "a sample event of 420 KB: 20 KB over the maximum", 420<<10 - MaxItem, 20 << 10},
		{"large-objects", "any single attribute is retrieved for 0.5 RCU", eventually(1023), 0.5},
		{"vertical-partitioning", "50 KB as one item", WriteUnits(50 << 10), 50},
		{"vertical-partitioning", "100 key-value pairs written one by one: 100 units", func() float64 { _, s := Split{Whole: 50 << 10, Parts: hundred}.After(0); return s }(), 100},
		{"vertical-partitioning", "break even after the next update (the text): at the second", breakEven(Split{Whole: 50 << 10, Parts: hundred}), 2},
		{"vertical-partitioning", "and after a transactional insert, of 200 units, at the fourth", breakEven(Split{Whole: 50 << 10, Parts: hundred, Transactional: true}), 4},
		{"guidelines-for-items", "throughput is rounded up to the next KB: 4 KB and a byte", WriteUnits(4097), 5},
		{"guidelines-for-items", "GetItem: rounded up to the next 4 KB boundary", ReadUnits(1), 1},
		{"guidelines-for-tables", "(1000 / 3000) + (500 / 1000) = 0.8333", parts(Capacity{RCU: 1000, WCU: 500}).ByThroughput, 1000.0/3000 + 0.5},
		{"guidelines-for-tables", "therefore a single partition", float64(parts(Capacity{RCU: 1000, WCU: 500}).Count), 1},
		{"guidelines-for-tables", "(1000 / 3000) + (1000 / 1000) = 1.333", parts(Capacity{RCU: 1000, WCU: 1000}).ByThroughput, 1000.0/3000 + 1},
		{"guidelines-for-tables", "the table would require two partitions", float64(parts(Capacity{RCU: 1000, WCU: 1000}).Count), 2},
		{"guidelines-for-tables", "each with 500 read capacity units", parts(Capacity{RCU: 1000, WCU: 1000}).RCU, 500},
		{"guidelines-for-tables", "and 500 write capacity units", parts(Capacity{RCU: 1000, WCU: 1000}).WCU, 500},
		{"guidelines-for-tables", "500 GB / 10 GB = 50 partitions", float64(parts(Capacity{Bytes: 500 << 30}).Count), 50},
		{"guidelines-for-tables", "100,000 RCU / 50 partitions = 2000", parts(Capacity{Bytes: 500 << 30, RCU: 100_000}).RCU, 2000},
		{"guidelines-for-tables", "5 minutes (300 seconds) of unused capacity", parts(Capacity{WCU: 10}).BurstWCU, 3000},
		{"guidelines-for-tables", "20 million items of 1 KB in 30 minutes: 11,111 WCU (the text: 11,000)", math.Round(thirty), 11_111},
		{"guidelines-for-tables", "... and 12 partitions (the text: 11)", float64(parts(Capacity{WCU: thirty}).Count), 12},
		{"guidelines-for-tables", "200 WCU then leave about 18 per partition (the text, of 11)", math.Round(200.0 / 11), 18},
		{"guidelines-for-tables", "over 3 hours: 1,852 WCU", math.Round(load(20_000_000, 1024, 3*time.Hour)), 1852},
		{"guidelines-for-tables", "... and 2 partitions", float64(parts(Capacity{WCU: load(20_000_000, 1024, 3*time.Hour)}).Count), 2},
		{"large-objects", "an item of 10 KB: 1.5 RCU eventually consistent", ReadUnits(10<<10) / 2, 1.5},
		{"large-objects", "and 10 WCU to update", WriteUnits(10 << 10), 10},
		{"large-objects", "items cumulatively below 1 KB are updated with a single WCU", WriteUnits(1023), 1},
		{"large-objects", "the limit of 400 KB", MaxItem, 400 << 10},
		{"large-objects", "a Query retrieves a maximum of 1 MB", MaxPage, 1 << 20},
		{"large-objects", "BatchWriteItem: 25 items", MaxBatchWrite, 25},
		{"large-objects", "TransactWriteItems: 100 items (the text: 25)", MaxTransactItems, 100},
		{"large-objects", "and 4 MB", MaxTransactBytes, 4 << 20},
		{"data-model", "the 400 KB item size limit", MaxItem, 409_600},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %s: %v", c.source, c.sentence, c.got)
		}
	}
}

// Bad input gets an error that says what to give.
func TestBadInput(t *testing.T) {
	for name, err := range map[string]error{
		"negative size":     func() error { _, err := Capacity{Bytes: -1}.Partitions(); return err }(),
		"no number":         func() error { _, err := Capacity{WCU: math.NaN()}.Partitions(); return err }(),
		"negative items":    func() error { _, err := LoadIn(-1, 1, time.Hour); return err }(),
		"a large item":      func() error { _, err := LoadIn(1, MaxItem+1, time.Hour); return err }(),
		"no time":           func() error { _, err := LoadIn(1, 1, 0); return err }(),
		"no keys":           func() error { _, err := Capacity{}.Hottest(0, 1); return err }(),
		"a negative skew":   func() error { _, err := Capacity{}.Hottest(1, -1); return err }(),
		"a share over 1":    func() error { _, err := Capacity{}.Hot(2); return err }(),
		"no parts":          func() error { _, _, err := Split{}.BreakEven(); return err }(),
		"no such part":      func() error { _, _, err := Split{Parts: []int{1}, Updated: 1}.BreakEven(); return err }(),
		"a negative part":   func() error { _, _, err := Split{Parts: []int{-1}}.BreakEven(); return err }(),
		"an item too large": func() error { _, _, err := Split{Whole: MaxItem + 1, Parts: []int{1}}.BreakEven(); return err }(),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A skewed workload's busiest key, and the shards that its writes need.
func TestHotKeys(t *testing.T) {
	c := Capacity{RCU: 6000, WCU: 5000}
	even, err := c.Hottest(1000, 0)
	if err != nil || math.Abs(even.Share-0.001) > 1e-12 || even.Throttled || even.WriteShards != 1 {
		t.Errorf("%+v, %v", even, err)
	}
	hot, err := c.Hot(0.5)
	if err != nil || hot.WCU != 2500 || hot.WriteShards != 3 || hot.ReadShards != 1 || !hot.Throttled {
		t.Errorf("%+v, %v", hot, err)
	}
}
