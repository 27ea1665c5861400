package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
)

// checker collects the faults of a workload.
type checker struct {
	Workload
	errs    []error
	samples int
	seen    map[string]bool
	lists   map[string]bool
	indexes map[string]bool
}

func (c *checker) bad(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// Check returns all faults of a workload. Operations can query the indexes of layouts, too.
func (w Workload) Check(layouts ...Layout) error {
	c := &checker{
		Workload: w, samples: 1, seen: map[string]bool{}, lists: map[string]bool{}, indexes: map[string]bool{},
	}
	if len(w.Attributes) == 0 {
		c.bad("the workload has no attributes: list them with their sizes")
	}
	if len(w.Operations) == 0 {
		c.bad("the workload has no operations: list reads and writes, with their number per month")
	}
	if w.Entities < 0 || w.Overhead < 0 || w.ElementOverhead < 0 {
		c.bad("%d entities, %d bytes of overhead: write 0 or more", w.Entities, w.Overhead)
	}
	if n := len(w.Attributes); n > maxAttributes {
		c.bad("%d attributes: join those that are always used together, to %d or fewer", n, maxAttributes)
	}
	for _, n := range []int{w.Overhead, w.ElementOverhead} {
		if n > maxBytes {
			c.bad("an overhead of %d bytes: write %d or less", n, maxBytes)
		}
	}
	for _, a := range w.Attributes {
		c.attribute(a)
	}
	for _, x := range w.Indexes {
		c.index(x)
	}
	for _, l := range layouts {
		for _, x := range l.Indexes {
			c.indexes[x.Name] = true
		}
	}
	for _, name := range slices.Concat(w.Unique...) {
		if !c.seen[name] {
			c.bad("a unique value names %q, which the workload lacks: add it there", name)
		}
	}
	for _, op := range w.Operations {
		c.operation(op)
	}
	return errors.Join(c.errs...)
}

// sizes checks a list of sizes or counts: one, or one for each sample.
func (c *checker) sizes(name, what string, sizes []int) {
	switch {
	case len(sizes) > 1 && c.samples > 1 && len(sizes) != c.samples:
		c.bad("the attribute %q has %d %s, but another has %d: write one for each, or one for each sample", name,
			len(sizes), what, c.samples)
	case len(sizes) > 0 && slices.Min(sizes) < 0:
		c.bad("the attribute %q has the size %d: write 0 or more", name, slices.Min(sizes))
	case len(sizes) > 0 && slices.Max(sizes) > maxBytes:
		c.bad("the attribute %q has the size %d: write %d or less", name, slices.Max(sizes), maxBytes)
	}
	c.samples = max(c.samples, len(sizes))
}

// maxBytes is the largest size, in bytes, and maxTimes the largest number of operations in a month.
const (
	maxBytes = min(1<<40, math.MaxInt-1)
	maxTimes = 1e15
)

func (c *checker) attribute(a Attribute) {
	switch {
	case a.Name == "":
		c.bad("an attribute without a name: add its name")
	case c.seen[a.Name]:
		c.bad("the workload has the attribute %q twice: keep one", a.Name)
	case len(a.Sizes) == 0 && a.Elements == nil:
		c.bad("the attribute %q has no sizes: write at least one, in bytes", a.Name)
	}
	c.seen[a.Name] = true
	c.sizes(a.Name, "sizes", a.Sizes)
	c.sizes(a.Name, "compressed sizes", a.Compressed)
	if a.Elements == nil {
		return
	}
	c.lists[a.Name] = true
	e := a.Elements
	if len(e.Counts) == 0 {
		c.bad("the elements of %q have no counts: write their number", a.Name)
	}
	c.sizes(a.Name, "counts", e.Counts)
	if len(e.Attributes) == 0 && len(e.Sizes) == 0 {
		c.bad("the elements of %q have no attributes and no sizes: write their sizes, in bytes", a.Name)
	}
	if len(e.Attributes) > 0 && len(e.Sizes) > 0 {
		c.bad("the elements of %q have attributes and sizes: write the sizes of the attributes only", a.Name)
	}
	for _, all := range [][]int{e.Sizes, e.Keys} {
		if len(all) > 0 && (slices.Min(all) < 0 || slices.Max(all) > maxBytes) {
			c.bad("the elements of %q have sizes of %d to %d bytes: write 0 to %d", a.Name, slices.Min(all),
				slices.Max(all),
				maxBytes)
		}
	}
	for _, x := range e.Attributes {
		switch {
		case len(x.Sizes) > 0 && slices.Max(x.Sizes) > maxBytes:
			c.bad("the attribute %q of the elements of %q has the size %d: write %d or less", x.Name, a.Name,
				slices.Max(x.Sizes), maxBytes)
		case x.Elements != nil:
			c.bad("the attribute %q of the elements of %q has elements itself: write its sizes only", x.Name, a.Name)
		case len(x.Sizes) == 0 || slices.Min(x.Sizes) < 0:
			c.bad("the attribute %q of the elements of %q has the sizes %v: write 0 or more", x.Name, a.Name, x.Sizes)
		}
	}
}

func (c *checker) index(x Index) {
	if x.Name == "" || c.indexes[x.Name] {
		c.bad("two indexes with the name %q, or one without a name: name each", x.Name)
	}
	c.indexes[x.Name] = true
	if x.List != "" {
		c.bad("the index %q of the workload has the list %q: only the index of a model has one", x.Name, x.List)
	}
	for _, name := range slices.Concat([]string{x.Hash, x.Range, x.In}, x.Keys, x.Attributes) {
		if name != "" && !c.seen[name] || name == "" && x.Hash == "" {
			c.bad("the index %q names the attribute %q, which the workload does not have", x.Name, name)
		}
	}
	if c.lists[x.Hash] || c.lists[x.Range] {
		c.bad("the index %q has a list as its key: name an attribute without elements", x.Name)
	}
}

func (c *checker) operation(op Operation) {
	if op.PerMonth > maxTimes || op.PerMonth < 0 || math.IsNaN(op.PerMonth) || math.IsInf(op.PerMonth, 0) {
		c.bad("the operation %q happens %v times a month: write 0 to %.0e", op.Name, op.PerMonth, maxTimes)
	}
	elements := []map[string]int{op.Add, op.Change, op.Remove, op.Read}
	n := len(op.Writes) + len(op.Reads) + len(op.Query) + len(op.Scan) + len(op.Preview)
	for _, counts := range elements {
		n += len(counts)
	}
	if n == 0 && !op.All && op.Scan == nil {
		c.bad("the operation %q has no reads and no writes: add writes, reads, all, or numbers of elements", op.Name)
	}
	if op.Scan != nil && n > len(op.Scan)+len(op.Reads) || op.Scan != nil && op.All || op.Found < 0 {
		c.bad("the operation %q is a scan and more: a scan has only reads, and found (0 or more)", op.Name)
	}
	for _, name := range slices.Concat(op.Writes, op.Reads, op.Scan) {
		if !c.seen[name] {
			c.bad("the operation %q names the attribute %q, which the workload does not have", op.Name, name)
		}
	}
	for _, counts := range elements {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if !c.lists[name] {
				c.bad("the operation %q has elements of %q, which the workload does not describe: add \"elements\" to "+
					"the attribute", op.Name, name)
			}
			if counts[name] < 1 {
				c.bad("the operation %q has %d elements of %q: write 1 or more", op.Name, counts[name], name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(op.Preview)) {
		if !c.seen[name] || op.Preview[name] < 1 || c.lists[name] {
			c.bad("the operation %q reads %d bytes of %q: name an attribute without elements, and 1 byte or more",
				op.Name,
				op.Preview[name], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(op.Query)) {
		if !c.indexes[name] || op.Query[name] < 0 {
			c.bad("the operation %q reads %d entries of the index %q: name an index of the workload or the model, "+
				"and 0 or more", op.Name, op.Query[name], name)
		}
	}
}

// checkLayout returns the faults of a layout. Each attribute must be in exactly one item, or be stored as
// elements.
func (w Workload) checkLayout(l Layout) error {
	seen := map[string]bool{}
	lists := map[string]bool{}
	for _, a := range w.Attributes {
		lists[a.Name] = a.Elements != nil
	}
	if len(l.Items) == 0 {
		return fmt.Errorf("the layout %q has no items: it needs one for the root", l.Name)
	}
	for _, it := range l.Items {
		if len(it) == 0 {
			return fmt.Errorf("the layout %q has an item without attributes: leave it out", l.Name)
		}
	}
	for _, name := range slices.Concat(append(slices.Clone(l.Items), l.Elements)...) {
		if seen[name] {
			return fmt.Errorf("the layout %q has the attribute %q twice: keep it in one item", l.Name, name)
		}
		seen[name] = true
	}
	for _, name := range l.Elements {
		if !lists[name] {
			return fmt.Errorf("the layout %q has the elements of %q as items, but the workload does not describe "+
				"them: "+
				"add \"elements\" to the attribute", l.Name, name)
		}
	}
	for _, name := range slices.Concat(l.Compress, l.External) {
		if !seen[name] || slices.Contains(l.Elements, name) {
			return fmt.Errorf("the layout %q compresses or moves %q, which is no attribute of an item: leave it out",
				l.Name, name)
		}
	}
	if err := w.checkGroups(l, seen); err != nil {
		return err
	}
	for name, n := range l.Preview {
		if n < 0 || n > cost.MaxItem {
			return fmt.Errorf("the layout %q has a preview of %q of %d bytes: write 0 to %d", l.Name, name, n,
				cost.MaxItem)
		}
	}
	if err := cmp.Or(l.checkIndexes(seen), w.checkSizes(l)); err != nil {
		return err
	}
	var missing []string
	for _, a := range w.Attributes {
		if !seen[a.Name] {
			missing = append(missing, a.Name)
		}
		if slices.Contains(l.Compress, a.Name) && len(a.Compressed) == 0 {
			return fmt.Errorf("the layout %q compresses %q, whose compressed sizes the workload lacks: add "+
				"\"compressed\"", l.Name, a.Name)
		}
		delete(seen, a.Name)
	}
	if len(missing) > 0 {
		return fmt.Errorf("the layout %q lacks %s: add each attribute to an item", l.Name, strings.Join(missing, ", "))
	}
	for name := range seen {
		return fmt.Errorf("the layout %q has the attribute %q, which is missing in the workload: add it there",
			l.Name, name)
	}
	return nil
}

// checkIndexes returns the faults of the indexes of a layout.
func (l Layout) checkIndexes(names map[string]bool) error {
	for _, x := range l.Indexes {
		if x.List != "" && !slices.Contains(l.Elements, x.List) {
			return fmt.Errorf("the layout %q has an index of elements of %q, which are no items: leave it out", l.Name,
				x.List)
		}
		if x.List == "" && x.Hash == "" && x.In == "" {
			return fmt.Errorf("the index %q of the layout %q has no hash: name an attribute", x.Name, l.Name)
		}
		for _, name := range slices.Concat([]string{x.Hash, x.Range, x.In}, x.Keys, x.Attributes) {
			if x.List == "" && name != "" && !names[name] {
				return fmt.Errorf("the index %q of the layout %q names %q, which the workload lacks: add it "+
					"there", x.Name, l.Name, name)
			}
		}
	}
	return nil
}

// checkSizes returns the faults of exact sizes: each item, list and index has one for each sample.
func (w Workload) checkSizes(l Layout) error {
	if l.Sizes == nil {
		return nil
	}
	n := w.Samples()
	wrong := len(l.Sizes.Items) != len(l.Items)
	for _, sizes := range l.Sizes.Items {
		wrong = wrong || len(sizes) != 1 && len(sizes) != n
	}
	for _, name := range l.Elements {
		wrong = wrong || len(l.Sizes.Elements[name]) != n
	}
	for _, x := range w.Indexes {
		wrong = wrong || l.Indexes == nil && len(l.Sizes.Entries[x.Name]) == 0
	}
	wrong = wrong || len(l.Sizes.Indexes) != len(l.Indexes)
	for _, sizes := range l.Sizes.Indexes {
		wrong = wrong || len(sizes) != n
	}
	if wrong {
		return fmt.Errorf("the layout %q has sizes of other items or samples than the workload: leave the sizes out",
			l.Name)
	}
	return nil
}

// checkGroups returns the faults of a layout's groups.
func (w Workload) checkGroups(l Layout, names map[string]bool) error {
	block := map[string]int{}
	for i, it := range l.Items {
		for _, name := range it {
			block[name] = i
		}
	}
	for i, name := range l.Elements {
		block[name] = len(l.Items) + i
	}
	var sets []map[int]bool
	for _, g := range l.Groups {
		set := map[int]bool{}
		for _, name := range g {
			if !names[name] {
				return fmt.Errorf("the layout %q has a group with %q, which is in none of its items: leave it out",
					l.Name,
					name)
			}
			set[block[name]] = true
		}
		for _, other := range sets {
			both := 0
			for b := range set {
				if other[b] {
					both++
				}
			}
			if both == len(set) && both == len(other) {
				return fmt.Errorf("the layout %q has a group twice: keep one", l.Name)
			}
			if both != 0 && both != len(set) && both != len(other) {
				return fmt.Errorf("the layout %q has two groups that share items, and neither includes the other: a "+
					"sort key has one prefix", l.Name)
			}
		}
		sets = append(sets, set)
	}
	return nil
}
