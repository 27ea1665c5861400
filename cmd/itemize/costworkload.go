package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/advice/discover"
	"github.com/itemize/itemize/internal/advice/trace"
)

// costWorkload runs itemize cost workload.
func (c *command) costWorkload(args []string) error {
	f := c.flags(costHelp["workload"])
	var sizes, kind, table string
	var metrics list
	var entities int
	f.StringVar(&kind, "kind", "", "`name` of the model, or of the kind of items, if the recordings have several")
	f.StringVar(&table, "table", "", "`name` of the table, if kinds of several tables have the same name")
	f.StringVar(&sizes, "sizes", "", "`file` with a workload whose attributes and sizes are used, as itemize discover "+
		"-write and itemize cost measure -json write it")
	f.IntVar(&entities, "entities", 0, "`number` of all entities (default: an estimate of those that were used)")
	f.Var(&metrics, "metrics", "`file` with the output of get-metric-data, get-metric-statistics or "+
		"get-insight-rule-report: the requests are scaled to it; the flag can be repeated")
	files, err := f.parseAll(args)
	switch {
	case err != nil:
		return err
	case len(files) == 0 && (sizes == "" || len(metrics) == 0):
		return usagef("cost workload takes recordings (package record), or -sizes with -metrics")
	case entities < 0:
		return usagef("-entities %d: write 1 or more", entities)
	}
	m, err := c.metrics(metrics)
	if err != nil {
		return err
	}
	if entities == 0 {
		entities = m.Keys
	}
	var base workload
	if sizes != "" {
		if base, err = c.workload(sizes, "", false); err != nil {
			return err
		}
	}
	w, notes, inTable := base.Workload, []string(nil), ""
	var all *trace.File
	if len(files) > 0 {
		var k *trace.Kind
		if all, k, err = c.recordings(files, kind, table); err != nil {
			return err
		}
		if w, notes, err = all.Workload(k, entities, base.Workload); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(files, " "), err)
		}
		inTable = k.Table
	} else if entities > 0 {
		w.Entities = entities
	}
	if len(metrics) > 0 {
		more, err := m.Scale(&w, all, inTable)
		if err != nil {
			return err
		}
		notes = append(notes, more...)
	}
	for _, n := range notes {
		fmt.Fprintf(c.stderr, "note: %s\n", n)
	}
	text, err := discover.WorkloadText(w)
	if err == nil {
		_, err = c.stdout.Write(text)
	}
	return err
}

// list is a flag that can be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// metrics reads the answers of CloudWatch.
func (c *command) metrics(files []string) (m trace.Metrics, err error) {
	for _, file := range files {
		text, err := c.read(file)
		if err == nil {
			err = m.Add(filepath.Base(file), text)
		}
		if err != nil {
			return m, fmt.Errorf("%s: %w", file, err)
		}
	}
	return m, nil
}

// recordings reads and merges recordings, and finds the kind of entities with a name.
func (c *command) recordings(files []string, kind, table string) (*trace.File, *trace.Kind, error) {
	var all []*trace.File
	read := map[string]string{}
	for _, file := range files {
		text, err := c.read(file)
		if err != nil {
			return nil, nil, err
		}
		if other, ok := read[string(text)]; ok {
			return nil, nil, fmt.Errorf("%s and %s are the same recording: pass it once", other, file)
		}
		read[string(text)] = file
		f, err := trace.Read(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s is not a recording: %w (record.Recorder.WriteFile writes one)", file, err)
		}
		all = append(all, f)
	}
	f := trace.Merge(all...)
	var names []string
	found := f.Kinds
	for _, k := range f.Kinds {
		names = append(names, fmt.Sprintf("%q (table %s)", k.Name, k.Table))
	}
	found = slices.DeleteFunc(slices.Clone(found), func(k *trace.Kind) bool {
		return kind != "" && k.Name != kind || table != "" && k.Table != table
	})
	switch {
	case len(names) == 0:
		return nil, nil, errors.New("the recordings have no operations: record longer, with a higher " +
			"record.Options.Rate, " +
			"or set record.Options.Keys if the program only puts items")
	case len(found) == 0:
		return nil, nil, fmt.Errorf("no kind %q in that table: the recordings have %s", kind, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, nil, usagef("the recordings have %s: name one with -kind, and -table", strings.Join(names, ", "))
	}
	return f, found[0], nil
}
