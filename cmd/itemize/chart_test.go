package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/itemize/itemize/forecast"
)

func layoutOf(name string, insert, month float64) forecast.Forecast {
	return forecast.Forecast{Layout: forecast.Layout{Name: name}, Insert: insert, Total: month}
}

// points returns the places of a line, checked to be within the plot.
func points(t *testing.T, l line) (x, y []float64) {
	t.Helper()
	for _, p := range strings.Fields(l.Points) {
		a, b, _ := strings.Cut(p, ",")
		px, err1 := strconv.ParseFloat(a, 64)
		py, err2 := strconv.ParseFloat(b, 64)
		if err1 != nil || err2 != nil || px < plotLeft || px > plotRight || py < plotTop || py > plotBottom {
			t.Fatalf("%s: the point %s", l.Name, p)
		}
		x, y = append(x, px), append(y, py)
	}
	return x, y
}

// Lines of any ratio are apart, and so are their labels; the axes have ticks.
func TestChartSeparatesLines(t *testing.T) {
	for _, ratio := range []float64{2, 100, 1e6} {
		t.Run(fmt.Sprint(ratio), func(t *testing.T) {
			first := 1e-4 / ratio
			c := newChart([]forecast.Forecast{
				layoutOf("monolith", first, 1), layoutOf("half", first, 0.5),
				layoutOf("split", first, 1/ratio/2), layoutOf("more", first, 1/ratio/4),
			})
			ends := make([]float64, len(c.Lines))
			for i, l := range c.Lines {
				x, y := points(t, l)
				if ends[i] = y[len(y)-1]; x[0] != plotLeft || x[len(x)-1] != plotRight ||
					math.Abs(ends[i]-l.End) > 0.1 {
					t.Errorf("%s from %v to %v, %v", l.Name, x[0], x[len(x)-1], ends[i])
				}
				for k, other := range c.Lines[:i] {
					if other.Class == l.Class || math.Abs(other.Label-l.Label) < textGap {
						t.Errorf("%s and %s have the classes %d and %d, and labels at %v and %v", l.Name, other.Name,
							l.Class, other.Class, l.Label, other.Label)
					}
					if math.Abs(ends[i]-ends[k]) < 5 {
						t.Errorf("%s and %s end at %v and %v", l.Name, other.Name, ends[i], ends[k])
					}
				}
			}
			for _, ticks := range [][]tick{c.XTicks, c.YTicks} {
				if len(ticks) < 3 {
					t.Errorf("the ticks %v", ticks)
				}
			}
		})
	}
}

// Ticks are never over one another, from prices of millionths to those of millions, and
// from a break-even in seconds to one in years.
func TestChartTicks(t *testing.T) {
	for _, month := range []float64{1e-9, 1e-3, 1, 1e6} {
		for _, even := range []float64{second, hour, 3, 100, 1e6} {
			c := newChart([]forecast.Forecast{
				layoutOf("monolith", month/100, month),
				layoutOf("split", month/100+month*even/2, month/2),
			})
			for _, axis := range []struct {
				ticks []tick
				gap   float64
			}{{c.XTicks, 45}, {c.YTicks, textGap}} {
				at := make([]float64, len(axis.ticks))
				for i, k := range axis.ticks {
					at[i] = k.At
				}
				slices.Sort(at)
				for i := 1; i < len(at); i++ {
					if at[i]-at[i-1] < axis.gap {
						t.Errorf("%v a month, even after %v: ticks at %v", month, even, axis.ticks)
					}
				}
			}
		}
	}
}

// The break-even is marked where the lines cross, and said.
func TestChartMarksTheBreakEven(t *testing.T) {
	c := newChart([]forecast.Forecast{
		{Layout: forecast.Layout{Name: "large"}, NotStorable: "too large"},
		layoutOf("today", 1, 1), layoutOf("split", 2, 0.5), layoutOf("at once", 1, 0.5), layoutOf("never", 2, 1),
		layoutOf("at first", 0.5, 2), layoutOf("late", 100, 0.9),
	})
	var texts []string
	for i, m := range c.Marks {
		texts = append(texts, m.Text)
		if m.Number != i+1 {
			t.Errorf("the mark %+v", m)
		}
	}
	want := []string{"today costs less than at first after 15 days", "split costs less than today after 2 months"}
	if !slices.Equal(texts, want) {
		t.Errorf("%q; want %q", texts, want)
	}
	m := c.Marks[1]
	if x, y := c.x.at(2), c.y.at(3); m.X != x || m.Y != y {
		t.Errorf("the mark is at %v, %v; want %v, %v", m.X, m.Y, x, y)
	}
	if len(c.Lines) != 6 {
		t.Errorf("%d lines", len(c.Lines))
	}
}

// Without costs there is no picture, and never a NaN.
func TestChartOfNothing(t *testing.T) {
	if c := newChart([]forecast.Forecast{layoutOf("free", 0, 0), {NotStorable: "too large"}}); c != nil {
		t.Errorf("%+v", c)
	}
	for _, f := range [][2]float64{{0, 1}, {1, 0}} {
		c := newChart([]forecast.Forecast{layoutOf("one", f[0], f[1])})
		points(t, c.Lines[0])
	}
}

// Labels are moved apart as little as it takes, and stay within bounds.
func TestSpread(t *testing.T) {
	for _, c := range []struct{ at, want []float64 }{
		{[]float64{50, 10, 90}, []float64{50, 10, 90}},
		{[]float64{10, 10, 12}, []float64{10, 25, 40}},
		{[]float64{100, 99, 98}, []float64{100, 85, 70}},
		{[]float64{0, 0, 0, 0, 0, 0, 0, 0, 0}, []float64{0, 15, 30, 45, 60, 75, 90, 105, 120}},
	} {
		at := slices.Clone(c.at)
		if spread(at, 0, 100); !slices.Equal(at, c.want) {
			t.Errorf("%v: %v; want %v", c.at, at, c.want)
		}
	}
}
