package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/generator"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/adoption"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

const uniqueOverview = `Make, verify and delete the guards of unique values (the tag unique) in a table with data.

  itemize unique plan [packages]     print the work and the units of run and verify
  itemize unique run [packages]      give stored entities their guards, and report duplicates
  itemize unique verify [packages]   compare all entities with their guards: then lookups work
  itemize unique drop TABLE NAME     delete the guards of a value that no program has any more

Deploy the tag in all programs, then run, settle the duplicates, and verify. A new table only needs verify.
`

var uniqueWords = []string{"plan", "run", "verify", "drop"}

// uniqueAsked has the flags of itemize unique.
type uniqueAsked struct {
	stores
	model    string
	rate     float64
	segments int
	from     string
}

func (a *uniqueAsked) flags(f *flags) {
	a.stores.flags(f)
	f.StringVar(&a.model, "model", "", "`name` of the model, if the packages have several with unique values")
	a.pace(f)
}

func (a *uniqueAsked) pace(f *flags) {
	f.Float64Var(&a.rate, "rate", 0, "capacity `units` per second, reads and writes together (default: no limit)")
	f.IntVar(&a.segments, "segments", 4, "`number` of parts of the table that are read at once")
	f.StringVar(&a.from, "from", "", "continue where an earlier run ended, at its `next`")
}

// check refuses invalid flags.
func (a *uniqueAsked) check() error {
	switch {
	case a.rate < 0:
		return usagef("-rate %v: write a number of capacity units per second, or leave it out for no limit", a.rate)
	case a.segments < 1 || a.segments > 1000:
		return usagef("-segments %d: write 1 to 1000", a.segments)
	}
	return nil
}

// unique runs itemize unique.
func (c *command) unique(args []string) error {
	return c.subcommand("unique", uniqueOverview, uniqueWords, args, func(word string, args []string) error {
		if word == "drop" {
			return c.uniqueDrop(args)
		}
		return c.uniquePass(word, args)
	})
}

var uniqueHelp = map[string]help{
	"plan": {
		"unique plan", "[packages]", "Print the numbers of entities and unique values of a table, and the units of " +
			"run and " +
			"verify.\nIt reads 1,000 items, and writes nothing.",
		[]string{"unique plan ./store", "unique plan -table users=prod-users ./store"},
	},
	"run": {
		"unique run", "[packages]", "Give each unique value of the stored entities its guard, and report entities " +
			"with the " +
			"same value\nby their keys. First deploy the tag in all programs. It can be ended and repeated at any " +
			"time.\n" +
			"Exit status 1: it found duplicates.",
		[]string{"unique run ./store", "unique run -table users=prod-users -rate 500 ./store"},
	},
	"verify": {
		"unique verify", "[packages]", "Compare all entities with their guards. If it finds no fault, it writes a " +
			"note in the " +
			"table, and\nlookups work. Otherwise it deletes the note. Exit status 1: it found faults.",
		[]string{"unique verify ./store", "unique verify -table users=prod-users ./store"},
	},
	"drop": {
		"unique drop", "TABLE NAME", "Delete the note and the guards of a unique value from a table. NAME is the " +
			"name in the " +
			"lock file, such\nas User#Email. First deploy all programs without the tag. Call it in the module of " +
			"the models: it refuses a\nvalue that one still has.",
		[]string{"unique drop prod-users User#Email"},
	},
}

// uniquePass runs plan, run and verify.
func (c *command) uniquePass(word string, args []string) error {
	f := c.flags(uniqueHelp[word])
	asJSON, tags := f.common()
	var a uniqueAsked
	a.flags(f)
	if err := f.parse(args); err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return err
	}
	switch {
	case word == "plan" && a.from != "":
		return usagef("-from is for run: plan reads a sample")
	case word == "verify" && a.from != "":
		return usagef("-from is for run: verify reads the whole table")
	}
	e, err := c.uniqueModel(a.model, patterns(f), *tags, *asJSON)
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
	g, m, err := door.Mapper.EngineOf(client, e, of)
	if err != nil {
		return err
	}
	p, err := g.Adoption()
	if err != nil {
		return err
	}
	if p.Segments, p.From = a.segments, a.from; a.rate > 0 {
		p.Rate = request.NewLimiter(a.rate)
	}
	if word == "plan" {
		return c.uniquePlan(client, m.Tables[e.Root.Table.Index].Name, p, *asJSON)
	}
	var found faults
	p.OnInvalid = func(v adoption.Invalid) {
		one := unique.Invalid{Field: v.Field, Entity: keyOf(v.Root), Reason: v.Err.Error()}
		if found.Invalid = append(found.Invalid, one); !*asJSON {
			fmt.Fprintf(c.stdout, "invalid: %s: %s: %s\n", one.Field, one.Entity, one.Reason)
		}
	}
	p.OnDuplicate = func(d adoption.Duplicate) {
		one := unique.Duplicate{Field: d.Field, Entity: keyOf(d.Root), Owner: keyOf(d.Owner)}
		if found.Duplicates = append(found.Duplicates, one); !*asJSON {
			fmt.Fprintf(c.stdout, "duplicate: %s: %s has the value of %s\n", one.Field, one.Entity, one.Owner)
		}
	}
	shown := time.Now()
	p.OnProgress = func(r adoption.Report) {
		if now := time.Now(); now.Sub(shown) > 2*time.Second {
			shown = now
			c.note(fmt.Sprintf("%s, %s, %s written", plural(r.Items, "item"), plural(r.Entities, "entity"),
				plural(r.Written, "guard")))
		}
	}
	p.Write = word == "run"
	do := p.Run
	if word == "verify" {
		do = p.Verify
	}
	r, err := do(c.ctx)
	return c.uniqueDone(word, r, found, *asJSON, err)
}

// faults are the entities that a pass has found.
type faults struct {
	Duplicates []unique.Duplicate `json:"duplicateList,omitempty"`
	Invalid    []unique.Invalid   `json:"invalidList,omitempty"`
}

// uniqueDone prints the result of a pass.
func (c *command) uniqueDone(word string, r *adoption.Report, found faults, asJSON bool,
	err error,
) error {
	if asJSON {
		if word == "verify" { // it does not continue
			r.Next = ""
		}
		enc := json.NewEncoder(c.stdout)
		enc.SetIndent("", "\t")
		all := struct {
			*adoption.Report
			faults
		}{r, found}
		err = errors.Join(err, enc.Encode(all))
	} else if err == nil || r.Items+r.Guarded+r.Missing+r.Duplicates+r.Invalid+r.Expired > 0 {
		c.uniqueReport(word, r)
	}
	switch {
	case err != nil:
		return err
	case word != "drop" && !r.Verified():
		return errFaults
	}
	return nil
}

// uniqueReport prints the numbers of a pass.
func (c *command) uniqueReport(word string, r *adoption.Report) {
	printf := func(format string, args ...any) { fmt.Fprintf(c.stdout, format+"\n", args...) }
	if word == "drop" {
		printf("%s read, %s deleted: about %v RCU, %v WCU", plural(r.Items, "item"), plural(r.Written, "guard"),
			r.RCU.Expected, r.WCU.Expected)
		if r.Written == 0 && r.Next == "" {
			printf("the table has no guards of that name: the lock file has the names")
		}
	} else {
		printf("%s, %s, %s with a guard", plural(r.Items, "item"), plural(r.Entities, "entity"),
			plural(r.Guarded, "value"))
	}
	line := func(n int, one, text string) {
		if n > 0 {
			printf("  %s%s", plural(n, one), text)
		}
	}
	if word == "run" {
		line(r.Written, "guard", " written")
	}
	line(r.Missing, "value", " without a guard: run itemize unique run")
	line(r.Duplicates, "duplicate", ": change the value of one of the two entities, and run it again")
	line(r.Invalid, "value", " not comparable: store the type of the model")
	line(r.Expired, "expired entity", " deleted, with the value of another one")
	if word != "drop" {
		printf("it took about %v RCU, %v WCU", r.RCU.Expected, r.WCU.Expected)
	}
	switch {
	case r.Next != "" && word == "verify":
		printf("it is not complete: verify again, from the beginning")
	case r.Next != "":
		printf("it is not complete: continue with -from %s", r.Next)
	case word == "run" && r.Verified():
		printf("when no program without the tag writes any more: itemize unique verify")
	case word == "verify" && r.Verified():
		printf("verified: lookups work, at the latest in 30 seconds")
	}
}

// uniquePlan prints the work of run and verify.
func (c *command) uniquePlan(client *dynamodb.Client, table string, p *adoption.Pass, asJSON bool) error {
	out, err := client.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("the table %s cannot be described: %w", table, err)
	}
	for _, u := range p.Uniques {
		if t := p.Env.Model.GuardTable(u); t.Name != table {
			if _, err := client.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}); err != nil {
				return fmt.Errorf("the table of guards %s cannot be described: create it with the partition key "+
					"PK (S), or allow it: %w", t.Name, err)
			}
		}
	}
	e, err := p.Estimate(c.ctx, int(aws.ToInt64(out.Table.ItemCount)), int(aws.ToInt64(out.Table.TableSizeBytes)))
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(c.stdout)
		enc.SetIndent("", "\t")
		return enc.Encode(e)
	}
	fmt.Fprintf(c.stdout, "%s: about %s items, %s entities, %s unique values (a sample of %s items)\n", table,
		number(float64(e.Items)), number(float64(e.Entities)), number(float64(e.Values)), number(float64(e.Sampled)))
	fmt.Fprintf(c.stdout, "run:    about %s RCU, and %s WCU if no value has a guard\n", number(e.RunRCU),
		number(e.RunWCU))
	fmt.Fprintf(c.stdout, "verify: about %s RCU\n", number(e.VerifyRCU))
	return nil
}

// guarded are models with unique values.
var guarded = modelKind{
	is:   func(e *schema.Entity) bool { return len(e.Uniques) > 0 },
	have: "unique values", cure: "add unique to the tag of a field",
}

// uniqueModel returns the model with unique values, by its name if that is set.
func (c *command) uniqueModel(name string, packages []string, tags string, asJSON bool) (*schema.Entity, error) {
	full, e, err := c.one(guarded, name, packages, tags, asJSON)
	if err != nil {
		return nil, err
	}
	for _, u := range e.Uniques {
		for _, a := range e.Guarded(u) {
			if a.Value.Type.HasNormal() {
				return nil, fmt.Errorf("%s.%s is compared by the method Normal of %s, which only a Go program can "+
					"call: use unique.Run and unique.Verify", full, a.Value.Name, a.Value.Type.Name)
			}
		}
	}
	return e, nil
}

// refuseUsed refuses to drop a value that a model in the module of the working directory has, or may have.
func (c *command) refuseUsed(name, tags string) error {
	at, err := filepath.Abs(c.dir)
	if err != nil {
		return err
	}
	if at = generator.ModuleFolder(at); at == "" { // it may be called without models, too
		c.note("no module was found here: whether a model still has " + name + " was not checked")
		return nil
	}
	loaded, err := generator.Load(c.ctx, generator.Config{Dir: at, BuildFlags: buildFlags(tags)}, "./...")
	if err != nil || !slices.ContainsFunc(loaded, func(p *generator.Package) bool { return len(p.Models) > 0 }) {
		c.note("no model was found here: whether one still has " + name + " was not checked")
	}
	for _, p := range loaded {
		for _, m := range p.Models {
			if m.Schema == nil {
				return fmt.Errorf("the tags of %s.%s have faults, so that it may be unique: repair what itemize vet "+
					"./... shows", p.Path, m.Name)
			}
			if i := slices.IndexFunc(m.Schema.Uniques, func(u *schema.Unique) bool { return u.Name == name }); i >= 0 {
				return fmt.Errorf("%s.%s.%s is unique, and its guards are named %s: remove unique from its tag, "+
					"and deploy that first", p.Path, m.Schema.Name, m.Schema.FieldNames(m.Schema.Uniques[i]), name)
			}
		}
	}
	// Models that other build tags show are in the lock files too.
	return filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		switch {
		case d == nil:
			return err
		case d.IsDir() && path != at && (err != nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" ||
			d.Name() == "testdata" || generator.ModuleFolder(path) != at):
			return fs.SkipDir
		case d.Name() != generator.LockName:
			return nil
		}
		locked, err := generator.LockedUniques(path)
		if model := locked[name]; err == nil && model != "" {
			short, _ := filepath.Rel(at, path)
			return fmt.Errorf("%s has %s, of %s: run itemize gen after unique was removed from its tag, and with "+
				"-accept after the model was removed", short, name, model)
		}
		return err
	})
}

// uniqueDrop runs itemize unique drop.
func (c *command) uniqueDrop(args []string) error {
	f := c.flags(uniqueHelp["drop"])
	asJSON := f.Bool("json", false, "print JSON")
	tags := f.String("tags", "", "build `tags`, separated by commas")
	var a uniqueAsked
	a.remote.flags(f)
	a.pace(f)
	rest, err := f.parseAll(args)
	if err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return err
	}
	if len(rest) != 2 || strings.Count(rest[1], "#") != 1 {
		return usagef("write itemize unique drop TABLE NAME, such as itemize unique drop users User#Email")
	}
	if err := c.refuseUsed(rest[1], *tags); err != nil {
		return err
	}
	client, err := c.client(&a.remote, usualAttempts)
	if err != nil {
		return err
	}
	out, err := client.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &rest[0]})
	if err != nil {
		return fmt.Errorf("the table %s cannot be described: %w", rest[0], err)
	}
	t := &item.Table{Name: rest[0]}
	for i, k := range out.Table.KeySchema {
		if name := aws.ToString(k.AttributeName); i == 0 {
			t.Hash = name
		} else {
			t.Range = name
		}
	}
	p := &adoption.Pass{
		Client: client, Segments: a.segments, From: a.from,
		Reader: &read.Reader{Client: client, Label: rest[1], Describe: extern.Plain},
	}
	if a.rate > 0 {
		p.Rate = request.NewLimiter(a.rate)
	}
	r, err := p.Drop(c.ctx, t, rest[1])
	return c.uniqueDone("drop", r, faults{}, *asJSON, err)
}

func keyOf(at item.Place) mapper.Key {
	return mapper.Key{Table: at.Table.Name, Partition: at.PK.Plain(), Sort: at.Sort()}
}
