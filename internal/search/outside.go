package search

import (
	"context"
	"errors"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/write"
)

// replacements bounds how often an item is read again whose value was replaced while it was read.
const replacements = 10

// bringAll reads the values of items that lie outside of them. The error is a *large.Replaced where one was replaced
// meanwhile: the items have to be read again.
func (e *Engine) bringAll(ctx context.Context, items []item.Image, t *write.Tally) error {
	if e.Outside == nil {
		return nil
	}
	var u read.Usage
	defer func() {
		t.AddRead(u.Requests, u.Predicted, u.Consumed)
		t.Objects = t.Objects.Add(u.Objects)
	}()
	for i := range items {
		if err := e.Outside(ctx, &items[i], &u); err != nil {
			return err
		}
	}
	return nil
}

// bring reads the values of an item that lie outside of it. An item whose value was replaced meanwhile becomes what is stored now;
// one that is gone counts as expired.
func (x *Search) bring(ctx context.Context, f *item.Image) error {
	if x.Outside == nil {
		return nil
	}
	var replaced *large.Replaced
	err := x.Outside(ctx, f, x.u)
	for try := 0; errors.As(err, &replaced) && try < replacements; try++ {
		now, readErr := x.Reader.One(ctx, f.Place, read.Options{Strong: true}, x.u)
		switch {
		case readErr != nil:
			return readErr
		case now == nil:
			f.Expired = true
			return nil
		}
		if !attr.Same(now.Header.Incarnation, f.Header.Incarnation) || now.Header.Stage != nil && !attr.Same(now.Header.Stage, f.Header.Stage) || now.Kind != f.Kind {
			f.Expired = true // another entity's, or of an insert that may not come about
			return nil
		}
		*f = *now
		err = x.Outside(ctx, f, x.u)
	}
	return err
}
