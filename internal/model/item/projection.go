package item

import (
	"slices"

	"github.com/itemize/itemize/internal/model/schema"
)

// Projection says which attributes of an item were read.
type Projection struct {
	// Entry is the entry of the index that the item was read from, nil for the table.
	Entry *schema.Entry
	// Names are the attributes that the query asked for, nil for all.
	Names []string
}

// ProjectionOf returns the projection of a query, nil if it reads all attributes of an item.
func ProjectionOf(e *schema.Entry, names []string) *Projection {
	if names == nil && (e == nil || e.Index.All) {
		return nil
	}
	return &Projection{e, names}
}

// Reads reports whether an attribute was read if it is stored.
func (p *Projection) Reads(name string) bool {
	return p == nil || (p.Names == nil || slices.Contains(p.Names, name)) &&
		(p.Entry == nil || p.Entry.Index.Projects(name))
}

// Loads reports whether the value of an attribute was read, from the attribute or from a key of the index.
func (p *Projection) Loads(a *schema.Attribute) bool {
	return p.Reads(a.Name) || p.Entry != nil && p.Entry.Reads(a)
}
