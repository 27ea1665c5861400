package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/internal/advice/charge"
)

// scaletestAsked has the flags of cost scaletest.
type scaletestAsked struct {
	size, rcu, wcu float64
	remote
	test scaleTest
}

func (a *scaletestAsked) flags(f *flags) {
	f.Float64Var(&a.size, "size", 0,
		"future size of the table in `GB`")
	f.Float64Var(&a.rcu, "rcu", 0, "future read capacity of the table, in `units` per second")
	f.Float64Var(&a.wcu, "wcu", 0, "future write capacity of the table, in `units` per second")
	f.StringVar(&a.test.Table, "table", "", "`table` to send requests to; its other items do not change")
	a.remote.flags(f)
	f.IntVar(&a.test.Keys, "keys", 1000, "`number` of partition keys")
	f.Float64Var(&a.test.Skew, "skew", 1, "Zipf `exponent`: the key of rank k gets a share of 1/k^skew")
	f.Float64Var(&a.test.Writes, "writes", 0.5, "`share` of the requests that write, 0 to 1")
	f.IntVar(&a.test.Bytes, "bytes", 1024, "`size` of an item")
	f.Float64Var(&a.test.Rate, "rate", 0, "`requests` per second (default: no limit)")
	f.IntVar(&a.test.Parallel, "parallel", 16, "`number` of parallel requests")
	f.DurationVar(&a.test.For, "for", 30*time.Second, "`time` of the test")
	f.Uint64Var(&a.test.Seed, "seed", 1, "`seed` of the requests")
}

// scaletestAnswer is its result.
type scaletestAnswer struct {
	Settings *charge.AtScale `json:"settings,omitempty"`
	Report   *scaleReport    `json:"report,omitempty"`
}

func (c *command) costScaletest(args []string) error {
	var a scaletestAsked
	_, asJSON, err := c.costFlags("scaletest", args, 0, 0, a.flags)
	if err != nil {
		return err
	}
	out, err := c.scaletest(&a)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(out)
	}
	if s := out.Settings; s != nil {
		c.showPartitions("the grown table", s.Grown)
		fmt.Fprintf(c.stdout,
			"create an empty table with %s RCU and %s WCU, provisioned, which makes as many partitions;\n",
			number(s.Create.RCU), number(s.Create.WCU))
		fmt.Fprintf(c.stdout, "then lower it to %s RCU and %s WCU, and test on it: each partition has the capacity "+
			"of one of the grown table\n", number(s.Then.RCU), number(s.Then.WCU))
	}
	if out.Report != nil {
		c.showReport(out.Report)
	}
	return nil
}

func (c *command) scaletest(a *scaletestAsked) (out scaletestAnswer, err error) {
	if a.size == 0 && a.rcu == 0 && a.wcu == 0 && a.test.Table == "" {
		return out, usagef("no settings and no table: add -size, -rcu and -wcu of the grown table, or -table " +
			"to test on, or both")
	}
	if a.size != 0 || a.rcu != 0 || a.wcu != 0 {
		if a.size == 0 || a.rcu == 0 && a.wcu == 0 {
			return out, usagef("the settings of an empty table follow from the size and capacity of the grown " +
				"one: add -size, and -rcu, -wcu or both")
		}
		s, err := charge.Capacity{Bytes: a.size * (1 << 30), RCU: a.rcu, WCU: a.wcu}.AtScale()
		if err != nil {
			return out, err
		}
		out.Settings = &s
	}
	if a.test.Table == "" {
		return out, nil
	}
	if err := a.test.Check(); err != nil {
		return out, err
	}
	if a.test.Client, err = c.client(&a.remote, 1); err != nil {
		return out, err
	}
	out.Report, err = a.test.Run(c.ctx)
	return out, err
}

func (c *command) showReport(r *scaleReport) {
	seconds := r.Took.Seconds()
	fmt.Fprintf(c.stdout, "%s in %v, %s a second: %s RCU and %s WCU a second\n",
		plural(r.Requests, "request"), r.Took.Round(time.Millisecond), number(float64(r.Requests)/seconds),
		number(r.RCU/seconds), number(r.WCU/seconds))
	fmt.Fprintf(c.stdout, "latency: %v for half, %v for 99 %%, %v at most\n", r.P50.Round(time.Microsecond),
		r.P99.Round(time.Microsecond), r.Longest.Round(time.Microsecond))
	fmt.Fprintf(c.stdout, "%d throttled, %d failed\n", r.Throttled, r.Failed)
	if r.Err != nil {
		fmt.Fprintf(c.stdout, "the first failure: %v\n", r.Err)
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "hottest key\trequests\tshare\tthrottled\tunits\n")
	for _, k := range r.Hottest {
		fmt.Fprintf(w, "%s\t%d\t%s %%\t%d\t%s\n", k.Key, k.Requests, number(100*k.Share), k.Throttled, number(k.Units))
	}
	_ = w.Flush()
	if len(r.Hottest) > 0 && r.Hottest[0].Throttled > 0 {
		fmt.Fprintf(c.stdout, "%s gets more requests than its partition serves: spread it over several keys "+
			"(shards=), or cache its reads\n", r.Hottest[0].Key)
	}
}
