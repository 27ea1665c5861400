package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/advice/charge"
)

// capacityAsked has the flags of cost capacity.
type capacityAsked struct {
	size, rcu, wcu, share, skew float64
	keys, items, bytes          int
	in                          time.Duration
}

func (a *capacityAsked) flags(f *flags) {
	f.Float64Var(&a.size, "size", 0, "size of the table in `GB`")
	f.Float64Var(&a.rcu, "rcu", 0, "read capacity, in `units` per second")
	f.Float64Var(&a.wcu, "wcu", 0, "write capacity, in `units` per second")
	f.Float64Var(&a.share, "share", 0, "`share` of the requests for the busiest key, 0 to 1")
	f.IntVar(&a.keys, "keys", 0, "`number` of partition keys, with -skew")
	f.Float64Var(&a.skew, "skew", 0, "Zipf `exponent`: the key of rank k gets a share of 1/k^skew")
	f.IntVar(&a.items, "items", 0, "`number` of items to load, with -in")
	f.IntVar(&a.bytes, "bytes", 1024, "`size` of an item to load")
	f.Func("in", "`time` of the load, such as 30m", func(text string) (err error) {
		if a.in, err = time.ParseDuration(text); err != nil || a.in <= 0 {
			return errors.New("a time without a unit: write it like 30m or 2h")
		}
		return nil
	})
}

// capacityAnswer is its result.
type capacityAnswer struct {
	Load       float64            `json:"loadWcu,omitempty"`
	Partitions charge.Partitions  `json:"partitions"`
	AfterLoad  *charge.Partitions `json:"afterLoad,omitempty"`
	Hot        *charge.HotKey     `json:"hot,omitempty"`
}

// check refuses combinations of flags without a meaning.
func (a *capacityAsked) check() error {
	var errs []error
	if a.skew != 0 && a.keys == 0 {
		errs = append(errs, errors.New("-skew without -keys: write the number of partition keys"))
	}
	if a.share != 0 && a.keys != 0 {
		errs = append(errs,
			errors.New("-share and -keys: use one of them, since the busiest key's share follows from -keys"))
	}
	for name, v := range map[string]float64{"size": a.size, "rcu": a.rcu, "wcu": a.wcu} {
		if v < 0 {
			errs = append(errs, fmt.Errorf("-%s %v: write 0 or more", name, v))
		}
	}
	if a.items != 0 && a.in == 0 {
		errs = append(errs, errors.New("-items without -in: write the time of the load, such as -in 30m"))
	}
	if a.in != 0 && a.items == 0 {
		errs = append(errs, errors.New("-in without -items: write the number of items to load"))
	}
	if *a == (capacityAsked{bytes: a.bytes}) {
		errs = append(errs, errors.New("no flags: write -size, -rcu and -wcu, or -items and -in, or -keys"))
	}
	if errs != nil {
		return usageError{errors.Join(errs...)}
	}
	return nil
}

// answer computes the answer.
func (a *capacityAsked) answer() (out capacityAnswer, err error) {
	table := charge.Capacity{Bytes: a.size * (1 << 30), RCU: a.rcu, WCU: a.wcu}
	if a.items != 0 {
		if out.Load, out.AfterLoad, err = a.afterLoad(table); err != nil {
			return out, err
		}
	}
	if out.Partitions, err = table.Partitions(); err != nil {
		return out, err
	}
	if a.keys == 0 && a.share == 0 {
		return out, nil
	}
	var h charge.HotKey
	if a.share != 0 {
		h, err = table.Hot(a.share)
	} else {
		h, err = table.Hottest(a.keys, a.skew)
	}
	out.Hot = &h
	return out, err
}

// afterLoad returns the write capacity of a load, and the partitions of the table afterwards, with its
// own capacity.
func (a *capacityAsked) afterLoad(table charge.Capacity) (wcu float64, p *charge.Partitions, err error) {
	if wcu, err = charge.LoadIn(a.items, a.bytes, a.in); err != nil {
		return 0, nil, err
	}
	table.Bytes = max(table.Bytes, float64(a.items)*float64(a.bytes))
	load := table
	load.WCU = max(load.WCU, wcu)
	loaded, err := load.Partitions()
	if err != nil {
		return 0, nil, err
	}
	after, err := loaded.Then(table)
	return wcu, &after, err
}

func (c *command) costCapacity(args []string) error {
	var a capacityAsked
	_, asJSON, err := c.costFlags("capacity", args, 0, 0, a.flags)
	if err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return err
	}
	out, err := a.answer()
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(out)
	}
	c.showPartitions("the table", out.Partitions)
	if out.AfterLoad != nil {
		fmt.Fprintf(c.stdout, "to load %s of %s in %v: %s WCU\n", plural(a.items, "item"), plural(a.bytes, "byte"),
			a.in, number(out.Load))
		c.showPartitions("after it, with the table's own capacity", *out.AfterLoad)
	}
	if out.Hot != nil {
		c.showHot(*out.Hot)
	}
	return nil
}

// showHot prints the traffic of the busiest key, and the cure.
func (c *command) showHot(h charge.HotKey) {
	fmt.Fprintf(c.stdout, "the busiest key: %s%% of the requests", number(100*h.Share))
	switch {
	case h.Share > 0 && h.RCU == 0 && h.WCU == 0:
		fmt.Fprintf(c.stdout,
			"; a partition serves it up to %s RCU or %s WCU of the table: add -rcu and -wcu for your load",
			number(cost.PartitionRCU/h.Share), number(cost.PartitionWCU/h.Share))
	case !h.Throttled:
		fmt.Fprintf(c.stdout, ", %s RCU, %s WCU; a partition serves it", number(h.RCU), number(h.WCU))
	default:
		fmt.Fprintf(c.stdout, ", %s RCU, %s WCU; more than a partition serves: spread it over %s", number(h.RCU),
			number(h.WCU), plural(h.Shards, "key"))
		if h.WCU <= cost.PartitionWCU {
			fmt.Fprint(c.stdout, ", or cache its reads")
		}
	}
	if h.Keys > 1 {
		fmt.Fprintf(c.stdout, "; of %s this is too much for the busiest: spread each", plural(h.Keys, "key"))
	}
	fmt.Fprintln(c.stdout)
}

func (c *command) showPartitions(what string, p charge.Partitions) {
	fmt.Fprintf(c.stdout, "%s: %s (%s by size, %s by throughput), each %s RCU and %s WCU; a burst of %s and %s\n",
		what, plural(p.Count, "partition"), number(p.BySize), number(p.ByThroughput), number(p.RCU), number(p.WCU),
		number(p.BurstRCU), number(p.BurstWCU))
}
