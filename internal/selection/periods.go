package selection

import (
	"math"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// Span is a range of time over the tables of several periods, in seconds since 1970, both ends
// included.
type Span struct {
	// On reports that a part lies in the tables of the span; the zero Span is of one that lies in one
	// table.
	On bool
	// From is math.MinInt64, and To math.MaxInt64, for no end.
	From, To int64
	// Ordered reports that what lies in one table comes before what lies in the next.
	Ordered bool
}

// spread says in which tables the entities lie that share some values: it completes the partition with
// its period where these tell, and returns the span otherwise.
func spread(e *schema.Entity, keyFields []key.Value, at *key.Partition) Span {
	p := e.Periods
	if p == nil {
		return Span{}
	}
	s := Span{On: true, From: math.MinInt64, To: math.MaxInt64, Ordered: leads(e.Root.Key, p.Field, 0, fixed(e))}
	for i, src := range e.PK.Sources {
		if src.From != schema.FromModel || src.KeyField != p.Field || src.KeyField >= len(keyFields) {
			continue
		}
		f := e.PK.Format(i)
		if key.Tells(f.Kind, p.Kind) {
			return Span{}
		}
		s = s.withinUnit(f, keyFields[src.KeyField], e.Delim)
	}
	at.Period = ""
	return s
}

// fixed returns the key fields that the partition key gives in full.
func fixed(e *schema.Entity) map[int]bool {
	all := map[int]bool{}
	for _, src := range e.PK.Sources {
		if src.From == schema.FromModel && src.Lossless {
			all[src.KeyField] = true
		}
	}
	return all
}

// leads reports whether the placeholder of the time comes first in a sort key, behind the parts that are
// given and those that are the same for all.
func leads(k *schema.Key, field, given int, same map[int]bool) bool {
	n := 0
	for i, part := range k.Template.Parts {
		if part.Format.Kind == key.Literal {
			continue
		}
		src := k.Sources[n]
		n++
		switch {
		case src.From == schema.FromModel && src.KeyField == field:
			return true
		case i >= given && !(src.From == schema.FromModel && same[src.KeyField]):
			return false
		}
	}
	return false
}

// within narrows a span to a range of instants, both ends included.
func (s Span) within(from, to time.Time) Span {
	s.From, s.To = max(s.From, from.Unix()), min(s.To, to.Unix())
	return s
}

// narrow narrows a span by the placeholders of a target.
func (s Span) narrow(e *schema.Entity, it *schema.Item, t Target) Span {
	if !s.On || it.Key == nil {
		return s
	}
	s.Ordered = leads(it.Key, e.Periods.Field, t.Parts, fixed(e))
	n := 0
	for i, part := range it.Key.Template.Parts {
		if part.Format.Kind == key.Literal {
			continue
		}
		src := it.Key.Sources[n]
		n++
		if i != t.Parts || t.Time == nil || src.From != schema.FromModel || src.KeyField != e.Periods.Field {
			continue
		}
		s = s.narrowBy(t.Time)
	}
	return s
}

// narrowTo narrows a span to a range of sort keys, as far as these begin with the time.
func (s Span) narrowTo(e *schema.Entity, r Range) Span {
	k := e.Root.Key
	if !s.On || k == nil || len(k.Sources) == 0 || k.Sources[0].KeyField != e.Periods.Field {
		return s
	}
	text := k.Template.LiteralPrefix()
	format := k.Format(0)
	switch low, high := r.Low.Text, r.High.Text; r.Kind {
	case One, Prefix:
		return s.fromText(format, text, low).toText(format, text, low)
	case Between:
		return s.fromText(format, text, low).toText(format, text, high)
	case AtLeast:
		return s.fromText(format, text, low)
	case AtMost:
		return s.toText(format, text, high)
	}
	return s
}

func (s Span) fromText(f key.Format, before, text string) Span {
	if start, _, ok := unitOf(f, before, text); ok {
		s.From = max(s.From, start.Unix())
	}
	return s
}

func (s Span) toText(f key.Format, before, text string) Span {
	if _, next, ok := unitOf(f, before, text); ok {
		s.To = min(s.To, next.Add(-1).Unix())
	}
	return s
}

// unitOf returns the beginning of the day, month or year that the time in a key is of, and of the next
// one: the smallest of which the text has all.
func unitOf(f key.Format, before, text string) (start, next time.Time, ok bool) {
	text, ok = strings.CutPrefix(text, before)
	if _, dated := f.PeriodWidth(int(Year)); !ok || !dated {
		return start, next, false
	}
	for _, unit := range []key.FormatKind{key.Date, key.Month, key.Year} {
		width, _ := key.Format{Kind: unit}.Fixed()
		if full, _ := f.Fixed(); len(text) < width || full < width {
			continue
		}
		start, ok = key.PeriodStart(unit, text[:width])
		return start, key.PeriodAdd(unit, start, 1), ok
	}
	return start, next, false
}

// span is where a range of an index lies in the tables of several periods, by the values of its keys.
func (w *within) span(t Target) Span {
	p := w.e.Periods
	s := Span{On: true, From: math.MinInt64, To: math.MaxInt64}
	values, given := t.Values, len(t.Values)
	for _, k := range w.entry.Keys() {
		for n, src := range k.Sources {
			isTime := src.From == schema.FromModel && src.KeyField == p.Field
			switch {
			case given == 0 && isTime:
				s.Ordered = true
				if t.Time != nil && t.Time.Err == nil {
					s = s.narrowBy(t.Time)
				}
				return s
			case given == 0:
				return s
			case isTime:
				s = s.withinUnit(k.Format(n), values[0], w.e.Delim)
			}
			values, given = values[1:], given-1
		}
	}
	return s
}

// withinUnit narrows a span to the period that a value in a key stands for, or to its instant.
func (s Span) withinUnit(f key.Format, v key.Value, delim byte) Span {
	text, err := f.Append(nil, v, delim)
	if err != nil {
		return s
	}
	if start, ok := key.PeriodStart(f.Kind, string(text)); ok && f.Kind.Period() != "" {
		return s.within(start, key.PeriodAdd(f.Kind, start, 1).Add(-1))
	}
	return s.within(v.Time, v.Time)
}

// narrowBy narrows a span to a range of instants.
func (s Span) narrowBy(t *Time) Span {
	if t.From.Set {
		s.From = max(s.From, t.From.At.Unix())
	}
	if t.To.Set {
		s.To = min(s.To, t.To.At.Unix())
	}
	return s
}
