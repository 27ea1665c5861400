package selection

import (
	"errors"
	"fmt"
	"time"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// TargetKind is the kind of a target.
type TargetKind uint8

// The kinds of targets are the whole entity, a whole table, and the items of a secondary index. Two
// kinds are items of a table whose keys begin with a text, or with parts of one template.
const (
	TargetWhole TargetKind = iota
	TargetTable
	TargetPrefix
	TargetItem
	TargetIndex
)

// Target is a part of an entity as generated code names it: by the layout's items and
// tables, without the layout. Resolve makes Parts of it.
type Target struct {
	Kind  TargetKind
	Table int
	// Prefix is the beginning of TargetPrefix.
	Prefix string
	// Item is the index of the item of TargetItem, and Parts the number of given parts of its template.
	// Values are those of the placeholders in these parts; for identity fields these are the entity's
	// own.
	Item, Parts int
	Values      []key.Value
	// Index is the index in the entity's Indexes of TargetIndex, and Item the index of the item to find
	// there. Parts are parts of the sort key's templates.
	Index int
	// Time narrows the placeholder that follows, and so does Order.
	Time  *Time
	Order *Order
}

// Order is a range of values, both ends included, or of texts that begin alike.
type Order struct {
	From, To *key.Value
	Begin    string
	Err      error
}

// Time is a range of instants, both ends included.
type Time struct {
	// Unit is the calendar period of the range, which can be a prefix.
	Unit     Unit
	From, To Bound
	// Err is the error of an invalid period.
	Err error
}

// Bounds are the ends of a range as a caller gives them, nil for none, or what its texts begin with.
type Bounds struct {
	From, To *any
	Begin    *string
}

// Bound is an end of a range; the zero Bound is none.
type Bound struct {
	At  time.Time
	Set bool
}

// At returns the bound at an instant.
func At(t time.Time) Bound { return Bound{t, true} }

// Unit is a calendar period.
type Unit uint8

// The periods.
const (
	NoUnit Unit = iota
	Year
	Month
	Day
	Hour
	Week
)

// Filter keeps the items of a range whose stored time is in a time range. It is needed if the format in
// the key is coarser than the ends of the range.
type Filter struct {
	// Item and Source are the placeholder's; KeyField is the index of the field that holds
	// the instant, -1 for one of the element.
	Item, Source, KeyField int
	From, To               Bound
}

// Keeps reports whether an instant is in the range.
func (f *Filter) Keeps(t time.Time) bool {
	return !(f.From.Set && t.Before(f.From.At)) && !(f.To.Set && t.After(f.To.At))
}

// Resolve makes the parts of the targets. A selection that has none stays as it is.
func (s Selection) Resolve(e *schema.Entity) Selection {
	if s.Lookup != nil && s.Err == nil {
		s.Err = &LookupError{e.Label()}
	}
	if s.Err != nil || len(s.Targets) == 0 {
		return s
	}
	all := s
	whole := Entity(e, s.Identity) // with the shard
	if whole.Err == nil {
		s.Identity, all.Identity, all.Elsewhere = whole.Identity, whole.Identity, whole.Elsewhere
	}
	all.Targets, all.Entity = nil, len(s.Identity) == e.KeyFieldsInKey()
	for _, t := range s.Targets {
		one := s.resolve(e, t, whole)
		if one.Err != nil {
			return one
		}
		all = all.Join(one)
	}
	return all
}

// resolve resolves one target; whole is all of the entity.
func (s Selection) resolve(e *schema.Entity, t Target, whole Selection) Selection {
	if t.Kind == TargetIndex {
		return s.inside(e, t)
	}
	if whole.Err != nil || t.Kind == TargetWhole {
		return whole
	}
	out := whole
	out.Whole, out.Parts = false, nil
	switch t.Kind {
	case TargetTable:
		for _, p := range whole.Parts {
			if p.Table == t.Table {
				out.Parts = append(out.Parts, p)
			}
		}
	case TargetPrefix:
		p := Part{Table: t.Table, Range: Range{Kind: Prefix, Low: key.Scalar{Type: 'S', Text: t.Prefix}}}
		out.Parts = p.in(whole.partitions())
	case TargetItem:
		p, err := out.itemPart(e, t)
		if err != nil {
			out.Err = err
			return out
		}
		p.Table = e.Items[t.Item].Table.Index
		out.Parts = p.in(whole.partitions())
		for i := range out.Parts {
			out.Parts[i].Span = out.Parts[i].Span.narrow(e, e.Items[t.Item], t)
		}
	}
	return out
}

// itemPart renders the parts of a template that are given, and the range that
// follows.
func (s *Selection) itemPart(e *schema.Entity, t Target) (Part, error) {
	it := e.Items[t.Item]
	if it.Key == nil {
		return Part{Range: Range{Kind: One}}, nil
	}
	template := it.Key.Template
	fail := func(err error) (Part, error) {
		return Part{}, &schema.Unstorable{
			Label: e.Label(), Field: it.Name,
			Err: fmt.Errorf("%s: %w", it.Key.SourceName(err), err),
		}
	}
	var room [128]byte
	text, err := template.Append(room[:0], t.Parts, s.values(e, it.Key, t))
	if err != nil {
		return fail(err)
	}
	low := key.Scalar{Type: template.Type, Text: string(text)}
	switch {
	case t.Time != nil:
		r, err := timeRange(template, t.Parts, *t.Time, string(text), begins(e, it))
		if err != nil {
			return fail(err)
		}
		return Part{Range: r, Keep: keep(it, t)}, nil
	case t.Order != nil:
		r, err := (&orderRange{template, t.Parts, string(text), begins(e, it)}).of(*t.Order)
		if err != nil {
			return fail(err)
		}
		return Part{Range: r}, nil
	case t.Parts == len(template.Parts):
		if err := low.CheckSize(key.MaxSort); err != nil {
			return fail(err)
		}
		return Part{Range: Range{Kind: One, Low: low}}, nil
	case low.Text == "":
		return Part{Range: Range{Kind: All}}, nil
	}
	return Part{Range: Range{Kind: Prefix, Low: low}}, nil
}

// values returns the values of all given placeholders: the entity's own, and those of the target. If
// the partition key has only a part of a value (the date of a time), a query over many entities has
// only that part.
func (s *Selection) values(e *schema.Entity, k *schema.Key, t Target) []key.Value {
	inKey := func(field int) bool {
		return field < len(s.Identity) &&
			(len(s.Identity) == e.KeyFieldsInKey() || e.PK.Gives(field))
	}
	var out []key.Value
	rest := t.Values
	for _, src := range k.Sources {
		switch {
		case src.From == schema.FromModel && inKey(src.KeyField):
			out = append(out, s.Identity[src.KeyField])
		case len(rest) > 0:
			out, rest = append(out, rest[0]), rest[1:]
		default:
			return out
		}
	}
	return out
}

// The first and last instants that a key can hold; those of weeks and of epoch
// seconds.
var (
	first     = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC)
	firstWeek = time.Date(0, time.January, 3, 0, 0, 0, 0, time.UTC)
	last      = time.Date(9999, time.December, 31, 23, 59, 59, 999_999_999, time.UTC)
	lastUnix  = time.Unix(9_999_999_999, 0)
)

func bounds(f key.Format) (time.Time, time.Time) {
	switch f.Kind {
	case key.Unix:
		return time.Unix(0, 0), lastUnix
	case key.Week:
		return firstWeek, last
	}
	return first, last
}

var errPeriod = errors.New("no such date")

// timeRange returns the range of a time placeholder after text. It is a prefix if the format writes the
// period as one. Otherwise it is one BETWEEN of the texts of both ends, including every continuation of
// the second. more is described at orderRange.
func timeRange(template *key.Template, parts int, when Time, text string, more bool) (Range, error) {
	f := template.Parts[parts].Format
	if when.Err != nil {
		return Range{}, when.Err
	}
	write := func(at time.Time) (string, error) {
		if at.IsZero() {
			at = at.Add(-1) // before whatever a key holds: it holds no zero time
		}
		b, err := f.Append(nil, key.OfTime(at), template.Delim)
		return text + string(b), err
	}
	scalar := func(text string) key.Scalar { return key.Scalar{Type: template.Type, Text: text} }
	rest := template.Parts[parts+1:]
	if n, ok := f.PeriodWidth(int(when.Unit)); ok {
		b, err := write(when.From.At)
		switch full, _ := f.Fixed(); {
		case err != nil:
			return Range{}, err
		case n < full:
			return Range{Kind: Prefix, Low: scalar(b[:len(text)+n])}, nil
		case len(rest) > 0:
			return Range{Kind: Prefix, Low: scalar(b + rest[0].Text)}, nil
		case more:
			return Range{Kind: Between, Low: scalar(b), High: scalar(through(rest, b, more))}, nil
		}
		return Range{Kind: One, Low: scalar(b)}, nil
	}
	low, high := bounds(f)
	if when.From.Set && when.From.At.After(low) {
		low = when.From.At
	}
	if when.To.Set && when.To.At.Before(high) {
		high = when.To.At
	}
	if high.Before(low) {
		return Range{Kind: None}, nil
	}
	from, err := write(low)
	if err != nil {
		return Range{}, err
	}
	to, err := write(high)
	if err != nil {
		return Range{}, err
	}
	return Range{Kind: Between, Low: scalar(from), High: scalar(through(rest, to, more))}, nil
}

// after returns a text that all which begin with s come before.
func after(s string) string {
	if c := s[len(s)-1]; c < 0x7e {
		return s[:len(s)-1] + string(rune(c+1))
	}
	return s + "\U0010FFFF"
}

// keep returns the filter of the time range, nil if the key alone decides.
func keep(it *schema.Item, t Target) *Filter {
	n := 0
	for _, p := range it.Key.Template.Parts[:t.Parts] {
		if p.Format.Kind != key.Literal {
			n++
		}
	}
	src := it.Key.Sources[n]
	if _, prefix := it.Key.Format(n).PeriodWidth(int(t.Time.Unit)); src.Lossless || prefix {
		return nil
	}
	field := -1
	if src.From == schema.FromModel {
		field = src.KeyField
	}
	return &Filter{Item: it.Index, Source: n, KeyField: field, From: t.Time.From, To: t.Time.To}
}

// Date is the calendar date and hour at which a period begins.
type Date struct {
	Year      int
	Month     time.Month
	Day, Hour int
}

// PeriodOf returns the range of a calendar period in a location, by the clocks there. An hour that
// occurs twice, at the end of daylight saving time, is in the range twice. The range of an hour or day
// that the clocks skip is empty. Where clocks are put back by two hours, the second pass through an
// hour is also in its range.
func PeriodOf(unit Unit, at Date, in *time.Location) *Time {
	from := time.Date(at.Year, at.Month, at.Day, at.Hour, 0, 0, 0, time.UTC)
	if from.Year() != at.Year || from.Month() != at.Month || from.Day() != at.Day || from.Hour() != at.Hour {
		text := fmt.Sprintf("%04d-%02d-%02d", at.Year, int(at.Month), at.Day)
		if unit == Hour {
			text += fmt.Sprintf(", hour %d", at.Hour)
		}
		return &Time{Err: fmt.Errorf("%w: %s", errPeriod, text)}
	}
	next := from
	switch unit {
	case Year:
		next = from.AddDate(1, 0, 0)
	case Month:
		next = from.AddDate(0, 1, 0)
	case Day:
		next = from.AddDate(0, 0, 1)
	case Hour:
		next = from.Add(time.Hour)
	}
	return period(unit, from, next, in)
}

// period returns the range from one clock reading to another, the latter not included. Keys hold the
// periods of UTC alone.
func period(unit Unit, from, next time.Time, in *time.Location) *Time {
	if in == time.UTC {
		return &Time{Unit: unit, From: At(from), To: At(next.Add(-1))}
	}
	return &Time{From: At(firstAt(from, in)), To: At(firstAt(next, in).Add(-1))}
}

// firstAt returns the first instant at which the clocks of a location show a reading, given in UTC, or a later one.
func firstAt(reading time.Time, in *time.Location) time.Time {
	for at := reading.Add(-2 * 24 * time.Hour).In(in); ; { // no offset from UTC is that large
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		// on the last day of leap years, Go 1.26 returns the end of a year of 365 days
		if !end.IsZero() && !end.After(at) {
			end = at.AddDate(0, 0, 1)
		}
		shown := reading.Add(-time.Duration(offset) * time.Second)
		switch {
		case shown.Before(at): // the clocks were put forward, over it
			return at.UTC()
		case end.IsZero() || shown.Before(end):
			return shown
		}
		at = end
	}
}

// WeekOf returns the range of an ISO week, in a location.
func WeekOf(year, week int, in *time.Location) *Time {
	monday := key.WeekStart(year, week)
	if y, w := monday.ISOWeek(); y != year || w != week {
		return &Time{Err: fmt.Errorf("%w: week %d of %d", errPeriod, week, year)}
	}
	return period(Week, monday, monday.AddDate(0, 0, 7), in)
}

// ErrLocation says that a period was given more than one location, or nil.
var ErrLocation = errors.New("a period (Year, Month, Week, Day, Hour) takes one location that is not nil, or none " +
	"for UTC")
