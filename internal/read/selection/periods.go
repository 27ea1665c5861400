package selection

import (
	"math"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Span is a range of time over the tables of several periods, in seconds since 1970, both ends
// included.
type Span struct {
	// On reports that a part is in the tables of the span; the zero Span is of one that is in one
	// table.
	On bool
	// From is math.MinInt64, and To math.MaxInt64, for no end.
	From, To int64
	// Explicit reports that the ends are those of a query, and not only of the time that a partition key has.
	Explicit bool
	// Ordered reports that all items of one table come before the items of the next.
	Ordered bool
}

// spread says in which tables the entities are that share some values: it completes the partition with
// its period where these tell, and returns the span otherwise.
func spread(e *schema.Entity, keyFields []key.Value, at *key.Partition) Span {
	p := e.Periods
	if p == nil {
		return Span{}
	}
	s := Span{On: true, From: math.MinInt64, To: math.MaxInt64}
	s.Ordered = s.along(e, e.Root.Key, 0, nil)
	if p.Field < len(keyFields) && keyFields[p.Field].Kind != key.None {
		if s = s.inPartition(e, keyFields[p.Field]); !s.On {
			return s
		}
	}
	at.Period = ""
	return s
}

// inPartition narrows a span by the time in the partition key. It returns the zero Span if that time
// determines the table. A time that is given outside the partition key is a time of the entities.
func (s Span) inPartition(e *schema.Entity, v key.Value) Span {
	named := false
	for i, src := range e.PK.Sources {
		if src.From != schema.FromModel || src.KeyField != e.Periods.Field {
			continue
		}
		f := e.PK.Format(i)
		if named = true; key.Determines(f.Kind, e.Periods.Kind) {
			return Span{}
		}
		s = s.clipUnit(f, v, e.Delim)
	}
	if !named {
		s = s.clip(v.Time, v.Time)
	}
	return s
}

// along walks the placeholders of a sort key in order, up to the first one without a value. Values come
// from the partition key, if it has them in full, and from values, for the first parts. A time among
// them narrows the span. along reports whether the first placeholder without a value is the time, in a
// format fine enough to determine the table. Items of one table then come before those of the next.
func (s *Span) along(e *schema.Entity, k *schema.Key, parts int, values []key.Value) (ordered bool) {
	n := 0
	for i, part := range k.Template.Parts {
		if part.Format.Kind == key.Literal {
			continue
		}
		src := k.Sources[n]
		isTime := src.From == schema.FromModel && src.KeyField == e.Periods.Field
		switch {
		case src.From == schema.FromModel && e.InPartitionKey(src.KeyField):
		case i >= parts || len(values) == 0:
			return isTime && key.Determines(part.Format.Kind, e.Periods.Kind)
		default:
			if isTime {
				*s = s.clipUnit(part.Format, values[0], e.Delim)
				s.Explicit = true
			}
			values = values[1:]
		}
		n++
	}
	return true // all of it is given
}

// clip narrows a span to a range of instants, both ends included.
func (s Span) clip(from, to time.Time) Span {
	s.From, s.To = max(s.From, from.Unix()), min(s.To, to.Unix())
	return s
}

// narrow narrows a span by the placeholders of a target.
func (s Span) narrow(e *schema.Entity, it *schema.Item, t Target) Span {
	if !s.On || it.Key == nil {
		return s
	}
	s.Ordered = s.along(e, it.Key, t.Parts, t.Values)
	if t.Time != nil && t.Time.Err == nil && s.next(e, it.Key, t.Parts) {
		s = s.narrowBy(t.Time)
	}
	return s
}

// next reports whether the placeholder behind so many parts of a key is the time.
func (s *Span) next(e *schema.Entity, k *schema.Key, parts int) bool {
	n := 0
	for _, part := range k.Template.Parts[:parts] {
		if part.Format.Kind != key.Literal {
			n++
		}
	}
	return n < len(k.Sources) && k.Sources[n].From == schema.FromModel && k.Sources[n].KeyField == e.Periods.Field
}

// narrowTo narrows a span to a range of sort keys, as far as these have the time, behind the same text.
func (s Span) narrowTo(e *schema.Entity, r Range) Span {
	k := e.Root.Key
	if !s.On || k == nil || r.Low.Type == 'N' || r.High.Type == 'N' {
		return s
	}
	low, high := r.Low.Text, r.High.Text
	if r.Kind == One || r.Kind == Prefix {
		high = low
	}
	n, before := timeIn(e, k, low)
	if r.Kind == AtMost {
		n, before = timeIn(e, k, high)
	}
	if n < 0 {
		return s
	}
	f := k.Format(n)
	if before != "" && k.Sources[0].KeyField != e.Periods.Field &&
		(r.Kind == AtLeast || r.Kind == AtMost || !strings.HasPrefix(high, before)) {
		return s // other values come before the time
	}
	s.Ordered = key.Determines(f.Kind, e.Periods.Kind)
	if r.Kind != AtMost {
		s = s.fromText(f, before, low)
	}
	if r.Kind != AtLeast {
		s = s.toText(f, before, high)
	}
	return s
}

// timeIn returns the index of the time's placeholder in a key, -1 where a text does not have all before
// it, and that.
func timeIn(e *schema.Entity, k *schema.Key, text string) (source int, before string) {
	rest := text
	for i, n := 0, 0; i < len(k.Template.Parts); i++ {
		part := k.Template.Parts[i]
		if part.Format.Kind == key.Literal {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, part.Text); !ok {
				return -1, ""
			}
			continue
		}
		if src := k.Sources[n]; src.From == schema.FromModel && src.KeyField == e.Periods.Field {
			return n, text[:len(text)-len(rest)]
		}
		n++
		end := strings.IndexByte(rest, e.Delim)
		if width, fixed := part.Format.Fixed(); fixed {
			end = width
		}
		if end < 0 || end > len(rest) {
			return -1, ""
		}
		rest = rest[end:]
	}
	return -1, ""
}

func (s Span) fromText(f key.Format, before, text string) Span {
	if start, _, ok := unitOf(f, before, text); ok {
		s.From, s.Explicit = max(s.From, start.Unix()), true
	}
	return s
}

func (s Span) toText(f key.Format, before, text string) Span {
	if _, next, ok := unitOf(f, before, text); ok {
		s.To = min(s.To, next.Add(-1).Unix())
	}
	return s
}

// unitOf returns the start of the day, month or year of the time in a key, and the start of the next
// one. It is the smallest unit that the text has completely.
func unitOf(f key.Format, before, text string) (start, next time.Time, ok bool) {
	text, ok = strings.CutPrefix(text, before)
	if _, dated := f.PeriodWidth(int(Year)); !ok || !dated {
		return start, next, false
	}
	for _, unit := range []key.FormatKind{key.Date, key.Month, key.Year} {
		width, _ := (&key.Format{Kind: unit}).Fixed()
		if full, _ := f.Fixed(); len(text) < width || full < width {
			continue
		}
		start, ok = key.PeriodStart(unit, text[:width])
		return start, key.PeriodAdd(unit, start, 1), ok
	}
	return start, next, false
}

// span returns the place of a range of an index in the tables of several periods, by the values of its keys.
func (w *inside) span(t Target) Span {
	p := w.e.Periods
	s := Span{On: true, From: math.MinInt64, To: math.MaxInt64}
	values, count := t.Values, len(t.Values)
	for _, k := range w.entry.Keys() {
		for n, src := range k.Sources {
			isTime := src.From == schema.FromModel && src.KeyField == p.Field
			switch {
			case count == 0 && isTime:
				s.Ordered = key.Determines(k.Format(n).Kind, p.Kind)
				if t.Time != nil && t.Time.Err == nil {
					s = s.narrowBy(t.Time)
				}
				return s
			case count == 0:
				return s
			case isTime:
				s = s.clipUnit(k.Format(n), values[0], w.e.Delim)
				s.Explicit = true
			}
			values, count = values[1:], count-1
		}
	}
	return s
}

// clipUnit narrows a span to the period that a value in a key represents, or to its instant.
func (s Span) clipUnit(f key.Format, v key.Value, delim byte) Span {
	text, err := f.Append(nil, v, delim)
	if err != nil {
		return s
	}
	if start, ok := key.PeriodStart(f.Kind, string(text)); ok && f.Kind.Period() != "" {
		return s.clip(start, key.PeriodAdd(f.Kind, start, 1).Add(-1))
	}
	return s.clip(v.Time, v.Time)
}

// narrowBy narrows a span to a range of instants.
func (s Span) narrowBy(t *Time) Span {
	if t.From.Set {
		s.From, s.Explicit = max(s.From, t.From.At.Unix()), true
	}
	if t.To.Set {
		s.To = min(s.To, t.To.At.Unix())
	}
	return s
}
