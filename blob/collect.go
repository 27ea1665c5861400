package blob

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/mapper"
)

// ErrCorrupt says that the stored bytes of a large value are damaged: a part or object is missing, or
// of another length or content, or does not decompress. The error that wraps it names the field and the
// item. It is never returned for a value that was replaced in the meantime.
var ErrCorrupt = large.ErrCorrupt

// defaultGrace is for how long a value stays to which nothing points any more: who is reading it has that long to end.
const defaultGrace = time.Hour

// Collected is the result of a collection. Its JSON has more: records, parts and objects, strays, the
// units that DynamoDB charged.
type Collected struct {
	// Values were visited. Unreferenced are those to which nothing points, and that stay for their
	// grace, or since it only reports.
	Values       int
	Unreferenced int
	// Removed are the values that it removed.
	Removed int
	// Next is where the next collection goes on that is to begin where this one ended; empty after the last record.
	Next string
	// Requests, WCU and RCU are its cost, as predicted.
	Requests int
	WCU, RCU cost.Units

	full *large.Report
}

// MarshalJSON returns what it has found and done in full.
func (c *Collected) MarshalJSON() ([]byte, error) { return json.Marshal(c.full) }

// CollectOption is an option of Collect: [Delete], [Grace], [Resume], [Rate], [Scan].
type CollectOption interface{ apply(*collecting) }

type collectFunc func(*collecting)

func (f collectFunc) apply(c *collecting) { f(c) }

// collecting is a collection that is asked for.
type collecting struct {
	*large.Collector
	from string
	scan bool
	rate flow.Rate
}

// Delete has a collection act. Without it, it only reports, and writes nothing.
func Delete() CollectOption { return collectFunc(func(c *collecting) { c.Act = true }) }

// Grace is for how long a value stays after it was found that nothing points to it: an hour unless it is given, and
// never less than 20 minutes, for which a request that was signed may yet arrive.
func Grace(d time.Duration) CollectOption {
	return collectFunc(func(c *collecting) { c.Collector.Grace = d })
}

// Resume goes on where a collection has ended: at its Next.
func Resume(next string) CollectOption {
	return collectFunc(func(c *collecting) { c.from = next })
}

// Rate bounds the capacity units that a collection takes a second, of reads and writes together.
func Rate(units float64) CollectOption {
	return collectFunc(func(c *collecting) { c.rate = flow.RateOf(units) })
}

// Scan also reads, after the records, all of the tables in which parts lie, and lists the objects in
// the buckets with the metadata of each, for what no record tells of. It costs what a Scan of these
// tables costs: 0.5 RCU for each 4 KB of them.
func Scan() CollectOption { return collectFunc(func(c *collecting) { c.scan = true }) }

// Collect removes large values to which nothing points any more: those that were replaced or whose
// items are gone, and those of saves that did not come about. It reads all records of the model's large
// values, and the items they were written for, strongly; what it would remove stays for Grace after it
// was found, so that a value goes in the second collection or later. It may run at any time, and
// several at once. Without Delete it only reports. An error ends it; what it returns then tells how far
// it came.
func Collect[T any](ctx context.Context, m *mapper.Mapper[T], options ...CollectOption) (*Collected, error) {
	c, err := mapper.Internal.Collector(door.Key{}, m)
	if err != nil {
		return &Collected{full: &large.Report{}}, err
	}
	r, err := collect(ctx, c, options)
	return &Collected{
		Values: r.Values, Unreferenced: r.Unreferenced, Removed: r.Removed, Next: r.Next,
		Requests: r.Requests, WCU: r.WCU, RCU: r.RCU, full: r,
	}, err
}

// Internal is for the other packages of itemize: no other code can call its methods.
var Internal internal

type internal struct{}

// Collect is Collect for the command itemize, which knows a model by its source.
func (internal) Collect(_ door.Key, ctx context.Context, c *large.Collector, options []CollectOption) (*large.Report,
	error) {
	return collect(ctx, c, options)
}

// Full returns what a collection has found and done in full.
func (internal) Full(_ door.Key, c *Collected) *large.Report { return c.full }

func collect(ctx context.Context, c *large.Collector, options []CollectOption) (*large.Report, error) {
	c.Grace = defaultGrace
	x := &collecting{Collector: c}
	for _, o := range options {
		if o != nil {
			o.apply(x)
		}
	}
	if err := x.rate.Check(); err != nil {
		return &large.Report{}, fmt.Errorf("blob: Rate is %w", err)
	}
	c.Limit = x.rate.Limiter(1)
	if !x.scan && strings.HasPrefix(x.from, "scan/") {
		return &large.Report{Collected: large.Collected{Next: x.from}},
			fmt.Errorf("blob: the collection ended in a scan, at %q: go on with Scan (-scan)", x.from)
	}
	done, err := c.Run(ctx, x.from)
	if err == nil && x.scan {
		err = c.Scan(ctx, x.from, done)
	}
	t := &done.Tally
	out := &large.Report{
		Collected: *done,
		Requests:  t.Requests, WCU: t.WCU.Add(t.Refused), RCU: t.RCU, ConsumedWCU: t.ConsumedWCU,
		ConsumedRCU: t.ConsumedRCU, S3: t.Objects,
	}
	if x.scan {
		out.Strays = &done.Strays
	}
	if err != nil && done.Next == "" {
		return out, fmt.Errorf("blob: the collection failed: %w", err)
	}
	if err != nil {
		return out, fmt.Errorf("blob: the collection ended at %q: %w", done.Next, err)
	}
	return out, nil
}
