package main

import (
	"fmt"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/trace"
)

// verifying are the flags of -verify.
type verifying struct {
	verify bool
	remote
}

func (v *verifying) flags(f *flags) {
	f.BoolVar(&v.verify, "verify", false, "replay each operation on tables of an engine, and compare the consumed "+
		"capacity "+
		"with the forecast: needs -endpoint")
	v.remote.flags(f)
}

// check refuses to create tables in AWS.
func (v *verifying) check() error {
	if v.verify && (v.endpoint == "" || strings.Contains(v.endpoint, "amazonaws.")) {
		return usagef("-verify creates tables and writes items: name a local engine with -endpoint, such as " +
			"DynamoDB Local")
	}
	return nil
}

// verified is the replay of a layout.
type verified struct {
	Layout     string           `json:"layout"`
	Operations []trace.Replayed `json:"operations"`
}

// verify replays the operations of a workload in the layouts of forecasts, and prints the predicted and the consumed
// capacity. It returns an error if they differ.
func (c *command) verify(v verifying, w forecast.Workload, all []forecast.Forecast, asJSON bool) error {
	client, err := c.client(&v.remote, 3)
	if err != nil {
		return err
	}
	var out []verified
	same := true
	for _, f := range all {
		if f.NotStorable != "" {
			continue
		}
		results, err := trace.Replay(c.ctx, client, w, f.Layout)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Layout.Name, err)
		}
		out = append(out, verified{f.Layout.Name, results})
		for _, r := range results {
			same = same && r.Same()
		}
	}
	if n := w.Samples(); n > trace.MaxSamples {
		fmt.Fprintf(c.stderr, "note: %d of %d samples were replayed\n", trace.MaxSamples, n)
	}
	if asJSON {
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else {
		c.showReplays(out)
	}
	if !same {
		return fmt.Errorf("the engine consumed other units than predicted: see docs/engines.md for what engines " +
			"report " +
			"differently")
	}
	return nil
}

func (c *command) showReplays(all []verified) {
	t := c.table()
	for _, v := range all {
		fmt.Fprintf(t, "  %s\tpredicted\t\tconsumed\t\t\n", v.Layout)
		for _, r := range v.Operations {
			if r.Skipped != "" {
				fmt.Fprintf(t, "    %s\tnot replayed: %s\t\t\t\t\n", r.Name, r.Skipped)
				continue
			}
			differs := ""
			if !r.Same() {
				if differs = "differs"; r.Transaction {
					differs = "differs (a transaction)"
				}
			}
			fmt.Fprintf(t, "    %s\t%s WCU\t%s RCU\t%s WCU\t%s RCU\t%s\n", r.Name, number(r.PredictedWCU),
				number(r.PredictedRCU), number(r.ConsumedWCU), number(r.ConsumedRCU), differs)
		}
	}
	t.Flush()
}
