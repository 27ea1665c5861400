package model

import (
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// SelectIndex returns a selection of a secondary index. args are the values of the placeholders of its
// partition key, and of the first placeholders of its sort key. name is the name of the index, followed
// by "/" and the name of an item if the index holds several.
func (m *Model) SelectIndex(name string, args []any) selection.Selection {
	e, err := m.entry(name)
	if err != nil {
		return selection.Selection{Err: err}
	}
	t := selection.Target{Kind: selection.TargetIndex, Index: e.Index.Number, Item: e.Item.Index}
	keys, least := e.Keys(), 0
	for _, k := range e.Hash {
		least += len(k.Sources)
	}
	var names []string
	count := 0
	for i, k := range keys {
		for n, src := range k.Sources {
			names = append(names, src.Text)
			if count == len(args) {
				continue
			}
			v, err := codec.PlaceholderValue(m.Schema, k.Key, n, args[count])
			if err != nil {
				return selection.Selection{Err: ofArgument(err)}
			}
			t.Values = append(t.Values, v)
			count++
			if i >= len(e.Hash) {
				t.Parts = partsOf(e.Range, count-least)
			}
		}
	}
	if len(args) < least || len(args) > len(names) {
		return selection.Selection{Err: m.Errorf("Index got %d values, but the index %s takes %d to %d: %s", len(args),
			e.Index.Name, least, len(names), strings.Join(names, ", "))}
	}
	if count == least {
		t.Parts = partsOf(e.Range, 0)
	}
	return selection.Selection{Targets: []selection.Target{t}}
}

// partsOf counts the parts of templates up to the placeholder behind n of them.
func partsOf(keys []*schema.IndexKey, n int) int {
	parts := 0
	for _, k := range keys {
		for _, p := range k.Template.Parts {
			if p.Format.Kind != key.Literal {
				if n == 0 {
					return parts
				}
				n--
			}
			parts++
		}
	}
	return parts
}

// entry returns the entry of an index for the items of a name.
func (m *Model) entry(name string) (*schema.Entry, error) {
	index, on, named := strings.Cut(name, "/")
	var names, items []string
	for _, x := range m.Schema.Indexes {
		names = append(names, x.Name)
		if x.Name != index {
			continue
		}
		for _, e := range x.Entries {
			items = append(items, index+"/"+e.Item.Name)
			if e.Item.Name == on || !named && len(x.Entries) == 1 {
				return e, nil
			}
		}
	}
	switch {
	case len(items) > 0:
		return nil, m.Errorf("the index %q contains several kinds of items, but not %q: write one of %s", index,
			name, strings.Join(items, ", "))
	case len(names) == 0:
		return nil, m.Errorf("the model declares no indexes: add _ struct{} `ddb:\"index=NAME,hash=ATTR,pk=TEMPLATE\"`")
	}
	return nil, m.Errorf("the model declares no index %q%s: its indexes are %s", index, naming.Hint(index, names),
		strings.Join(names, ", "))
}

// Narrow narrows a selection of an index, or of items of an entity, by the next placeholder: from one value
// to another, either of them nil for no bound, or to texts with a prefix.
func (m *Model) Narrow(s selection.Selection, b selection.Bounds) selection.Selection {
	if s.Err != nil || len(s.Targets) != 1 {
		return s
	}
	t := s.Targets[0]
	n := m.next(t)
	var err error
	switch {
	case n.Key == nil:
		err = m.Errorf("the sort key of %s is complete, so that it has no range: leave the range out", n.of)
	case n.Format(n.source).Value == key.Time:
		t.Time, err = m.times(n, b)
	default:
		t.Order, err = m.order(n, b)
	}
	if err != nil {
		return selection.Selection{Err: err}
	}
	s.Targets = []selection.Target{t}
	return s
}

// next is a placeholder that a range narrows. of is the index or the item with its key.
type next struct {
	*schema.Key
	source int
	of     string
}

func (n next) text() string { return n.Sources[n.source].Text }

// next returns the placeholder behind the parts of a target. Its key is nil at the end.
func (m *Model) next(t selection.Target) next {
	if t.Kind == selection.TargetItem {
		it := m.Schema.Items[t.Item]
		k, source := it.Key.Next(t.Parts)
		return next{k, source, it.Name}
	}
	entries := m.Schema.Indexes[t.Index].Entries
	e := entries[slices.IndexFunc(entries, func(e *schema.Entry) bool { return e.Item.Index == t.Item })]
	parts := t.Parts
	for _, k := range e.Range {
		if found, source := k.Next(parts); found != nil {
			return next{found, source, "the index " + e.Index.Name}
		}
		parts -= len(k.Template.Parts)
	}
	return next{of: "the index " + e.Index.Name}
}

// times is a range of instants.
func (m *Model) times(n next, bounds selection.Bounds) (*selection.Time, error) {
	if bounds.Begin != nil {
		return nil, m.Errorf("the placeholder %s of %s is a time, which has no beginning of text: use Between",
			n.text(), n.of)
	}
	var when selection.Time
	for _, b := range []struct {
		arg *any
		to  *selection.Bound
	}{{bounds.From, &when.From}, {bounds.To, &when.To}} {
		if b.arg == nil {
			continue
		}
		at, ok := (*b.arg).(time.Time)
		if !ok {
			return nil, m.Errorf("the placeholder %s of %s takes a time.Time: the value is of type %T%v", n.text(),
				n.of, *b.arg, redact.Of(*b.arg))
		}
		*b.to = selection.At(at)
	}
	if when.From.Set && when.To.Set { // Between
		when.To.At = when.To.At.Add(-1)
	}
	return &when, nil
}

// order is a range of other values.
func (m *Model) order(n next, bounds selection.Bounds) (*selection.Order, error) {
	name := n.Sources[n.source].Value.Name
	switch {
	case bounds.Begin != nil && n.Begins(n.source):
		return &selection.Order{Begin: *bounds.Begin}, nil
	case bounds.Begin != nil:
		return nil, m.Errorf("the placeholder %s of %s is not text, and has no beginning: use Between",
			n.text(), n.of)
	case !n.Ordered(n.source):
		return nil, m.Errorf("the placeholder %s of %s does not sort by its values: store it in a key attribute "+
			"of its own, such as sk={%s}", n.text(), n.of, name)
	}
	o := &selection.Order{}
	for _, b := range []struct {
		arg *any
		to  **key.Value
	}{{bounds.From, &o.From}, {bounds.To, &o.To}} {
		if b.arg == nil {
			continue
		}
		v, err := codec.PlaceholderValue(m.Schema, n.Key, n.source, *b.arg)
		if err != nil {
			return nil, ofArgument(err)
		}
		*b.to = &v
	}
	return o, nil
}
