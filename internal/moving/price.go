package moving

import (
	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/monolith"
)

// Price is what moving an entity takes, if nobody comes between.
type Price struct {
	// Items is how many items it becomes, of so many Bytes; ItemBytes are those of each kind, by its name.
	Items, Bytes int
	Kinds        map[string]Kind
	// WCU is all that is written: Parts are the units of the items, Mark those of the mark, and Claim the claim's.
	WCU, Parts, Mark, Claim float64
	// Residue are the attributes of which the root notes what the keys do not tell, Unclaimed those that no field claims.
	Residue, Unclaimed []string
	// Back is what a rollback takes.
	Back float64
}

// Kind is the items of one kind.
type Kind struct{ Items, Bytes int }

// Foresee returns what moving an entity will take. The error is an *Unmovable.
func (m *Mover) Foresee(d *Monolith) (*Price, error) {
	e := &Entity{Doc: d, m: m}
	if err := e.split(); err != nil {
		return nil, err
	}
	e.incarnation = item.NewToken()
	claim, flip := e.claimRequest(nil), e.flipRequest(e.incarnation)
	p := &Price{Items: len(e.parts.Items), Kinds: map[string]Kind{}, Claim: cost.Put(0, claim.NewSize), Mark: cost.Put(flip.OldSize, flip.NewSize)}
	p.Back = p.Mark + 2*p.Claim
	for i, it := range e.parts.Items {
		var n int
		if i == 0 {
			n = e.liveRequest().NewSize
		} else {
			n = e.partRequest(&part{Item: it, place: m.place(it)}).NewSize
			p.Back += cost.Put(n, n)
		}
		units := cost.Put(0, n)
		p.Bytes, p.Parts, p.Back = p.Bytes+n, p.Parts+units, p.Back+units
		k := p.Kinds[it.Kind.Name]
		p.Kinds[it.Kind.Name] = Kind{k.Items + 1, k.Bytes + n}
	}
	p.WCU = p.Parts + p.Mark + p.Claim
	p.Residue, p.Unclaimed = m.notes(e.parts, d)
	return p, nil
}

// notes are what the root notes, and what no field claims.
func (m *Mover) notes(c *monolith.Collection, d *Monolith) (residue, unclaimed []string) {
	residue = monolith.Noted(c.Root())
	for name := range m.Content(d) {
		if !m.Layout.Claims(name) {
			unclaimed = append(unclaimed, name)
		}
	}
	return residue, unclaimed
}

// Size is the size of a monolith in bytes.
func (d *Monolith) Size() int { return attr.ItemSize(d.Attributes) }
