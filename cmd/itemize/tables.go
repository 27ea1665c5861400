package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/generator"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/model/tabledef"
)

// tables prints the tables of models.
func (c *command) tables(args []string) error {
	f := c.flags(help{
		"tables",
		"[packages]",
		"Print the tables of models, with indexes and time to live. Models of tests are left out. Models " +
			"that share a table are joined. With -events, add the event source mappings of Lambda functions.",
		[]string{
			"tables ./...", "tables -format terraform ./store", "tables -time 2026-03-01 ./store",
			"tables -events -models User,Order ./store", "tables -stream -models User -leases stream-leases ./store",
		},
	})
	asJSON, tags := f.common()
	format := f.String("format", "cloudformation", "cloudformation, terraform, or json (CreateTable)")
	day := f.String("time", time.Now().UTC().Format(time.DateOnly),
		"`day` for tables that rotate by time (default: today)")
	stream := f.Bool("stream", false, "with change streams of old and new images, for -models or all")
	events := f.Bool("events", false, "with a stream and an event source mapping for each table")
	only := f.String("models", "", "`names` of models, for -stream and -events (default: all)")
	leases := f.String("leases", "", "with a table of this `name` for the leases of stream consumers")
	if err := f.parse(args); err != nil {
		return err
	}
	formats := []string{"cloudformation", "terraform", "json"}
	if !slices.Contains(formats, *format) {
		return usageError{unknown("format", *format, "", formats, "write "+strings.Join(formats, ", "))}
	}
	at, err := time.Parse(time.DateOnly, *day)
	if err != nil || at.Year() < 2 {
		return usageError{fmt.Errorf("-time %s: not a day: write it like 2026-11-22", *day)}
	}
	packages, err := generator.Load(c.ctx, generator.Config{Dir: c.dir, BuildFlags: buildFlags(*tags)}, patterns(f)...)
	if err != nil {
		return err
	}
	switch {
	case *only != "" && !*events && !*stream:
		return usagef("-models: it selects the tables with a stream, or the models of a function: write -stream or " +
			"-events, too")
	case *events && *format == "json":
		return usagef("-events: only templates have mappings: write -format cloudformation or terraform")
	}
	var sets [][]*tabledef.Table
	var models []*schema.Entity
	var faults []generator.Diagnostic
	for _, p := range packages {
		faults = append(faults, p.Diagnostics...)
		if strings.HasSuffix(p.Name, "_test") {
			continue
		}
		for _, m := range p.Models {
			if m.Schema == nil || strings.HasSuffix(m.File, "_test.go") {
				continue // faults are printed below, and tests make their own tables
			}
			sets = append(sets, append(tabledef.Of(m.Schema, tableNames(m.Schema, at)), tabledef.PartsOf(m.Schema)...))
			models = append(models, m.Schema)
		}
	}
	if len(faults) > 0 {
		return c.report(faults, *asJSON)
	}
	all, err := tabledef.Merge(sets...)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("no models in %s: a model is a struct with a ddb:\"pk=...\" tag",
			strings.Join(patterns(f), " "))
	}
	if models, err = modelsNamed(models, *only); err != nil {
		return err
	}
	names := func(e *schema.Entity) []string { return tableNames(e, at) }
	var mappings []tabledef.Mapping
	if *events {
		mappings = tabledef.Events(models, names)
	}
	for _, d := range all {
		streamed := *stream && slices.ContainsFunc(models, func(e *schema.Entity) bool {
			return slices.Contains(names(e), d.Name)
		})
		d.Stream = streamed || slices.ContainsFunc(mappings, func(m tabledef.Mapping) bool { return m.Table == d.Name })
	}
	if all, err = withLeases(all, *leases); err != nil {
		return err
	}
	return c.printTables(*format, all, mappings)
}

func (c *command) printTables(format string, all []*tabledef.Table, mappings []tabledef.Mapping) error {
	switch format {
	case "json":
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "\t")
		for _, d := range all {
			if err := e.Encode(createTable(d)); err != nil {
				return err
			}
		}
	case "cloudformation":
		fmt.Fprint(c.stdout, tabledef.CloudFormation(all, mappings))
	case "terraform":
		fmt.Fprint(c.stdout, tabledef.Terraform(all, mappings))
	}
	return nil
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// withLeases adds the table of leases, if it has a name.
func withLeases(all []*tabledef.Table, name string) ([]*tabledef.Table, error) {
	if slices.ContainsFunc(all, func(d *tabledef.Table) bool { return d.Name == name }) {
		return nil, fmt.Errorf("-leases %s: a model has this table, and each lease would be a record of its stream: "+
			"write another name", name)
	}
	if name == "" {
		return all, nil
	}
	if !tableName.MatchString(name) {
		return nil, usagef("-leases %s: no name of a table: use 3 to 255 letters, digits, _, . and -", name)
	}
	return append(all, tabledef.Leases(name)), nil
}

// modelsNamed returns the models with the names of a list, all for "".
func modelsNamed(all []*schema.Entity, list string) ([]*schema.Entity, error) {
	if list == "" {
		return all, nil
	}
	var out []*schema.Entity
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		n := len(out)
		var have []string
		for _, e := range all {
			if e.Name == name {
				out = append(out, e)
			}
			have = append(have, e.Name)
		}
		if len(out) == n {
			return nil, usageError{unknown("model", name, "", have, "write one of "+strings.Join(have, ", "))}
		}
	}
	return out, nil
}

// tableNames returns the names of a model's tables at a time.
func tableNames(e *schema.Entity, at time.Time) []string {
	var names []string
	for _, t := range e.Tables {
		name := t.Name
		if e.Periods != nil {
			period, err := e.Periods.Of(key.OfTime(at))
			if err != nil {
				panic(err) // its year has four digits
			}
			name = e.Periods.Named(name, period)
		}
		names = append(names, name)
	}
	return names
}

// createTable returns a CreateTable request in the form of the AWS command line (--cli-input-json).
func createTable(d *tabledef.Table) map[string]any {
	b, err := json.Marshal(d.Input())
	if err != nil {
		panic(err) // it holds strings
	}
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		panic(err)
	}
	return pruned(all)
}

// pruned removes unset values.
func pruned(m map[string]any) map[string]any {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case string:
			if v == "" {
				delete(m, k)
			}
		case map[string]any:
			if len(pruned(v)) == 0 {
				delete(m, k)
			}
		case []any:
			for _, x := range v {
				if x, ok := x.(map[string]any); ok {
					pruned(x)
				}
			}
		}
	}
	return m
}
