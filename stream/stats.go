package stream

import (
	"sync"
	"time"
)

// Stats are the numbers of a consumer since it was made.
type Stats struct {
	// Shards is the number of shards that this worker reads now.
	Shards int
	// Lag is the age of the oldest record that a handler has now, or of the last one of a shard with unread records.
	// It is 0 if all shards are read to their ends.
	Lag time.Duration
	// Last is the age of the newest handled record, 0 for none.
	Last time.Duration
	// Handled is the number of handled records, Retried that of calls of handlers that failed, DeadLetters that of
	// dead letters, and Trimmed that of gaps in the stream (TrimmedError).
	Handled, Retried, DeadLetters, Trimmed int64
	// Errors is the number of errors that the consumer survived.
	Errors int64
}

// stats collects Stats.
type stats struct {
	mu     sync.Mutex
	counts Stats
	shards map[string]*shardStats
	newest time.Time
}

// shardStats is about one shard: the time of the last record, and whether there are no more.
type shardStats struct {
	last    time.Time
	current bool
}

// Stats returns the numbers of the consumer.
func (c *Consumer) Stats() Stats {
	s := &c.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.counts
	out.Shards = len(s.shards)
	for _, x := range s.shards {
		if !x.current && !x.last.IsZero() {
			out.Lag = max(out.Lag, time.Since(x.last))
		}
	}
	if !s.newest.IsZero() {
		out.Last = time.Since(s.newest)
	}
	return out
}

func (s *stats) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shards == nil {
		s.shards = map[string]*shardStats{}
	}
	f()
}

func (s *stats) take(shard string)    { s.change(func() { s.shards[shard] = &shardStats{} }) }
func (s *stats) release(shard string) { s.change(func() { delete(s.shards, shard) }) }
func (s *stats) failed()              { s.change(func() { s.counts.Errors++ }) }
func (s *stats) retried()             { s.change(func() { s.counts.Retried++ }) }
func (s *stats) dead()                { s.change(func() { s.counts.DeadLetters++ }) }
func (s *stats) trimmed()             { s.change(func() { s.counts.Trimmed++ }) }

func (s *stats) current(shard string) {
	s.change(func() {
		if x := s.shards[shard]; x != nil {
			x.current = true
		}
	})
}

// begin notes the time of the first record of an answer that is handled now.
func (s *stats) begin(shard string, at time.Time) {
	s.change(func() {
		if x := s.shards[shard]; x != nil {
			x.last, x.current = at, false
		}
	})
}

func (s *stats) handled(shard string, n int, at time.Time) {
	s.change(func() {
		s.counts.Handled += int64(n)
		if x := s.shards[shard]; x != nil {
			x.last, x.current = at, false
		}
		if at.After(s.newest) {
			s.newest = at
		}
	})
}
