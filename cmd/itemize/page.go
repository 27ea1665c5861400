package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/cost/forecast"
)

// The page is one file: styles and scripts are in it, and a policy allows no others. uPlot draws the charts.
var (
	//go:embed web/page.html
	pageText string
	//go:embed web/page.css
	pageStyle string
	//go:embed web/page.js
	pageScript string
	//go:embed web/uPlot.min.css
	plotStyle string
	//go:embed web/uPlot.iife.min.js
	plotScript string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"float":      func(n int) float64 { return float64(n) },
	"plural":     plural,
	"number":     number,
	"dollars":    dollars,
	"unknown":    dollarsOr,
	"spent":      spent,
	"times":      timesOf,
	"items":      itemsOf,
	"charges":    chargesOf,
	"atomic":     atomicNotes,
	"charge":     chargeText,
	"chart":      newChart,
	"bars":       bars,
	"saving":     savingOf,
	"join":       func(names []string) string { return strings.Join(names, ", ") },
	"wcu":        cost.WriteUnits,
	"rcu":        cost.ReadUnits,
	"operations": func(a forecastAnswer) []forecast.Operation { return a.operations },
	"most": func(a forecastAnswer) (most float64) {
		for _, f := range a.Forecasts {
			most = max(most, f.Total)
		}
		return most
	},
	"largest": func(a forecastAnswer) (most float64) {
		for _, f := range a.Forecasts {
			for _, n := range f.Items {
				most = max(most, float64(n))
			}
		}
		return most
	},
}).Parse(pageText))

// page is the content of a page.
type page struct {
	Title   string
	About   []string
	Parts   []pagePart
	Sources []priceSource

	Policy string
	Style  template.CSS
	Script template.JS
}

// pagePart is a part of a page: a forecast, or an entity type with its forecast.
type pagePart struct {
	Heading    string
	About      []string
	Attributes []attributeRow
	Answer     *forecastAnswer
	Changes    []forecast.Change
	Tags       string
	Commands   string
}

// priceSource is a price with its source.
type priceSource struct{ Name, Dollars, Per, Source, Date string }

// attributeRow is an attribute of an entity type.
type attributeRow struct{ Name, Type, Present, P50, P99, Share, Today, Alone, Notes string }

// pageOf is the page of a forecast.
func pageOf(a forecastAnswer) page {
	title := "Forecast"
	if a.Name != "" {
		title += ": " + a.Name
	}
	return page{Title: title, Parts: []pagePart{{Answer: &a}}, Sources: sourcesOf(a.Prices)}
}

// sourcesOf lists prices with their sources.
func sourcesOf(p forecast.Prices) []priceSource {
	var out []priceSource
	for _, name := range slices.Sorted(maps.Keys(p.Figures)) {
		f := p.Figures[name]
		out = append(out, priceSource{name, "$" + separated(f.Dollars, 6, 2), f.Per, f.Source, f.Date})
	}
	return out
}

// writePage writes a page as one file.
func writePage(path string, p page) error {
	p.Style, p.Script = template.CSS(plotStyle+pageStyle), template.JS(plotScript+"\n"+pageScript)
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	p.Policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; "+
		"form-action 'none'", hash(string(p.Style)), hash(string(p.Script)))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pageTemplate.Execute(f, p); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// bars draws two numbers as parts of the largest one.
func bars(a, b, most float64) template.HTML {
	if most <= 0 {
		return ""
	}
	share := func(n float64) float64 { return math.Round(1000*n/most) / 10 }
	return template.HTML(fmt.Sprintf(`<svg class="bar" aria-hidden="true"><rect class="a" width="%v%%" `+
		`height="100%%"/>`+
		`<rect class="b" x="%v%%" width="%v%%" height="100%%"/></svg>`, share(a), share(a), share(b)))
}
