package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
)

// Random calls of inOrder: order, limit, stops, and calls that end their goroutines.
func TestInOrder(t *testing.T) {
	first := draws.Seed(t)
	for n := range uint64(draws.Times(300, 3000, 100_000)) {
		seed := first + n
		r := rand.New(rand.NewPCG(seed, 4))
		n, kinds, workers := r.IntN(60), 1+r.IntN(20), 1+r.IntN(10)
		keys := make([]string, n)
		type plan struct {
			exits, sleep int
			stop, cancel bool
		}
		plans := make([]plan, n)
		slow := r.IntN(4) == 0
		for i := range n {
			keys[i] = fmt.Sprint(r.IntN(kinds))
			if r.IntN(10) == 0 {
				plans[i].exits = r.IntN(4)
			}
			if slow {
				plans[i].sleep = r.IntN(3)
			}
			plans[i].stop = r.IntN(40) == 0
			plans[i].cancel = r.IntN(200) == 0
		}
		ctx, cancel := context.WithCancel(context.Background())
		var mu sync.Mutex
		done := make([]bool, n)
		calls := make([]int, n)
		var running, most atomic.Int64
		busy := map[string]bool{}
		canceled := false
		bad := ""
		later := time.Duration(r.IntN(3)) * 5 * time.Millisecond / 2 // 0: as on a machine that is late
		inOrderAfter(ctx, later, workers, keys, func(i, exits int) bool {
			now := running.Add(1)
			defer running.Add(-1)
			mu.Lock()
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			if busy[keys[i]] {
				bad = "two calls of a key"
			}
			busy[keys[i]] = true
			defer func() { mu.Lock(); busy[keys[i]] = false; mu.Unlock() }()
			if exits != calls[i] {
				bad = fmt.Sprint("exits ", exits, " want ", calls[i])
			}
			calls[i]++
			for j := range i {
				if keys[j] == keys[i] && !done[j] {
					bad = "out of order"
				}
			}
			p := plans[i]
			mu.Unlock()
			if p.sleep > 0 {
				time.Sleep(time.Duration(p.sleep) * time.Millisecond)
			}
			if exits < p.exits {
				runtime.Goexit()
			}
			mu.Lock()
			defer mu.Unlock()
			if p.cancel {
				canceled = true
				cancel()
			}
			done[i] = !p.stop
			return done[i]
		})
		if running.Load() != 0 {
			bad = "calls after the return"
		}
		if most.Load() > int64(max(workers, 1)) {
			bad = fmt.Sprint("limit ", most.Load(), " of ", workers)
		}
		stopped := map[string]bool{}
		for i := range n {
			switch {
			case stopped[keys[i]] && calls[i] > 0:
				bad = "called after a stop"
			case !stopped[keys[i]] && calls[i] == 0 && !canceled:
				bad = "not called"
			case calls[i] > 0 && !canceled && calls[i] != plans[i].exits+1:
				bad = "number of calls"
			}
			stopped[keys[i]] = stopped[keys[i]] || !done[i]
		}
		cancel()
		if bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
	}
}
