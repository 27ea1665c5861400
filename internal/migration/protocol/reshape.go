package protocol

import (
	"fmt"
	"maps"
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// Reshape are a program's functions between its monoliths, with the keys of their table, and what
// attributevalue would make of values of the model. The zero Reshape has none: they are the same.
type Reshape struct {
	Forth, Back func(item.Attributes) (item.Attributes, error)
}

// Content returns the content of a monolith for the layout: without the keys of its table that belong
// to no field, and without the reserved attributes. The error is an error of the program's function.
func (m *Mover) Content(d *Monolith) (item.Attributes, error) {
	doc := d.bare()
	if m.Reshape.Forth != nil {
		var err error
		if doc, err = m.Reshape.Forth(attr.CopyItem(doc)); err != nil {
			return nil, fmt.Errorf("the program's function failed for it: %w", err)
		}
		doc = maps.Clone(doc) // it may be the program's
	}
	for _, name := range []string{m.Source.Hash, m.Source.Range} {
		if !m.Layout.Claims(name) {
			delete(doc, name)
		}
	}
	return doc, nil
}

// bare returns the content of a monolith without the reserved attributes.
func (d *Monolith) bare() item.Attributes {
	doc := item.Attributes{}
	for name, v := range d.Attributes {
		if name == d.version() && item.IsToken(v) || name == d.Reserved.MovedName() && d.Mark() != nil {
			continue
		}
		doc[name] = v
	}
	return doc
}

// Original returns the monolith as it was before it was marked.
func (d *Monolith) Original() *Monolith {
	return &Monolith{Place: d.Place, Attributes: d.bare(), Reserved: d.Reserved}
}

// monolith returns the item of a monolith's content: with its keys.
func (m *Mover) monolith(at item.Place, doc item.Attributes) (item.Attributes, error) {
	whole := maps.Clone(doc)
	if m.Reshape.Back != nil {
		var err error
		if whole, err = m.Reshape.Back(attr.CopyItem(doc)); err != nil {
			return nil, fmt.Errorf("the program's function failed to return a monolith for it: %w", err)
		}
		if whole = maps.Clone(whole); whole == nil { // it may be the program's
			whole = item.Attributes{}
		}
	}
	maps.Copy(whole, at.Key())
	delete(whole, m.Layout.Version)
	return whole, nil
}

// comesBack refuses a monolith of which the program's functions do not give back just what it is.
func (m *Mover) comesBack(d *Monolith, doc item.Attributes) error {
	if m.Reshape.Forth == nil {
		return nil
	}
	back, err := m.monolith(d.Place, doc)
	if err != nil {
		return err
	}
	if produced, err := m.Content(d); err != nil || !attr.SameItem(produced, doc) {
		return fmt.Errorf("the program's function returns different monoliths for it each time (%v): make it "+
			"deterministic", err)
	}
	is := d.bare()
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if !attr.Same(is[name], back[name]) {
			return fmt.Errorf("%s: the program's functions change it on the way there and back", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(back)) {
		if is[name] == nil {
			return fmt.Errorf("%s: the program's functions return it, but the monolith does not have it", name)
		}
	}
	return nil
}

// goesForth refuses a monolith that is made of a collection, of which the program's functions would make another one.
func (m *Mover) goesForth(at item.Place, whole, doc item.Attributes) error {
	if m.Reshape.Forth == nil {
		return nil
	}
	produced, err := m.Content(&Monolith{at, whole, m.Layout.Reserved})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if !attr.Same(doc[name], produced[name]) {
			return fmt.Errorf("%s: the program's functions would change it", name)
		}
	}
	return nil
}
