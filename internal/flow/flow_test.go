package flow

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Pauses grow with the tries, and stay under a second.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for try, limit := range map[int]time.Duration{0: 10 * time.Millisecond, 1: 20 * time.Millisecond, 3: 80 * time.Millisecond, 6: 640 * time.Millisecond, 7: time.Second, 1000: time.Second} {
			var longest time.Duration
			for range 200 {
				began := time.Now()
				if err := Pause(context.Background(), try); err != nil {
					t.Fatal(err)
				}
				longest = max(longest, time.Since(began))
			}
			if longest >= limit || longest < limit/2 {
				t.Errorf("try %d: paused up to %v, want nearly %v", try, longest, limit)
			}
		}
	})
}

// A pause ends with its context.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Nanosecond, cancel)
		for err := error(nil); err == nil; {
			err = Pause(ctx, 7) // one may be shorter
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// All functions run, a bounded number of them at a time.
func TestAtOnce(t *testing.T) {
	for _, n := range []int{0, 1, Parallel, 100} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			done := make([]bool, n)
			err := AtOnce(context.Background(), n, func(_ context.Context, i int) error {
				if now := running.Add(1); now > most.Load() {
					most.Store(now)
				}
				time.Sleep(time.Second)
				running.Add(-1)
				done[i] = true
				return nil
			})
			if err != nil || int(most.Load()) != min(n, Parallel) {
				t.Errorf("of %d, %d at a time: %v", n, most.Load(), err)
			}
			for i, ok := range done {
				if !ok {
					t.Errorf("of %d, %d did not run", n, i)
				}
			}
		})
	}
}

// The first error is returned, cancels the others, and keeps further ones from running;
// AtOnce returns when all have ended.
func TestAtOnceError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var ran, ended atomic.Int32
		err := AtOnce(context.Background(), 100, func(ctx context.Context, i int) error {
			ran.Add(1)
			defer ended.Add(1)
			if i == 3 {
				time.Sleep(time.Second)
				return broken
			}
			<-ctx.Done()
			time.Sleep(time.Second)
			return ctx.Err()
		})
		if !errors.Is(err, broken) || ran.Load() != Parallel || ended.Load() != ran.Load() {
			t.Errorf("%v, ran %d, ended %d", err, ran.Load(), ended.Load())
		}
	})
}

// The caller's context ends the functions too.
func TestAtOnceContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := AtOnce(ctx, 5, func(context.Context, int) error {
		t.Error("it ran")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
