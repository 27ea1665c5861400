package key

import "time"

// The widths of the beginnings of a time's text that represent a period, with the sign
// that ends them: "2021-", "2021-11-", "2021-11-14T", "2021-11-14T09:".
var periodWidths = [...]int{0, len("2021-"), len("2021-11-"), len("2021-11-14T"), len("2021-11-14T09:")}

// PeriodWidth returns the length of the format's text that is a calendar period: 1 a
// year, 2 a month, 3 a day, 4 an hour, 5 an ISO week. ok is false where no beginning of
// the text does.
func (f Format) PeriodWidth(unit int) (width int, ok bool) {
	if f.Kind == Week {
		return len("2021-W46"), unit == 5
	}
	if layouts[f.Kind] == "" || unit < 1 || unit > 4 {
		return 0, false
	}
	full, _ := f.Fixed()
	switch width = periodWidths[unit]; {
	case width-1 == full: // the whole text, which no sign follows
		return full, true
	case width > full:
		return 0, false
	}
	return width, true
}

// Determines reports whether a time in one format of keys determines the period of another format.
func Determines(format, period FormatKind) bool {
	switch format {
	case Nanos, Millis, Seconds, Unix, Native, Date:
		return true
	case Month:
		return period == Month || period == Year
	}
	return format == period
}

// PeriodStart returns the instant that a period begins with, by its text; ok is false for another text.
func PeriodStart(period FormatKind, text string) (at time.Time, ok bool) {
	v, ok := (&Format{Kind: period, Value: Time}).Parse(text, 0)
	return v.Time, ok
}

// PeriodAdd returns the instant that a period so many periods later begins with, from one that a period
// begins with.
func PeriodAdd(period FormatKind, start time.Time, n int) time.Time {
	switch period {
	case Week:
		return start.AddDate(0, 0, 7*n)
	case Month:
		return start.AddDate(0, n, 0)
	case Year:
		return start.AddDate(n, 0, 0)
	}
	return start.AddDate(0, 0, n)
}

// Period names the calendar period that a format represents, "" for one that represents instants.
func (k FormatKind) Period() string {
	switch k {
	case Date:
		return "day"
	case Month:
		return "month"
	case Week:
		return "week"
	case Year:
		return "year"
	}
	return ""
}
