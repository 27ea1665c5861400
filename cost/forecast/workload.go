package forecast

import (
	"fmt"
	"slices"
	"strings"
)

// Workload is a document and the operations of a month.
type Workload struct {
	Name string `json:"name,omitempty"`
	// Entities is the number of documents; 0 means 1.
	Entities int `json:"entities,omitempty"`
	// Overhead is the size of an item in addition to its attributes, in bytes: keys and version, with
	// their names. 0 means 60.
	Overhead int `json:"overhead,omitempty"`
	// ElementOverhead is the same for an item of an element. 0 means Overhead.
	ElementOverhead int         `json:"elementOverhead,omitempty"`
	Attributes      []Attribute `json:"attributes"`
	Indexes         []Index     `json:"indexes,omitempty"`
	// Unique are the attributes whose values are unique, alone or several together. Each value has a guard.
	Unique     [][]string  `json:"unique,omitempty"`
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

// perElement returns the overhead of elements, or the default.
func (w Workload) perElement() int {
	if w.ElementOverhead == 0 {
		return w.perItem()
	}
	return w.ElementOverhead
}

// maxAttributes is the largest number of attributes: a set of them is the bits of a word.
const maxAttributes = 62

// Attribute is an attribute of the document, or a part of it that is always read and written as a
// whole.
type Attribute struct {
	Name string `json:"name"`
	// Sizes are its sizes in bytes, name included, in samples of the document: one size, or one for
	// each sample. All attributes with several sizes have the same number of them, in the same order.
	// Sizes are rounded up for each item, so a mean would be wrong. A list or map with Elements needs none.
	Sizes []int `json:"sizes,omitempty"`
	// Compressed are the sizes after compression, for layouts that compress it.
	Compressed []int `json:"compressed,omitempty"`
	// Elements describe the elements of a list or map, which a layout can store as items.
	Elements *Elements `json:"elements,omitempty"`
}

// Elements are the elements of a list or map, in the order of their keys: the newest last.
type Elements struct {
	// Counts are the numbers of elements, one for each sample, or one for all.
	Counts []int `json:"counts"`
	// Keys are the sizes of the keys of a map, in bytes. A list has none.
	Keys []int `json:"keys,omitempty"`
	// Attributes are those of the elements. Their sizes are used one after the other, for the elements of
	// all samples in turn, and from the start again. Without attributes, elements are single values of Sizes bytes.
	Attributes []Attribute `json:"attributes,omitempty"`
	Sizes      []int       `json:"sizes,omitempty"`
}

// Index is a secondary index.
type Index struct {
	Name string `json:"name"`
	// Hash and Range are the attributes that are its keys. The item that has Hash is in the index.
	Hash  string `json:"hash"`
	Range string `json:"range,omitempty"`
	// Keys are further attributes that its keys are made of. In is an attribute of the item that is in the index, if
	// that is not the item of Hash.
	Keys []string `json:"keys,omitempty"`
	In   string   `json:"in,omitempty"`
	// List is a list whose elements are in the index, in place of an item. Only the index of a layout has one.
	List string `json:"list,omitempty"`
	// NotQueried reports that the items are in the index because they have its key attributes, and that queries of it
	// read other items.
	NotQueried bool `json:"notQueried,omitempty"`
	// All means that it projects all attributes of the item, otherwise the keys and Attributes.
	All        bool     `json:"all,omitempty"`
	Attributes []string `json:"attributes,omitempty"`
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
	// Add, Change, Remove and Read are numbers of elements, by attribute. Added, changed and read
	// elements are the last ones, removed ones the first. An addition is priced at the sizes after it.
	Add    map[string]int `json:"add,omitempty"`
	Change map[string]int `json:"change,omitempty"`
	Remove map[string]int `json:"remove,omitempty"`
	Read   map[string]int `json:"read,omitempty"`
	// Preview has attributes of which it reads only the first bytes, and their number.
	Preview map[string]int `json:"preview,omitempty"`
	// Query has the number of entries that one query of an index reads, by index.
	Query map[string]int `json:"query,omitempty"`
	// Scan is an operation that reads all documents to find some: the attributes that its filter compares with a
	// value, if any. PerMonth is then the number of scans of the table. Found is the number of documents that one
	// finds, 0 means 1.
	Scan  []string `json:"scan,omitzero"`
	Found int      `json:"found,omitempty"`
	// Strong reads cost double. An Atomic write of several items is a transaction, at the double price.
	Strong bool `json:"strong,omitempty"`
	Atomic bool `json:"atomic,omitempty"`
}

// Layout lists the attributes of each item. The first item is the root item.
type Layout struct {
	Name  string     `json:"name"`
	Items [][]string `json:"items"`
	// Elements are lists and maps whose elements are items of their own.
	Elements []string `json:"elements,omitempty"`
	// Groups are items and lists whose sort keys share a prefix, so that one Query reads a group. Each has an attribute
	// of each item, and lists. Two groups have nothing in common, or one includes the other.
	Groups [][]string `json:"groups,omitempty"`
	// Compress are attributes that are stored compressed, and External those that are objects in S3.
	Compress []string `json:"compress,omitempty"`
	External []string `json:"external,omitempty"`
	// Preview has the number of first bytes of external attributes that also stay in their items.
	Preview map[string]int `json:"preview,omitempty"`
	// Indexes are those of a model, which replace those of the workload; nil for those of the workload.
	Indexes []Index `json:"indexes,omitempty"`
	// Unique are the unique values of a model, which other layouts get by WithIndexes.
	Unique [][]string `json:"unique,omitempty"`
	// Sizes are exact sizes of the items, where they are known. The default is computed from the workload.
	Sizes *Sizes `json:"sizes,omitempty"`
	// Fields are those of a model, by attribute; nil without a model.
	Fields map[string]Field `json:"-"`
}

// Field is the field of a model for an attribute.
type Field struct {
	Name string
	// SortKey is the template of the sort key of its item.
	SortKey string
	// Pinned fields cannot leave the root item: they are in the keys of the model or of an index, or the time to live.
	Pinned bool
}

// Sizes are exact sizes of the items of a layout in bytes, in the samples of a workload.
type Sizes struct {
	// Items are the sizes by item and sample; 0 for no item.
	Items [][]int `json:"items"`
	// Elements are the sizes by attribute, sample and element.
	Elements map[string][][]int `json:"elements,omitempty"`
	// Entries are the sizes of the entries in indexes, by index and sample; 0 for none.
	Entries map[string][]int `json:"entries,omitempty"`
	// Indexes are the sizes of the entries in the indexes of the layout, by index, sample and entry: one entry of an
	// item, and one of each element; 0 for none.
	Indexes [][][]int `json:"indexes,omitempty"`
}

// WithIndexes returns the workload with the indexes and unique values of a model that it lacks, so that its other
// layouts have them too. Indexes of elements are left out: other layouts can have no such items.
func (w Workload) WithIndexes(l Layout) Workload {
	has := map[string]bool{}
	for _, x := range w.Indexes {
		has[x.Name] = true
	}
	if w.Unique == nil {
		w.Unique = l.Unique
	}
	w.Indexes = slices.Clone(w.Indexes)
	for _, x := range l.Indexes {
		if x.List == "" && x.Hash != "" && !x.NotQueried && !has[x.Name] {
			w.Indexes, has[x.Name] = append(w.Indexes, x), true
		}
	}
	return w
}

// Samples returns the number of samples of the document.
func (w Workload) Samples() int {
	n := 1
	for _, a := range w.Attributes {
		n = max(n, len(a.Sizes), len(a.Compressed))
		if a.Elements != nil {
			n = max(n, len(a.Elements.Counts))
		}
	}
	return n
}

// Thinned returns the workload with n of its samples, evenly spread by their order, or with all if it has fewer.
func (w Workload) Thinned(n int) Workload {
	pick := func(all []int) []int {
		if len(all) <= n {
			return all
		}
		var out []int
		for i := range n {
			out = append(out, all[i*len(all)/n])
		}
		return out
	}
	w.Attributes = slices.Clone(w.Attributes)
	for i, a := range w.Attributes {
		a.Sizes, a.Compressed = pick(a.Sizes), pick(a.Compressed)
		if a.Elements != nil {
			e := *a.Elements
			e.Counts = pick(e.Counts)
			a.Elements = &e
		}
		w.Attributes[i] = a
	}
	return w
}

// Monolith returns the layout with one item.
func (w Workload) Monolith() Layout {
	all := make([]string, len(w.Attributes))
	for i, a := range w.Attributes {
		all[i] = a.Name
	}
	return Layout{Name: "monolith", Items: [][]string{all}}
}

// Single returns the layout with one item for each attribute, and for each element.
func (w Workload) Single() Layout {
	l := Layout{Name: "one item per attribute"}
	for _, a := range w.Attributes {
		if a.Elements != nil && len(w.Attributes) > 1 {
			l.Elements = append(l.Elements, a.Name)
			l.Name = "one item per attribute and element"
			continue
		}
		l.Items = append(l.Items, []string{a.Name})
	}
	if l.Items == nil && l.Elements != nil { // the root item
		l.Items, l.Elements = [][]string{{l.Elements[0]}}, l.Elements[1:]
	}
	return l
}

// Tags returns the tags for the fields of a model with this layout, one line for each attribute. If the layout has
// fields, the lines have their names and the sort keys alone, because a field has other options too.
func (l Layout) Tags() string {
	var b strings.Builder
	tags := l.tags()
	for _, name := range append(slices.Concat(l.Items...), l.Elements...) {
		if line := tags[name]; line != "" { // of a field in the partition key
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// tags returns the line of each attribute. The sort keys of a group begin with a segment of its own, which needs a
// better name.
func (l Layout) tags() map[string]string {
	if l.Fields != nil {
		out := map[string]string{}
		for name, f := range l.Fields {
			if f.SortKey != "" {
				out[name] = f.Name + "\tsk=" + f.SortKey
			}
		}
		return out
	}
	options := func(name string) string {
		o := ""
		if slices.Contains(l.Compress, name) {
			o += ",compress=gzip"
		}
		if slices.Contains(l.External, name) {
			if o += ",s3=BUCKET"; l.Preview[name] > 0 {
				o += fmt.Sprint(",preview=", l.Preview[name])
			}
		}
		return o
	}
	out := map[string]string{}
	taken := map[string]bool{}
	groups := slices.Clone(l.Groups)
	slices.SortStableFunc(groups, func(a, b []string) int { return len(b) - len(a) }) // outer groups first
	prefix := func(names []string) string {
		var p strings.Builder
		for i, g := range groups {
			if slices.ContainsFunc(g, func(n string) bool { return slices.Contains(names, n) }) {
				fmt.Fprintf(&p, "GROUP%d#", i+1)
			}
		}
		return p.String()
	}
	for _, it := range l.Items {
		key := prefix(it) + unused(segment(it[0]), taken)
		for _, name := range it {
			out[name] = tagLine(name, "sk="+key+options(name))
		}
	}
	for _, name := range l.Elements {
		out[name] = tagLine(name, "sk="+prefix([]string{name})+unused(segment(name), taken)+"#{KEY}") + keyComment
	}
	return out
}

const keyComment = " // KEY: the fields that identify an element"

// unused returns a segment that is not taken, and takes it.
func unused(segment string, taken map[string]bool) string {
	s := segment
	for n := 2; taken[s]; n++ {
		s = fmt.Sprint(segment, n)
	}
	taken[s] = true
	return s
}

// tagLine is the line of an attribute.
func tagLine(name, tag string) string { return name + "\t`ddb:\"" + tag + "\"`" }

// segment turns the name of an attribute into a key segment.
func segment(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune("#{},'\"` ~%\\", r) {
			return '-'
		}
		return r
	}, name)
}
