package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
)

// optional returns changes that the best layout does not include, because they have a price other than dollars. They
// save something, or name an item whose next bytes cost a unit.
func (m *model) optional(best Forecast, tags map[string]string) []Change {
	var out []Change
	try := func(c Change, w Workload, l Layout) {
		l.Sizes, l.Indexes = nil, nil
		v := newModel(w, m.p)
		v.listIndexes = m.listIndexes
		v = v.of(l)
		if w.checkLayout(l) != nil {
			return
		}
		f := v.forecast(l)
		if c.Dollars = best.Total - f.Total; f.NotStorable != "" || c.Dollars <= 1e-12*best.Total {
			return
		}
		c.WCU, c.RCU = best.WCU-f.WCU, best.RCU-f.RCU
		out = append(out, c)
	}
	for i, op := range m.w.Operations {
		if op.Atomic {
			w := m.w
			w.Operations = slices.Clone(w.Operations)
			w.Operations[i].Atomic = false
			try(Change{
				Kind: "independent", What: "write the items of “" + op.Name + "” one by one",
				Risk: "readers, and a crash, can see some of the items written and others not",
				Tags: "users.Save(ctx, e, mapper.Independent())",
			}, w, best.Layout)
		}
		if op.Scan != nil {
			m.tryIndex(i, best.Layout, try)
		}
	}
	for a, x := range m.w.Attributes {
		l := best.Layout
		if m.set(l.Elements)>>a&1 != 0 {
			continue
		}
		if slices.Contains(l.External, x.Name) {
			inline := l
			inline.External = slices.DeleteFunc(slices.Clone(l.External), func(n string) bool { return n == x.Name })
			try(Change{
				Kind: "s3", What: "store " + x.Name + " in its item, and not in S3",
				Risk: "values that stay in S3 need the option until they are written again", Tags: tags[x.Name],
			}, m.w, inline)
			continue
		}
		if slices.Contains(best.Layout.Compress, x.Name) {
			plain := l
			plain.Compress = slices.DeleteFunc(slices.Clone(l.Compress), func(n string) bool { return n == x.Name })
			try(Change{
				Kind: "compress", What: "store " + x.Name + " without compression",
				Risk: "values that stay compressed need the option until they are written again", Tags: tags[x.Name],
			}, m.w, plain)
		}
		if len(x.Compressed) > 0 && !slices.Contains(l.Compress, x.Name) {
			compressed := l
			compressed.Compress = append(slices.Clone(l.Compress), x.Name)
			try(Change{
				Kind: "compress", What: "compress " + x.Name,
				Risk: "DynamoDB cannot filter by the value or change a part of it; each read and write takes CPU",
				Tags: withOption(tags[x.Name], "compress=gzip"),
			}, m.w, compressed)
		}
		if m.sizes[0][a] >= leastExternal {
			c, external := m.inS3(l, a, tags)
			try(c, m.w, external)
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(b.Dollars, a.Dollars) })
	return append(out, m.boundaries(best)...)
}

// leastExternal is the least size in bytes of a value for which an object in S3 is considered.
const leastExternal = 4096

// inS3 returns the change that stores an attribute in S3, and the layout with it. The item has no other attributes: a
// save that changes some of them too would be a transaction.
func (m *model) inS3(l Layout, a int, tags map[string]string) (Change, Layout) {
	name := m.w.Attributes[a].Name
	l.External = append(slices.Clone(l.External), name)
	own := slices.ContainsFunc(l.Items, func(it []string) bool { return len(it) == 1 && it[0] == name })
	tag := tags[name]
	if !own {
		l.Items = slices.Clone(l.Items)
		for i, it := range l.Items {
			l.Items[i] = slices.DeleteFunc(slices.Clone(it), func(n string) bool { return n == name })
		}
		l.Items = append(l.Items, []string{name})
		if tag = tagLine(name, "sk="+segment(name)); l.Fields != nil {
			tag = l.Fields[name].Name + "\tsk=" + segment(l.Fields[name].Name)
		}
		l.Groups = slices.DeleteFunc(slices.Clone(l.Groups), func(g []string) bool { return slices.Contains(g, name) })
	}
	option := "s3=BUCKET"
	for _, op := range m.w.Operations {
		if n := op.Preview[name]; n > 0 {
			if l.Preview = maps.Clone(l.Preview); l.Preview == nil {
				l.Preview = map[string]int{}
			}
			l.Preview[name] = max(l.Preview[name], n)
		}
	}
	if n := l.Preview[name]; n > 0 {
		option += fmt.Sprint(",preview=", n)
	}
	return Change{
		Kind: "s3", What: "store " + name + " as an object in S3, or with chunk in parts of 256 KB next to the item " +
			"(same " +
			"units as one item)",
		Risk: "a read of the value takes a request to S3 more; objects that no item refers to must be collected",
		Tags: withOption(tag, option),
	}, l
}

// tryIndex tries an index in place of a scan. It is queried by the first attribute of the filter.
func (m *model) tryIndex(i int, l Layout, try func(Change, Workload, Layout)) {
	op := m.w.Operations[i]
	if len(op.Scan) == 0 {
		return
	}
	for _, a := range op.Scan {
		if m.lists[m.index[a]] != nil {
			return // an element cannot be the key of an index
		}
	}
	name, field := "by-"+op.Scan[0], op.Scan[0]
	if f, ok := l.Fields[op.Scan[0]]; ok {
		field = f.Name
	}
	x := Index{Name: name, Hash: op.Scan[0], Attributes: slices.DeleteFunc(slices.Clone(op.Reads), func(n string) bool {
		return n == op.Scan[0] || m.set([]string{n})&m.itemOf(l, op.Scan[0]) == 0
	})}
	w := m.w
	w.Indexes = append(slices.Clone(w.Indexes), x)
	w.Operations = slices.Clone(w.Operations)
	per := op
	per.Scan, per.Found, per.Reads = nil, 0, nil
	per.Query = map[string]int{name: max(1, op.Found)}
	per.PerMonth = op.PerMonth / float64(m.w.Entities)
	w.Operations[i] = per
	risk := "each write of " + op.Scan[0] + " writes the index too, and it is read eventually consistent"
	if len(x.Attributes) < len(op.Reads) {
		risk += "; attributes of other items take a read for each document found"
	}
	more := ""
	if len(x.Attributes) > 0 {
		more = ",project='" + strings.Join(x.Attributes, ",") + "'"
	}
	if !slices.Contains(l.Items[0], op.Scan[0]) {
		more += ",on=" + field
	}
	try(Change{
		Kind: "index", What: "query an index on " + op.Scan[0] + " instead of the scan “" + op.Name + "”",
		Risk: risk,
		Tags: "_\tstruct{} `ddb:\"index=" + name + ",pk={" + field + "}" + more + "\"`",
	}, w, l)
}

// itemOf returns the attributes of the item of a layout that has an attribute.
func (m *model) itemOf(l Layout, name string) uint64 {
	for _, it := range l.Items {
		if slices.Contains(it, name) {
			return m.set(it)
		}
	}
	return 0
}

// few is the number of bytes before a boundary that count as no headroom.
const few = 32

// boundaries returns the items that are just below, or just above, a boundary of 1 KB in at least a tenth of the
// documents, and that are written.
func (m *model) boundaries(best Forecast) []Change {
	v := m.of(best.Layout)
	price := m.p.orZero("write") / 1e6
	var out []Change
	for _, names := range best.Layout.Items {
		set := m.set(names)
		writes, each := 0.0, 1.0
		for i := range v.ops {
			if op := &v.ops[i]; op.writes&set != 0 {
				if each = 1; op.Atomic {
					each = 2
				}
				writes += op.PerMonth * each * float64(m.w.Entities)
			}
		}
		below, above, least := 0, 0, few
		for s := range m.samples {
			n := v.size(s, set)
			if left := (1024 - n%1024) % 1024; left < few {
				below, least = below+1, min(least, left+1)
			}
			if over := n % 1024; n > 1024 && over > 0 && over <= few {
				above++
			}
		}
		units := func(n int) float64 { return writes * float64(n) / float64(m.samples) }
		if below*10 >= m.samples && writes > 0 {
			out = append(out, Change{
				Kind: "headroom", What: fmt.Sprintf("shorten the item of %s before it grows", listed(names)),
				Risk: fmt.Sprintf("in %d of %d documents, %d more bytes cost 1 WCU more for each write: up to %.0f "+
					"WCU "+
					"and $%.4g a month", below, m.samples, least, units(below), units(below)*price),
				Tags: "shorter names of attributes (dynamodbav), or another item for some",
			})
		}
		if above*10 >= m.samples && writes > 0 {
			out = append(out, Change{
				Kind: "headroom", WCU: units(above), Dollars: units(above) * price,
				What: fmt.Sprintf("shorten the item of %s by up to %d bytes", listed(names), few),
				Risk: fmt.Sprintf("%d of %d documents are just over a boundary of 1 KB", above, m.samples),
				Tags: "shorter names of attributes (dynamodbav), or another item for some",
			})
		}
	}
	return out
}

// tooLargeAlone returns the attributes that no item can hold.
func (m *model) tooLargeAlone() (names []string) {
	for a, x := range m.w.Attributes {
		if m.lists[a] == nil && m.largest(1<<a) > cost.MaxItem {
			names = append(names, x.Name)
		}
	}
	return names
}

// withOption adds an option to the tag of a line.
func withOption(line, option string) string {
	i := strings.LastIndex(line, "\"`")
	if i < 0 { // of a field
		return line + "," + option
	}
	return line[:i] + "," + option + line[i:]
}
