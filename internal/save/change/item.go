package change

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// encode returns an attribute's value, checked. r is the stored item of an attribute that takes the place of a stored
// one. A part that did not change is as it is stored, so that an invalid encoding of it does not matter.
func encode(m *model.Model, it *schema.Item, rec any, i int, r *snapshot.Stored) (types.AttributeValue, error) {
	v, err := m.Codec.Record(it.Index).Encode(rec, i)
	if err == nil {
		err = attr.Check(v)
		if err != nil && r != nil && !it.Attributes[i].Large.External() && attr.CheckShape(v) == nil {
			if kept, cannot := graft(m, it, r, i, v); cannot == nil && attr.Check(kept) == nil {
				v, err = kept, nil
			}
		}
	}
	switch {
	case err != nil || v == nil:
	case it.Sparse(i):
		v, err = indexable(m, it, i, v)
	case it.Attributes[i].Name == m.Reserved.TTL && attr.Same(v, zeroTime):
		v = nil // it never expires
	}
	if err == nil {
		err = readable(m, it, rec, i, v)
	}
	if err != nil {
		return nil, m.ValueErrorf(fieldOf(it, i), "attribute %q: %w", it.Attributes[i].Name, err)
	}
	return v, nil
}

// fieldOf names the field of an attribute, of an element behind the slice or map.
func fieldOf(it *schema.Item, i int) string {
	name := it.Attributes[i].Value.Name
	if it.Element() {
		return strings.TrimSuffix(it.Field.Name+"."+name, ".")
	}
	return name
}

// indexable returns the value of an attribute that is a key of an index as it is: nil for one that
// no key can have, which is left out.
func indexable(m *model.Model, it *schema.Item, i int, v types.AttributeValue) (types.AttributeValue, error) {
	a := it.Attributes[i]
	s, ok := attr.ScalarOf(v)
	if !ok || s.Type != 'N' && s.Text == "" || a.Value.Type.Time && attr.Same(v, zeroTime) {
		return nil, nil
	}
	if err := s.CheckSize(m.IndexKeyLimit(it, a.Name)); err != nil {
		return nil, fmt.Errorf("as a key of the index %s: %w", it.IndexOf(a.Name), err)
	}
	return v, nil
}

// zeroTime is how a zero time is stored in epoch seconds.
var zeroTime = item.Epoch(time.Time{})

// at notes where a value would be stored that cannot be.
func at(p item.Place, err error) error {
	var u *schema.Unstorable
	if errors.As(err, &u) && p.Table != nil {
		u.Table, u.PK, u.SK = p.Table.Name, p.PK, p.SK
	}
	return err
}

// expiryOf returns the value of the TTL attribute that the library itself sets on an item,
// nil for none. v is the model's value that it belongs to; nil in a patch, which gives the item the root item's expiry.
func expiryOf(m *model.Model, it *schema.Item, v, rec any) types.AttributeValue {
	if it.Expiry == nil || m.Reserved.ListsExpiry(it) || it.ExpiryOfRoot && v == nil {
		return nil
	}
	record := m.Codec.Record(it.Index)
	if it.ExpiryOfRoot {
		record, rec = m.Codec.Record(m.Root().Index), v
	}
	at, ok := record.Expiry(rec)
	if !ok {
		return nil
	}
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
}

// compare returns the attributes that differ from the stored ones. A value that may be external has its
// form inside the item; write places it.
func (d *differ) compare(rec model.Record, r *snapshot.Stored, old any) (sets, removes []item.Assignment, err error) {
	it := rec.Item
	record := d.m.Codec.Record(it.Index)
	var faults Faults
	for i, a := range it.Attributes {
		if !a.Opaque && record.Same(old, rec.Value, i) {
			continue
		}
		if a.Large.External() {
			now, same, err := d.sameLarge(rec, r, old, i)
			if err != nil {
				faults = append(faults, err)
			}
			if same || err != nil {
				continue
			}
			if now != nil {
				sets = append(sets, item.Assignment{Name: a.Name, Index: i, Value: now})
				continue
			}
			if r == nil || r.Sizes[i] > 0 {
				removes = append(removes, item.Assignment{Name: a.Name, Index: i})
				continue
			}
			removes = appendFormer(removes, r, i)
			continue
		}
		now, err := encode(d.m, it, rec.Value, i, r)
		if err != nil {
			if isAsRead(d.m, it, r, rec.Value, i) {
				continue
			}
			if r != nil {
				err = at(r.Place, err)
			}
			faults = append(faults, err)
			continue
		}
		same := (r == nil || !a.Distinct) && attr.Same(d.was(it, r, old, i), now)
		if !same && now != nil && r != nil {
			if now, err = graft(d.m, it, r, i, now); err != nil {
				faults = append(faults, err)
				continue
			}
		}
		switch {
		case same:
		case now != nil:
			sets = append(sets, item.Assignment{Name: a.Name, Index: i, Value: now})
		case r == nil || r.Sizes[i] > 0:
			removes = append(removes, item.Assignment{Name: a.Name, Index: i})
		default:
			removes = appendFormer(removes, r, i)
		}
	}
	if err := faults.orNil(); err != nil {
		return nil, nil, err
	}
	sets, removes = d.expiry(rec, r, old, sets, removes)
	return sets, removes, nil
}

// appendFormer adds the removal of an attribute under the names that it had before.
func appendFormer(removes []item.Assignment, r *snapshot.Stored, i int) []item.Assignment {
	for _, f := range r.Former {
		if f.Attribute == i {
			removes = append(removes, item.Assignment{Name: f.Name, Index: item.Former})
		}
	}
	return removes
}

// rename adds the attributes that are stored under earlier names to the writes of an item. Each is set
// under its present name, and the earlier name is removed.
func (d *differ) rename(rec model.Record, r *snapshot.Stored, sets, removes []item.Assignment) ([]item.Assignment,
	[]item.Assignment, error,
) {
	for _, f := range r.Former {
		if slices.ContainsFunc(removes, func(a item.Assignment) bool { return a.Name == f.Name }) {
			continue
		}
		remove := item.Assignment{Name: f.Name, Index: item.Former}
		name := rec.Item.Attributes[f.Attribute].Name
		same := func(a item.Assignment) bool { return a.Name == name }
		if r.Sizes[f.Attribute] > 0 || slices.ContainsFunc(sets, same) || slices.ContainsFunc(removes, same) {
			removes = append(removes, remove)
			continue
		}
		v, err := r.Opaque[f.Attribute], error(nil)
		if !rec.Item.Attributes[f.Attribute].Large.External() {
			v, err = encode(d.m, rec.Item, rec.Value, f.Attribute, nil)
			if err == nil && v != nil {
				v, err = graft(d.m, rec.Item, r, f.Attribute, v)
			}
		}
		switch {
		case err != nil:
			return nil, nil, err
		case v != nil:
			sets = append(sets, item.Assignment{Name: name, Index: f.Attribute, Value: v})
		case d.m.Schema.Hooks:
			continue // AfterLoad may have set other fields from it, which are not stored
		}
		removes = append(removes, remove)
	}
	return sets, removes, nil
}

// expiry adds the change of the item's expiry.
func (d *differ) expiry(rec model.Record, r *snapshot.Stored, old any, sets,
	removes []item.Assignment,
) ([]item.Assignment, []item.Assignment) {
	was, now := expiryOf(d.m, rec.Item, d.s.Old, old), expiryOf(d.m, rec.Item, d.v, rec.Value)
	a := d.m.Reserved.AssignExpiry(now)
	switch {
	case attr.Same(was, now):
	case now != nil:
		sets = append(sets, a)
	case r == nil || r.Expiry > 0:
		removes = append(removes, a)
	}
	return sets, removes
}

// was returns the stored value of an attribute. For an opaque attribute it is the value in the stored
// item, or, without an item, the encoding of the snapshot's zero value.
func (d *differ) was(it *schema.Item, r *snapshot.Stored, old any, i int) types.AttributeValue {
	if it.Attributes[i].Opaque && r != nil {
		return r.Opaque[i]
	}
	v, _ := d.m.Codec.Record(it.Index).Encode(old, i)
	return v
}

// keptExpiry returns the stored expiry of an item, unless it changed to now. old is the record as it was read. If the
// root item has the expiry and was not loaded, the expiry did not change.
func (d *differ) keptExpiry(
	it *schema.Item,
	r *snapshot.Stored,
	old any,
	now types.AttributeValue,
) types.AttributeValue {
	if it.Expiry == nil || d.m.Reserved.ListsExpiry(it) || !attr.Same(expiryOf(d.m, it, d.s.Old, old), now) {
		return now
	}
	return r.Header.Expiry
}

// update compares a stored item's attributes, and notes those that differ.
func (d *differ) update(rec model.Record, r *snapshot.Stored, old any) {
	sets, removes, err := d.compare(rec, r, old)
	if err == nil && len(sets)+len(removes) > 0 && len(r.Former) > 0 {
		sets, removes, err = d.rename(rec, r, sets, removes)
	}
	if err == nil && (len(sets)+len(removes) > 0 || d.reindexes(rec.Item)) {
		sets, removes, err = d.reindex(rec, r, sets, removes)
	}
	if err == nil && r.Projection != nil {
		err = d.checkRead(rec.Item, r, sets, removes)
	}
	if err != nil {
		d.fail(err)
		return
	}
	d.write(rec, r, sets, removes)
}

// reindexes reports whether items of a kind are written for the keys of indexes alone.
func (d *differ) reindexes(it *schema.Item) bool { return d.o.Reindex && len(it.Derived) > 0 }

// reindex adds the keys of indexes that differ from the stored ones to the writes of an item.
func (d *differ) reindex(rec model.Record, r *snapshot.Stored, sets, removes []item.Assignment) ([]item.Assignment,
	[]item.Assignment, error,
) {
	keys, err := d.m.IndexKeys(rec, d.Keys.KeyFields)
	for j, now := range keys {
		a := item.Assignment{Name: rec.Item.Derived[j].Name, Index: item.Indexed, Value: now}
		switch {
		case r.Projection != nil && !d.o.Reindex && !changesKey(rec.Item, j, sets, removes):
		case r.Projection.Reads(a.Name) && attr.Same(r.IndexKey(j), now):
		case now == nil:
			removes = append(removes, a)
		default:
			sets = append(sets, a)
		}
	}
	return sets, removes, err
}

// clear removes all of the item's attributes that the model knows, and leaves others.
func (d *differ) clear(rec model.Record, r *snapshot.Stored) {
	var removes []item.Assignment
	for i, a := range rec.Item.Attributes {
		if r.Sizes[i] > 0 {
			removes = append(removes, item.Assignment{Name: a.Name, Index: i})
		}
		removes = appendFormer(removes, r, i)
	}
	for j, k := range rec.Item.Derived {
		if r.IndexKey(j) != nil {
			removes = append(removes, item.Assignment{Name: k.Name, Index: item.Indexed})
		}
	}
	sets, removes := d.expiry(rec, r, d.s.Old, nil, removes)
	d.write(rec, r, sets, removes)
}

// write notes the update of a stored item, or where that would not do its replacement.
func (d *differ) write(rec model.Record, r *snapshot.Stored, sets, removes []item.Assignment) {
	if len(sets)+len(removes) == 0 {
		d.keep(rec.Item, r, rec.Pos)
		return
	}
	r.Order = rec.Pos.Index
	ch := of(d.m, write.Update, rec.Item, r)
	ch.Record, ch.Pos, ch.Set, ch.Remove = rec.Value, rec.Pos, sets, removes
	for j, a := range ch.Set {
		if a.Index >= 0 && rec.Item.Attributes[a.Index].Large.External() && !attr.Same(a.Value, r.Opaque[a.Index]) {
			v, err := ch.encode(d.m, a.Index, a.Value)
			if err != nil {
				d.fail(err)
				return
			}
			ch.Set[j].Value = v
		}
	}
	sets = ch.Set
	ch.NewSize = r.Size + d.m.Reserved.Grows(r.Header, d.m.DropsMark(rec.Item))
	for _, a := range sets {
		ch.NewSize += attr.AttributeSize(a.Name, a.Value) - r.StoredSize(rec.Item, a)
	}
	for _, a := range removes {
		ch.NewSize -= r.StoredSize(rec.Item, a)
	}
	if ch.Unread = r.Projection != nil; !ch.Unread { // a part of an item can neither be replaced nor lose other values
		err := ch.spill(d.m)
		if err == nil && needsPut(&ch.Request) {
			err = d.replace(ch)
		}
		if err != nil {
			d.fail(err)
			return
		}
	}
	ch.expectRead(d.m, d.s)
	if ch.Kind == write.Update {
		ch.dropMark(d.m)
	}
	d.add(ch)
}

// put notes a new item. from is the stored item that it moves away from, or nil.
func (d *differ) put(rec model.Record, at item.Place, from *snapshot.Stored) {
	it := rec.Item
	if it.ExpiryOfRoot && !d.s.Fresh && d.s.Root() == nil {
		d.fail(&NotLoaded{Field: d.m.Root().Name, At: at})
		return
	}
	ch := d.room().start(d.m, write.Put, it, at)
	ch.Record, ch.Pos, ch.New = rec.Value, rec.Pos, true
	if d.o.Room != nil {
		ch.Set = d.o.Room.assignments(len(it.Attributes) + len(it.Derived) + 1)
	}
	ch.From = from
	expiry := expiryOf(d.m, it, d.v, rec.Value)
	var copied func(i int) (types.AttributeValue, bool)
	if from != nil {
		old := d.s.Old
		if it.Element() {
			old = d.m.Codec.Elements(it.Index).At(old, from.Pos)
		}
		expiry = d.keptExpiry(it, from, old, expiry)
		copied = func(i int) (types.AttributeValue, bool) { return d.copied(rec, from, old, i) }
	}
	if err := fill(d.m, ch, d.Keys.KeyFields, expiry, taken{from, copied}); err != nil {
		d.fail(err)
		return
	}
	d.incarnate(ch)
	ch.Expect = write.Expect{Absent: true, Instead: d.s.HiddenAt(at)}
	if ch.Expect.Instead != nil {
		ch.OldSize = ch.Expect.Instead.Size
	}
	ch.Unread = d.m.Reserved.Expires()
	if err := ch.spill(d.m); err != nil {
		d.fail(err)
		return
	}
	d.add(ch)
}

// incarnate gives a new item its entity's incarnation: the loaded one, or, for a new entity, a new one.
func (d *differ) incarnate(ch *Change) {
	fresh := d.s.Fresh || d.RootMoves
	if d.incarnation == nil && d.s.Fresh {
		d.incarnation, _ = d.s.Incarnation() // if it is known
	}
	if d.incarnation == nil && d.RootMoves {
		was, _ := d.s.Incarnation()
		d.incarnation = item.MovedIncarnation(was)
	}
	if d.incarnation == nil && fresh {
		d.incarnation = item.NewToken()
	} else if d.incarnation == nil {
		var fits bool
		d.incarnation, fits = d.s.Incarnation()
		d.NeedsRoot = !fits
	}
	switch {
	case d.incarnation != nil:
		ch.NewSize += d.m.Reserved.AssignIncarnation(d.incarnation).Into(ch.Put)
	case d.NeedsRoot:
		ch.NewSize += d.m.Reserved.IncarnationSize() // which most roots have
	}
	if fresh && ch.Root {
		ch.Incarnation, ch.PinsEntity = d.incarnation, true
	}
	if d.RootMoves && ch.Root { // another move of the entity has the same: it does not show whose the item is
		ch.Incarnation, ch.OfEntity = nil, d.incarnation
	}
}

// copied returns the stored value of an attribute of an item that moves, nil for one that is not stored. ok is false
// for an attribute that changed, or that the key of the item names.
func (d *differ) copied(rec model.Record, from *snapshot.Stored, old any, i int) (v types.AttributeValue, ok bool) {
	a, record := rec.Item.Attributes[i], d.m.Codec.Record(rec.Item.Index)
	if a.Large.External() || len(a.Was) > 0 || rec.Item.Sparse(i) {
		return nil, false
	}
	if a.Opaque || !record.Same(old, rec.Value, i) {
		now, err := encode(d.m, rec.Item, rec.Value, i, nil)
		switch {
		case err != nil && !isAsRead(d.m, rec.Item, from, rec.Value, i):
			return nil, false
		case err == nil && !attr.Same(d.was(rec.Item, from, old, i), now):
			return nil, false
		}
	}
	return from.Value(rec.Item, i, func() types.AttributeValue { return d.was(rec.Item, from, old, i) }), true
}

// taken has the values that a put takes from a stored item. It is zero for a new item.
type taken struct {
	// from holds the parts that the Go values do not.
	from *snapshot.Stored
	// copied returns the stored value of an attribute that did not change.
	copied func(i int) (types.AttributeValue, bool)
}

// fill encodes all attributes of a put.
func fill(m *model.Model, ch *Change, keyFields []key.Value, expiry types.AttributeValue, t taken) error {
	if err := keyTexts(m, ch, keyFields); err != nil {
		return at(ch.Place, err)
	}
	n := len(ch.Item.Attributes) + len(ch.Item.Derived)
	if expiry != nil {
		n++
	}
	if len(ch.Set) > 0 || cap(ch.Set) < n {
		ch.Set = make([]item.Assignment, 0, n)
	}
	ch.Set = ch.Set[:0]
	ch.Put = make(item.Attributes, n+ch.Table.KeyAttributes()+2) // the incarnation, and the version of the sent item
	ch.KeyInto(ch.Put)
	ch.NewSize = ch.KeySize() + m.Reserved.VersionSize()
	set := func(a item.Assignment) {
		if a.Value != nil {
			ch.Set = append(ch.Set, a)
			ch.NewSize += a.Into(ch.Put)
		}
	}
	var faults Faults
	for i, a := range ch.Item.Attributes {
		if t.copied != nil {
			if value, ok := t.copied(i); ok {
				set(item.Assignment{Name: a.Name, Index: i, Value: value})
				continue
			}
		}
		value, err := ch.attribute(m, i)
		if err != nil && t.from != nil && !a.Large.External() {
			value, err = encode(m, ch.Item, ch.Record, i, t.from)
		}
		if err == nil && t.from != nil && value != nil && !a.Large.External() {
			value, err = graft(m, ch.Item, t.from, i, value)
		}
		if err != nil {
			faults = append(faults, at(ch.Place, err))
			continue
		}
		set(item.Assignment{Name: a.Name, Index: i, Value: value})
	}
	if err := faults.orNil(); err != nil {
		return err
	}
	set(m.Reserved.AssignExpiry(expiry))
	keys, err := m.IndexKeys(model.Record{Item: ch.Item, Value: ch.Record, Pos: ch.Pos}, keyFields)
	if err != nil {
		return at(ch.Place, err)
	}
	for j, v := range keys {
		set(item.Assignment{Name: ch.Item.Derived[j].Name, Index: item.Indexed, Value: v})
	}
	if t.from != nil {
		for name, value := range t.from.Unknown {
			if _, out := extern.PointerOf(value); out && ch.Stored == nil {
				return m.ValueErrorf(ch.Field, "the item %s would move with the external value of the attribute "+
					"%q, which the model does not declare: move it with the model that declares it", t.from.Place,
					name)
			}
			set(item.Assignment{Name: name, Index: item.Unlisted, Value: value})
		}
	}
	if len(ch.Put) != ch.Table.KeyAttributes()+len(ch.Set) { // two have one name
		ch.NewSize = ch.WholeSize()
	}
	return nil
}

// attribute returns the value of an attribute as a put stores it.
func (ch *Change) attribute(m *model.Model, i int) (types.AttributeValue, error) {
	if !ch.Item.Attributes[i].Large.External() {
		return encode(m, ch.Item, ch.Record, i, nil)
	}
	if j := slices.IndexFunc(ch.external, func(o external) bool { return o.index == i }); j >= 0 {
		return ch.external[j].stored(), nil
	}
	return ch.place(m, i)
}

// updateGate is the size near the limit from which UpdateItem is avoided: it has been
// seen to refuse there what Put accepts.
const updateGate = 400_000

// needsPut reports whether an update has to be a put of the whole item: its expression
// would be over a limit, or the item is near its own.
func needsPut(r *write.Request) bool {
	if r.NewSize > updateGate && r.NewSize <= cost.MaxItem {
		return true
	}
	// One SET or REMOVE each, and the version, and the mark.
	if len(r.Set)+len(r.Remove)+2 > cost.MaxOperators {
		return true
	}
	// No assignment is longer than "#1000 = :1000, ".
	if 16*(len(r.Set)+len(r.Remove)+2) < cost.MaxExpression {
		return false
	}
	return len(r.UpdateExpression(&attr.Expression{})) > cost.MaxExpression
}

// replace makes an update a put of the whole item, on its version.
func (d *differ) replace(ch *Change) error {
	changed, removed := slices.Clone(ch.Set), ch.Remove
	old := d.s.Old
	if ch.Item.Element() {
		old = d.m.Codec.Elements(ch.Item.Index).At(old, ch.Stored.Pos)
	}
	expiry := d.keptExpiry(ch.Item, ch.Stored, old, expiryOf(d.m, ch.Item, d.v, ch.Record))
	written := func(i int) (types.AttributeValue, bool) {
		for _, list := range [2][]item.Assignment{changed, removed} {
			for _, a := range list {
				if a.Index == i {
					return a.Value, true
				}
			}
		}
		if ch.Item.Attributes[i].Large.External() {
			return nil, false
		}
		was := func() types.AttributeValue { return d.was(ch.Item, ch.Stored, old, i) }
		return ch.Stored.Value(ch.Item, i, was), true
	}
	if err := fill(d.m, ch, d.Keys.KeyFields, expiry, taken{ch.Stored, written}); err != nil {
		return err
	}
	h := ch.Stored.Header
	if h.Incarnation != nil {
		ch.NewSize += d.m.Reserved.AssignIncarnation(h.Incarnation).Into(ch.Put)
	}
	if h.Stage != nil && !d.m.DropsMark(ch.Item) {
		ch.NewSize += item.Assignment{Name: d.m.Reserved.StateName(), Value: h.Stage}.Into(ch.Put)
	}
	// cleared attributes are not put again
	for _, a := range removed {
		if v, ok := ch.Put[a.Name]; ok {
			ch.NewSize -= attr.AttributeSize(a.Name, v)
			delete(ch.Put, a.Name)
			ch.Set = slices.DeleteFunc(ch.Set, func(x item.Assignment) bool { return x.Name == a.Name })
		}
	}
	ch.Kind, ch.Remove = write.Put, removed
	for _, a := range append(changed, removed...) {
		ch.Shown = append(ch.Shown, a.Name)
	}
	return nil
}

// comparable refuses a change of an item without a version whose condition, which compares attributes, is over the
// limits of one.
func comparable(ch *Change) error {
	if ch.Expect.Old == nil {
		return nil
	}
	n := len(ch.Expect.Old.Values)
	// No comparison is longer than "attribute_not_exists(#1000) AND ".
	if n+2 <= write.MaxTerms && (32*(n+2) <= cost.MaxExpression || ch.Longest() <= cost.MaxExpression) {
		return nil
	}
	return fmt.Errorf(
		"%s.%s: the item %s has no version, and its %[5]s compares %[4]d attributes (limit %[6]d, in %[7]d "+
			"bytes): change fewer at once, or store versions",
		ch.Label,
		ch.Field,
		ch.Place,
		n,
		ch.Kind,
		write.MaxTerms-2,
		cost.MaxExpression,
	)
}
