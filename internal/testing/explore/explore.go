// Package explore runs the interleavings of actors that use one table at once.
//
// An actor is any function that sends requests through its own client. Each request waits, before it
// reaches the engine, until a [Chooser] selects it. The chooser may also lose a request or its answer,
// let its actor crash there, or deliver a lost request much later. The results of the operations are a
// history ([History]). [History.Explain] looks for an order of them in which each result is true. It
// knows no protocol, only the acknowledged results. A protocol joins as one more actor, whose
// operations describe their effects on the world ([Op]).
//
// A run is determined by its choices alone: the same choices give the same run again.
package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/itemize/itemize/internal/request"
)

// Limits are the maximum numbers of faults in one run.
type Limits struct {
	// Faults is how many requests or answers are lost, Crashes how many actors stop, and
	// Late how many lost requests arrive later.
	Faults, Crashes, Late int
	// Throttles is how many requests are refused: as throttled, or transactions also because of a conflict with
	// another one. Ends is how many contexts end during a request.
	Throttles, Ends int
	// Page is how many items an answer to a query holds at most, 0 for no bound.
	Page int32
}

// Actor is a function that uses the table. It sends its requests through the transport.
type Actor struct {
	Name string
	Do   func(ctx context.Context, n *Transport)
}

// Run is one run of actors.
type Run struct {
	Limits
	Chooser Chooser
	// Engine sends a request to the engine.
	Engine http.RoundTripper
	// Trace are the steps, for the person who investigates them.
	Trace []string

	clock int
	late  []*message
	ready chan *Transport
}

// Now is the number of the step that is being made.
func (r *Run) Now() int { return r.clock }

// Transport is an actor's way to the engine.
type Transport struct {
	run     *Run
	name    string
	pending *message
	goOn    chan verdict
	crashed bool
	done    bool
	// Faulty reports that one of the actor's requests or answers was lost.
	Faulty bool
	// Refused reports that one of its requests was refused as throttled, or because of another transaction.
	Refused bool
	// Torn reports that the answers to the actor's queries are no snapshots.
	Torn   bool
	cancel context.CancelCauseFunc
}

type verdict uint8

const (
	deliver verdict = iota
	loseRequest
	loseAnswer
	crashBefore
	crashAfter
	throttle
	conflict
	endBefore
	endAfter
)

func (v verdict) String() string {
	return [...]string{
		"", " (request lost)", " (answer lost)", " (crash before)", " (crash after)", " (throttled)",
		" (transaction conflict)", " (context ends before)", " (context ends after)",
	}[v]
}

// errLost is the error of a lost request or answer for an actor.
var errLost = errors.New("connection reset by the explorer")

// ErrCrashed is the cause of a crashed actor's context.
var ErrCrashed = errors.New("crashed")

// Go runs the actors to their end.
func (r *Run) Go(ctx context.Context, actors ...Actor) {
	r.ready = make(chan *Transport)
	transports := make([]*Transport, len(actors))
	running := len(actors)
	for i, a := range actors {
		n := &Transport{run: r, name: a.Name, goOn: make(chan verdict)}
		transports[i] = n
		actorCtx, cancel := context.WithCancelCause(request.InOrder(ctx))
		n.cancel = cancel
		go func() {
			defer func() {
				n.done = true
				r.ready <- n
			}()
			a.Do(actorCtx, n)
		}()
		<-r.ready // it waits with its first request, or has ended
		if n.done {
			running--
		}
	}
	last := -1
	for running > 0 {
		r.clock++
		i, v := r.choose(transports, last)
		if i < 0 {
			continue // something late arrived
		}
		last = i
		n := transports[i]
		if n.pending != nil {
			r.trace(n.name + ": " + n.pending.describe() + v.String())
		}
		n.goOn <- v
		<-r.ready
		if n.done {
			running--
		}
	}
	for _, n := range transports {
		n.cancel(nil)
	}
}

// choose selects the next step: the actor whose request continues, and its fault.
func (r *Run) choose(all []*Transport, last int) (actor int, v verdict) {
	var o options
	for k := range all {
		// The actor of the last step comes first, so that choice 0 stays with it.
		i := (k + max(last, 0)) % len(all)
		if all[i].done {
			continue
		}
		o.add(10, func() { actor, v = i, deliver })
		if all[i].crashed {
			continue
		}
		if r.Faults > 0 && all[i].pending != nil {
			o.add(3, func() { r.Faults--; actor, v = i, loseRequest })
			o.add(3, func() { r.Faults--; actor, v = i, loseAnswer })
		}
		if r.Crashes > 0 && all[i].pending != nil {
			o.add(1, func() { r.Crashes--; actor, v = i, crashBefore })
			o.add(1, func() { r.Crashes--; actor, v = i, crashAfter })
		}
		r.refusals(all[i].pending, &o, func(of verdict) { actor, v = i, of })
	}
	if r.Late > 0 {
		for k, m := range r.late {
			o.add(3, func() {
				actor = -1
				r.Late--
				r.late = append(r.late[:k:k], r.late[k+1:]...)
				r.Arrive(m)
			})
		}
	}
	o.pick(r.Chooser)
	return actor, v
}

// refusals adds the options to refuse a request, and to end the context of its actor.
func (r *Run) refusals(m *message, o *options, choose func(verdict)) {
	if m == nil {
		return
	}
	if r.Throttles > 0 {
		o.add(3, func() { r.Throttles--; choose(throttle) })
		if strings.HasPrefix(m.operation(), "Transact") {
			o.add(3, func() { r.Throttles--; choose(conflict) })
		}
	}
	if r.Ends > 0 {
		o.add(1, func() { r.Ends--; choose(endBefore) })
		o.add(1, func() { r.Ends--; choose(endAfter) })
	}
}

// Arrive delivers a lost request.
func (r *Run) Arrive(m *message) {
	_, err := m.send(r.Engine)
	r.trace(fmt.Sprintf("late: %s: %v", m.describe(), err))
}

// ArriveAll delivers all that was lost and has not arrived.
func (r *Run) ArriveAll() {
	for _, m := range r.late {
		r.clock++
		r.Arrive(m)
	}
	r.late = nil
}

func (r *Run) trace(s string) { r.Trace = append(r.Trace, fmt.Sprintf("%3d %s", r.clock, s)) }

// String returns the trace.
func (r *Run) String() string { return strings.Join(r.Trace, "\n") }

// Forward moves the clock on to what another run has reached.
func (r *Run) Forward(to int) { r.clock = max(r.clock, to) }
