package stream

import (
	"sync"
	"time"
)

// Stats are the numbers of a consumer since it was made.
type Stats struct {
	// Shards is the number of shards that this worker reads now.
	Shards int
	// Behind is the number of shards that have not been read to their ends, as far as this worker knows: its own ones,
	// and those that no worker reads. The scan of a snapshot is one of them. It is 1 or more until the shards are
	// listed, and while a request fails. The shards of a worker that has died count after its failover time. If this is
	// the only worker of its group, 0 means that the snapshot is complete and that all changes are handled that the
	// last reads could find. These reads are one Poll old at most.
	Behind int
	// Lag is the longest time for which changes may have waited in these shards. It is the age of the oldest record
	// that a handler has now, or the time since the last read to the end of a shard. It grows while requests fail or a
	// snapshot is scanned, and is 0 if Behind is 0.
	Lag time.Duration
	// Last is the age of the newest handled record, 0 for none.
	Last time.Duration
	// Handled is the number of handled records and of entities of snapshots, with those of other models and dead
	// letters. Unmatched is the number of records among them that are of no model of the router. It grows if a model's
	// keys do not fit the table, and is 0 with a handler of Unmatched.
	Handled, Unmatched int64
	// Retried is the number of calls of handlers that failed, DeadLetters that of dead letters, and Trimmed that of
	// gaps in the stream (TrimmedError). A dead letter that was driven with success stays in the number.
	Retried, DeadLetters, Trimmed int64
	// Errors is the number of errors that the consumer survived.
	Errors int64
}

// stats collects Stats.
type stats struct {
	mu     sync.Mutex
	counts Stats
	shards map[string]*shardStats
	newest time.Time
	// waiting has the shards that no worker reads, and since when. at is when they were last found out, or when the
	// worker began, zero if it does not run. found reports that they were found out then.
	waiting map[string]time.Time
	at      time.Time
	found   bool
}

// shardStats is about one shard: all changes up to a time are handled, and whether there were no more.
type shardStats struct {
	at      time.Time
	current bool
}

// Stats returns the numbers of the consumer.
func (c *Consumer) Stats() Stats {
	s := &c.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.counts
	out.Shards = len(s.shards)
	behind := func(since time.Time) {
		out.Behind++
		out.Lag = max(out.Lag, time.Since(since))
	}
	for shard, x := range s.shards {
		stale := time.Since(x.at) > c.settings.poll+c.settings.interval // a read that hangs, or waits for its turn
		if (!x.current || stale) && shard != driveShard {
			behind(x.at)
		}
	}
	for _, since := range s.waiting {
		behind(since)
	}
	if !s.found || time.Since(s.at) > c.settings.failover { // there may be more shards
		out.Behind = max(out.Behind, 1)
		if !s.at.IsZero() {
			out.Lag = max(out.Lag, time.Since(s.at))
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

// of changes the numbers of a shard that this worker reads.
func (s *stats) of(shard string, f func(*shardStats)) {
	s.change(func() {
		if x := s.shards[shard]; x != nil {
			f(x)
		}
	})
}

func (s *stats) take(shard string) {
	s.change(func() {
		at := s.waiting[shard]
		if at.IsZero() {
			at = time.Now()
		}
		delete(s.waiting, shard)
		s.shards[shard] = &shardStats{at: at}
	})
}
func (s *stats) failed()  { s.change(func() { s.counts.Errors++ }) }
func (s *stats) retried() { s.change(func() { s.counts.Retried++ }) }
func (s *stats) dead()    { s.change(func() { s.counts.DeadLetters++ }) }
func (s *stats) trimmed() { s.change(func() { s.counts.Trimmed++ }) }

// unmatched counts handled records of no model.
func (s *stats) unmatched(which []bool) {
	s.change(func() {
		for _, yes := range which {
			if yes {
				s.counts.Unmatched++
			}
		}
	})
}

// runs notes that a worker begins, or has ended.
func (s *stats) runs(yes bool) {
	s.change(func() {
		s.waiting, s.found, s.at = nil, false, time.Time{}
		if yes {
			s.at = time.Now()
		}
	})
}

// waits notes the shards that no worker reads.
func (s *stats) waits(shards []string) {
	s.change(func() {
		now, since := time.Now(), make(map[string]time.Time, len(shards))
		for _, shard := range shards {
			if since[shard] = s.waiting[shard]; since[shard].IsZero() {
				since[shard] = now
			}
		}
		s.waiting, s.found, s.at = since, true, now
	})
}

// release notes that a reader has ended. A shard that is not done waits, until the leases say that another worker
// reads it.
func (s *stats) release(shard string, done bool) {
	s.change(func() {
		if x := s.shards[shard]; x != nil && !done {
			if s.waiting == nil {
				s.waiting = map[string]time.Time{}
			}
			s.waiting[shard] = x.at
		}
		delete(s.shards, shard)
	})
}

// unsure notes that there may be more shards: those after one that has ended.
func (s *stats) unsure() {
	s.change(func() {
		if s.found {
			s.found, s.at = false, time.Now()
		}
	})
}

// current notes a read that found no more records.
func (s *stats) current(shard string) {
	s.of(shard, func(x *shardStats) { x.at, x.current = time.Now(), true })
}

// behind notes that a read of a shard has failed.
func (s *stats) behind(shard string) { s.of(shard, func(x *shardStats) { x.current = false }) }

// begin notes the time of the first record of an answer that is handled now.
func (s *stats) begin(shard string, at time.Time) {
	s.of(shard, func(x *shardStats) { x.upTo(at) })
}

// handled notes handled records, and the time of the last of them.
func (s *stats) handled(shard string, n int, at time.Time) {
	s.change(func() {
		s.counts.Handled += int64(n)
		if x := s.shards[shard]; x != nil {
			x.upTo(at)
		}
		if at.After(s.newest) {
			s.newest = at
		}
	})
}

// upTo notes the time of a record, zero if it has none.
func (x *shardStats) upTo(at time.Time) {
	x.current = false
	if !at.IsZero() {
		x.at = at
	}
}
