package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/generator"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// stores has the flags that say where the items and values of models are stored.
type stores struct {
	remote
	tables, buckets map[string]string
	records         string
}

// gcAsked has the flags of itemize gc.
type gcAsked struct {
	stores
	model        string
	remove, scan bool
	grace        time.Duration
	rate         float64
	from         string
}

func (a *stores) flags(f *flags) {
	a.tables, a.buckets = map[string]string{}, map[string]string{}
	a.remote.flags(f)
	f.StringVar(&a.s3, "s3-endpoint", "", "`URL` of S3 (default: that of the region)")
	renames := func(to map[string]string) func(string) error {
		return func(s string) error {
			name, real, ok := strings.Cut(s, "=")
			if !ok {
				return errors.New("no = in it: write NAME=REAL")
			}
			to[name] = real
			return nil
		}
	}
	f.Func("table", "real name of a table of the model: `NAME=REAL`; repeatable", renames(a.tables))
	f.Func("bucket", "real name of a bucket of the model: `NAME=REAL`; repeatable", renames(a.buckets))
	f.StringVar(&a.records, "records", "", "`table` of mapper.LargeRecords, if programs use that option")
}

func (a *gcAsked) flags(f *flags) {
	a.stores.flags(f)
	f.StringVar(&a.model, "model", "", "`name` of the model, if the packages have several with large values")
	f.BoolVar(&a.remove, "delete", false, "delete unreferenced values; the default only reports")
	f.DurationVar(&a.grace, "grace", time.Hour,
		"`time` that unreferenced values stay, at least 20m")
	f.BoolVar(&a.scan, "scan", false,
		"also search tables of parts and buckets for values without a record")
	f.Float64Var(&a.rate, "rate", 0, "capacity `units` per second, reads and writes together (default: no limit)")
	f.StringVar(&a.from, "from", "", "continue where an earlier run ended, at its `next`")
}

// least is the smallest grace: a signed request may arrive that much later.
const least = 20 * time.Minute

// check refuses invalid flags, and those that would act in two places.
func (a *gcAsked) check() error {
	switch {
	case a.rate < 0:
		return usagef("-rate %v: write a number of capacity units per second, or leave it out for no limit", a.rate)
	case a.grace < least:
		return usagef("-grace %v: a signed request may arrive up to %v later: write that or more", a.grace, least)
	case a.scan && a.remove && (a.endpoint == "") != (a.s3 == ""):
		return usagef("-scan -delete with one of -endpoint and -s3-endpoint: objects would be compared with " +
			"the tables of another place: use both, or neither")
	}
	return nil
}

// options returns the options of the mapper, as programs use them.
func (c *command) options(a *stores) ([]mapper.Option, error) {
	named := func(names map[string]string) func(string) string {
		return func(declared string) string {
			if real, ok := names[declared]; ok {
				return real
			}
			return declared
		}
	}
	client, err := c.bucket(&a.remote)
	if err != nil {
		return nil, err
	}
	options := []mapper.Option{
		mapper.Tables(named(a.tables)), s3store.Objects(client, s3store.Buckets(named(a.buckets))),
		compress.Snappy(), compress.Zstd(), compress.LZ4(), compress.LZO(),
	}
	if a.records != "" {
		options = append(options, mapper.LargeRecords(a.records))
	}
	return options, nil
}

// refuseUnknown refuses names of tables and buckets that the model does not have.
func (a *stores) refuseUnknown(models ...*schema.Entity) error {
	var tables, buckets, named []string
	for _, e := range models {
		named = append(named, e.Name)
		for _, t := range e.Tables {
			tables = append(tables, t.Name)
		}
		for _, u := range e.Uniques {
			if u.Table != "" {
				tables = append(tables, u.Table)
			}
		}
		for _, it := range e.Items {
			for _, x := range it.Attributes {
				if l := x.Large; l.External() && l.Bucket != "" {
					buckets = append(buckets, l.Bucket)
				} else if l.External() && l.Parts != "" {
					tables = append(tables, l.Parts)
				}
			}
		}
	}
	for _, x := range []struct {
		word    string
		renamed map[string]string
		names   []string
	}{{"table", a.tables, tables}, {"bucket", a.buckets, buckets}} {
		slices.Sort(x.names)
		for name := range x.renamed {
			switch {
			case len(x.names) == 0:
				return fmt.Errorf("-%s %s: %s has no %ss: leave it out", x.word, name, strings.Join(named, ", "),
					x.word)
			case !slices.Contains(x.names, name):
				return fmt.Errorf("-%s %s: %s has no %s of that name, only %s", x.word, name,
					strings.Join(named, ", "), x.word, strings.Join(slices.Compact(x.names), ", "))
			}
		}
	}
	return nil
}

// gc collects unreferenced large values.
func (c *command) gc(args []string) error {
	f := c.flags(help{
		"gc", "[packages]", "Find parts and objects of large values (chunk, s3=) that no item points " +
			"to. With -delete, delete those that\n" +
			"an earlier run with -delete found at least -grace ago. Run it regularly, for example every hour.",
		[]string{"gc ./store", "gc -table Reply=prod-Reply -bucket images=prod-images -delete ./store"},
	})
	asJSON, tags := f.common()
	var a gcAsked
	a.flags(f)
	if err := f.parse(args); err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return usageError{err}
	}
	_, e, err := c.one(external, a.model, patterns(f), *tags, *asJSON)
	if err != nil {
		return err
	}
	if err := a.refuseUnknown(e); err != nil {
		return err
	}
	client, err := c.client(&a.remote, usualAttempts)
	if err != nil {
		return err
	}
	of, err := c.options(&a.stores)
	if err != nil {
		return err
	}
	options := []large.CollectOption{large.Grace(a.grace), large.Resume(a.from)}
	if a.rate != 0 {
		options = append(options, large.Rate(a.rate))
	}
	if a.remove {
		options = append(options, large.Delete())
	}
	if a.scan {
		options = append(options, large.Scan())
	}
	_, collector, err := modelOf(client, e, of)
	if err != nil && a.records == "" && strings.Contains(err.Error(), "mapper.LargeRecords") {
		return fmt.Errorf("%w; or name it here by -records", err)
	}
	if err != nil {
		return err
	}
	done, err := door.Large.Collect(c.ctx, collector, options)
	if *asJSON {
		enc := json.NewEncoder(c.stdout)
		enc.SetIndent("", "\t")
		return errors.Join(err, enc.Encode(done))
	}
	c.collected(done, a.remove)
	return err
}

// external are models with external values.
var external = modelKind{
	is:   func(e *schema.Entity) bool { return slices.ContainsFunc(e.Items, (*schema.Item).HasExternal) },
	have: "external values", cure: "nothing to collect without chunk or s3= in a tag",
}

// modelKind are the models that a command is for.
type modelKind struct {
	is func(e *schema.Entity) bool
	// have is what they have, and cure what to do if no model has it.
	have, cure string
}

// one returns the model of a kind in packages, by its name if that is set, and its full name.
func (c *command) one(k modelKind, name string, packages []string, tags string, asJSON bool) (full string,
	e *schema.Entity, err error,
) {
	found, err := c.models(packages, tags, asJSON, func(string, *schema.Entity) bool { return true })
	if err != nil {
		return "", nil, err
	}
	where := strings.Join(packages, " ")
	var named, all, names []string
	for _, full := range slices.Sorted(maps.Keys(found)) {
		is := k.is(found[full])
		if is {
			all = append(all, full)
		}
		if name == "" || name == found[full].Name || name == full || name == path.Base(full) {
			if named = append(named, full); is {
				names = append(names, full)
			}
		}
	}
	switch {
	case len(names) == 1:
		return names[0], found[names[0]], nil
	case len(names) > 1:
		err = fmt.Errorf("the models %s in %s have %s: choose one by -model, with its package if two have one name",
			strings.Join(names, ", "), where, k.have)
	case name != "" && len(named) > 0:
		err = fmt.Errorf("the model %s in %s has no %s: %s", name, where, k.have, k.cure)
	case name != "" && len(all) > 0:
		err = fmt.Errorf("no model in %s has the name %s: write one of %s", where, name, strings.Join(all, ", "))
	default:
		err = fmt.Errorf("no model in %s has %s: %s", where, k.have, k.cure)
	}
	return "", nil, err
}

// models returns the models of packages that are wanted, by their packages and names.
func (c *command) models(packages []string, tags string, asJSON bool,
	wanted func(full string, e *schema.Entity) bool,
) (map[string]*schema.Entity, error) {
	loaded, err := generator.Load(c.ctx, generator.Config{Dir: c.dir, BuildFlags: buildFlags(tags)}, packages...)
	if err != nil {
		return nil, err
	}
	var faults []generator.Diagnostic
	found := map[string]*schema.Entity{}
	for _, p := range loaded {
		faults = append(faults, p.Diagnostics...)
		for _, m := range p.Models {
			if m.Schema == nil {
				continue
			}
			if full := p.Path + "." + m.Schema.Name; wanted(full, m.Schema) {
				found[full] = m.Schema
			}
		}
	}
	if len(faults) > 0 {
		return nil, c.report(faults, asJSON)
	}
	return found, nil
}

// collected prints the result of a collection.
func (c *command) collected(done *extern.Report, acted bool) {
	printf := func(format string, args ...any) { fmt.Fprintf(c.stdout, format+"\n", args...) }
	printf("%d values in %d records", done.Values, done.Records)
	line := func(n int, text string) {
		if n > 0 {
			printf("  %d %s", n, text)
		}
	}
	line(done.Writing, "records of running saves")
	line(done.Discarded, "records of saves that were not completed, discarded now")
	line(done.Waiting, "discarded records that wait for late requests")
	line(done.Unreferenced, "unreferenced values whose grace period has not ended")
	line(done.Referenced, "values that are referenced again")
	line(done.Foreign, "records of other models, tables and buckets than those named here, left alone")
	line(done.Unreadable, "items that are not records, or damaged, left alone")
	printf("removed %d values: %d parts, %d objects", done.Removed, done.Parts, done.Objects)
	if s := done.Strays; s != nil {
		printf("scanned: %d values, %d without a record", s.Seen, s.Unrecorded)
		line(s.Pointed, "of them are referenced, and stay")
		line(s.Foreign, "of them are of other models, or of keys too long for a decision, and stay")
		line(s.Unrecorded-s.Pointed-s.Foreign, "of them are unreferenced: "+
			fmt.Sprintf("removed %d parts, %d objects", s.Parts, s.Objects))
		line(s.Uploads, "uploads that were not completed"+map[bool]string{true: ", aborted"}[acted])
	}
	printf("it took %d requests, %v RCU, %v WCU, and in S3 %d gets and lists, %d deletes", done.Requests, done.RCU,
		done.WCU,
		done.S3.Gets, done.S3.Deletes)
	if done.Next != "" && done.Requests > 0 {
		printf("continue with -from %s", done.Next)
	}
	if !acted {
		printf("nothing was written: add -delete to delete")
	}
}

// modelOf returns the model of a schema, and its collector. The error is of the collector if there is a model.
func modelOf(client mapper.Client, e *schema.Entity, options []mapper.Option) (*model.Model, *extern.Collector, error) {
	g, m, err := door.Mapper.EngineOf(client, e, options)
	if err != nil {
		return nil, nil, err
	}
	collector, err := g.Collector()
	return m, collector, err
}
