package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/discover"
	"github.com/itemize/itemize/internal/model/schema"
)

// costModel runs itemize cost model.
func (c *command) costModel(args []string) error {
	f := c.flags(costHelp["model"])
	asJSON, tags := f.common()
	var file, name, page, priceFile string
	var v verifying
	f.StringVar(&file, "workload", "", "`file` with the attributes, their sizes, and the operations of a month")
	f.StringVar(&name, "model", "", "`name` of the model, if the packages have several")
	f.StringVar(&page, "html", "", "also write an HTML page to `FILE`")
	f.prices(&priceFile)
	v.flags(f)
	packages, err := f.parseAll(args)
	if err = cmp.Or(err, v.check()); err != nil {
		return err
	}
	if file == "" {
		return usagef("no workload: write -workload FILE; itemize discover -write and itemize cost measure -json " +
			"write one")
	}
	w, err := c.workload(file, priceFile, true)
	if err != nil {
		return err
	}
	l, notes, err := c.layoutOf(packages, *tags, name, *asJSON, w)
	if err != nil {
		return err
	}
	w.Workload = w.WithIndexes(l)
	for _, x := range l.Indexes {
		if x.List != "" {
			notes = append(notes, fmt.Sprintf("the index %s has the elements of %s: in layouts without such items it "+
				"costs nothing", x.Name, x.List))
		}
	}
	layouts := slices.Concat([]forecast.Layout{w.Monolith()}, w.layouts, []forecast.Layout{l, w.Single()})
	all, err := w.Forecast(w.prices, layouts...)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	answer := w.answer(all)
	if page != "" {
		if err := writePage(c.path(page), pageOf(answer)); err != nil {
			return err
		}
	}
	if v.verify {
		return c.verify(v, w.Workload, all, *asJSON)
	}
	if *asJSON {
		return c.printJSON(answer)
	}
	c.showForecasts(answer)
	for _, n := range notes {
		fmt.Fprintf(c.stdout, "  note: %s\n", n)
	}
	return nil
}

// layoutOf returns the layout of the model with a name, or of the only one in packages, for a workload.
func (c *command) layoutOf(packages []string, tags, name string, asJSON bool, w workload) (forecast.Layout, []string,
	error,
) {
	none := forecast.Layout{}
	if len(packages) == 0 {
		packages = []string{"."}
	}
	found, err := c.models(packages, tags, asJSON, func(_ string, e *schema.Entity) bool {
		return name == "" || e.Name == name
	})
	if err != nil {
		return none, nil, err
	}
	names := slices.Sorted(maps.Keys(found))
	switch {
	case len(names) == 0 && name != "":
		return none, nil, fmt.Errorf("no model %s in %s: name another, or its package", name, strings.Join(packages,
			" "))
	case len(names) == 0:
		return none, nil, fmt.Errorf("no models in %s: a model is a struct with a ddb:\"pk=...\" tag",
			strings.Join(packages, " "))
	case len(names) > 1:
		return none, nil, fmt.Errorf("the packages have the models %s: name one with -model", strings.Join(names, ", "))
	}
	l, notes, err := discover.LayoutOf(found[names[0]], w.Workload)
	if err != nil {
		return none, nil, fmt.Errorf("%s: %w", names[0], err)
	}
	return l, notes, nil
}
