package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
)

// costAdvise runs itemize cost advise.
func (c *command) costAdvise(args []string) error {
	f := c.flags(costHelp["advise"])
	asJSON, tags := f.common()
	var page, priceFile, name string
	var v verifying
	f.StringVar(&name, "model", "", "`name` of the model, if the packages have several")
	f.StringVar(&page, "html", "", "also write an HTML page to `FILE`")
	f.prices(&priceFile)
	v.flags(f)
	rest, err := f.parseAll(args)
	if err = cmp.Or(err, v.check()); err != nil {
		return err
	}
	if len(rest) == 0 {
		return usagef("cost advise takes a workload, and packages with its model: itemize cost workload, itemize " +
			"discover " +
			"-write and itemize cost measure -json write a workload")
	}
	model := len(rest) > 1 || name != ""
	w, err := c.workload(rest[0], priceFile, model)
	if err != nil {
		return err
	}
	present, notes := w.Monolith(), []string(nil)
	if model {
		if present, notes, err = c.layoutOf(rest[1:], *tags, name, *asJSON, w); err != nil {
			return err
		}
	}
	a, err := w.Advise(w.prices, present)
	if err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	w.Workload = w.WithIndexes(present)
	layouts, err := w.Forecast(w.prices, append(slices.Clone(w.layouts), present)...)
	if err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	layouts[len(w.layouts)] = a.Best
	answer := w.answer(append([]forecast.Forecast{a.Today}, layouts...))
	if page != "" {
		p := pageOf(answer)
		p.Parts[0].Tags = a.Best.Layout.Tags()
		changes, rest := worth(a)
		p.Parts[0].Changes, p.Parts[0].About = changes, append(slices.Clone(notes), proof(a), rewriting(a))
		if rest != "" {
			p.Parts[0].About = append(p.Parts[0].About, rest)
		}
		p.Title = strings.Replace(p.Title, "Forecast", "Advice", 1)
		if err := writePage(c.path(page), p); err != nil {
			return err
		}
	}
	if v.verify {
		w.Overhead, w.ElementOverhead = a.Overhead, a.ElementOverhead
		return c.verify(v, w.Workload, answer.Forecasts, *asJSON)
	}
	if *asJSON {
		return c.printJSON(struct {
			*forecast.Advice
			Tags  string   `json:"tags"`
			Notes []string `json:"notes,omitempty"`
		}{a, a.Best.Layout.Tags(), notes})
	}
	c.showForecasts(answer)
	for _, n := range notes {
		fmt.Fprintf(c.stdout, "  note: %s\n", n)
	}
	c.showChanges(a)
	fmt.Fprintf(c.stdout, "\n  the tags of the advised layout\n\n%s", a.Best.Layout.Tags())
	return nil
}

// proof says how far the advised layout is from the best one.
func proof(a *forecast.Advice) string {
	if a.Exact {
		return "no layout costs less than the advised one"
	}
	more := 0.0
	if a.Bound > 0 {
		more = 100 * (a.Best.Total/a.Bound - 1)
	}
	return fmt.Sprintf("no layout costs less than %s a month: the advised one is at most %s %% above the best",
		dollars(a.Bound), number(more))
}

// rewriting says what it costs to change the stored entities.
func rewriting(a *forecast.Advice) string {
	saved := a.Today.Total - a.Best.Total
	switch {
	case a.Once == 0 || a.Today.NotStorable != "":
		return "rewriting the stored entities costs " + dollars(a.Once)
	case saved <= 0:
		return "rewriting the stored entities costs " + dollars(a.Once) + ", and saves nothing"
	}
	return fmt.Sprintf("rewriting the stored entities costs %s, which is saved in %s", dollars(a.Once),
		span(a.Once/saved))
}

// showChanges prints the changes, the most important one first.
func (c *command) showChanges(a *forecast.Advice) {
	fmt.Fprintf(c.stdout, "\n  %s\n  %s\n", proof(a), rewriting(a))
	changes, rest := worth(a)
	c.changeList("from the present to the advised layout, the change that saves most first", changes, true)
	c.changeList("possible too, at another price than dollars", changes, false)
	if rest != "" {
		fmt.Fprintf(c.stdout, "\n  %s\n", rest)
	}
}

// worthwhile is the part of the price that a listed change saves or costs at least.
const worthwhile = 0.01

// worth returns the changes that save or cost a part of the price that matters, and says how many others there are. The
// price is that of the layout before the change.
func worth(a *forecast.Advice) (changes []forecast.Change, rest string) {
	price := a.Best.Total
	for _, x := range a.Changes {
		if x.Included {
			price += x.Dollars
		}
	}
	for _, x := range a.Changes { // included ones first
		if x.Dollars != 0 && math.Abs(x.Dollars) >= worthwhile*price {
			changes = append(changes, x)
		}
		if x.Included {
			price -= x.Dollars
		}
	}
	switch n := len(a.Changes) - len(changes); n {
	case 0:
		return changes, ""
	case 1:
		return changes, "1 more change saves or costs less than 1 % of the price: -json lists it"
	default:
		return changes, fmt.Sprintf("%d more changes save or cost less than 1 %% of the price each: -json lists them",
			n)
	}
}

// changeList prints the changes that the advised layout includes, or the others.
func (c *command) changeList(heading string, all []forecast.Change, included bool) {
	n := 0
	for _, x := range all {
		if x.Included != included {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintf(c.stdout, "\n  %s\n", heading)
		}
		fmt.Fprintf(c.stdout, "\n  %d. %s\n", n, x.What)
		fmt.Fprintf(c.stdout, "     %s\n", savingOf(x))
		if x.Risk != "" {
			fmt.Fprintf(c.stdout, "     risk: %s\n", x.Risk)
		}
		for line := range strings.Lines(x.Tags) {
			fmt.Fprintf(c.stdout, "     %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}

// savingOf says what a change saves in a month, and what it costs once.
func savingOf(x forecast.Change) string {
	text := fmt.Sprintf("saves %s a month (%s WCU, %s RCU)", dollars(x.Dollars), number(x.WCU), number(x.RCU))
	if x.Dollars < 0 {
		text = fmt.Sprintf("costs %s a month more (%s WCU, %s RCU)", dollars(-x.Dollars), number(-x.WCU),
			number(-x.RCU))
	}
	if x.Once > 0 {
		text += "; rewriting the stored entities costs " + dollars(x.Once)
	}
	return text
}
