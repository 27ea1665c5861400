package request

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Pauses grow with the tries, and stay under a second.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for try, limit := range map[int]time.Duration{
			0: 10 * time.Millisecond, 1: 20 * time.Millisecond,
			3: 80 * time.Millisecond, 6: 640 * time.Millisecond, 7: time.Second, 1000: time.Second,
		} {
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

// A limiter lets units pass at its limit, less the twentieth that it leaves for requests of several
// items, and keeps 20 ms of idle time at most.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1000)
		begun, n := time.Now(), 0
		for time.Since(begun) < 10*time.Second {
			if err := l.Take(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			n += 10
		}
		if n < 9490 || n > 9550 {
			t.Errorf("%d units in 10 s", n)
		}
		time.Sleep(time.Hour)
		begun, n = time.Now(), 0
		for time.Since(begun) == 0 {
			_ = l.Take(t.Context(), 1)
			n++
		}
		if n > 22 { // one more, and that which waited
			t.Errorf("%d units at once after an idle hour", n)
		}
	})
}

// A limit of 0 pauses, until it is changed or the context ends; a changed limit holds at once; nil limits nothing.
func TestLimiterIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(0)
		go func() {
			time.Sleep(time.Minute)
			l.Set(10)
		}()
		begun := time.Now()
		_ = l.Take(t.Context(), 10)
		if waited := time.Since(begun); waited != time.Minute {
			t.Errorf("waited for %v", waited)
		}
		l.Set(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Take(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		none := Rate{}.Limiter(1)
		if err := none.Take(t.Context(), 1e9); err != nil || none.Limit() != 0 {
			t.Errorf("%v", err)
		}
	})
}

// Consumed units that differ from the expected ones are given back, or taken; 0 is not known, and changes nothing.
func TestLimiterIsCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for consumed, want := range map[float64]time.Duration{
			0: time.Second, 5: 500 * time.Millisecond,
			20: 2 * time.Second,
		} {
			l := NewLimiter(10)
			time.Sleep(time.Second)
			_ = l.Take(t.Context(), 10)
			l.Correct(10, consumed)
			begun := time.Now()
			_ = l.Take(t.Context(), 1)
			if waited := time.Since(begun); waited != want && waited != want-credit {
				t.Errorf("consumed %v: waited for %v, want %v", consumed, waited, want)
			}
		}
	})
}

// A panic of a function reaches the caller of AtOnce, with its value and the stack of where it was,
// also if another function failed before.
func TestPanicReachesCaller(t *testing.T) {
	broken := errors.New("broken")
	for _, first := range []error{nil, broken} {
		started := make(chan bool)
		err := Caught(func() error {
			return AtOnce(context.Background(), 8, func(ctx context.Context, i int) error {
				switch i {
				case 0:
					<-started
					return first
				case 3:
					close(started)
					if first != nil {
						<-ctx.Done()
					}
					panicking(broken)
				}
				return nil
			})
		})
		var p *Panic
		if !errors.As(err, &p) || !errors.Is(err, broken) || !strings.Contains(err.Error(), "panicking") {
			t.Errorf("after %v: %v", first, err)
		}
	}
	if err := Caught(func() error { return Repanic(broken) }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func panicking(v any) { panic(v) }
