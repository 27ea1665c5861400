package staging

import (
	"maps"
	"slices"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// InsertSteps returns the function that makes the steps of a staged insert: the root as a
// claim, the other items, and then the root goes live.
func InsertSteps(now time.Time) func([]*write.Request) []write.Step {
	return func(requests []*write.Request) []write.Step {
		root, parts := split(requests)
		for i := range parts {
			parts[i] = with(parts[i], root.Reserved.MarkStaged())
		}
		claim, shown := unindexed(with(root, root.Reserved.AssignStage(item.NewStage(item.Inserting, now))))
		claim.Incarnation = nil // a claim proves nothing: it may belong to either attempt
		live := root.Reserved.AssignStage(item.NewStage(item.Live, now))
		goLive := *claim
		goLive.Incarnation = root.Incarnation
		goLive.Kind, goLive.Put, goLive.OldSize = write.Update, nil, claim.NewSize
		goLive.Set, goLive.New, goLive.Unread = append([]item.Assignment{live}, shown...), false, false
		goLive.NewSize = root.NewSize + live.Size()
		goLive.Entries = appearing(root.Entries, live.Size())
		goLive.Prepare()
		expectClaim(&goLive, claim)
		return []write.Step{step(claim), step(parts...), step(&goLive)}
	}
}

// InsertPrice returns what the steps of a staged insert take, without making them.
func InsertPrice(now time.Time, requests []*write.Request) write.Alternative {
	var sum cost.Units
	var indexes write.IndexUnits
	price := func(r *write.Request, stage int) {
		sum = sum.Add(r.UnitsAt(r.NewSize + stage))
		indexes.AddStaged(r, stage)
	}
	at := slices.IndexFunc(requests, func(r *write.Request) bool { return r.Root })
	mark := requests[at].Reserved.MarkStaged().Size()
	for i, r := range requests {
		if i != at {
			price(r, mark)
			continue
		}
		for _, st := range InsertSteps(now)([]*write.Request{r}) {
			for _, r := range st.Requests {
				price(r, 0)
			}
		}
	}
	return write.Alternative{Mode: write.Staged, Calls: len(requests) + 1, WCU: sum.Add(indexes.Sum())}
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
	c.Enlarge(a.Into(c.Put))
	return &c
}

// unindexed returns the put of a root without its index attributes, and those attributes. An index
// shows live entities, and a claim is not live.
func unindexed(r *write.Request) (*write.Request, []item.Assignment) {
	var shown []item.Assignment
	for _, a := range r.Indexed {
		shown = append(shown, item.Assignment{Name: a.Name, Index: item.Unlisted, Value: r.Put[a.Name]})
		delete(r.Put, a.Name)
		r.NewSize -= a.Size
	}
	r.Entries = slices.Clone(r.Entries)
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Always {
			e.Unread = true
		} else {
			e.New = 0
		}
	}
	return r, shown
}

// appearing are the entries of a root that goes live, whose stage has this size in bytes.
func appearing(of []write.Entry, stage int) []write.Entry {
	all := slices.Clone(of)
	for i := range all {
		e := &all[i]
		e.Old, e.Unread = 0, e.Always
		if e.Staged && e.New > 0 {
			e.New += stage
		}
	}
	return all
}

// expectClaim requires of the root that goes live that it is the claim.
func expectClaim(goLive, claim *write.Request) {
	goLive.Header = goLive.Reserved.Header(claim.Put)
	goLive.Expect = write.Expect{Version: claim.Token}
}

// DeleteSteps returns the function that makes the steps of a staged delete: the root is
// marked, which makes the entity not found; then the others go, and then the root.
func DeleteSteps(now time.Time) func([]*write.Request) []write.Step {
	return func(requests []*write.Request) []write.Step {
		root, rest := split(requests)
		mark := markOf(root, item.NewStage(item.Deleting, now))
		last := *root
		last.Header.Version, last.Header.Stage = mark.Token, mark.Set[0].Value
		last.Kind, last.Put, last.Set, last.New = write.Delete, nil, nil, false
		last.OldSize, last.NewSize, last.Indexed = mark.NewSize, 0, nil
		last.Entries = slices.DeleteFunc(slices.Clone(mark.Entries), func(e write.Entry) bool { return !e.Always })
		last.Expect = write.Expect{Version: mark.Token}
		return []write.Step{step(mark), step(rest...), step(&last)}
	}
}

// markOf returns the write that makes a root not live. It is an update of the existing root, or a put
// if there is none, so that leftover items have a root for the delete.
func markOf(root *write.Request, st item.Stage) *write.Request {
	mark := *root
	a := root.Reserved.AssignStage(st)
	mark.Set = []item.Assignment{a}
	if root.OldSize == 0 {
		mark.Kind, mark.Put, mark.New = write.Put, root.Key(), true
		mark.Expect = write.Expect{Absent: true}
		root.Reserved.AssignIncarnation(item.NewToken()).Into(mark.Put)
		a.Into(mark.Put)
		mark.NewSize = mark.WholeSize()
	} else {
		mark.Kind = write.Update
		mark.NewSize = root.OldSize + root.Reserved.Grows(root.Header, false) +
			a.Size() - item.Assignment{Name: a.Name, Value: root.Header.Stage}.Size()
		for _, x := range root.Indexed {
			mark.Remove = append(mark.Remove, item.Assignment{Name: x.Name, Index: item.Unlisted})
			mark.NewSize -= x.Size
		}
	}
	mark.Entries = slices.Clone(root.Entries)
	for i := range mark.Entries {
		mark.Entries[i].Unread = mark.Entries[i].Unread || mark.Entries[i].Always
	}
	mark.Prepare()
	return &mark
}

// DeleteOf returns the delete of an item as it was read.
func (e *Entity) DeleteOf(f *item.Image) *write.Request {
	r := &write.Request{
		Kind: write.Delete, Place: f.Place, Label: e.Model.Label(), Root: e.Model.IsRoot(f.Kind), Reserved: e.Reserved,
		Header: f.Header, OldSize: f.Size,
		Expect: write.Expect{Version: f.Header.Version},
	}
	if f.Kind != nil {
		r.Field = f.Kind.Name
		if len(f.Kind.Entries) > 0 {
			r.Entries = e.Model.Entries(f.Kind, f.Table.Name, f.Attributes(), nil)
		}
	}
	if f.Header.Version == nil {
		r.Expect = write.AsFound(f.Place, nil, f.Attributes())
	}
	return r
}

// undoOf returns the delete of an item as a request has put it.
func undoOf(put *write.Request) *write.Request {
	r := *put
	r.Kind, r.Put, r.Set, r.Remove = write.Delete, nil, nil, nil
	r.OldSize, r.NewSize = put.NewSize, 0
	r.Entries = slices.Clone(put.Entries)
	for i := range r.Entries {
		e := &r.Entries[i]
		e.Old, e.New, e.Unread, e.Same = e.New, 0, false, false
	}
	r.New, r.Unread, r.Item, r.Incarnation = false, false, nil, nil
	r.Expect = write.Expect{Version: put.Token}
	r.Token = nil
	return &r
}

// stored returns the requests of a staged insert as they are stored when the root is
// live.
func stored(plan *write.Plan) []*write.Request {
	claim, live := plan.Steps[0].Requests[0], plan.Steps[2].Requests[0]
	root := claim
	for _, a := range live.Set {
		root = with(root, a)
	}
	root.Incarnation = live.Incarnation
	root.Token, root.NewSize = live.Token, live.NewSize
	return append(slices.Clone(plan.Steps[1].Requests), root)
}
