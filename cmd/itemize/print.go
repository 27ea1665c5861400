package main

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

func (c *command) printJSON(v any) error {
	e := json.NewEncoder(c.stdout)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table returns a writer of aligned columns.
func (c *command) table() *tabwriter.Writer {
	return tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
}

// bar draws a bar of up to 40 characters.
func bar(n, most float64) string {
	if most <= 0 || n <= 0 {
		return ""
	}
	return strings.Repeat("#", max(1, int(n/most*40+0.5)))
}

// plural returns a count with its noun: "1 key", "2,000 keys".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") {
		one = stem + "ie"
	}
	return number(float64(n)) + " " + one + "s"
}

// number formats a number for people: with thousands separators; without decimals from 10,000, with one
// from 1,000, with two from 1, and with four significant digits below that.
func number(n float64) string {
	decimals := 2
	switch abs := math.Abs(n); {
	case abs >= 10_000:
		decimals = 0
	case abs >= 1000:
		decimals = 1
	case abs < 1:
		decimals = significant(abs)
	}
	return separated(n, decimals, 0)
}

// dollars formats an amount: in cents from 100, and with four significant digits below that, so that no
// price becomes zero.
func dollars(n float64) string {
	decimals := 2
	if abs := math.Abs(n); abs < 100 {
		decimals = max(2, significant(abs))
	}
	if n == 0 {
		return "$0"
	}
	return "$" + separated(n, decimals, 2)
}

// significant returns the number of decimals for four significant digits.
func significant(n float64) int {
	if n == 0 {
		return 0
	}
	return max(0, 3-int(math.Floor(math.Log10(n))))
}

// separated formats a number with thousands separators. It removes trailing zeros down to the smallest
// number of decimals.
func separated(n float64, decimals, least int) string {
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for len(fraction) > least && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// span formats a number of months in a suitable unit.
func span(months float64) string {
	for _, unit := range []struct {
		name   string
		months float64
	}{{"year", year}, {"month", 1}, {"day", day}, {"hour", hour}, {"minute", minute}, {"second", second}} {
		if n := months / unit.months; n >= 2 {
			return number(math.Round(n*10)/10) + " " + unit.name + "s"
		}
	}
	return "a second"
}
