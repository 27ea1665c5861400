package discover

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/naming"
)

// Report is the result of a discovery. It has no values of the data.
type Report struct {
	Table  *Table          `json:"table"`
	Read   int             `json:"itemsRead"`
	RCU    float64         `json:"consumedRcu,omitempty"`
	Types  []*Type         `json:"types"`
	Prices forecast.Prices `json:"prices"`
	Mix    Mix             `json:"mix"`
	// Notes are about the table.
	Notes []string `json:"notes,omitempty"`

	// Features are those of the bill that the table does not show: backups and reads of the stream.
	Features forecast.Billing `json:"features"`

	only string
}

// Type is an entity type.
type Type struct {
	Name string `json:"name"`
	Keys string `json:"keys"`
	// Sampled items were read; Entities is about how many the table has, and Share their share of its bytes.
	Sampled  int     `json:"sampled"`
	Entities int     `json:"entities"`
	Share    float64 `json:"share"`
	Size     Stats   `json:"size"`
	// NearLimit items have over 350 KB, and NearNext less than 5 % of a KB up to the next write unit.
	NearLimit  int               `json:"nearLimit,omitempty"`
	NearNext   int               `json:"nearNextKB,omitempty"`
	Attributes []AttributeReport `json:"attributes"`
	// Hidden is the number of attributes whose names count as data.
	Hidden int `json:"hiddenAttributes,omitempty"`
	// Assumed reports that the numbers of operations are those of Mix, and not of a workload.
	Assumed bool `json:"assumed"`
	// Workload, Forecasts and Migration are nil if there is no model; NoModel says why.
	Workload  *forecast.Workload  `json:"workload,omitempty"`
	Forecasts []forecast.Forecast `json:"forecasts,omitempty"`
	Migration *Migration          `json:"migration,omitempty"`
	NoModel   string              `json:"noModel,omitempty"`
	// Key and Sort are the flags of itemize migrate, and Reshaped reports that the monoliths need functions.
	Key      string   `json:"key,omitempty"`
	Sort     string   `json:"sort,omitempty"`
	Reshaped bool     `json:"reshaped,omitempty"`
	Notes    []string `json:"notes,omitempty"`

	x *entityType
}

// AttributeReport describes an attribute.
type AttributeReport struct {
	Name string `json:"name"`
	// Type is a DynamoDB type, or several. Present is the share of items that have it.
	Type    string  `json:"type"`
	Present float64 `json:"present"`
	Size    Stats   `json:"size"`
	// Share is its share of the bytes of the type.
	Share float64 `json:"share"`
	// Elements are those of a list or map, nil if they could not be items.
	Elements *ElementReport `json:"elements,omitempty"`
	// Fields are the names of the entries of a map, or of those of the elements of a list.
	Fields []string `json:"fields,omitempty"`
	// Compressed is the median size after compression with gzip, 0 if that saves less than 20 %.
	Compressed int `json:"compressed,omitempty"`
	// TodayWCU is the median price of a change of it now, and AloneWCU as an item of its own, or as an element.
	TodayWCU float64 `json:"todayWcu"`
	AloneWCU float64 `json:"aloneWcu"`
}

// ElementReport describes elements that could be items.
type ElementReport struct {
	Count Stats  `json:"count"`
	Size  Stats  `json:"size"`
	Keys  string `json:"keys"`
	// Growing says why the list looks as if it grows.
	Growing string `json:"growing,omitempty"`
}

// Options say how to discover.
type Options struct {
	Prices forecast.Prices
	Mix    Mix
	// Operations are those of a workload, nil for those of the Mix. Type is the name of its type, "" for the largest.
	Operations []forecast.Operation
	Type       string
	// Name is the name of the type whose keys have no name, "" for that of the table.
	Name string
	// Singular makes the singular of a plural, nil for the word as it is.
	Singular func(string) string
}

func (o *Options) singular() func(string) string {
	if o.Singular == nil {
		return func(s string) string { return s }
	}
	return o.Singular
}

const nearLimit = 350 << 10

// Discover finds the entity types of a sample, and a model for each.
func Discover(s *Sample, o Options) (*Report, error) {
	if len(s.Items) == 0 {
		return nil, errors.New("no items: name files or a table with items")
	}
	r := &Report{
		Table: s.Table, Read: s.Read, RCU: s.RCU, Prices: o.Prices, Mix: o.Mix, only: o.Type,
	}
	items, own := withoutOwn(s.Items)
	if own > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("items of this library, which are left out: %s",
			attr.Thousands(fmt.Sprint(own))))
	}
	if len(items) == 0 {
		return r, nil
	}
	slices.SortStableFunc(items, func(a, b item.Attributes) int { // so that a report is repeatable
		return cmp.Or(strings.Compare(keyText(a[s.Table.Hash]), keyText(b[s.Table.Hash])),
			strings.Compare(keyText(a[s.Table.Range]), keyText(b[s.Table.Range])))
	})
	all := censusOf(items, s.Table.Items)
	groups := groupsOf(s.Table, items, all)
	total := 0
	for _, g := range groups {
		total += sum(g.sizes)
	}
	single := len(groups) == 1
	taken, types := scope{}, scope{}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.typeName(cmp.Or(o.Name, o.singular()(cmp.Or(s.Table.Name, "Item"))), taken)
		types[names[i]] = true
		for _, suffix := range generated {
			types[names[i]+suffix] = true
		}
		for _, prefix := range prefixes {
			types[prefix+names[i]] = true
		}
	}
	of, err := typeOf(groups, names, o, all)
	if err != nil {
		return nil, err
	}
	for i, g := range groups {
		name := names[i]
		x, err := prepare(s.Table, g, name, single, entityType{types: types, names: all, singular: o.singular()})
		t := &Type{
			Name: name, Keys: strings.TrimSpace(g.pk.String() + " " + g.sk.String()), Sampled: len(g.items), x: x,
			Entities: len(g.items) * max(1, s.Table.Items) / max(1, s.Read), Size: statsOf(g.sizes),
			Share: float64(sum(g.sizes)) / float64(total),
		}
		if s.Table.Items <= s.Read {
			t.Entities = len(g.items)
		}
		for _, n := range g.sizes {
			if n > nearLimit {
				t.NearLimit++
			}
			if n > 1024 && n%1024 > 1024-51 {
				t.NearNext++
			}
		}
		x.tableName = tableName(s.Table, name, single)
		if err == nil {
			var ops []forecast.Operation
			if g == of {
				ops = o.Operations
			}
			x.measureWorkload(t.Entities, ops)
			x.explain()
			if t.Assumed = ops == nil; t.Assumed {
				x.assume(o.Mix)
			} else {
				x.use(ops)
			}
			if err = t.model(o, workOf(i, len(groups))); err == nil {
				err = x.separate(groups, names)
			}
		}
		if err != nil {
			t.NoModel = err.Error()
		}
		t.describe()
		r.Types = append(r.Types, t)
	}
	saving := 0
	for _, t := range r.Types {
		if t.Saves() {
			saving++
		}
	}
	if r.only == "" && saving > maxWritten {
		r.Notes = append(
			r.Notes,
			fmt.Sprintf("%d models save money: -write writes the first %d of them, and -type NAME "+
				"another one", saving, maxWritten),
		)
	}
	return r, nil
}

// typeOf returns the type that operations are for: the named one, or the first one that has all their attributes. It is
// nil if there are no operations.
func typeOf(groups []*group, names []string, o Options, all *census) (*group, error) {
	if o.Operations == nil && o.Type == "" {
		return nil, nil
	}
	var first error
	for i, g := range groups {
		if o.Type != "" && o.Type != names[i] {
			continue
		}
		err := g.lacks(names[i], o.Operations, all)
		if err == nil {
			return g, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		return nil, fmt.Errorf("no type %s: the types are %s: name one with -type", o.Type, strings.Join(names, ", "))
	}
	return nil, first
}

// lacks returns the error of operations on attributes that no item of a type has.
func (g *group) lacks(name string, ops []forecast.Operation, names *census) error {
	have := map[string]bool{}
	for _, it := range g.items {
		for attribute := range it {
			have[attribute] = true
		}
		if len(it) < 4 { // the document may be in one of the attributes
			for _, v := range it {
				if m, ok := v.(*types.AttributeValueMemberM); ok {
					for attribute := range m.Value {
						have[attribute] = true
					}
				}
				if s, ok := v.(*types.AttributeValueMemberS); ok && strings.HasPrefix(s.Value, "{") {
					entries, _ := charge.ItemFromPlainJSON([]byte(s.Value)) // or it is no document
					for attribute := range entries {
						have[attribute] = true
					}
				}
			}
		}
	}
	var errs []error
	for _, attribute := range slices.Sorted(maps.Keys(usedBy(ops))) {
		if have[attribute] {
			continue
		}
		cure := "correct the name"
		maps.DeleteFunc(have, func(name string, _ bool) bool { return names.hides(name) })
		if n := naming.Nearest(attribute, slices.Collect(maps.Keys(have))); n != "" {
			cure = "did you mean " + n + "?"
		}
		for _, op := range ops {
			if usedBy([]forecast.Operation{op})[attribute] {
				errs = append(errs, fmt.Errorf("the operation %q names the attribute %q, which no sampled item of "+
					"%s has: %s",
					op.Name, attribute, name, cure))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// withoutOwn leaves out items of this library, which no model is made for.
func withoutOwn(items []item.Attributes) (out []item.Attributes, own int) {
	for _, it := range items {
		if item.IsToken(it["_v"]) && item.IsToken(it["_a"]) || strings.HasPrefix(keyText(it["PK"]), "~") {
			own++
			continue
		}
		out = append(out, it)
	}
	return out, own
}

// tableName is the name of the table of a model.
func tableName(t *Table, name string, single bool) string {
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, cmp.Or(t.Name, "table"))
	if single {
		return base + "-items"
	}
	return base + "-" + strings.ToLower(name)
}

// model proposes the model, and prices it with the sizes that its items have after the migration.
func (t *Type) model(o Options, work int) error {
	x := t.x
	unmovable, reasons, err := x.movable(o, t.Entities, work)
	if err != nil {
		return err
	}
	x.onlyDeclared()
	placed, err := x.placed()
	if err != nil {
		return err
	}
	layouts := []forecast.Layout{x.today(), placed, x.workload.Single()}
	if compress := x.compressible(); compress != nil {
		l := x.arranged
		l.Name, l.Compress, l.Sizes = x.name+", compressed", compress, nil
		layouts = append(layouts, l)
	}
	if t.Forecasts, err = x.workload.Forecast(o.Prices, layouts...); err != nil {
		return err
	}
	x.notes = once(x.notes)
	t.Workload, t.Key, t.Sort, t.Reshaped, t.Notes = &x.workload, x.Key, x.Sort, len(x.reshape) > 0, x.notes
	t.Migration = x.migration(t.Entities, o.Prices)
	t.Migration.Unmovable, t.Migration.Reasons = unmovable, reasons
	if t.Forecasts[0].NotStorable == "" {
		if saved := t.Forecasts[0].Total - t.Forecasts[1].Total; saved > 0 {
			days := t.Migration.Dollars / saved * 30
			t.Migration.Days = &days
		}
	}
	return nil
}

// movable proposes a model, and removes the entities that cannot be moved to it. If these had all elements of a list,
// it proposes a model without the list.
func (x *entityType) movable(o Options, entities, work int) (unmovable int, reasons []string, err error) {
	for {
		x.notes, x.prices, x.unnamed = slices.Clone(x.about), nil, 0
		if err := x.propose(o.Prices, work); err != nil {
			return 0, nil, err
		}
		n, why, err := x.dropUnmovable()
		if err != nil {
			return 0, nil, err
		}
		unmovable += n
		for _, r := range why {
			if !slices.Contains(reasons, r) {
				reasons = append(reasons, r)
			}
		}
		ops := x.workload.Operations
		x.workload.Operations = nil
		x.measureWorkload(entities, ops)
		x.use(ops)
		lost := slices.DeleteFunc(slices.Clone(x.arranged.Elements), func(name string) bool {
			return slices.ContainsFunc(x.workload.Attributes, func(a forecast.Attribute) bool {
				return a.Name == name && a.Elements != nil
			})
		})
		if len(lost) == 0 {
			return unmovable, reasons, nil
		}
		for _, name := range lost {
			delete(x.lists, name)
		}
	}
}

// once returns notes without repeated ones, which are counted.
func once(notes []string) []string {
	count := map[string]int{}
	var out []string
	for _, n := range notes {
		if count[n]++; count[n] == 1 {
			out = append(out, n)
		}
	}
	for i, n := range out {
		if count[n] > 1 {
			out[i] = fmt.Sprintf("%s (%d times)", n, count[n])
		}
	}
	return out
}

// compressible are the attributes of items for which compression saves a fifth.
func (x *entityType) compressible() []string {
	var out []string
	for _, a := range x.workload.Attributes {
		if a.Compressed != nil && !slices.Contains(x.arranged.Elements, a.Name) {
			out = append(out, a.Name)
		}
	}
	return out
}

// explain says for each attribute why it is stored as it is.
func (x *entityType) explain() {
	p50 := statsOf(x.sizes).P50
	for name, p := range x.attributes {
		s := statsOf(p.sizes)
		if e := x.lists[name]; e != nil {
			x.why[name] = fmt.Sprintf("%s to %s elements", attr.Thousands(fmt.Sprint(slices.Min(p.counts))),
				attr.Thousands(fmt.Sprint(e.counts.Max)))
			if e.growing != "" {
				x.why[name] += ", " + e.growing
			}
			x.alone[name] = fmt.Sprintf(": an element costs about %s WCU, not %s", units(elementSize(p)), units(p50))
			if e.list && !e.sorted {
				x.alone[name] += "; loaded in the order of the keys, not of the list"
			}
		} else if s.P99 > smallBytes {
			x.why[name] = fmt.Sprintf("%s, p99 %s", attr.Bytes(s.P50), attr.Bytes(s.P99))
		}
	}
}

func elementSize(p *profile) int { return statsOf(p.all().sizes).P50 + 80 }

func units(bytes int) string { return attr.Thousands(fmt.Sprint(int(cost.WriteUnits(bytes)))) }

// describe describes the attributes, the largest first.
func (t *Type) describe() {
	x := t.x
	names := slices.SortedFunc(maps.Keys(x.attributes), func(a, b string) int {
		return cmp.Or(sum(x.attributes[b].sizes)-sum(x.attributes[a].sizes), strings.Compare(a, b))
	})
	total := float64(max(1, x.bytes))
	today := cost.WriteUnits(statsOf(x.sizes).P50)
	for _, name := range names {
		p := x.attributes[name]
		if !x.shown(name) {
			t.Hidden++
			continue
		}
		s := statsOf(p.sizes)
		a := AttributeReport{
			Name: name, Type: strings.Join(slices.Sorted(maps.Keys(p.types)), " or "), Size: s,
			Present: float64(p.n) / float64(max(1, x.described)), Share: float64(sum(p.sizes)+p.n*len(name)) / total,
			TodayWCU: today, AloneWCU: cost.WriteUnits(s.P50 + len(name) + 80), Fields: p.names(),
		}
		if e := x.lists[name]; e != nil {
			a.AloneWCU = cost.WriteUnits(elementSize(p))
			a.Elements = &ElementReport{e.counts, statsOf(p.all().sizes), e.keyNames(), e.growing}
		}
		for _, w := range x.workload.Attributes {
			if w.Name == name && w.Compressed != nil {
				a.Compressed = statsOf(w.Compressed).P50
			}
		}
		t.Attributes = append(t.Attributes, a)
	}
}

// keyNames describes the keys of elements.
func (e *elements) keyNames() string {
	switch {
	case e.list && e.scalar:
		return "{.}"
	case !e.list:
		return "{key}"
	}
	return "{" + strings.Join(e.keys, "}#{") + "}"
}

// names are the names of entries. {...} replaces those that are data, or that fewer than 5 maps have.
func (p *profile) names() []string {
	q := p
	if p.only("L") && p.all() != nil {
		q = p.all()
	}
	switch {
	case q.types["M"] == 0:
		return nil
	case q.dynamic():
		return []string{"{...}"}
	}
	var out []string
	hidden := false
	for _, name := range slices.Sorted(maps.Keys(q.fields)) {
		if q.fields[name].docs >= naming.LeastShared && !q.hides(name) {
			out = append(out, name)
		} else {
			hidden = true
		}
	}
	if hidden {
		out = append(out, "{...}")
	}
	return out
}

// PaidOn returns the day on which the migration has paid for itself, from a day on.
func (m *Migration) PaidOn(from time.Time) (time.Time, bool) {
	if m.Days == nil || *m.Days > 36500 {
		return time.Time{}, false
	}
	return from.AddDate(0, 0, int(math.Ceil(*m.Days))), true
}

// Billing is the billing of the table, with the other features.
func (r *Report) Billing() forecast.Billing {
	b := r.Features
	b.Provisioned, b.Infrequent = r.Table.Provisioned, r.Table.Infrequent
	b.Replicas, b.Recovery = max(b.Replicas, r.Table.Replicas), b.Recovery || r.Table.Recovery
	return b
}

// About describes the table in some lines.
func (r *Report) About() []string {
	t := r.Table
	count := func(n int) string { return attr.Thousands(fmt.Sprint(n)) }
	line := fmt.Sprintf("%s: about %s items", printed(t.Name), count(t.Items))
	if t.Items < r.Read {
		line = fmt.Sprintf("%s: at least %s items: DynamoDB's count, which it updates every six hours, is %s",
			printed(t.Name), count(r.Read), count(t.Items))
	}
	if t.Bytes > 0 {
		line += ", " + attr.Bytes(t.Bytes)
	}
	line += "; partition key " + t.Hash
	if t.Range != "" {
		line += ", sort key " + t.Range
	}
	line += fmt.Sprintf("; %s items read", count(r.Read))
	if r.RCU > 0 {
		line += fmt.Sprintf(", %v RCU", r.RCU)
	}
	lines := []string{line}
	for _, x := range t.Indexes {
		text := fmt.Sprintf("index %s: keys %s", x.Name, x.Hash)
		if x.Range != "" {
			text += ", " + x.Range
		}
		text += fmt.Sprintf("; it copies %s of %s items (%s)", attr.Bytes(x.Bytes), count(x.Items), x.Projection)
		lines = append(lines, text)
	}
	var has []string
	for _, f := range []struct {
		on   bool
		name string
	}{
		{t.TTL != "", "time to live in " + t.TTL},
		{t.Provisioned, "provisioned capacity"},
		{t.Infrequent, "infrequent access"},
		{t.Stream, "a stream"},
		{t.Recovery, "point-in-time recovery"},
		{t.Replicas > 0, fmt.Sprintf("%d replicas", t.Replicas)},
	} {
		if f.on {
			has = append(has, f.name)
		}
	}
	if has != nil {
		lines = append(lines, "it has "+strings.Join(has, ", "))
	}
	return append(lines, r.Notes...)
}

// About describes the type in some lines.
func (t *Type) About() []string {
	count := func(n int) string { return attr.Thousands(fmt.Sprint(n)) }
	lines := []string{
		fmt.Sprintf("about %s entities, %.0f %% of the bytes; keys %s", count(t.Entities), t.Share*100, t.Keys),
		fmt.Sprintf("an item has %s (p50), %s (p99); a write costs %s WCU (p50), a read %v RCU", attr.Bytes(t.Size.P50),
			attr.Bytes(t.Size.P99), units(t.Size.P50), cost.ReadUnits(t.Size.P50)/2),
	}
	if t.NearLimit > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s items have over 350 KB: the limit is 400 KB", count(t.NearLimit),
			count(t.Sampled)))
	}
	if t.NearNext > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s items cost a write unit more with the next 50 bytes",
			count(t.NearNext),
			count(t.Sampled)))
	}
	return lines
}
