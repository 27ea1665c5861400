package stream

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/mapper"
)

// Plan is the predicted price of a consumer that has nothing to handle, for all of its workers.
type Plan struct {
	// WCU and RCU are the capacity units of the table of leases per hour.
	WCU, RCU float64
	// GetRecords is the number of read requests of the stream per hour.
	GetRecords float64
	// Checkpoint is the price of one checkpoint in WCU. A shard with progress has at most one for each Interval.
	Checkpoint float64
}

// String returns the plan as a sentence.
func (p Plan) String() string {
	return fmt.Sprintf("idle: %.0f WCU, %.0f RCU and %.0f GetRecords an hour; %g WCU for each checkpoint", p.WCU, p.RCU,
		p.GetRecords, p.Checkpoint)
}

// PlanConsumer predicts the price of an idle consumer with a number of open shards and workers, from the options of
// NewConsumer. It sends nothing.
func PlanConsumer(shards, workers int, options ...ConsumerOption) (Plan, error) {
	if shards < 0 || workers < 1 {
		return Plan{}, model.Usagef("stream.PlanConsumer: %d shards and %d workers: pass at least 0 and 1", shards,
			workers)
	}
	r := NewRouter()
	r.Unmatched(func(context.Context, *Record) error { return nil })
	c, err := newConsumer(dynamodb.New(dynamodb.Options{}), noStreams{}, "table", r, options)
	if err != nil {
		return Plan{}, model.Usage(fmt.Errorf("stream.PlanConsumer: %w", err))
	}
	s := &c.settings
	// The sizes are those of typical keys: an ARN of 90 characters, sequence numbers of 21, and one parent.
	l := lease{
		Name: c.store.name, Shard: strings.Repeat("s", 37), Stream: strings.Repeat("a", 90),
		Owner: strings.Repeat("w", 26), Group: strings.Repeat("g", 8), Listed: 1_800_000_000,
		After: strings.Repeat("0", 21), Parents: []string{strings.Repeat("p", 37)},
	}
	size, err := bytesOf(c.store.leases, l)
	if err != nil {
		return Plan{}, err
	}
	beat, err := bytesOf(c.store.workers, worker{
		Name: c.store.name, ID: strings.Repeat("w", 26), Beat: 1_800_000_000_000,
	})
	if err != nil {
		return Plan{}, err
	}
	beats := float64(time.Hour) / float64(s.interval)
	listings := float64(time.Hour) / float64(s.discover)
	leases := halfUnits(shards * size)
	n := float64(workers)
	return Plan{ // a listing reads the leases, and the item of the group, strongly consistent
		WCU:        n * beats,
		RCU:        n * (beats*(2*halfUnits(workers*beat)+leases) + listings*(leases+1)),
		GetRecords: float64(shards) * float64(time.Hour) / float64(s.poll),
		Checkpoint: math.Ceil(float64(size) / 1024),
	}, nil
}

// bytesOf returns the size of an item with a value, from the plan of its insert.
func bytesOf[T any](m *mapper.Mapper[T], v T) (int, error) {
	p, err := m.PlanSave(m.New(v))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, it := range p.Items {
		n += it.NewBytes
	}
	return n, nil
}

// halfUnits is the price of a query that is not strongly consistent, in RCU.
func halfUnits(size int) float64 { return 0.5 * math.Max(1, math.Ceil(float64(size)/4096)) }

// noStreams is a service that is never called.
type noStreams struct{ Streams }
