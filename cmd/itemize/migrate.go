package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/gen"
	"github.com/itemize/itemize/migrate"
)

const migrateUsage = `usage: itemize migrate plan|run|verify|cutover|rollback|contract|status [flags] SOURCE
       itemize migrate settle -keep monolith|collection [flags] SOURCE KEY [SORTKEY]

Monoliths, one large item for each entity in the table SOURCE, become the item collections of a model, while
applications read and write them; and back. Each step can be repeated, and goes on where it ended.

  plan       what it will do and cost; writes nothing. Exit status 1: some entities cannot be moved
  run        moves the entities, or writes files for ImportTable (-import). Exit status 1: some were left
  verify     compares every collection with its monolith. Exit status 1: something is wrong, or not moved
  cutover    declares the new layout the one that counts; refused unless a verification was clean
  rollback   makes monoliths of all entities again, with what was written since; until contract
  contract   removes the old layout, for good: the table SOURCE, which -confirm names
  status     how far it is, and what could not be moved
  settle     resolves an entity whose monolith was written after it moved: -keep names the layout that stays

`

// migrateAsked is what itemize migrate is asked.
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
	asJSON      bool
	confirm     string
	keep        string
	keys        []string // of one monolith
	itemByItem  bool
	plan        migrate.PlanOptions
}

func (a *migrateAsked) flags(f *flag.FlagSet) {
	a.rename, a.plan.Updates = map[string]string{}, map[string]float64{}
	a.remote.flags(f)
	f.StringVar(&a.lock, "lock", gen.LockName, "lock `file` of the model's package, which itemize gen writes")
	f.StringVar(&a.model, "model", "", "`name` of the model")
	f.Func("table", "`NAME=REAL`: the real name of a table of the model; may be repeated", func(s string) error {
		name, to, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("write NAME=REAL")
		}
		a.rename[name] = to
		return nil
	})
	f.StringVar(&a.key, "key", "", "`template` of the partition keys of the monoliths, as PACKAGE#{Name}: without it "+
		"they are fields of the model as they are, or, in the model's own table, its partition keys")
	f.StringVar(&a.sort, "sort", "", "`template` of their sort keys, as DOC")
	f.StringVar(&a.from, "from", "", "plan, run: read the monoliths from an export of the table: a `folder`, or "+
		"s3://BUCKET/PREFIX, which ends with AWSDynamoDB/ID")
	f.StringVar(&a.to, "import", "", "run: write files for ImportTable in place of items: a `folder`, or "+
		"s3://BUCKET/PREFIX; plan: the model's tables need not be there")
	f.BoolVar(&a.replace, "replace", false,
		"plan, run: remove each monolith as soon as its collection was read back and compared")
	f.StringVar(&a.s3, "s3-endpoint", "", "`URL` of S3; that of the region without it")
	f.BoolVar(&a.live, "live", false,
		"run -import: collections that are live at once, for data that nobody writes any more")
	f.IntVar(&a.segments, "segments", 8, "`number` of segments that the source is read in, at once")
	f.IntVar(&a.segment, "segment", -1,
		"this segment alone, from 0, of so many as -of says: for jobs that run beside each other")
	f.IntVar(&a.of, "of", 0, "see -segment")
	f.Float64Var(&a.rate, "rate", 0, "`WCU` a second; as many as there are without it")
	f.Float64Var(&a.readRate, "read-rate", 0, "`RCU` a second of the scan")
	f.BoolVar(&a.asJSON, "json", false, "print JSON; progress as lines of it, on standard error")
	f.StringVar(&a.confirm, "confirm", "", "contract: the `name` of the source, which proves that it is meant")
	f.StringVar(&a.keep, "keep", "", "settle: the `layout` that stays, monolith or collection; what was written in "+
		"the other one since the move is gone")
	f.BoolVar(&a.itemByItem, "item-by-item", false, "contract: delete each marked monolith, and not the table")
	f.IntVar(&a.plan.Sample, "sample", 0, "plan: read so many monoliths, and not all")
	f.Func("update", "plan: `ITEM=N`, so many updates a month of one item of a kind; may be repeated",
		func(s string) error {
			name, text, _ := strings.Cut(s, "=")
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
				return errors.New("write ITEM=N, with N updates a month")
			}
			a.plan.Updates[name] = n
			return nil
		})
}

// migrate runs itemize migrate ...
func (c *command) migrate(args []string) error {
	steps := map[string]func(*migrateAsked, *migrate.Migration) error{
		"plan": c.migratePlan, "run": c.migrateRun, "verify": c.migrateVerify, "cutover": c.migrateCutover,
		"rollback": c.migrateRollback, "contract": c.migrateContract, "status": c.migrateStatus,
		"settle": c.migrateSettle,
	}
	if len(args) == 0 || steps[args[0]] == nil {
		fmt.Fprint(c.stderr, migrateUsage)
		if len(args) == 0 || slices.Contains([]string{"-h", "help", "--help"}, args[0]) {
			return nil
		}
		return usageError{fmt.Errorf("no step migrate %s: plan, run, verify, cutover, rollback, contract, status "+
			"or settle", args[0])}
	}
	var a migrateAsked
	f := flag.NewFlagSet("itemize migrate "+args[0], flag.ContinueOnError)
	f.SetOutput(c.stderr)
	f.Usage = func() {
		fmt.Fprint(c.stderr, migrateUsage)
		f.PrintDefaults()
	}
	a.flags(f)
	var source []string
	for rest := args[1:]; ; { // flags may stand behind the table
		if err := parse(f, rest); err != nil {
			return err
		}
		if f.NArg() == 0 {
			break
		}
		source, rest = append(source, f.Arg(0)), f.Args()[1:]
	}
	if err := ofStep(f, args[0]); err != nil {
		return err
	}
	if args[0] == "settle" && len(source) > 1 {
		source, a.keys = source[:1], source[1:]
	}
	m, err := c.migration(&a, source)
	if err != nil {
		return err
	}
	return steps[args[0]](&a, m)
}

// stepsOf are the steps that a flag is of, where it is not of all.
var stepsOf = map[string]string{
	"from": "plan run", "import": "plan run", "live": "run", "replace": "plan run", "s3-endpoint": "plan run",
	"sample": "plan", "update": "plan", "rate": "plan run rollback contract", "confirm": "contract",
	"item-by-item": "contract", "keep": "settle",
}

// ofStep refuses flags that say nothing to a step.
func ofStep(f *flag.FlagSet, step string) (err error) {
	f.Visit(func(x *flag.Flag) {
		if steps := stepsOf[x.Name]; err == nil && steps != "" && !slices.Contains(strings.Fields(steps), step) {
			err = fmt.Errorf("-%s is of %s: leave it out of %s", x.Name, strings.ReplaceAll(steps, " ", ", "), step)
		}
	})
	return err
}

// migration is what the flags say.
func (c *command) migration(a *migrateAsked, source []string) (*migrate.Migration, error) {
	switch {
	case len(source) != 1:
		return nil, errors.New("name one table of monoliths: itemize migrate plan -model NAME SOURCE")
	case a.model == "":
		return nil, errors.New("name the model: -model NAME, as it stands in " + a.lock)
	case a.plan.Sample < 0:
		return nil, errors.New("-sample is a number of monoliths, 0 for all")
	case a.live && a.to == "":
		return nil, errors.New("-live is of -import: what is moved by a run goes live by itself")
	case (a.segment >= 0) != (a.of > 0):
		return nil, errors.New("-segment and -of belong together: -segment 0 -of 4")
	}
	l, err := migrate.ReadLayout(c.path(a.lock), a.model)
	if err != nil {
		return nil, err
	}
	if err := a.check(l); err != nil {
		return nil, err
	}
	client, err := a.client(10)
	if err != nil {
		return nil, err
	}
	o := []migrate.Option{migrate.Segments(a.segments), migrate.Internal.OnProgress(door.Key{}, c.progressOf(a)),
		migrate.Tables(func(name string) string {
			if to, ok := a.rename[name]; ok {
				return to
			}
			return name
		})}
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

// check refuses flags that mean nothing for a layout.
func (a *migrateAsked) check(l *migrate.Layout) error {
	names := migrate.Internal.Tables(door.Key{}, l)
	for name := range a.rename {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-table %s: %s has no table of that name: it has %s", name, a.model,
				strings.Join(names, ", "))
		}
	}
	if a.rate < 0 || a.readRate < 0 {
		return errors.New("-rate and -read-rate are units a second, 0 for no bound")
	}
	return nil
}

func (c *command) migratePlan(a *migrateAsked, m *migrate.Migration) error {
	p, err := m.Plan(c.ctx, a.plan)
	if err != nil {
		return err
	}
	if err := c.answer(a, p,
		func() { c.showMigrationPlan(migrate.Internal.Plan(door.Key{}, p), p.DeadLetters) }); err != nil || p.OK() {
		return err
	}
	return errFaults
}

func (c *command) migrateRun(a *migrateAsked, m *migrate.Migration) error {
	if a.to != "" {
		return c.migrateImport(a, m)
	}
	r, err := m.Run(c.ctx)
	return c.ended(a, r, err)
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
	return c.ended(a, r, err)
}

// ended shows what a run has done, also one that was interrupted.
func (c *command) ended(a *migrateAsked, r *migrate.Report, err error) error {
	if r != nil {
		if err := c.answer(a, r, func() { c.showMigrated(r) }); err != nil {
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
	if err != nil {
		return err
	}
	if err := c.answer(a, v, func() { c.showVerified(v) }); err != nil || v.Clean() {
		return err
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
	keep := map[string]func(context.Context, map[string]types.AttributeValue) error{"monolith": m.KeepMonolith,
		"collection": m.KeepCollection}[a.keep]
	if keep == nil {
		return errors.New("say which layout stays: -keep monolith or -keep collection")
	}
	key, err := migrate.Internal.KeyOf(door.Key{}, c.ctx, m, a.keys)
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
