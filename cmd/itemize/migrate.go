package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/generator"
	"github.com/itemize/itemize/migrate"
)

const migrateOverview = `usage: itemize migrate COMMAND [flags] SOURCE

Turn monoliths, one large item for each entity in the table SOURCE, into the item collections of a
model, while applications read and write them; and back. Each step can be repeated, and continues
where it ended.

  plan       predict units, price and time, and list entities that cannot be moved
  run        move the entities, or write files for ImportTable
  verify     compare every collection with its monolith
  cutover    declare the new layout valid, after a clean verification
  rollback   turn all entities into monoliths again, until contract
  contract   delete the old layout
  status     print the progress, and the entities that could not be moved
  settle     resolve an entity whose monolith was written after it moved

itemize migrate COMMAND -h prints the flags of a command. docs/migration.md is the guide.
`

// migrateWords are the steps of the overview, and migrateHelp their help.
var (
	migrateWords = []string{"plan", "run", "verify", "cutover", "rollback", "contract", "status", "settle"}
	migrateHelp  = map[string]help{
		"plan": {
			"migrate plan", "SOURCE", "Read the monoliths and print what a run would do and cost. Nothing is " +
				"written.\nExit status 1: some entities cannot be moved.",
			[]string{
				"migrate plan -model Package documents",
				"migrate plan -model Package -sample 1000 -update HEAD=1000 documents",
			},
		},
		"run": {
			"migrate run", "SOURCE",
			"Move the entities, or write files for ImportTable (-import). Exit status 1: some were left.",
			[]string{
				"migrate run -model Package -rate 500 documents",
				"migrate run -model Package -segment 3 -of 16 documents",
				"migrate run -model Package -import s3://BUCKET/PREFIX documents",
			},
		},
		"verify": {
			"migrate verify", "SOURCE",
			"Compare every collection with its monolith. Exit status 1: an entity has not moved, or is wrong.",
			[]string{"migrate verify -model Package documents"},
		},
		"cutover": {
			"migrate cutover", "SOURCE",
			"Declare the new layout valid. It verifies again, and is refused unless everything is clean.",
			[]string{"migrate cutover -model Package documents"},
		},
		"rollback": {
			"migrate rollback", "SOURCE",
			"Turn all entities into monoliths again, with the changes since the move.",
			[]string{"migrate rollback -model Package documents"},
		},
		"contract": {
			"migrate contract", "SOURCE", "Delete the old layout: the table SOURCE, or with -item-by-item " +
				"its marked monoliths. It verifies first.",
			[]string{"migrate contract -model Package -confirm documents documents"},
		},
		"status": {
			"migrate status", "SOURCE", "Print the progress, and the entities that could not be moved.",
			[]string{"migrate status -model Package documents"},
		},
		"settle": {
			"migrate settle", "SOURCE KEY [SORTKEY]",
			"Resolve an entity whose monolith was written after it moved: -keep names the layout that stays.\n" +
				"Changes in the other layout are lost.",
			[]string{"migrate settle -model Package -keep monolith documents vite"},
		},
	}
)

// migrateAsked has the flags of itemize migrate.
type migrateAsked struct {
	remote
	lock, model string
	rename      map[string]string
	key, sort   string
	from, to    string
	live        bool
	replace     bool
	segments    int
	segment, of int
	rate        float64
	readRate    float64
	prices      string
	asJSON      bool
	confirm     string
	keep        string
	keys        []string // of one monolith
	itemByItem  bool
	plan        migrate.PlanOptions
	basis       string // of the prices
}

func (a *migrateAsked) flags(f *flags) {
	a.rename, a.plan.Updates = map[string]string{}, map[string]float64{}
	a.segment = -1
	a.remote.flags(f)
	f.StringVar(&a.lock, "lock", generator.LockName, "lock `file` of the model's package")
	f.StringVar(&a.model, "model", "", "`name` of the model")
	f.Func("table", "real name of a table of the model: `NAME=REAL`; repeatable", func(s string) error {
		name, to, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("no = in it: write NAME=REAL")
		}
		a.rename[name] = to
		return nil
	})
	f.StringVar(&a.key, "key", "",
		"partition key `template`: P#{Name} (default: fields; with -sort the model's)")
	f.StringVar(&a.sort, "sort", "", "sort key `template` of monoliths, such as DOC")
	f.IntVar(&a.segments, "segments", 8, "`number` of segments of the source that are read in parallel")
	f.prices(&a.prices)
	f.Float64Var(&a.readRate, "read-rate", 0, "`RCU` per second of the scan (default: no limit)")
	f.BoolVar(&a.asJSON, "json", false, "print JSON, and progress and notes as lines of JSON on standard error")
	own := map[string]func(){
		"from": func() {
			f.StringVar(&a.from, "from", "", "read an export: a `folder`, or s3://BUCKET/PREFIX/AWSDynamoDB/ID")
		},
		"import": func() {
			f.StringVar(&a.to, "import", "", "write files for ImportTable to a `folder`, or s3://BUCKET/PREFIX")
		},
		"segment": func() {
			f.IntVar(&a.segment, "segment", -1, "`number` of the only segment to process, from 0; with -of")
		},
		"of": func() { f.IntVar(&a.of, "of", 0, "`number` of segments, with -segment") },
		"live": func() {
			f.BoolVar(&a.live, "live", false,
				"with -import: collections are live at once; no program may write the data")
		},
		"replace": func() {
			f.BoolVar(&a.replace, "replace", false, "delete each monolith after its collection was compared with it")
		},
		"s3-endpoint": func() { f.StringVar(&a.s3, "s3-endpoint", "", "`URL` of S3 (default: that of the region)") },
		"sample":      func() { f.IntVar(&a.plan.Sample, "sample", 0, "`number` of monoliths to read (default: all)") },
		"update": func() {
			f.Func("update", "updates a month of an item of this kind: `ITEM=N`; repeatable", a.update)
		},
		"rate":    func() { f.Float64Var(&a.rate, "rate", 0, "`WCU` per second (default: no limit)") },
		"confirm": func() { f.StringVar(&a.confirm, "confirm", "", "`name` of the source, to confirm the deletion") },
		"item-by-item": func() {
			f.BoolVar(&a.itemByItem, "item-by-item", false, "delete the marked monoliths, and keep the table")
		},
		"keep": func() { f.StringVar(&a.keep, "keep", "", "`layout` that stays: monolith or collection") },
	}
	step := strings.TrimPrefix(f.name, "migrate ")
	f.elsewhere = map[string][]string{}
	for name, steps := range stepsOf {
		if slices.Contains(steps, step) {
			own[name]()
		} else {
			f.elsewhere[name] = steps
		}
	}
}

// update parses a value of -update.
func (a *migrateAsked) update(s string) error {
	name, text, _ := strings.Cut(s, "=")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return errors.New("no number in it: write ITEM=N, with N updates a month")
	}
	a.plan.Updates[name] = n
	return nil
}

// migrate runs itemize migrate ...
func (c *command) migrate(args []string) error {
	return c.subcommand("migrate", migrateOverview, migrateWords, args, func(step string, args []string) error {
		var a migrateAsked
		f := c.flags(migrateHelp[step])
		a.flags(f)
		source, err := f.parseAll(args)
		if err != nil {
			return err
		}
		c.lines = a.asJSON
		if step == "settle" && len(source) > 1 {
			source, a.keys = source[:1], source[1:]
		}
		m, err := c.migration(&a, source)
		if err != nil {
			return err
		}
		return map[string]func(*migrateAsked, *migrate.Migration) error{
			"plan": c.migratePlan, "run": c.migrateRun, "verify": c.migrateVerify, "cutover": c.migrateCutover,
			"rollback": c.migrateRollback, "contract": c.migrateContract, "status": c.migrateStatus,
			"settle": c.migrateSettle,
		}[step](&a, m)
	})
}

// stepsOf lists the steps of flags that only some steps have.
var stepsOf = map[string][]string{
	"from": {"plan", "run"}, "import": {"plan", "run"}, "live": {"run"}, "replace": {"plan", "run"},
	"segment": {"plan", "run", "verify"}, "of": {"plan", "run", "verify"},
	"s3-endpoint": {"plan", "run"}, "sample": {"plan"}, "update": {"plan"},
	"rate": {"plan", "run", "rollback", "contract"}, "confirm": {"contract"}, "item-by-item": {"contract"},
	"keep": {"settle"},
}

// migration opens the migration that the flags describe.
func (c *command) migration(a *migrateAsked, source []string) (*migrate.Migration, error) {
	switch {
	case len(source) == 0:
		return nil, usagef("no source: name one table of monoliths: itemize migrate plan -model NAME SOURCE")
	case len(source) > 1:
		return nil, usagef("several sources: %s: name one table of monoliths", strings.Join(source, ", "))
	case a.model == "":
		return nil, usagef("no model: write -model NAME, a model of %s", a.lock)
	case a.plan.Sample < 0:
		return nil, usagef("-sample is negative: write a number of monoliths, 0 for all")
	case a.live && a.to == "":
		return nil, usagef("-live is for -import: entities that a run moves are live at once")
	case (a.segment >= 0) != (a.of > 0):
		return nil, usagef("-segment without -of, or -of without -segment: write both, such as -segment 0 -of 4")
	case a.of > 0 && a.segment >= a.of:
		return nil, usagef("-segment %d -of %d: segments are numbered from 0: write 0 to %d", a.segment, a.of, a.of-1)
	case a.segments < 1 || a.segments > 1_000_000:
		return nil, usagef("-segments %d: write 1 to 1,000,000", a.segments)
	}
	l, err := migrate.ReadLayout(c.path(a.lock), a.model)
	if err != nil {
		return nil, err
	}
	if err := a.check(l); err != nil {
		return nil, err
	}
	prices, basis, err := c.prices(a.prices, nil)
	if err != nil {
		return nil, err
	}
	client, err := c.client(&a.remote, usualAttempts)
	if err != nil {
		return nil, err
	}
	a.basis = basis + elsewhere(prices, &a.remote)
	o := []migrate.Option{
		migrate.Prices(prices),
		migrate.Segments(a.segments), door.Migrate.OnProgress(c.progressOf(a)).(migrate.Option),
		migrate.Tables(func(name string) string {
			if to, ok := a.rename[name]; ok {
				return to
			}
			return name
		}),
	}
	if a.key != "" || a.sort != "" {
		o = append(o, migrate.Keys(a.key, a.sort))
	}
	if a.from != "" {
		files, err := c.files(&a.remote, a.from)
		if err != nil {
			return nil, err
		}
		o = append(o, migrate.FromExport(files))
	}
	if a.to != "" {
		o = append(o, migrate.OfFiles())
	}
	if a.replace {
		o = append(o, migrate.Replace())
	}
	if a.segment >= 0 {
		o = append(o, migrate.Segment(a.segment, a.of))
	}
	if a.readRate != 0 {
		o = append(o, migrate.ReadRate(a.readRate))
	}
	if a.rate != 0 {
		o = append(o, migrate.WriteRate(a.rate))
	}
	a.plan.Rate = a.rate
	return migrate.Open(c.ctx, client, l, source[0], o...)
}

// check refuses flags that do not fit the layout.
func (a *migrateAsked) check(l *migrate.Layout) error {
	names := door.Migrate.Tables(l)
	for name := range a.rename {
		if !slices.Contains(names, name) {
			return usagef("-table %s: %s has no table of that name, only %s", name, a.model,
				strings.Join(names, ", "))
		}
	}
	if a.rate < 0 || a.readRate < 0 {
		return usagef("-rate or -read-rate is negative: write units per second, 0 for no limit")
	}
	return nil
}

func (c *command) migratePlan(a *migrateAsked, m *migrate.Migration) error {
	p, err := m.Plan(c.ctx, a.plan)
	if err != nil {
		return err
	}
	if err := c.answer(a, p,
		func() {
			c.showMigrationPlan(door.Migrate.Plan(p), p.DeadLetters, a.basis)
		}); err != nil || p.OK() {
		return err
	}
	return errFaults
}

func (c *command) migrateRun(a *migrateAsked, m *migrate.Migration) error {
	if a.to != "" {
		return c.migrateImport(a, m)
	}
	r, err := m.Run(c.ctx)
	return c.ended(a, r, err, c.showMigrated)
}

func (c *command) migrateImport(a *migrateAsked, m *migrate.Migration) error {
	files, err := c.files(&a.remote, a.to)
	if err != nil {
		return err
	}
	do := m.Import
	if a.live {
		do = m.ImportLive
	}
	x, err := do(c.ctx, files)
	if err != nil {
		return err
	}
	if err := c.answer(a, x, func() { c.showImported(x) }); err != nil || x.Dead == 0 {
		return err
	}
	return errFaults
}

func (c *command) migrateRollback(a *migrateAsked, m *migrate.Migration) error {
	r, err := m.Rollback(c.ctx)
	return c.ended(a, r, err, c.showReturned)
}

// ended prints the result of a run, also of an interrupted one.
func (c *command) ended(a *migrateAsked, r *migrate.Report, err error, show func(*migrate.Report)) error {
	if r != nil {
		if err := c.answer(a, r, func() { show(r) }); err != nil {
			return err
		}
	}
	if err == nil && r.This.Dead+r.This.Conflicts > 0 {
		return errFaults
	}
	return err
}

func (c *command) migrateVerify(a *migrateAsked, m *migrate.Migration) error {
	v, err := m.Verify(c.ctx)
	if v == nil {
		return err
	}
	shown := c.answer(a, v, func() { c.showVerified(v) }) // also of an interrupted one
	if err != nil || shown != nil || v.Clean() {
		return cmp.Or(err, shown)
	}
	return errFaults
}

func (c *command) migrateCutover(a *migrateAsked, m *migrate.Migration) error {
	v, err := m.Cutover(c.ctx)
	if err != nil {
		return err
	}
	return c.answer(a, v, func() {
		fmt.Fprintf(c.stdout, "cut over: %s, none of them written in the old layout since the verification\n",
			plural(v.Entities, "monolith"))
	})
}

func (c *command) migrateContract(a *migrateAsked, m *migrate.Migration) error {
	r, err := m.Contract(c.ctx, a.confirm, a.itemByItem)
	if err != nil {
		return err
	}
	return c.answer(a, r, func() {
		if r.This.Entities > 0 {
			fmt.Fprintf(c.stdout, "removed %s of %d, for %s WCU\n", plural(r.This.Moved, "monolith"), r.This.Entities,
				number(r.This.WCU))
			return
		}
		fmt.Fprintf(c.stdout, "deleted the table %s\n", a.confirm)
	})
}

func (c *command) migrateSettle(a *migrateAsked, m *migrate.Migration) error {
	keep := map[string]func(context.Context, map[string]types.AttributeValue) error{
		"monolith":   m.KeepMonolith,
		"collection": m.KeepCollection,
	}[a.keep]
	if keep == nil {
		return usagef("-keep %q: write -keep monolith or -keep collection", a.keep)
	}
	key, err := door.Migrate.KeyOf(c.ctx, m, a.keys)
	if err != nil {
		return err
	}
	if err := keep(c.ctx, key); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "settled: the %s of %s stays\n", a.keep, strings.Join(a.keys, " "))
	return nil
}

func (c *command) migrateStatus(a *migrateAsked, m *migrate.Migration) error {
	s, err := m.Status(c.ctx)
	if err != nil {
		return err
	}
	return c.answer(a, s, func() { c.showMigrationStatus(s) })
}

// answer prints JSON, or shows it.
func (c *command) answer(a *migrateAsked, v any, show func()) error {
	if a.asJSON {
		return c.printJSON(v)
	}
	show()
	return nil
}
