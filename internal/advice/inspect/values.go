package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
)

// pointed is an external value that an item points to.
type pointed struct {
	*subject
	extern.Wanted
}

// values reads the external values of the items that are shown, and reports those that are missing or damaged.
func (x *Inspector) values(ctx context.Context, subjects []*subject, r *Report) error {
	var all []pointed
	units := 0.0
	for _, s := range subjects {
		if s.m.Fetcher == nil {
			continue
		}
		for _, a := range s.img.Kind.Attributes {
			p, ok := extern.PointerOf(s.img.Attribute(a.Name))
			if !ok || a.Large == nil {
				continue
			}
			all = append(all, pointed{s, extern.Wanted{Pointer: p, Parent: s.img.Place, Attribute: a.Name}})
			units += cost.ReadUnits(int(p.Stored))
		}
	}
	if len(all) == 0 {
		return nil
	}
	x.Announce(fmt.Sprintf("%d external values", len(all)), units)
	r.Values = len(all)
	for _, p := range all {
		if err := x.Rate.Take(ctx, cost.ReadUnits(int(p.Stored))); err != nil {
			return err
		}
		what, err := x.fault(ctx, p, r)
		if err != nil {
			return err
		}
		if what != "" {
			r.Findings = append(r.Findings, p.found(Value, fmt.Sprintf("%s points to a value that %s", p.Attribute,
				what),
				"restore the value, or set the field again"))
		}
	}
	return nil
}

// fault describes the fault of an external value, "" for none.
func (x *Inspector) fault(ctx context.Context, p pointed, r *Report) (string, error) {
	f := p.m.Fetcher
	_, err := f.Fetch(ctx, p.Wanted, &r.used)
	var damaged *extern.Damaged
	var replaced *extern.Replaced
	var limit *extern.LimitError
	switch {
	case errors.As(err, &damaged):
		return "is missing or damaged", nil
	case errors.As(err, &replaced), errors.As(err, &limit):
		return "", nil
	case err != nil:
		return "", err
	}
	if p.Class != extern.Collection || p.Parts == 0 {
		return "", nil
	}
	e := &extern.Entry{ID: p.ID, Class: p.Class, At: p.At, Parts: p.Parts, PK: p.Parent.PK, SK: p.Parent.SK}
	at := f.Locations.Part(e, p.Parts-1)
	last, err := f.Reader.One(ctx, at, read.Options{}, &r.used)
	if err != nil || last == nil {
		return "", err
	}
	if o, ok := extern.OwnerOf(last.Arguments); ok && (o.PK != p.Parent.PK || o.SK != p.Parent.SK ||
		o.Attribute != p.Attribute) {
		return "belongs to the item " + item.Place{Table: p.Parent.Table, PK: o.PK, SK: o.SK}.String() +
			", so that a garbage collection may delete it", nil
	}
	return "", nil
}
