package search

import (
	"cmp"
	"container/heap"
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
)

// Scatter says how a search over many shards reads.
type Scatter struct {
	// Parallel is the maximum number of concurrent requests, and Memory the maximum size of the
	// buffered items, in bytes.
	Parallel, Memory int
}

// The defaults of a Scatter.
const (
	scatterParallel = 64
	scatterMemory   = 32 << 20
)

// lookahead is the number of hits of a shard that may wait while its next answer is read. firstPage is
// the number of items of the first answer of each shard if nothing limits the search.
const (
	lookahead = 16
	firstPage = 16
)

// lane is the search of one partition.
type lane struct {
	*Search
	// number is its place among the partitions, by which hits with equal keys are ordered.
	// later reports that this is behind the one in which the whole begins, where hits of equal keys are
	// of different entities: where shards are drawn.
	number int
	at     selection.Part
	later  bool
	usage  read.Usage
	hits   chan Hit
	// taken signals the lane that it may deliver one more hit.
	taken chan struct{}
	p     *pacer
	// wanted signals the lane to continue after a hit, if it must not read more than is wanted; it is
	// nil for a lane that reads ahead.
	wanted chan struct{}
	begun  bool
	err    error // how it ended, once hits is closed
	head   Hit
}

// merged merges the searches of all partitions in the order of their hits' keys.
func (x *Search) merged(ctx context.Context, groups [][]selection.Part, yield func(Hit) bool) (more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	lanes := x.lanes(groups)
	var running sync.WaitGroup
	defer func() {
		cancel()
		running.Wait()
		for _, l := range lanes {
			x.u.Join(&l.usage)
		}
	}()
	for _, l := range lanes {
		running.Go(func() { l.run(ctx) })
	}
	m := merge{reverse: x.o.Reverse}
	for _, l := range lanes {
		if err := m.refill(ctx, l); err != nil {
			return false, err
		}
	}
	var last key.Scalar
	for found := 1; len(m.lanes) > 0; found++ {
		l := heap.Pop(&m).(*lane)
		hit := l.head
		order := hit.location().order
		if order == last && !x.drawn() { // it has moved from one shard to another
			found--
			if err := m.refill(ctx, l); err != nil {
				return false, err
			}
			continue
		}
		last = order
		hit.behind(l.at.PK, l.at.Period)
		if !yield(hit) {
			return false, nil
		}
		if found == x.r.Limit && len(m.lanes) > 0 {
			return true, nil
		}
		if err := m.refill(ctx, l); err != nil {
			return false, err
		}
		if found == x.r.Limit {
			return len(m.lanes) > 0, nil
		}
	}
	return false, nil
}

// scatteredPage is Page of a search over several partitions.
func (x *Search) scatteredPage(ctx context.Context) (hits []Hit, cursor string, err error) {
	if x.r.Limit == 0 {
		of := "shards"
		if x.spanned() {
			of = "tables" // and shards in each
		}
		return nil, "", x.Model.Errorf("a page over several %s has no size: add a Limit to the query", of)
	}
	more, err := x.scatter(ctx, func(h Hit) bool {
		hits = append(hits, h)
		return true
	})
	if err != nil || !more {
		return hits, "", err
	}
	return hits, x.sealCursor(hits[len(hits)-1].location().next), nil
}

// lanes makes the searches of the partitions: each as this one, but over its own part alone, and
// from where this one begins.
func (x *Search) lanes(groups [][]selection.Part) []*lane {
	how := x.r.Scatter
	p := &pacer{
		gate:   make(chan struct{}, cmp.Or(how.Parallel, scatterParallel)),
		memory: cmp.Or(how.Memory, scatterMemory) / len(groups),
		first:  firstPage,
	}
	var lanes []*lane
	passed := false // the lane that the whole begins in
	for i, parts := range groups {
		l := &lane{number: i, at: parts[0], p: p, hits: make(chan Hit, lookahead), taken: make(chan struct{}, 1)}
		if x.r.Limit > 0 {
			// Twice its share, and some: a lane that gives more is asked again, and all wait for it.
			p.first, l.wanted = min(2*x.r.Limit/len(groups)+4, x.r.Limit, firstPage), make(chan struct{}, 1)
		}
		sub, engine := *x, p.engine(x.Engine)
		sub.Engine, sub.s.Parts, sub.u = &engine, without(parts), &l.usage
		sub.r.Limit, sub.o.Limit = 0, 0
		l.Search = &sub
		lanes = append(lanes, l)
		switch a := x.after; {
		case a == nil:
		case a.PK == parts[0].PK && a.Period == parts[0].Period:
			sub.at, sub.o.Start, passed = a, &a.Start, true
		default:
			l.later = passed && x.drawn()
			l.narrow(a.Order)
		}
	}
	return lanes
}

// byPartition groups parts by their partition keys, in their order.
func byPartition(parts []selection.Part) [][]selection.Part {
	var groups [][]selection.Part
	at := map[key.Partition]int{}
	for _, p := range parts {
		i, ok := at[p.Partition]
		if !ok {
			i = len(groups)
			at[p.Partition], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// narrow excludes the part of a lane that comes before a hit of another one.
func (l *lane) narrow(order key.Scalar) {
	parts := slices.Clone(l.s.Parts)
	for i := range parts {
		if l.o.Reverse {
			parts[i].Range = parts[i].Range.UpTo(l.last(order))
		} else {
			parts[i].Range = parts[i].Range.From(order)
		}
	}
	l.s.Parts = parts
}

// last returns the largest key that an item with this order, or an earlier one, can have.
func (l *lane) last(order key.Scalar) key.Scalar {
	if !l.flat() || l.r.Roots || l.Model.Schema.Scattered || order.Type != 'S' {
		return order
	}
	delim := l.Model.Schema.Delim
	for i := range order.Text {
		if i > 0 && order.Text[i] < delim { // the items of a root with a shorter key come later
			return key.Scalar{Type: 'S', Text: order.Text[:i] + string(delim) + lastRune}
		}
	}
	return key.Scalar{Type: 'S', Text: strings.TrimSuffix(order.Text, string(delim)) + string(delim) + lastRune}
}

// run runs the search of a lane, and hands its hits over, but those up to where the whole begins.
func (l *lane) run(ctx context.Context) {
	defer close(l.hits)
	l.err = request.Caught(func() error { return l.search(ctx) })
}

func (l *lane) search(ctx context.Context) error {
	return l.Search.hits(ctx, func(h Hit) bool {
		if !l.behind(&h) {
			return true
		}
		for len(l.hits) >= l.p.most() {
			if !await(ctx, l.taken) {
				return false
			}
		}
		select {
		case l.hits <- h:
			return l.wanted == nil || await(ctx, l.wanted)
		case <-ctx.Done():
			return false
		}
	}, func(read.Page) bool { return true })
}

// drawn reports whether shards are drawn, so that entities of one key may be several.
func (x *Search) drawn() bool { return x.Model.Schema.Shards != nil && x.Model.Schema.Shards.Random() }

// await waits for a signal, and reports whether it came before the end of the context.
func await(ctx context.Context, signal chan struct{}) bool {
	select {
	case <-signal:
		return true
	case <-ctx.Done():
		return false
	}
}

// behind reports whether a hit comes behind where the whole begins.
func (l *lane) behind(h *Hit) bool {
	if l.after == nil {
		return true
	}
	c := key.Compare(h.location().order, l.after.Order)
	if l.o.Reverse {
		c = -c
	}
	return c > 0 || c == 0 && l.later
}

// merge is the lanes that have hits left, as a heap by the hits that come next.
type merge struct {
	lanes   []*lane
	reverse bool
}

func (m *merge) Len() int      { return len(m.lanes) }
func (m *merge) Swap(i, j int) { m.lanes[i], m.lanes[j] = m.lanes[j], m.lanes[i] }
func (m *merge) Push(l any)    { m.lanes = append(m.lanes, l.(*lane)) }

func (m *merge) Pop() any {
	last := m.lanes[len(m.lanes)-1]
	m.lanes = m.lanes[:len(m.lanes)-1]
	return last
}

func (m *merge) Less(i, j int) bool {
	a, b := m.lanes[i], m.lanes[j]
	c := key.Compare(a.head.location().order, b.head.location().order)
	if m.reverse {
		c = -c
	}
	return cmp.Or(c, cmp.Compare(a.number, b.number)) < 0
}

// refill waits for the next hit of a lane. One that has ended is left out.
func (m *merge) refill(ctx context.Context, l *lane) error {
	if l.begun && l.wanted != nil {
		l.wanted <- struct{}{}
	}
	l.begun = true
	hit, ok := <-l.hits
	switch {
	case ok:
		select {
		case l.taken <- struct{}{}:
		default: // a signal is already waiting
		}
		l.head = hit
		heap.Push(m, l)
		return nil
	case l.err != nil:
		return request.Repanic(l.err)
	}
	return ctx.Err()
}

// pacer bounds what the lanes read at one time, and how much they hold.
type pacer struct {
	gate chan struct{}
	// memory is the maximum size of a lane's buffer, in bytes. first is the number of items of the
	// first request.
	memory, first int

	mu           sync.Mutex
	items, bytes int // of the answers so far
}

// most returns the maximum number of items of the next answer: the number that fills half of a lane's
// buffer, by the sizes so far. The other half holds items that wait to be merged.
func (p *pacer) most() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.items == 0 {
		return math.MaxInt32
	}
	return max(p.memory/2/max(p.bytes/p.items, 1), 1)
}

func (p *pacer) saw(page read.Page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items += len(page.Items)
	for i := range page.Items {
		p.bytes += page.Items[i].Size
	}
}

// paced is a source that asks for small pages first, and for twice as much each time.
type paced struct {
	read.Source
	p *pacer
}

// Ranges is described at [read.Source].
func (s *paced) Ranges(ctx context.Context, parts []selection.Part, o read.Options,
	u *read.Usage,
) []iter.Seq2[read.Page, error] {
	next := s.p.first
	wanted := o.Want
	o.Limit, o.Want = 0, func() int {
		n := min(next, s.p.most())
		next = min(2*next, cost.MaxPage)
		if wanted != nil {
			n = max(n, min(wanted(), s.p.most()))
		}
		return n
	}
	ranges := s.Source.Ranges(ctx, parts, o, u)
	for i, r := range ranges {
		ranges[i] = s.measure(r)
	}
	return ranges
}

// measure notes how large the items of a range are.
func (s *paced) measure(r iter.Seq2[read.Page, error]) iter.Seq2[read.Page, error] {
	return func(yield func(read.Page, error) bool) {
		for page, err := range r {
			s.p.saw(page)
			if !yield(page, err) {
				return
			}
		}
	}
}

// engine is an engine whose requests wait for the gate, and whose answers are of the pacer's size.
func (p *pacer) engine(e *Engine) Engine {
	reader, protocol, engine := *e.Reader, *e.Protocol, *e
	reader.Client = &gated{e.Reader.Client, p.gate}
	protocol.Reader = &reader
	engine.Reader, engine.Protocol, engine.Source = &reader, &protocol, &paced{Source: &reader, p: p}
	return engine
}

// gated is a client that bounds the requests under way at one time.
type gated struct {
	read.Client
	gate chan struct{}
}

// pass runs a call while there is room for one more.
func pass[O any](ctx context.Context, g *gated, call func() (*O, error)) (*O, error) {
	select {
	case g.gate <- struct{}{}:
		defer func() { <-g.gate }()
		return call()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gated) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return pass(ctx, g, func() (*dynamodb.GetItemOutput, error) { return g.Client.GetItem(ctx, in, o...) })
}

func (g *gated) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return pass(ctx, g, func() (*dynamodb.BatchGetItemOutput, error) { return g.Client.BatchGetItem(ctx, in, o...) })
}

func (g *gated) Query(ctx context.Context, in *dynamodb.QueryInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	return pass(ctx, g, func() (*dynamodb.QueryOutput, error) { return g.Client.Query(ctx, in, o...) })
}
