package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// hooks are called before each request of an operation, with its number from 1, and return its fault. The hook of ""
// is called before each request, with its number of all.
type hooks map[string]func(number int) kit.Fault

// watch has a transport call the hooks.
func (at hooks) watch(f *kit.Faulty) {
	numbers := map[string]int{}
	f.Pick = func() kit.Fault {
		for _, operation := range []string{"", f.Log[len(f.Log)-1]} {
			numbers[operation]++
			if hook := at[operation]; hook != nil {
				if fault := hook(numbers[operation]); fault != kit.None {
					return fault
				}
			}
		}
		return kit.None
	}
}

// nth is a hook of one request. It does something, if do is set, and has a fault.
func nth(n int, do func(), fault kit.Fault) func(int) kit.Fault {
	return func(number int) kit.Fault {
		if number != n {
			return kit.None
		}
		if do != nil {
			do()
		}
		return fault
	}
}

// writers are two programs with one table. own has a network with hooks.
type writers[T any] struct {
	*testing.T
	ctx        context.Context
	table      string
	own, other *mapper.Mapper[T]
	network    *kit.Faulty
}

func newWriters[T any](t *testing.T, attempts int) *writers[T] {
	t.Helper()
	w := &writers[T]{
		T: t, ctx: request.WithoutPauses(context.Background()), table: testengine.Table(t, "PK:S", "SK:S"),
		network: &kit.Faulty{At: -1},
	}
	w.own = kit.Must(mapper.New[T](kit.Client(t, w.network, attempts), mapper.Table(w.table)))(t)
	w.other = kit.Must(mapper.New[T](testengine.Start(t).Client(), mapper.Table(w.table)))(t)
	return w
}

// insert has the other program insert an entity.
func (w *writers[T]) insert(v T) {
	w.Helper()
	kit.Must(w.other.Save(w.ctx, w.other.New(v)))(w)
}

// change has the other program load, change and save an entity.
func (w *writers[T]) change(id string, change func(*T), options ...mapper.WriteOption) {
	w.Helper()
	e := kit.Must(w.other.Load(w.ctx, w.other.Key(id), mapper.Strong()))(w)
	change(&e.Value)
	kit.Must(w.other.Save(w.ctx, e, options...))(w)
}

// move is change with Move.
func (w *writers[T]) move(id string, change func(*T)) {
	w.Helper()
	w.change(id, change, mapper.Move())
}

// play has two programs. The other one stores an entity with ID 1. The own one loads it, and saves it in each step.
type play[T any] struct {
	name   string
	stored T
	// before is done before the entity is stored.
	before func(w *writers[T])
	// own says that the own program stores the entity, and does not load it.
	own bool
	// load loads the entity, if it is not a plain load of its key.
	load func(w *writers[T]) (*mapper.Entity[T], error)
	// attempts of the SDK for each request of the own program, 1 if it is not set.
	attempts int
	steps    []step[T]
}

// step is a save of the own program.
type step[T any] struct {
	// before is done by the other program before the save.
	before func(w *writers[T])
	// during has the hooks of the save's requests.
	during func(w *writers[T]) hooks
	// change changes the value that is saved.
	change func(*T)
	save   func(w *writers[T], e *mapper.Entity[T]) (*mapper.Receipt, error)
	// want is the outcome after the save.
	want string
}

// saves returns a save with options.
func saves[T any](options ...mapper.WriteOption) func(*writers[T], *mapper.Entity[T]) (*mapper.Receipt, error) {
	return func(w *writers[T], e *mapper.Entity[T]) (*mapper.Receipt, error) {
		return w.own.Save(w.ctx, e, options...)
	}
}

// perform runs the plays. show describes an entity.
func perform[T any](t *testing.T, show func(*T) string, plays []play[T]) {
	for i := range plays {
		p := &plays[i]
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.run(t, show)
		})
	}
}

func (p *play[T]) run(t *testing.T, show func(*T) string) {
	w := newWriters[T](t, max(p.attempts, 1))
	if p.before != nil {
		p.before(w)
	}
	e := p.begin(w)
	for i, s := range p.steps {
		if s.before != nil {
			s.before(w)
		}
		if s.change != nil {
			s.change(&e.Value)
		}
		if s.during != nil {
			s.during(w).watch(w.network)
		}
		var r *mapper.Receipt
		var err error
		if s.save != nil {
			r, err = s.save(w, e)
		}
		w.network.Pick = nil
		if got := w.outcome(show, r, err); got != s.want {
			t.Errorf("step %d: %s\nwant: %s\nthe error is %v", i+1, got, s.want, err)
		}
	}
}

// begin stores and loads the entity.
func (p *play[T]) begin(w *writers[T]) *mapper.Entity[T] {
	if p.own {
		e := w.own.New(p.stored)
		kit.Must(w.own.Save(w.ctx, e))(w)
		return e
	}
	w.insert(p.stored)
	if p.load != nil {
		return kit.Must(p.load(w))(w)
	}
	return kit.Must(w.own.Load(w.ctx, w.own.Key("1")))(w)
}

// outcome describes the entities that exist, those of their items that they do not show, which items a move carried
// and left behind, and the kind of an error.
func (w *writers[T]) outcome(show func(*T) string, r *mapper.Receipt, err error) string {
	var parts []string
	for _, id := range []string{"1", "2", "3"} {
		e, err := w.other.Load(w.ctx, w.other.Key(id), mapper.Strong())
		if errors.Is(err, mapper.ErrNotFound) {
			continue
		}
		text := id + ": " + show(&kit.Must(e, err)(w).Value)
		if n := e.Unknown(); n > 0 {
			text += fmt.Sprintf(" and %d hidden", n)
		}
		parts = append(parts, text)
	}
	if r != nil && len(r.Carried) > 0 {
		parts = append(parts, "carried "+sorts(r.Carried))
	}
	if r != nil && len(r.LeftBehind) > 0 {
		parts = append(parts, "left behind "+sorts(r.LeftBehind))
	}
	if err != nil {
		parts = append(parts, kindOf(err))
	}
	return strings.Join(parts, ", ")
}

// kindOf is the kind of an error, and the items of a PartialError.
func kindOf(err error) string {
	var kinds []string
	var partial *mapper.PartialError
	if errors.As(err, &partial) {
		kinds = append(kinds, "written "+sorts(partial.Written))
		if len(partial.Rest) > 0 {
			kinds = append(kinds, "but not "+sorts(partial.Rest))
		}
	}
	if errors.As(err, new(*mapper.ConflictError)) {
		kinds = append(kinds, "conflict")
	}
	if isUnknown(err) {
		kinds = append(kinds, "unknown")
	}
	if kinds == nil {
		return err.Error()
	}
	return strings.Join(kinds, ", ")
}

// sorts are the sort keys of items.
func sorts(keys []mapper.Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprint(k.Sort))
	}
	return strings.Join(all, " ")
}

// numbers describes elements.
func numbers(all []kit.Part) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, strings.TrimSpace(fmt.Sprint(p.N, " ", p.Text)))
	}
	return fmt.Sprint(texts)
}
