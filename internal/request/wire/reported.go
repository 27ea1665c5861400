package wire

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Reported adds up the capacity that DynamoDB reports for the requests of a call, by table.
type Reported struct {
	mu     sync.Mutex
	tables map[string]*TableCapacity
	// count and scanned are the numbers of items that queries and scans returned and read.
	count, scanned int
	pages          bool
	outer          *Reported
}

// TableCapacity is the capacity of a table, in the JSON form of DynamoDB's ConsumedCapacity.
type TableCapacity struct {
	TableName string
	UnitCapacity
	Table                  *UnitCapacity            `json:",omitempty"`
	GlobalSecondaryIndexes map[string]*UnitCapacity `json:",omitempty"`
	LocalSecondaryIndexes  map[string]*UnitCapacity `json:",omitempty"`
	VectorIndexes          map[string]*VectorBytes  `json:",omitempty"`
}

// UnitCapacity is an amount of units.
type UnitCapacity struct {
	CapacityUnits      float64
	ReadCapacityUnits  float64 `json:",omitempty"`
	WriteCapacityUnits float64 `json:",omitempty"`
}

// VectorBytes are the bytes that a vector index took.
type VectorBytes struct {
	VectorSearchRequestBytes float64 `json:",omitempty"`
	VectorWriteRequestBytes  float64 `json:",omitempty"`
}

type reportedKey struct{}

// Collect returns a context whose requests add to a new Reported.
func Collect(ctx context.Context) (context.Context, *Reported) {
	r := &Reported{outer: reportedOf(ctx)}
	return context.WithValue(ctx, reportedKey{}, r), r
}

func reportedOf(ctx context.Context) *Reported {
	r, _ := ctx.Value(reportedKey{}).(*Reported)
	return r
}

// Report adds the capacity of an answer, nil for none, for those who collect it in the context.
func Report(ctx context.Context, c *types.ConsumedCapacity) {
	if c == nil {
		return
	}
	for r := reportedOf(ctx); r != nil; r = r.outer {
		r.add(c)
	}
}

// ReportPage adds the Count and ScannedCount of an answer of a query or scan.
func ReportPage(ctx context.Context, count, scanned int32) {
	for r := reportedOf(ctx); r != nil; r = r.outer {
		r.mu.Lock()
		r.count, r.scanned, r.pages = r.count+int(count), r.scanned+int(scanned), true
		r.mu.Unlock()
	}
}

// Tables returns the capacity of each table, by name.
func (r *Reported) Tables() []TableCapacity {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []TableCapacity
	for _, name := range slices.Sorted(maps.Keys(r.tables)) {
		all = append(all, *r.tables[name])
	}
	return all
}

// Items returns the numbers of items that queries and scans returned and read. ok is false if there were no such
// requests.
func (r *Reported) Items() (count, scanned int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.scanned, r.pages
}

func (r *Reported) add(c *types.ConsumedCapacity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := aws.ToString(c.TableName)
	if r.tables == nil {
		r.tables = map[string]*TableCapacity{}
	}
	t := r.tables[name]
	if t == nil {
		t = &TableCapacity{TableName: name}
		r.tables[name] = t
	}
	t.UnitCapacity.add(types.Capacity{
		CapacityUnits: c.CapacityUnits, ReadCapacityUnits: c.ReadCapacityUnits,
		WriteCapacityUnits: c.WriteCapacityUnits,
	})
	if c.Table != nil {
		if t.Table == nil {
			t.Table = &UnitCapacity{}
		}
		t.Table.add(*c.Table)
	}
	addIndexes(&t.GlobalSecondaryIndexes, c.GlobalSecondaryIndexes)
	addIndexes(&t.LocalSecondaryIndexes, c.LocalSecondaryIndexes)
	for index, v := range c.VectorIndexes {
		b := entry(&t.VectorIndexes, index)
		b.VectorSearchRequestBytes += aws.ToFloat64(v.VectorSearchRequestBytes)
		b.VectorWriteRequestBytes += aws.ToFloat64(v.VectorWriteRequestBytes)
	}
}

func addIndexes(to *map[string]*UnitCapacity, all map[string]types.Capacity) {
	for index, c := range all {
		entry(to, index).add(c)
	}
}

// entry returns the entry of a map, which it makes if it does not exist.
func entry[T any](all *map[string]*T, name string) *T {
	if *all == nil {
		*all = map[string]*T{}
	}
	if (*all)[name] == nil {
		(*all)[name] = new(T)
	}
	return (*all)[name]
}

func (u *UnitCapacity) add(c types.Capacity) {
	u.CapacityUnits += aws.ToFloat64(c.CapacityUnits)
	u.ReadCapacityUnits += aws.ToFloat64(c.ReadCapacityUnits)
	u.WriteCapacityUnits += aws.ToFloat64(c.WriteCapacityUnits)
}
