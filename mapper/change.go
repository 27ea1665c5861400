package mapper

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// change is one item that a save writes or checks.
type change struct {
	place
	kind Kind
	item *schema.Item
	// row is what is stored; nil for a new item.
	row *row
	// ghost is what is stored there without being there, nil for nothing known.
	ghost *ghost
	// rec is the record that is stored, nil for a delete; pos its place in the
	// value.
	rec any
	pos codec.Pos
	// attributes are those that a put or update sets, and removed those that an
	// update removes.
	attributes []assignment
	removed    []assignment
	// shown are the names of the attributes that differ, of a put that replaces an
	// item.
	shown []string
	// put is the whole item, of a put without its version.
	put read.Item
	// unread tells that an item of unknown size may be there.
	unread bool
	// oldSize and newSize are the item's sizes in bytes, 0 for none.
	oldSize, newSize int
	// patch is what a patch requires, nil for a change that is none of one.
	patch *itemPatch
	// token is the version that this write gives the item.
	token types.AttributeValue
}

// assignment is an attribute with its new value.
type assignment struct {
	name  string
	index int // in the item's attributes; notListed for another
	value types.AttributeValue
}

// The indexes of assignments to attributes that the item does not list.
const (
	expiryIndex = -1 - iota
	unknownIndex
)

// wcu returns the price of the change by itself. Of an item that may be there
// without having been read it is a bound: one that is deleted unread, and an
// expired one that a put replaces.
func (ch *change) wcu() cost.Units {
	price := cost.Exactly(cost.Put(ch.oldSize, ch.newSize))
	if ch.kind == KindDelete {
		price = cost.Exactly(cost.Delete(ch.oldSize))
	}
	if ch.unread {
		price.Max = cost.WriteUnits(cost.MaxItem)
	}
	return price
}

// transactWCU returns the price of the change within a transaction.
func (ch *change) transactWCU() cost.Units { return ch.wcu().Times(2) }

// describe returns the change as plans show it.
func (c *core) describe(ch *change, wcu cost.Units) ItemPlan {
	p := ItemPlan{
		Kind: ch.kind, Key: c.public(ch.place), Field: fieldOf(ch.item),
		OldBytes: ch.oldSize, NewBytes: ch.newSize, WCU: wcu,
	}
	p.Attributes = slices.Clone(ch.shown)
	if ch.shown == nil {
		p.Attributes = make([]string, 0, len(ch.attributes)+len(ch.removed))
		for _, a := range ch.attributes {
			p.Attributes = append(p.Attributes, a.name)
		}
		for _, a := range ch.removed {
			p.Attributes = append(p.Attributes, a.name)
		}
		if ch.patch != nil {
			for _, a := range ch.patch.increments {
				p.Attributes = append(p.Attributes, a.name)
			}
		}
	}
	slices.Sort(p.Attributes)
	return p
}

// tooLarge returns the error of an item over the limit.
func (c *core) tooLarge(ch *change) error {
	e := &TooLargeError{
		Model: c.schema.Label(), Field: fieldOf(ch.item), Key: c.public(ch.place),
		Size: ch.newSize, Limit: cost.MaxItem,
	}
	add := func(name string, n int) {
		if n > 0 {
			e.Heaviest = append(e.Heaviest, AttributeSize{name, n})
		}
	}
	written := map[string]bool{}
	for _, a := range ch.attributes {
		written[a.name] = true
		add(a.name, cost.AttributeSize(a.name, a.value))
	}
	if ch.row != nil {
		for i, n := range ch.row.sizes {
			if name := ch.item.Attributes[i].Name; !written[name] {
				add(name, int(n))
			}
		}
		for name, v := range ch.row.unknown {
			add(name, cost.AttributeSize(name, v))
		}
	}
	slices.SortFunc(e.Heaviest, func(a, b AttributeSize) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	e.Heaviest = e.Heaviest[:min(len(e.Heaviest), 3)]
	return e
}
