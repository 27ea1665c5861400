package main

import (
	_ "embed"
	"html/template"
	"math"
	"os"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/forecast"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(n, most float64) float64 {
		if most == 0 {
			return 0
		}
		return math.Round(1000*n/most) / 10
	},
	"float":   func(n int) float64 { return float64(n) },
	"plural":  plural,
	"number":  number,
	"dollars": dollars,
	"spent":   spent,
	"short":   short,
	"px":      func(n float64) float64 { return math.Round(n*10) / 10 },
	"times":   timesOf,
	"wcu":     cost.WriteUnits,
	"rcu":     cost.ReadUnits,
}).Parse(pageText))

// short returns the start of a name that is too long for a label.
func short(name string) string {
	const most = 26
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

// pageData is the content of the page.
type pageData struct {
	forecastAnswer
	Operations []forecast.Operation
	MaxTotal   float64
	MaxItem    float64
	Chart      *chart
}

// writePage writes a forecast as one self-contained page.
func writePage(path string, a forecastAnswer, ops []forecast.Operation) error {
	d := pageData{forecastAnswer: a, Operations: ops, Chart: newChart(a.Forecasts)}
	for _, f := range a.Forecasts {
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
