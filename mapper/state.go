package mapper

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// state is what is known of an entity's items: the snapshot that a save compares
// with and conditions on.
type state struct {
	core *core
	spec selection.Selection
	// fresh tells that the entity has never been stored: a save inserts it.
	fresh bool
	// old holds the values as they are stored, as far as they are typed; a
	// pointer to the model.
	old any
	pk  key.Scalar
	// keyFields are the values in old of the fields that keys name; nil where they
	// are not at hand.
	keyFields []key.Value
	// unread are the keyFields' fields whose values were not loaded, by index: what
	// old holds of them is no more than zero. Nil stands for none.
	unread []bool
	// rows are the stored items, by the item's index: at most one of a
	// singleton; of elements in the order of their snapshot in old.
	rows [][]*row
	// ghosts are items that are stored and not there: expired, or left over
	// from a staged write that never went live.
	ghosts map[place]*ghost
	// doubts are writes whose outcome is not known, the latest last.
	doubts []*doubt
	// moving are the keyFields' values that the entity had before a Move of which a
	// part is written; nil where none is under way.
	moving []key.Value
	// unknown counts items that match no template.
	unknown int
}

// row is one stored item.
type row struct {
	place
	// pos is where the element lies in the snapshot.
	pos codec.Pos
	// order is where the element lies in the value that was compared last.
	order int
	// version is the item's version, nil for none.
	version types.AttributeValue
	// size is the item's size in bytes, sizes those of its attributes, names
	// included; 0 for an attribute that is not stored.
	size  int
	sizes []int32
	// ttl is the TTL attribute where it is none of the item's attributes, nil for
	// none, and expiry its size.
	ttl    types.AttributeValue
	expiry int
	// attempt is the staged write that put the item, until it is written again.
	attempt types.AttributeValue
	// stage is that of a root that is not live.
	stage types.AttributeValue
	// opaque are the stored values of opaque attributes, by index.
	opaque map[int]types.AttributeValue
	// unknown are the attributes that the model does not have.
	unknown read.Item
	// raw is the whole item, of an item without a version: its values are what
	// a write is conditional on.
	raw read.Item
}

// ghost is an item that is stored and not there.
type ghost struct {
	size    int
	expired bool
	// attempt is that of a staged item, stage that of a root.
	attempt, stage types.AttributeValue
	// row is the item as it was loaded, nil for one that was met later.
	row *row
}

// newState returns the state of an entity that is not stored yet.
func (c *core) newState(v any) *state {
	s := &state{core: c, fresh: true, old: c.codec.New(), rows: make([][]*row, len(c.schema.Items))}
	keyFields, err := c.keyFields(v)
	if err != nil {
		s.spec.Err = err
		return s
	}
	s.spec = selection.Entity(c.schema, c.identity(keyFields))
	return s
}

// scratch returns a state of no entity, for a request whose outcome is nobody's
// to remember.
func (c *core) scratch(d *diff) *state {
	return &state{core: c, spec: selection.Entity(c.schema, c.identity(d.keyFields)), old: c.codec.New(), rows: make([][]*row, len(c.schema.Items))}
}

// markUnread notes whether an owner's field was not loaded.
func (s *state) markUnread(owner int, unread bool) {
	if s.unread == nil {
		s.unread = make([]bool, len(s.core.schema.KeyFields))
	}
	s.unread[owner] = unread
}

// rowOf describes a stored item.
func (c *core) rowOf(f *read.Found) *row {
	r := &row{}
	c.fillRow(r, f)
	return r
}

func (c *core) fillRow(r *row, f *read.Found) {
	r.place, r.size, r.attempt, r.sizes = place{f.Table, f.PK, f.SK}, f.Size, f.Attempt, f.Sizes
	t := c.schema.Tables[f.Table]
	for name, v := range f.Item {
		switch {
		case f.Kind.Attribute(name) >= 0:
		case name == c.schema.Version && c.schema.Version != "":
			r.version = v
		case name == t.Hash, name == t.Range, name == schema.Attempt:
		case name == schema.State:
			r.stage = v
		case name == c.schema.TTL && f.Kind.Expiry != nil:
			r.ttl, r.expiry = v, cost.AttributeSize(name, v)
		default:
			if r.unknown == nil {
				r.unknown = read.Item{}
			}
			r.unknown[name] = v
		}
	}
	if r.version == nil {
		r.raw = attr.CopyItem(f.Item)
	}
}

func (r *row) setOpaque(i int, v types.AttributeValue) {
	if r.opaque == nil {
		r.opaque = map[int]types.AttributeValue{}
	}
	if v == nil {
		delete(r.opaque, i)
		return
	}
	r.opaque[i] = attr.Copy(v)
}
