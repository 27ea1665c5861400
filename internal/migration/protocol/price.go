package protocol

import (
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// Price is the cost of moving an entity, without interference by other programs.
type Price struct {
	// Items is the number of items that replace the monolith, and Bytes their size. Kinds has both for each
	// kind, by its name.
	Items, Bytes int
	Kinds        map[string]Kind
	// Sizes are the sizes of the items, in the order of the collection.
	Sizes []int
	// WCU is the cost of all writes. Parts are the units of the items, Mark those of the mark, and
	// Claim those of the claim, each with those of its indexes; Indexes is the sum of these.
	WCU, Parts, Mark, Claim, Indexes float64
	// Residue are the attributes that the root records because the keys do not have them. Unclaimed are
	// attributes that belong to no field.
	Residue, Unclaimed []string
	// Back is the cost of a rollback, and Removal the cost of deleting the marked monolith.
	Back, Removal float64
}

// Kind is the items of one kind.
type Kind struct{ Items, Bytes int }

// Predict returns what moving an entity will take. The error is an *Unmovable.
func (m *Mover) Predict(d *Monolith) (*Price, error) {
	e := &Entity{Doc: d, m: m}
	if err := e.split(); err != nil {
		return nil, err
	}
	e.incarnation = item.NewToken()
	claim, commit := e.claimRequest(nil, item.NewToken()), e.commitRequest(e.incarnation)
	e.current = stored(claim)
	p := &Price{Items: len(e.parts.Items), Kinds: map[string]Kind{}}
	count := func(to *float64, r *write.Request, before item.Attributes) {
		all, indexes := m.units(r, before)
		*to, p.Indexes = *to+all, p.Indexes+indexes
	}
	count(&p.Claim, claim, nil)
	count(&p.Mark, commit, d.Attributes)
	p.Back, p.Removal = p.Mark, m.removal(commit, d.Attributes)
	for i, it := range e.parts.Items {
		r, before := e.liveRequest(), e.current
		if i > 0 {
			r, before = e.partRequest(&part{Item: it, place: m.place(it)}), nil
		}
		count(&p.Parts, r, before)
		p.Bytes, p.Sizes = p.Bytes+r.NewSize, append(p.Sizes, r.NewSize)
		k := p.Kinds[it.Kind.Name]
		p.Kinds[it.Kind.Name] = Kind{k.Items + 1, k.Bytes + r.NewSize}
		p.Back += m.backUnits(r)
	}
	p.WCU = p.Parts + p.Mark + p.Claim
	p.Residue, p.Unclaimed = m.notes(e.parts, d)
	return p, nil
}

// backUnits returns the rollback's cost for an item that was put: it is marked, and deleted.
func (m *Mover) backUnits(put *write.Request) float64 {
	is := stored(put)
	st := item.NewStage(item.RollingBack, m.Now())
	st.From, st.Digest = item.Live, m.Layout.Reserved.ContentDigest(is)
	mark := m.Layout.Reserved.AssignStage(st)
	if !put.Root {
		mark = m.Layout.Reserved.Frozen(put.Token, is)
	}
	r := &write.Request{
		Kind: write.Update, Place: put.Place, Reserved: put.Reserved, Header: put.Reserved.Header(is),
		OldSize: put.NewSize, Set: []item.Assignment{mark},
	}
	r.Prepare()
	r.NewSize = put.NewSize + mark.Size() - item.Assignment{Name: mark.Name, Value: is[mark.Name]}.Size()
	marked, _ := m.units(r, is)
	if put.Root { // the note that the monolith is written
		r.Header, r.OldSize = put.Reserved.Header(is), r.NewSize
		noted, _ := m.units(r, after(r, is))
		marked += noted
	}
	return marked + m.removal(r, is)
}

// removal returns the cost of deleting an item that a request has marked.
func (m *Mover) removal(marked *write.Request, before item.Attributes) float64 {
	r := &write.Request{Kind: write.Delete, Place: marked.Place, Reserved: marked.Reserved, OldSize: marked.NewSize}
	deletedMonolith, _ := m.units(r, after(marked, before))
	return deletedMonolith
}

// notes returns the root's record, and the attributes that belong to no field.
func (m *Mover) notes(c *layout.Collection, d *Monolith) (residue, unclaimed []string) {
	residue = m.Layout.Noted(c.Root())
	doc, _ := m.Content(d) // as it was split
	for name := range doc {
		if !m.Layout.Claims(name) {
			unclaimed = append(unclaimed, name)
		}
	}
	return residue, unclaimed
}

// Size is the size of a monolith in bytes.
func (d *Monolith) Size() int { return attr.ItemSize(d.Attributes) }
