package stream

import (
	"context"
	"sync"
	"time"
)

// watchdog ends a context when nothing has happened for a time: an answer that never comes must not stop a reader. It
// does not watch while it is paused, because a handler is at work.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	limit  time.Duration
	alive  func() // is called for progress

	mu     sync.Mutex
	paused bool
}

func newWatchdog(ctx context.Context, limit time.Duration, alive func()) *watchdog {
	d := &watchdog{limit: limit, alive: alive}
	d.ctx, d.cancel = context.WithCancel(ctx)
	d.timer = time.AfterFunc(limit, d.cancel)
	return d
}

// progress begins the time again, unless the watchdog is paused.
func (d *watchdog) progress() {
	d.alive()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.paused {
		d.timer.Reset(d.limit)
	}
}

func (d *watchdog) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = true
	d.timer.Stop()
}

func (d *watchdog) resume() {
	d.alive()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = false
	d.timer.Reset(d.limit)
}

func (d *watchdog) end() {
	d.timer.Stop()
	d.cancel()
}
