package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// NotFound reports that the root was selected and does not exist, or is not live.
type NotFound struct {
	// Name names the entity by its key. Pending names the unfinished operation on it.
	Name, Pending string
	// Replaced reports that it was deleted and inserted again since it was read.
	Replaced bool
	// Root is where its root would be.
	Root item.Place
}

func (e *NotFound) Error() string { return e.Name + " does not exist" }

// Unwrap returns ErrNotFound.
func (e *NotFound) Unwrap() error { return ErrNotFound }

// ErrNotFound says that an entity, or an item that an operation requires, does not exist.
var ErrNotFound = errors.New("itemize: item not found")

// Load reads a selection of one entity, creates its snapshot, and sets the fields of v. The error is a
// *NotFound if the root was selected and does not exist, or is not live.
func (e *Engine) Load(ctx context.Context, sel selection.Selection, v any, o read.Options,
	t *write.Tally,
) (*snapshot.Snapshot, error) {
	for try := 0; ; try++ {
		f, err := e.Find(ctx, e.Protocol, sel, o, t)
		if err != nil {
			return nil, err
		}
		s, err := e.decode(ctx, f, v, t)
		if err == nil || !isReplaced(err) || try == maxReplacements {
			return s, err
		}
	}
}

func isReplaced(err error) bool {
	var replaced *extern.Replaced
	return errors.As(err, &replaced)
}

// Found has the items that were read of a selection of one entity.
type Found struct {
	*staging.Reading
	sel    selection.Selection
	entity *staging.Entity
}

// Find reads a selection of one entity.
func (e *Engine) Find(ctx context.Context, p *staging.Protocol, sel selection.Selection, o read.Options,
	t *write.Tally,
) (*Found, error) {
	entity, err := EntityOf(e.Model, sel)
	if err != nil {
		return nil, err
	}
	r, err := p.Read(ctx, entity, o, t)
	return &Found{r, sel, entity}, err
}

// RootPlace returns the place of the root item.
func (f *Found) RootPlace() item.Place { return f.entity.Root }

// Copy returns a copy that can be decoded again.
func (f *Found) Copy() *Found {
	c, r := *f, *f.Reading
	r.Items = slices.Clone(f.Items)
	for i := range r.Items {
		r.Items[i].Arguments = attr.CopyItem(r.Items[i].Arguments) // items from the wire are decoded each time
		r.Items[i].Sizes = slices.Clone(r.Items[i].Sizes)
	}
	c.Reading = &r
	return &c
}

// Clone is Copy without the answers that the items came with, whose memory they would keep.
func (f *Found) Clone() *Found {
	c := f.Copy()
	for i := range c.Items {
		c.Items[i].Detach()
	}
	if c.Root != nil {
		root := *c.Root
		root.Detach()
		c.Root = &root
	}
	return c
}

// Content returns a digest of the items that belong to the entity, as they are stored.
func (f *Found) Content() string {
	var all []string
	for i := range f.Items {
		if at := &f.Items[i]; at.Kind != nil && !at.Expired && f.Joined(at) {
			all = append(all, fmt.Sprintf("%d %s %x", at.Table.Index, at.Place, attr.Hash(at.Attributes())))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Bytes returns the size of the items, in bytes.
func (f *Found) Bytes() int {
	n := 0
	for i := range f.Items {
		n += f.Items[i].Size
	}
	return n
}

// ReadAgainOf returns a copy of items that were read earlier: some may have expired since.
func (e *Engine) ReadAgainOf(f *Found) *Found {
	c := f.Copy()
	now := e.Model.Now()
	for i := range c.Items {
		c.Items[i].Expired = c.Items[i].Header.Expired(now)
	}
	if c.Root != nil {
		root := *c.Root
		root.Expired = root.Header.Expired(now)
		c.Root = &root
	}
	return c
}

// There reports whether the root was not selected, or exists and is live.
func (e *Engine) There(f *Found) bool {
	return !f.entity.WithRoot || e.RootThere(f.sel, f.Root) == nil
}

// Decode is Load of items that were read. External values are read; if one was replaced since,
// everything is read again.
func (e *Engine) Decode(ctx context.Context, f *Found, v any, t *write.Tally) (*snapshot.Snapshot, error) {
	s, err := e.decode(ctx, f, v, t)
	if err != nil && isReplaced(err) {
		return e.Load(ctx, f.sel, v, read.Options{Strong: true}, t)
	}
	return s, err
}

// Recall is Decode without reading anything: an external value is an error.
func (e *Engine) Recall(f *Found, v any) (*snapshot.Snapshot, error) {
	c := *e
	c.Fetcher = nil
	return c.decode(context.Background(), f, v, nil)
}

// decode creates the snapshot of the items of an entity, and sets the fields of v.
func (e *Engine) decode(ctx context.Context, f *Found, v any, t *write.Tally) (*snapshot.Snapshot, error) {
	sel, entity, r := f.sel, f.entity, f.Reading
	s, err := snapshot.Loaded(e.Model, sel)
	if err != nil {
		return nil, err
	}
	if entity.WithRoot {
		if err := e.RootThere(sel, r.Root); err != nil {
			return nil, err
		}
	}
	kept := e.visible(s, r)
	if err := e.fetchAll(ctx, kept, t); err != nil {
		return nil, err
	}
	if err := s.Identify(v); err != nil {
		return nil, err
	}
	return s, s.Decode(v, kept)
}

// visible leaves out leftover and expired items, and items that match no field.
func (e *Engine) visible(s *snapshot.Snapshot, r *staging.Reading) []item.Image {
	kept := r.Items[:0]
	for i := range r.Items {
		switch f := &r.Items[i]; {
		case f.Kind == nil || !e.Model.Agrees(f, s.Selection.Identity):
			s.Unknown++
			s.NoteOther(f)
		case f.Expired, !r.Joined(f):
			s.NoteOther(f)
		default:
			kept = append(kept, *f)
		}
	}
	if r.Live() {
		s.SetIncarnation(r.Root.Header.Incarnation)
	}
	if r.Asked && r.Root != nil {
		if !s.Selection.Contains(e.Model.Root().Table.Index, r.Root.SK) {
			s.NoteOther(r.Root)
		}
	}
	return kept
}

// RootThere returns a *NotFound, with the unfinished operation, for a root that does not exist or is
// not live.
func (e *Engine) RootThere(sel selection.Selection, root *item.Image) error {
	pending := staging.Pending(root)
	if root != nil && pending == "" {
		return nil
	}
	at, err := e.Model.RootPlace(sel.Identity)
	if err != nil {
		return err
	}
	return &NotFound{Name: e.Model.EntityName(sel.Identity), Pending: pending, Root: at}
}
