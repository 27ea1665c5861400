package charge

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/cost"
)

// The worked figures of the documents that the project implements. Each names its sentence in the
// document, and the right figure if the document is wrong.
func TestWorkedFigures(t *testing.T) {
	parts := func(c Capacity) Partitions {
		p, err := c.Partitions()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	then := func(loading Capacity, wcu float64) float64 {
		p, err := parts(loading).Then(Capacity{WCU: wcu})
		if err != nil {
			t.Fatal(err)
		}
		return p.WCU
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
		{
			"vertical-partitioning", "150 KB of data, change one attribute: 150 write units",
			cost.WriteUnits(150 << 10),
			150,
		},
		{"vertical-partitioning", "the same as an item of under 1 KB: 1", cost.WriteUnits(200), 1},
		{
			"vertical-partitioning", "reading 150 KB eventually consistently: 19 (the text says 37.5)",
			eventually(150 << 10), 19,
		},
		{"vertical-partitioning", "the same principle applies to an item of 250 KB", eventually(250 << 10), 31.5},
		{"vertical-partitioning", "... and to 350 KB", eventually(350 << 10), 44},
		{"vertical-partitioning", "changing one attribute of 250 KB: 250 write units", cost.Put(250<<10, 250<<10), 250},
		{"vertical-partitioning", "... and of 350 KB: 350", cost.Put(350<<10, 350<<10), 350},
		{
			"vertical-partitioning", "strongly consistent reads of 150, 250 and 350 KB",
			cost.ReadUnits(150<<10) + cost.ReadUnits(250<<10) + cost.ReadUnits(350<<10), 38 + 63 + 88,
		},
		{"vertical-partitioning", "to read the e-mail address now: 0.5 RCU", eventually(200), 0.5},
		{"vertical-partitioning", "125 bytes of data: 1 WCU", cost.WriteUnits(125), 1},
		{
			"vertical-partitioning", "after one update the large item has cost 100",
			after(Split{Whole: 50 << 10, Parts: hundred}, 1, false), 100,
		},
		{
			"vertical-partitioning", "... and the partitioned model 101",
			after(Split{Whole: 50 << 10, Parts: hundred}, 1, true), 101,
		},
		{"guidelines-for-items", "an item of 3 KB: updating 300 bytes of it costs three", cost.Put(3<<10, 3<<10), 3},
		{"guidelines-for-items", "in a table of their own: one write capacity unit", cost.Put(300, 300), 1},
		{
			"guidelines-for-tables", "20 million items of 1 KB: 20 million write capacity units",
			load(20_000_000, 1024, time.Second), 20_000_000,
		},
		{
			"guidelines-for-tables", "... resulting in 20 GB: 2 partitions by size",
			math.Ceil(parts(Capacity{Bytes: 20_000_000 * 1024}).BySize), 2,
		},
		{"large-objects", "a sample event of 420 KB: 20 KB over the maximum", 420<<10 - cost.MaxItem, 20 << 10},
		{"large-objects", "any single attribute is retrieved for 0.5 RCU", eventually(1023), 0.5},
		{"vertical-partitioning", "50 KB as one item", cost.WriteUnits(50 << 10), 50},
		{
			"vertical-partitioning", "100 key-value pairs written one by one: 100 units",
			func() float64 { _, s := Split{Whole: 50 << 10, Parts: hundred}.After(0); return s }(), 100,
		},
		{
			"vertical-partitioning", "break even after the next update (the text): at the second",
			breakEven(Split{Whole: 50 << 10, Parts: hundred}), 2,
		},
		{
			"vertical-partitioning", "and after a transactional insert, of 200 units, at the fourth",
			breakEven(Split{Whole: 50 << 10, Parts: hundred, Transactional: true}), 4,
		},
		{"guidelines-for-items", "throughput is rounded up to the next KB: 4 KB and a byte", cost.WriteUnits(4097), 5},
		{"guidelines-for-items", "GetItem: rounded up to the next 4 KB boundary", cost.ReadUnits(1), 1},
		{
			"guidelines-for-tables", "(1000 / 3000) + (500 / 1000) = 0.8333",
			parts(Capacity{RCU: 1000, WCU: 500}).ByThroughput, 1000.0/3000 + 0.5,
		},
		{
			"guidelines-for-tables", "therefore a single partition",
			float64(parts(Capacity{RCU: 1000, WCU: 500}).Count),
			1,
		},
		{
			"guidelines-for-tables", "(1000 / 3000) + (1000 / 1000) = 1.333",
			parts(Capacity{RCU: 1000, WCU: 1000}).ByThroughput, 1000.0/3000 + 1,
		},
		{
			"guidelines-for-tables", "the table would require two partitions",
			float64(parts(Capacity{RCU: 1000, WCU: 1000}).Count), 2,
		},
		{"guidelines-for-tables", "each with 500 read capacity units", parts(Capacity{RCU: 1000, WCU: 1000}).RCU, 500},
		{"guidelines-for-tables", "and 500 write capacity units", parts(Capacity{RCU: 1000, WCU: 1000}).WCU, 500},
		{
			"guidelines-for-tables", "500 GB / 10 GB = 50 partitions", float64(parts(Capacity{Bytes: 500 << 30}).Count),
			50,
		},
		{
			"guidelines-for-tables", "100,000 RCU / 50 partitions = 2000",
			parts(Capacity{Bytes: 500 << 30, RCU: 100_000}).RCU, 2000,
		},
		{
			"guidelines-for-tables", "5 minutes (300 seconds) of unused capacity", parts(Capacity{WCU: 10}).BurstWCU,
			3000,
		},
		{
			"guidelines-for-tables", "20 million items of 1 KB in 30 minutes: 11,111 WCU (the text: 11,000)",
			math.Round(thirty), 11_111,
		},
		{
			"guidelines-for-tables", "... and 12 partitions (the text: 11)",
			float64(parts(Capacity{WCU: thirty}).Count),
			12,
		},
		{
			"guidelines-for-tables",
			"200 WCU then leave 18 on each of the 11 partitions of the text (which says: around 20)",
			math.Round(then(Capacity{WCU: 11_000}, 200)), 18,
		},
		{"guidelines-for-tables", "... and 16.7 on each of 12", then(Capacity{WCU: thirty}, 200), 200.0 / 12},
		{
			"guidelines-for-tables", "3 hours leave 100 on each of 2",
			then(Capacity{WCU: load(20_000_000, 1024, 3*time.Hour)}, 200), 100,
		},
		{"guidelines-for-tables", "over 3 hours: 1,852 WCU", math.Round(load(20_000_000, 1024, 3*time.Hour)), 1852},
		{
			"guidelines-for-tables", "... and 2 partitions",
			float64(parts(Capacity{WCU: load(20_000_000, 1024, 3*time.Hour)}).Count), 2,
		},
		{"large-objects", "an item of 10 KB: 1.5 RCU eventually consistent", cost.ReadUnits(10<<10) / 2, 1.5},
		{"large-objects", "and 10 WCU to update", cost.WriteUnits(10 << 10), 10},
		{"large-objects", "items cumulatively below 1 KB are updated with a single WCU", cost.WriteUnits(1023), 1},
		{"large-objects", "the limit of 400 KB", cost.MaxItem, 400 << 10},
		{"large-objects", "a Query retrieves a maximum of 1 MB", cost.MaxPage, 1 << 20},
		{"large-objects", "BatchWriteItem: 25 items", cost.MaxBatchWrite, 25},
		{"large-objects", "TransactWriteItems: 100 items (the text: 25)", cost.MaxTransactItems, 100},
		{"large-objects", "and 4 MB", cost.MaxTransactBytes, 4 << 20},
		{"large-objects", "BatchWriteItem: 16 MB", cost.MaxBatchBytes, 16 << 20},
		{"large-objects", "compressed with zlib: 139 KB, 139 WCU", cost.WriteUnits(139 << 10), 139},
		{"large-objects", "... and 17.5 RCU eventually consistent", eventually(139 << 10), 17.5},
		{"large-objects", "compressed with snappy: 208 KB, 208 WCU", cost.WriteUnits(208 << 10), 208},
		{"large-objects", "... and 26 RCU eventually consistent", eventually(208 << 10), 26},
		{
			"large-objects", "a compression by 66 percent of 420 KB leaves 143 KB (the text: 139, which is 67)",
			math.Round(420 * (1 - 0.66)), 143,
		},
		{"data-model", "the 400 KB item size limit", cost.MaxItem, 409_600},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %s: %v", c.source, c.sentence, c.got)
		}
	}
}

// data-model: the sizes of the items that it shows, "the sum of lengths of its attribute
// names and values", numbers with "leading and trailing zeroes trimmed". Authors and Color
// are sets, as it says of them.
func TestSizesOfTheDataModel(t *testing.T) {
	for name, c := range map[string]struct {
		item string
		want int
	}{
		"the book, 101": {`{"Id": {"N": "101"}, "ProductName": {"S": "Book 101 Title"}, "ISBN": {"S": "111-1111111111"},
			"Authors": {"SS": ["Author 1", "Author 2"]},
			"Price": {"N": "-2"}, "Dimensions": {"S": "8.5 x 11.0 x 0.5"}, "PageCount": {"N": "500"},
			"InPublication": {"N": "1"},
			"ProductCategory": {"S": "Book"}}`, 150},
		"the bike, 201": {`{"Id": {"N": "201"}, "ProductName": {"S": "18-Bicycle 201"},
			"Description": {"S": "201 description"},
			"BicycleType": {"S": "Road"},
			"Brand": {"S": "Brand-Company A"}, "Price": {"N": "100"}, "Gender": {"S": "M"},
			"Color": {"SS": ["Red", "Black"]},
			"ProductCategory": {"S": "Bike"}}`, 137},
		"the bike, 202": {`{"Id": {"N": "202"}, "ProductName": {"S": "21-Bicycle 202"},
			"Description": {"S": "202 description"},
			"BicycleType": {"S": "Road"},
			"Brand": {"S": "Brand-Company A"}, "Price": {"N": "200"}, "Gender": {"S": "M"},
			"Color": {"SS": ["Green", "Black"]},
			"ProductCategory": {"S": "Bike"}}`, 139},
		"the desk, a document": {`{"Day": "Monday", "UnreadEmails": 42, "ItemsOnMyDesk": ["Coffee Cup", "Telephone", ` +
			`{"Pens": {"Quantity": 3}, "Pencils": {"Quantity": 2}, "Erasers": {"Quantity": 1}}]}`, 127},
		"the string Bicycle": {`{"a": "Bicycle"}`, 1 + 7},
		"the number 300":     {`{"a": 300}`, 1 + 2},
		"the binary":         {`{"a": {"B": "dGhpcyB0ZXh0IGlzIGJhc2U2NC1lbmNvZGVk"}}`, 1 + 27},
		"true":               {`{"a": true}`, 1 + 1},
		"NULL":               {`{"a": null}`, 1 + 1},
		"the string set":     {`{"a": {"SS": ["Black", "Green", "Red"]}}`, 1 + 5 + 5 + 3},
		"the number set":     {`{"a": {"NS": ["42.2", "-19", "7.5", "3.14"]}}`, 1 + 3 + 3 + 3 + 3},
		"the binary set":     {`{"a": {"BS": ["U3Vubnk=", "UmFpbnk=", "U25vd3k="]}}`, 1 + 5 + 5 + 5},
	} {
		item, err := ItemFromJSON([]byte(c.item))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := cost.ItemSize(item); got != c.want {
			t.Errorf("%s: %d bytes; want %d", name, got, c.want)
		}
	}
}

// sized returns an item of exactly so many bytes.
func sized(bytes int) Item { return Item{"v": text(strings.Repeat("x", bytes-1))} }

// guidelines-for-items: GetItem is rounded up item by item, while of a Query "the sizes of
// all returned items are totaled". And a long reply in chunks.
func TestFiguresOfItems(t *testing.T) {
	item := func(text string) Item {
		it, err := ItemFromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	small, large := slices.Repeat([]Item{sized(300)}, 100), slices.Repeat([]Item{sized(3 << 10)}, 100)
	reply := item(`{"Id": "DynamoDB#Thread1", "ReplyDateTime": "2012-03-15T20:42:54.023Z", "ChunkCount": 3, ` +
		`"ChunkVersion": 1}`)
	chunks := []Item{
		item(`{"Id": "DynamoDB#Thread1#2012-03-15T20:42:54.023Z#1#1", ` +
			`"Message": "first part of long message text..."}`),
		item(`{"Id": "DynamoDB#Thread1#2012-03-15T20:42:54.023Z#1#2", "Message": "...second part of long message ` +
			`text..."}`),
		item(`{"Id": "DynamoDB#Thread1#2012-03-15T20:42:54.023Z#1#3", ` +
			`"Message": "...third part of long message text"}`),
	}
	full := slices.Repeat([]Item{sized(cost.MaxItem)}, 3)
	write := func(items ...Item) float64 {
		var writes []Write
		for _, it := range items {
			writes = append(writes, Write{New: it})
		}
		return Table{Hash: "Id"}.BatchWrite(writes...).Table.Min
	}
	query := func(items ...Item) float64 {
		sizes := make([]int, len(items))
		for i, it := range items {
			sizes[i] = cost.ItemSize(it)
		}
		u, _ := Pages(Eventual, sizes...)
		return u.Min
	}
	for _, c := range []struct {
		sentence  string
		got, want float64
	}{
		{"100 GetItem of 3 KB", Get(Eventual, large...).Min, 50},
		{"... and of 300 bytes: separate items may not reduce throughput", Get(Eventual, small...).Min, 50},
		{"a Query of 100 items of 3 KB", query(large...), 37.5},
		{"... and of 300 bytes: for these operations you might still reduce it", query(small...), 4},
		{"the reply that is kept in chunks has no message: 81 bytes", float64(cost.ItemSize(reply)), 81},
		{"it and its 3 chunks are written for 4 WCU", write(append(chunks, reply)...), 4},
		{"... and read, each by its key, for 2 RCU", Get(Eventual, append(chunks, reply)...).Min, 2},
		{"3 chunks as large as items get: 1,200 WCU, and 1 for the reply", write(append(full, reply)...), 1201},
		{"... 150.5 RCU to read, chunks by BatchGetItem", Get(Eventual, append(full, reply)...).Min, 150.5},
		{"... and chunks of one collection by a Query, in one answer", query(full...), 150},
	} {
		if c.got != c.want {
			t.Errorf("guidelines-for-items: %s: %v; want %v", c.sentence, c.got, c.want)
		}
	}
}

// guidelines-for-tables: what reading 200 suffixes costs at least, and what deleting does.
func TestFiguresOfTables(t *testing.T) {
	one, answers := Pages(Eventual)
	if all := one.Times(200); all.Min != 100 || answers != 1 {
		t.Errorf("200 queries, one for each suffix, cost %v RCU; want at least 100", all)
	}
	month := slices.Repeat([]Item{sized(1 << 10)}, 1000)
	var table Table
	puts, deletes := Usage{}, Usage{}
	for _, it := range month {
		puts, deletes = puts.Add(table.Put(nil, it)), deletes.Add(table.Delete(it))
	}
	if puts.Total().Min != 1000 || puts.Add(deletes).Total().Min != 2*puts.Total().Min {
		t.Errorf("putting costs %v, with deleting one by one %v; want it doubled", puts.Total(),
			puts.Add(deletes).Total())
	}
	if n := table.Expire(month[0]).Total().Min; n != 0 {
		t.Errorf("expiry costs %v", n)
	}
}

// large-objects: 420 KB do not fit an item, and do fit two.
func TestFiguresOfLargeObjects(t *testing.T) {
	if err := CheckItem(sized(420 << 10)); err == nil {
		t.Error("an item of 420 KB")
	}
	sizes, err := PartSizes(420<<10, 40)
	if err != nil || !slices.Equal(sizes, []int{cost.MaxItem, 20<<10 + 80}) {
		t.Fatal(sizes, err)
	}
	wcu := 0.0
	for _, n := range sizes {
		wcu += cost.WriteUnits(n)
	}
	whole, answers := Pages(Eventual, sizes...)
	preview := cost.ReadUnits(sizes[0]) / 2
	if wcu != 421 || whole.Min != 53 || answers != 1 || preview != 50 {
		t.Errorf("420 KB in two parts: %v WCU, %v RCU in %d answers, the first part alone %v", wcu, whole, answers,
			preview)
	}
	for _, c := range [][2]int{{-1, 0}, {0, -1}, {1, cost.MaxItem}, {math.MaxInt, 0}} {
		if _, err := PartSizes(c[0], c[1]); err == nil {
			t.Error(c)
		}
	}
	for bytes, want := range map[int]int{0: 1, cost.MaxItem - 40: 1, cost.MaxItem - 39: 2} {
		if sizes, err := PartSizes(bytes, 40); err != nil || len(sizes) != want {
			t.Errorf("%d bytes: %v, %v", bytes, sizes, err)
		}
	}
}

// Bad input gets an error that says what to give.
func TestBadInput(t *testing.T) {
	for name, err := range map[string]error{
		"negative size":    func() error { _, err := Capacity{Bytes: -1}.Partitions(); return err }(),
		"no number":        func() error { _, err := Capacity{WCU: math.NaN()}.Partitions(); return err }(),
		"negative items":   func() error { _, err := LoadIn(-1, 1, time.Hour); return err }(),
		"a large item":     func() error { _, err := LoadIn(1, cost.MaxItem+1, time.Hour); return err }(),
		"more than can be": func() error { _, err := Capacity{Bytes: 1e300}.Partitions(); return err }(),
		"a hot negative":   func() error { _, err := Capacity{WCU: -1}.Hot(0.5); return err }(),
		"no time":          func() error { _, err := LoadIn(1, 1, 0); return err }(),
		"no keys":          func() error { _, err := Capacity{}.Hottest(0, 1); return err }(),
		"a negative skew":  func() error { _, err := Capacity{}.Hottest(1, -1); return err }(),
		"a share over 1":   func() error { _, err := Capacity{}.Hot(2); return err }(),
		"no parts":         func() error { _, _, err := Split{}.BreakEven(); return err }(),
		"no such part":     func() error { _, _, err := Split{Parts: []int{1}, Updated: 1}.BreakEven(); return err }(),
		"a negative part":  func() error { _, _, err := Split{Parts: []int{-1}}.BreakEven(); return err }(),
		"an item too large": func() error {
			_, _, err := Split{Whole: cost.MaxItem + 1, Parts: []int{1}}.BreakEven()
			return err
		}(),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The busiest key of a skewed workload, and the number of shards that it needs. Its reads and writes
// share a partition, so a key over the limit never needs just one shard.
func TestHotKeys(t *testing.T) {
	hottest := func(c Capacity, keys int, skew float64) HotKey {
		h, err := c.Hottest(keys, skew)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	half, err := Capacity{RCU: 6000, WCU: 5000}.Hot(0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		got          HotKey
		share        float64
		shards, keys int
	}{
		{"even", hottest(Capacity{RCU: 6000, WCU: 5000}, 1000, 0), 0.001, 1, 0},
		{"even and too much", hottest(Capacity{WCU: 5000}, 4, 0), 0.25, 2, 4},
		{"even, and just what partitions serve", hottest(Capacity{WCU: 3000}, 3, 0), 1.0 / 3, 1, 0},
		{
			"reads and writes each within a partition, and over it together",
			hottest(Capacity{RCU: 10_000, WCU: 5000}, 1000, 1), 0.13359213, 2, 1,
		},
		{"several keys over it", hottest(Capacity{WCU: 20_000}, 1000, 1), 0.13359213, 3, 2},
		{"one key", hottest(Capacity{WCU: 2000}, 1, 1), 1, 2, 1},
		{"half of all", half, 0.5, 4, 1},
		{"no capacity asked", hottest(Capacity{}, 1000, 1), 0.13359213, 1, 0},
	} {
		if h := c.got; math.Abs(h.Share-c.share) > 1e-8 || h.Shards != c.shards || h.Keys != c.keys ||
			h.Throttled != (c.shards > 1) {
			t.Errorf("%s: %+v", c.name, h)
		}
	}
}

// A whole number of partitions' throughput gives that number of partitions, however the quotients
// round. A table keeps partitions that it once had.
func TestPartitions(t *testing.T) {
	for _, c := range []struct {
		rcu, wcu float64
		count    int
	}{{900, 700, 1}, {300, 900, 1}, {2100, 300, 1}, {2100, 2300, 3}, {2100, 2301, 4}} {
		p, err := Capacity{RCU: c.rcu, WCU: c.wcu}.Partitions()
		if err != nil || p.Count != c.count {
			t.Errorf("%v RCU, %v WCU: %d partitions, %v; want %d", c.rcu, c.wcu, p.Count, err, c.count)
		}
	}
	loaded, _ := Capacity{WCU: 11_000}.Partitions()
	less, err := loaded.Then(Capacity{WCU: 200})
	if err != nil || less.Count != 11 || less.WCU != 200.0/11 || less.BurstWCU != less.WCU*300 {
		t.Errorf("%+v, %v", less, err)
	}
	more, err := loaded.Then(Capacity{WCU: 22_000})
	if err != nil || more.Count != 22 {
		t.Errorf("%+v, %v", more, err)
	}
	if _, err := loaded.Then(Capacity{WCU: -1}); err == nil {
		t.Error("a negative capacity")
	}
}
