package record

import (
	"context"
	"slices"
	"sync"

	"github.com/itemize/itemize/internal/recording"
)

// callKey is the key of the call in a context.
type callKey struct{}

// entity is an item, or an entity of a model.
type entity struct {
	kind *kind
	hash uint64
}

// call collects the requests of one operation.
type call struct {
	r    *Recorder
	name string
	// uses are the attributes that the program reads, nil for all.
	uses []string
	// mapped is the call of a mapper, nil for none.
	mapped *mapped

	mu      sync.Mutex
	decided bool
	sampled bool
	ops     map[entity]*recording.Operation
}

// callOf returns the call of a context, nil for none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// decide reports whether the call is recorded: the first request decides.
func (c *call) decide(sampled func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.decided {
		c.decided, c.sampled = true, sampled()
	}
	return c.sampled
}

// of returns the operation on an entity.
func (c *call) of(e entity) *recording.Operation {
	o := c.ops[e]
	if o == nil {
		o = &recording.Operation{
			Name: c.name, Count: 1, Add: map[string]int{}, Change: map[string]int{}, Remove: map[string]int{},
			Read: map[string]int{}, Query: map[string]int{},
		}
		c.ops[e] = o
	}
	return o
}

// end records the operations of the call.
func (c *call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sampled || len(c.ops) == 0 {
		return
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	for e, o := range c.ops {
		if c.uses != nil && (o.All || len(o.Reads) > 0) {
			o.All, o.Reads = false, slices.Sorted(slices.Values(c.uses))
		}
		c.r.add(e.kind, o)
	}
	c.ops = map[entity]*recording.Operation{}
}

// include adds names to a sorted list.
func include(list *[]string, names ...string) {
	for _, n := range names {
		if i, ok := slices.BinarySearch(*list, n); !ok {
			*list = slices.Insert(*list, i, n)
		}
	}
}
