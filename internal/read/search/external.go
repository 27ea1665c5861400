package search

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request/wire"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// maxReplacements is how often an item is read again because its external values were replaced while they were read.
const maxReplacements = 10

// SetFetcher has the engine read external values, and the model's lazy values read themselves. public
// translates the errors of the latter.
func (e *Engine) SetFetcher(f *extern.Fetcher, public func(error) error) {
	f.Dead = e.isLeftover
	e.Fetcher = f
	e.Model.Source = func(f *item.Image, a *schema.Attribute, name string) *extern.Source {
		at := *f
		at.Arguments, at.Wire, at.Header = nil, wire.Item{}, item.Header{}
		return &extern.Source{
			Fetcher: e.Fetcher, At: f.Place, Attribute: name,
			Explain: func(err error) error { return public(e.fetchError(&at, a, err)) },
		}
	}
}

// isLeftover reports whether an item that was read strongly consistent is a leftover item of a staged insert.
func (e *Engine) isLeftover(ctx context.Context, f *item.Image, u *read.Usage) (bool, error) {
	if f.Header.Stage == nil || e.Model.IsRoot(f.Kind) {
		return false, nil
	}
	identity, ok := e.Model.Whose(f)
	if !ok {
		return false, nil
	}
	at, err := e.Model.RootPlace(identity)
	if err != nil {
		return false, err
	}
	root, err := e.Reader.One(ctx, at, read.Options{Strong: true}, u)
	if err != nil {
		return false, err
	}
	return !staging.Holds(root, f.Header.Incarnation), nil
}

// fetch reads the external values of an item that are not lazy. The error is a *extern.Replaced if
// another writer has replaced one.
func (e *Engine) fetch(ctx context.Context, f *item.Image, u *read.Usage) error {
	if e.Fetcher == nil || f.Kind == nil || !f.Kind.HasExternal() {
		return nil
	}
	for _, a := range f.Kind.Attributes {
		if !a.Large.External() || a.Value.Type.Lazy {
			continue
		}
		for _, name := range slices.Concat([]string{a.Name}, a.Was) {
			p, external := extern.PointerOf(f.Attribute(name))
			if !external {
				continue
			}
			v, err := e.Fetcher.Fetch(ctx, extern.Wanted{Pointer: p, Parent: f.Place, Attribute: name}, u)
			if err != nil {
				return e.fetchError(f, a, err)
			}
			if f.Loaded == nil {
				f.Loaded = item.Attributes{}
			}
			f.Loaded[name] = v
		}
	}
	return nil
}

// fetchError adds the field and the item to an error of a value that could not be read.
func (e *Engine) fetchError(f *item.Image, a *schema.Attribute, err error) error {
	var replaced *extern.Replaced
	var damaged *extern.Damaged
	switch {
	case errors.As(err, &replaced):
		return err
	case errors.As(err, &damaged):
		return &extern.CorruptError{Model: e.Model.Label(), Field: a.Value.Name, Item: f.String(), Err: err}
	}
	return fmt.Errorf("%s.%s: %w", e.Model.Label(), a.Value.Name, redact.Errorf("item %s: %w", f.Place, err))
}

// fetchAll reads the external values of items. The error is a *extern.Replaced if another writer has
// replaced one: the items have to be read again.
func (e *Engine) fetchAll(ctx context.Context, items []item.Image, t *write.Tally) error {
	if e.Fetcher == nil {
		return nil
	}
	var u read.Usage
	defer func() {
		t.AddRead(u.Requests, u.Predicted, u.Consumed)
		t.Objects = t.Objects.Add(u.Objects)
	}()
	for i := range items {
		if err := e.fetch(ctx, &items[i], &u); err != nil {
			return err
		}
	}
	return nil
}

// fetchCurrent reads the external values of an item. If another writer has replaced one, the item
// becomes the stored one. An item that was deleted counts as expired.
func (x *Search) fetchCurrent(ctx context.Context, f *item.Image) error {
	if x.Fetcher == nil {
		return nil
	}
	var replaced *extern.Replaced
	err := x.fetch(ctx, f, x.u)
	for try := 0; errors.As(err, &replaced) && try < maxReplacements; try++ {
		now, readErr := x.Reader.One(ctx, f.Place, read.Options{Strong: true}, x.u)
		switch {
		case readErr != nil:
			return readErr
		case now == nil:
			f.Expired = true
			return nil
		}
		if !attr.Same(now.Header.Incarnation, f.Header.Incarnation) || now.Header.Stage != nil &&
			!attr.Same(now.Header.Stage, f.Header.Stage) || now.Kind != f.Kind {
			f.Expired = true // it belongs to another entity, or to an insert that is pending
			return nil
		}
		*f = *now
		err = x.fetch(ctx, f, x.u)
	}
	return err
}
