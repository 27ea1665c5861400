// Package staging is the protocol with which an entity of any size appears, or disappears, at once.
// Readers leave out items that are not live ([Protocol.Read]), and writers use [Protocol.Insert] and
// [Protocol.Delete]. Package item has the stored attributes. The specification next to this package
// (spec/README.md) explains the purpose of each condition.
//
// Any writer may take over an unfinished root at any time, with a write that is conditional on its
// version. The later requests of the overtaken writer fail on their conditions, or write items of an
// incarnation that never goes live.
package staging

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/write"
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

// Model has the parts of an entity's model that the protocol needs.
type Model interface {
	// Label names it in messages, and EntityName one of its entities.
	Label() string
	EntityName(identity []key.Value) string
	// IsRoot reports whether a kind of item is the root.
	IsRoot(*schema.Item) bool
	// Entries says what a write of an item does to its entries in secondary indexes.
	Entries(it *schema.Item, table string, before, after item.Attributes) []write.Entry
}

// Entity is an entity as the protocol needs it.
type Entity struct {
	Model Model
	// Identity are the values of the key fields that it is known by.
	Identity []key.Value
	Reserved item.Reserved
	Root     item.Place
	// RootLast reports that the root is the last of the entity's items in its partition.
	RootLast bool
	// Parts are the parts of tables with the items, and WithRoot reports that the root is among them.
	Parts    []selection.Part
	WithRoot bool
	// Belongs reports whether a staged delete removes an item: one of the entity, or that
	// was left over from one. Nothing else asks it.
	Belongs func(*item.Image) bool
	// Refused is called if the requests that are sent together with the one that makes the root live have refused it.
	// It returns those to send instead, none if nothing can be changed, or an error if the insert cannot succeed. It
	// may be nil.
	Refused func(ctx context.Context, o *write.Outcome, t *write.Tally) ([]*write.Request, error)
}

// tries is the maximum number of attempts after changes by other writers.
const tries = 10

// stale is an age at which a root has been live for every reader: twice as long as
// DynamoDB accepts a signature, which bounds how far clocks are apart.
const stale = 30 * time.Minute

// ReadRoot reads the root of an entity strongly, nil for none.
func (p *Protocol) ReadRoot(ctx context.Context, e *Entity, t *write.Tally) (*item.Image, error) {
	var u read.Usage
	root, err := p.Reader.One(ctx, e.Root, read.Options{Strong: true}, &u)
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	return root, err
}

// isLive reports whether a root exists and is live.
func isLive(root *item.Image) bool { return root != nil && !root.Expired && root.Header.Live() }

// sameEntity reports whether two roots are of one live incarnation.
func sameEntity(a, b *item.Image) bool {
	return isLive(a) && isLive(b) && attr.Same(a.Header.Incarnation, b.Header.Incarnation)
}

// Holds reports whether an entity's root, live or not, has an incarnation, so that the items of that
// incarnation are not dead. An expired root counts too, since its time to live may be extended.
func Holds(root *item.Image, incarnation types.AttributeValue) bool {
	return root != nil && incarnation != nil && attr.Same(root.Header.Incarnation, incarnation)
}

// Name names it in messages.
func (e *Entity) Name() string { return e.Model.Label() + ": " + e.Model.EntityName(e.Identity) }

func (e *Entity) isRoot(f *item.Image) bool { return e.Model.IsRoot(f.Kind) && f.SK == e.Root.SK }

// rootIn reports whether the root is in a part.
func (e *Entity) rootIn(p selection.Part) bool {
	return p.Table == e.Root.Table.Index && p.Partition == e.Root.Partition() && p.Range.Contains(e.Root.SK)
}

// Expired describes an entity whose root has expired.
const Expired = "it has expired"

// Pending describes the unfinished operation on an entity by its root, "" for none.
func Pending(root *item.Image) string {
	switch {
	case root == nil:
	case root.Expired:
		return Expired
	case !root.Header.Live():
		return root.Header.ReadStage().Pending()
	}
	return ""
}
