package main

import "github.com/itemize/itemize/cost/forecast"

// chart has the total cost of layouts since the first write. page.js draws it.
type chart struct {
	// From and To are the ends of the time axis, in days.
	From      float64       `json:"from"`
	To        float64       `json:"to"`
	Layouts   []chartLayout `json:"layouts"`
	Crossings []crossing    `json:"crossings"`
}

// chartLayout is a line: the price of the first write and of a month, in dollars.
type chartLayout struct {
	Name   string  `json:"name"`
	Insert float64 `json:"insert"`
	Month  float64 `json:"month"`
}

// crossing is the point where a layout has cost as much as the first one.
type crossing struct {
	Days    float64 `json:"days"`
	Dollars float64 `json:"dollars"`
}

// Times in months of 30 days.
const (
	second = 1.0 / 30 / 24 / 3600
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
	year   = 12.0
)

// spent returns the total cost of a layout after some months.
func spent(f forecast.Forecast, months float64) float64 { return f.Insert + months*f.Total }

// newChart returns the chart of the storable layouts that cost anything, nil for none. Its time is from an hour to a
// year, extended to the crossings between a second and ten years.
func newChart(a forecastAnswer) *chart {
	c := &chart{From: 1.0 / 24, To: 365, Crossings: []crossing{}}
	var first *forecast.Forecast
	for _, f := range a.Forecasts {
		if f.NotStorable != "" || spent(f, 1) <= 0 {
			continue
		}
		c.Layouts = append(c.Layouts, chartLayout{f.Layout.Name, f.Insert, f.Total})
		if first == nil {
			first = &f
			continue
		}
		for _, pair := range [][2]forecast.Forecast{{f, *first}, {*first, f}} {
			if months, ok := pair[0].BreakEven(pair[1]); ok && months >= second && months <= 10*year {
				c.Crossings = append(c.Crossings, crossing{months * 30, spent(f, months)})
				c.From, c.To = min(c.From, months*15), max(c.To, months*60)
			}
		}
	}
	if c.Layouts == nil {
		return nil
	}
	return c
}
