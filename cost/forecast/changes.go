package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// Change is a change of a model or of a program, with its saving.
type Change struct {
	// Kind is "move", "elements", "attribute", "prefix", "root", "s3", "compress", "independent", "index" or
	// "headroom".
	Kind string `json:"kind"`
	// What says what to do.
	What string `json:"what"`
	// WCU, RCU and Dollars are saved in a month, for all entities, in addition to the changes before it in the advice.
	// A negative number is more cost. Changes that are not Included are priced by themselves, in the best layout.
	WCU     float64 `json:"wcu"`
	RCU     float64 `json:"rcu"`
	Dollars float64 `json:"dollars"`
	// Once is the price in dollars of rewriting the stored entities: each is read, and its changed items are written.
	Once float64 `json:"once"`
	// Risk says what the change can break, or what it makes worse.
	Risk string `json:"risk,omitempty"`
	// Tags are the tags to write.
	Tags string `json:"tags,omitempty"`
	// Included reports that the best layout has the change.
	Included bool `json:"included"`
}

// state is a layout on the route from one layout to another. Items have numbers: those of the first layout, and
// higher ones for new items.
type state struct {
	item   []int // of each attribute; ignored for the lists in split
	split  uint64
	root   int
	groups [][]string
}

// layout returns the layout of a state.
func (x state) layout(m *model) Layout {
	var l Layout
	items := map[int][]string{}
	for a, i := range x.item {
		name := m.w.Attributes[a].Name
		if x.split>>a&1 != 0 {
			l.Elements = append(l.Elements, name)
			continue
		}
		items[i] = append(items[i], name)
	}
	order := slices.Sorted(maps.Keys(items))
	slices.SortStableFunc(order, func(i, j int) int { return b2i(j == x.root) - b2i(i == x.root) })
	for _, i := range order {
		l.Items = append(l.Items, items[i])
	}
	for _, g := range x.groups { // groups that cross after a move are none
		if m.w.checkGroups(Layout{Items: l.Items, Elements: l.Elements, Groups: append(l.Groups, g)},
			namesOf(l)) == nil {
			l.Groups = append(l.Groups, g)
		}
	}
	return l
}

// namesOf returns the attributes of a layout.
func namesOf(l Layout) map[string]bool {
	out := map[string]bool{}
	for _, name := range slices.Concat(append(slices.Clone(l.Items), l.Elements)...) {
		out[name] = true
	}
	return out
}

// route leads from one layout to another.
type route struct {
	m *model
	// model reports that the present layout is that of a model.
	model    bool
	tags     map[string]string // of the last layout
	from, to state
	// base are the properties that all layouts on the route have.
	base Layout
}

// step is a change of a state.
type step struct {
	Change
	apply func(*state)
}

// numbered returns the states of two layouts. An item of the second layout has the number of the item of the first with
// which it shares most bytes.
func numbered(m *model, from, to Layout) (x, y state) {
	x = state{item: make([]int, len(m.w.Attributes)), split: m.set(from.Elements), groups: from.Groups}
	y = state{item: make([]int, len(m.w.Attributes)), split: m.set(to.Elements), groups: to.Groups}
	for i, names := range from.Items {
		for a := range bitsOf(m.set(names)) {
			x.item[a] = i
		}
	}
	type match struct{ old, new, bytes int }
	var all []match
	for i, names := range to.Items {
		shared := map[int]int{}
		for a := range bitsOf(m.set(names) &^ x.split) {
			shared[x.item[a]] += m.sizes[0][a] + 1
		}
		for old, bytes := range shared {
			all = append(all, match{old, i, bytes})
		}
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(b.bytes-a.bytes, a.old-b.old, a.new-b.new)
	})
	number, used := map[int]int{}, map[int]bool{}
	if m.pinned != 0 { // the root item of a model stays
		number[0], used[0] = 0, true
	}
	for _, c := range all {
		if _, ok := number[c.new]; !ok && !used[c.old] {
			number[c.new], used[c.old] = c.old, true
		}
	}
	next := len(from.Items)
	for i, names := range to.Items {
		n, ok := number[i]
		if !ok {
			n, next = next, next+1
		}
		if i == 0 {
			y.root = n
		}
		for a := range bitsOf(m.set(names)) {
			y.item[a] = n
		}
	}
	for a := range bitsOf(x.split) { // where a list is if it becomes an attribute
		x.item[a] = y.item[a]
	}
	for a := range bitsOf(y.split) {
		y.item[a] = x.item[a]
	}
	return x, y
}

// steps returns the changes that lead to the last layout, in no order.
func (w *route) steps() []step {
	m := w.m
	var out []step
	moves := map[[2]int][]int{}
	var pairs [][2]int
	for a := range w.from.item {
		bit := uint64(1) << a
		name := m.w.Attributes[a].Name
		switch {
		case w.to.split&^w.from.split&bit != 0:
			out = append(out, step{Change{
				Kind: "elements", What: "store each element of " + name + " as an item",
				Risk: "a read of the whole list costs up to " + attr.Bytes(m.w.perElement()) + " more for each " +
					"element; the " +
					"elements need fields that identify them",
				Tags: w.tags[name],
			}, func(x *state) { x.split |= bit }})
		case w.from.split&^w.to.split&bit != 0:
			out = append(out, step{Change{
				Kind: "attribute", What: "store " + name + " as one attribute",
				Risk: "each change of an element writes the whole list, and the list must fit into its item",
				Tags: w.tags[name],
			}, func(x *state) { x.split &^= bit }})
		case w.from.split&bit == 0 && w.from.item[a] != w.to.item[a]:
			p := [2]int{w.from.item[a], w.to.item[a]}
			if moves[p] == nil {
				pairs = append(pairs, p)
			}
			moves[p] = append(moves[p], a)
		}
	}
	for _, p := range pairs {
		out = append(out, w.move(p[1], moves[p]))
	}
	if w.to.root != w.from.root {
		root := w.to.root
		out = append(out, step{Change{
			Kind: "root", What: "make the item with " + w.example(root) + " the root item",
			Risk: "the root item exists if the entity exists: programs that check it must read the new one",
			Tags: "declare its fields first",
		}, func(x *state) { x.root = root }})
	}
	for _, h := range w.from.groups {
		if !slices.ContainsFunc(w.to.groups, func(g []string) bool { return w.same(h, g) }) {
			out = append(out, step{Change{
				Kind: "prefix", What: "give the items of " + listed(h) + " sort keys without their common prefix",
				Risk: "queries of the prefix end, and sort keys of stored items change", Tags: w.tagsOf(w.from, h),
			}, func(x *state) {
				x.groups = slices.DeleteFunc(slices.Clone(x.groups), func(g []string) bool {
					return slices.Equal(g,
						h)
				})
			}})
		}
	}
	for _, g := range w.to.groups {
		if !w.hasGroup(w.from.groups, g) {
			out = append(out, w.prefix(g))
		}
	}
	return out
}

// fields returns the fields of a model with the sort keys of the last layout. An item that stays keeps its sort key,
// and a new group adds a segment to those of its items.
func (w *route) fields(present, best Layout) map[string]Field {
	out := map[string]Field{}
	old := map[int]string{} // sort keys by item
	for a, i := range w.from.item {
		if w.from.split>>a&1 == 0 {
			old[i] = present.Fields[w.m.w.Attributes[a].Name].SortKey
		}
	}
	taken := map[string]bool{} // beginnings of sort keys
	for _, f := range present.Fields {
		key, _, _ := strings.Cut(f.SortKey, "#{")
		taken[key] = true
	}
	names := map[int]string{} // sort keys of new items
	for a, i := range w.to.item {
		name := w.m.w.Attributes[a].Name
		f := present.Fields[name]
		if f.Name == "" || f.SortKey == "" { // it is in the partition key
			continue
		}
		split := w.to.split>>a&1 != 0
		switch key, ok := old[i]; {
		case split && w.from.split>>a&1 != 0:
		case split:
			f.SortKey = unused(segment(f.Name), taken) + "#{KEY}"
		case ok:
			f.SortKey = key
		default:
			if names[i] == "" {
				names[i] = unused(segment(f.Name), taken)
			}
			f.SortKey = names[i]
		}
		out[name] = f
	}
	for _, g := range best.Groups {
		if w.hasGroup(w.from.groups, g) {
			continue
		}
		prefix, blocks := w.extended(g, present.Fields), w.blocks(w.to, g)
		for n := 1; prefix == ""; n++ {
			if p := fmt.Sprintf("GROUP%d#", n); !slices.ContainsFunc(slices.Collect(maps.Values(out)),
				func(f Field) bool {
					return strings.Contains(f.SortKey, p)
				}) {
				prefix = p
			}
		}
		for a := range w.to.item {
			name := w.m.w.Attributes[a].Name
			f := out[name]
			if f.SortKey != "" && blocks[w.block(w.to, a)] && !strings.HasPrefix(f.SortKey, prefix) {
				f.SortKey = prefix + f.SortKey
				out[name] = f
			}
		}
	}
	return out
}

// block is the number of the item of an attribute, or a negative number for a list whose elements are items.
func (w *route) block(x state, a int) int {
	if x.split>>a&1 != 0 {
		return -1 - a
	}
	return x.item[a]
}

// blocks returns the items and lists of a group.
func (w *route) blocks(x state, g []string) map[int]bool {
	out := map[int]bool{}
	for _, name := range g {
		out[w.block(x, w.m.index[name])] = true
	}
	return out
}

// hasGroup reports whether groups of the present layout have the items of a group.
func (w *route) hasGroup(groups [][]string, g []string) bool {
	return slices.ContainsFunc(groups, func(h []string) bool { return w.same(h, g) })
}

// extended returns the prefix of a group of the present layout whose items are all in a new group, "" for none.
func (w *route) extended(g []string, fields map[string]Field) string {
	blocks := w.blocks(w.to, g)
	for _, h := range w.from.groups {
		old := w.blocks(w.from, h)
		kept := slices.ContainsFunc(w.to.groups, func(g []string) bool { return w.same(h, g) })
		inside := true
		for i := range old {
			inside = inside && blocks[i]
		}
		if kept || !inside {
			continue
		}
		prefix, first := "", true
		for a, x := range w.m.w.Attributes {
			key := fields[x.Name].SortKey
			if !old[w.block(w.from, a)] || key == "" {
				continue
			}
			if first {
				prefix, first = key, false
			}
			for !strings.HasPrefix(key, prefix) {
				prefix = prefix[:len(prefix)-1]
			}
		}
		return prefix[:strings.LastIndex(prefix, "#")+1]
	}
	return ""
}

// example returns an attribute of an item of the last layout.
func (w *route) example(item int) string {
	for a, i := range w.to.item {
		if i == item && w.to.split>>a&1 == 0 {
			return w.m.w.Attributes[a].Name
		}
	}
	return "no attributes"
}

// move returns the step that moves attributes to an item.
func (w *route) move(to int, attributes []int) step {
	var names, tags, neighbors []string
	for _, a := range attributes {
		names = append(names, w.m.w.Attributes[a].Name)
		if w.model {
			tags = append(tags, w.tags[w.m.w.Attributes[a].Name])
		}
	}
	for a, i := range w.to.item { // without a model, all fields of the item need tags
		if i == to && !w.model && w.to.split>>a&1 == 0 {
			tags = append(tags, w.tags[w.m.w.Attributes[a].Name])
		}
	}
	for a, i := range w.from.item {
		if i == to && w.to.item[a] == to && w.from.split>>a&1 == 0 {
			neighbors = append(neighbors, w.m.w.Attributes[a].Name)
		}
	}
	where := "a new item"
	if len(neighbors) > 0 {
		where = "the item of " + listed(neighbors)
	}
	risk := "a save that changes attributes of several items is a transaction, at twice the WCU"
	if len(w.m.w.Indexes) > 0 && (to == w.from.root || w.from.item[attributes[0]] == w.from.root) {
		risk += "; entries of an index have only the attributes of the root item, so that queries of indexes change"
	}
	return step{Change{
		Kind: "move", What: "move " + listed(names) + " to " + where,
		Risk: risk,
		Tags: strings.Join(tags, "\n"),
	}, func(x *state) {
		for _, a := range attributes {
			x.item[a] = to
		}
	}}
}

// prefix returns the step that gives the items of a group a common prefix.
func (w *route) prefix(group []string) step {
	return step{Change{
		Kind: "prefix", What: "give the items of " + listed(group) + " sort keys with a common prefix: one query " +
			"reads them",
		Risk: "programs must select the prefix, and sort keys of stored items change",
		Tags: w.tagsOf(w.to, group),
	}, func(x *state) { x.groups = append(slices.Clone(x.groups), group) }}
}

// tagsOf returns the tags of all attributes in the items of a group.
func (w *route) tagsOf(x state, group []string) string {
	blocks := w.blocks(x, group)
	var tags []string
	for a := range x.item {
		if t := w.tags[w.m.w.Attributes[a].Name]; blocks[w.block(x, a)] && t != "" {
			tags = append(tags, t)
		}
	}
	return strings.Join(tags, "\n")
}

// same reports whether a group of the present layout has the items of one of the last layout.
func (w *route) same(h, g []string) bool { return maps.Equal(w.blocks(w.from, h), w.blocks(w.to, g)) }

// listed joins names: at most four.
func listed(names []string) string {
	if len(names) > 4 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// forecast returns the forecast of a state. ok is false if an item is too large, or none exists.
func (w *route) forecast(x state) (f Forecast, ok bool) {
	l := x.layout(w.m)
	l = l.with(w.base)
	if len(l.Items) == 0 || w.m.w.checkLayout(l) != nil {
		return Forecast{}, false
	}
	f = w.m.of(l).forecast(l)
	return f, f.NotStorable == ""
}

// changes returns the changes that lead to the last layout: first the one that saves most.
func (w *route) changes() []Change {
	x := w.from
	x.item = slices.Clone(x.item)
	before, ok := w.forecast(x)
	var out []Change
	for _, s := range w.sorted(w.steps()) {
		c, old := s.Change, x.layout(w.m)
		s.apply(&x)
		after, storable := w.forecast(x)
		if c.Included = true; ok && storable {
			c.WCU, c.RCU, c.Dollars = before.WCU-after.WCU, before.RCU-after.RCU, before.Total-after.Total
		}
		c.Once = w.m.rewrite(old, x.layout(w.m))
		if storable {
			before, ok = after, true
		}
		if c.Kind != "root" || c.Dollars != 0 {
			out = append(out, c)
		}
	}
	return out
}

// sortWork bounds the samples by which changes are sorted.
const sortWork = 300_000

// sorted returns the changes in the order of their savings, each after those before it.
func (w *route) sorted(rest []step) []step {
	few := *w
	if n := max(2, sortWork/max(1, len(rest)*len(rest)*len(w.m.ops))); n < w.m.samples {
		m := newModel(w.m.w.Thinned(n), w.m.p)
		m.pinned = w.m.pinned
		few.m = m
	}
	x := w.from
	x.item = slices.Clone(x.item)
	var out []step
	for len(rest) > 0 {
		best, least := 0, math.Inf(1)
		for i, s := range rest {
			next := x
			next.item = slices.Clone(x.item)
			s.apply(&next)
			if f, ok := few.forecast(next); ok && f.Total < least {
				best, least = i, f.Total
			}
		}
		rest[best].apply(&x)
		out = append(out, rest[best])
		rest = slices.Delete(rest, best, best+1)
	}
	return out
}

// rewrite returns the price of changing the layout of all stored entities, in dollars. Each entity is read as a whole;
// items that change are written, and items that are missing in the new layout are deleted.
func (m *model) rewrite(from, to Layout) float64 {
	a, b := m.of(from), m.of(to)
	x, y := numbered(m, from, to)
	groups := func(s state) map[int]uint64 {
		out := map[int]uint64{}
		for i, item := range s.item {
			if s.split>>i&1 == 0 {
				out[item] |= 1 << i
			}
		}
		return out
	}
	old, new := groups(x), groups(y)
	key := func(l Layout, set uint64) string { // what the layout's groups add to the sort key of an item
		var k strings.Builder
		for _, g := range l.Groups {
			if s := m.whole(m.set(g), l.Items) | m.set(g)&m.set(l.Elements); s&set != 0 {
				fmt.Fprint(&k, strings.Join(g, " "), "#")
			}
		}
		return k.String()
	}
	wcu, rcu := 0.0, 0.0
	for s := range m.samples {
		var items []uint64
		for _, i := range slices.Sorted(maps.Keys(old)) {
			items = append(items, old[i])
		}
		rcu += a.query(s, items, a.all()|a.split) / 2
		for i := range len(m.w.Attributes) + len(from.Items) + len(to.Items) {
			was, is := old[i], new[i]
			switch moved := key(from, was) != key(to, is); {
			case was == is && (was == 0 || !moved):
			case was != 0 && is != 0 && !moved:
				wcu += cost.Put(a.size(s, was), b.size(s, is))
			default:
				if was != 0 {
					wcu += cost.WriteUnits(a.size(s, was))
				}
				if is != 0 {
					wcu += cost.WriteUnits(b.size(s, is))
				}
			}
		}
		for i := range bitsOf(a.split | b.split) {
			times := 1.0
			if a.split&b.split>>i&1 != 0 { // other keys: new items in place of the old ones
				if times = 2; key(from, 1<<i) == key(to, 1<<i) {
					times = 0
				}
			}
			wcu += times * float64(m.lists[i].writes[s])
		}
	}
	if wcu == 0 { // no item changes
		return 0
	}
	n := float64(m.w.Entities) / float64(m.samples)
	return m.p.Units(wcu*n, rcu*n)
}
