package explore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/tables"
)

func TestMain(m *testing.M) { testengine.Run(m) }

// lab is where runs are made: the tables, and a number for each run.
type lab struct {
	base  func(...func(*dynamodb.Options)) *dynamodb.Client
	table map[string]string
	runs  atomic.Int64
}

func newLab(t testing.TB) *lab {
	e := testengine.Start(t)
	l := &lab{base: e.Client, table: map[string]string{
		"docs": testengine.Table(t, "PK:S", "SK:S"), "parts": testengine.Table(t, "PK:S", "SK:S"),
		"guards":  testengine.Table(t, "PK:S", ""),
		"indexed": fmt.Sprint("indexed-", time.Now().UnixNano()),
	}}
	m, err := mapper.New[indexed](e.Client(), mapper.Table(l.table["indexed"]))
	if err == nil {
		_, err = e.Client().CreateTable(t.Context(), tables.Of(m)[0].Create)
	}
	if err == nil {
		name := fmt.Sprintf("timed-%d_{Until:month}", time.Now().UnixNano())
		l.table["docs_{Until:month}"] = name
		err = l.months(t, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// months creates the tables of the model whose tables follow the time.
func (l *lab) months(t testing.TB, name string) error {
	m, err := mapper.New[timed](l.base(), mapper.Table(name))
	if err != nil {
		return err
	}
	all, err := tables.At(m, monthsOfTimed...)
	if err != nil {
		return err
	}
	for _, d := range all {
		if _, err := l.base().CreateTable(t.Context(), d.Create); err != nil {
			return err
		}
	}
	return nil
}

// play is the content of one run.
type play struct {
	// model is the layout, "" for the root first.
	model string
	setup setup
	explore.Limits
	// other is the layout of the peer: another entity, which updates of several entities read. It is "" for the same.
	other string
	// before are done in turn, unobserved; then actors, at once.
	before, actors []role
}

// role makes an actor, of a cast that has a model.
type role struct {
	name string
	kind string
	// staged asks for a staged write, strong for strong reads.
	staged, strong bool
	// parts is how many an insert or a save writes.
	parts int
	// peer: the role is of the other entity. checked: with CheckLoaded. keys: the updates of several entities read
	// items with known keys.
	peer, checked, keys bool
	// crash is the request at which a role of before crashes, 0 for none.
	crash int
}

// models are the layouts.
var models = []string{"first", "last", "middle", "satellite", "flat", "apart", "mortal", "bare", "indexed", "timed"}

// run makes a run, and returns its fault.
func (l *lab) run(p play, c explore.Chooser) error {
	switch p.model {
	case "last":
		return runOf[last](l, p, c)
	case "middle":
		return runOf[middle](l, p, c)
	case "satellite":
		return runOf[invoice](l, p, c)
	case "flat":
		return runOf[flat](l, p, c)
	case "apart":
		return runOf[separateParts](l, p, c)
	case "mortal":
		return runOf[mortal](l, p, c)
	case "bare":
		return runOf[bare](l, p, c)
	case "indexed":
		return runOf[indexed](l, p, c)
	case "timed":
		return runOf[timed](l, p, c)
	}
	return runOf[first](l, p, c)
}

func runOf[T model](l *lab, p play, chooser explore.Chooser) error {
	run := &explore.Run{Limits: p.Limits, Chooser: chooser, Engine: http.DefaultTransport}
	run.Page = p.setup.Page
	c := &cast[T]{id: fmt.Sprint("d", l.runs.Add(1)), shared: &shared{
		history: &explore.History{}, run: run, setup: p.setup, table: l.table,
		client: func(n *explore.Transport, s setup) mapper.Client { return newClient(l.base, n, s) },
	}}
	c.peer = c.other(p.other)
	ctx := context.Background()
	alone := func(r role) {
		crash := *run
		solo := &explore.Run{Chooser: &crashAt{left: r.crash}, Engine: http.DefaultTransport}
		if r.crash > 0 {
			solo.Crashes = 1
		}
		solo.Forward(crash.Now())
		c.run = solo
		solo.Go(ctx, c.play(r))
		run.Forward(solo.Now() + 1) // the next operation starts later
		run.Trace = append(run.Trace, solo.Trace...)
		c.run = run
	}
	for _, r := range p.before {
		alone(r)
	}
	var actors []explore.Actor
	for _, r := range p.actors {
		actors = append(actors, c.play(r))
	}
	run.Go(ctx, actors...)
	blind := slices.ContainsFunc(slices.Concat(p.before, p.actors),
		func(r role) bool { return strings.HasSuffix(r.kind, "blindly") })
	if err := c.ending(ctx, blind, slices.ContainsFunc(p.actors, role.isUpdate)); err != nil {
		return fmt.Errorf("%w\nhistory:\n%s\ntrace:\n%s", err, c.history, run)
	}
	return nil
}

// crashAt crashes an actor at one of its requests.
type crashAt struct{ left int }

func (c *crashAt) Choose(weights []int) int {
	c.left--
	if c.left == 0 {
		return 1 // crash before
	}
	return 0
}

// play returns the actor of a role.
func (c *cast[T]) play(r role) explore.Actor {
	if r.peer {
		r.peer = false
		return c.peer.play(r)
	}
	var o []mapper.ReadOption
	if r.strong {
		o = append(o, mapper.Strong())
	}
	switch r.kind {
	case "insert":
		return c.inserter(r.name, r.parts, stagedIf(r.staged)...)
	case "insert expired":
		return c.expired(r.name, r.parts)
	case "delete":
		return c.deleter(r.name, r.staged)
	case "delete loaded":
		return c.loadedDeleter(r.name, r.staged)
	case "save":
		return c.saver(r.name, r.parts)
	case "join":
		return c.joiner(r.name)
	case "join blindly":
		return c.joiner(r.name, mapper.Blind())
	case "join checked":
		return c.joiner(r.name, mapper.CheckLoaded())
	case "add":
		return c.adder(r.name, "P0", false)
	case "add blindly":
		return c.adder(r.name, "P0", false, mapper.Blind())
	case "add new":
		return c.adder(r.name, "W", false)
	case "add new blindly":
		return c.adder(r.name, "Y", false, mapper.Blind())
	case "add if there":
		return c.adder(r.name, "W", true)
	case "set":
		return c.upserter(r.name, false)
	case "set if there":
		return c.upserter(r.name, true)
	case "found":
		return c.founder(r.name)
	case "foreign":
		return c.foreign(r.name, "P0")
	case "patch":
		return c.patcher(r.name, "P0")
	case "delete parts":
		return c.partDeleter(r.name)
	case "move":
		return c.mover(r.name, c.id+"moved")
	case "swap":
		return c.swapper(r.name, c.id+"moved", false)
	case "swap loaded":
		return c.swapper(r.name, c.id+"moved", true)
	case "transfer", "exchange", "derive", "view":
		return c.updater(r)
	case "read":
		return c.reader(r.name, o...)
	case "read parts":
		return c.partReader(r.name, o...)
	case "query":
		return c.querier(r.name, o...)
	case "look up":
		return c.indexReader(r.name)
	case "look head up":
		return c.headReader(r.name)
	case "look parts up":
		return c.indexQuerier(r.name)
	}
	panic("no role " + r.kind)
}

// ending is the work of a single actor after all others have ended. It reads, deletes, inserts and
// reads, and all of this must succeed, whatever arrives late.
func (c *cast[T]) ending(ctx context.Context, blind, pair bool) error {
	run := c.run
	run.Limits = explore.Limits{Page: run.Page}
	var failed error
	must := func(what string, err error, allowed ...error) {
		for _, a := range allowed {
			if errors.Is(err, a) {
				return
			}
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("a single actor cannot %s: %w", what, err)
		}
	}
	alone := func(do func(n *explore.Transport)) {
		run.Forward(run.Now() + 1) // after the end of the others
		run.Go(ctx, explore.Actor{Name: "end", Do: func(_ context.Context, n *explore.Transport) { do(n) }})
	}
	if pair {
		alone(func(n *explore.Transport) { c.updater(role{name: "end", kind: "view"}).Do(ctx, n) })
	}
	there, origin := false, ""
	alone(func(n *explore.Transport) { c.loadAt(ctx, "end", n, c.id+"moved", mapper.Strong()) })
	alone(func(n *explore.Transport) {
		_, e := c.load(ctx, "end", n, mapper.Strong())
		if there = e != nil; there {
			origin = first(e.Value).Origin
		}
	})
	lookUp := func() { // without writers, an index equals its table
		if _, ok := any(*new(T)).(indexed); !ok {
			return
		}
		alone(func(n *explore.Transport) { c.lookUp(ctx, "end", n) })
		alone(func(n *explore.Transport) {
			if got := c.lookHeadUp(ctx, "end", n); got != origin && failed == nil {
				failed = fmt.Errorf("the index shows %q, and the table %q", got, origin)
			}
		})
		alone(func(n *explore.Transport) { c.lookUpParts(ctx, "end", n) })
	}
	lookUp()
	if !there { // an insert needs no delete before
		alone(func(n *explore.Transport) {
			// An item that was added without reading belongs to no entity, and may block the insert.
			if err := c.insert(ctx, "next", n, 2); !blind {
				must("insert over what is left", err)
			}
		})
		alone(func(n *explore.Transport) { c.load(ctx, "end", n, mapper.Strong()) })
	}
	alone(func(n *explore.Transport) { must("delete", c.delete(ctx, "end", n, false), mapper.ErrNotFound) })
	alone(func(n *explore.Transport) { c.load(ctx, "end", n, mapper.Strong()) })
	alone(func(n *explore.Transport) { must("insert", c.insert(ctx, "fresh", n, 2)) })
	alone(func(n *explore.Transport) { c.load(ctx, "end", n, mapper.Strong()) })
	run.ArriveAll()
	alone(func(n *explore.Transport) {
		if _, e := c.load(ctx, "end", n, mapper.Strong()); e != nil {
			origin = first(e.Value).Origin
		}
	})
	lookUp()
	if err := cmp.Or(failed, c.untrue); err != nil {
		return err
	}
	return c.history.Explain()
}

// draw makes a play of a seed.
func draw(r *rand.Rand) play {
	p := play{model: models[r.IntN(len(models))]}
	if name := os.Getenv("ITEMIZE_EXPLORE_MODEL"); name != "" {
		p.model = name
	}
	p.setup.Attempts = 1 + r.IntN(3)
	p.setup.Unwatched = r.IntN(8) == 0
	p.setup.Page = []int32{0, 1, 2}[r.IntN(3)]
	p.setup.Torn = p.setup.Page == 0 && r.IntN(2) == 0
	if r.IntN(2) == 0 {
		p.Faults = r.IntN(3)
		p.Crashes = r.IntN(2)
		p.Late = r.IntN(3)
	}
	kinds := []string{
		"insert", "insert", "insert", "delete", "delete", "delete loaded", "save", "save", "join", "join",
		"join blindly", "join checked",
		"add", "add blindly", "add new", "add new", "add new blindly", "add if there", "set", "set", "set if there",
		"found", "found", "found", "foreign", "foreign", "patch",
		"delete parts", "move", "swap", "swap loaded", "read", "read parts", "query",
	}
	if p.model == "indexed" {
		kinds = append(kinds, "look up", "look up", "look head up", "look head up", "look parts up", "look parts up",
			"look parts up")
	}
	one := func(name string, kinds ...string) role {
		return role{
			name: name, kind: kinds[r.IntN(len(kinds))], staged: r.IntN(3) > 0 &&
				p.model != "bare", strong: r.IntN(3) == 0,
			parts: 1 + r.IntN(2),
		}
	}
	for i, n := 0, r.IntN(3); i < n; i++ {
		b := one(fmt.Sprint("b", i), "insert", "insert", "delete", "add new blindly", "set", "found")
		if p.model == "mortal" && r.IntN(3) == 0 {
			b.kind = "insert expired"
		}
		if r.IntN(3) == 0 {
			b.crash = 1 + r.IntN(5)
		}
		p.before = append(p.before, b)
	}
	for i, n := 0, 2+r.IntN(2); i < n; i++ {
		p.actors = append(p.actors, one(string(rune('A'+i)), kinds...))
	}
	if p.setup.Torn {
		p.actors[0].kind = "delete"
	}
	return p
}

// Plays drawn at random. ITEMIZE_EXPLORE_MODEL draws them of one layout.
func TestExploreRandom(t *testing.T) {
	l := newLab(t)
	failures := 0
	for _, seed := range draws.Schedules(t, draws.For(time.Second, 30*time.Second, 15*time.Minute)) {
		r := explore.NewRandom(seed)
		p := draw(r.Rand)
		if err := l.run(p, r); err != nil {
			t.Errorf("%s=%d: %s %v | %v: %.600v", draws.ScheduleVariable, seed, p.model, p.before, p.actors, err)
			if failures++; failures == 40 {
				break
			}
		}
	}
}
