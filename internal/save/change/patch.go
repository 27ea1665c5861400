package change

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/write"
)

// Patch is changes of one entity that are written without reading it.
type Patch struct {
	m         *model.Model
	Identity  []key.Value
	partition key.Partition
	// Entity reports that the caller requires the entity (IfEntityExists).
	Entity bool
	// nothing reports that a change changes nothing, such as one that adds no elements.
	nothing bool
	// bound reports that the incarnation of the entity is known: live.
	bound bool
	live  types.AttributeValue
	// expiry is that of the root item as it was read last. moved reports that items have another one since Bind.
	expiry types.AttributeValue
	moved  bool
	// token is the incarnation that a root item gets if the patch makes it. made is described at Made.
	token, made types.AttributeValue
	Items       []*PatchItem
	// keys are the values of the fields that keys name, as far as they are known; nil until they are asked for.
	keys []key.Value
	few  [1]*PatchItem // room for those of most patches
}

// keyFields returns the values of the fields that keys name: the identity's, and zero ones.
func (x *Patch) keyFields() []key.Value {
	if x.keys == nil {
		x.keys = make([]key.Value, len(x.m.Schema.KeyFields))
		copy(x.keys, x.Identity)
	}
	return x.keys
}

// PatchItem is the part of a patch that concerns one item.
type PatchItem struct {
	*Change
	// Absent requires that the item does not exist, and Exists that it does. If neither is set, the
	// item is written in both cases.
	Absent, Exists bool
	// either reports that the item is put in both cases. upsert reports that one of its changes is an
	// upsert's, and strict that one is not. taking reports that one change only removes something.
	either, upsert, strict, taking bool
	// tagged reports that the item has to be the one of a tag.
	tagged bool
	// adds reports that the patch adds the item as an element.
	adds bool
	// fixed reports that the patch makes the item if it is missing, once the root item has been read: see RequireItems.
	fixed bool
	// ofKey are the attributes for secondary indexes that an item which the patch makes gets, as they
	// are made of the entity's key.
	ofKey []item.Assignment
	// where are the conditions that the caller gave.
	where []where
	stance
	// original is the stance of the patch as it was given, and plain its stance if no stored item
	// blocks it; nil is the present stance.
	original, plain *stance
	// expiry is that of the root item, for an item that expires with it; nil for none. guards reports that the root
	// item has to have it still.
	expiry types.AttributeValue
	guards bool
	now    func() time.Time
	m      *model.Model
}

// where is a condition on an item, and what says that it does not hold of one.
type where struct {
	condition attr.Condition
	refusal   func(stored item.Attributes) error
}

// Unmet returns an error for each condition that does not hold of an item, as far as that is known.
func (ch *PatchItem) Unmet(stored item.Attributes) []error {
	var all []error
	for _, w := range ch.where {
		if err := w.refusal(stored); err != nil {
			all = append(all, err)
		}
	}
	for i := range ch.Operations {
		if err := ch.Operations[i].Overflow(stored); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// RequireVersion requires that the item has a version.
func (ch *PatchItem) RequireVersion(v types.AttributeValue) {
	ch.tagged = true
	name := ch.Reserved.Version
	ch.where = append(ch.where, where{
		func(x *attr.Expression) string { return x.Name(name) + " = " + x.Value(v) },
		func(stored item.Attributes) error {
			if attr.Same(stored[name], v) {
				return nil
			}
			return errTag
		},
	})
	ch.expect()
}

// RequireAbsent requires that the item is missing, as a tag says that does not have it.
func (ch *PatchItem) RequireAbsent() {
	ch.where = append(ch.where, where{ch.missing(), func(stored item.Attributes) error {
		if len(stored) == 0 {
			return nil
		}
		return errTagCreated
	}})
	ch.expect()
}

var (
	errTag        = errors.New("the item has changed since the tag was made")
	errTagCreated = errors.New("the item was created since the tag was made")
)

// stance has the assumptions of a patch about the stored items.
type stance struct {
	// request is the one that it was, of a stance that was kept.
	request write.Request
	// incarnation is the incarnation of the live entity that the item is assumed to have. hidden is the
	// leftover item under its key.
	incarnation types.AttributeValue
	hidden      *item.Hidden
	// bound reports that the entity was read: what the item holds has to be of it, or of none.
	// seen reports that the item was, and has to be as it was.
	bound, seen bool
	// making reports that the item was missing, and that the patch makes it.
	making bool
	// likely is the incarnation that the entity had last: an item of another one may be left over.
	likely types.AttributeValue
}

// NewPatch makes a patch's item changes. It does no I/O.
func NewPatch(m *model.Model, sel selection.Selection, all []expr.Change) (*Patch, error) {
	if sel.Err != nil {
		return nil, sel.Err
	}
	x := &Patch{m: m, Identity: sel.Identity}
	x.Items = x.few[:0]
	var err error
	if x.partition, err = m.Schema.Partition(sel.Identity); err != nil {
		return nil, err
	}
	for _, p := range all {
		x.Entity = x.Entity || p.Kind == expr.IfEntity
		x.nothing = x.nothing || p.Kind == expr.Nothing && p.Err == nil
	}
	var faults Faults
	for _, p := range all {
		if p.Kind != expr.IfEntity && (p.Kind != expr.Nothing || p.Err != nil) {
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

// Name makes the patch's requests tell what they were given to write: for a transaction, which no
// entity remembers.
func (x *Patch) Name() {
	for _, ch := range x.Items {
		ch.Arguments = write.ArgumentsOf(&ch.Request)
	}
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
func (x *Patch) change(p expr.Change) error {
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
	case expr.Add, expr.Put:
		kind = write.Put
	case expr.RemoveElement, expr.Delete:
		kind = write.Delete
	}
	ch, err := x.at(at, it, kind)
	if err != nil {
		return err
	}
	ch.strict = ch.strict || !p.Upsert && p.Kind != expr.If
	ch.upsert = ch.upsert || p.Upsert
	ch.taking = ch.taking || p.Kind == expr.Remove || p.Kind == expr.DeleteElements
	switch p.Kind {
	case expr.If:
		paths := func(f expr.Field) []string { return x.pathIn(it, &p, f) }
		if name := x.emptyKey(it, p.Condition, paths); name != "" {
			return x.m.FieldErrorf(name, schema.EmptyKeyText, it.IndexOf(name))
		}
		ch.where = append(ch.where, where{
			func(e *attr.Expression) string { return p.Condition.Term(e, paths) },
			func(stored item.Attributes) error { return p.Condition.Unmet(stored, paths) },
		})
	case expr.Add, expr.Put:
		ch.adds, ch.either = true, p.Kind == expr.Put
		ch.Record, ch.Pos = p.Record, p.Pos
		return fill(x.m, ch.Change, x.keyFields(), expiryOf(x.m, it, nil, p.Record), taken{})
	case expr.RemoveElement, expr.Delete:
	case expr.Set, expr.Remove:
		if len(attributes) != 1 || len(x.below(it, &p)) == 0 {
			return x.set(ch, p, attributes)
		}
		return x.operate(ch, p, attributes[0])
	default:
		return x.operate(ch, p, attributes[0])
	}
	return nil
}

// set adds attributes that are set or removed, and with a field that sets the item's
// expiry that.
func (x *Patch) set(ch *PatchItem, p expr.Change, attributes []int) error {
	m, it := x.m, ch.Item
	var rec any
	if p.Kind == expr.Set {
		rec = x.patched(it, p)
	}
	for _, i := range attributes {
		a := it.Attributes[i]
		var v types.AttributeValue
		if rec != nil {
			var err error
			if v, err = x.encode(ch, rec, i); err != nil {
				return err
			}
		}
		if err := x.join(ch, a.Value.Name, []string{a.Name}, nil); err != nil {
			return err
		}
		ch.assign(item.Assignment{Name: a.Name, Index: i, Value: v})
		ch.dropFormer(a)
		if it.Expiry == nil || !slices.Equal(it.Expiry.Path, a.Value.Path) {
			continue
		}
		if it.ExpiryOfRoot {
			return m.FieldErrorf(a.Value.Name,
				"it is the expiry of every item, which a patch does not read: use Update")
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

// encode returns the value of an attribute that is set.
func (x *Patch) encode(ch *PatchItem, rec any, i int) (types.AttributeValue, error) {
	v, err := plainOrEncoded(x.m, ch.Item, rec, i)
	if err == nil && v != nil && ch.Item.Attributes[i].Large.External() {
		v, err = ch.Change.encode(x.m, i, v)
	}
	return v, err
}

// dropFormer removes an attribute that is written under the names that it had before.
func (ch *PatchItem) dropFormer(a *schema.Attribute) {
	for _, name := range a.Was {
		ch.assign(item.Assignment{Name: name, Index: item.Former})
	}
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

// place returns the place of a change's item.
func (x *Patch) place(it *schema.Item, p expr.Change) (item.Place, error) {
	m := x.m
	at := m.Place(it, x.partition, key.Scalar{})
	if it.Key == nil {
		return at, nil
	}
	var err error
	if p.Values != nil {
		at.SK, err = x.elementKey(it, p.Values)
		return at, err
	}
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField >= len(x.Identity) {
			return at, m.FieldErrorf(it.Name, "its key names %s, which a patch does not read: use Update", src.Text)
		}
	}
	at.SK, err = m.SortKey(model.Record{Item: it, Value: p.Record, Pos: p.Pos}, x.keyFields())
	return at, err
}

// elementKey returns the sort key of an element that a node names by its placeholders.
func (x *Patch) elementKey(it *schema.Item, placeholders []key.Value) (key.Scalar, error) {
	values := make([]key.Value, 0, len(it.Key.Sources))
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField < len(x.Identity) {
			values = append(values, x.Identity[src.KeyField])
			continue
		}
		if len(placeholders) == 0 {
			return key.Scalar{},
				x.m.FieldErrorf(it.Name, "the patch names several elements: name one by its complete key")
		}
		values, placeholders = append(values, placeholders[0]), placeholders[1:]
	}
	return x.m.Render(it, values)
}

// at returns the change of a place, made if there is none yet.
func (x *Patch) at(at item.Place, it *schema.Item, kind write.Kind) (*PatchItem, error) {
	for _, ch := range x.Items {
		switch {
		case ch.Place != at:
		case ch.Kind == kind && kind == write.Update:
			return ch, nil
		default:
			return nil, x.m.FieldErrorf(it.Name, "the patch has two changes of %s that exclude each other: use two "+
				"patches, each with an Exec of its own", at)
		}
	}
	room := &struct { // they live as long as each other
		PatchItem
		of Change
	}{}
	ch := &room.PatchItem
	ch.Change, ch.now, ch.m = room.of.start(x.m, kind, it, at), x.m.Now, x.m
	ch.Unread = true
	x.Items = append(x.Items, ch)
	return ch, nil
}

// require decides whether the item must exist, or must not. A singleton that does not exist is its zero
// value, so a set or an increment creates it. A change that only removes something requires the item,
// and so does a change of an element. The root must exist, unless the patch is an upsert.
func (x *Patch) require(ch *PatchItem) error {
	if !ch.changes() {
		ch.Kind, ch.Exists = write.Check, ch.Root || ch.Item.Element()
		return nil
	}
	switch {
	case ch.Kind == write.Put:
		ch.Absent = !ch.either
	case ch.Kind == write.Delete, ch.Item.Element(), x.Entity && ch.Root:
		ch.Exists = true
	case ch.Root:
		ch.Exists = ch.strict
	default:
		ch.Exists = ch.taking
	}
	return nil
}

// makes reports whether an update may make the item.
func (ch *PatchItem) makes() bool { return ch.Kind == write.Update && !ch.Exists }

// changes reports whether the patch changes the item.
func (ch *PatchItem) changes() bool {
	return ch.Kind != write.Update || len(ch.Set)+len(ch.Remove)+len(ch.Operations) > 0
}

// finish checks the changes, computes their sizes, and adds the condition on the entity.
func (x *Patch) finish() error {
	if len(x.Items) == 0 && !x.nothing {
		return x.m.Errorf("the patch changes nothing: call one of its methods before Exec")
	}
	x.Entity = x.Entity && len(x.Items) > 0
	upsert := ""
	for _, ch := range x.Items {
		ch.External = len(Values([]*Change{ch.Change}))
		if ch.upsert {
			upsert = cmp.Or(upsert, ch.Field)
		}
		if err := cmp.Or(x.require(ch), x.fillKeys(ch), x.indexKeys(ch), x.size(ch)); err != nil {
			return err
		}
	}
	if upsert != "" && !slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return ch.Root && ch.upsert }) {
		return x.m.FieldErrorf(upsert, "Upsert is for a patch of the root item: leave it out (Put replaces an "+
			"element); for a counter without an entity, use a flat model")
	}
	for _, ch := range x.Items {
		ch.expect()
		if err := ch.checkLocal(); err != nil {
			return err
		}
		if n := ch.Longest(); n > cost.MaxExpression {
			return x.m.FieldErrorf(ch.Field, "the patch makes an expression of %s (limit 4 KB): change fewer "+
				"fields and entries at once, or use Update", attr.Bytes(n))
		}
	}
	return nil
}

// expect sets what must be true of the stored item.
func (ch *PatchItem) expect() {
	defer ch.index(ch.m)
	ch.Expect = write.Expect{Blind: true}
	if ch.PinsEntity = ch.Root && (ch.bound || ch.incarnation != nil); ch.PinsEntity {
		ch.OfEntity = ch.incarnation
	}
	if ch.Absent || ch.hidden != nil {
		ch.Expect.Absent, ch.Expect.Instead = true, ch.hidden
		return
	}
	ch.Expect.Present = (ch.Exists || ch.Root && ch.bound) && !ch.making
	if ch.making {
		ch.Expect.Terms = []attr.Condition{ch.missing()}
	} else {
		ch.Expect.Terms = []attr.Condition{ch.ours()}
	}
	if !ch.Exists && !ch.making && ch.Reserved.Expires() {
		ch.Expect.Terms = append(ch.Expect.Terms, ch.Reserved.NotExpired(ch.now))
	}
	for i := range ch.Operations {
		if needs := ch.Operations[i].Needs(); needs != nil {
			ch.Expect.Terms = append(ch.Expect.Terms, needs)
		}
	}
	for _, w := range ch.where {
		ch.Expect.Terms = append(ch.Expect.Terms, w.condition)
	}
	ch.requireExpiry()
}

// missing requires that no item exists.
func (ch *PatchItem) missing() attr.Condition {
	return func(x *attr.Expression) string { return "attribute_not_exists(" + x.Name(ch.Table.Hash) + ")" }
}

// ours requires an item of the live entity, as far as staged writes decide it.
func (ch *PatchItem) ours() attr.Condition {
	of := func(x *attr.Expression) string { return ch.Reserved.IncarnationIs(x, ch.incarnation) }
	if ch.incarnation == nil {
		of = ch.Reserved.NoIncarnation
	}
	switch {
	case ch.Root && (ch.bound || ch.incarnation != nil):
		return func(x *attr.Expression) string { return ch.Reserved.LiveRoot(x) + " AND " + of(x) }
	case ch.Root:
		return ch.Reserved.LiveRoot
	case ch.bound && ch.incarnation != nil:
		return func(x *attr.Expression) string { return "(" + ch.Reserved.NoIncarnation(x) + " OR " + of(x) + ")" }
	case ch.bound, ch.incarnation != nil:
		return of
	case ch.likely != nil:
		return func(x *attr.Expression) string {
			names := ch.Reserved
			own := names.NoIncarnation(x) + " OR " + names.IncarnationIs(x, ch.likely)
			return names.Unstaged(x) + " AND (" + own + ")"
		}
	}
	return ch.Reserved.Unstaged
}

// Bind makes the patch one of the entity whose root was read: its items have to be of that, or of
// none, and are of it then.
func (x *Patch) Bind(live types.AttributeValue) {
	x.bound, x.live, x.moved = true, live, false
	for _, ch := range x.Items {
		ch.bind(live)
	}
}

func (ch *PatchItem) bind(live types.AttributeValue) {
	if ch.original == nil {
		ch.forget()
		ch.original = ch.saved()
	}
	ch.take(ch.original)
	ch.bound, ch.incarnation = true, live
	switch {
	// the entity gets no incarnation: a created item has none, and writers that have read it know
	// of none
	case ch.Root && live == nil:
		ch.Defaults = slices.DeleteFunc(slices.Clone(ch.Defaults),
			func(a item.Assignment) bool { return a.Name == ch.Reserved.IncarnationName() })
	case ch.Root:
	case ch.Kind == write.Put:
		ch.carry(live)
	// with a request for the root item. Make gives an incarnation to others that have none.
	case ch.makes() && !ch.fixed:
		if ch.Defaults = slices.Clip(ch.Defaults); live != nil {
			ch.Defaults = append(ch.Defaults, ch.Reserved.AssignIncarnation(live))
		}
		ch.expire()
	}
	ch.expect()
	ch.plain = ch.saved()
}

// BindNew makes the patch the one that makes the entity: its root item, which has to be missing, and
// its other items carry the new incarnation.
func (x *Patch) BindNew() {
	x.made = x.token
	x.ExpireWith(nil)
	x.Bind(x.made)
	x.Make(slices.IndexFunc(x.Items, func(ch *PatchItem) bool { return ch.Root }))
}

// Made returns the incarnation that the patch gives an entity which it makes, nil if it makes none.
func (x *Patch) Made() types.AttributeValue { return x.made }

// saved returns the stance of now, to be taken again. It shares the map of the item that is put.
func (ch *PatchItem) saved() *stance {
	s := ch.stance
	s.request = ch.Request
	return &s
}

// take takes a stance.
func (ch *PatchItem) take(s *stance) {
	ch.stance, ch.Request = *s, s.request
}

// Pin makes the patch assume one live incarnation. Assumptions of another one are dropped. If the patch
// changes or checks the root, the root must have this incarnation.
func (x *Patch) Pin(live types.AttributeValue) {
	if x.bound {
		if !attr.Same(x.live, live) || x.moved {
			x.Bind(live)
		}
		return
	}
	for _, ch := range x.Items {
		switch {
		case ch.Root:
			ch.forget()
			ch.incarnation = live
			ch.expect()
		case ch.incarnation != nil && (x.moved || !attr.Same(ch.incarnation, live)):
			ch.Plain()
		}
	}
	x.moved = false
}

// Bound reports whether the item has to be of an entity that was read.
func (ch *PatchItem) Bound() bool { return ch.bound }

// Unfit returns the indexes of the items on which an operation cannot be applied: its value is stored
// as NULL, or its parent is no map. An item that was already rewritten is not reported again. An item
// that does not exist, is not live or has expired is refused for that reason instead.
func (x *Patch) Unfit(stored []item.Attributes) []int {
	var unfit []int
	for i, ch := range x.Items {
		if i >= len(stored) || stored[i] == nil || ch.Kind != write.Update || len(stored[i]) == 0 && ch.Exists &&
			!ch.making || len(stored[i]) > 0 && ch.making {
			continue
		}
		if ch.Reserved.Expired(stored[i], ch.now()) || ch.Root && len(stored[i]) > 0 &&
			!ch.Reserved.Header(stored[i]).Live() {
			continue
		}
		misfit := func(o item.Operation) bool { return !o.Fits(stored[i]) }
		if ch.seen && !ch.Before(stored[i], ch.now()) || !ch.seen && slices.ContainsFunc(ch.Operations, misfit) {
			unfit = append(unfit, i)
		}
	}
	return unfit
}

// Rewrite makes the patch set the attributes of an item whole on which an operation cannot be
// applied, on condition that the item is as it was found.
func (ch *PatchItem) Rewrite(stored item.Attributes) error {
	of, making := ch.incarnation, ch.making
	ch.begin()
	switch {
	case making:
		ch.make(of)
	case ch.Kind == write.Update && !ch.bound:
		ch.incarnation = of // what it reckons with, but not what it has seen
	}
	now := item.Attributes{}
	maps.Copy(now, attr.CopyItem(stored))
	whole := map[string]bool{}
	for i := range ch.Operations {
		o := &ch.Operations[i]
		whole[o.Path[0]] = whole[o.Path[0]] || !o.Fits(stored)
	}
	var rest []item.Operation
	for _, o := range ch.Operations {
		if !whole[o.Path[0]] {
			rest = append(rest, o)
			continue
		}
		ch.Counted = ch.Counted || !o.Repeatable()
		if err := o.Overflow(now); err != nil {
			return err
		}
		if err := o.Apply(now); err != nil {
			return err
		}
	}
	if len(rest) == len(ch.Operations) {
		ch.expect()
		return nil // the patch fits the stored items
	}
	ch.Operations = rest
	ch.Set, ch.Remove = slices.Clip(ch.Set), slices.Clip(ch.Remove)
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if whole[name] {
			ch.seen = true
			ch.assign(item.Assignment{Name: name, Index: item.Unlisted, Value: now[name]})
		}
	}
	return ch.expectSeen(stored)
}

// expectSeen adds the condition that the item is as it was read, and its price.
func (ch *PatchItem) expectSeen(stored item.Attributes) error {
	ch.expect()
	h := ch.Reserved.Header(stored)
	ch.Expect.Blind, ch.Expect.Present, ch.Expect.Version = false, false, h.Version
	switch {
	case len(stored) == 0:
		ch.Expect.Absent = true
	case h.Version == nil:
		ch.Expect.Old = write.SomeOldValues(ch.Place, stored)
	}
	if len(stored) > 0 && ch.Exists && ch.Reserved.Expires() {
		ch.Expect.Terms = append(ch.Expect.Terms, ch.Reserved.NotExpired(ch.now))
	}
	after := ch.Key()
	maps.Copy(after, attr.CopyItem(stored))
	for _, a := range ch.Defaults {
		if after[a.Name] == nil {
			a.Into(after)
		}
	}
	for _, a := range ch.Set {
		a.Into(after)
	}
	for _, a := range ch.Remove {
		delete(after, a.Name)
	}
	for i := range ch.Operations {
		_ = ch.Operations[i].Apply(after) // it fits
	}
	ch.OldSize, ch.Unread = attr.ItemSize(stored), false
	ch.Entries = ch.m.Entries(ch.Item, ch.Table.Name, stored, after)
	if ch.NewSize = attr.ItemSize(after); h.Version == nil {
		ch.NewSize += ch.Reserved.VersionSize()
	}
	return ch.check()
}

// Counts reports whether one of the items is incremented.
func (x *Patch) Counts() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return ch.Request.Counts() })
}

// Replaces reports whether one of the items replaces a leftover item.
func (x *Patch) Replaces(items []int) bool {
	return slices.ContainsFunc(items, func(i int) bool { return x.Items[i].hidden != nil })
}

// Stray returns the indexes of the items that are blocked by an item which may not belong to the live
// entity, and which the patch did not assume. That is an item that a staged insert has put, or, for a
// new item, any other item. stored are the items of a refused patch as they are.
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
			if (ch.incarnation != nil || ch.bound) && h.Live() && !attr.Same(h.Incarnation, ch.incarnation) {
				stray = append(stray, i)
			}
		case ch.hidden != nil: // the item to replace has changed or was deleted
			stray = append(stray, i)
		case ch.bound && (h.Incarnation == nil || attr.Same(h.Incarnation, ch.incarnation)):
		case ch.bound:
			stray = append(stray, i)
		case ch.incarnation != nil && !attr.Same(h.Incarnation, ch.incarnation): // it is not what it was
			stray = append(stray, i)
		case h.Incarnation == nil && h.Stage == nil, h.Incarnation != nil && attr.Same(h.Incarnation, ch.incarnation):
		case ch.Absent, h.Stage != nil, ch.likely != nil && !attr.Same(h.Incarnation, ch.likely):
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

// forget makes the request plain if it requires the item as it was read: Rewrite adds that condition, and expect would
// drop it.
func (ch *PatchItem) forget() {
	if ch.seen {
		ch.Plain()
	}
}

// begin makes the request plain, and keeps it so that it can be again.
func (ch *PatchItem) begin() {
	ch.Plain()
	if ch.plain == nil {
		ch.plain = ch.saved()
	}
}

// Plain makes the patch what it was before it met something in its way.
func (ch *PatchItem) Plain() {
	if ch.plain != nil {
		ch.take(ch.plain)
	} else {
		ch.stance = stance{}
	}
	ch.expect()
}

// Upserts reports whether the patch creates the item if it does not exist.
func (ch *PatchItem) Upserts() bool {
	overflows := func(o item.Operation) bool { return o.Overflow(nil) != nil }
	return (!ch.Exists || ch.fixed) && len(ch.where) == 0 && (ch.Kind == write.Put || ch.fixed || ch.makes()) &&
		!slices.ContainsFunc(ch.Operations, overflows)
}

// Conditional reports whether the item need not exist and has conditions. A leftover item must then be
// deleted first, so that the conditions see no item.
func (ch *PatchItem) Conditional() bool {
	return (!ch.Exists || ch.fixed) && len(ch.where) > 0 &&
		(ch.Kind == write.Put || ch.Kind == write.Check || ch.fixed || ch.makes())
}

// Leftover returns the delete of the leftover item under the item's key, as it was found.
func (ch *PatchItem) Leftover(m *model.Model, stored item.Attributes) *Change {
	d := start(m, write.Delete, ch.Item, ch.Place)
	h := m.Reserved.Header(stored)
	d.Expect.Version = h.Version
	if h.Version == nil {
		d.Expect.Old = write.SomeOldValues(ch.Place, stored)
	}
	of := func(x *attr.Expression) string { return m.Reserved.IncarnationIs(x, h.Incarnation) }
	d.Expect.Terms, d.OldSize = []attr.Condition{of}, attr.ItemSize(stored)
	d.Entries = m.Entries(ch.Item, ch.Table.Name, stored, nil)
	return d
}

// Repeats reports whether the item may take a second request: where an attribute is stored as NULL,
// or its map is missing.
func (ch *PatchItem) Repeats() bool {
	return ch.Kind == write.Update &&
		slices.ContainsFunc(ch.Operations, func(o item.Operation) bool { return o.Needs() != nil })
}

// Replacing makes the patch replace the leftover item, with the incarnation of the live entity, nil if
// it has none.
func (ch *PatchItem) Replacing(h *item.Hidden, incarnation types.AttributeValue) {
	ch.begin()
	if ch.Kind == write.Update {
		ch.Put, ch.Kind = ch.itemOfInsert(), write.Put
	}
	ch.hidden, ch.incarnation, ch.OldSize = h, incarnation, h.Size
	ch.carry(incarnation)
	ch.expect()
}

// itemOfInsert returns the item that an update makes if none exists, without its version.
func (ch *PatchItem) itemOfInsert() item.Attributes {
	r := ch.Request
	r.Put, r.Token = nil, nil
	if ch.fixed {
		r.Defaults = slices.Concat(r.Defaults, ch.ofKey)
	}
	return r.Added()
}

// carry gives the item that is put an incarnation.
func (ch *PatchItem) carry(incarnation types.AttributeValue) {
	if ch.Kind != write.Put {
		return
	}
	if incarnation != nil || ch.expiry != nil {
		ch.Put = maps.Clone(ch.Put) // stances share it
	}
	if incarnation != nil {
		ch.Reserved.AssignIncarnation(incarnation).Into(ch.Put)
	}
	if ch.inherits() && ch.expiry != nil {
		ch.Reserved.AssignExpiry(ch.expiry).Into(ch.Put)
	}
	ch.NewSize = ch.WholeSize()
}

// fillKeys makes an item that Upsert may create store what the entity is known by, where
// its key holds that in part.
func (x *Patch) fillKeys(ch *PatchItem) error {
	m := x.m
	if !ch.makes() {
		return nil
	}
	if ch.Root {
		x.token = item.NewToken()
		ch.Defaults = append(ch.Defaults, ch.Reserved.AssignIncarnation(x.token))
	}
	v := m.Codec.New()
	for i, o := range x.Identity[:m.Schema.Identities()] {
		if err := m.Codec.SetKeyField(v, i, o); err != nil {
			return err
		}
	}
	for i, a := range ch.Item.Attributes {
		identity := slices.ContainsFunc(m.Schema.KeyFields[:m.Schema.Identities()],
			func(o *schema.KeyField) bool { return o.Field == a.Field })
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
		for _, a := range ch.Set {
			ch.NewSize += attr.AttributeSize(a.Name, a.Value)
		}
		for i := range ch.Operations {
			ch.NewSize += ch.Operations[i].Least()
		}
	}
	ch.Unread = ch.Kind == write.Update || !ch.Absent || x.m.Reserved.Expires()
	return ch.check()
}
