package mapper

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// A staged write makes an entity of any size appear, or disappear, at once:
//
//   - The root carries a stage (the attribute _s) as long as it is not live: what
//     is being done, by which attempt, and since when. A root with a stage is not
//     found.
//   - The items that an insert puts carry its attempt (_a). They are there if the
//     live root carries the same attempt, with the time since when; the next write
//     of an item drops it.
//   - Attempts are random, not numbered: a number would start over once a root is
//     deleted, and a slow writer's late put could join the next entity.
//
// A stage that somebody left behind is taken over, by a write that is conditional
// on it; what its attempt still sends finds its conditions failed, or becomes an
// item of an attempt that never goes live.

// The states of a root that is not live.
const (
	inserting = "inserting"
	deleting  = "deleting"
)

// stage is the stage of a root.
type stage struct {
	state   string
	attempt types.AttributeValue
	since   time.Time
}

func (c *core) newStage(state string) stage {
	b := make([]byte, tokenSize)
	_, _ = rand.Read(b) // never fails
	return stage{state, &types.AttributeValueMemberB{Value: b}, c.now()}
}

// value returns the stage as it is stored.
func (s stage) value() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"state":   &types.AttributeValueMemberS{Value: s.state},
		"attempt": s.attempt,
		"since":   epoch(s.since),
	}}
}

// readStage returns the stage of a root; ok is false for a live one.
func readStage(root read.Item) (s stage, ok bool) {
	m, ok := root[schema.State].(*types.AttributeValueMemberM)
	if !ok {
		return stage{}, root[schema.State] != nil
	}
	if state, ok := m.Value["state"].(*types.AttributeValueMemberS); ok {
		s.state = state.Value
	}
	s.since = readEpoch(m.Value["since"])
	s.attempt = m.Value["attempt"]
	return s, true
}

// liveness is what a live root of a staged insert carries, in its _a.
type liveness struct {
	// attempt is the insert's, nil for a root that is not live or was not staged.
	attempt types.AttributeValue
	// since is when it went live, by the writer's clock.
	since time.Time
}

func (l liveness) value() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"attempt": l.attempt, "since": epoch(l.since)}}
}

// livenessOf returns the liveness of a root; root is nil for none.
func livenessOf(root *read.Found) liveness {
	if root == nil || root.Item[schema.State] != nil || root.Expired {
		return liveness{}
	}
	m, ok := root.Attempt.(*types.AttributeValueMemberM)
	if !ok {
		return liveness{}
	}
	return liveness{m.Value["attempt"], readEpoch(m.Value["since"])}
}

func readEpoch(v types.AttributeValue) time.Time {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return time.Time{}
	}
	seconds, _ := strconv.ParseInt(n.Value, 10, 64)
	return time.Unix(seconds, 0)
}

// pending describes the stage in messages.
func (s stage) pending() string {
	switch s.state {
	case inserting:
		return "an insert that began at " + s.since.UTC().Format(time.RFC3339) + " is not finished: insert again to take it over"
	case deleting:
		return "a delete that began at " + s.since.UTC().Format(time.RFC3339) + " is not finished: delete again to finish it, or insert"
	}
	return "its root is not live"
}

// leftovers finds out about new items that cannot be put because a staged write
// has left something in their place. It notes what is none of the live entity, so
// that a put may replace it, and reports whether there was any.
func (c *core) leftovers(ctx context.Context, s *state, d *diff, changes []*change, stored []read.Item, t *tally) (bool, error) {
	found := false
	var live types.AttributeValue
	for i, ch := range changes {
		attempt := stored[i][schema.Attempt]
		if ch.row != nil || ch.item == c.schema.Root || attempt == nil {
			continue
		}
		if g := s.ghosts[ch.place]; g != nil && attr.Same(g.attempt, attempt) {
			continue // it has been tried
		}
		if !found {
			root, err := c.readRoot(ctx, c.identity(d.keyFields), t)
			if err != nil {
				return false, err
			}
			live = livenessOf(root).attempt
		}
		if attr.Same(attempt, live) {
			continue
		}
		found = true
		f, err := c.reader.Found(ch.table, stored[i])
		if err != nil {
			return false, err
		}
		s.ghost(ch.place, c.ghostOf(&f))
	}
	return found, nil
}

// ghost notes what is stored at a place without being there.
func (s *state) ghost(at place, g *ghost) {
	if s.ghosts == nil {
		s.ghosts = map[place]*ghost{}
	}
	s.ghosts[at] = g
}

// readRoot reads the root of an entity strongly, nil for none.
func (c *core) readRoot(ctx context.Context, identity []key.Value, t *tally) (*read.Found, error) {
	at, err := c.rootPlace(identity)
	if err != nil {
		return nil, err
	}
	var u read.Usage
	root, err := c.reader.One(ctx, at.table, at.pk, at.sk, read.Options{Strong: true}, &u)
	t.read(&u)
	return root, err
}

// atOnce runs functions at once, a bounded number of them, and returns the first
// error; the others are canceled by it.
func atOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	done := make(chan struct{})
	workers := min(n, parallel)
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	for range workers {
		<-done
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// parallel bounds the requests of one staged write that are under way at once.
const parallel = 16
