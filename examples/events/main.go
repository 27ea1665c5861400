// The program events keeps what many devices tell at once: more a second than one partition key takes.
// It spreads a day over 200 keys, loads it in bulk, reads it back in order, and prints what the engine
// charges beside what one partition key would have to bear.
//
//	go run ./examples/events
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/examples/events/store"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "events:", err)
		os.Exit(1)
	}
}

// start runs the program on an engine of its own.
func start(ctx context.Context, w io.Writer) error {
	engine, err := integration.Start(ctx)
	if err != nil {
		return err
	}
	defer engine.Stop()
	return run(ctx, w, engine)
}

// program has the mapper, and prints a table.
type program struct {
	w      *tabwriter.Writer
	events *mapper.Mapper[store.Event]
}

// run runs the program in a table of its own, which it deletes at the end.
func run(ctx context.Context, w io.Writer, engine *integration.Engine) (err error) {
	p := &program{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	client := engine.Client()
	p.events, err = mapper.New[store.Event](client, mapper.Table(fmt.Sprintf("events-%d", time.Now().UnixNano())))
	if err != nil {
		return err
	}
	table := p.events.Definitions()[0]
	if _, err := client.CreateTable(ctx, table.Create); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.DeleteTable(context.WithoutCancel(ctx), table.Name)) }()
	for _, step := range []func(context.Context) error{p.load, p.add, p.one, p.latest, p.hour, p.day} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return p.w.Flush()
}

// count is how many events the day begins with, size about what one takes, in bytes.
const (
	count = 5000
	size  = 350
)

var day = time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC)

// event is one of the day's, in the order of time.
func event(i int) store.Event {
	return store.Event{
		At: day.Add(time.Duration(i) * 17 * time.Second), ID: fmt.Sprintf("E-%05d", i),
		Device: fmt.Sprintf("device-%03d", i%97), Text: strings.Repeat("reading ", 30),
	}
}

// load writes the day, in whatever order it comes: what is written one after the other lies on
// different shards.
func (p *program) load(ctx context.Context) error {
	all := func(yield func(store.Event, error) bool) {
		for i := range count {
			if !yield(event(i), nil) {
				return
			}
		}
	}
	plan, err := p.events.PlanBulkLoad(all)
	if err != nil {
		return err
	}
	r, err := p.events.BulkLoad(ctx, all, mapper.LoadID("day"), mapper.ProgressTo(os.Stderr))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "%d events loaded, %d failed\t%v WCU planned\n", r.Entities, r.Failed, plan.WCU.Max)
	most, err := p.busiest(all)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "the busiest of the keys has %d of them\tone key: %d, %.0f s at 1,000 WCU a second\n", most, count, plan.WCU.Max/cost.PartitionWCU)
	return nil
}

// busiest returns how many events the partition key with the most of them has.
func (p *program) busiest(all func(func(store.Event, error) bool)) (int, error) {
	keys := map[string]int{}
	most := 0
	for v := range all {
		plan, err := p.events.Plan(p.events.New(v))
		if err != nil {
			return 0, err
		}
		k := plan.Items[0].Key.Partition
		keys[k]++
		most = max(most, keys[k])
	}
	if len(keys) != 200 {
		return 0, fmt.Errorf("the events lie on %d shards", len(keys))
	}
	return most, nil
}

// add adds one event, and refuses it a second time.
func (p *program) add(ctx context.Context) error {
	r, err := p.events.Save(ctx, p.events.New(event(count)))
	if err != nil {
		return err
	}
	if _, err := p.events.Save(ctx, p.events.New(event(count))); !errors.Is(err, mapper.ErrExists) {
		return fmt.Errorf("added twice: %w", err)
	}
	fmt.Fprintf(p.w, "one more, once\t%v WCU\n", r.Consumed.WCU)
	return nil
}

// one reads an event by its key: its ID tells the shard.
func (p *program) one(ctx context.Context) error {
	var r mapper.Receipt
	v := event(1234)
	e, err := p.events.Load(ctx, store.EventByAtID(v.At, v.ID), mapper.Receive(&r))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "%s of %s\t%v RCU, %d request\n", e.Value.ID, e.Value.Device, r.Consumed.RCU, r.Requests())
	return nil
}

// latest reads the last events of the day: each shard is asked for a little.
func (p *program) latest(ctx context.Context) error {
	var r mapper.Receipt
	all, err := store.EventByAt(day).Reverse().Limit(20).Slice(ctx, p.events, mapper.Parallel(200), mapper.Receive(&r))
	if err != nil {
		return err
	}
	for i, v := range all {
		if v.ID != event(count-i).ID {
			return fmt.Errorf("%s in place of %s", v.ID, event(count-i).ID)
		}
	}
	fmt.Fprintf(p.w, "the %d latest, from %s on\t%v RCU, %d requests\tone key: %v RCU, 1 request\n", len(all), all[0].ID, r.Consumed.RCU, r.Requests(), cost.ReadUnits(len(all)*size)/2)
	return nil
}

// hour reads an hour in pages.
func (p *program) hour(ctx context.Context) error {
	q := store.EventByAt(day).Hour(2026, time.November, 22, 9).Limit(100)
	pages, events := 0, 0
	for next := q; ; pages++ {
		page, err := next.Page(ctx, p.events)
		if err != nil {
			return err
		}
		if events += len(page.Items); page.Next == "" {
			pages++
			break
		}
		next = q.After(page.Next)
	}
	fmt.Fprintf(p.w, "an hour, %d events\t%d pages\n", events, pages)
	return nil
}

// day reads all of the day in the order of time.
func (p *program) day(ctx context.Context) error {
	var r mapper.Receipt
	n := 0
	for v, err := range store.EventByAt(day).All(ctx, p.events, mapper.Receive(&r)) {
		if err != nil {
			return err
		}
		if v.ID != event(n).ID {
			return fmt.Errorf("%s in place of %s", v.ID, event(n).ID)
		}
		n++
	}
	fmt.Fprintf(p.w, "all %d, in order\t%v RCU predicted\tone key: about %v RCU\n", n, r.RCU.Expected, cost.ReadUnits(n*size)/2)
	return nil
}
