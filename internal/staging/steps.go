package staging

import (
	"maps"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/write"
)

// InsertSteps returns the function that makes the steps of a staged insert: the root as a
// claim, the other items, and then the root goes live.
func InsertSteps(now time.Time) func([]*write.Request) []write.Step {
	return func(requests []*write.Request) []write.Step {
		stage := item.NewStage(item.Inserting, now)
		root, parts := split(requests)
		for i := range parts {
			parts[i] = with(parts[i], item.AssignAttempt(stage.Attempt))
		}
		claim := with(root, stage.Assign())
		live := item.Liveness{Attempt: stage.Attempt, Since: now}.Assign()
		goLive := *claim
		goLive.Kind, goLive.Put, goLive.OldSize = write.Update, nil, claim.NewSize
		goLive.Set, goLive.Remove = []item.Assignment{live}, []item.Assignment{item.EndStage}
		goLive.NewSize = root.NewSize + live.Size()
		goLive.Prepare()
		expectClaim(&goLive, claim)
		return []write.Step{step(claim), step(parts...), step(&goLive)}
	}
}

// split returns the request of the root, and those of the other items.
func split(requests []*write.Request) (root *write.Request, rest []*write.Request) {
	for _, r := range requests {
		if r.Root {
			root = r
		} else {
			rest = append(rest, r)
		}
	}
	return root, rest
}

// step returns the step of requests that are sent at once.
func step(requests ...*write.Request) write.Step {
	return write.Step{Requests: requests, How: write.Each}
}

// with returns the put of an item with one more attribute, which plans do not show.
func with(r *write.Request, a item.Assignment) *write.Request {
	c := *r
	c.Put = maps.Clone(r.Put)
	c.NewSize += a.Into(c.Put)
	return &c
}

// expectClaim requires of the root that goes live that it is the claim.
func expectClaim(goLive, claim *write.Request) {
	goLive.Header = goLive.Reserved.Header(claim.Put)
	goLive.Expect = write.Expect{Version: claim.Token}
	if claim.Token == nil {
		goLive.Expect.Old = write.OldValues(claim.Place, claim.Put, []string{goLive.Set[0].Name, goLive.Remove[0].Name})
	}
}

// DeleteSteps returns the function that makes the steps of a staged delete: the root is
// marked, which makes the entity not found; then the others go, and then the root. Where
// somebody's delete has begun, that is finished.
func DeleteSteps(now time.Time) func([]*write.Request) []write.Step {
	return func(requests []*write.Request) []write.Step {
		root, rest := split(requests)
		last := *root
		if st, begun := root.Header.ReadStage(); begun && st.State == item.Deleting {
			expectMark(&last, root.Header)
			return []write.Step{step(rest...), step(&last)}
		}
		mark := markOf(root, item.NewStage(item.Deleting, now))
		header := root.Header
		header.Version, header.Stage = mark.Token, mark.Set[0].Value
		last.OldSize = mark.NewSize
		expectMark(&last, header)
		return []write.Step{step(mark), step(rest...), step(&last)}
	}
}

// markOf returns the update that makes a root not live.
func markOf(root *write.Request, st item.Stage) *write.Request {
	mark := *root
	a := st.Assign()
	mark.Kind, mark.Set = write.Update, []item.Assignment{a}
	mark.NewSize = root.OldSize + root.Reserved.Grows(root.Header, false) + a.Size() - item.Assignment{Name: a.Name, Value: root.Header.Stage}.Size()
	if root.Expect.Version == nil {
		mark.Expect.Old = &write.Old{Values: []item.Assignment{{Name: a.Name, Index: item.Unlisted, Value: root.Header.Stage}}}
	}
	mark.Prepare()
	return &mark
}

// expectMark requires of the root's delete that the root is as it was marked.
func expectMark(last *write.Request, h item.Header) {
	last.Header = h
	last.Expect = write.Expect{Version: h.Version}
	if h.Version == nil {
		last.Expect.Old = &write.Old{Values: []item.Assignment{{Name: item.EndStage.Name, Index: item.Unlisted, Value: h.Stage}}}
	}
}

// deleteOf returns the delete of an item as it was read.
func (e *Entity) deleteOf(f *item.Image) *write.Request {
	r := &write.Request{
		Kind: write.Delete, Place: f.Place, Label: e.Label, Root: e.IsRoot(f), Reserved: e.Reserved,
		Header: f.Header, OldSize: f.Size,
	}
	if f.Kind != nil {
		r.Field = f.Kind.Name
	}
	r.Expect.Version = f.Header.Version
	if f.Header.Version == nil {
		r.Expect.Old = write.OldValues(f.Place, f.Attributes, nil)
	}
	return r
}

// undoOf returns the delete of an item as a request has put it.
func undoOf(put *write.Request) *write.Request {
	r := *put
	r.Kind, r.Put, r.Set, r.Remove = write.Delete, nil, nil, nil
	r.OldSize, r.NewSize = put.NewSize, 0
	r.New, r.Unread, r.Ref = false, false, nil
	r.Expect = write.Expect{Version: put.Token}
	if put.Token == nil {
		r.Expect.Old = write.OldValues(put.Place, put.Put, nil)
	}
	r.Token = nil
	return &r
}

// stored returns the requests of a staged insert as they are stored when the root is
// live.
func stored(plan *write.Plan) []*write.Request {
	claim, live := plan.Steps[0].Requests[0], plan.Steps[2].Requests[0]
	root := with(claim, live.Set[0])
	delete(root.Put, item.EndStage.Name)
	root.Token, root.NewSize = live.Token, live.NewSize
	return append(slices.Clone(plan.Steps[1].Requests), root)
}
