package record

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/itemize/itemize/internal/advice/trace"
)

// callKey is the key of the call in a context.
type callKey struct{}

// entity is an item, or an entity of a model.
type entity struct {
	kind *kind
	hash uint64
}

// call joins the requests of one operation: of a context that Begin returned, or of a call of a mapper.
type call struct {
	r    *Recorder
	name string
	// uses are the attributes that the program reads, nil for all.
	uses []string
	// mapped is the call of a mapper, nil for none, and parent the call that it is a part of.
	mapped *mapped
	parent *call
	ended  atomic.Bool

	// ops are the operations on entities. r.mu guards them.
	ops map[entity]*trace.Operation
}

// maxEntities is the number of entities of one call whose operations are joined.
const maxEntities = 1000

// callOf returns the call of a context that has not ended, nil for none.
func (r *Recorder) callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil || c.r != r || c.ended.Load() {
		return nil
	}
	return c
}

// of returns the operation on an entity, nil if the call has too many. r.mu is locked.
func (c *call) of(e entity) *trace.Operation {
	o := c.ops[e]
	if o == nil {
		if len(c.ops) >= maxEntities {
			c.r.dropped++
			return nil
		}
		o = &trace.Operation{Name: c.name, Count: 1}
		c.ops[e] = o
	}
	return o
}

// end records the operations of the call, or adds them to those of its parent.
func (c *call) end() {
	if c.ended.Swap(true) {
		return
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	for e, o := range c.ops {
		if p := c.parent; p != nil && !p.ended.Load() {
			if to := p.of(e); to != nil {
				join(to, o)
			}
			continue
		}
		c.r.finish(e, o, c.uses)
	}
	c.ops = nil
}

// finish records an operation. uses are the attributes that the program reads, nil for all. r.mu is locked.
func (r *Recorder) finish(e entity, o *trace.Operation, uses []string) {
	if uses != nil && (o.All || len(o.Reads) > 0) {
		o.All, o.Reads = false, nil
		include(&o.Reads, uses...)
	}
	r.add(e, o)
}

// join adds an operation on the same entity.
func join(o, p *trace.Operation) {
	include(&o.Writes, p.Writes...)
	include(&o.Reads, p.Reads...)
	include(&o.Requests, p.Requests...)
	o.All, o.Insert, o.Delete = o.All || p.All, o.Insert || p.Insert, o.Delete || p.Delete
	o.Unknown, o.Atomic, o.Strong = o.Unknown || p.Unknown, o.Atomic || p.Atomic, o.Strong || p.Strong
	o.Count, p.Count = 0, o.Count
	o.Merge(p)
}

// include adds names to a sorted list.
func include(list *[]string, names ...string) {
	for _, n := range names {
		if i, ok := slices.BinarySearch(*list, n); !ok {
			*list = slices.Insert(*list, i, n)
		}
	}
}

// count adds a number of elements.
func count(all *map[string]int, name string, n int) {
	if n <= 0 {
		return
	}
	if *all == nil {
		*all = map[string]int{}
	}
	(*all)[name] += n
}
