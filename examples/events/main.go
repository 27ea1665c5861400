// The program events stores the events of many devices: more writes per second than one partition key
// accepts. It has a table for each month and spreads the events of a site over 200 partition keys. It
// loads in bulk, reads back in order of time and drops an old table. It prints the engine's charges,
// and the load that a single partition key would have.
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
	"sync"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/examples/internal/output"
	"github.com/itemize/itemize/tables"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
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

// start runs the program on an engine that it starts.
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
	client *counting
	events *mapper.Mapper[Event]
	month  time.Time // start of the present month
}

// run runs the program in tables of its own, which it deletes at the end.
func run(ctx context.Context, w io.Writer, engine *integration.Engine) (err error) {
	p := &program{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), client: &counting{Client: engine.Client()}}
	prefix := fmt.Sprintf("%d-", time.Now().UnixNano())
	p.events, err = mapper.New[Event](p.client,
		mapper.Tables(func(name string) string { return prefix + name }),
		mapper.InTimeTables(mapper.TimeTables{Keep: 1}))
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	p.month = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	defer func() { err = errors.Join(err, p.clean(context.WithoutCancel(ctx), engine)) }()
	for _, step := range []func(context.Context) error{
		p.maintain, p.load, p.add, p.one, p.latest, p.hour, p.all,
		p.drop,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return p.w.Flush()
}

// maintain creates the tables of the present month and of the next one, as a program that runs once a
// day does. The tables of the two months before are like those that earlier runs created.
func (p *program) maintain(ctx context.Context) error {
	old, err := tables.At(p.events, p.month.AddDate(0, -2, 0), p.month.AddDate(0, -1, 0))
	if err != nil {
		return err
	}
	for _, d := range old {
		if _, err := p.client.CreateTable(ctx, d.Create); err != nil {
			return err
		}
	}
	r, err := tables.Maintain(ctx, p.events, p.client, tables.Maintenance{})
	if err != nil {
		return err
	}
	again, err := tables.Maintain(ctx, p.events, p.client, tables.Maintenance{})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "%d tables created, and %d the next time\n", len(r.Steps), len(again.Steps))
	return nil
}

// clean deletes the tables.
func (p *program) clean(ctx context.Context, engine *integration.Engine) error {
	all, err := tables.At(p.events, p.month.AddDate(0, -2, 0), p.month.AddDate(0, -1, 0), p.month,
		p.month.AddDate(0, 1, 0))
	for _, d := range all {
		failed := engine.DeleteTable(ctx, d.Name)
		if !errors.As(failed, new(*types.ResourceNotFoundException)) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// count is the number of events that are loaded first, and size the approximate size of one, in bytes.
// There is one event every 17 seconds; the first half of them is in the previous month.
const (
	count = 5000
	every = 17 * time.Second
	size  = 350
)

// event returns the event with number i, in order of time.
func (p *program) event(i int) Event {
	return Event{
		Site: "north", At: p.month.Add(time.Duration(i-count/2) * every), ID: fmt.Sprintf("E-%05d", i),
		Device: fmt.Sprintf("device-%03d", i%97), Text: strings.Repeat("reading ", 30),
	}
}

// end returns the time of the last event.
func (p *program) end() time.Time { return p.event(count).At }

// load writes the events in any order. Events that are written one after the other are on different
// shards.
func (p *program) load(ctx context.Context) error {
	all := func(yield func(Event, error) bool) {
		for i := range count {
			if !yield(p.event(i), nil) {
				return
			}
		}
	}
	plan, err := p.events.PlanBulkLoad(all)
	if err != nil {
		return err
	}
	r, err := p.events.BulkLoad(ctx, all, mapper.LoadID("events"), mapper.ProgressLine(os.Stderr, 0))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "%d events loaded, %d failed\t%v WCU planned\n", r.Entities, r.Failed, plan.WCU.Max)
	most, keys, err := p.busiest(all)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "the busiest of %d keys in two tables has %d of them\tone key: %d, %.0f s at 1,000 WCU a second\n",
		keys, most, count, plan.WCU.Max/cost.PartitionWCU)
	return nil
}

// busiest returns the highest number of events in one partition key, and the number of partition keys.
func (p *program) busiest(all func(func(Event, error) bool)) (most, keys int, err error) {
	of := map[string]int{}
	for v := range all {
		plan, err := p.events.PlanSave(p.events.New(v))
		if err != nil {
			return 0, 0, err
		}
		k := plan.Items[0].Key.Table + " " + plan.Items[0].Key.Partition
		of[k]++
		most = max(most, of[k])
	}
	return most, len(of), nil
}

// add inserts one event; a second insert of the same event is refused.
func (p *program) add(ctx context.Context) error {
	r, err := p.events.Save(ctx, p.events.New(p.event(count)))
	if err != nil {
		return err
	}
	if _, err := p.events.Save(ctx, p.events.New(p.event(count))); !errors.Is(err, mapper.ErrExists) {
		return fmt.Errorf("added twice: %w", err)
	}
	fmt.Fprintf(p.w, "one more, once\t%v WCU\n", output.WCU(r))
	return nil
}

// one reads an event by its key: its time determines the table, and its ID the shard.
func (p *program) one(ctx context.Context) error {
	var r mapper.Receipt
	v := p.event(1234)
	e, err := p.events.Load(ctx, EventBySiteAtID(v.Site, v.At, v.ID), mapper.ReceiptTo(&r))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w,
		"%s of %s\t%v RCU, %d request\n", e.Value.ID, e.Value.Device, output.RCU(&r), r.Predicted().Requests)
	return nil
}

// latest reads the last events. It queries each shard of the present month for a few events, and no
// other table.
func (p *program) latest(ctx context.Context) error {
	var r mapper.Receipt
	p.client.asked()
	q := EventBySite("north").Before(p.end().Add(time.Second)).Reverse().Limit(20)
	all, err := q.Collect(ctx, p.events, mapper.Concurrency(200), mapper.ReceiptTo(&r))
	if err != nil {
		return err
	}
	for i, v := range all {
		if v.ID != p.event(count-i).ID {
			return fmt.Errorf("a wrong event: %s in place of %s", v.ID, p.event(count-i).ID)
		}
	}
	fmt.Fprintf(p.w, "the %d latest, from %s on\t%v RCU, %d requests to %d table\tone key: %v RCU, 1 request\n",
		len(all), all[0].ID, output.RCU(&r), r.Predicted().Requests, p.client.asked(), cost.ReadUnits(len(all)*size)/2)
	return nil
}

// hour reads, in pages, the hour around the end of a month.
func (p *program) hour(ctx context.Context) error {
	p.client.asked()
	q := EventBySite("north").Between(p.month.Add(-30*time.Minute), p.month.Add(30*time.Minute)).Limit(100)
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
	fmt.Fprintf(p.w, "an hour, half of it last month: %d events\t%d pages, of %d tables\n", events, pages,
		p.client.asked())
	return nil
}

// all reads all events in order of time.
func (p *program) all(ctx context.Context) error {
	var r mapper.Receipt
	n := 0
	q := EventBySite("north").Between(p.event(0).At, p.end().Add(1))
	for v, err := range q.All(ctx, p.events, mapper.ReceiptTo(&r)) {
		if err != nil {
			return err
		}
		if v.ID != p.event(n).ID {
			return fmt.Errorf("a wrong event: %s in place of %s", v.ID, p.event(n).ID)
		}
		n++
	}
	fmt.Fprintf(p.w, "all %d, in order\t%v RCU predicted\tone key: about %v RCU\n", n, r.Predicted().RCU.Expected,
		cost.ReadUnits(n*size)/2)
	return nil
}

// drop drops the oldest table. That costs nothing; deleting its items would cost as much as writing
// them.
func (p *program) drop(ctx context.Context) error {
	r, err := tables.Maintain(ctx, p.events, p.client, tables.Maintenance{Drop: true})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "%d table dropped, one month is kept\t0 WCU\tone table: 1 WCU an event\n", len(r.Steps))
	return nil
}

// counting is a client that counts the tables that are queried.
type counting struct {
	*dynamodb.Client
	mu    sync.Mutex
	names map[string]bool
}

// Query records the table.
func (c *counting) Query(ctx context.Context, in *dynamodb.QueryInput,
	options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	c.mu.Lock()
	if c.names == nil {
		c.names = map[string]bool{}
	}
	c.names[*in.TableName] = true
	c.mu.Unlock()
	return c.Client.Query(ctx, in, options...)
}

// asked returns the number of tables that were queried since its last call.
func (c *counting) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.names)
	c.names = nil
	return n
}
