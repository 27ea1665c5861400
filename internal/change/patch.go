package change

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/patch"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/write"
)

// Patch is changes of one entity that are written without reading it.
type Patch struct {
	m        *model.Model
	Identity []key.Value
	pk       key.Scalar
	entity   bool
	Items    []*PatchItem
}

// PatchItem is what a patch does with one item.
type PatchItem struct {
	*Change
	// Absent requires that the item is not there, Exists that it is; where neither is set
	// it is written either way.
	Absent, Exists bool
	// upsert reports that all changes of the item are of patches with Upsert.
	upsert bool
	// where are the conditions that the caller gave.
	where []attr.Condition
	// incarnation is that of the live entity that the item is reckoned to be of; hidden is what
	// was left over in its place.
	incarnation types.AttributeValue
	hidden      *item.Hidden
	// plain is the request as it is where nothing is in the way.
	plain *write.Request
}

// NewPatch makes a patch's item changes. It does no I/O.
func NewPatch(m *model.Model, sel selection.Selection, all []patch.Change) (*Patch, error) {
	if sel.Err != nil {
		return nil, sel.Err
	}
	x := &Patch{m: m, Identity: sel.Identity}
	var err error
	if x.pk, err = m.PartitionKey(sel.Identity); err != nil {
		return nil, err
	}
	for _, p := range all {
		x.entity = x.entity || p.Kind == patch.IfEntity
	}
	var faults Faults
	for _, p := range all {
		if p.Kind != patch.IfEntity {
			faults = faults.and(x.change(p))
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if err := x.finish(); err != nil {
		return nil, Faults{err}
	}
	return x, nil
}

// Requests returns the patch's requests.
func (x *Patch) Requests() []*write.Request {
	requests := make([]*write.Request, len(x.Items))
	for i, p := range x.Items {
		requests[i] = &p.Request
	}
	return requests
}

// change adds one change.
func (x *Patch) change(p patch.Change) error {
	if p.Err != nil {
		return x.m.Errorf("%w", p.Err)
	}
	it, attributes, err := x.target(&p)
	if err != nil {
		return err
	}
	at, err := x.place(it, p)
	if err != nil {
		return err
	}
	kind := write.Update
	switch p.Kind {
	case patch.Add:
		kind = write.Put
	case patch.RemoveElement, patch.Delete:
		kind = write.Delete
	}
	ch, err := x.at(at, p, it, kind)
	if err != nil {
		return err
	}
	switch p.Kind {
	case patch.Set, patch.Remove:
		return x.set(ch, p, attributes)
	case patch.Increment:
		return x.increment(ch, p, attributes[0])
	case patch.If:
		ch.where = append(ch.where, func(e *attr.Expression) string { return p.Condition.Term(e) })
	case patch.Add:
		ch.Record, ch.Pos = p.Record, p.Pos
		return fill(x.m, ch.Change, expiryOf(x.m, it, nil, p.Record), nil)
	}
	return nil
}

// set adds attributes that are set or removed, and with a field that sets the item's
// expiry that.
func (x *Patch) set(ch *PatchItem, p patch.Change, attributes []int) error {
	m, it := x.m, ch.Item
	var rec any
	if p.Kind == patch.Set {
		rec = x.patched(it, p)
	}
	for _, i := range attributes {
		a := it.Attributes[i]
		var v types.AttributeValue
		if rec != nil {
			var err error
			if v, err = encode(m, it, rec, i); err != nil {
				return err
			}
		}
		if slices.ContainsFunc(ch.Increments, func(o item.Assignment) bool { return o.Name == a.Name }) {
			return x.twice(a.Value.Name)
		}
		ch.assign(item.Assignment{Name: a.Name, Index: i, Value: v})
		if it.Expiry == nil || !slices.Equal(it.Expiry.Path, a.Value.Path) {
			continue
		}
		if it.ExpiryOfRoot {
			return m.FieldErrorf(a.Value.Name, "it is the expiry of every item, which a patch does not read: use Update")
		}
		var expiry types.AttributeValue
		if rec != nil {
			expiry = expiryOf(m, it, nil, rec)
		}
		if !m.Reserved.ListsExpiry(it) {
			ch.assign(m.Reserved.AssignExpiry(expiry))
		}
	}
	return nil
}

// increment adds an increment. One that would make an unsigned number negative does not
// meet its condition.
func (x *Patch) increment(ch *PatchItem, p patch.Change, i int) error {
	a := ch.Item.Attributes[i]
	if a.AV.Has("string") || a.AV.Has("nullempty") {
		return x.m.FieldErrorf(a.Value.Name, "what is stored of it may be no number, which DynamoDB would not increment: use Update")
	}
	n := &types.AttributeValueMemberN{Value: p.By}
	if err := attr.Check(n); err != nil {
		return x.m.FieldErrorf(a.Value.Name, "%w", err)
	}
	if slices.ContainsFunc(slices.Concat(ch.Set, ch.Remove, ch.Increments), func(o item.Assignment) bool { return o.Name == a.Name }) {
		return x.twice(a.Value.Name)
	}
	ch.Increments = append(ch.Increments, item.Assignment{Name: a.Name, Index: i, Value: n})
	if rest, negative := strings.CutPrefix(p.By, "-"); negative && a.Value.Type.Kind == schema.Uint {
		ch.where = append(ch.where, write.AtLeast(item.Assignment{Name: a.Name, Index: i, Value: &types.AttributeValueMemberN{Value: rest}}))
	}
	return nil
}

func (x *Patch) twice(field string) error {
	return x.m.FieldErrorf(field, "the patch increments it and changes it as well: do one of them")
}

// assign notes an attribute's new value, the last of several.
func (ch *PatchItem) assign(a item.Assignment) {
	same := func(o item.Assignment) bool { return o.Name == a.Name }
	ch.Set, ch.Remove = slices.DeleteFunc(ch.Set, same), slices.DeleteFunc(ch.Remove, same)
	if a.Value == nil {
		ch.Remove = append(ch.Remove, a)
	} else {
		ch.Set = append(ch.Set, a)
	}
}

// place returns where the item of a change lies.
func (x *Patch) place(it *schema.Item, p patch.Change) (item.Place, error) {
	m := x.m
	at := m.Place(it, x.pk, key.Scalar{})
	if it.Key == nil {
		return at, nil
	}
	var err error
	if p.Values != nil {
		at.SK, err = x.elementKey(it, p.Values)
		return at, err
	}
	keyFields := make([]key.Value, len(m.Schema.KeyFields))
	copy(keyFields, x.Identity)
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField >= len(x.Identity) {
			return at, m.FieldErrorf(it.Name, "its key names %s, which a patch does not know: use Update", src.Text)
		}
	}
	at.SK, err = m.SortKey(model.Record{Item: it, Value: p.Record, Pos: p.Pos}, keyFields)
	return at, err
}

// elementKey returns the sort key of an element that a node names by its placeholders.
func (x *Patch) elementKey(it *schema.Item, given []key.Value) (key.Scalar, error) {
	values := make([]key.Value, 0, len(it.Key.Sources))
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField < len(x.Identity) {
			values = append(values, x.Identity[src.KeyField])
			continue
		}
		if len(given) == 0 {
			return key.Scalar{}, x.m.FieldErrorf(it.Name, "the patch names several elements: name one, by its whole key")
		}
		values, given = append(values, given[0]), given[1:]
	}
	return x.m.Render(it, values)
}

// at returns the change of a place, made if there is none yet.
func (x *Patch) at(at item.Place, p patch.Change, it *schema.Item, kind write.Kind) (*PatchItem, error) {
	either := p.Upsert || p.Kind == patch.If // a condition asks for nothing beside itself
	for _, ch := range x.Items {
		switch {
		case ch.Place != at:
		case ch.Kind == kind && kind == write.Update:
			ch.upsert = ch.upsert && either
			return ch, nil
		default:
			return nil, x.m.FieldErrorf(it.Name, "the patch changes %s twice in ways that exclude each other: use two patches", at)
		}
	}
	if kind == write.Put && it.ExpiryOfRoot {
		return nil, x.m.FieldErrorf(it.Name, "it expires with the root, which a patch does not read: use Update")
	}
	ch := &PatchItem{Change: start(x.m, kind, it, at), upsert: either}
	ch.Unread = true
	x.Items = append(x.Items, ch)
	return ch, nil
}

// require decides whether the item has to be there, or not to be there.
func (x *Patch) require(ch *PatchItem) error {
	half := ch.Kind == write.Update && ch.Item.Element() // what Upsert would make of it
	ch.Exists = ch.Kind != write.Put && (!ch.upsert || half) || len(ch.where) > 0 || x.entity && ch.Root
	ch.Absent = ch.Kind == write.Put && !ch.upsert
	if !ch.changes() {
		ch.Kind = write.Check
		return nil
	}
	if ch.upsert && ch.Kind == write.Update && !half && ch.Item.Expiry != nil {
		return x.m.FieldErrorf(ch.Field, "it can expire, and Upsert would revive what is expired and not deleted yet: use Update")
	}
	return nil
}

// changes reports whether the patch changes the item.
func (ch *PatchItem) changes() bool {
	return ch.Kind != write.Update || len(ch.Set)+len(ch.Remove)+len(ch.Increments) > 0
}

// finish checks the changes, computes their sizes, and adds the condition on the entity.
func (x *Patch) finish() error {
	if len(x.Items) == 0 {
		return x.m.Errorf("the patch changes nothing: call one of its methods before Exec")
	}
	if !slices.ContainsFunc(x.Items, (*PatchItem).changes) {
		return x.m.Errorf("the patch only checks, and changes nothing: set something")
	}
	root := false
	for _, ch := range x.Items {
		root = root || ch.Root
		if err := cmp.Or(x.require(ch), x.fillKeys(ch), x.size(ch)); err != nil {
			return err
		}
	}
	if x.entity && !root {
		at, err := x.m.RootPlace(x.Identity)
		if err != nil {
			return err
		}
		check := &PatchItem{Change: start(x.m, write.Check, x.m.Root(), at), Exists: true}
		check.Unread = true
		x.Items = append(x.Items, check)
	}
	for _, ch := range x.Items {
		ch.expect()
	}
	return nil
}

// expect sets what must be true of the stored item.
func (ch *PatchItem) expect() {
	ch.Expect = write.Expect{Blind: true}
	if ch.Absent || ch.hidden != nil {
		ch.Expect.Absent, ch.Expect.Instead = true, ch.hidden
		return
	}
	ch.Expect.Present = ch.Exists
	ch.Expect.Terms = append([]attr.Condition{ch.ours()}, ch.where...)
}

// ours requires an item of the live entity, as far as staged writes decide it.
func (ch *PatchItem) ours() attr.Condition {
	of := func(x *attr.Expression) string { return item.IncarnationIs(x, ch.incarnation) }
	switch {
	case ch.Root && ch.incarnation != nil:
		return func(x *attr.Expression) string { return item.LiveRoot(x) + " AND " + of(x) }
	case ch.Root:
		return item.LiveRoot
	case ch.incarnation != nil:
		return of
	}
	return item.Unstaged
}

// Pin makes the patch reckon with one live incarnation alone: what it reckoned to be of another
// is plain again, and where it changes or asks for the root that has to be of this one.
func (x *Patch) Pin(live types.AttributeValue) {
	for _, ch := range x.Items {
		switch {
		case ch.Root:
			ch.incarnation = live
			ch.expect()
		case ch.incarnation != nil && !attr.Same(ch.incarnation, live):
			ch.Plain()
		}
	}
}

// Counts reports whether one of the items is incremented.
func (x *Patch) Counts() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return len(ch.Increments) > 0 })
}

// Replaces reports whether one of the items is put in place of what was left over.
func (x *Patch) Replaces(items []int) bool {
	return slices.ContainsFunc(items, func(i int) bool { return x.Items[i].hidden != nil })
}

// Stray returns the indexes of the items in whose way is something that may not be the live
// entity's, and that the patch did not reckon with: what a staged insert has put, and of
// something new any other item. stored are the items as they are, of a patch that was refused.
func (x *Patch) Stray(stored []item.Attributes) []int {
	if len(stored) == 0 {
		return nil
	}
	var stray []int
	for i, ch := range x.Items {
		h := x.m.Reserved.Header(stored[i])
		switch {
		case stored[i] == nil, ch.hidden.Is(h):
		case ch.Root: // of another incarnation than the rest was reckoned with
			if ch.incarnation != nil && h.Live() && !attr.Same(h.Incarnation, ch.incarnation) {
				stray = append(stray, i)
			}
		case ch.hidden != nil: // what was to be replaced is no more
			stray = append(stray, i)
		case ch.incarnation != nil && !attr.Same(h.Incarnation, ch.incarnation): // it is not what it was
			stray = append(stray, i)
		case h.Incarnation == nil, attr.Same(h.Incarnation, ch.incarnation):
		case ch.Absent, h.Stage != nil:
			stray = append(stray, i)
		}
	}
	return stray
}

// OfLive makes the patch reckon with an item that came with the live entity.
func (ch *PatchItem) OfLive(incarnation types.AttributeValue) {
	ch.begin()
	ch.incarnation = incarnation
	if ch.Kind == write.Put {
		ch.carry(incarnation)
	}
	ch.expect()
}

// begin makes the request plain, and keeps it so that it can be again.
func (ch *PatchItem) begin() {
	ch.Plain()
	before := ch.Request
	before.Put = maps.Clone(ch.Put)
	ch.plain = &before
}

// Plain makes the patch what it was before it met something in its way.
func (ch *PatchItem) Plain() {
	if ch.plain != nil {
		ch.Request = *ch.plain
	}
	ch.incarnation, ch.hidden = nil, nil
	ch.expect()
}

// Upserts reports whether the patch makes the item where it is not there.
func (ch *PatchItem) Upserts() bool {
	return !ch.Exists && len(ch.where) == 0 && (ch.Kind == write.Put || ch.upsert)
}

// Replacing makes the patch put its item in place of what was left over, with the
// incarnation of the live entity, nil where there is none.
func (ch *PatchItem) Replacing(h *item.Hidden, incarnation types.AttributeValue) {
	ch.begin()
	if ch.Kind == write.Update {
		ch.Put = ch.Key()
		for _, list := range [][]item.Assignment{ch.Defaults, ch.Increments, ch.Set} {
			for _, a := range list {
				a.Into(ch.Put)
			}
		}
		ch.Kind = write.Put
	}
	ch.hidden, ch.incarnation, ch.OldSize = h, incarnation, h.Size
	ch.carry(incarnation)
	ch.expect()
}

// carry gives the item that is put an incarnation.
func (ch *PatchItem) carry(incarnation types.AttributeValue) {
	if ch.Kind != write.Put {
		return
	}
	if incarnation != nil {
		item.AssignIncarnation(incarnation).Into(ch.Put)
	}
	ch.NewSize = attr.ItemSize(ch.Put) + ch.Reserved.VersionSize()
}

// fillKeys makes an item that Upsert may create store what the entity is known by, where
// its key holds that in part.
func (x *Patch) fillKeys(ch *PatchItem) error {
	m := x.m
	if !ch.upsert || ch.Kind != write.Update || ch.Item.Element() {
		return nil
	}
	v := m.Codec.New()
	for i, o := range x.Identity {
		if err := m.Codec.SetKeyField(v, i, o); err != nil {
			return err
		}
	}
	for i, a := range ch.Item.Attributes {
		identity := slices.ContainsFunc(m.Schema.KeyFields[:len(x.Identity)], func(o *schema.KeyField) bool { return o.Field == a.Field })
		if !identity || a.Field == nil {
			continue
		}
		value, err := encode(m, ch.Item, v, i)
		if err != nil {
			return err
		}
		if value != nil {
			ch.Defaults = append(ch.Defaults, item.Assignment{Name: a.Name, Index: i, Value: value})
		}
	}
	return nil
}

// size computes the least that the item can have after the change.
func (x *Patch) size(ch *PatchItem) error {
	if ch.Kind == write.Delete || ch.Kind == write.Check {
		return nil
	}
	if ch.Kind == write.Update {
		ch.NewSize = ch.KeySize() + x.m.Reserved.VersionSize()
		for _, a := range slices.Concat(ch.Set, ch.Increments) {
			ch.NewSize += attr.AttributeSize(a.Name, a.Value)
		}
	}
	ch.Unread = ch.Kind == write.Update || !ch.Absent || x.m.Reserved.Expires()
	return ch.check()
}
