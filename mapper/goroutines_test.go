package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Law 7: no goroutine runs after a call has returned, also where the caller leaves a result early, or its
// context ends. Goroutines inherit the labels of the one that starts them.
func TestNoGoroutineOutlivesItsCall(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	readings := kit.Must(mapper.New[kit.Reading](testengine.Start(t).Client(), mapper.Table(table)))(t)
	ticks := kit.Must(mapper.New[kit.Tick](&kit.Distant{Delay: time.Millisecond, Each: 250}))(t)
	all := func(yield func(kit.Reading, error) bool) {
		for i := range 2000 {
			if !yield(kit.Reading{Sensor: fmt.Sprint(i % 7), N: i, Text: strings.Repeat("x", 500)}, nil) {
				return
			}
		}
	}
	for _, c := range []struct {
		name string
		call func(ctx context.Context) error
	}{
		{"a bulk load", func(ctx context.Context) error {
			_, err := readings.BulkLoad(ctx, all, mapper.Concurrency(8))
			return err
		}},
		{"a bulk load whose context ends", func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			n := 0
			_, err := readings.BulkLoad(ctx, func(yield func(kit.Reading, error) bool) {
				for v := range all {
					if n++; n == 500 {
						cancel()
					}
					if !yield(v, nil) {
						return
					}
				}
			}, mapper.Concurrency(8))
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("it was canceled: %w", err)
			}
			return nil
		}},
		{"a scan of segments that is left", func(ctx context.Context) error {
			for _, err := range readings.Scan(ctx, mapper.Segments(4)) {
				return err
			}
			return errors.New("it yields nothing")
		}},
		{"a query of all shards that is left", func(ctx context.Context) error {
			for _, err := range query.Of[kit.Tick](ticks.Key("d")).All(ctx, ticks, mapper.Concurrency(50)) {
				return err
			}
			return errors.New("it yields nothing")
		}},
		{"a query of all shards whose context ends", func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for _, err := range query.Of[kit.Tick](ticks.Key("d")).All(ctx, ticks, mapper.Concurrency(50)) {
				if cancel(); err != nil {
					return nil
				}
			}
			return errors.New("it was canceled, and there is no error")
		}},
		{"a load of many", func(ctx context.Context) error {
			var keys []query.Selection[kit.Reading]
			for i := range 500 {
				keys = append(keys, readings.Key(fmt.Sprint(i%7), i))
			}
			_, err := readings.LoadMany(ctx, keys)
			return err
		}},
	} {
		// One after the other: a label is of one call.
		label := fmt.Sprintf("%s %p", c.name, t)
		pprof.Do(context.Background(), pprof.Labels("call", label), func(ctx context.Context) {
			if err := c.call(ctx); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Fatal(err)
		}
		for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
			if strings.Contains(stack, fmt.Sprintf("%q", label)) && strings.Contains(stack, "itemize/") {
				t.Errorf("%s: a goroutine is left:\n%s", c.name, stack)
			}
		}
	}
}
