package staging

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/write"
)

// Reading is items of an entity that were read so that those which are [Reading.Joined] are
// of one incarnation.
type Reading struct {
	Items []item.Image
	// Root is the root as it was seen last, nil for none. Asked reports that it was looked
	// at: a part is read without it unless there is a reason.
	Root  *item.Image
	Asked bool
	// cut reports that it ended with the first page, in front of the root.
	cut bool
}

// Joined reports whether an item belongs to the live entity: it has the root's incarnation, or none, whatever its
// stage is. (An item without one also exists without a root.) A part whose items all have one incarnation needs no
// check.
func (r *Reading) Joined(f *item.Image) bool {
	switch {
	case !r.Asked:
		return true
	case f.Header.Incarnation == nil:
		return r.Root == nil || isLive(r.Root)
	}
	return isLive(r.Root) && Holds(r.Root, f.Header.Incarnation)
}

// Live reports whether the root was seen live, and LiveSince since when, the zero time of one
// that was not staged.
func (r *Reading) Live() bool { return isLive(r.Root) }

// Same reports whether two roots that were seen are of one live incarnation.
func (r *Reading) Same(o *Reading) bool { return sameEntity(r.Root, o.Root) }

// Is reports whether the root was seen live, and of an incarnation.
func (r *Reading) Is(incarnation types.AttributeValue) bool {
	return isLive(r.Root) && Holds(r.Root, incarnation)
}

// LiveSince is described at Live.
func (r *Reading) LiveSince() time.Time {
	if r.Root == nil {
		return time.Time{}
	}
	return r.Root.Header.LiveSince()
}

// RecentlyLive reports whether a root went live so shortly before a read began that the items may be
// older.
func RecentlyLive(since, began time.Time) bool {
	return !since.IsZero() && since.After(began.Add(-stale))
}

// Read reads the items of an entity.
func (p *Protocol) Read(ctx context.Context, e *Entity, o read.Options, t *write.Tally) (*Reading, error) {
	x := reading{Options: o, first: true, began: p.Now()}
	next := p.part
	if e.WithRoot {
		next = p.whole
	}
	r, retry, err := next(ctx, e, x, t)
	if err != nil || !retry {
		return r, err
	}
	return p.readStrongly(ctx, e, x, r, t)
}

// How describes a read of an entity's items among others: whether it was strongly consistent, and when
// it began. It also says whether a page ended while more items of the entity could follow, before or
// after the first one.
type How struct {
	Strong, Missed, Paged bool
	Began                 time.Time
}

// Among is Read of a whole entity whose items were read among others.
func (p *Protocol) Among(ctx context.Context, e *Entity, found []item.Image, how How, t *write.Tally) (*Reading,
	error,
) {
	x := reading{Options: read.Options{Strong: how.Strong}, first: true, began: how.Began}
	c := &collected{items: found, paged: how.Paged || how.Missed}
	for i := range found {
		c.paged = c.paged || found[i].Answer != found[0].Answer
		if e.isRoot(&found[i]) {
			c.copied, c.root = found[i], &c.copied
		}
	}
	if c.root != nil && !how.Missed && c.root.Answer == found[0].Answer {
		c.rootAt = 1
	}
	r, retry, err := p.judge(ctx, e, x, c, t)
	if err != nil || !retry {
		return r, err
	}
	return p.readStrongly(ctx, e, x, r, t)
}

// readStrongly reads an entity again until its root is the same before and after: strongly, unless
// that is only because the root has to be read before the pages.
func (p *Protocol) readStrongly(ctx context.Context, e *Entity, x reading, r *Reading, t *write.Tally) (*Reading,
	error,
) {
	next := p.part
	if e.WithRoot {
		next = p.whole
	}
	x.first, x.Strong = false, x.Strong || !r.cut || x.recentlyLive(r.Root)
	for range tries {
		x.seen = r.Root
		var retry bool
		var err error
		if r, retry, err = next(ctx, e, x, t); err != nil || !retry {
			return r, err
		}
		x.Strong = true
	}
	return nil, fmt.Errorf("%s was inserted and deleted several times during the read: load it again", e.Name())
}

// reading is how a selection is read, in one of several tries.
type reading struct {
	read.Options
	// seen is the root as it was seen before, in tries after the first.
	seen  *item.Image
	first bool
	began time.Time
}

// recentlyLive reports whether a root went live so recently that the items may be older.
func (r *reading) recentlyLive(root *item.Image) bool {
	return RecentlyLive(root.Header.LiveSince(), r.began)
}

// whole reads an entity with its root. A root that was staged and went live not long ago may
// have done so after some of the items were read: then all is read again. What took more than
// one page, or is read again, is whole only if the root is the same before and after.
func (p *Protocol) whole(ctx context.Context, e *Entity, x reading, t *write.Tally) (r *Reading, retry bool,
	err error,
) {
	x.Reverse = e.RootLast
	c, err := p.collect(ctx, e, x, t)
	if err != nil {
		return nil, false, err
	}
	if c.cut {
		root, err := p.ReadRoot(ctx, e, t)
		return &Reading{Items: c.items, Root: root, Asked: true, cut: true}, isLive(root), err
	}
	return p.judge(ctx, e, x, c, t)
}

// judge decides whether the items of an entity are complete.
func (p *Protocol) judge(ctx context.Context, e *Entity, x reading, c *collected, t *write.Tally) (r *Reading,
	retry bool, err error,
) {
	r = &c.reading
	r.Items, r.Root, r.Asked = c.items, c.root, true
	switch {
	case !isLive(c.root):
		return r, false, nil
	case x.first && x.recentlyLive(c.root):
		return r, true, nil
	case x.first && !c.paged:
		return r, false, nil
	}
	if !x.Strong || !c.endsWithRoot {
		if r.Root, err = p.ReadRoot(ctx, e, t); err != nil {
			return nil, false, err
		}
	}
	before := x.seen
	if x.first && c.rootAt == 1 {
		before = c.root // with the first page: the others came later
	}
	return r, isLive(r.Root) && !sameEntity(before, r.Root), nil
}

// part reads items of an entity without its root. It is asked for only where the items do not
// all look alike: where a staged insert has put one, or they are of several incarnations.
func (p *Protocol) part(ctx context.Context, e *Entity, x reading, t *write.Tally) (r *Reading, retry bool, err error) {
	c, err := p.collect(ctx, e, x, t)
	if err != nil {
		return nil, false, err
	}
	if x.first && !Mixed(c.items) {
		return &Reading{Items: c.items}, false, nil
	}
	root, err := p.ReadRoot(ctx, e, t)
	if err != nil {
		return nil, false, err
	}
	r = &Reading{Items: c.items, Root: root, Asked: true}
	switch {
	case !isLive(root), sameEntity(x.seen, root):
		return r, false, nil
	case x.first && !root.Header.LiveSince().IsZero() && !x.recentlyLive(root):
		return r, false, nil // live since before the items were read
	}
	return r, true, nil
}

// Mixed reports whether items may be of several incarnations, or of one that is not live.
func Mixed(items []item.Image) bool {
	var first types.AttributeValue
	for i := range items {
		h := items[i].Header
		if items[i].Kind == nil {
			continue
		}
		if h.Stage != nil {
			return true
		}
		if first == nil {
			first = h.Incarnation
		}
		if h.Incarnation != nil && !attr.Same(h.Incarnation, first) {
			return true
		}
	}
	return false
}

// collected has the items that were read, and how they were read.
type collected struct {
	items  []item.Image
	root   *item.Image // a copy, because sorting the items moves them
	copied item.Image
	// reading is the result.
	reading Reading
	usage   read.Usage
	// answers is how many came.
	answers int
	// rootAt is the number of the answer that the root came with.
	rootAt int
	// paged reports that a range took more than one answer, endsWithRoot that the root was
	// read last.
	paged, endsWithRoot bool
	// cut reports that the pages of the root's range were not read to the end: the first of them lacks
	// the root, which must be read before them.
	cut bool
}

// collect reads the parts of an entity, the one with the root last: a reader that sees the root has
// then seen all earlier items. The first time it stops at a page that comes before the root's.
func (p *Protocol) collect(ctx context.Context, e *Entity, x reading, t *write.Tally) (*collected, error) {
	c := &collected{}
	u := &c.usage
	defer func() { t.AddRead(u.Requests, u.Predicted, u.Consumed) }()
	for turn, parts := range e.inTurn() {
		if len(parts) == 0 {
			continue
		}
		batch := len(parts) > 1 && !hasRange(parts) // in no order
		for page, err := range read.Pages(ctx, p.Reader, parts, x.Options, u) {
			if err != nil {
				return nil, err
			}
			c.answers++
			if turn > 0 { // a part may be in another
				page.Items = slices.DeleteFunc(page.Items, c.has)
			}
			c.paged, c.endsWithRoot = c.paged || page.More, false
			for i := range page.Items {
				if e.isRoot(&page.Items[i]) {
					c.rootAt = c.answers
				}
				c.endsWithRoot = !batch && e.isRoot(&page.Items[i])
			}
			if c.items == nil {
				c.items = page.Items
			} else {
				c.items = append(c.items, page.Items...)
			}
			if c.cut = x.first && e.WithRoot && page.More && c.rootAt == 0 && len(parts) == 1 &&
				e.rootIn(parts[0]); c.cut {
				return c, nil
			}
		}
	}
	for i := range c.items {
		if e.isRoot(&c.items[i]) {
			c.copied, c.root = c.items[i], &c.copied
		}
	}
	return c, nil
}

// has reports whether an item was read before.
func (c *collected) has(f item.Image) bool {
	return slices.ContainsFunc(c.items, func(o item.Image) bool { return o.Place == f.Place })
}

// inTurn returns the parts in the order in which they are read.
func (e *Entity) inTurn() (turns [2][]selection.Part) {
	if len(e.Parts) == 1 || !e.WithRoot || !hasRange(e.Parts) { // one answer, or nothing to come last
		turns[0] = e.Parts
		return turns
	}
	var rest, last []selection.Part
	for _, p := range e.Parts {
		if e.rootIn(p) {
			last = append(last, p)
		} else {
			rest = append(rest, p)
		}
	}
	return [2][]selection.Part{rest, last}
}

func hasRange(parts []selection.Part) bool {
	return slices.ContainsFunc(parts, func(p selection.Part) bool { return p.Range.Kind != selection.One })
}
