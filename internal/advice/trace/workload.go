package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itemize/itemize/cost/forecast"
)

// Month is the time of a workload.
const Month = 30 * 24 * time.Hour

// Workload returns the workload of a kind of entities, with the attributes of another workload if that has some.
// entities is their number, 0 for that of the other workload, or the estimate of the recording. The second result are
// notes for people.
func (f *File) Workload(k *Kind, entities int, sizes forecast.Workload) (forecast.Workload, []string, error) {
	w := sizes
	w.Operations, w.Name = nil, cmp.Or(sizes.Name, k.Name)
	var notes []string
	d := f.Duration(k.Table)
	if d <= 0 {
		return w, nil, fmt.Errorf("the recording has no time: record for a day")
	}
	if d < 24*time.Hour {
		notes = append(notes, fmt.Sprintf("recorded for %v only: a month is computed from it",
			d.Round(time.Millisecond)))
	}
	if w.Entities = cmp.Or(entities, sizes.Entities); w.Entities == 0 {
		w.Entities = max(1, int(k.Count()+0.5))
		at := "about"
		if k.Model {
			at = "at least"
		}
		notes = append(notes, fmt.Sprintf("%s %d entities were used in that time: -entities sets the number of all", at,
			w.Entities))
	}
	if n := f.Unkeyed[k.Table]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d requests came before the recorder knew the key attributes of %s: set "+
			"record.Options.Keys", n, k.Table))
	}
	if f.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("%d operations are missing: the recorder had no room for more kinds",
			f.Dropped))
	}
	if len(w.Attributes) == 0 {
		w.Attributes = k.attributes()
	}
	names := map[string]bool{} // attributes, and those with elements
	for _, a := range w.Attributes {
		names[a.Name] = a.Elements != nil
	}
	if len(w.Attributes) == 0 {
		names = k.used()
		notes = append(notes, "no whole entity was read: -sizes adds attributes with their sizes; itemize discover "+
			"measures them")
	}
	ops, more := k.operations()
	notes = append(notes, more...)
	notes = append(notes, k.addMissing(&w, names, len(sizes.Attributes) > 0)...)
	queried, more := k.addIndexes(&w, names)
	notes = append(notes, more...)
	for _, o := range ops {
		op := o.forecast(names)
		maps.DeleteFunc(op.Query, func(name string, _ int) bool { return !queried[name] })
		op.PerMonth = rounded(o.Count * float64(Month) / float64(d) / float64(w.Entities))
		if op.Scan != nil {
			op.PerMonth = rounded(o.Count * float64(Month) / float64(d))
		}
		if !empty(op) {
			w.Operations = append(w.Operations, op)
		}
	}
	name(w.Operations)
	if len(w.Operations) == 0 {
		return w, nil, fmt.Errorf("no operations of %s were recorded: record longer, or with a higher rate",
			cmp.Or(k.Name, k.Table))
	}
	return w, notes, nil
}

// addMissing adds attributes that operations use and no sampled entity has, with a guess of their size. Those that
// are missing in another workload (fixed) do not count.
func (k *Kind) addMissing(w *forecast.Workload, names map[string]bool, fixed bool) (notes []string) {
	if len(w.Attributes) == 0 {
		return nil
	}
	missing := map[string]bool{}
	for _, o := range k.Operations {
		used := slices.Concat(o.Writes, o.Reads, keys(o.Add), keys(o.Change), keys(o.Remove), keys(o.Read))
		for _, n := range used {
			if _, ok := names[n]; !ok && !slices.Contains(k.Keys, n) {
				missing[n] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(missing))
	switch text := strings.Join(all, ", "); {
	case len(all) == 0:
	case fixed:
		notes = append(notes, fmt.Sprintf("operations use %s, which the workload of -sizes lacks: they do not count",
			text))
	default:
		notes = append(notes, fmt.Sprintf("operations use %s, which no sampled entity has: the sizes are guesses",
			text))
		for _, n := range all {
			if len(w.Attributes) < maxAttributes {
				w.Attributes = append(w.Attributes, forecast.Attribute{Name: n, Sizes: []int{len(n) + guessed}})
				names[n] = false
			}
		}
	}
	return notes
}

// guessed is the guess of the size of a value, in bytes.
const guessed = 8

// addIndexes adds the indexes that operations query to a workload. It returns those that the workload has.
func (k *Kind) addIndexes(w *forecast.Workload, names map[string]bool) (declared map[string]bool, notes []string) {
	declared = map[string]bool{}
	for _, x := range w.Indexes {
		declared[x.Name] = true
	}
	for _, x := range k.Indexes {
		if declared[x.Name] {
			continue
		}
		_, hash := names[x.Hash]
		if _, ok := names[x.Range]; !hash || !ok && x.Range != "" {
			notes = append(notes, fmt.Sprintf("queries of the index %s do not count: its keys %s are no attributes "+
				"of the "+
				"sampled entities", x.Name, strings.TrimSpace(x.Hash+" "+x.Range)))
			continue
		}
		i := forecast.Index{Name: x.Name, Hash: x.Hash, Range: x.Range, All: x.All}
		for _, a := range x.Attributes {
			if _, ok := names[a]; ok && a != x.Hash && a != x.Range {
				i.Attributes = append(i.Attributes, a)
			}
		}
		rest := 0
		for a := range names {
			if a != x.Hash && a != x.Range {
				rest++
			}
		}
		if i.All = i.All || len(i.Attributes) == rest; i.All {
			i.Attributes = nil
		}
		w.Indexes, declared[x.Name] = append(slices.Clone(w.Indexes), i), true
	}
	return declared, append(notes, k.madeKeys(declared)...)
}

// madeKeys returns notes about queried indexes whose keys a model makes of its fields.
func (k *Kind) madeKeys(declared map[string]bool) (notes []string) {
	lost := map[string]bool{}
	for _, o := range k.Operations {
		for name := range o.Query {
			listed := slices.ContainsFunc(k.Indexes, func(x Index) bool { return x.Name == name })
			lost[name] = !declared[name] && !listed
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lost)) {
		if lost[name] {
			notes = append(notes, fmt.Sprintf("queries of the index %s do not count: the model makes its keys: add "+
				"\"query\" to an operation, and price it with itemize cost model", name))
		}
	}
	return notes
}

// used returns the attributes that operations name, and whether they use their elements.
func (k *Kind) used() map[string]bool {
	out := map[string]bool{}
	for _, o := range k.Operations {
		for _, name := range slices.Concat(o.Writes, o.Reads, o.Scan) {
			out[name] = out[name] || false
		}
		for _, all := range []map[string]int{o.Add, o.Change, o.Remove, o.Read} {
			for name := range all {
				out[name] = true
			}
		}
	}
	return out
}

func empty(op forecast.Operation) bool {
	return !op.All && len(op.Writes)+len(op.Reads)+len(op.Add)+len(op.Change)+len(op.Remove)+len(op.Read)+
		len(op.Query) == 0 && op.Scan == nil
}

// rounded returns a number with four significant digits.
func rounded(n float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 4, 64), 64)
	if err != nil {
		return n
	}
	return r
}

// operations returns the operations whose changes are known, with the counts of those whose changes are not.
func (k *Kind) operations() (out []*Operation, notes []string) {
	unknown, understood := map[string]float64{}, map[string]float64{}
	for _, o := range k.Operations {
		if o.Unknown {
			unknown[o.Name] += o.Count
		} else if o.isPut() {
			understood[o.Name] += o.Count
		}
	}
	lost, idle := 0.0, 0.0
	for _, o := range k.Operations {
		switch {
		case !o.Unknown:
			scaled := o
			if n := understood[o.Name]; o.isPut() && n > 0 && unknown[o.Name] > 0 {
				scaled = o.scaled(1 / (1 + unknown[o.Name]/n))
			}
			out = append(out, scaled)
			if scaled.isPut() && len(o.Writes)+len(o.Add)+len(o.Change)+len(o.Remove) == 0 {
				idle += scaled.Count
			}
		case understood[o.Name] == 0:
			lost += o.Count
			out = append(out, o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		if understood[name] > 0 {
			notes = append(notes, fmt.Sprintf("%.0f of %.0f calls of %s replaced items of unknown content: they count "+
				"like the other calls", unknown[name], unknown[name]+understood[name], name))
		}
	}
	if idle > 0 {
		notes = append(notes, fmt.Sprintf("%.0f calls replaced items by the same content: they cost write units "+
			"today, and "+
			"nothing with a mapper", idle))
	}
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("%.0f calls replaced items of unknown content: they count as writes of all "+
			"attributes; record longer, or with a higher rate", lost))
	}
	return out, notes
}

// forecast returns an operation with the mean numbers of elements. described has the attributes, and whether their
// elements are described.
func (o *Operation) forecast(described map[string]bool) forecast.Operation {
	op := forecast.Operation{Name: o.Name, All: o.All, Atomic: o.Atomic, Strong: o.Strong}
	has := func(names []string) []string {
		var out []string
		for _, n := range names {
			if _, ok := described[n]; ok {
				out = append(out, n)
			}
		}
		return out
	}
	op.Writes, op.Reads, op.Scan = has(o.Writes), has(o.Reads), has(o.Scan)
	if o.Insert || o.Delete || o.Unknown {
		op.Writes = slices.Sorted(maps.Keys(described))
	}
	if o.Scan != nil {
		op.Found = max(1, int(float64(o.Found)/max(1, o.Count)+0.5))
		op.All = false
		if op.Scan == nil {
			op.Scan = []string{}
		}
		return op
	}
	counts := func(all map[string]int, to *[]string) map[string]int {
		var out map[string]int
		for _, name := range keys(all) {
			elements, ok := described[name]
			switch {
			case !ok:
			case !elements || o.Insert || o.Delete || o.Unknown:
				if !slices.Contains(*to, name) {
					*to = append(*to, name)
				}
			default:
				if out == nil {
					out = map[string]int{}
				}
				out[name] = max(1, int(float64(all[name])/max(1, o.Count)+0.5))
			}
		}
		return out
	}
	op.Add, op.Change = counts(o.Add, &op.Writes), counts(o.Change, &op.Writes)
	op.Remove, op.Read = counts(o.Remove, &op.Writes), counts(o.Read, &op.Reads)
	if op.All {
		op.Reads, op.Read = nil, nil
	}
	for _, name := range keys(o.Query) {
		if op.Query == nil {
			op.Query = map[string]int{}
		}
		op.Query[name] = int(float64(o.Query[name])/max(1, o.Count) + 0.5)
	}
	return op
}

// name gives operations different names: that of the call, and the attributes.
func name(ops []forecast.Operation) {
	n := map[string]int{}
	for _, op := range ops {
		n[op.Name]++
	}
	seen := map[string]int{}
	for i := range ops {
		op := &ops[i]
		if n[op.Name] > 1 {
			parts := slices.Concat(op.Writes, op.Reads, keys(op.Add), keys(op.Change), keys(op.Remove), keys(op.Read),
				keys(op.Query), op.Scan)
			if op.All {
				parts = append(parts, "all")
			}
			if len(parts) > 4 {
				parts = append(parts[:3:3], fmt.Sprintf("%d more", len(parts)-3))
			}
			if len(parts) == 0 {
				parts = []string{"nothing known"}
			}
			op.Name += ": " + strings.Join(parts, ", ")
		}
		if seen[op.Name]++; seen[op.Name] > 1 {
			op.Name = fmt.Sprintf("%s (%d)", op.Name, seen[op.Name])
		}
	}
}

// attributes returns the attributes with their sizes in the sampled documents.
func (k *Kind) attributes() []forecast.Attribute {
	total := map[string]int{}
	for _, d := range k.Documents {
		for name, n := range d.Sizes {
			total[name] += n
		}
	}
	names := slices.SortedFunc(maps.Keys(total), func(a, b string) int {
		return cmp.Or(total[b]-total[a], strings.Compare(a, b))
	})
	var out []forecast.Attribute
	for i, name := range names {
		if i >= maxAttributes {
			out[len(out)-1] = k.rest(names[i-1:])
			break
		}
		a := forecast.Attribute{Name: name}
		lists := 0
		for _, d := range k.Documents {
			a.Sizes = append(a.Sizes, d.Sizes[name])
			if l, ok := d.Lists[name]; ok && (len(l.Attributes) > 0 || len(l.Sizes) > 0) {
				lists++
			}
		}
		if lists > 0 {
			a.Elements = k.elements(name)
		}
		out = append(out, a)
	}
	return out
}

// maxAttributes is the number of attributes of a workload.
const maxAttributes = 60

// rest returns one attribute for several.
func (k *Kind) rest(names []string) forecast.Attribute {
	a := forecast.Attribute{Name: "other attributes"}
	for _, d := range k.Documents {
		n := 0
		for _, name := range names {
			n += d.Sizes[name]
		}
		a.Sizes = append(a.Sizes, n)
	}
	return a
}

// elements returns the elements of an attribute in the sampled documents.
func (k *Kind) elements(name string) *forecast.Elements {
	e := &forecast.Elements{}
	var rows []map[string]int
	for _, d := range k.Documents {
		l := d.Lists[name]
		e.Counts = append(e.Counts, l.Count)
		rows = append(rows, l.Attributes...)
		e.Sizes = append(e.Sizes, l.Sizes...)
		e.Keys = append(e.Keys, l.Keys...)
	}
	if len(rows) == 0 {
		return e
	}
	e.Sizes = nil
	all := map[string]bool{}
	for _, r := range rows {
		for a := range r {
			all[a] = true
		}
	}
	for _, a := range slices.Sorted(maps.Keys(all)) {
		x := forecast.Attribute{Name: a}
		for _, r := range rows {
			x.Sizes = append(x.Sizes, r[a])
		}
		e.Attributes = append(e.Attributes, x)
	}
	return e
}
