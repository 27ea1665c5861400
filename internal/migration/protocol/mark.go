package protocol

import (
	"bytes"
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// commitRequest returns the request that marks the monolith as moved, if it is as it was read.
func (e *Entity) commitRequest(incarnation types.AttributeValue) *write.Request {
	k := &Mark{Incarnation: incarnation, Hash: e.Doc.Hash()}
	return e.m.docRequest(e.Doc, item.Assignment{
		Name: e.m.Layout.Reserved.MovedName(), Index: item.Unlisted,
		Value: k.value(),
	})
}

// docRequest returns the request that writes an attribute of a monolith, if that is unmarked and as it
// was read. It compares the version or all attributes, and requires that other attributes of the layout
// are absent.
func (m *Mover) docRequest(d *Monolith, set item.Assignment) *write.Request {
	r := &write.Request{
		Kind: write.Update, Place: d.Place, Label: m.Layout.Model, Field: "the monolith", Reserved: m.Layout.Reserved,
		Header: m.Layout.Reserved.Header(d.Attributes), OldSize: attr.ItemSize(d.Attributes),
		Set: []item.Assignment{set},
	}
	m.expectDoc(r, d)
	r.NewSize = r.OldSize + set.Size() - item.Assignment{Name: set.Name, Value: d.Attributes[set.Name]}.Size() +
		m.Layout.Reserved.Grows(r.Header, false)
	r.Prepare()
	return r
}

// expectDoc requires that a monolith is as it was read: in all of its attributes, since a program that
// knows only the old layout gives it no new version. If they are too many for a condition, it compares
// the version alone. It also requires that attributes of the model which it lacks are still missing, as many as
// the condition has room for: the hash in the mark shows the others to a verification.
func (m *Mover) expectDoc(r *write.Request, d *Monolith) {
	var values []item.Assignment
	for _, a := range write.OldValues(d.Place, d.Attributes, nil).Values {
		if a.Name != m.Layout.Reserved.MovedName() && a.Name != m.Layout.Version {
			values = append(values, a)
		}
	}
	values = append(values, item.Assignment{
		Name:  m.Layout.Reserved.MovedName(),
		Value: d.Attributes[m.Layout.Reserved.MovedName()],
	})
	had := len(values)
	for _, name := range slices.Sorted(slices.Values(m.Layout.Tops())) {
		if len(values) < write.MaxTerms-4 && d.Attributes[name] == nil && name != m.Source.Hash &&
			name != m.Source.Range {
			values = append(values, item.Assignment{Name: name})
		}
	}
	expect := func(values []item.Assignment) {
		if r.Header.Version == nil {
			r.Expect = write.Expect{Old: &write.Old{Values: values}}
			return
		}
		r.Expect = write.Expect{Version: r.Header.Version, Terms: []attr.Condition{write.Values(values)}}
	}
	for expect(values); len(values) > had && r.Longest() > cost.MaxExpression; expect(values) {
		values = values[:had+(len(values)-had)/2]
	}
	if r.Header.Version == nil {
		return
	}
	if len(values) > write.MaxTerms-4 || r.Longest() > cost.MaxExpression {
		r.Expect.Terms = nil
	}
}

// commit marks the monolith. At this moment the entity moves. It also marks a monolith that another
// program has marked for the same claim, or for one that was taken over. For takeBack the last program
// counts.
func (e *Entity) commit(ctx context.Context) error {
	for range tries {
		commit := e.commitRequest(e.incarnation)
		o := e.m.one(ctx, commit, e.Doc.Attributes, &e.t)
		switch {
		case o.OK():
			e.Moved = true
			if !e.shared { // else others mark it for the same claim
				e.marked = commit.Token
			}
			return nil
		case o.Lost():
			return o.Err
		}
		now := &Monolith{e.Doc.Place, o.Stored[0], e.m.Layout.Reserved}
		k := now.Mark()
		r := Root{
			Header: item.Header{Incarnation: e.incarnation}, Stage: item.Stage{Took: e.took},
			Attributes: item.Attributes{"": nil},
		}
		same := bytes.Equal(now.Hash(), e.Doc.Hash())
		switch {
		case e.shared && k != nil && !k.Deleted && attr.Same(k.Incarnation, e.incarnation):
			e.Moved = true
			return nil
		case r.Has(k) && same: // the staged item has the same content
			// after the monolith: a program that takes the claim over marks it later
			root, err := e.m.readRoot(ctx, e.at, &e.t)
			if err != nil {
				return err
			}
			if !attr.Same(root.Version, e.token) {
				return errRestart
			}
			e.Doc = now
			continue
		case r.Has(k), now.Unmarked():
			return e.restage(ctx, now, r.Has(k))
		}
		return e.unclaim(ctx, e.own())
	}
	return errRestart
}
