// Package staging is the protocol of staged inserts and deletes, by which an entity of
// any size appears, or disappears, at once: for readers, who leave out what is not live
// ([Protocol.Alive]), and for writers ([Protocol.Insert], [Protocol.Delete]). What is
// stored for it is in package item.
//
// A stage that somebody left behind is taken over, by a write that is conditional on it;
// what its attempt still sends finds its conditions failed, or becomes an item of an
// attempt that never goes live.
package staging

import (
	"context"
	"time"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/write"
)

// Reader reads items.
type Reader interface {
	read.Source
	One(ctx context.Context, at item.Place, o read.Options, u *read.Usage) (*item.Image, error)
}

// Protocol runs staged writes, and reads what they leave.
type Protocol struct {
	Reader Reader
	Sender *write.Sender
	// Describe makes an image of an item as it is stored.
	Describe func(t *item.Table, a item.Attributes) (item.Image, error)
	Now      func() time.Time
}

// Entity is an entity as the protocol needs it.
type Entity struct {
	// Name names it in messages; Label is its model's.
	Name     func() string
	Label    string
	Reserved item.Reserved
	Root     item.Place
	// Parts are where its items lie.
	Parts []selection.Part
	// IsRoot reports whether an item is a root, Belongs whether it is one that the entity
	// would show, or that was left over from it.
	IsRoot  func(*item.Image) bool
	Belongs func(*item.Image) bool
	// Asked is the root as Alive has read it by itself last, nil where it did not, or where
	// there is none.
	Asked *item.Image
}

// tries bounds how often something is begun again because somebody else came between.
const tries = 10

// stale is an age at which a root has been live for every reader: twice as long as
// DynamoDB accepts a signature, which bounds how far clocks are apart.
const stale = 30 * time.Minute

// LongLive reports whether a root is live for so long that it is for every reader.
func (p *Protocol) LongLive(l item.Liveness) bool {
	return l.Attempt != nil && l.Since.Before(p.Now().Add(-stale))
}

// ReadRoot reads the root of an entity strongly, nil for none.
func (p *Protocol) ReadRoot(ctx context.Context, e *Entity, t *write.Tally) (*item.Image, error) {
	var u read.Usage
	root, err := p.Reader.One(ctx, e.Root, read.Options{Strong: true}, &u)
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	return root, err
}

// Collect reads all items of parts.
func (p *Protocol) Collect(ctx context.Context, parts []selection.Part, o read.Options, t *write.Tally) ([]item.Image, error) {
	var u read.Usage
	defer func() { t.AddRead(u.Requests, u.Predicted, u.Consumed) }()
	return read.Collect(ctx, p.Reader, parts, o, &u)
}

// standing reports whether the entity's root carries a stage.
func (p *Protocol) standing(ctx context.Context, e *Entity, st item.Stage, t *write.Tally) (bool, error) {
	root, err := p.ReadRoot(ctx, e, t)
	if err != nil || root == nil {
		return false, err
	}
	now, ok := root.Header.ReadStage()
	return ok && now.Is(st), nil
}

// rootAmong returns the root among images, nil for none.
func (e *Entity) rootAmong(images []item.Image) *item.Image {
	for i := range images {
		if f := &images[i]; e.isRoot(f) {
			return f
		}
	}
	return nil
}

func (e *Entity) isRoot(f *item.Image) bool { return e.IsRoot(f) && f.SK == e.Root.SK }

// Joined reports whether an item is one of the live entity, as far as staged writes decide
// it.
func (e *Entity) Joined(f *item.Image, live item.Liveness) bool {
	return e.IsRoot(f) || f.Header.Attempt == nil || attr.Same(f.Header.Attempt, live.Attempt)
}
