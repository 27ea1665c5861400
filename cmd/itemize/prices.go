package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
)

// prices adds the flag for a price file.
func (f *flags) prices(file *string) {
	f.StringVar(file, "prices", "", "`file` of prices that replace default ones, as cost/forecast/prices.json")
}

// prices replaces default prices with those of a file and of a workload, and says where they are from.
func (c *command) prices(file string, own json.RawMessage) (p forecast.Prices, basis string, err error) {
	p = forecast.DefaultPrices()
	defaults := p.Region
	replaced := map[string]bool{}
	replace := func(text []byte) error {
		var q forecast.Prices
		if err := errors.Join(decode(text, &q), nulls(text)); err != nil {
			return err
		}
		if err := q.Check(); err != nil {
			return err
		}
		for name, f := range q.Figures {
			if f.Source == "" {
				return fmt.Errorf("the price %s has no source: write where it is from, and the date; leave it out for "+
					"the default", name)
			}
			p.Figures[name], replaced[name] = f, true
		}
		p.Region = cmp.Or(q.Region, p.Region)
		return nil
	}
	if file != "" {
		text, err := c.read(file)
		if err == nil {
			err = replace(text)
		}
		if err != nil {
			return p, "", priceFileError{fmt.Errorf("%s: %w", file, err)}
		}
	}
	if own != nil && string(own) != "null" {
		if err := replace(own); err != nil {
			return p, "", err
		}
	}
	if len(replaced) == 0 {
		return p, "prices of " + defaults + " on demand; -json prints the source of each", nil
	}
	return p, fmt.Sprintf("prices of %s: %s as given, others of %s on demand; -json prints the source of each",
		p.Region,
		strings.Join(slices.Sorted(maps.Keys(replaced)), ", "), defaults), nil
}

// priceFileError is an error of a price file, which no other file is to blame for.
type priceFileError struct{ error }

// nulls refuses prices that are null, or whose dollars are null: they are no amount.
func nulls(text []byte) error {
	var file struct {
		Prices map[string]*struct {
			Dollars *json.Number `json:"dollars"`
		} `json:"prices"`
	}
	if json.Unmarshal(text, &file) != nil {
		return nil // decode has the error
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(file.Prices)) {
		if f := file.Prices[name]; f == nil || f.Dollars == nil {
			errs = append(
				errs,
				fmt.Errorf("the price %s has no dollars: write an amount, or leave it out for the default",
					name),
			)
		}
	}
	return errors.Join(errs...)
}

// elsewhere says that a table is in a Region whose prices are not used, "" if it is not.
func elsewhere(p forecast.Prices, r *remote) string {
	if r.found == "" || r.found == p.Region || r.endpoint != "" && r.region == "" {
		return ""
	}
	return fmt.Sprintf("; the region is %s: its prices differ, write them with -prices", r.found)
}

// bill has the bill of each layout for one kind of billing.
type bill struct {
	Name    string           `json:"name"`
	Billing forecast.Billing `json:"billing"`
	// Lines are by layout, in the order of the forecasts. Totals are nil if a price is unknown.
	Lines  [][]forecast.Charge `json:"lines"`
	Totals []*float64          `json:"totals"`
}

// billsOf returns the bills for both kinds of capacity and both table classes, with the features of a billing.
func billsOf(all []forecast.Forecast, p forecast.Prices, b forecast.Billing) []bill {
	var out []bill
	for _, kind := range []struct {
		name                    string
		provisioned, infrequent bool
	}{
		{"on demand, standard", false, false},
		{"provisioned, standard", true, false},
		{"on demand, infrequent access", false, true},
		{"provisioned, infrequent access", true, true},
	} {
		x := bill{Name: kind.name, Billing: b}
		x.Billing.Provisioned, x.Billing.Infrequent = kind.provisioned, kind.infrequent
		for _, f := range all {
			lines := f.Bill(p, x.Billing)
			x.Lines, x.Totals = append(x.Lines, lines), append(x.Totals, totalOf(lines))
		}
		out = append(out, x)
	}
	return out
}

// totalOf returns the sum of a bill, nil if a price is unknown.
func totalOf(lines []forecast.Charge) *float64 {
	sum := 0.0
	for _, l := range lines {
		if l.Dollars == nil {
			return nil
		}
		sum += *l.Dollars
	}
	return &sum
}

// dollarsOr formats an amount that may be unknown.
func dollarsOr(n *float64) string {
	if n == nil {
		return "unknown"
	}
	return dollars(*n)
}

// showBills prints a line for each charge, with a column for each storable layout, and the totals of the other kinds
// of billing.
func (c *command) showBills(a forecastAnswer) {
	var storable []int
	for i, f := range a.Forecasts {
		if f.NotStorable == "" {
			storable = append(storable, i)
		}
	}
	if len(storable) == 0 {
		return
	}
	fmt.Fprintf(c.stdout, "\n  the bill of a month, %s\n", a.Bills[0].Name)
	t := c.table()
	fmt.Fprintf(t, "    ")
	for _, i := range storable {
		fmt.Fprintf(t, "\t%s", a.Forecasts[i].Layout.Name)
	}
	fmt.Fprintln(t)
	for _, what := range chargesOf(a.Bills[0].Lines) {
		fmt.Fprintf(t, "    %s", what)
		for _, i := range storable {
			fmt.Fprintf(t, "\t%s", chargeText(a.Bills[0].Lines[i], what))
		}
		fmt.Fprintln(t)
	}
	for k, b := range a.Bills {
		name := "total"
		if k > 0 {
			name = b.Name
		}
		fmt.Fprintf(t, "    %s", name)
		for _, i := range storable {
			fmt.Fprintf(t, "\t%s", dollarsOr(b.Totals[i]))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// chargesOf lists the charges of all layouts, in the order of a bill.
func chargesOf(lines [][]forecast.Charge) []string {
	var out []string
	for _, all := range lines {
		for _, l := range all {
			if !slices.Contains(out, l.What) {
				out = append(out, l.What)
			}
		}
	}
	return out
}

func chargeText(lines []forecast.Charge, what string) string {
	for _, l := range lines {
		if l.What == what {
			return fmt.Sprintf("%s (%s %s)", dollarsOr(l.Dollars), number(l.Amount), l.Unit)
		}
	}
	return "-"
}
