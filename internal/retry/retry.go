// Package retry has the pauses between tries, and bounded parallelism.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 10 * time.Millisecond
	longPause  = time.Second
)

// Pause waits before a further try, the longer the more there were, with full
// jitter; it returns early with the context's error.
func Pause(ctx context.Context, try int) error {
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
// error; the others are canceled by it. It returns when all have ended.
func AtOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	done := make(chan struct{})
	workers := min(n, Parallel)
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	for range workers {
		<-done
	}
	return context.Cause(ctx)
}
