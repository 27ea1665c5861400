package stream

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// Router calls handlers for the changes of models. Add all handlers before it is used: then it is ready for several
// goroutines, and On and Unmatched panic.
type Router struct {
	used      atomic.Bool
	routes    []routed
	unmatched func(context.Context, *Record) error
}

// routed is a route without its type.
type routed interface {
	// table returns the table of the model with a real name, nil for none.
	table(name string) *item.Table
	// changes adds the calls of the handler for a record, and reports whether the record is one of the model.
	changes(rec *Record, ended *deletions, calls *[]func(context.Context) error) (matched bool, err error)
	// snapshot scans the tables of the model. It calls show with the keys of each entity and the call of the handler,
	// or the error of an entity that cannot be decoded, until that returns false.
	snapshot(dog *watchdog, table string, show func(*Record, func(context.Context) error, error) bool) error
	// reload calls the handler for an entity of a snapshot, by the key of its root item. An entity that does not
	// exist is not shown. matched reports whether the key is one of the model.
	reload(ctx context.Context, rec *Record) (matched bool, err error)
	// name identifies the model in a table.
	name() string
}

// NewRouter returns a router without handlers.
func NewRouter() *Router { return &Router{} }

// Unmatched sets the handler for records of items that are of no model of the router. The items that the library
// itself stores are not shown: guards of unique values, notes, and the parts of external values.
func (r *Router) Unmatched(handler func(context.Context, *Record) error) {
	if handler == nil {
		panic("Router.Unmatched: the handler is nil: pass a function")
	}
	r.open("Router.Unmatched")
	r.unmatched = handler
}

// open panics if the router is used already.
func (r *Router) open(call string) {
	if r.used.Load() {
		panic(call + ": the router is used already: add all handlers before")
	}
}

// Handle calls the handlers for one record. It returns the first error of a handler, or the error of an invalid
// record. A panic of a handler is an error, a *PanicError.
func (r *Router) Handle(ctx context.Context, rec *Record) error {
	if ctx == nil {
		return model.Usagef("Router.Handle: the context is nil: pass context.Background()")
	}
	return r.handle(ctx, rec, &deletions{})
}

func (r *Router) handle(ctx context.Context, rec *Record, ended *deletions) error {
	calls, _, err := r.calls(rec, ended)
	if err != nil {
		return err
	}
	return run(ctx, calls)
}

// reload calls the handlers for an entity of a snapshot again. matched reports whether there is one.
func (r *Router) reload(ctx context.Context, rec *Record) (matched bool, err error) {
	for _, route := range r.routes {
		if route.table(rec.Table) == nil {
			continue
		}
		err := guarded(func() error {
			ok, err := route.reload(ctx, rec)
			matched = matched || ok
			return err
		})
		if err != nil {
			return true, err
		}
	}
	return matched, nil
}

// calls returns the calls of handlers for a record. matched reports whether the record is one for the router, though
// there may be nothing to show.
func (r *Router) calls(rec *Record, ended *deletions) (calls []func(context.Context) error, matched bool, err error) {
	if err := r.check(rec); err != nil {
		return nil, false, err
	}
	if !r.used.Load() { // most often true: a store for each record would be shared by all processors
		r.used.Store(true)
	}
	if internal(rec) {
		return nil, true, nil
	}
	for _, route := range r.routes {
		if rec.Table != "" && route.table(rec.Table) == nil {
			continue
		}
		ok, err := route.changes(rec, ended, &calls)
		if err != nil {
			return nil, true, err
		}
		matched = matched || ok
	}
	if !matched && r.unmatched != nil {
		calls, matched = append(calls, func(ctx context.Context) error { return r.unmatched(ctx, rec) }), true
	}
	return calls, matched, nil
}

// check returns an error if the router cannot handle the records of a stream.
func (r *Router) check(rec *Record) error {
	if err := rec.check(); err != nil {
		return err
	}
	if rec.Table == "" || r.unmatched != nil ||
		slices.ContainsFunc(r.routes, func(on routed) bool { return on.table(rec.Table) != nil }) {
		return nil
	}
	return fmt.Errorf("stream of the table %s: no model of the router has this table: pass its real name with "+
		"mapper.Table, or set a handler with Unmatched", rec.Table)
}

// run calls functions until one fails. A panic is an error.
func run(ctx context.Context, calls []func(context.Context) error) (err error) {
	err = errNilPanic
	defer recovered(&err)
	for _, call := range calls {
		if err := call(ctx); err != nil {
			return printable(err)
		}
	}
	return nil
}

// errNilPanic is the error of panic(nil), which is no panic to recover with GODEBUG=panicnil=1.
var errNilPanic = errors.New("panic with nil: return an error")

// recovered, deferred, makes an error of a panic.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = shown(&PanicError{v, debug.Stack(), panicked()})
	}
}

// shown returns an error whose value has a text: that of a nil pointer panics.
func shown(e *PanicError) (err error) {
	defer func() {
		if recover() != nil {
			err = &PanicError{fmt.Sprintf("a value of type %T whose text panics", e.Value), e.Stack, e.where}
		}
	}()
	return printable(e)
}

// printable returns an error. A nil pointer in it panics here, and not where it is reported.
func printable(err error) error {
	_, _ = err.Error(), kindOf(err)
	return err
}

// errExited is the error of a function that has ended its goroutine.
var errExited = errors.New("the handler has ended its goroutine (runtime.Goexit, or FailNow of a test): return an " +
	"error")

// guarded calls a function of a user in a goroutine of its own, which it can end. Its panic is an error.
func guarded(call func() error) error {
	err, done := errExited, make(chan struct{})
	go func() {
		defer close(done)
		defer recovered(&err)
		if err = call(); err != nil {
			err = printable(err)
		}
	}()
	<-done
	return err
}

// PanicError is the panic of a handler, or of a function of another option. Its text names the function and the line.
type PanicError struct {
	Value any
	Stack []byte
	where string
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic%s: %v", e.where, e.Value) }

// panicked returns where a function has panicked: the first frame that is not of the runtime or of this library.
func panicked() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for inside := false; ; {
		f, more := frames.Next()
		library := slices.ContainsFunc([]string{
			"runtime.", "reflect.", module + "stream.", module + "mapper.",
			module + "field.", module + "internal/",
		}, func(begin string) bool {
			return strings.HasPrefix(f.Function, begin)
		})
		if inside && !library && f.Function != "" {
			return fmt.Sprintf(" in %s, %s:%d", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		inside = inside || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}

// module is the beginning of the names of this library's packages.
const module = "github.com/itemize/itemize/"

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// own are the beginnings of the partition keys of the library's own items: guards and notes.
var own = []string{"~unique#", "~migrate#", "~format#"}

// internal reports whether an item is one that the library stores for itself.
func internal(rec *Record) bool {
	for _, v := range rec.Keys {
		s, ok := v.(*types.AttributeValueMemberS)
		if ok && strings.HasPrefix(s.Value, "~") &&
			slices.ContainsFunc(own, func(begin string) bool { return strings.HasPrefix(s.Value, begin) }) {
			return true
		}
	}
	image := rec.New
	if image == nil {
		image = rec.Old
	}
	for name := range image {
		if strings.HasPrefix(name, "~") {
			return true
		}
	}
	return false
}

// hashOf returns the name of the partition key of a table, "" if no model of the router has the table.
func (r *Router) hashOf(table string) string {
	for _, route := range r.routes {
		if t := route.table(table); t != nil {
			return t.Hash
		}
	}
	return ""
}

// models returns what identifies the models of a table.
func (r *Router) models(table string) (names []string) {
	for _, route := range r.routes {
		if route.table(table) != nil {
			names = append(names, route.name())
		}
	}
	return names
}

// orderOf returns a key that records share if they must be handled in their order. It is the partition key, or the
// whole key of an item in a table of no model.
func (r *Router) orderOf(rec *Record) string {
	if k, ok := attr.ScalarOf(rec.Keys[r.hashOf(rec.Table)]); ok {
		return rec.Table + "\x00" + k.Text
	}
	return rec.Table + "\x00" + string(attr.Hash(rec.Keys))
}

// inOrder calls a function for the numbers of some keys: in the order of each key, until it returns false. So many
// keys at most have their turns at the same time. It begins nothing more when the context has ended. If a call has
// ended its goroutine (runtime.Goexit), it is made again, with the number of such calls.
func inOrder(ctx context.Context, workers int, keys []string, each func(i, exits int) bool) {
	inOrderAfter(ctx, 5*time.Millisecond, workers, keys, each)
}

// inOrderAfter begins as many workers as there are processors. The others begin after a time, because for short calls
// they would cost more than they save.
func inOrderAfter(
	ctx context.Context, d time.Duration, workers int, keys []string, each func(i, exits int) bool,
) {
	firsts, next, last := []int(nil), make([]int, len(keys)), make(map[string]int, len(keys))
	for i, key := range keys {
		if l, ok := last[key]; ok {
			next[l] = i
		} else {
			firsts = append(firsts, i)
		}
		last[key] = i
	}
	if len(firsts) == 0 {
		return
	}
	var wg sync.WaitGroup
	var taken, active atomic.Int64
	var more *time.Timer
	var begin func(i, exits int)
	work := func(i, exits int) { // i is -1 for the next of firsts
		defer func() {
			if i >= 0 {
				begin(i, exits+1)
			}
			if active.Add(-1) == 0 && more.Stop() {
				wg.Done()
			}
		}()
		for {
			for ; i >= 0 && ctx.Err() == nil && each(i, exits); exits = 0 {
				if i = next[i]; i == 0 {
					i = -1
				}
			}
			i, exits = -1, 0
			n := int(taken.Add(1)) - 1
			if n >= len(firsts) {
				return
			}
			i = firsts[n]
		}
	}
	begin = func(i, exits int) {
		active.Add(1)
		wg.Go(func() { work(i, exits) })
	}
	workers = min(workers, len(firsts))
	soon := min(workers, runtime.GOMAXPROCS(0))
	wg.Add(1)
	ready := make(chan struct{})
	more = time.AfterFunc(d, func() {
		<-ready // its workers stop the timer, which has to have its name
		for range workers - soon {
			begin(-1, 0)
		}
		wg.Done()
	})
	close(ready)
	for range soon {
		begin(-1, 0)
	}
	wg.Wait()
}

// deletions remembers the incarnations of entities that were deleted, so that the removals of their items show
// nothing. It forgets the oldest.
type deletions struct {
	mu             sync.Mutex
	recent, former map[string]struct{}
}

// deletionsLimit is the number of incarnations in each of the two generations: about 1 MB in all.
const deletionsLimit = 8192

func (d *deletions) add(incarnation []byte) {
	if incarnation == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.recent == nil || len(d.recent) >= deletionsLimit {
		d.recent, d.former = map[string]struct{}{}, d.recent
	}
	d.recent[string(incarnation)] = struct{}{}
}

func (d *deletions) has(incarnation []byte) bool {
	if incarnation == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, recent := d.recent[string(incarnation)]
	_, former := d.former[string(incarnation)]
	return recent || former
}
