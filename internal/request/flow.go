package request

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

// WithoutPauses returns a context in which [Pause] does not wait, for tests of retries.
func WithoutPauses(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutPauses{}, true)
}

// InOrder returns a context in which nothing waits and nothing runs in parallel, for tests that decide
// the order of requests.
func InOrder(ctx context.Context) context.Context { return context.WithValue(ctx, inOrder{}, true) }

func isInOrder(ctx context.Context) bool { return ctx.Value(inOrder{}) != nil }

// Pause waits before a retry: longer after more retries, with full jitter. If the context ends, it
// returns its error.
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

// Parallel is the number of functions of AtOnce that run in parallel.
const Parallel = 16

// AtOnce runs functions in parallel, and returns the first error, which cancels the others. It returns
// when all have ended. If one of them panics, it panics.
func AtOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return AtMost(ctx, Parallel, n, do)
}

// AtMost is AtOnce with another limit.
func AtMost(ctx context.Context, parallel, n int, do func(ctx context.Context, i int) error) error {
	if isInOrder(ctx) {
		parallel = 1
	}
	var panicked atomic.Pointer[Panic]
	group, workers := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(max(parallel, 1), n) { // each has one stack, which grows once
		group.Go(func() error {
			for workers.Err() == nil { // no other function has failed
				i := int(next.Add(1)) - 1
				if i >= n {
					break
				}
				err := Caught(func() error { return do(workers, i) })
				if p, ok := err.(*Panic); ok { // of this function only
					panicked.Store(p)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	if p := panicked.Load(); p != nil { // even if another function failed before
		panic(p)
	}
	if ended := context.Cause(ctx); ended != nil && !errors.Is(err, ended) {
		return ended
	}
	return err
}
