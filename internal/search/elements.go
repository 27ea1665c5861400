package search

import (
	"context"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/write"
)

// elementReader reads elements of a type, page by page.
type elementReader struct {
	*Search
	// roots are the roots of staged inserts that were read, by entity.
	roots   map[string]item.Liveness
	yielded bool
	// again reports that the elements have to be read again, from the beginning.
	again bool
}

// elements searches for elements.
func (x *Search) elements(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	r := &elementReader{Search: x, roots: map[string]item.Liveness{}}
	for {
		r.again = false
		if err := r.read(ctx, yield, pageEnd); err != nil || !r.again {
			return err
		}
	}
}

func (r *elementReader) read(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	for page, err := range read.Merged(ctx, r.Source, r.s.Parts, r.o, r.u) {
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
			if !yield(Hit{Value: rec, Item: f.Kind, At: f.Place, next: Position{Start: f.SK}}) {
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
func (r *elementReader) element(ctx context.Context, f *item.Image) (rec any, there bool, err error) {
	m := r.Model
	if f.Kind == nil || f.Expired || !r.isOf(f.Kind) || !m.Agrees(f, r.s.Identity) {
		return nil, false, nil
	}
	if there, err = r.there(ctx, f); err != nil || !there {
		return nil, false, err
	}
	if rec, err = snapshot.DecodeElement(m, f); err != nil {
		return nil, false, err
	}
	kept, err := r.keeps(f, func(k *selection.Filter) (key.Value, error) { return m.Codec.Record(k.Item).Key(rec, k.Source) })
	return rec, kept, err
}

// keeps reports whether one of the parts that an item lies in keeps it: by the instant that
// it stores, where its key holds less.
func (x *Search) keeps(f *item.Image, instant func(*selection.Filter) (key.Value, error)) (bool, error) {
	for _, p := range x.s.Parts {
		if x.Model.Tables[p.Table] != f.Table || !p.Range.Contains(f.SK) {
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

// isOf reports whether an item's elements have the type that is asked for.
func (x *Search) isOf(it *schema.Item) bool {
	return it.Element() && it.Elem.Go == x.r.Elem
}

// onlyElements refuses a selection that can hold items other than the elements of a type,
// or none of them.
func (x *Search) onlyElements() error {
	some := false
	for _, it := range x.Model.Schema.Items {
		if !x.canHold(it) {
			continue
		}
		if !x.isOf(it) {
			return x.Model.Errorf("the selection also holds %s, which is no %s: narrow it with Prefix", it.Name, x.r.Elem)
		}
		some = true
	}
	for _, p := range x.s.Parts {
		some = some || p.Range.Kind == selection.None
	}
	if !some {
		return x.Model.Errorf("the selection holds no elements of the type %s: name the type of a slice's or map's elements, without a pointer", x.r.Elem)
	}
	return nil
}

// canHold reports whether items of a kind can lie in the selection.
func (x *Search) canHold(it *schema.Item) bool {
	for _, p := range x.s.Parts {
		if p.Table != it.Table.Index {
			continue
		}
		switch {
		case p.Range.Kind == selection.None:
		case it.Key == nil, p.Range.Kind == selection.All:
			return true
		case p.Range.Kind == selection.One:
			if kind, _ := x.Model.Schema.Match(p.Table, p.Range.Low); kind == it {
				return true
			}
		case p.Range.Low.Type != 'S':
			return true
		case it.Key.Template.CanBegin(p.Range.Common()):
			return true
		}
	}
	return false
}

// there reports whether an item is one of the live entity: one of a staged insert is if
// the root is live with its attempt. A root that went live not long ago may have done so
// after the item was read, when not all of them were there: then they are read again,
// strongly.
func (r *elementReader) there(ctx context.Context, f *item.Image) (bool, error) {
	if f.Header.Attempt == nil {
		return true, nil
	}
	identity := r.Model.IdentityOf(f, r.s.Identity)
	name := r.Model.EntityName(identity)
	live, known := r.roots[name]
	if !known {
		e, err := r.entity(identity)
		if err != nil {
			return false, err
		}
		var t write.Tally
		root, err := r.Protocol.ReadRoot(ctx, e, &t)
		r.add(&t)
		if err != nil {
			return false, err
		}
		live = item.LivenessOf(root)
		r.roots[name] = live
		if live.Attempt != nil && !r.Protocol.LongLive(live) && !r.yielded {
			r.again, r.o.Strong = true, true
		}
	}
	return attr.Same(f.Header.Attempt, live.Attempt), nil
}

// add adds what an inner read took.
func (x *Search) add(t *write.Tally) {
	x.u.Requests += t.Requests
	x.u.Predicted = x.u.Predicted.Add(t.RCU)
	x.u.Consumed += t.ConsumedRCU
}
