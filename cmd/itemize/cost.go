package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/cost"
)

const costUsage = `usage: itemize cost item|plan|measure|forecast|advise|capacity [flags] [files]

  item FILE            the size of an item, by attribute, and what it costs to write and read
  plan OLD NEW         what a write costs that makes the item OLD the item NEW; "-" is none
  measure FILE...      the attributes of documents with their sizes: the beginning of a workload;
                       a file may be the output of aws dynamodb scan
  forecast FILE        a workload's price a month: as one item, as its layouts, one item per attribute
  advise FILE          the best layout of a workload, with the tags to write
  capacity             partitions, shares, burst, load and hot keys: see its flags

Items are JSON, plain or DynamoDB's own. All take -json; forecast takes -html FILE.
`

// cost runs itemize cost ...
func (c *command) cost(args []string) error {
	words := map[string]func([]string) error{
		"item": c.costItem, "plan": c.costPlan, "measure": c.costMeasure, "forecast": c.costForecast, "advise": c.costAdvise, "capacity": c.costCapacity,
	}
	if len(args) == 0 || words[args[0]] == nil {
		fmt.Fprint(c.stderr, costUsage)
		if len(args) == 0 || slices.Contains([]string{"-h", "help", "--help"}, args[0]) {
			return nil
		}
		return usageError{fmt.Errorf("no command cost %s", args[0])}
	}
	return words[args[0]](args[1:])
}

// costFlags parses the flags of a command of itemize cost, and checks the number of its
// files.
func (c *command) costFlags(name string, args []string, least, most int, more func(*flag.FlagSet)) (files []string, asJSON bool, err error) {
	f := flag.NewFlagSet("itemize cost "+name, flag.ContinueOnError)
	f.SetOutput(c.stderr)
	f.Usage = func() {
		fmt.Fprint(c.stderr, costUsage, "\n")
		f.PrintDefaults()
	}
	j := f.Bool("json", false, "print JSON")
	if more != nil {
		more(f)
	}
	if err := parse(f, args); err != nil {
		return nil, false, err
	}
	if f.NArg() < least || f.NArg() > most {
		return nil, false, fmt.Errorf("cost %s takes %s: %s", name, counted(least, most), strings.Join(f.Args(), " "))
	}
	return f.Args(), *j, nil
}

func counted(least, most int) string {
	switch {
	case most == 0:
		return "no files"
	case least == most && least == 1:
		return "one file"
	case least == most:
		return fmt.Sprint(least, " files")
	}
	return "one file or more"
}

// read returns the content of a file; "-" is standard input.
func (c *command) read(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	return os.ReadFile(path)
}

func (c *command) readItem(path string) (cost.Item, error) {
	b, err := c.read(path)
	if err != nil {
		return nil, err
	}
	item, err := cost.ItemFromJSON(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return item, nil
}

func (c *command) printJSON(v any) error {
	e := json.NewEncoder(c.stdout)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table returns a writer of aligned columns.
func (c *command) table() *tabwriter.Writer {
	return tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
}

// bar draws a length of 40 at most.
func bar(n, most float64) string {
	if most <= 0 || n <= 0 {
		return ""
	}
	return strings.Repeat("#", max(1, int(n/most*40+0.5)))
}

func (c *command) costItem(args []string) error {
	files, asJSON, err := c.costFlags("item", args, 1, 1, nil)
	if err != nil {
		return err
	}
	item, err := c.readItem(files[0])
	if err != nil {
		return err
	}
	attributes := cost.Measure(item)
	slices.SortStableFunc(attributes, func(a, b cost.Attribute) int { return b.Sizes[0] - a.Sizes[0] })
	size := cost.ItemSize(item)
	out := struct {
		Bytes      int              `json:"bytes"`
		Limit      int              `json:"limit"`
		WCU        float64          `json:"wcu"`
		RCU        float64          `json:"rcu"`
		Attributes []cost.Attribute `json:"attributes"`
	}{size, cost.MaxItem, cost.WriteUnits(size), cost.ReadUnits(size), attributes}
	if asJSON {
		return c.printJSON(out)
	}
	fmt.Fprintf(c.stdout, "%d bytes of %d: %v WCU to write, %v RCU to read (%v eventually consistent)\n\n", size, cost.MaxItem, out.WCU, out.RCU, out.RCU/2)
	w := c.table()
	for _, a := range attributes {
		fmt.Fprintf(w, "  %s\t%d B\t%s\n", a.Name, a.Sizes[0], bar(float64(a.Sizes[0]), float64(attributes[0].Sizes[0])))
	}
	return w.Flush()
}

func (c *command) costPlan(args []string) error {
	files, asJSON, err := c.costFlags("plan", args, 2, 2, nil)
	if err != nil {
		return err
	}
	var items [2]cost.Item
	for i, f := range files {
		if f == "-" {
			continue
		}
		if items[i], err = c.readItem(f); err != nil {
			return err
		}
	}
	var t cost.Table
	u := t.Put(items[0], items[1])
	if items[1] == nil {
		u = t.Delete(items[0])
	}
	refused := t.Refused(items[0], items[1])
	if asJSON {
		return c.printJSON(map[string]any{
			"oldBytes": cost.ItemSize(items[0]), "newBytes": cost.ItemSize(items[1]), "wcu": u.Table, "transactionWcu": u.Table.Times(2), "conditionFailedWcu": refused,
		})
	}
	fmt.Fprintf(c.stdout, "%d > %d bytes: %s WCU; in a transaction %s; if its condition fails, %s\n", cost.ItemSize(items[0]), cost.ItemSize(items[1]), u.Table, u.Table.Times(2), refused)
	return nil
}

func (c *command) costMeasure(args []string) error {
	files, asJSON, err := c.costFlags("measure", args, 1, 1<<20, nil)
	if err != nil {
		return err
	}
	var items []cost.Item
	for _, f := range files {
		b, err := c.read(f)
		if err != nil {
			return err
		}
		all, err := cost.ItemsFromJSON(b)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		items = append(items, all...)
	}
	w := cost.Workload{Attributes: cost.Measure(items...), Operations: []cost.Operation{}}
	if asJSON {
		return c.printJSON(w)
	}
	t := c.table()
	fmt.Fprintf(t, "  attribute\tin\tmin\tp50\tp95\tmax bytes\n")
	for _, a := range w.Attributes {
		s := cost.StatsOf(slices.DeleteFunc(slices.Clone(a.Sizes), func(n int) bool { return n == 0 })...)
		fmt.Fprintf(t, "  %s\t%d\t%d\t%d\t%d\t%d\n", a.Name, s.Count, s.Min, s.P50, s.P95, s.Max)
	}
	return t.Flush()
}

// workloadFile is a workload with the layouts to compare.
type workloadFile struct {
	cost.Workload
	Layouts []cost.Layout `json:"layouts"`
	Prices  *cost.Prices  `json:"prices"`
}

func (c *command) workload(path string) (w workloadFile, p cost.Prices, err error) {
	b, err := c.read(path)
	if err != nil {
		return w, p, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return w, p, fmt.Errorf("%s is no workload: %w (itemize cost measure -json FILE... begins one)", path, err)
	}
	if p = cost.DefaultPrices(); w.Prices != nil {
		p = *w.Prices
	}
	return w, p, w.Check()
}

func (c *command) costForecast(args []string) error {
	var page string
	files, asJSON, err := c.costFlags("forecast", args, 1, 1, func(f *flag.FlagSet) {
		f.StringVar(&page, "html", "", "also write a page to `FILE`")
	})
	if err != nil {
		return err
	}
	w, p, err := c.workload(files[0])
	if err != nil {
		return err
	}
	layouts := append([]cost.Layout{w.Monolith()}, w.Layouts...)
	all, err := w.Forecast(p, append(layouts, w.Single())...)
	if err != nil {
		return err
	}
	if page != "" {
		if !filepath.IsAbs(page) {
			page = filepath.Join(c.dir, page)
		}
		if err := writePage(page, w.Workload, p, all); err != nil {
			return err
		}
	}
	if asJSON {
		return c.printJSON(all)
	}
	c.showForecasts(p, all)
	return nil
}

func (c *command) showForecasts(p cost.Prices, all []cost.Forecast) {
	most := 0.0
	for _, f := range all {
		most = max(most, f.Total)
	}
	t := c.table()
	fmt.Fprintf(t, "  layout\titems\tWCU\tRCU\trequests\tstorage\ta month\t\n")
	for _, f := range all {
		fmt.Fprintf(t, "  %s\t%d\t%.0f\t%.0f\t$%.4f\t$%.4f\t$%.4f\t%s\n", f.Layout.Name, len(f.Items), f.WCU, f.RCU, f.Requests, f.Storage, f.Total, bar(f.Total, most))
	}
	t.Flush()
	for i, op := range all[0].Operations {
		fmt.Fprintf(c.stdout, "\n  %s\n", op.Name)
		t := c.table()
		for _, f := range all {
			o := f.Operations[i]
			fmt.Fprintf(t, "    %s\t%.4g WCU\t%.4g RCU\n", f.Layout.Name, o.OnceWCU, o.OnceRCU)
		}
		t.Flush()
	}
	fmt.Fprintf(c.stdout, "\n  prices of %s, on demand, %s\n", p.Region, p.Date)
}

func (c *command) costAdvise(args []string) error {
	files, asJSON, err := c.costFlags("advise", args, 1, 1, nil)
	if err != nil {
		return err
	}
	w, p, err := c.workload(files[0])
	if err != nil {
		return err
	}
	a, err := w.Advise(p)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(a)
	}
	var all []cost.Forecast
	if a.Today != nil {
		all = append(all, *a.Today)
	}
	layouts, err := w.Forecast(p, w.Layouts...)
	if err != nil {
		return err
	}
	c.showForecasts(p, append(append(all, layouts...), a.Best))
	if a.Exact {
		fmt.Fprintf(c.stdout, "  no layout costs less\n")
	} else {
		fmt.Fprintf(c.stdout, "  no layout costs less than $%.4f; this is the best that was found\n", a.Bound)
	}
	fmt.Fprintf(c.stdout, "\n%s", a.Best.Layout.Tags())
	return nil
}

// capacityAsked is what cost capacity is asked.
type capacityAsked struct {
	size, rcu, wcu, share, skew float64
	keys, items, bytes          int
	in                          time.Duration
}

func (a *capacityAsked) flags(f *flag.FlagSet) {
	f.Float64Var(&a.size, "size", 0, "size of the table in `GB`")
	f.Float64Var(&a.rcu, "rcu", 0, "read capacity, a second")
	f.Float64Var(&a.wcu, "wcu", 0, "write capacity, a second")
	f.Float64Var(&a.share, "share", 0, "share of the busiest key, 0 to 1")
	f.IntVar(&a.keys, "keys", 0, "number of partition keys, for -skew")
	f.Float64Var(&a.skew, "skew", 0, "how uneven the keys are: the key of rank k gets a share of 1/k^skew")
	f.IntVar(&a.items, "items", 0, "number of items to load, for -in")
	f.IntVar(&a.bytes, "bytes", 1024, "their size")
	f.DurationVar(&a.in, "in", 0, "time to load them in: 30m")
}

// capacityAnswer is what it answers.
type capacityAnswer struct {
	Load       float64          `json:"loadWcu,omitempty"`
	Partitions cost.Partitions  `json:"partitions"`
	AfterLoad  *cost.Partitions `json:"afterLoad,omitempty"`
	Hot        *cost.HotKey     `json:"hot,omitempty"`
}

// answer computes the answer.
func (a *capacityAsked) answer() (out capacityAnswer, err error) {
	table := cost.Capacity{Bytes: a.size * (1 << 30), RCU: a.rcu, WCU: a.wcu}
	if a.items > 0 || a.in > 0 {
		if out.Load, out.AfterLoad, err = a.afterLoad(table); err != nil {
			return out, err
		}
	}
	if out.Partitions, err = table.Partitions(); err != nil {
		return out, err
	}
	if a.keys == 0 && a.share == 0 {
		return out, nil
	}
	var h cost.HotKey
	if a.share != 0 {
		h, err = table.Hot(a.share)
	} else {
		h, err = table.Hottest(a.keys, a.skew)
	}
	out.Hot = &h
	return out, err
}

// afterLoad returns the write capacity that loading takes, and the partitions that the
// table has after it, with its own capacity.
func (a *capacityAsked) afterLoad(table cost.Capacity) (wcu float64, p *cost.Partitions, err error) {
	if wcu, err = cost.LoadIn(a.items, a.bytes, a.in); err != nil {
		return 0, nil, err
	}
	load := table
	load.WCU = max(load.WCU, wcu)
	load.Bytes = max(load.Bytes, float64(a.items)*float64(a.bytes))
	after, err := load.Partitions()
	if err != nil {
		return 0, nil, err
	}
	after.RCU, after.WCU = table.RCU/float64(after.Count), table.WCU/float64(after.Count)
	after.BurstRCU, after.BurstWCU = after.RCU*cost.Burst.Seconds(), after.WCU*cost.Burst.Seconds()
	return wcu, &after, nil
}

func (c *command) costCapacity(args []string) error {
	var a capacityAsked
	_, asJSON, err := c.costFlags("capacity", args, 0, 0, a.flags)
	if err != nil {
		return err
	}
	out, err := a.answer()
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(out)
	}
	c.showPartitions("the table", out.Partitions)
	if out.AfterLoad != nil {
		fmt.Fprintf(c.stdout, "to load %d items of %d bytes in %v: %.0f WCU\n", a.items, a.bytes, a.in, out.Load)
		c.showPartitions("after it, with the table's own capacity", *out.AfterLoad)
	}
	c.showHot(out.Hot)
	return nil
}

func (c *command) showHot(h *cost.HotKey) {
	if h == nil {
		return
	}
	fmt.Fprintf(c.stdout, "the busiest key: %.2f%% of the requests, %.0f RCU, %.0f WCU", 100*h.Share, h.RCU, h.WCU)
	if h.Throttled {
		fmt.Fprintf(c.stdout, "; more than a partition serves: spread its writes over %d keys and its reads over %d", h.WriteShards, h.ReadShards)
	}
	fmt.Fprintln(c.stdout)
}

func (c *command) showPartitions(what string, p cost.Partitions) {
	partitions := "partitions"
	if p.Count == 1 {
		partitions = "partition"
	}
	fmt.Fprintf(c.stdout, "%s: %d %s (%.4g by size, %.4g by throughput), each %.0f RCU and %.0f WCU; a burst of %.0f and %.0f\n",
		what, p.Count, partitions, p.BySize, p.ByThroughput, p.RCU, p.WCU, p.BurstRCU, p.BurstWCU)
}
