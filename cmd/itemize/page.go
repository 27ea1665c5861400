package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"

	"github.com/itemize/itemize/cost"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(n, most float64) float64 {
		if most == 0 {
			return 0
		}
		return 100 * n / most
	},
	"float": func(n int) float64 { return float64(n) },
	"wcu":   cost.WriteUnits,
	"rcu":   cost.ReadUnits,
}).Parse(pageText))

// line is a layout's price over a year: what storing it at first costs, and each month.
type line struct {
	Name   string
	Points string // of an SVG polyline, 600 wide and 200 high
	Class  int
	End    float64
}

const colors = 6 // of the page's style

// lines draws the forecasts over twelve months.
func lines(w cost.Workload, p cost.Prices, all []cost.Forecast) []line {
	insert := func(f cost.Forecast) float64 {
		wcu := 0.0
		for _, n := range f.Items {
			wcu += cost.WriteUnits(n)
		}
		return p.Units(wcu*float64(max(1, w.Entities)), 0)
	}
	most := 0.0
	for _, f := range all {
		most = max(most, insert(f)+12*f.Total)
	}
	var out []line
	for i, f := range all {
		l := line{Name: f.Layout.Name, Class: i % colors, End: insert(f) + 12*f.Total}
		for _, month := range []float64{0, 12} {
			y := 200.0
			if most > 0 {
				y -= (insert(f) + month*f.Total) / most * 190
			}
			l.Points += fmt.Sprintf("%.1f,%.1f ", month/12*600, y)
		}
		out = append(out, l)
	}
	return out
}

// pageData is what the page shows.
type pageData struct {
	Workload  cost.Workload
	Prices    cost.Prices
	Forecasts []cost.Forecast
	MaxTotal  float64
	MaxItem   float64
	Lines     []line
}

// writePage writes a forecast as one page that needs nothing else.
func writePage(path string, w cost.Workload, p cost.Prices, all []cost.Forecast) error {
	d := pageData{Workload: w, Prices: p, Forecasts: all, Lines: lines(w, p, all)}
	for _, f := range all {
		d.MaxTotal = max(d.MaxTotal, f.Total)
		for _, n := range f.Items {
			d.MaxItem = max(d.MaxItem, float64(n))
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pageTemplate.Execute(f, d); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
