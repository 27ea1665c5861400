package discover

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// elements is a list or map whose elements could be items.
type elements struct {
	attribute string
	// list is a list, otherwise it is a map; scalar elements are single values.
	list, scalar bool
	// keys are the attributes in the sort key: none for {key} and {.}.
	keys []string
	// sorted reports that the order of the keys is that of the list in all samples.
	sorted bool
	// growing says why it looks as if it grows, "" if it does not.
	growing string
	counts  Stats
}

// maxKey is the largest size of a value that goes into a sort key, in bytes.
const maxKey = 200

// elementsOf finds out whether the elements of an attribute could be items, nil if not. docs are all items of the type.
func elementsOf(name string, p *profile, docs []item.Attributes) *elements {
	e := &elements{attribute: name, counts: statsOf(p.counts)}
	if e.counts.Max < 2 || p.all() == nil || p.all().types["NULL"] > 0 || len(p.all().types) != 1 {
		return nil
	}
	switch {
	case p.only("L") && p.all().only("M"):
		e.list = true
		if p.all().dynamic() || !e.choose(name, p, docs) {
			return nil
		}
	case p.only("L") && p.all().only("S"):
		e.list, e.scalar, e.sorted = true, true, true
		for _, d := range docs {
			sorted, unique := texts(name, d)
			if !unique {
				return nil
			}
			e.sorted = e.sorted && sorted
		}
	case p.only("M") && (p.dynamic() || e.counts.Max >= 20):
		if p.all().only("M") && p.all().dynamic() {
			return nil
		}
		e.scalar, e.sorted = !p.all().only("M"), true
		for _, d := range docs {
			if m, ok := d[name].(*types.AttributeValueMemberM); ok {
				for k := range m.Value {
					if k == "" || len(k) > maxKey {
						return nil
					}
				}
			}
		}
	default:
		return nil
	}
	e.growing = e.growth(p)
	return e
}

// unsafe reports whether a change of an element would change parts of it that stay the same.
func (e *elements) unsafe(p *profile) bool {
	n := &namer{types: scope{}, singular: (&Options{}).singular()}
	if e.scalar || !e.list {
		return n.elementType(p, "X").unsafe
	}
	return slices.ContainsFunc(n.structOf(p, "X", e.keys).fields, func(f field) bool { return f.typ.unsafe })
}

// growth says why a list looks as if it grows.
func (e *elements) growth(p *profile) string {
	least := slices.Min(p.counts)
	switch {
	case !e.scalar && slices.ContainsFunc(slices.Collect(maps.Values(p.all().fields)), func(f *profile) bool {
		return f.moment() && f.n == p.all().n
	}):
		return "each element has a time"
	case e.scalar && p.all().moment():
		return "each element is a time"
	case e.counts.Max >= 10 && e.counts.Max >= 2*max(1, least):
		return "the number of elements differs"
	case e.counts.Max >= 50:
		return "it is long"
	}
	return ""
}

// moment reports whether all values are times.
func (p *profile) moment() bool { return p.times == p.n || p.epochs == p.n }

// texts reports whether a list of texts is sorted, and can be keys: different, and not empty or too long.
func texts(name string, d item.Attributes) (sorted, unique bool) {
	l, ok := d[name].(*types.AttributeValueMemberL)
	if !ok {
		return true, true
	}
	seen := map[string]bool{}
	sorted = true
	last := ""
	for _, v := range l.Value {
		s, ok := v.(*types.AttributeValueMemberS)
		if !ok || s.Value == "" || len(s.Value) > maxKey || seen[s.Value] {
			return false, false
		}
		seen[s.Value], sorted = true, sorted && s.Value >= last
		last = s.Value
	}
	return sorted, true
}

// candidate is a key for the elements of a list: one or two fields that identify them in every list.
type candidate struct {
	fields []string
	// moment reports that the first field is a time, and named that the last one is named like a key.
	moment, named, sorted bool
	// units are the WCU of writing each element once, and bytes the mean size of the key.
	units float64
	bytes int
}

// maxFields is the number of fields that are tried in pairs.
const maxFields = 12

// choose finds the fields for the sort key of a list's elements. Of all fields and pairs of fields that identify the
// elements, it takes those with the lowest price, and of equal ones those in the order of the list.
func (e *elements) choose(name string, p *profile, docs []item.Attributes) bool {
	var fields []string
	for field, f := range p.all().fields {
		if f.n != p.all().n || p.hides(field) || !(f.only("S") || f.only("N") && f.whole == f.n) ||
			f.types["NULL"] > 0 || f.zeros > 0 && f.only("S") || statsOf(f.sizes).Max > maxKey {
			continue
		}
		fields = append(fields, field)
	}
	slices.Sort(fields)
	var all []candidate
	repeated := map[string]bool{} // fields that do not identify alone
	try := func(fields ...string) bool {
		sorted, unique := ordered(name, fields, docs)
		if !unique {
			return false
		}
		first, last := p.all().fields[fields[0]], fields[len(fields)-1]
		c := candidate{fields: fields, moment: first.moment(), named: keyRank(last) < 2, sorted: sorted}
		for _, f := range fields {
			c.bytes += sum(p.all().fields[f].sizes) / p.all().n
		}
		for _, size := range p.all().sizes {
			c.units += cost.WriteUnits(size + c.bytes)
		}
		all = append(all, c)
		return true
	}
	for _, f := range fields {
		repeated[f] = !try(f)
	}
	slices.SortStableFunc(fields, func(a, b string) int { // times first
		return b2i(p.all().fields[b].moment()) - b2i(p.all().fields[a].moment())
	})
	few := fields[:min(len(fields), maxFields)]
	for i, a := range few {
		for k, b := range few {
			moment := p.all().fields[a].moment() && !p.all().fields[b].moment()
			if i != k && repeated[a] && (moment || repeated[b] && i < k) {
				try(a, b)
			}
		}
	}
	if len(all) == 0 {
		return false
	}
	rank := func(c candidate) int {
		single := len(c.fields) == 1
		switch {
		case c.sorted && c.moment && single:
			return 0
		case c.sorted && single:
			return 1
		case c.sorted && c.moment:
			return 2
		case c.moment && single:
			return 3
		case c.named && single:
			return 4
		case single:
			return 5
		case c.moment:
			return 6
		}
		return 7
	}
	best := slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.units, b.units), rank(a)-rank(b), b2i(b.named)-b2i(a.named),
			cmp.Compare(a.bytes, b.bytes), slices.Compare(a.fields, b.fields))
	})
	e.keys, e.sorted = best.fields, best.sorted
	return true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ordered reports whether the elements of a list are in the order of some fields, and whether these differ.
func ordered(name string, fields []string, docs []item.Attributes) (sorted, unique bool) {
	sorted = true
	for _, d := range docs {
		l, ok := d[name].(*types.AttributeValueMemberL)
		if !ok {
			continue
		}
		seen := map[string]bool{}
		last := ""
		for _, v := range l.Value {
			m, _ := v.(*types.AttributeValueMemberM)
			if m == nil {
				return false, false
			}
			var key strings.Builder
			for _, f := range fields {
				key.WriteString(sortable(m.Value[f]) + "\x00")
			}
			if seen[key.String()] {
				return false, false
			}
			seen[key.String()], sorted = true, sorted && key.String() >= last
			last = key.String()
		}
	}
	return sorted, true
}

// sortable returns a text that sorts as the key does.
func sortable(v types.AttributeValue) string {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err == nil {
			return fmt.Sprintf("%020d", uint64(i)+1<<63)
		}
	}
	return keyText(v)
}

// sizeOf returns the size of an attribute with its name, 0 if it does not exist.
func sizeOf(name string, v types.AttributeValue) int {
	if v == nil {
		return 0
	}
	return attr.AttributeSize(name, v)
}
