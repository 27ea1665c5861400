package mapper

import (
	"context"
	"slices"

	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/write"
)

// unknown notes that the outcome of a step is not known, and returns the error.
func (g *engine) unknown(s *state, d *change.Diff, o *write.Outcome) error {
	g.doubt(s, d, o.Requests, nil)
	return outcomeUnknown(g.model.Label(), placesOf(o.Requests), o.Err)
}

// doubt notes that it is not known whether requests were applied. all are those that they were
// sent with, in which others' may tell.
func (g *engine) doubt(s *state, d *change.Diff, requests, all []*write.Request) {
	var tellers []*write.Request
	if !slices.ContainsFunc(requests, (*write.Request).Tells) {
		for _, r := range all {
			if r.Tells() {
				tellers = append(tellers, r)
			}
		}
	}
	x := change.NewDoubt(g.model, requests, d.Keys, tellers)
	x.Whole = len(x.Changes) == len(d.Changes)
	s.doubts = append(s.doubts, x)
}

// adopt applies a write in doubt that has turned out to be stored.
func (g *engine) adopt(s *state, x *change.Doubt) {
	s.apply(x.Keys, change.Requests(x.Changes))
	if x.Whole {
		s.Arrive(x.Keys)
	}
	left := func(all []*snapshot.Stored) bool { return len(all) > 0 }
	if !s.Fresh && s.Selection.Whole && !slices.ContainsFunc(s.Items, left) {
		s.Reset() // it was deleted
	}
}

// adoptStored applies the writes in doubt whose version is stored.
func (g *engine) adoptStored(s *state, o *write.Outcome) bool {
	adopted := false
	for i, r := range o.Requests {
		adopted = g.adoptAt(s, r.Place, o.Stored[i]) || adopted
	}
	return adopted
}

// adoptAt applies the writes in doubt whose version an item shows.
func (g *engine) adoptAt(s *state, at item.Place, stored item.Attributes) bool {
	adopted := false
	for x := s.doubts.ToldBy(at, stored); x != nil; x = s.doubts.ToldBy(at, stored) {
		g.adopt(s, x)
		s.doubts = s.doubts.Without(x)
		adopted = true
	}
	return adopted
}

// findOut finds out, before a write, about those in doubt, the latest first. One that was
// not applied so far stays in mind, since it may yet be.
func (g *engine) findOut(ctx context.Context, s *state, t *tally) error {
	for _, x := range slices.Backward(slices.Clone(s.doubts)) {
		if !slices.Contains(s.doubts, x) {
			continue // settled together with another
		}
		applied, err := x.Applied(func(r *write.Request) (item.Attributes, error) {
			return g.sender.Stored(ctx, r, &t.Tally)
		})
		switch {
		case err != nil:
			return outcomeUnknown(g.model.Label(), change.Doubts{x}.Places(), err)
		case applied:
			g.adopt(s, x)
		case g.model.Now().Sub(x.Since) > change.Lateness:
			s.doubts = s.doubts.Without(x)
		}
	}
	return nil
}
