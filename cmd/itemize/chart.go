package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/itemize/itemize/forecast"
)

// The edges of the plot, and the smallest distance of two texts.
const (
	plotLeft, plotRight = 84.0, 540.0
	plotTop, plotBottom = 28.0, 300.0
	textGap             = 15.0
)

// chart shows the total cost of layouts since the first write. Both axes are logarithmic, so one
// picture shows layouts whose prices differ a thousandfold, and a break-even after an hour or a year.
type chart struct {
	Left, Right, Top, Bottom float64
	XTicks, YTicks           []tick
	Lines                    []line
	Marks                    []mark

	x, y axis
}

// tick is a position on an axis with its text.
type tick struct {
	At   float64
	Text string
}

// line is the line of a layout. Points is an SVG polyline, and its label is next to its end.
type line struct {
	Name, Points string
	Class        int
	End, Label   float64
}

// mark is the point where a layout has cost as much as the first one, with a number above it.
type mark struct {
	Number int
	X, Y   float64
	Label  float64
	Text   string
}

// axis places values by their logarithm.
type axis struct{ low, high, from, to float64 }

func (a axis) at(n float64) float64 {
	n = min(max(n, a.low), a.high)
	return a.from + (a.to-a.from)*math.Log(n/a.low)/math.Log(a.high/a.low)
}

const colors = 6 // in the style of the page

// spent returns the total cost of a layout after some months.
func spent(f forecast.Forecast, months float64) float64 { return f.Insert + months*f.Total }

// newChart draws the storable layouts that cost anything; nil if there is none.
func newChart(all []forecast.Forecast) *chart {
	all = slices.DeleteFunc(slices.Clone(all),
		func(f forecast.Forecast) bool { return f.NotStorable != "" || spent(f, 1) <= 0 })
	if len(all) == 0 {
		return nil
	}
	c := &chart{Left: plotLeft, Right: plotRight, Top: plotTop, Bottom: plotBottom}
	crossings := crossingsOf(all)
	c.x = timeAxis(crossings)
	c.y = moneyAxis(all, c.x)
	c.XTicks, c.YTicks = c.times(), c.sums()
	for i, f := range all {
		c.Lines = append(c.Lines, c.line(f, i))
	}
	c.labelLines()
	for _, x := range crossings {
		if x.months >= c.x.low && x.months <= c.x.high {
			c.Marks = append(c.Marks,
				mark{Number: len(c.Marks) + 1, X: c.x.at(x.months), Y: c.y.at(x.spent), Text: x.text})
		}
	}
	c.labelMarks()
	return c
}

// crossing is the point where two layouts have cost the same.
type crossing struct {
	months, spent float64
	text          string
}

// crossingsOf returns the crossings with the first layout, in the order of time.
func crossingsOf(all []forecast.Forecast) []crossing {
	var out []crossing
	first := all[0]
	for _, f := range all[1:] {
		for _, pair := range [][2]forecast.Forecast{{f, first}, {first, f}} {
			if months, ok := pair[0].BreakEven(pair[1]); ok && months > 0 {
				b := breakEven{pair[0].Layout.Name, pair[1].Layout.Name, &months}
				out = append(out, crossing{months, spent(f, months), b.String()})
			}
		}
	}
	slices.SortFunc(out, func(a, b crossing) int { return cmp.Compare(a.months, b.months) })
	return out
}

// Times in months of 30 days.
const (
	second = 1.0 / 30 / 24 / 3600
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
	year   = 12.0
)

// timeAxis is from an hour to a year, extended to the crossings between a second and ten years.
func timeAxis(crossings []crossing) axis {
	a := axis{low: hour, high: year, from: plotLeft, to: plotRight}
	for _, x := range crossings {
		a.low = min(a.low, max(x.months/2, second))
		a.high = max(a.high, min(x.months*2, 10*year))
	}
	return a
}

// moneyAxis covers all costs.
func moneyAxis(all []forecast.Forecast, x axis) axis {
	a := axis{low: math.Inf(1), from: plotBottom, to: plotTop}
	for _, f := range all {
		a.low = min(a.low, spent(f, x.low)/1.3)
		a.high = max(a.high, spent(f, x.high)*1.3)
	}
	return a
}

func (c *chart) line(f forecast.Forecast, i int) line {
	const steps = 60
	var points strings.Builder
	for k := range steps + 1 {
		months := c.x.low * math.Pow(c.x.high/c.x.low, float64(k)/steps)
		fmt.Fprintf(&points, "%.1f,%.1f ", c.x.at(months), c.y.at(spent(f, months)))
	}
	return line{
		Name: f.Layout.Name, Points: strings.TrimSpace(points.String()), Class: i % colors,
		End: c.y.at(spent(f, c.x.high)),
	}
}

// times returns the ticks of the time axis, without minor ones if it is long.
func (c *chart) times() []tick {
	long := c.x.high/c.x.low > 1e5
	var out []tick
	for _, t := range []struct {
		months float64
		text   string
		minor  bool
	}{
		{second, "1 s", false},
		{10 * second, "10 s", true},
		{minute, "1 min", false},
		{10 * minute, "10 min", true},
		{hour, "1 hour", false},
		{day, "1 day", false},
		{7 * day, "1 week", true},
		{1, "1 month", false},
		{year, "1 year", false},
		{10 * year, "10 years", false},
	} {
		if t.months >= c.x.low*(1-1e-9) && t.months <= c.x.high && !(t.minor && long) {
			out = append(out, tick{c.x.at(t.months), t.text})
		}
	}
	return out
}

// sums returns the ticks of the money axis: powers of ten. Few of them get twos and fives in between,
// and many are thinned out.
func (c *chart) sums() []tick {
	low, high := math.Floor(math.Log10(c.y.low)), math.Ceil(math.Log10(c.y.high))
	steps, every := []float64{1}, math.Ceil((high-low)/8)
	if high-low <= 3 {
		steps = []float64{1, 2, 5}
	}
	var out []tick
	for power := low; power <= high; power += every {
		for _, s := range steps {
			if n := s * math.Pow(10, power); n >= c.y.low && n <= c.y.high {
				out = append(out, tick{c.y.at(n), dollars(n)})
			}
		}
	}
	return out
}

// labelLines places the labels at the ends of the lines, without overlaps.
func (c *chart) labelLines() {
	at := make([]float64, len(c.Lines))
	for i, l := range c.Lines {
		at[i] = l.End
	}
	spread(at, plotTop, plotBottom)
	for i := range c.Lines {
		c.Lines[i].Label = at[i]
	}
}

// labelMarks places the numbers of the marks above the plot.
func (c *chart) labelMarks() {
	at := make([]float64, len(c.Marks))
	for i, m := range c.Marks {
		at[i] = m.X
	}
	spread(at, plotLeft, plotRight)
	for i := range c.Marks {
		c.Marks[i].Label = at[i]
	}
}

// spread moves positions apart by as little as possible, inside the bounds if there is room.
func spread(at []float64, low, high float64) {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	next := low
	for _, i := range order {
		at[i] = max(at[i], next)
		next = at[i] + textGap
	}
	next = max(high, low+textGap*float64(len(at)-1))
	for _, i := range slices.Backward(order) {
		at[i] = min(at[i], next)
		next = at[i] - textGap
	}
}
