package large

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/mapper"
)

// ErrCorrupt says that the stored bytes of a large value are damaged: a part or object is missing, has
// another length or content, or does not decompress. The error that wraps it names the field and the
// item. A value that was replaced in the meantime never returns it.
var ErrCorrupt = extern.ErrCorrupt

// defaultGrace is how long an unreferenced value stays. A program that reads it has that long to
// finish.
const defaultGrace = time.Hour

// Collected is the result of a collection. Its JSON has more: records, parts and objects, strays,
// consumed capacity.
type Collected struct {
	// Values were visited. Unreferenced values have no pointer to them; they stay until Grace has
	// passed, or because the collection only reports.
	Values       int
	Unreferenced int
	// Removed counts the deleted values.
	Removed int
	// Next is where the next collection can continue. It is empty after the last record.
	Next string
	// Requests, WCU and RCU are the predicted cost.
	Requests int
	WCU, RCU cost.Units

	full *extern.Report
}

// MarshalJSON returns the complete result.
func (c *Collected) MarshalJSON() ([]byte, error) { return json.Marshal(c.full) }

// CollectOption is an option of Collect: [Delete], [Grace], [Resume], [Rate], [Scan].
type CollectOption interface{ apply(*collecting) }

type collectFunc func(*collecting)

func (f collectFunc) apply(c *collecting) { f(c) }

// collecting has the settings of a collection.
type collecting struct {
	*extern.Collector
	from string
	scan bool
	rate request.Rate
}

// Delete deletes unreferenced values. Without it, a collection only reports and writes nothing.
func Delete() CollectOption { return collectFunc(func(c *collecting) { c.Act = true }) }

// Grace sets how long a value stays after a collection found it unreferenced. The default is an hour
// and the minimum 20 minutes, because a signed request may still arrive in that time.
func Grace(d time.Duration) CollectOption {
	return collectFunc(func(c *collecting) { c.Collector.Grace = d })
}

// Resume continues a collection at its Next.
func Resume(next string) CollectOption {
	return collectFunc(func(c *collecting) { c.from = next })
}

// Rate limits a collection to this many capacity units a second, reads and writes together.
func Rate(units float64) CollectOption {
	return collectFunc(func(c *collecting) { c.rate = request.RateOf(units) })
}

// Scan also reads all tables of parts, and lists the objects in the buckets with their metadata. It
// finds parts and objects without a record. It costs the same as a Scan of these tables: 0.5 RCU for
// each 4 KB.
func Scan() CollectOption { return collectFunc(func(c *collecting) { c.scan = true }) }

// Collect finds unreferenced large values: replaced values, values of deleted items, and values of
// failed saves. It reads all records of the model's large values and the items of these values,
// strongly consistent. With [Delete] it deletes values that an earlier collection found unreferenced,
// at least [Grace] ago. It may run at any time, and several at once. If an error ends it, the result
// has the progress.
func Collect[T any](ctx context.Context, m *mapper.Mapper[T], options ...CollectOption) (*Collected, error) {
	c, err := door.Mapper.Engine(m).Collector()
	if err != nil {
		return &Collected{full: &extern.Report{}}, err
	}
	r, err := collect(ctx, c, options)
	return &Collected{
		Values: r.Values, Unreferenced: r.Unreferenced, Removed: r.Removed, Next: r.Next,
		Requests: r.Requests, WCU: r.WCU, RCU: r.RCU, full: r,
	}, err
}

func init() {
	door.Large.Collect = func(ctx context.Context, c *extern.Collector, options any) (*extern.Report, error) {
		return collect(ctx, c, options.([]CollectOption))
	}
	door.Large.Full = func(c any) *extern.Report { return c.(*Collected).full }
}

func collect(ctx context.Context, c *extern.Collector, options []CollectOption) (*extern.Report, error) {
	c.Grace = defaultGrace
	x := &collecting{Collector: c}
	for _, o := range options {
		if o != nil {
			o.apply(x)
		}
	}
	if err := x.rate.Check(); err != nil {
		return &extern.Report{}, fmt.Errorf("large: Rate is %w", err)
	}
	c.Limit = x.rate.Limiter(1)
	if !x.scan && strings.HasPrefix(x.from, "scan/") {
		return &extern.Report{Collected: extern.Collected{Next: x.from}},
			fmt.Errorf("large: the collection ended in a scan, at %q: continue with Scan (-scan)", x.from)
	}
	done, err := c.Run(ctx, x.from)
	if err == nil && x.scan {
		err = c.Scan(ctx, x.from, done)
	}
	t := &done.Tally
	out := &extern.Report{
		Collected: *done,
		Requests:  t.Requests, WCU: t.WCU.Add(t.Refused), RCU: t.RCU, ConsumedWCU: t.ConsumedWCU,
		ConsumedRCU: t.ConsumedRCU, S3: t.Objects,
	}
	if x.scan {
		out.Strays = &done.Strays
	}
	err = door.Mapper.Throttled("", err)
	if err != nil && done.Next == "" {
		return out, fmt.Errorf("large: the collection failed: %w", err)
	}
	if err != nil {
		return out, fmt.Errorf("large: the collection ended at %q: %w", done.Next, err)
	}
	return out, nil
}
