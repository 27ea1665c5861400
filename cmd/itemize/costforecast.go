package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/trace"
)

// workloadFile is a workload with the layouts to compare.
type workloadFile struct {
	forecast.Workload
	Layouts []forecast.Layout `json:"layouts"`
	Prices  json.RawMessage   `json:"prices"`
	Billing forecast.Billing  `json:"billing"`
}

// workload is the content of a file, with its prices and their source.
type workload struct {
	forecast.Workload
	layouts []forecast.Layout
	prices  forecast.Prices
	basis   string
	billing forecast.Billing
}

// workload reads a workload. Its prices replace those of a price file, and these the default ones. With a model, its
// operations can query indexes that it does not declare.
func (c *command) workload(path, priceFile string, model bool) (workload, error) {
	b, err := c.read(path)
	if err != nil {
		return workload{}, err
	}
	var f workloadFile
	if err := decode(b, &f); err != nil {
		return workload{}, fmt.Errorf("%s is not a workload: %w", path, notWorkload(b, err))
	}
	w := workload{Workload: f.Workload, layouts: f.Layouts, billing: f.Billing}
	if err := errors.Join(named(w), timed(b)); err != nil {
		return workload{}, fmt.Errorf("%s: %w", path, err)
	}
	if w.prices, w.basis, err = c.prices(priceFile, f.Prices); errors.As(err, &priceFileError{}) {
		return workload{}, err
	}
	if err != nil {
		return workload{}, fmt.Errorf("%s: prices: %w", path, err)
	}
	var queried forecast.Layout
	for _, op := range w.Operations {
		for name := range op.Query {
			if model {
				queried.Indexes = append(queried.Indexes, forecast.Index{Name: name})
			}
		}
	}
	if err := errors.Join(w.Check(queried), w.prices.Check()); err != nil {
		return workload{}, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// notWorkload says what a file is that is no workload.
func notWorkload(text []byte, err error) error {
	var f struct{ Format string }
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return errors.New("it is empty: itemize cost workload, cost measure -json and discover -write write one")
	case json.Unmarshal(text, &f) == nil && f.Format == trace.Format:
		return errors.New("it is a recording: itemize cost workload makes a workload of it")
	}
	return fmt.Errorf("%w (docs/costs.md lists the fields; itemize cost workload, cost measure -json and discover "+
		"-write write one)", err)
}

// named names layouts without a name, and refuses duplicate names.
func named(w workload) error {
	seen := map[string]bool{w.Monolith().Name: true, w.Single().Name: true}
	for i := range w.layouts {
		l := &w.layouts[i]
		if l.Name == "" {
			l.Name = fmt.Sprint("layout ", i+1)
		}
		if seen[l.Name] {
			return fmt.Errorf("two layouts have the name %q, including those that are always shown: rename one",
				l.Name)
		}
		seen[l.Name] = true
	}
	return nil
}

// timed refuses operations without a number.
func timed(text []byte) error {
	var f struct {
		Operations []struct {
			Name     string
			PerMonth *float64
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	for _, op := range f.Operations {
		if op.PerMonth == nil {
			return fmt.Errorf("the operation %q has no number per month and document: add perMonth", op.Name)
		}
	}
	return nil
}

// decode reads one JSON value without unknown fields, and nothing after it.
func decode(text []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("text after its end, at byte %d: write one workload", d.InputOffset())
	}
	return nil
}

// breakEven says when a layout becomes cheaper than another.
type breakEven struct {
	Layout string `json:"layout"`
	Than   string `json:"than"`
	// Months is nil if it never does.
	Months *float64 `json:"months"`
}

// breakEvens compares layouts with the first storable one, which is usually the present one.
func breakEvens(all []forecast.Forecast) []breakEven {
	out := []breakEven{}
	var first *forecast.Forecast
	for _, f := range all {
		switch {
		case f.NotStorable != "":
		case first == nil:
			first = &f
		default:
			b := breakEven{Layout: f.Layout.Name, Than: first.Layout.Name}
			if months, ok := f.BreakEven(*first); ok {
				b.Months = &months
			}
			out = append(out, b)
		}
	}
	return out
}

func (b breakEven) String() string {
	switch {
	case b.Months == nil:
		return fmt.Sprintf("%s never costs less than %s", b.Layout, b.Than)
	case *b.Months == 0:
		return fmt.Sprintf("%s costs less than %s from the first write on", b.Layout, b.Than)
	}
	return fmt.Sprintf("%s costs less than %s after %s", b.Layout, b.Than, span(*b.Months))
}

// forecastAnswer is the JSON of cost forecast.
type forecastAnswer struct {
	Name      string              `json:"name,omitempty"`
	Documents int                 `json:"documents"`
	Prices    forecast.Prices     `json:"prices"`
	Basis     string              `json:"basis"`
	Forecasts []forecast.Forecast `json:"forecasts"`
	BreakEven []breakEven         `json:"breakEven"`
	Bills     []bill              `json:"bills"`

	operations []forecast.Operation
}

func (w workload) answer(all []forecast.Forecast) forecastAnswer {
	return forecastAnswer{
		w.Name, max(1, w.Entities), w.prices, w.basis, all, breakEvens(all), billsOf(all, w.prices, w.billing),
		w.Operations,
	}
}

func (c *command) costForecast(args []string) error {
	var page, priceFile string
	var v verifying
	files, asJSON, err := c.costFlags("forecast", args, 1, 1, func(f *flags) {
		f.StringVar(&page, "html", "", "also write an HTML page to `FILE`")
		f.prices(&priceFile)
		v.flags(f)
	})
	if err = cmp.Or(err, v.check()); err != nil {
		return err
	}
	w, err := c.workload(files[0], priceFile, false)
	if err != nil {
		return err
	}
	layouts := append([]forecast.Layout{w.Monolith()}, w.layouts...)
	all, err := w.Forecast(w.prices, append(layouts, w.Single())...)
	if err != nil {
		return fmt.Errorf("%s: %w", files[0], err)
	}
	answer := w.answer(all)
	if page != "" {
		if err := writePage(c.path(page), pageOf(answer)); err != nil {
			return err
		}
	}
	if v.verify {
		return c.verify(v, w.Workload, all, asJSON)
	}
	if asJSON {
		return c.printJSON(answer)
	}
	c.showForecasts(answer)
	return nil
}

// showForecasts prints forecasts as a table, the price of each operation, and the bills.
func (c *command) showForecasts(a forecastAnswer) {
	most := 0.0
	for _, f := range a.Forecasts {
		most = max(most, f.Total)
	}
	t := c.table()
	fmt.Fprintf(t, "  layout\titems\tfirst write\tWCU\tRCU\trequests\tstorage\ta month\t\n")
	for _, f := range a.Forecasts {
		if f.NotStorable != "" {
			fmt.Fprintf(t, "  %s\t%s\t-\t-\t-\t-\t-\tnot storable\t\n", f.Layout.Name, itemsOf(f))
			continue
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Layout.Name, itemsOf(f), dollars(f.Insert),
			number(f.WCU), number(f.RCU), dollars(f.Requests), dollars(f.Storage), dollars(f.Total), bar(f.Total, most))
	}
	t.Flush()
	fmt.Fprintf(c.stdout, "\n  of %s; perMonth is per document\n", plural(a.Documents, "document"))
	for _, f := range a.Forecasts {
		if f.NotStorable != "" {
			fmt.Fprintf(c.stdout, "  %s is not storable: %s\n", f.Layout.Name, f.NotStorable)
		}
	}
	for _, b := range a.BreakEven {
		fmt.Fprintf(c.stdout, "  %s\n", b)
	}
	c.showOperations(a)
	c.showBills(a)
	fmt.Fprintf(c.stdout, "\n  %s\n", a.Basis)
}

// itemsOf is the number of fixed items, with a plus sign if elements are items too.
func itemsOf(f forecast.Forecast) string {
	if len(f.Layout.Elements) > 0 {
		return fmt.Sprint(len(f.Items), "+")
	}
	return fmt.Sprint(len(f.Items))
}

// timesOf says how often an operation is done.
func timesOf(op forecast.Operation, documents int) string {
	if documents == 1 || op.Scan != nil {
		return number(op.PerMonth)
	}
	return fmt.Sprintf("%s per document, %s in all", number(op.PerMonth), number(op.PerMonth*float64(documents)))
}

// showOperations prints the units of one operation, and its price in a month, for each layout.
func (c *command) showOperations(a forecastAnswer) {
	t := c.table()
	fmt.Fprintf(t, "\n  one operation, and a month\ttimes")
	for _, f := range a.Forecasts {
		if f.NotStorable == "" {
			fmt.Fprintf(t, "\t%s", f.Layout.Name)
		}
	}
	fmt.Fprintln(t)
	for i, op := range a.operations {
		fmt.Fprintf(t, "  %s\t%s", op.Name, timesOf(op, a.Documents))
		for _, f := range a.Forecasts {
			if f.NotStorable == "" {
				o := f.Operations[i]
				fmt.Fprintf(t, "\t%s, %s", once(o.OnceWCU, o.OnceRCU), dollars(o.Dollars))
			}
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	for _, n := range atomicNotes(a) {
		fmt.Fprintf(c.stdout, "  note: %s\n", n)
	}
}

// atomicNotes say what operations on several items cost as transactions, in the layouts of the library.
func atomicNotes(a forecastAnswer) []string {
	var out []string
	for i, op := range a.operations {
		for _, f := range a.Forecasts {
			if f.NotStorable != "" || len(f.Items) < 2 && len(f.Layout.Elements) == 0 {
				continue
			}
			if o := f.Operations[i]; o.TransactionWCU > o.OnceWCU {
				out = append(out, fmt.Sprintf("in the layout %s, %s writes several items: %s with Independent(), %s "+
					"as one "+
					"transaction, which is the "+
					"default of a save (\"atomic\": true in the workload)", f.Layout.Name, op.Name, once(o.OnceWCU, 0),
					once(o.TransactionWCU, 0)))
				break
			}
		}
	}
	return out
}

// once formats the units of an operation.
func once(wcu, rcu float64) string {
	switch {
	case rcu == 0:
		return number(wcu) + " WCU"
	case wcu == 0:
		return number(rcu) + " RCU"
	}
	return number(wcu) + " WCU + " + number(rcu) + " RCU"
}
