// Package flow controls how fast requests are sent: pauses between retries ([Pause]), bounded
// parallelism ([AtOnce]), and capacity units per second ([Limiter]).
package flow

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	firstPause = 10 * time.Millisecond
	longPause  = time.Second
)

type (
	inOrder       struct{}
	withoutPauses struct{}
)

// WithoutPauses returns a context in which [Pause] does not wait: for tests of retries.
func WithoutPauses(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutPauses{}, true)
}

// InOrder returns a context in which nothing waits and nothing runs at once: for tests that
// decide the order of requests themselves.
func InOrder(ctx context.Context) context.Context { return context.WithValue(ctx, inOrder{}, true) }

func isInOrder(ctx context.Context) bool { return ctx.Value(inOrder{}) != nil }

// Pause waits before a further try, the longer the more there were, with full
// jitter; it returns early with the context's error.
func Pause(ctx context.Context, try int) error {
	if isInOrder(ctx) || ctx.Value(withoutPauses{}) != nil {
		return ctx.Err()
	}
	limit := longPause
	if try < 7 {
		limit = min(limit, firstPause<<try)
	}
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Parallel bounds how many functions of one AtOnce run at a time.
const Parallel = 16

// AtOnce runs functions at once, a bounded number of them, and returns the first
// error; the others are canceled by it. It returns when all have ended, and panics if one of them did.
func AtOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return AtMost(ctx, Parallel, n, do)
}

// AtMost is AtOnce with another bound.
func AtMost(ctx context.Context, parallel, n int, do func(ctx context.Context, i int) error) error {
	if isInOrder(ctx) {
		parallel = 1
	}
	var panicked atomic.Pointer[Panic]
	group, workers := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range n {
		if workers.Err() != nil {
			break
		}
		group.Go(func() error {
			if workers.Err() != nil {
				return nil // another function failed
			}
			err := Caught(func() error { return do(workers, i) })
			if p, ok := err.(*Panic); ok { // of this function alone
				panicked.Store(p)
			}
			return err
		})
	}
	err := group.Wait()
	if p := panicked.Load(); p != nil { // also if another function had failed before
		panic(p)
	}
	if ended := context.Cause(ctx); ended != nil && !errors.Is(err, ended) {
		return ended
	}
	return err
}
