package main

import (
	_ "embed"
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

// pageData is what the page shows.
type pageData struct {
	Workload  cost.Workload
	Prices    cost.Prices
	Forecasts []cost.Forecast
	MaxTotal  float64
	MaxItem   float64
}

// writePage writes a forecast as one page that needs nothing else.
func writePage(path string, w cost.Workload, p cost.Prices, all []cost.Forecast) error {
	d := pageData{Workload: w, Prices: p, Forecasts: all}
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
