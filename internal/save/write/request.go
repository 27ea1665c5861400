// Package write arranges requests into plans, prices and sends them. If answers are lost it finds out
// the outcome.
//
// A [Plan] is data: it can be created, shown and tested without a client, and the plan itself is sent.
// The package knows no models: a request may write fields of a model, or any other item.
package write

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// Kind is the kind of a request.
type Kind string

// The kinds. A check requires that an item is as expected, and writes nothing.
const (
	Put    Kind = "put"
	Update Kind = "update"
	Delete Kind = "delete"
	Check  Kind = "check"
)

// Request writes, or checks, one item.
type Request struct {
	Kind Kind
	item.Place
	// Label and Field name what the item belongs to, in messages and plans.
	Label, Field string
	// Root reports that the item is its entity's root item, New that it is not stored yet.
	Root, New bool
	// PinsEntity reports of a root item's request that it is applied only if the entity is live and has
	// the incarnation that new items carry. (A root item that is put makes that entity.)
	PinsEntity bool
	// ForAdditions reports that it is a check of a root item that was added because the transaction
	// adds items to the entity.
	ForAdditions bool
	// Unread reports that an item of unknown size may exist.
	Unread bool
	// Counted reports that Set has the results of increments or appends, so that the request must not be applied twice.
	Counted bool
	// Guard reports that the item is the guard of a unique value, which errors do not show.
	Guard bool
	// Commits says that it is the request about a record of external values.
	Commits bool
	// Return requests the item after the write.
	Return bool
	// OfEntity is that incarnation, nil if the root item has none. (Of a loaded root item it is in
	// Header, of a new one in Incarnation.)
	OfEntity types.AttributeValue
	Reserved item.Reserved
	// Header has the reserved attributes of the stored item when it was read.
	Header item.Header
	// Expect is the condition on the stored item.
	Expect Expect
	// Named are those terms of Expect which a request that covers this check takes over: the fields that keys of added
	// items name, and the value of a lookup.
	Named []attr.Condition
	// Put is the whole item of a put. Sending may set its version.
	Put item.Attributes
	// Late returns further attributes of a put, each time the put is sent. It is used if all of them at
	// once would need too much memory. nil is none.
	Late func(ctx context.Context, t *Tally) (item.Attributes, error)
	// Set are the attributes that a put or update sets, and Remove those that an update removes.
	// Defaults are set if they are absent. Operations depend on stored values.
	Set, Remove, Defaults []item.Assignment
	Operations            []item.Operation
	// Shown are the names of the attributes that plans show, nil for those of the above.
	Shown []string
	// Incarnation is the incarnation of the entity if the request makes its root live. A live root with
	// this incarnation shows that the request was applied, even if others have written it since.
	Incarnation types.AttributeValue
	// Token is the version that the write gives the item, nil for none.
	Token types.AttributeValue
	// OldSize and NewSize are the item's sizes in bytes, 0 for none. Likely is the likely size of an
	// unread item, 0 if that is unknown.
	OldSize, NewSize, Likely int
	// External is the number of external values that the request makes the item point to: it is sent
	// with the flip of their record alone.
	External int
	// NotAfter is the time after which the request is not sent any more, the zero time for never: no
	// copy of it is signed later.
	NotAfter time.Time
	// Arguments are the values that a patch, or a raw item, of a transaction was given to write. If two
	// have the same, one may be a repetition of the other. It is nil for writes that an entity
	// remembers.
	Arguments []any
	// Entries are the changes of the item's entries in secondary indexes. Indexed are the attributes
	// that put the item into them, as they are after a put, or before another request.
	Entries []Entry
	Indexed []Attribute
	// Returned is the item after the write, if it was requested.
	Returned item.Attributes
	// Item is the kind of the item. It is nil for a request that no item of a model is the subject of,
	// as a record of external values, or a raw request.
	Item *schema.Item

	// raw is the item of a transaction as a caller has made it, nil for none.
	raw *types.TransactWriteItem
	// RawKey is the key of a raw request in an unknown table.
	RawKey string
}

// ArgumentsOf returns the values that a request writes, except those that are new in each request.
func ArgumentsOf(r *Request) []any {
	if r.raw != nil {
		return []any{r.raw}
	}
	put := maps.Clone(r.Put)
	delete(put, r.Reserved.Version)
	return []any{
		r.Kind, r.Key(), r.Table.Name, slices.Clone(r.Set), slices.Clone(r.Remove), slices.Clone(r.Operations), put,
	}
}

// SameArguments reports whether two requests were given the same to write.
func (r *Request) SameArguments(o *Request) bool {
	return r.Arguments != nil && o.Arguments != nil && reflect.DeepEqual(r.Arguments, o.Arguments)
}

// Attribute is an attribute's name, and a size in bytes: in Request.Indexed of the name and the value,
// in Expect.Sizes of the value.
type Attribute struct {
	Name string
	Size int
}

// Prepare gives the request a new version to write.
func (r *Request) Prepare() {
	if r.Reserved.Versions() && (r.Kind == Put || r.Kind == Update) {
		r.Token = item.NewToken()
	}
}

// Target names the item of the request in messages.
func (r *Request) Target() string {
	if r.Guard {
		return "the guard of " + r.Field
	}
	return r.Place.String()
}

// Added returns the item that the request makes if none exists, with its version.
func (r *Request) Added() item.Attributes {
	if r.Put != nil {
		return r.whole(false)
	}
	a := r.Key()
	for _, list := range [][]item.Assignment{r.Defaults, r.Set} {
		for _, s := range list {
			s.Into(a)
		}
	}
	for i := range r.Operations {
		_ = r.Operations[i].Apply(a) // each can be applied to a missing item
	}
	if r.Token != nil {
		r.Reserved.AssignVersion(r.Token).Into(a)
	}
	return a
}

// Undo returns the request that deletes the item that the request has added. If the item carries an
// incarnation, which has to be that of a deleted entity, the request deletes it even if another writer
// has changed it since. Otherwise, or if exact is set, it deletes the item as it was added. entries are
// the item's entries in secondary indexes.
func (r *Request) Undo(exact bool, entries []Entry) *Request {
	added := r.Added()
	d := &Request{
		Kind: Delete, Place: r.Place, Label: r.Label, Field: r.Field, Item: r.Item, Reserved: r.Reserved,
		Header: r.Reserved.Header(added), OldSize: attr.ItemSize(added), Entries: entries,
	}
	switch own := d.Header.Incarnation; {
	case own != nil && !exact:
		d.Expect = Expect{
			Blind: true,
			Terms: []attr.Condition{func(x *attr.Expression) string { return r.Reserved.IncarnationIs(x, own) }},
		}
	default:
		d.Expect = AsFound(r.Place, r.Token, added)
	}
	return d
}

// Covers reports whether a request on a root item makes a check for additions unnecessary: it requires
// the same entity, or will once that is known.
func (r *Request) Covers(check *Request) bool {
	switch {
	case r == check || r.Place != check.Place || !check.ForAdditions:
		return false
	case !check.PinsEntity:
		return r.ForAdditions || r.PinsEntity
	case !r.PinsEntity:
		return false
	}
	of := r.OfEntity
	if of == nil && r.Incarnation != nil {
		of = r.Incarnation
	} else if of == nil {
		of = r.Header.Incarnation
	}
	return attr.Same(of, check.OfEntity)
}

// SetsExpiry reports whether the request changes the expiry of a stored item.
func (r *Request) SetsExpiry() bool {
	expiry := func(a item.Assignment) bool { return a.Name == r.Reserved.TTL && a.Name != "" }
	switch {
	case r.New:
		return false
	case r.Kind == Put:
		return !attr.Same(r.Put[r.Reserved.TTL], r.Header.Expiry)
	}
	return slices.ContainsFunc(r.Set, expiry) || slices.ContainsFunc(r.Remove, expiry)
}

// returned notes what the item holds after the write, if that is asked for.
func (r *Request) returned(a item.Attributes) {
	if r.Return {
		r.Returned = a
	}
}

// Counts reports whether the request must not be applied twice.
func (r *Request) Counts() bool {
	return r.Counted || slices.ContainsFunc(r.Operations, func(o item.Operation) bool { return !o.Repeatable() })
}

// Writes reports whether the request changes the item.
func (r *Request) Writes() bool { return r.Kind != Check }

// Units returns the price of the request by itself, in WCU. It is exact if the request requires the
// version that was read, or that no item exists. Otherwise it is a range: an item that was not read may
// have any size. So may an item without a version, because other programs may have changed its other
// attributes.
func (r *Request) Units() cost.Units { return r.UnitsAt(r.NewSize) }

// UnitsAt returns the price of the request if it made an item of so many bytes.
func (r *Request) UnitsAt(size int) cost.Units {
	price := cost.Exactly(cost.Put(r.OldSize, size))
	e := &r.Expect
	switch {
	case e.Absent:
		price.Min = cost.Put(0, size)
		if r.Unread {
			price.Max, price.If = most, "an expired item has the same key"
		}
	case r.Unread:
		price.Expected = cost.Put(r.Likely, size)
		price.Max, price.If = most, "the item is larger"
	case e.Version == nil && e.Old != nil:
		price.Min = cost.WriteUnits(r.guarded(size))
		price.Max, price.If = most, "other writers enlarged the item"
	}
	return price
}

// most is the price of the largest item.
var most = cost.WriteUnits(cost.MaxItem)

// guarded is the least size that the item has, before or after a request that makes an item of so many bytes, if its
// old values are as expected.
func (r *Request) guarded(size int) int {
	sizeOf := func(all []item.Assignment) int {
		n := r.KeySize()
		for i := range all {
			n += all[i].Size()
		}
		return n
	}
	old := sizeOf(r.Expect.Old.Values)
	if r.Kind == Put {
		return max(old, size)
	}
	return max(old, sizeOf(r.Set))
}

// Refused returns the price of the request, in WCU, if its condition failed on an item of stored bytes,
// 0 for none. DynamoDB charges for the stored item, or one unit (Developer Guide, "DynamoDB read and
// write operations"), and does not report the charge. If the item to write is larger than the stored
// one, its price is the upper bound.
func (r *Request) Refused(stored int) cost.Units {
	least := cost.WriteUnits(stored)
	return cost.Units{Min: least, Expected: least, Max: max(least, cost.WriteUnits(r.NewSize))}
}

// Attributes returns the sorted names of the attributes that plans show.
func (r *Request) Attributes() []string {
	names := make([]string, 0, max(len(r.Shown), len(r.Set)+len(r.Remove)+len(r.Operations)))
	names = append(names, r.Shown...)
	if r.Shown == nil {
		for i := range r.Operations {
			names = append(names, strings.Join(r.Operations[i].Path, "."))
		}
		for _, list := range [][]item.Assignment{r.Set, r.Remove} {
			for _, a := range list {
				if a != r.Reserved.DropMark() {
					names = append(names, a.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
