package stream

import "sync"

// slots are the slots of a reader: one of Handlers for each call, and one of Batches for the answer whose records are
// handled. It gives them back when its handlers hang, so that other shards are read.
type slots struct {
	c       *Consumer
	mu      sync.Mutex
	calls   int
	answer  bool
	yielded bool
}

// call notes that the reader has taken a slot of Handlers. It returns false, and gives the slot back, after yield.
func (s *slots) call() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.yielded {
		<-s.c.handlers
		return false
	}
	s.calls++
	return true
}

func (s *slots) returned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.yielded {
		s.calls--
		<-s.c.handlers
	}
}

// handles notes that the records of an answer are handled from now on, in the slot that room has taken.
func (s *slots) handles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = true
}

func (s *slots) handled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer {
		s.answer = false
		<-s.c.batches
	}
}

// yield gives all slots back.
func (s *slots) yield() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.calls {
		<-s.c.handlers
	}
	if s.calls, s.yielded = 0, true; s.answer {
		s.answer = false
		<-s.c.batches
	}
}
