package mapper

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
)

// Call is a call of a mapper, or of Transact.
type Call struct {
	// Operation is the method: Load, LoadMany, Query, Scan, Save, Update, Delete, Patch (Exec of a
	// patch), BulkLoad, or Transact.
	Operation string
	// Model is the name of the model. The names of a transaction are joined with ", ".
	Model string
	// Tables are the real names of the model's tables. Tables that rotate by time have the placeholder
	// (events_{At:month}).
	Tables []string
}

// Observer observes the calls of a mapper. Begin is called before a call, and returns the context of
// the call. The returned function is called after it with the receipt, also if err is not nil. Methods
// are called from several goroutines.
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
func (g *engine) observe(ctx context.Context, op string) (context.Context, func(t *draft, err error)) {
	if len(g.observers) == 0 {
		return usable(ctx), g.ended
	}
	return observe(ctx, g.observers, Call{op, g.model.Label(), tablesOf(g.model.Tables)}, g.ended)
}

// usable returns a context, or an ended one if it is nil, so that nothing is sent.
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

var errNoContext = model.Usagef("the context is nil: pass that of the request, or context.Background()")

// tablesOf returns the names of tables.
func tablesOf(tables []*item.Table) []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	return names
}

// observe begins a call. ended is called first at its end.
func observe(ctx context.Context, observers []Observer, c Call, ended func(*draft, error)) (context.Context,
	func(t *draft, err error),
) {
	ctx = usable(ctx)
	ends := make([]func(*Receipt, error), len(observers))
	for i, o := range observers {
		ctx, ends[i] = o.Begin(ctx, c)
	}
	return ctx, func(t *draft, err error) {
		ended(t, err)
		for _, end := range slices.Backward(ends) {
			end(t.receipt(), err)
		}
	}
}

// Totals adds up the requests and units of mappers, by model, operation and kind of item. It is an
// Observer, and several mappers can share it. The zero value is ready to use. String returns a table,
// and MarshalJSON the same as JSON.
type Totals struct {
	mu   sync.Mutex
	rows map[totalKey]*total
}

type totalKey struct {
	model string
	op    string
	item  string
}

// total has the sums of one kind of calls.
type total struct {
	Model     string `json:"model"`
	Operation string `json:"operation"`
	// Item is the kind of the written item, by its field; "" for whole calls.
	Item string `json:"item,omitempty"`
	// Calls is the number of calls, or of writes of an item. Errors is the number of calls that ended
	// in an error.
	Calls  int `json:"calls"`
	Errors int `json:"errors"`
	// Requests is the number of requests to DynamoDB.
	Requests int `json:"requests"`
	// WCU and RCU are the predicted units: minimum, expected and maximum.
	WCU cost.Units `json:"wcu"`
	RCU cost.Units `json:"rcu"`
	// Consumed is the consumed capacity of whole calls.
	Consumed Consumed `json:"consumed"`
}

// Begin begins to observe a call. The mapper calls it.
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
	plan := r.Predicted()
	row.Requests += plan.Requests
	row.WCU, row.RCU = row.WCU.Add(plan.WCU), row.RCU.Add(plan.RCU)
	row.Consumed.add(r.Consumed)
	for _, it := range plan.Items {
		item := t.row(totalKey{model, op, it.Field})
		item.Calls++
		item.WCU = item.WCU.Add(it.WCU)
	}
}

// String returns the totals so far as a table.
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
		r.Consumed.VectorBytes = maps.Clone(r.Consumed.VectorBytes)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b total) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Item, b.Item))
	})
	return out
}
