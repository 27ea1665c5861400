package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/examples/packages/registry"
)

// workload returns the operations on a package in a month: 30 releases, 60 moved tags, and 100,000
// reads of the head. A layout can store the releases as items, one for each.
func workload(d registry.Document) (forecast.Workload, error) {
	p := d.Package()
	size := func(name string, v any) (forecast.Attribute, error) {
		av, err := attributevalue.Marshal(v)
		return forecast.Attribute{Name: name, Sizes: []int{cost.AttributeSize(name, av)}}, err
	}
	slices.SortFunc(p.Releases,
		func(a, b registry.Release) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Version, b.Version)) })
	w := forecast.Workload{Name: d.Name, Operations: []forecast.Operation{
		{Name: "a new release", PerMonth: 30, Add: map[string]int{"releases": 1}},
		{Name: "a moved tag", PerMonth: 60, Writes: []string{"tags"}},
		{Name: "read the head", PerMonth: 100_000, Reads: []string{"description", "license", "keywords"}},
	}}
	for _, a := range []struct {
		name  string
		value any
	}{
		{"description", d.Description},
		{"license", d.License},
		{"keywords", d.Keywords},
		{"tags", d.Tags},
		{"releases", p.Releases},
		{"dependencies", d.Dependencies},
		{"devDependencies", d.DevDependencies},
		{"scripts", d.Scripts},
		{"files", d.Files},
		{"exports", d.Exports},
	} {
		attribute, err := size(a.name, a.value)
		if err != nil {
			return w, err
		}
		if a.name == "releases" {
			attribute.Elements = elementsOf(p.Releases)
		}
		w.Attributes = append(w.Attributes, attribute)
	}
	return w, nil
}

// handMade is the layout of registry.Package.
var handMade = forecast.Layout{Name: "this example's", Items: [][]string{
	{"description", "license", "keywords"},
	{"tags"},
	{"dependencies"},
	{"devDependencies"},
	{"scripts"},
	{"files", "exports"},
}, Elements: []string{"releases"}}

// elementsOf describes the releases. Their times and versions are in the keys, with 30 bytes for a time.
func elementsOf(releases []registry.Release) *forecast.Elements {
	e := &forecast.Elements{Counts: []int{len(releases)}}
	var versions []int
	for _, r := range releases {
		versions = append(versions, len("Version")+len(r.Version))
	}
	e.Attributes = []forecast.Attribute{
		{Name: "At", Sizes: []int{len("At") + 30}},
		{Name: "Version", Sizes: versions},
		{Name: "Listed", Sizes: []int{len("Listed") + 1}},
	}
	return e
}

// month prints the cost of a month in several layouts.
func month(w io.Writer, d registry.Document) error {
	load, err := workload(d)
	if err != nil {
		return err
	}
	advice, err := load.Advise(forecast.DefaultPrices(), load.Monolith())
	if err != nil {
		return err
	}
	all, err := load.Forecast(forecast.DefaultPrices(), load.Monolith(), handMade, advice.Best.Layout, load.Single())
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n  a month: 30 releases, 60 moved tags, 100,000 reads of the head\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range all {
		items := "items"
		if len(f.Items) == 1 {
			items = "item"
		}
		if f.Elements != nil {
			items += ", and releases"
		}
		fmt.Fprintf(t, "  %s\t%d %s\t%.0f WCU\t%.0f RCU\t$%.5f\n", f.Layout.Name, len(f.Items), items, f.WCU, f.RCU,
			f.Total)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var groups []string
	for _, it := range advice.Best.Layout.Items {
		groups = append(groups, strings.Join(it, " + "))
	}
	groups = append(groups, advice.Best.Layout.Elements...)
	fmt.Fprintf(w, "\n  advised: %s\n", strings.Join(groups, "; "))
	return nil
}
