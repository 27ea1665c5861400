package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
)

// guards compares the root items that were read with the guards of their unique values, and the guards that were read
// with their owners. Values with a method Normal are left out: only a program that has the method can compare them.
func (x *Inspector) guards(ctx context.Context, subjects []*subject, r *Report) error {
	for _, s := range subjects {
		if !s.isRoot() || !s.img.Header.Live() || s.img.Expired {
			continue
		}
		for _, u := range s.m.Schema.Uniques {
			if hasNormal(s.m.Schema, u) {
				continue
			}
			if err := x.guardOf(ctx, s, u, r); err != nil {
				return err
			}
		}
	}
	for i := range r.guards {
		if err := x.ownerOf(ctx, &r.guards[i], r); err != nil {
			return err
		}
	}
	return nil
}

func hasNormal(e *schema.Entity, u *schema.Unique) bool {
	return slices.ContainsFunc(e.Guarded(u), func(a *schema.Attribute) bool { return a.Value.Type.HasNormal() })
}

// read reads an item by itself, strongly consistent.
func (x *Inspector) read(ctx context.Context, at item.Place, r *Report) (item.Attributes, error) {
	if err := x.Rate.Take(ctx, 1); err != nil {
		return nil, err
	}
	reader := &read.Reader{Client: x.Client, Label: "check", Describe: extern.Plain}
	return reader.Item(ctx, at, read.Options{Strong: true}, &r.used)
}

// guardOf reports a root item whose unique value has no guard, or that of another entity.
func (x *Inspector) guardOf(ctx context.Context, s *subject, u *schema.Unique, r *Report) error {
	m := s.m.Model
	add := func(fact, cure string) {
		r.Findings = append(r.Findings, Finding{
			Rule: Guard, Model: m.Label(), Table: x.Table.Name, Item: s.img.Place.String(), Fact: fact, Cure: cure,
		})
	}
	field := m.Schema.FieldNames(u)
	at, ok, err := m.Guard(u, s.img.Attributes())
	if err != nil {
		add(fmt.Sprintf("the value of %s cannot be compared", field), "store the type of the model")
		return nil
	}
	if !ok {
		return nil
	}
	guard, err := x.read(ctx, at, r)
	if err != nil {
		return err
	}
	owner, err := m.GuardOwner(u, guard)
	if err != nil {
		add(fmt.Sprintf("the guard of %s is of another model, or of another table", field),
			"give one of the two another "+
				"name (as=), or another table of guards (guards=)")
		return nil
	}
	if owner != nil && owner.Same(model.Owner{Root: s.img.Place, Incarnation: s.img.Header.Incarnation}) {
		return nil
	}
	now, err := x.read(ctx, s.img.Place, r)
	switch {
	case err != nil:
		return err
	case !attr.SameItem(now, s.img.Attributes()):
		r.Changing++
	case len(guard) == 0:
		add(fmt.Sprintf("the unique value of %s has no guard", field), "run itemize unique run")
	default:
		add(fmt.Sprintf("the guard of %s names another entity", field), "run itemize unique run, which reports "+
			"duplicates, and change one of the two")
	}
	return nil
}

// ownerOf counts a guard whose owner does not have the value.
func (x *Inspector) ownerOf(ctx context.Context, guard *item.Image, r *Report) error {
	for _, m := range x.Models {
		for _, u := range m.Schema.Uniques {
			if !model.IsGuardOf(guard.PK, u.Name) || hasNormal(m.Schema, u) {
				continue
			}
			owner, err := m.GuardOwner(u, guard.Arguments)
			if err != nil { // of another model; the root items tell
				continue
			}
			if owner == nil {
				r.Unowned++
				continue
			}
			root, err := x.read(ctx, owner.Root, r)
			if err != nil {
				return err
			}
			at, has, err := m.Guard(u, root)
			h := m.Reserved.Header(root)
			if err != nil || !has || at.PK != guard.PK || !h.Live() || !attr.Same(h.Incarnation, owner.Incarnation) {
				r.Unowned++
			}
		}
	}
	return nil
}
