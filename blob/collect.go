package blob

import (
	"context"
	"fmt"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/bulk"
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
	// Removed are values that it removed: so many parts and objects.
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
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

// CollectOption is an option of Collect.
type CollectOption func(*large.Collector, *string)

// Delete has a collection act. Without it, it only reports, and writes nothing.
func Delete() CollectOption { return func(c *large.Collector, _ *string) { c.Act = true } }

// Grace is for how long a value stays after it was found that nothing points to it: DefaultGrace unless it is given, and
// never less than 20 minutes, for which a request that was signed may yet arrive.
func Grace(d time.Duration) CollectOption { return func(c *large.Collector, _ *string) { c.Grace = d } }

// From goes on where a collection has ended: at its Next.
func From(next string) CollectOption { return func(_ *large.Collector, from *string) { *from = next } }

// Pace bounds the capacity units that a collection takes a second, of reads and writes together.
func Pace(units float64) CollectOption {
	return func(c *large.Collector, _ *string) { c.Bucket = bulk.NewBucket(units) }
}

// Collect removes large values to which nothing points any more: those that were replaced or whose items are gone, and those of saves that
// did not come about. It reads all records of the model's large values, and the items they were written for, strongly; what it would remove stays
// for Grace after it was found, so that a value goes in the second collection or later. It may run at any time, and several at once.
// Without Delete it only reports. An error ends it; what it returns then tells how far it came.
func Collect[T any](ctx context.Context, m *mapper.Mapper[T], options ...CollectOption) (*Collected, error) {
	c, err := m.Collector()
	if err != nil {
		return &Collected{}, err
	}
	c.Grace = DefaultGrace
	from := ""
	for _, set := range options {
		set(c, &from)
	}
	done, err := c.Run(ctx, from)
	t := &done.Tally
	out := &Collected{
		Records: done.Records, Values: done.Values, Writing: done.Open, GivenUp: done.GivenUp, Waiting: done.Waiting,
		Unreferenced: done.Unreferenced, Again: done.Again, Foreign: done.Foreign, Removed: done.Removed, Parts: done.Parts, Objects: done.Objects,
		Next: done.Next, Requests: t.Requests, WCU: t.WCU.Add(t.Refused), RCU: t.RCU, ConsumedWCU: t.ConsumedWCU, ConsumedRCU: t.ConsumedRCU, S3: t.Objects,
	}
	if err != nil {
		return out, fmt.Errorf("blob: the collection ended at %q: %w", done.Next, err)
	}
	return out, nil
}
