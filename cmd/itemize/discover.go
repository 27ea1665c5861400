package main

import (
	"errors"
	"fmt"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gertd/go-pluralize"
	"golang.org/x/mod/modfile"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/discover"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/request"
)

// discoverAsked has the flags of itemize discover.
type discoverAsked struct {
	remote
	sample             int
	plan, force        bool
	rate               float64
	key                string
	workload, typeName string
	name               string
	mix                discover.Mix
	prices             string
	write, page        string
}

func (a *discoverAsked) flags(f *flags) {
	a.remote.flags(f)
	f.StringVar(&a.s3, "s3-endpoint", "", "`URL` of S3 (default: that of the region)")
	f.IntVar(&a.sample, "sample", 1000, "`number` of items to read, at random places of the table; 0 for all")
	f.Float64Var(&a.rate, "rate", 0, "`RCU` per second (default: no limit)")
	f.BoolVar(&a.plan, "plan", false, "print the units of the scan, and read nothing")
	f.StringVar(&a.key, "key", "", "key `attributes` of the items in files: PK or PK,SK (default: found)")
	f.StringVar(&a.workload, "workload", "", "`file` with the operations of a month (default: -writes and -reads)")
	f.StringVar(&a.typeName, "type", "", "`name` of the entity type that the workload is for, and that alone is "+
		"written, also if its model saves little (default: all)")
	f.StringVar(
		&a.name,
		"name",
		"",
		"`name` of the type whose keys have no name, as Movie (default: that of the table)",
	)
	f.Float64Var(&a.mix.Writes, "writes", 30, "`number` of writes of a month to each entity, if there is no workload")
	f.Float64Var(&a.mix.Reads, "reads", 60, "`number` of reads of a month of each entity, if there is no workload")
	f.prices(&a.prices)
	f.StringVar(&a.write, "write", "", "write models.go with the models, and their workloads, to a `folder`")
	f.BoolVar(&a.force, "force", false, "with -write: replace existing files")
	f.StringVar(&a.page, "html", "", "also write an HTML page to `FILE`")
}

// check refuses invalid flags.
func (a *discoverAsked) check() error {
	switch {
	case a.sample < 0:
		return usagef("-sample %d: write a number of items, or 0 for all", a.sample)
	case a.rate < 0:
		return usagef("-rate %v: write a number of RCU per second, or leave it out for no limit", a.rate)
	case a.mix.Writes < 0 || a.mix.Reads < 0:
		return usagef("-writes %v, -reads %v: write 0 or more", a.mix.Writes, a.mix.Reads)
	case a.name != "" && !(token.IsIdentifier(a.name) && token.IsExported(a.name)):
		return usagef("-name %s: write a name of a Go type that begins with a capital, such as Movie", a.name)
	case a.force && a.write == "":
		return usagef("-force without -write: write the folder of the models")
	}
	return nil
}

// singular returns the singular of an English plural, such as Movies or OrderLines.
var singular = func() func(string) string {
	c := pluralize.NewClient()
	for _, plural := range []string{"caches", "aches", "niches"} {
		c.AddIrregularRule(strings.TrimSuffix(plural, "s"), plural)
	}
	for _, word := range []string{"aws", "dns", "https", "kubernetes", "sms", "species"} {
		c.AddUncountableRule(word)
	}
	return c.Singular
}()

// discover runs itemize discover.
func (c *command) discover(args []string) error {
	f := c.flags(help{
		"discover", "TABLE | FOLDER | s3://BUCKET/PREFIX/AWSDynamoDB/ID | FILE.json...",
		"Read a sample of a table, of an export, or of JSON files, and print what its items are, what they cost,\n" +
			"and what a model would save. With -write, write the model and print the next commands.\n" +
			"It prints the read units first. No value of the data is printed or written.",
		[]string{
			"discover users", "discover -sample 5000 -rate 50 -html users.html users",
			"discover -write ./store -workload month.json users", "discover -key id exported/*.json",
		},
	})
	asJSON := f.Bool("json", false, "print JSON")
	var a discoverAsked
	a.flags(f)
	rest, err := f.parseAll(args)
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usagef("no table and no files: write itemize discover TABLE")
	}
	o := discover.Options{Mix: a.mix, Type: a.typeName, Name: a.name, Singular: singular}
	basis := ""
	var billing forecast.Billing
	if o.Prices, basis, err = c.prices(a.prices, nil); err != nil {
		return err
	}
	if a.workload != "" {
		if o.Operations, billing, err = c.operations(a.workload); err != nil {
			return err
		}
	}
	if a.write != "" && !a.force {
		if _, err := os.Stat(c.path(filepath.Join(a.write, modelsName))); err == nil {
			return fmt.Errorf("%s exists: remove it, or pass -force to replace it", filepath.Join(a.write, modelsName))
		}
	}
	if a.page != "" {
		if _, err := os.Stat(filepath.Dir(c.path(a.page))); err != nil {
			return fmt.Errorf("-html %s: its folder does not exist: make it", a.page)
		}
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	s, err := c.sample(&a, rest)
	if err != nil || s == nil {
		return err
	}
	r, err := discover.Discover(s, o)
	if err != nil {
		return err
	}
	r.Features = billing
	basis += elsewhere(r.Prices, &a.remote)
	next := ""
	if a.write != "" {
		if why := r.Unwritten(); why != "" {
			next = "Nothing is written: " + why + "\n"
		} else if next, err = c.writeModels(r, &a, rest); err != nil {
			return err
		}
	}
	if a.page != "" {
		if err := writePage(c.path(a.page), discoverPage(r, basis, next)); err != nil {
			return err
		}
	}
	if *asJSON {
		return c.printJSON(r)
	}
	c.discovered(r, basis)
	if note := elsewhere(r.Prices, &a.remote); note != "" {
		fmt.Fprintf(c.stdout, "\n%s\n", basis)
	}
	if next != "" {
		fmt.Fprintf(c.stdout, "\n%s", next)
	}
	return nil
}

// memoryLimit is the memory in bytes near which the collector works more.
const memoryLimit = 220 << 20

// operations reads the operations and the billing of a workload.
func (c *command) operations(path string) (ops []forecast.Operation, b forecast.Billing, err error) {
	text, err := c.read(path)
	if err != nil {
		return nil, b, err
	}
	var f workloadFile
	if err := decode(text, &f); err != nil {
		return nil, b, fmt.Errorf("%s is not a workload: %w (docs/costs.md describes it; only its operations and "+
			"billing are used)",
			path, err)
	}
	if err := timed(text); err != nil {
		return nil, b, fmt.Errorf("%s: %w", path, err)
	}
	if len(f.Operations) == 0 {
		return nil, b, fmt.Errorf("%s has no operations: add reads and writes, with their number per month", path)
	}
	return f.Operations, f.Billing, nil
}

// sample reads the sample, nil for a plan.
func (c *command) sample(a *discoverAsked, from []string) (*discover.Sample, error) {
	keys := func(s *discover.Sample, err error) (*discover.Sample, error) {
		if err != nil {
			return nil, err
		}
		hash, sort, _ := strings.Cut(a.key, ",")
		return s, s.Keys(strings.TrimSpace(hash), strings.TrimSpace(sort))
	}
	if len(from) == 1 && strings.HasPrefix(from[0], "s3://") {
		files, err := c.files(&a.remote, from[0])
		if err != nil {
			return nil, err
		}
		return keys(discover.ReadExport(c.ctx, files, a.sample))
	}
	if _, err := os.Stat(c.path(from[0])); err != nil && len(from) > 1 {
		return nil, usagef("%s: not a file, and several names: write one table, or files that exist", from[0])
	}
	if _, err := os.Stat(c.path(from[0])); err == nil || strings.ContainsAny(from[0], `/\`) {
		if _, err := os.Stat(filepath.Join(c.path(from[0]), "manifest-summary.json")); err == nil {
			files, err := c.files(&a.remote, from[0])
			if err != nil {
				return nil, err
			}
			return keys(discover.ReadExport(c.ctx, files, a.sample))
		}
		paths := make([]string, len(from))
		for i, p := range from {
			paths[i] = c.path(p)
		}
		return keys(discover.ReadFiles(paths, a.sample))
	}
	if ext := filepath.Ext(from[0]); ext == ".json" || ext == ".jsonl" {
		return nil, fmt.Errorf("no file %s: check its name and folder", from[0])
	}
	if a.key != "" {
		return nil, usagef("-key %s: the keys of a table are known: leave it out", a.key)
	}
	client, err := c.client(&a.remote, usualAttempts)
	if err != nil {
		return nil, err
	}
	t, err := discover.Describe(c.ctx, client, from[0])
	if err != nil {
		return nil, err
	}
	n := t.Items
	if a.sample > 0 {
		n = min(n, a.sample)
	}
	if t.Items == 0 {
		fmt.Fprintln(c.stderr, unknownUnits(a.sample))
	} else {
		fmt.Fprintf(c.stderr, "to read %s of about %s items: about %s RCU\n", number(float64(n)),
			number(float64(t.Items)), number(math.Ceil(t.Predicted(a.sample))))
	}
	if a.plan {
		return nil, nil
	}
	var rate *request.Limiter
	if a.rate > 0 {
		rate = request.NewLimiter(a.rate)
	}
	return discover.ReadTable(c.ctx, client, t, a.sample, rate)
}

// modelsName is the file of the models.
const modelsName = "models.go"

// writeModels writes the models and their workloads, and returns the next commands.
func (c *command) writeModels(r *discover.Report, a *discoverAsked, from []string) (string, error) {
	files, err := r.Files(a.write, c.importPath(a.write))
	if err != nil {
		return "", err
	}
	dir := c.path(a.write)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, f := range files { // before one is written
		old, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err == nil && !a.force && string(old) != string(f.Content) {
			return "", fmt.Errorf("%s exists: remove it, or pass -force to replace it", filepath.Join(a.write, f.Name))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, f.Content, 0o644); err != nil {
			return "", err
		}
	}
	folder := a.write
	if !filepath.IsAbs(folder) && !strings.HasPrefix(folder, ".") {
		folder = "./" + folder
	}
	return r.Next(folder, flagsOf(a), len(from) == 1 && r.Table.Hash != "" && r.Table.Name == from[0]), nil
}

// importPath returns the import path of a folder, "" if no go.mod is above it.
func (c *command) importPath(folder string) string {
	dir, err := filepath.Abs(c.path(folder))
	if err != nil {
		return ""
	}
	for at, rest := dir, ""; ; {
		if text, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil {
			return strings.TrimSuffix(modfile.ModulePath(text)+"/"+rest, "/")
		}
		up := filepath.Dir(at)
		if up == at {
			return ""
		}
		at, rest = up, strings.TrimSuffix(filepath.Base(at)+"/"+rest, "/")
	}
}

// flagsOf are the flags of the endpoint, for the next commands.
func flagsOf(a *discoverAsked) string {
	var out strings.Builder
	if a.endpoint != "" {
		out.WriteString(" -endpoint " + naming.Shell(a.endpoint))
	}
	if a.region != "" && a.region != os.Getenv("AWS_REGION") {
		out.WriteString(" -region " + naming.Shell(a.region))
	}
	if a.profile != "" {
		out.WriteString(" -profile " + naming.Shell(a.profile))
	}
	return out.String()
}

// answerOf is the forecast of an entity type.
func answerOf(r *discover.Report, t *discover.Type, basis string) forecastAnswer {
	w := workload{Workload: *t.Workload, prices: r.Prices, basis: basis, billing: r.Billing()}
	return w.answer(t.Forecasts)
}

// assumption says which operations a forecast is for.
func assumption(r *discover.Report, t *discover.Type) string {
	if !t.Assumed {
		return "operations of the workload"
	}
	return fmt.Sprintf("assumed: %s writes and %s reads a month to each entity, each part alike; -workload names yours",
		number(r.Mix.Writes), number(r.Mix.Reads))
}

// discovered prints a report.
func (c *command) discovered(r *discover.Report, basis string) {
	printf := func(format string, args ...any) { fmt.Fprintf(c.stdout, format+"\n", args...) }
	for _, line := range r.About() {
		printf("%s", line)
	}
	for _, t := range r.Types {
		printf("\n%s", t.Name)
		for _, line := range t.About() {
			printf("  %s", line)
		}
		w := c.table()
		fmt.Fprintf(w, "\n  attribute\ttype\tin\tp50\tp99 bytes\tof bytes\ta change now\talone\n")
		for _, a := range attributeRows(t) {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s WCU\t%s WCU\t%s\n", a.Name, a.Type, a.Present, a.P50, a.P99,
				a.Share,
				a.Today, a.Alone, a.Notes)
		}
		w.Flush()
		if t.Hidden > 0 {
			printf("  and %s whose names count as data", plural(t.Hidden, "attribute"))
		}
		if t.NoModel != "" {
			printf("\n  no model: %s", t.NoModel)
			continue
		}
		if !t.Saves() {
			printf("\n  a model costs %s a month, and the items as they are %s (%s): leave them as they are",
				dollars(t.Forecasts[1].Total), dollars(t.Forecasts[0].Total), assumption(r, t))
			continue
		}
		printf("\n  %s", assumption(r, t))
		c.showForecasts(answerOf(r, t, basis))
		for _, line := range migrationLines(t, time.Now()) {
			printf("  %s", line)
		}
		for _, n := range t.Notes {
			printf("  note: %s", n)
		}
	}
}

// migrationLines describe the migration of a type.
func migrationLines(t *discover.Type, now time.Time) []string {
	m := t.Migration
	if m == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("the migration: %s WCU, %s RCU, %s", number(m.WCU), number(m.RCU),
		dollars(m.Dollars))}
	if day, ok := m.PaidOn(now); ok {
		lines[0] += fmt.Sprintf("; it has paid for itself after %s, on %s", span(*m.Days/30), day.Format(time.DateOnly))
	} else {
		lines[0] += "; it does not pay for itself with these operations"
	}
	if m.Unmovable > 0 {
		lines = append(lines, fmt.Sprintf("%s of the sample cannot be moved: %s", plural(m.Unmovable, "entity"),
			strings.Join(m.Reasons, "; ")))
	}
	return lines
}

// movedBytes is the size from which a value may be better stored elsewhere: reading it costs 8 units more.
const movedBytes = 64 << 10

// attributeRows are the attributes of a type as texts.
func attributeRows(t *discover.Type) []attributeRow {
	var out []attributeRow
	percent := func(share float64) string { return number(math.Round(share*1000)/10) + " %" }
	count := func(n int) string { return attr.Thousands(fmt.Sprint(n)) }
	for _, a := range t.Attributes {
		var notes []string
		if e := a.Elements; e != nil {
			text := fmt.Sprintf("%s elements (p99 %s), key %s", count(e.Count.P50), count(e.Count.P99), e.Keys)
			if e.Growing != "" {
				text += ", " + e.Growing
			}
			notes = append(notes, text)
		}
		if a.Elements == nil && a.Size.P99 >= movedBytes {
			notes = append(notes, "consider S3 or parts (s3=, chunk)")
		}
		if a.Compressed > 0 {
			notes = append(notes, "compresses to "+count(a.Compressed))
		}
		if a.Present < 0.5 {
			notes = append(notes, "sparse")
		}
		out = append(out, attributeRow{
			a.Name, a.Type, percent(a.Present), count(a.Size.P50), count(a.Size.P99), percent(a.Share),
			number(a.TodayWCU),
			number(a.AloneWCU), strings.Join(notes, "; "),
		})
	}
	return out
}

// discoverPage is the page of a report.
func discoverPage(r *discover.Report, basis, next string) page {
	p := page{Title: "Discovery: " + r.Table.Name, About: r.About(), Sources: sourcesOf(r.Prices)}
	for _, t := range r.Types {
		part := pagePart{Heading: t.Name, About: t.About(), Attributes: attributeRows(t)}
		if t.NoModel != "" {
			part.About = append(part.About, "No model: "+t.NoModel)
		} else {
			a := answerOf(r, t, basis)
			part.Answer, part.About = &a, append(append(part.About, assumption(r, t)), migrationLines(t, time.Now())...)
		}
		p.Parts = append(p.Parts, part)
	}
	if next != "" {
		p.Parts = append(p.Parts, pagePart{Heading: "The models", Commands: next})
	}
	return p
}
