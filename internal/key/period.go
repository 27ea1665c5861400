package key

// The widths of the beginnings of a time's text that stand for a period, with the sign
// that ends them: "2021-", "2021-11-", "2021-11-14T", "2021-11-14T09:".
var periodWidths = [...]int{0, len("2021-"), len("2021-11-"), len("2021-11-14T"), len("2021-11-14T09:")}

// PeriodWidth returns how much of the format's text stands for a calendar period: 1 a
// year, 2 a month, 3 a day, 4 an hour, 5 an ISO week. ok is false where no beginning of
// the text does.
func (f Format) PeriodWidth(unit int) (width int, ok bool) {
	if f.Kind == Week {
		return len("2021-W46"), unit == 5
	}
	if _, text := layouts[f.Kind]; !text || unit < 1 || unit > 4 {
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
