package blob

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/mapper"
)

// CorruptError says that what is stored of a large value is not what was written: a part or object is missing, or of another
// length or content, or does not decompress. It is never returned for a value that was replaced meanwhile.
type CorruptError = large.CorruptError

// DefaultGrace is for how long a value stays to which nothing points any more: who is reading it has that long to end.
const DefaultGrace = time.Hour

// Collected is what a collection has found and done.
type Collected struct {
	// Records and Values are what it visited.
	Records int `json:"records"`
	Values  int `json:"values"`
	// Writing are records of saves under way; GivenUp those that it aborted, since their deadlines are over; Waiting those that
	// were aborted too short a time ago to remove their values.
	Writing int `json:"writing"`
	GivenUp int `json:"givenUp"`
	Waiting int `json:"waiting"`
	// Unreferenced are values to which nothing points, and that stay for their grace, or since it only reports; Again are
	// those that were noted so before and are pointed to.
	Unreferenced int `json:"unreferenced"`
	Again        int `json:"again"`
	// Foreign are records that it left alone, since they are of other models, or of other tables and buckets than the mapper's: collect with
	// mappers of these.
	Foreign int `json:"foreign"`
	// Unreadable are items that lie among the records and are none, or damaged ones: they are left alone.
	Unreadable int `json:"unreadable"`
	// Removed are values that it removed: so many parts and objects.
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
	// Strays are what Scan has found, without which they are not looked for.
	Strays *Strays `json:"strays,omitempty"`
	// Next is where the next collection goes on that is to begin where this one ended; empty after the last record.
	Next string `json:"next,omitempty"`
	// Requests, WCU and RCU are what it cost: those as predicted, and ConsumedWCU and ConsumedRCU as DynamoDB reported them. S3 are requests to that.
	Requests    int          `json:"requests"`
	WCU         cost.Units   `json:"wcu"`
	RCU         cost.Units   `json:"rcu"`
	ConsumedWCU float64      `json:"consumedWCU"`
	ConsumedRCU float64      `json:"consumedRCU"`
	S3          cost.Objects `json:"s3,omitzero"`
}

// Strays are parts and objects of values that no record tells of, as after a restore, or since a request arrived hours
// after it was sent.
type Strays struct {
	// Seen are the values that lie outside of their items, Unrecorded those of them that have no record.
	Seen       int `json:"seen"`
	Unrecorded int `json:"unrecorded"`
	// Pointed are those without a record that items point to, and Foreign those of other models, and objects of items
	// whose key does not fit S3's metadata: both are left alone. The others were removed, by Delete: so many parts and objects.
	Pointed int `json:"pointed"`
	Foreign int `json:"foreign"`
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
	// Uploads are uploads in parts that nobody ends any more, which Delete aborts.
	Uploads int `json:"uploads"`
}

// CollectOption is an option of Collect.
type CollectOption func(*collecting)

// collecting is a collection that is asked for.
type collecting struct {
	*large.Collector
	from string
	scan bool
	rate float64
}

// Delete has a collection act. Without it, it only reports, and writes nothing.
func Delete() CollectOption { return func(c *collecting) { c.Act = true } }

// Grace is for how long a value stays after it was found that nothing points to it: DefaultGrace unless it is given, and
// never less than 20 minutes, for which a request that was signed may yet arrive.
func Grace(d time.Duration) CollectOption { return func(c *collecting) { c.Collector.Grace = d } }

// Resume goes on where a collection has ended: at its Next.
func Resume(next string) CollectOption { return func(c *collecting) { c.from = next } }

// Rate bounds the capacity units that a collection takes a second, of reads and writes together.
func Rate(units float64) CollectOption {
	return func(c *collecting) { c.rate, c.Limit = units, flow.LimiterOrNil(units) }
}

// Scan also reads, after the records, all of the tables in which parts lie, and lists the objects in the buckets with the
// metadata of each, for what no record tells of. It costs what a Scan of these tables costs: 0.5 RCU for each 4 KB of them.
func Scan() CollectOption { return func(c *collecting) { c.scan = true } }

// Collect removes large values to which nothing points any more: those that were replaced or whose items are gone, and those of saves that
// did not come about. It reads all records of the model's large values, and the items they were written for, strongly; what it would remove stays
// for Grace after it was found, so that a value goes in the second collection or later. It may run at any time, and several at once.
// Without Delete it only reports. An error ends it; what it returns then tells how far it came.
func Collect[T any](ctx context.Context, m *mapper.Mapper[T], options ...CollectOption) (*Collected, error) {
	c, err := mapper.Internal.Collector(door.Key{}, m)
	if err != nil {
		return &Collected{}, err
	}
	return collect(ctx, c, options)
}

// Internal is for the other packages of itemize: no other code can call its methods.
var Internal internal

type internal struct{}

// Collect is Collect for the command itemize, which knows a model by its source.
func (internal) Collect(_ door.Key, ctx context.Context, c *large.Collector, options []CollectOption) (*Collected, error) {
	return collect(ctx, c, options)
}

func collect(ctx context.Context, c *large.Collector, options []CollectOption) (*Collected, error) {
	c.Grace = DefaultGrace
	x := &collecting{Collector: c}
	for _, set := range options {
		set(x)
	}
	if x.rate < 0 {
		return &Collected{}, fmt.Errorf("blob: Rate(%v): give a number of capacity units a second", x.rate)
	}
	if !x.scan && strings.HasPrefix(x.from, "scan/") {
		return &Collected{Next: x.from}, fmt.Errorf("blob: the collection ended in a scan, at %q: go on with Scan (-scan)", x.from)
	}
	done, err := c.Run(ctx, x.from)
	if err == nil && x.scan {
		err = c.Scan(ctx, x.from, done)
	}
	t := &done.Tally
	out := &Collected{
		Records: done.Records, Values: done.Values, Writing: done.Open, GivenUp: done.GivenUp, Waiting: done.Waiting,
		Unreferenced: done.Unreferenced, Again: done.Again, Foreign: done.Foreign, Unreadable: done.Unreadable, Removed: done.Removed, Parts: done.Parts, Objects: done.Objects,
		Next: done.Next, Requests: t.Requests, WCU: t.WCU.Add(t.Refused), RCU: t.RCU, ConsumedWCU: t.ConsumedWCU, ConsumedRCU: t.ConsumedRCU, S3: t.Objects,
	}
	if x.scan {
		strays := Strays(done.Strays)
		out.Strays = &strays
	}
	if err != nil && done.Next == "" {
		return out, fmt.Errorf("blob: the collection failed: %w", err)
	}
	if err != nil {
		return out, fmt.Errorf("blob: the collection ended at %q: %w", done.Next, err)
	}
	return out, nil
}
