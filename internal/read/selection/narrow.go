package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// inside makes the part of a target in a secondary index.
func (s Selection) inside(e *schema.Entity, t Target) Selection {
	out := Selection{Identity: s.Identity}
	if t.Index < 0 || t.Index >= len(e.Indexes) {
		out.Err = fmt.Errorf("%s: the model does not have this index", e.Label())
		return out
	}
	x := e.Indexes[t.Index]
	i := slices.IndexFunc(x.Entries, func(n *schema.Entry) bool { return n.Item.Index == t.Item })
	if i < 0 {
		out.Err = fmt.Errorf("%s: the index %s contains no selected item", e.Label(), x.Name)
		return out
	}
	w := &inside{e: e, entry: x.Entries[i], rest: t.Values}
	part, err := w.part(t)
	if err != nil {
		out.Err = &schema.Unstorable{
			Label: e.Label(), Field: w.entry.Item.Name,
			Err: fmt.Errorf("the index %s: %w", x.Name, err),
		}
		return out
	}
	out.Parts = []Part{{Table: x.Table.Index, In: part, Range: Range{Kind: All}}}
	if e.Periods != nil {
		out.Parts[0].Span = w.span(t)
	}
	if part.Range.Kind == None {
		out.Parts[0].Range.Kind = None
	}
	return out
}

// inside makes the keys of a range in an index of the values that are given, in their order.
type inside struct {
	e     *schema.Entity
	entry *schema.Entry
	rest  []key.Value
}

func (w *inside) part(t Target) (*Inside, error) {
	out := &Inside{Entry: w.entry, Range: Range{Kind: All}}
	for _, k := range w.entry.Hash {
		s, err := w.whole(k, key.MaxPartition)
		if err != nil {
			return nil, err
		}
		out.Hash = append(out.Hash, s)
	}
	parts := t.Parts
	for i, k := range w.entry.Range {
		all := len(k.Template.Parts)
		switch {
		case parts >= all:
			s, err := w.whole(k, key.MaxSort)
			if err != nil {
				return nil, err
			}
			out.Equal = append(out.Equal, s)
			parts -= all
			continue
		case parts == 0 && t.Time == nil && t.Order == nil:
		default:
			var err error
			if out.Range, err = w.narrowed(k, parts, t); err != nil {
				return nil, fmt.Errorf("%s: %w", k.SourceName(err), err)
			}
			if t.Time != nil {
				out.Keep = w.keep(i, parts, t.Time)
			}
		}
		break
	}
	if len(w.rest) > 0 {
		return nil, errors.New("too many values: its keys have fewer placeholders")
	}
	return out, nil
}

// take returns the values of the next n placeholders.
func (w *inside) take(n int) ([]key.Value, error) {
	if len(w.rest) < n {
		return nil, errors.New("too few values: its partition key has more placeholders")
	}
	out := w.rest[:n]
	w.rest = w.rest[n:]
	return out, nil
}

// whole renders a key attribute of which all is given.
func (w *inside) whole(k *schema.IndexKey, most int) (key.Scalar, error) {
	values, err := w.take(len(k.Sources))
	if err != nil {
		return key.Scalar{}, err
	}
	s, err := k.Template.Render(values)
	if err == nil {
		err = s.CheckSize(most)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", k.SourceName(err), err)
	}
	return s, err
}

// narrowed is the range of a key attribute of which so many parts are given.
func (w *inside) narrowed(k *schema.IndexKey, parts int, t Target) (Range, error) {
	n := 0
	for _, p := range k.Template.Parts[:parts] {
		if p.Format.Kind != key.Literal {
			n++
		}
	}
	values, err := w.take(n)
	if err != nil {
		return Range{}, err
	}
	text, err := k.Template.Append(nil, parts, values)
	if err != nil {
		return Range{}, err
	}
	switch {
	case t.Time != nil:
		return timeRange(k.Template, parts, *t.Time, string(text), false)
	case t.Order != nil:
		return (&orderRange{k.Template, parts, string(text), false}).of(*t.Order)
	}
	return Range{Kind: Prefix, Low: key.Scalar{Type: k.Template.Type, Text: string(text)}}, nil
}

// keep returns the filter of the time range, nil if the key alone decides.
func (w *inside) keep(attribute, parts int, when *Time) *KeepRange {
	k := w.entry.Range[attribute]
	n := 0
	for _, p := range k.Template.Parts[:parts] {
		if p.Format.Kind != key.Literal {
			n++
		}
	}
	_, prefix := k.Format(n).PeriodWidth(int(when.Unit))
	switch {
	case prefix || k.Sources[n].Lossless:
		return nil
	case k.Own == schema.Derived:
		return &KeepRange{Derived: w.entry.Item.DerivedKey(k.Name), Source: n, From: when.From, To: when.To}
	case k.Own == schema.Primary && k.Key == w.entry.Item.Key:
		return &KeepRange{Derived: -1, Source: n, From: when.From, To: when.To}
	}
	return nil
}

// Text shows the range.
func (w *Inside) Text() string {
	var all []string
	for _, s := range slices.Concat(w.Hash, w.Equal) {
		all = append(all, s.String())
	}
	return strings.Join(all, " ")
}
