package mapper

import (
	"context"
	"fmt"
	"reflect"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// elementReader reads elements of a type, page by page.
type elementReader struct {
	*search
	// roots are the roots of staged inserts that were read, by entity.
	roots   map[string]liveness
	yielded bool
	// again tells that the elements have to be read again, from the beginning.
	again bool
}

// elements searches for elements.
func (x *search) elements(ctx context.Context, yield func(hit) bool, pageEnd func(read.Page) bool) error {
	r := &elementReader{search: x, roots: map[string]liveness{}}
	for {
		r.again = false
		if err := r.read(ctx, yield, pageEnd); err != nil || !r.again {
			return err
		}
	}
}

func (r *elementReader) read(ctx context.Context, yield func(hit) bool, pageEnd func(read.Page) bool) error {
	for page, err := range r.c.reader.Pages(ctx, r.s.Parts, r.o, r.u) {
		if err != nil {
			return err
		}
		for i := range page.Items {
			f := &page.Items[i]
			rec, there, err := r.element(ctx, f)
			switch {
			case err != nil:
				return err
			case r.again:
				return nil
			case !there:
				continue
			}
			r.yielded = true
			h := hit{value: rec, item: f.Kind, at: place{f.Table, f.PK, f.SK}, next: position{Start: f.SK}}
			if !yield(h) {
				return nil
			}
		}
		if !pageEnd(page) {
			return nil
		}
	}
	return nil
}

// element decodes an item, if it is one of the elements asked for, and there.
func (r *elementReader) element(ctx context.Context, f *read.Found) (rec any, there bool, err error) {
	c := r.c
	if f.Kind == nil || f.Expired || !c.isOf(f.Kind, r.r.Elem) || !c.owned(&state{spec: r.s}, f) {
		return nil, false, nil
	}
	if there, err = r.there(ctx, f); err != nil || !there {
		return nil, false, err
	}
	e, err := c.decodeElement(f, c.rowOf(f), c.codec.Elements(f.Kind.Index).NewElement())
	if err != nil {
		return nil, false, err
	}
	kept, err := r.keeps(f, func(k *selection.Filter) (key.Value, error) { return c.codec.Record(k.Item).Key(e.rec, k.Source) })
	return e.rec, kept, err
}

// keeps reports whether one of the parts that an item lies in keeps it: by the instant that
// it stores, where its key holds less.
func (x *search) keeps(f *read.Found, instant func(*selection.Filter) (key.Value, error)) (bool, error) {
	for _, p := range x.s.Parts {
		if p.Table != f.Table || !p.Range.Contains(f.SK) {
			continue
		}
		if p.Keep == nil || p.Keep.KeyField < 0 && p.Keep.Item != f.Kind.Index {
			return true, nil
		}
		if at, err := instant(p.Keep); err != nil || p.Keep.Keeps(at.Time) {
			return err == nil, err
		}
	}
	return false, nil
}

// isOf reports whether an item's elements have a Go type.
func (c *core) isOf(it *schema.Item, elem reflect.Type) bool {
	return it.Element() && it.Elem.Go == elem
}

// onlyElements refuses a selection that can hold items other than the elements
// of a type, or none of them.
func (c *core) onlyElements(s selection.Selection, elem reflect.Type) error {
	some := false
	for _, it := range c.schema.Items {
		if !c.canHold(s, it) {
			continue
		}
		if !c.isOf(it, elem) {
			return fmt.Errorf("%s: the selection also holds %s, which is no %s: narrow it with Prefix", c.schema.Label(), it.Name, elem)
		}
		some = true
	}
	for _, p := range s.Parts {
		some = some || p.Range.Kind == selection.None
	}
	if !some {
		return fmt.Errorf("%s: the selection holds no elements of the type %s: name the type of a slice's or map's elements, without a pointer", c.schema.Label(), elem)
	}
	return nil
}

// canHold reports whether items of a kind can lie in a selection.
func (c *core) canHold(s selection.Selection, it *schema.Item) bool {
	for _, p := range s.Parts {
		if p.Table != it.Table.Index {
			continue
		}
		switch {
		case p.Range.Kind == selection.None:
		case it.Key == nil, p.Range.Kind == selection.All:
			return true
		case p.Range.Kind == selection.One:
			if kind, _ := c.schema.Match(p.Table, p.Range.Low); kind == it {
				return true
			}
		case p.Range.Low.Type != 'S':
			return true
		case it.Key.Template.CanBegin(common(p.Range)):
			return true
		}
	}
	return false
}

// common returns what all keys of a range begin with.
func common(r selection.Range) string {
	if r.Kind == selection.Prefix {
		return r.Low.Text
	}
	n := 0
	for n < min(len(r.Low.Text), len(r.High.Text)) && r.Low.Text[n] == r.High.Text[n] {
		n++
	}
	return r.Low.Text[:n]
}

// there reports whether an item is one of the live entity: one of a staged insert
// is if the root is live with its attempt. A root that went live not long ago may
// have done so after the item was read, when not all of them were there: then they
// are read again, strongly.
func (r *elementReader) there(ctx context.Context, f *read.Found) (bool, error) {
	if f.Attempt == nil {
		return true, nil
	}
	c := r.c
	keyFields := c.identityOf(f, r.s)
	name := c.entityName(keyFields)
	live, known := r.roots[name]
	if !known {
		var t tally
		root, err := c.readRoot(ctx, keyFields, &t)
		r.add(&t)
		if err != nil {
			return false, err
		}
		live = livenessOf(root)
		r.roots[name] = live
		if live.attempt != nil && !c.old(live) && !r.yielded {
			r.again, r.o.Strong = true, true
		}
	}
	return attr.Same(f.Attempt, live.attempt), nil
}

// identityOf returns what an item's entity is known by: from the selection, and
// where that names several entities from the item's keys.
func (c *core) identityOf(f *read.Found, s selection.Selection) []key.Value {
	keyFields := make([]key.Value, c.schema.Identities())
	copy(keyFields, s.Identity)
	if f.Kind.Key == nil {
		return keyFields
	}
	for i, src := range f.Kind.Key.Sources {
		if src.From == schema.FromModel && src.KeyField < len(keyFields) && (src.Lossless || keyFields[src.KeyField].Kind == key.None) {
			keyFields[src.KeyField] = f.Values[i]
		}
	}
	return keyFields
}
