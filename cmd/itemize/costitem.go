package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/charge"
)

func (c *command) readItem(path string) (charge.Item, error) {
	b, err := c.read(path)
	if err != nil {
		return nil, err
	}
	items, err := charge.ItemsFromJSON(b)
	if err == nil && len(items) != 1 {
		err = fmt.Errorf("it has %s, but this command takes one: write one item, or measure all with itemize cost "+
			"measure",
			plural(len(items), "item"))
	}
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// inFile adds the file to an error, unless the system did.
func inFile(path string, err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func (c *command) costItem(args []string) error {
	files, asJSON, err := c.costFlags("item", args, 1, 1, nil)
	if err != nil {
		return err
	}
	item, err := c.readItem(files[0])
	if err != nil {
		return inFile(files[0], err)
	}
	if err := charge.CheckItem(item); err != nil {
		return fmt.Errorf("%s: %w (itemize cost measure -json %s begins a workload, for which itemize cost advise "+
			"finds a layout)", files[0], err, files[0])
	}
	attributes := measured(item)
	slices.SortStableFunc(attributes, func(a, b forecast.Attribute) int { return b.Sizes[0] - a.Sizes[0] })
	size := cost.ItemSize(item)
	out := struct {
		Bytes      int                  `json:"bytes"`
		Limit      int                  `json:"limit"`
		WCU        float64              `json:"wcu"`
		RCU        float64              `json:"rcu"`
		Attributes []forecast.Attribute `json:"attributes"`
	}{size, cost.MaxItem, cost.WriteUnits(size), cost.ReadUnits(size), attributes}
	if asJSON {
		return c.printJSON(out)
	}
	fmt.Fprintf(c.stdout, "%s bytes of %s: %v WCU to write, %v RCU to read (%v eventually consistent)\n\n",
		number(float64(size)), number(cost.MaxItem), out.WCU, out.RCU, out.RCU/2)
	w := c.table()
	for _, a := range attributes {
		fmt.Fprintf(w, "  %s\t%s B\t%s\n", a.Name, number(float64(a.Sizes[0])),
			bar(float64(a.Sizes[0]), float64(attributes[0].Sizes[0])))
	}
	return w.Flush()
}

func (c *command) costPlan(args []string) error {
	var key string
	files, asJSON, err := c.costFlags("plan", args, 2, 2, func(f *flags) {
		f.StringVar(&key, "key", "", "key `attributes`, separated by a comma (default: PK, SK, pk or sk of the items)")
	})
	if err != nil {
		return err
	}
	var items [2]charge.Item
	for i, f := range files {
		if f == "-" {
			continue
		}
		if items[i], err = c.readItem(f); err == nil {
			err = charge.CheckItem(items[i])
		}
		if err != nil {
			return inFile(f, err)
		}
	}
	t, err := keyed(key, items[0], items[1])
	if err != nil {
		return err
	}
	if err := t.CheckWrite(items[0], items[1]); err != nil {
		return fmt.Errorf("%s and %s: %w; -key names other attributes", files[0], files[1], err)
	}
	return c.showPlan(t, items[0], items[1], asJSON)
}

// keyed returns a table with the named key attributes, or with those of the items.
func keyed(names string, items ...charge.Item) (charge.Table, error) {
	has := func(name string) bool {
		return slices.ContainsFunc(items, func(it charge.Item) bool { return it[name] != nil })
	}
	var t charge.Table
	if names != "" {
		hash, sort, two := strings.Cut(names, ",")
		if t.Hash, t.Range = strings.TrimSpace(hash), strings.TrimSpace(sort); t.Hash == "" || two && t.Range == "" {
			return t, fmt.Errorf("-key %q: write the name of the partition key, or of both: PK,SK", names)
		}
		return t, nil
	}
	for _, pair := range [][2]string{{"PK", "SK"}, {"pk", "sk"}} {
		if t.Hash == "" && has(pair[0]) {
			t.Hash = pair[0]
		}
		if t.Range == "" && has(pair[1]) {
			t.Range = pair[1]
		}
	}
	return t, nil
}

func (c *command) showPlan(t charge.Table, old, new charge.Item, asJSON bool) error {
	u := t.Put(old, new)
	if new == nil {
		u = t.Delete(old)
	}
	refused := t.Refused(old, new)
	from, to := cost.ItemSize(old), cost.ItemSize(new)
	if asJSON {
		return c.printJSON(map[string]any{
			"oldBytes": from, "newBytes": to, "wcu": u.Table, "transactionWcu": u.Table.Times(2),
			"conditionFailedWcu": refused,
		})
	}
	fmt.Fprintf(c.stdout, "%s > %s bytes: %s WCU; in a transaction %s; if its condition fails, %s\n",
		number(float64(from)), number(float64(to)), u.Table, u.Table.Times(2), refused)
	return nil
}

func (c *command) costMeasure(args []string) error {
	files, asJSON, err := c.costFlags("measure", args, 1, 1<<20, nil)
	if err != nil {
		return err
	}
	var items []charge.Item
	large := 0
	for _, f := range files {
		b, err := c.read(f)
		if err != nil {
			return err
		}
		all, err := charge.ItemsFromJSON(b)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		for _, it := range all {
			if cost.ItemSize(it) > cost.MaxItem {
				large++
			}
		}
		items = append(items, all...)
	}
	w := forecast.Workload{
		Attributes: append([]forecast.Attribute{}, measured(items...)...),
		Operations: []forecast.Operation{},
	}
	if asJSON {
		return c.printJSON(w)
	}
	t := c.table()
	fmt.Fprintf(t, "  attribute\tin\tmin\tp50\tp95\tmax bytes\n")
	for _, a := range w.Attributes {
		s := charge.StatsOf(slices.DeleteFunc(slices.Clone(a.Sizes), func(n int) bool { return n == 0 })...)
		fmt.Fprintf(t, "  %s\t%d\t%d\t%d\t%d\t%d\n", a.Name, s.Count, s.Min, s.P50, s.P95, s.Max)
	}
	t.Flush()
	if large > 0 {
		fmt.Fprintf(c.stdout,
			"\n  over %s bytes, the limit of an item: %s of %s; a forecast shows what splitting costs\n",
			number(cost.MaxItem), number(float64(large)), plural(len(items), "document"))
	}
	return nil
}

// measured returns the attributes of documents with their sizes in each document, in bytes: the start
// of a Workload.
func measured(documents ...map[string]types.AttributeValue) []forecast.Attribute {
	sizes := map[string][]int{}
	for i, d := range documents {
		for name, v := range d {
			if sizes[name] == nil {
				sizes[name] = make([]int, len(documents))
			}
			sizes[name][i] = cost.AttributeSize(name, v)
		}
	}
	var out []forecast.Attribute
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		out = append(out, forecast.Attribute{Name: name, Sizes: sizes[name]})
	}
	return out
}
