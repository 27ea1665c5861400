package mapper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/item"
)

// Call is a call of a mapper, or of Transact.
type Call struct {
	// Operation is the method: Load, LoadMany, Query, Scan, Save, Update, Delete, Patch (Exec of a patch), BulkLoad, or
	// Transact.
	Operation string
	// Model is the model's name; those of a transaction are joined with ", ".
	Model string
	// Tables are the real names of the models' tables; of those that follow the time with the
	// placeholder (events_{At:month}).
	Tables []string
}

// Observer is told of each call of a mapper: Begin before it, and the function that it
// returns after it, with the receipt of what was sent, also where err is not nil. The
// context that it returns is that of the call. Calls come from many goroutines.
type Observer interface {
	Begin(ctx context.Context, c Call) (context.Context, func(r *Receipt, err error))
}

// Observe adds an observer: a *Totals, or that of module otel.
func Observe(o Observer) Option {
	return optionFunc(func(s *settings) {
		if o != nil {
			s.observers = append(s.observers, o)
		}
	})
}

// observe begins a call.
func (g *engine) observe(ctx context.Context, op string) (context.Context, func(t *tally, err error)) {
	if len(g.observers) == 0 {
		return usable(ctx), g.ended
	}
	return observe(ctx, g.observers, Call{op, g.model.Label(), tablesOf(g.model.Tables)}, g.ended)
}

// usable returns a context, or one that is over in place of nil, so that nothing is sent.
func usable(ctx context.Context) context.Context {
	if ctx != nil {
		return ctx
	}
	over, cancel := context.WithCancelCause(context.Background())
	cancel(errNoContext)
	return noContext{over}
}

type noContext struct{ context.Context }

func (noContext) Err() error { return errNoContext }

var errNoContext = errors.New("the context is nil: pass that of the request, or context.Background()")

// tablesOf returns the names of tables.
func tablesOf(tables []*item.Table) []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	return names
}

// observe begins a call. ended is called first at its end.
func observe(ctx context.Context, observers []Observer, c Call, ended func(*tally, error)) (context.Context,
	func(t *tally, err error)) {
	ctx = usable(ctx)
	ends := make([]func(*Receipt, error), len(observers))
	for i, o := range observers {
		ctx, ends[i] = o.Begin(ctx, c)
	}
	return ctx, func(t *tally, err error) {
		ended(t, err)
		for _, end := range slices.Backward(ends) {
			end(t.receipt(), err)
		}
	}
}

// Totals adds up what mappers send and spend, by model, operation and kind of item. It is an Observer,
// and may be that of many mappers; its zero value is ready. Its text is a table, and its JSON has the
// same.
type Totals struct {
	mu   sync.Mutex
	rows map[totalKey]*total
}

type totalKey struct {
	model string
	op    string
	item  string
}

// total is what calls of one kind have sent and spent.
type total struct {
	Model     string `json:"model"`
	Operation string `json:"operation"`
	// Item is the kind of item that was written, by its field; "" for the calls as a
	// whole.
	Item string `json:"item,omitempty"`
	// Calls is the number of calls, of an item that of its writes, and Errors how many
	// calls ended in an error.
	Calls  int `json:"calls"`
	Errors int `json:"errors"`
	// Requests is the number of requests to DynamoDB.
	Requests int `json:"requests"`
	// WCU and RCU are the units as predicted: least, expected and most.
	WCU cost.Units `json:"wcu"`
	RCU cost.Units `json:"rcu"`
	// Consumed is what DynamoDB reported, of calls as a whole.
	Consumed Consumed `json:"consumed"`
}

// Begin begins to watch a call. For the mapper.
func (t *Totals) Begin(ctx context.Context, c Call) (context.Context, func(*Receipt, error)) {
	return ctx, func(r *Receipt, err error) { t.add(c.Model, c.Operation, r, err) }
}

func (t *Totals) row(k totalKey) *total {
	if t.rows == nil {
		t.rows = map[totalKey]*total{}
	}
	if t.rows[k] == nil {
		t.rows[k] = &total{Model: k.model, Operation: k.op, Item: k.item}
	}
	return t.rows[k]
}

func (t *Totals) add(model string, op string, r *Receipt, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.row(totalKey{model, op, ""})
	row.Calls++
	if err != nil {
		row.Errors++
	}
	row.Requests += r.Predicted.Requests
	row.WCU, row.RCU = row.WCU.Add(r.Predicted.WCU), row.RCU.Add(r.Predicted.RCU)
	row.Consumed.add(r.Consumed)
	for _, it := range r.Predicted.Items {
		item := t.row(totalKey{model, op, it.Field})
		item.Calls++
		item.WCU = item.WCU.Add(it.WCU)
	}
}

// String shows the totals so far as a table.
func (t *Totals) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range t.sorted() {
		name := r.Operation
		if r.Item != "" {
			name = "  " + r.Item
		}
		fmt.Fprintf(w, "%s\t%s\t%d calls\t%d errors\t%d requests\t%v WCU\t%v RCU\n", r.Model, name, r.Calls, r.Errors,
			r.Requests, r.WCU, r.RCU)
	}
	_ = w.Flush() // into memory
	return b.String()
}

// MarshalJSON returns the totals so far, as an array.
func (t *Totals) MarshalJSON() ([]byte, error) { return json.Marshal(t.sorted()) }

// sorted returns the totals so far, by model, operation and item.
func (t *Totals) sorted() []total {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []total{}
	for _, row := range t.rows {
		r := *row
		r.Consumed.Indexes = maps.Clone(r.Consumed.Indexes)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b total) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Item, b.Item))
	})
	return out
}
