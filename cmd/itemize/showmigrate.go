package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/migration/report"
	"github.com/itemize/itemize/migrate"
)

// path resolves a path of the command line.
func (c *command) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

func (c *command) showMigrationPlan(p *report.Plan, dead []migrate.DeadLetter, basis string) {
	what := plural(p.Entities, "monolith") + " read"
	switch {
	case p.Sampled && p.Of == 0:
		what += ", of an unknown number"
	case p.Sampled:
		what += fmt.Sprintf(", of about %s: the figures are scaled", number(float64(p.Of)))
	}
	if p.Marked > 0 {
		what += fmt.Sprintf("; %d moved before", p.Marked)
	}
	if p.Foreign > 0 {
		what += fmt.Sprintf("; %s are not monoliths, and stay", plural(p.Foreign, "item"))
	}
	fmt.Fprintln(c.stdout, what)
	w := c.table()
	fmt.Fprintf(w, "items\tnumber\tbytes\teach\n")
	for _, name := range slices.Sorted(maps.Keys(p.Kinds)) {
		k := p.Kinds[name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, number(k.Items), number(k.Bytes), number(k.Bytes/k.Items))
	}
	fmt.Fprintf(w, "all\t%s\t%s\t\n", number(p.Items), number(p.ItemBytes))
	_ = w.Flush()
	indexes := ""
	if p.Indexes > 0 {
		indexes = fmt.Sprintf("; %s of these in secondary indexes", number(p.Indexes))
	}
	fmt.Fprintf(c.stdout, "run: %s WCU (%s for items, %s for the marks of monoliths, %s for claims%s) and %s RCU: %s "+
		"on demand\n",
		number(p.WCU), number(p.Parts), number(p.Marks), number(p.Claims), indexes, number(p.RCU), dollars(p.Price))
	fmt.Fprintf(c.stdout, "verify: %s; a rollback of all: %s for its writes\n", dollars(p.Verify), dollars(p.Back))
	fmt.Fprintln(c.stdout, basis)
	if p.Time > 0 {
		fmt.Fprintf(c.stdout, "time at that rate: %v\n", p.Time.Round(time.Second))
	}
	for _, m := range p.Means {
		price := "by its bytes, at an unknown price"
		if m.Price != nil {
			price = dollars(*m.Price)
		}
		fmt.Fprintf(c.stdout, "%s in place of %s (%s): %s\n", m.Name, m.InPlaceOf, dollars(m.Costs), price)
	}
	if p.Before > 0 {
		fmt.Fprintf(c.stdout, "updates: %s WCU a month before, %s after; paid for after %s updates\n", number(p.Before),
			number(p.After), number(p.PaidFor))
	}
	fmt.Fprintf(c.stdout, "reading both layouts of one entity (migrate.Both): up to %s RCU more\n", number(p.BothRCU))
	if len(p.Residue) > 0 {
		fmt.Fprintf(c.stdout, "stored in a note on the root, so that a rollback is exact: %s\n", withCounts(p.Residue))
	}
	c.showDeadLetters(p.Dead, dead)
	for _, advice := range p.Advice {
		fmt.Fprintf(c.stdout, "note: %s\n", advice)
	}
}

// withCounts lists names with their numbers.
func withCounts(m map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s (%d)", name, m[name]))
	}
	return strings.Join(all, ", ")
}

func (c *command) showDeadLetters(n int, all []migrate.DeadLetter) {
	for _, d := range all {
		what := "cannot be moved"
		if d.Left {
			what = "was left"
		}
		fmt.Fprintf(c.stdout, "%s %s: %s\n", d.Key, what, strings.Join(d.Reasons, "; "))
	}
	if n > len(all) && len(all) > 0 {
		fmt.Fprintf(c.stdout, "... and %d more\n", n-len(all))
	}
}

func (c *command) showMigrated(r *migrate.Report) {
	fmt.Fprintf(c.stdout, "%s in %v: %d moved, %d moved before, %d cannot be moved, %d left for the next run\n",
		number(float64(r.This.Entities))+" entities", r.Elapsed.Round(time.Millisecond), r.This.Moved, r.This.Before,
		r.This.Dead, r.This.Conflicts)
	fmt.Fprintf(c.stdout, "%s put; %s WCU and %s RCU, of which DynamoDB reported %s and %s\n",
		plural(r.This.Items, "item"), number(r.This.WCU), number(r.This.RCU), number(r.This.ConsumedWCU),
		number(r.This.ConsumedRCU))
	if r.This.Foreign > 0 {
		fmt.Fprintf(c.stdout, "left alone: %s that are not monoliths, or roots without one\n",
			plural(r.This.Foreign, "item"))
	}
	if r.This.Dead+r.This.Conflicts > 0 {
		fmt.Fprintln(c.stdout, "entities that were not moved, and the reasons: itemize migrate status")
	}
}

func (c *command) showReturned(r *migrate.Report) {
	fmt.Fprintf(
		c.stdout,
		"%s entities in %v: %d are monoliths again, %d were before, %d cannot be, %d left for the next "+
			"rollback\n",
		number(float64(r.This.Entities)),
		r.Elapsed.Round(time.Millisecond),
		r.This.Moved,
		r.This.Before,
		r.This.Dead,
		r.This.Conflicts,
	)
	fmt.Fprintf(c.stdout, "%s WCU and %s RCU, of which DynamoDB reported %s and %s\n", number(r.This.WCU),
		number(r.This.RCU), number(r.This.ConsumedWCU), number(r.This.ConsumedRCU))
	if r.This.Foreign > 0 {
		fmt.Fprintf(c.stdout, "left alone: %s that are not monoliths, or roots without one\n",
			plural(r.This.Foreign, "item"))
	}
	if r.This.Dead+r.This.Conflicts > 0 {
		fmt.Fprintln(c.stdout, "entities that are not monoliths, and the reasons: itemize migrate status")
	}
}

func (c *command) showImported(x *migrate.Imported) {
	fmt.Fprintf(c.stdout, "%s: %d cannot be moved, %d were moved before; %s\n", plural(x.Entities, "monolith"), x.Dead,
		x.Before, plural(x.Files, "file"))
	w := c.table()
	fmt.Fprintf(w, "table\titems\tbytes\n")
	for _, name := range slices.Sorted(maps.Keys(x.Items)) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, number(float64(x.Items[name])), number(float64(x.Bytes[name])))
	}
	_ = w.Flush()
	c.showDeadLetters(x.Dead, x.DeadLetters)
}

func (c *command) showVerified(v *migrate.Verification) {
	fmt.Fprintf(c.stdout, "%s: %d as they were moved, %d written since, %d deleted, %d not moved, %d wrong; %s RCU\n",
		plural(v.Entities, "monolith"), v.Same, v.Changed, v.Deleted, v.Unmoved, v.Wrong, number(v.RCU))
	for _, f := range v.Findings {
		fmt.Fprintf(c.stdout, "%s: %s\n", f.Key, strings.Join(f.Reasons, "; "))
	}
	switch {
	case !v.Complete:
		fmt.Fprintln(c.stdout, "incomplete: a cut-over asks for one pass over all segments")
	case v.Clean():
		fmt.Fprintln(c.stdout, "clean")
	}
}

func (c *command) showMigrationStatus(s *migrate.Status) {
	phase := map[string]string{
		"": "not begun", "running": "running", "cutOver": "cut over", "rollingBack": "rolling back",
		"removing": "removing the old layout", "done": "done: the old layout was removed",
	}[s.Phase]
	if s.Phase != "" {
		phase += " since " + s.Since.Format(time.RFC3339)
	}
	fmt.Fprintln(c.stdout, phase)
	fmt.Fprintf(
		c.stdout,
		"%d of %d segments done; at their last checkpoints %d entities looked at, %d moved, %d moved "+
			"before, into %d items, for %s WCU\n",
		s.Done,
		s.Of,
		s.Entities,
		s.Moved,
		s.Before,
		s.Items,
		number(s.WCU),
	)
	if v := s.Verified; v != nil {
		found := map[bool]string{true: "clean", false: "it found faults"}[v.Clean()]
		fmt.Fprintf(c.stdout, "verified at %s: %s\n", v.Ended.Format(time.RFC3339), found)
	}
	c.showDeadLetters(len(s.DeadLetters), s.DeadLetters)
}

// progressOf returns a function that shows the progress: a line that is overwritten on a terminal, log
// lines in a pipe, and lines of JSON with -json.
func (c *command) progressOf(a *migrateAsked) func(report.Progress) {
	f, _ := c.terminal.(*os.File)
	terminal := false
	if f != nil {
		info, err := f.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	c.bar = terminal && !a.asJSON
	var lastShown time.Time
	var last report.Progress
	return func(p report.Progress) {
		now := time.Now()
		switch {
		case a.asJSON:
			_ = json.NewEncoder(c.stderr).Encode(p)
		case terminal:
			fmt.Fprintf(c.terminal, clearLine+"%s %s", progressBar(p), escaped(progressText(p)))
			if p.Ended {
				fmt.Fprintln(c.stderr)
			}
		case p.Ended && p.Entities > 0 && p.Entities == last.Entities && p.Items == last.Items:
		case p.Ended || now.Sub(lastShown) >= logEvery:
			lastShown, last = now, p
			fmt.Fprintln(c.stderr, now.UTC().Format(time.RFC3339), progressText(p))
		}
	}
}

// logEvery is the interval of log lines.
const logEvery = 10 * time.Second

func progressBar(p report.Progress) string {
	const width = 20
	done := 0
	if p.Of > 0 {
		done = min(width, p.Done*width/p.Of)
	}
	return "[" + strings.Repeat("#", done) + strings.Repeat(".", width-done) + "]"
}

func progressText(p report.Progress) string {
	text := fmt.Sprintf("%s entities", number(float64(p.Entities)))
	switch {
	case p.Of == 0:
		text += " of an unknown number"
	case p.Done == p.Entities:
		text += " of about " + number(float64(p.Of))
	default: // items that are no entities, or an earlier run
		text = fmt.Sprintf("%s of about %s items, %s", number(float64(p.Done)), number(float64(p.Of)), text)
	}
	text += fmt.Sprintf(", %s items, %s a second, %s WCU (%s a second), %s", number(float64(p.Items)),
		number(p.EntitiesPerSecond), number(p.WCU), number(p.WCUPerSecond), dollars(p.Spent))
	if p.Dead+p.Conflicts > 0 {
		text += fmt.Sprintf(", %d not moved", p.Dead+p.Conflicts)
	}
	if p.Left > 0 {
		text += ", about " + p.Left.Round(time.Second).String() + " left"
	}
	return text
}
