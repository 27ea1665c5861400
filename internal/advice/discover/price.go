package discover

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// Limits of the work of a forecast.
const (
	// maxPriced and maxElements bound the documents whose sizes are computed one by one.
	maxPriced, maxElements = 200, 200_000
	// maxNamed is the number of attributes that a layout can divide; the smallest of more are joined.
	maxNamed = 40
	// smallBytes is the size up to which an attribute counts as small.
	smallBytes = 256
)

// priced are the documents of a forecast.
func (x *entityType) priced() []item.Attributes {
	n := 0
	for i, d := range x.docs {
		for name := range x.lists {
			switch v := d[name].(type) {
			case *types.AttributeValueMemberL:
				n += len(v.Value)
			case *types.AttributeValueMemberM:
				n += len(v.Value)
			}
		}
		if i == maxPriced || n > maxElements && i > 0 {
			return x.docs[:i]
		}
	}
	return x.docs
}

// measureWorkload makes the attributes of the workload from the documents. Attributes that operations name are kept by
// themselves.
func (x *entityType) measureWorkload(entities int, ops []forecast.Operation) {
	used := usedBy(ops)
	docs := x.priced()
	w := forecast.Workload{Name: x.name, Entities: entities, Overhead: x.overhead(docs)}
	names := slices.SortedFunc(maps.Keys(x.attributes), func(a, b string) int {
		return cmp.Or(sum(x.attributes[b].sizes)-sum(x.attributes[a].sizes), strings.Compare(a, b))
	})
	var rest []string
	for i, name := range names {
		if i >= maxNamed && x.lists[name] == nil && !used[name] || !x.shown(name) {
			rest = append(rest, name)
			continue
		}
		w.Attributes = append(w.Attributes, x.measured(name, docs))
	}
	if rest != nil {
		name := scopeOf(x.attributes).take("other attributes")
		x.joined[name] = rest
		a := forecast.Attribute{Name: name}
		for _, d := range docs {
			n := 0
			for _, r := range rest {
				n += sizeOf(r, d[r])
			}
			a.Sizes = append(a.Sizes, n)
		}
		w.Attributes = append(w.Attributes, a)
	}
	for _, i := range x.table.Indexes {
		if x.attributes[i.Hash] == nil || i.Range != "" && x.attributes[i.Range] == nil || x.joined[i.Hash] != nil {
			continue // its keys are those of the table, or several
		}
		f := forecast.Index{Name: i.Name, Hash: i.Hash, Range: i.Range, All: i.Projection == "ALL"}
		for _, a := range i.Attributes {
			if slices.ContainsFunc(w.Attributes, func(b forecast.Attribute) bool { return b.Name == a }) {
				f.Attributes = append(f.Attributes, a)
			}
		}
		w.Indexes = append(w.Indexes, f)
	}
	if !slices.ContainsFunc(w.Attributes, func(a forecast.Attribute) bool { return a.Elements == nil }) {
		w.Attributes = append(x.keySizes(nil), w.Attributes...) // the root item needs an attribute
	}
	w.Operations = x.workload.Operations
	x.workload = w
}

// overhead is the mean size of the keys of a new item, with its version and incarnation.
func (x *entityType) overhead(docs []item.Attributes) int {
	const names, version, incarnation = len("PK") + len("SK"), 2 + 11, 2 + 11
	n := 0
	for _, d := range docs {
		n += keyBytes(x.table, d) + 12
	}
	return names + version + incarnation + n/max(1, len(docs))
}

// measured returns the sizes of an attribute, and of its elements.
func (x *entityType) measured(name string, docs []item.Attributes) forecast.Attribute {
	a := forecast.Attribute{Name: name}
	for _, d := range docs {
		a.Sizes = append(a.Sizes, sizeOf(name, d[name]))
	}
	if statsOf(a.Sizes).P50 >= 1024 {
		var small []int
		for _, d := range docs {
			if v := d[name]; v != nil {
				small = append(small, min(attr.AttributeSize(name, v), len(name)+compressed(v)))
			} else {
				small = append(small, 0)
			}
		}
		if 10*sum(small) < 8*sum(a.Sizes) {
			a.Compressed = small
		}
	}
	l := x.lists[name]
	if l == nil {
		return a
	}
	e := &forecast.Elements{}
	fields := map[string][]int{}
	if !l.scalar {
		for f := range x.attributes[name].all().fields {
			if x.names.hides(f) {
				f = "{...}" // its name counts as data
			}
			fields[f] = nil
		}
	}
	for _, d := range docs {
		all := sequence(d[name], l)
		e.Counts = append(e.Counts, len(all))
		for _, one := range all {
			if !l.list {
				e.Keys = append(e.Keys, len(one.key))
			}
			if l.scalar {
				e.Sizes = append(e.Sizes, attr.ValueSize(one.value))
				continue
			}
			m, _ := one.value.(*types.AttributeValueMemberM)
			for f := range fields {
				n := 0
				if m != nil {
					n = sizeOf(f, m.Value[f])
				}
				if f == "{...}" && m != nil {
					for name, v := range m.Value {
						if _, named := fields[name]; !named {
							n += sizeOf(name, v)
						}
					}
				}
				fields[f] = append(fields[f], n)
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if len(fields[f]) > 0 {
			e.Attributes = append(e.Attributes, forecast.Attribute{Name: f, Sizes: fields[f]})
		}
	}
	if sum(e.Counts) > 0 {
		a.Elements = e
	}
	return a
}

// element is an element of a list, or an entry of a map.
type element struct {
	key   string // that sorts as the items do
	value types.AttributeValue
}

// sequence returns the elements of a list or map in the order of their items.
func sequence(v types.AttributeValue, l *elements) []element {
	var out []element
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			key := keyText(e)
			if m, ok := e.(*types.AttributeValueMemberM); ok {
				for _, f := range l.keys {
					key += sortable(m.Value[f]) + "\x00"
				}
			}
			out = append(out, element{key, e})
		}
	case *types.AttributeValueMemberM:
		for k, e := range v.Value {
			out = append(out, element{k, e})
		}
	}
	slices.SortStableFunc(out, func(a, b element) int { return strings.Compare(a.key, b.key) })
	return out
}

// Mix are the numbers of operations of a month on one entity, where no workload says them.
type Mix struct {
	Writes float64 `json:"writes"`
	Reads  float64 `json:"reads"`
}

// usedBy are the attributes that operations name.
func usedBy(ops []forecast.Operation) map[string]bool {
	out := map[string]bool{}
	for _, op := range ops {
		for _, name := range slices.Concat(op.Writes, op.Reads) {
			out[name] = true
		}
		for _, all := range []map[string]int{op.Add, op.Change, op.Remove, op.Read} {
			for name := range all {
				out[name] = true
			}
		}
	}
	return out
}

// use sets the operations. Elements of lists that cannot be items count as the whole list, and key fields, which
// are in every item, as no attribute.
func (x *entityType) use(ops []forecast.Operation) {
	elements := map[string]bool{}
	for _, a := range x.workload.Attributes {
		elements[a.Name] = a.Elements != nil
	}
	for _, op := range ops {
		keys := func(name string) bool { return x.isKey(name) }
		op.Writes, op.Reads = slices.DeleteFunc(slices.Clone(op.Writes), keys),
			slices.DeleteFunc(slices.Clone(op.Reads), keys)
		whole := func(all map[string]int, to *[]string) map[string]int {
			out := map[string]int{}
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if elements[name] {
					out[name] = all[name]
				} else if !slices.Contains(*to, name) {
					*to = append(*to, name)
				}
			}
			return out
		}
		op.Add, op.Change = whole(op.Add, &op.Writes), whole(op.Change, &op.Writes)
		op.Remove, op.Read = whole(op.Remove, &op.Writes), whole(op.Read, &op.Reads)
		x.workload.Operations = append(x.workload.Operations, op)
	}
}

// assume sets the operations of a month. Each part of an entity that can change alone changes equally often. Keys of
// indexes do not change. Half of the reads are of the whole entity, and half of the small attributes.
func (x *entityType) assume(m Mix) {
	var small, changed []string
	var ops []forecast.Operation
	keys := map[string]bool{} // of indexes, which change rarely
	for _, i := range x.workload.Indexes {
		keys[i.Hash], keys[i.Range] = true, true
	}
	for _, a := range x.workload.Attributes {
		switch {
		case x.isKey(a.Name):
		case a.Elements != nil:
			ops = append(ops, forecast.Operation{Name: "add to " + a.Name, Add: map[string]int{a.Name: 1}})
		case statsOf(a.Sizes).P99 <= smallBytes:
			if small = append(small, a.Name); !keys[a.Name] {
				changed = append(changed, a.Name)
			}
		default:
			ops = append(ops, forecast.Operation{Name: "change " + a.Name, Writes: []string{a.Name}})
		}
	}
	reads := []forecast.Operation{{Name: "open it", All: true}}
	if changed != nil {
		ops = append(ops, forecast.Operation{Name: "change the small attributes", Writes: changed})
	}
	if small != nil {
		reads = append(reads, forecast.Operation{Name: "read the small attributes", Reads: small})
	}
	for i := range ops {
		ops[i].PerMonth = m.Writes / float64(len(ops))
	}
	for i := range reads {
		reads[i].PerMonth = m.Reads / float64(len(reads))
	}
	x.workload.Operations = append(ops, reads...)
}

// today is the layout as it is, with the sizes of the items.
func (x *entityType) today() forecast.Layout {
	l := x.workload.Monolith()
	l.Name = "as it is"
	l.Sizes = &forecast.Sizes{Items: [][]int{nil}, Entries: map[string][]int{}}
	for i := range x.priced() {
		it := x.items[i]
		l.Sizes.Items[0] = append(l.Sizes.Items[0], attr.ItemSize(it))
		for _, ix := range x.table.Indexes {
			t := charge.Table{Hash: x.table.Hash, Range: x.table.Range}
			ci := charge.Index{
				Name: ix.Name, Hash: ix.hash[0], All: ix.Projection == "ALL", Attributes: slices.Concat(ix.Attributes,
					ix.hash, ix.sort),
			}
			if len(ix.sort) > 0 {
				ci.Range = ix.sort[0]
			}
			n := 0
			if e := t.Entry(ci, it); e != nil {
				n = attr.ItemSize(e)
			}
			l.Sizes.Entries[ix.Name] = append(l.Sizes.Entries[ix.Name], n)
		}
	}
	return l
}

// placed is the model's layout with the exact sizes of its items.
func (x *entityType) placed() (forecast.Layout, error) {
	l := x.arranged
	l.Name = x.name
	p := &placing{layout: x.layout, schema: x.schema, items: map[string]int{}, elements: l.Elements}
	for i, it := range x.itemNames() {
		p.items[x.prefix+it.literal] = i
	}
	for _, ix := range x.workload.Indexes {
		p.indexes = append(p.indexes, ix.Name)
	}
	var docs []item.Attributes
	for _, d := range x.priced() {
		doc := maps.Clone(d)
		for _, name := range []string{x.table.Hash, x.table.Range} {
			if !x.layout.Claims(name) {
				delete(doc, name)
			}
		}
		docs = append(docs, doc)
	}
	p.exact = func(i int) []int { return x.prices[i].Sizes }
	var err error
	l.Sizes, err = p.sizes(docs)
	return l, err
}

// keys are those by which a migration finds the monoliths.
func (x *entityType) keys() (*layout.Keys, error) {
	if x.Key == "" && x.Sort == "" {
		return x.layout.KeyAttributes(x.table.Hash, x.table.Range)
	}
	return x.layout.KeyTemplates(x.Key, x.Sort)
}

// separate refuses a model whose migration would take items of another type: one whose keys match.
func (x *entityType) separate(groups []*group, names []string) error {
	keys, err := x.keys()
	if err != nil {
		return err
	}
	for i, g := range groups {
		if names[i] == x.name {
			continue
		}
		for _, it := range g.sampled {
			pk, _ := attr.ScalarOf(it[x.table.Hash])
			sk, _ := attr.ScalarOf(it[x.table.Range])
			if keys.Has(pk, sk) {
				return fmt.Errorf("a migration finds entities by their keys, and would take items of %s too: write "+
					"the models by hand, or move one of the types to a table of its own first", names[i])
			}
		}
	}
	return nil
}

// mover returns a mover that predicts, and the table of the monoliths.
func (x *entityType) mover() (*protocol.Mover, *item.Table, error) {
	keys, err := x.keys()
	if err != nil {
		return nil, nil, err
	}
	source := &item.Table{Name: cmp.Or(x.table.Name, "source"), Hash: x.table.Hash, Range: x.table.Range, Index: -1}
	t := x.layout.Tables[0]
	m := protocol.New(nil, x.layout, source, keys, []*item.Table{{Name: t.Name, Hash: t.Hash, Range: t.Range}})
	m.Indexes = map[string][]*schema.Index{source.Name: x.table.declared(), t.Name: x.schema.Indexes}
	if len(x.reshape) > 0 {
		m.Reshape = protocol.Reshape{Forth: x.forth, Back: x.back}
	}
	return m, source, nil
}

// monolith is an item of the table as a monolith.
func (x *entityType) monolith(source *item.Table, it item.Attributes) *protocol.Monolith {
	place := item.Place{Table: source}
	place.PK, _ = attr.ScalarOf(it[source.Hash])
	place.SK, _ = attr.ScalarOf(it[source.Range])
	return &protocol.Monolith{Place: place, Attributes: it, Reserved: x.layout.Reserved}
}

// dropUnmovable predicts the move of each sampled entity. It removes those that cannot be moved, and returns their
// number and the reasons, without values. It is an error if none is left.
func (x *entityType) dropUnmovable() (n int, reasons []string, err error) {
	mover, source, err := x.mover()
	if err != nil {
		return 0, nil, err
	}
	var items, docs []item.Attributes
	var sizes []int
	for i, it := range x.items {
		price, err := mover.Predict(x.monolith(source, it))
		if err == nil {
			x.prices = append(x.prices, price)
			items, docs, sizes = append(items, it), append(docs, x.docs[i]), append(sizes, x.sizes[i])
			continue
		}
		n++
		for _, r := range strings.Split(err.Error(), "\n") {
			if r = redacted(r); !slices.Contains(reasons, r) {
				reasons = append(reasons, r)
			}
		}
	}
	if len(items) == 0 {
		return n, reasons, fmt.Errorf("no sampled entity can be moved: %s", strings.Join(reasons[:min(3,
			len(reasons))], "; "))
	}
	x.items, x.docs, x.sizes = items, docs, sizes
	return n, reasons, nil
}

// hiddenParts are quoted texts, numbers of elements, and words of keys.
var hiddenParts = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\[\d+\]|[^\s:;,]*#[^\s;,]*`)

// redacted returns a message without the values in it.
func redacted(text string) string { return hiddenParts.ReplaceAllString(text, "{...}") }

// onlyDeclared leaves indexes that the model does not declare out of the workload: they have no entries then.
func (x *entityType) onlyDeclared() {
	x.workload.Indexes = slices.DeleteFunc(x.workload.Indexes, func(i forecast.Index) bool {
		return !slices.ContainsFunc(x.schema.Indexes, func(d *schema.Index) bool { return d.Name == i.Name })
	})
}

// Migration is the cost of moving the entities of a type.
type Migration struct {
	// WCU and RCU are for all entities, Dollars the price of both on demand.
	WCU     float64 `json:"wcu"`
	RCU     float64 `json:"rcu"`
	Dollars float64 `json:"dollars"`
	// Days is the time after which the lower bill has paid for it, nil if it never does.
	Days *float64 `json:"days"`
	// Unmovable is the number of sampled entities that cannot be moved, and Reasons why.
	Unmovable int      `json:"unmovable,omitempty"`
	Reasons   []string `json:"reasons,omitempty"`
}

// migration sums the predicted moves of the sample, and scales them.
func (x *entityType) migration(entities int, p forecast.Prices) *Migration {
	out := &Migration{}
	for i, price := range x.prices {
		out.RCU += cost.ReadUnits(attr.ItemSize(x.items[i])) / 2
		out.WCU += price.WCU
	}
	scale := float64(entities) / float64(len(x.prices))
	out.WCU, out.RCU = out.WCU*scale, out.RCU*scale
	out.Dollars = p.Units(out.WCU, out.RCU)
	return out
}

// forth and back are the conversions of the model.
func (x *entityType) forth(d item.Attributes) (item.Attributes, error) {
	var err error
	for _, s := range x.reshape {
		if d, err = s.forth(d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (x *entityType) back(d item.Attributes) (item.Attributes, error) {
	var err error
	outer := item.Attributes{x.table.Hash: &types.AttributeValueMemberNULL{Value: true}}
	if x.table.Range != "" {
		outer[x.table.Range] = outer[x.table.Hash]
	}
	for _, name := range x.remaining {
		outer[name] = outer[x.table.Hash]
	}
	for _, s := range slices.Backward(x.reshape) {
		if d, err = s.back(d, outer); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// declared are the indexes of the table.
func (t *Table) declared() []*schema.Index {
	var out []*schema.Index
	for _, i := range t.Indexes {
		x := &schema.Index{
			Name: i.Name, Table: &schema.Table{Name: t.Name, Hash: t.Hash, Range: t.Range},
			All: i.Projection == "ALL", Include: i.Attributes,
		}
		for _, name := range i.hash {
			x.Hash = append(x.Hash, schema.KeyAttribute{Name: name})
		}
		for _, name := range i.sort {
			x.Range = append(x.Range, schema.KeyAttribute{Name: name})
		}
		out = append(out, x)
	}
	return out
}
