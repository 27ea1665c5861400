package request

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Limiter limits the capacity units that are used per second. No second uses more than the limit and
// one request: it leaves a twentieth of the limit unused, because up to [credit] of an idle time is
// kept. The limit may be changed at any time. A nil Limiter limits nothing. It is safe for concurrent
// use.
type Limiter struct {
	mu    sync.Mutex
	limit float64
	// free is when the used units have passed.
	free    time.Time
	changed chan struct{}
}

// NewLimiter returns a limiter for a number of units per second. 0 pauses.
func NewLimiter(limit float64) *Limiter {
	return &Limiter{limit: limit, changed: make(chan struct{})}
}

// Rate is a limit of an option, in capacity units a second. The zero Rate is no limit.
type Rate struct {
	units    float64
	explicit bool
}

// RateOf returns the rate of an option's argument.
func RateOf(units float64) Rate { return Rate{units, true} }

// Check refuses invalid rates.
func (r Rate) Check() error {
	if r.explicit && !(r.units >= 0.001 && r.units < 1e9) { // also NaN
		return fmt.Errorf("%v units per second: write 0.001 or more, or leave it out", r.units)
	}
	return nil
}

// Limiter returns the limiter for an equal share of the rate, nil for no limit.
func (r Rate) Limiter(shares int) *Limiter {
	if !r.explicit {
		return nil
	}
	return NewLimiter(r.units / float64(shares))
}

// Set changes the limit. 0 pauses.
func (l *Limiter) Set(limit float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.free.After(now) && l.limit > 0 && limit > 0 {
		// the remaining units pass at the new rate
		l.free = now.Add(time.Duration(float64(l.free.Sub(now)) * l.limit / limit))
	}
	l.limit = limit
	close(l.changed)
	l.changed = make(chan struct{})
}

// Limit returns the units per second, 0 for no limit.
func (l *Limiter) Limit() float64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// Largest returns the largest number of units for one request of several items: a twentieth of a
// second's units. A single item may take more.
func (l *Limiter) Largest() float64 {
	if l == nil {
		return 1 << 30
	}
	return l.Limit() / 20
}

// Take waits until the units that were taken before have passed, and takes units. The error is that of
// the context.
func (l *Limiter) Take(ctx context.Context, units float64) error {
	if l == nil {
		return ctx.Err()
	}
	for {
		wait, changed := l.try(units)
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

// credit is the longest idle time that is kept, so that late timers lose no units.
const credit = 20 * time.Millisecond

// try takes the units, or returns how long to wait.
func (l *Limiter) try(units float64) (time.Duration, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case l.limit <= 0:
		return time.Hour, l.changed
	case l.free.After(now):
		return l.free.Sub(now), l.changed
	}
	if oldest := now.Add(-credit); l.free.Before(oldest) {
		l.free = oldest
	}
	l.pass(units)
	return 0, nil
}

// pass lets units pass, at a rate that leaves room for one request of several items.
func (l *Limiter) pass(units float64) {
	limit := l.limit
	if limit >= 20 {
		limit -= limit / 20
	}
	l.free = l.free.Add(time.Duration(units / limit * float64(time.Second)))
}

// Correct replaces the expected units of a Take by the consumed ones. Nothing changes if consumed is 0,
// because DynamoDB did not report it.
func (l *Limiter) Correct(expected, consumed float64) {
	if l == nil || consumed == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit > 0 {
		l.pass(consumed - expected)
	}
}
