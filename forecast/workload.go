package forecast

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
)

// Workload is a document and the operations of a month.
type Workload struct {
	Name string `json:"name,omitempty"`
	// Entities is the number of documents; 0 means 1.
	Entities int `json:"entities,omitempty"`
	// Overhead is the size of an item in addition to its attributes, in bytes: keys and version, with
	// their names. 0 means 60.
	Overhead   int         `json:"overhead,omitempty"`
	Attributes []Attribute `json:"attributes"`
	Operations []Operation `json:"operations"`
}

// defaultOverhead is the overhead of an item with keys PK and SK of 20 bytes each, and a version.
const defaultOverhead = 60

// perItem returns the overhead, or the default.
func (w Workload) perItem() int {
	if w.Overhead == 0 {
		return defaultOverhead
	}
	return w.Overhead
}

// maxAttributes is the largest number of attributes: a set of them is the bits of a word.
const maxAttributes = 62

// Attribute is an attribute of the document, or a part of it that is always read and written as a
// whole.
type Attribute struct {
	Name string `json:"name"`
	// Sizes are its sizes in bytes, name included, in samples of the document: one size, or one for
	// each sample. All attributes with several sizes have the same number of them, in the same order.
	// Sizes are rounded up for each item, so a mean would be wrong.
	Sizes []int `json:"sizes"`
}

// Operation is an operation on one document.
type Operation struct {
	Name string `json:"name"`
	// PerMonth is how often the operation is done to one document in a month. A forecast multiplies it
	// by Workload.Entities.
	PerMonth float64 `json:"perMonth"`
	// Writes are the attributes that it changes, Reads those that it reads. All means that it reads the
	// whole document.
	Writes []string `json:"writes,omitempty"`
	Reads  []string `json:"reads,omitempty"`
	All    bool     `json:"all,omitempty"`
	// Strong reads cost double. An Atomic write of several items is a transaction, at the double price.
	Strong bool `json:"strong,omitempty"`
	Atomic bool `json:"atomic,omitempty"`
}

// Layout lists the attributes of each item.
type Layout struct {
	Name  string     `json:"name"`
	Items [][]string `json:"items"`
}

// Monolith returns the layout with one item.
func (w Workload) Monolith() Layout {
	all := make([]string, len(w.Attributes))
	for i, a := range w.Attributes {
		all[i] = a.Name
	}
	return Layout{"monolith", [][]string{all}}
}

// Single returns the layout with one item for each attribute.
func (w Workload) Single() Layout {
	l := Layout{Name: "one item per attribute"}
	for _, a := range w.Attributes {
		l.Items = append(l.Items, []string{a.Name})
	}
	return l
}

// check returns all faults of a workload.
func (w Workload) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(w.Attributes) == 0 {
		bad("the workload has no attributes: list them with their sizes")
	}
	if len(w.Operations) == 0 {
		bad("the workload has no operations: list reads and writes, with their number per month")
	}
	if w.Entities < 0 || w.Overhead < 0 {
		bad("%d entities, %d bytes of overhead: write 0 or more", w.Entities, w.Overhead)
	}
	if n := len(w.Attributes); n > maxAttributes {
		bad("%d attributes: join those that are always used together, to %d or fewer", n, maxAttributes)
	}
	seen := map[string]bool{}
	samples := 1
	for _, a := range w.Attributes {
		switch {
		case a.Name == "":
			bad("an attribute without a name: add its name")
		case seen[a.Name]:
			bad("the workload has the attribute %q twice: keep one", a.Name)
		case len(a.Sizes) == 0:
			bad("the attribute %q has no sizes: write at least one, in bytes", a.Name)
		case len(a.Sizes) > 1 && samples > 1 && len(a.Sizes) != samples:
			bad("the attribute %q has %d sizes, but another has %d: write one for each, or one for each sample", a.Name,
				len(a.Sizes), samples)
		case slices.Min(a.Sizes) < 0:
			bad("the attribute %q has the size %d: write 0 or more", a.Name, slices.Min(a.Sizes))
		case slices.Max(a.Sizes)+w.perItem() > cost.MaxItem:
			bad("the attribute %q has %s, over the limit of an item with %s of keys (400 KB): list its "+
				"parts as attributes, compress it, or store it elsewhere", a.Name, attr.Bytes(slices.Max(a.Sizes)),
				attr.Bytes(w.perItem()))
		}
		seen[a.Name] = true
		samples = max(samples, len(a.Sizes))
	}
	for _, op := range w.Operations {
		if op.PerMonth < 0 || math.IsNaN(op.PerMonth) || math.IsInf(op.PerMonth, 0) {
			bad("the operation %q happens %v times a month: write 0 or more", op.Name, op.PerMonth)
		}
		if len(op.Writes) == 0 && len(op.Reads) == 0 && !op.All {
			bad("the operation %q has no reads and no writes: add writes, reads or all", op.Name)
		}
		for _, name := range slices.Concat(op.Writes, op.Reads) {
			if !seen[name] {
				bad("the operation %q names the attribute %q, which the workload does not have", op.Name, name)
			}
		}
	}
	return errors.Join(errs...)
}

// checkLayout returns the faults of a layout. Each attribute must be in exactly one item.
func (w Workload) checkLayout(l Layout) error {
	seen := map[string]bool{}
	for _, it := range l.Items {
		if len(it) == 0 {
			return fmt.Errorf("the layout %q has an item without attributes: leave it out", l.Name)
		}
		for _, name := range it {
			if seen[name] {
				return fmt.Errorf("the layout %q has the attribute %q twice: keep it in one item", l.Name, name)
			}
			seen[name] = true
		}
	}
	var missing []string
	for _, a := range w.Attributes {
		if !seen[a.Name] {
			missing = append(missing, a.Name)
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

// Tags returns the tags for the fields of a model with this layout, one line for each attribute.
func (l Layout) Tags() string {
	var b strings.Builder
	for _, it := range l.Items {
		for _, name := range it {
			fmt.Fprintf(&b, "%s\t`ddb:\"sk=%s\"`\n", name, segment(it[0]))
		}
	}
	return b.String()
}

// segment turns the name of an attribute into a key segment.
func segment(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("#{},'\"` ~%", r) {
			return '-'
		}
		return r
	}, name)
}
