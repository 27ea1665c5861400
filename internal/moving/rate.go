package moving

import (
	"context"
	"sync"
	"time"
)

// Rate bounds the write units a second: no second passes more than the rate and one item. It may be changed while it is
// used, and 0 pauses. The nil Rate bounds nothing.
type Rate struct {
	mu   sync.Mutex
	rate float64
	// free is when what was taken so far has passed.
	free    time.Time
	changed chan struct{}
}

// NewRate returns a rate of so many WCU a second.
func NewRate(rate float64) *Rate { return &Rate{rate: rate, changed: make(chan struct{})} }

// Set changes the rate; 0 pauses.
func (r *Rate) Set(rate float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.free.After(now) && r.rate > 0 && rate > 0 {
		r.free = now.Add(time.Duration(float64(r.free.Sub(now)) * r.rate / rate)) // what is owed yet passes at the new rate
	}
	r.rate = rate
	close(r.changed)
	r.changed = make(chan struct{})
}

// of is the rate, 0 for no bound.
func (r *Rate) of() float64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rate
}

// Most is how many units may be taken at once: a twentieth of a second's, beside which the rest of the rate passes. A single
// item may take more.
func (r *Rate) Most() float64 {
	if r == nil {
		return 1 << 30
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rate / 20
}

// Take waits until the units that were taken before have passed, and takes more.
func (r *Rate) Take(ctx context.Context, units float64) error {
	if r == nil {
		return ctx.Err()
	}
	for {
		wait, changed := r.try(units)
		if wait == 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// try takes the units, or says how long to wait.
func (r *Rate) try(units float64) (time.Duration, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	switch {
	case r.rate <= 0:
		return time.Hour, r.changed
	case r.free.After(now):
		return r.free.Sub(now), r.changed
	}
	r.free = now
	r.pass(units)
	return 0, nil
}

// pass lets units pass, at a rate that leaves room for a batch.
func (r *Rate) pass(units float64) {
	rate := r.rate
	if rate >= 20 {
		rate -= rate / 20
	}
	r.free = r.free.Add(time.Duration(units / rate * float64(time.Second)))
}

// Correct gives back what was expected and not taken, or takes what was more. What DynamoDB did not report is not
// known better.
func (r *Rate) Correct(expected, took float64) {
	if r == nil || took == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rate > 0 {
		r.pass(took - expected)
	}
}
