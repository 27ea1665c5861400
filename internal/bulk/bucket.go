package bulk

import (
	"context"
	"sync"
	"time"
)

// Bucket bounds the write units a second: they flow in at a rate, and up to a second's are kept.
type Bucket struct {
	rate float64
	mu   sync.Mutex
	// free is when what was taken so far has flown in.
	free time.Time
}

// NewBucket returns a bucket of so many WCU a second, nil for 0, which bounds nothing.
func NewBucket(rate float64) *Bucket {
	if rate == 0 {
		return nil
	}
	return &Bucket{rate: rate}
}

// Take waits until there are units, and takes them.
func (b *Bucket) Take(ctx context.Context, units float64) error {
	if b == nil {
		return ctx.Err()
	}
	now := time.Now()
	b.mu.Lock()
	if full := now.Add(-time.Second); b.free.Before(full) {
		b.free = full
	}
	b.add(units)
	free := b.free
	b.mu.Unlock()
	timer := time.NewTimer(free.Sub(now))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}

// Correct gives back what was expected and not taken, or takes what was more. What DynamoDB did not
// report is not known better.
func (b *Bucket) Correct(expected, took float64) {
	if b == nil || took == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(took - expected)
}

func (b *Bucket) add(units float64) {
	b.free = b.free.Add(time.Duration(units / b.rate * float64(time.Second)))
}
