package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/advice/inspect"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request"
)

// checkAsked has the flags of itemize check.
type checkAsked struct {
	stores
	sample   int
	all      bool
	plan     bool
	rate     float64
	remember string
	pending  time.Duration
}

func (a *checkAsked) flags(f *flags) {
	a.stores.flags(f)
	f.IntVar(&a.sample, "sample", 1000, "`number` of items to read, at random places of the table")
	f.BoolVar(&a.all, "all", false, "read the whole table, and keep the items of the models in memory")
	f.BoolVar(&a.plan, "plan", false, "print the units of the scan, and read nothing")
	f.Float64Var(&a.rate, "rate", 0, "`RCU` per second (default: no limit)")
	f.StringVar(&a.remember, "remember", "", "`file` for keys and versions: a later run reports items that changed "+
		"and kept their versions")
	f.DurationVar(&a.pending, "pending", time.Hour, "`age` from which an unfinished insert or delete is reported")
}

// check refuses invalid flags.
func (a *checkAsked) check() error {
	switch {
	case a.rate < 0:
		return usagef("-rate %v: write a number of RCU per second, or leave it out for no limit", a.rate)
	case a.sample < 1:
		return usagef("-sample %d: write a number of items, or -all", a.sample)
	case a.pending < 0:
		return usagef("-pending %v: write a time such as 1h", a.pending)
	}
	return nil
}

// checkTable runs itemize check.
func (c *command) checkTable(args []string) error {
	f := c.flags(help{
		"check", "TABLE [packages]",
		"Look in a live table for items that break the rules of docs/format.md. Programs without this library\n" +
			"may have written them: changes without a new version, leftover items, missing values.\n" +
			"It reads a sample, prints the units first, and writes nothing. Exit status 1: it found some.",
		[]string{
			"check users ./store", "check -table users=prod-users -sample 10000 -rate 100 prod-users ./store",
			"check -remember seen.json users ./store",
		},
	})
	asJSON, tags := f.common()
	var a checkAsked
	a.flags(f)
	rest, err := f.parseAll(args)
	if err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return err
	}
	if len(rest) == 0 {
		return usagef("no table: write itemize check TABLE [packages]")
	}
	packages := rest[1:]
	if len(packages) == 0 {
		packages = []string{"."}
	}
	x, err := c.inspector(&a, rest[0], packages, *tags, *asJSON)
	if err != nil || a.plan {
		return err
	}
	r, err := x.Run(c.ctx)
	if err != nil {
		return err
	}
	if a.remember != "" {
		if err := c.writeRemembered(a.remember, r.Seen); err != nil {
			return err
		}
	}
	if *asJSON {
		enc := json.NewEncoder(c.stdout)
		enc.SetIndent("", "\t")
		err = enc.Encode(r)
	} else {
		c.inspected(r, x)
	}
	if err == nil && len(r.Findings) > 0 {
		err = errFaults
	}
	return err
}

// inspector returns an inspector of the table, and announces what it reads.
func (c *command) inspector(a *checkAsked, table string, packages []string, tags string, asJSON bool) (
	*inspect.Inspector, error,
) {
	found, err := c.models(packages, tags, asJSON, func(string, *schema.Entity) bool { return true })
	if err != nil {
		return nil, err
	}
	if err := a.refuseUnknown(slices.Collect(maps.Values(found))...); err != nil {
		return nil, err
	}
	client, err := c.client(&a.remote, usualAttempts)
	if err != nil {
		return nil, err
	}
	options, err := c.options(&a.stores)
	if err != nil {
		return nil, err
	}
	x := &inspect.Inspector{
		Client: client, Sample: a.sample, Pending: a.pending, Pause: 2 * time.Second, Now: time.Now,
		Announce: func(step string, rcu float64) {
			fmt.Fprintf(c.stderr, "to read %s: about %.0f RCU\n", step, max(rcu, 1))
		},
	}
	if a.all {
		x.Sample = 0
	}
	if a.rate > 0 {
		x.Rate = request.NewLimiter(a.rate)
	}
	var declared []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m, collector, err := modelOf(client, found[name], options)
		external := slices.ContainsFunc(found[name].Items, (*schema.Item).HasExternal)
		here := false
		for _, t := range found[name].Tables {
			declared = append(declared, t.Name)
			here = here || cmp.Or(a.tables[t.Name], t.Name) == table
		}
		if err != nil && (external || m == nil) {
			if !here { // a model of another table
				continue
			}
			return nil, err
		}
		t := m.TableNamed(table)
		if t == nil {
			continue
		}
		x.Table = t
		one := &inspect.Model{Model: m}
		if external {
			one.Fetcher = collector.Fetcher
		}
		x.Models = append(x.Models, one)
	}
	if x.Table == nil {
		if declared = slices.Compact(slices.Sorted(slices.Values(declared))); len(declared) == 0 {
			return nil, fmt.Errorf("no models in %s: name their packages behind the table", strings.Join(packages, " "))
		}
		name := "NAME"
		if len(declared) == 1 {
			name = declared[0]
		}
		return nil, fmt.Errorf("no model in %s has items in the table %s, only in %s: write the declared name "+
			"of the table: -table %s=%s", strings.Join(packages, " "), table, strings.Join(declared, ", "), name, table)
	}
	if x.Earlier, err = c.readRemembered(a.remember); err != nil {
		return nil, err
	}
	return x, c.announce(x, client)
}

// announce prints the units of the scan, and checks that the table can be read.
func (c *command) announce(x *inspect.Inspector, client *dynamodb.Client) error {
	out, err := client.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &x.Table.Name})
	if err != nil {
		return fmt.Errorf("the table %s cannot be described: %w", x.Table.Name, err)
	}
	if err := sameKeys(x.Table, out); err != nil {
		return err
	}
	items, bytes := int(aws.ToInt64(out.Table.ItemCount)), float64(aws.ToInt64(out.Table.TableSizeBytes))
	x.Items = items
	n := items
	if x.Sample > 0 {
		n = min(items, x.Sample)
	}
	if items == 0 {
		fmt.Fprintln(c.stderr, unknownUnits(x.Sample))
		return nil
	}
	x.Announce(fmt.Sprintf("%d of about %d items", n, items), bytes/float64(items)*float64(n)/8192)
	return nil
}

// unknownUnits announces a read of a table whose count of items is old; 0 for all items.
func unknownUnits(items int) string {
	what := "all items"
	if items > 0 {
		what = "up to " + number(float64(items)) + " items"
	}
	return "to read " + what + ": unknown RCU, because DynamoDB counted no items when it last did, which is every " +
		"six " +
		"hours; -rate limits them"
}

// sameKeys requires that the table has the key attributes of the models.
func sameKeys(t *item.Table, out *dynamodb.DescribeTableOutput) error {
	var names []string
	for _, k := range out.Table.KeySchema {
		names = append(names, aws.ToString(k.AttributeName))
	}
	want := []string{t.Hash}
	if t.Range != "" {
		want = append(want, t.Range)
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("the table %s has the keys %s, but the model has %s: "+
			"name another table, or correct hash= and range=",
			t.Name, strings.Join(names, ", "), strings.Join(want, ", "))
	}
	return nil
}

// readRemembered reads the file of an earlier run, nil if there is none.
func (c *command) readRemembered(file string) (*inspect.Remembered, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(c.path(file))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(c.path(file))); err != nil {
			return nil, fmt.Errorf("-remember %s: its folder does not exist: make it", file)
		}
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("-remember %s: it is not a file: name one", file)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(c.path(file))
	if err != nil {
		return nil, err
	}
	m, err := inspect.ReadRemembered(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-remember %s: %w", file, err), f.Close())
	}
	return m, f.Close()
}

// writeRemembered writes the file for a later run. It has keys, so that only its owner may read it.
func (c *command) writeRemembered(file string, m *inspect.Remembered) error {
	f, err := os.OpenFile(c.path(file), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(m.Write(f), f.Close())
}

// inspected prints a report.
func (c *command) inspected(r *inspect.Report, x *inspect.Inspector) {
	printf := func(format string, args ...any) { fmt.Fprintf(c.stdout, format+"\n", args...) }
	for _, f := range r.Findings {
		printf("%s: %s: %s: %s: %s", f.Rule, f.Model, f.Item, f.Fact, f.Cure)
	}
	printf("%d items of %d entities in %s: %d findings", r.Items, r.Entities, x.Table.Name, len(r.Findings))
	line := func(n int, text string) {
		if n > 0 {
			printf("  %d %s", n, text)
		}
	}
	line(r.Compared, "items compared with the earlier run")
	line(r.Values, "external values read")
	line(r.Changing, "items that changed while they were checked: run it again to check them")
	line(r.Own, "guards, records, parts and notes of the library")
	line(r.Unowned, "guards of unique values without an owner: they are free")
	line(r.Unknown, "items of no model")
	line(r.NoVersion, "items without a version: a save compares old values")
	line(r.NoIncarnation, "items without an incarnation: they belong to every entity with their key")
	line(r.Expired, "expired items that DynamoDB has not deleted yet")
	line(
		r.Undeletable,
		"of them expired more than five years ago: DynamoDB never deletes them, and loads leave them out",
	)
	printf("it took %v RCU (predicted %v)", r.Consumed, r.RCU)
}
