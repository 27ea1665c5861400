package change

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// fixedItem compares the fields of a singleton.
func (d *differ) fixedItem(it *schema.Item) {
	rec := model.Record{Item: it, Value: d.v}
	sk, err := d.m.SortKey(rec, d.Keys.KeyFields)
	if err != nil {
		d.fail(err)
		return
	}
	at := d.m.Place(it, d.Keys.Partition, sk)
	record := d.m.Codec.Record(it.Index)
	if all := d.s.Items[it.Index]; len(all) == 1 && all[0].Place == at && !it.Opaque && !d.expiryChanged &&
		!d.reindexes(it) && record.Equal(d.v, d.s.Old) {
		d.keep(it, all[0], codec.Pos{})
		return
	}
	if !d.s.Covers(it, sk) {
		if d.differs(it, nil) || d.expiryChanged {
			d.fail(&NotLoaded{Field: d.changed(it), At: at})
		}
		return
	}
	var r *snapshot.Stored
	var away []*snapshot.Stored // where the entity moves away from
	for _, x := range d.s.Items[it.Index] {
		if x.Place == at {
			r = x
		} else {
			away = append(away, x)
			d.delete(it, x)
		}
	}
	from := r
	if r == nil && len(away) > 0 {
		from = away[0]
	}
	present := d.m.Present(it, d.v) || d.keepsEmptied(rec, from)
	switch {
	// what the model does not know moves along
	case r == nil && !present && !(len(away) > 0 && len(away[0].Unknown) > 0):
	// AfterLoad has set what it holds
	case r == nil && len(away) == 0 && !d.s.Fresh && d.m.Schema.Hooks && !d.differs(it, nil):
	case r == nil && len(away) > 0:
		d.put(rec, at, away[0])
	case r == nil:
		d.put(rec, at, nil)
	case present || r.Projection != nil || !d.differs(it, r):
		d.update(rec, r, d.s.Old)
	case len(r.Unknown) > 0 && !it.Pointer:
		d.clear(rec, r)
	default:
		d.delete(it, r)
	}
}

// changed names the fields of a singleton that are not as they were, which was not loaded.
func (d *differ) changed(it *schema.Item) string {
	if it.Pointer {
		return it.Name
	}
	var names []string
	x := &itemDiff{differ: d, rec: model.Record{Item: it, Value: d.v}, old: d.s.Old}
	_ = x.compare()
	for _, a := range slices.Concat(x.sets, x.removes) {
		if a.Index < 0 {
			continue // the expiry
		}
		if name := it.Attributes[a.Index].Value.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return it.Name
	}
	return strings.Join(names, ", ")
}

// differs reports whether a singleton's attributes are not as they are stored.
func (d *differ) differs(it *schema.Item, r *snapshot.Stored) bool {
	record, old := d.m.Codec.Record(it.Index), d.s.Old
	if !record.Equal(old, d.v) {
		// The comparison of typed values may be too strict: encode and see.
		x := &itemDiff{differ: d, rec: model.Record{Item: it, Value: d.v}, r: r, old: old}
		return x.compare() != nil || x.writes() || r != nil && record.Present(old) != record.Present(d.v)
	}
	for i, a := range it.Attributes {
		if a.Large.External() {
			if _, same, err := d.sameLarge(model.Record{Item: it, Value: d.v}, r, old, i); err != nil || !same {
				return true
			}
			continue
		}
		if a.Opaque {
			now, err := record.Encode(d.v, i)
			switch {
			case err != nil && !isAsRead(d.m, it, r, d.v, i):
				return true
			case err == nil && !attr.Same(now, d.was(it, r, old, i)):
				return true
			}
		}
	}
	return false
}

// elementDiff compares a slice or map.
type elementDiff struct {
	*differ
	it     *schema.Item
	stored map[key.Scalar]*snapshot.Stored
	seen   map[key.Scalar]codec.Pos
}

// elements compares a slice or map.
func (d *differ) elements(it *schema.Item) {
	elements := d.m.Codec.Elements(it.Index)
	if !d.s.Fresh && !d.expiryChanged && !d.Moves && !it.Opaque && !d.reindexes(it) && elements.Equal(d.v, d.s.Old) {
		// nothing is rendered or encoded
		for _, r := range d.s.Items[it.Index] {
			d.keep(it, r, r.Pos)
		}
		return
	}
	all := d.s.Items[it.Index]
	if n := elements.Len(d.v); d.s.Fresh && n > 0 {
		d.Changes = slices.Grow(d.Changes, n)
		if d.o.Room == nil {
			d.rooms = make([]Change, n)
		}
	}
	x := &elementDiff{differ: d, it: it, seen: make(map[key.Scalar]codec.Pos, elements.Len(d.v))}
	if len(all) > 0 {
		x.stored = make(map[key.Scalar]*snapshot.Stored, len(all))
	}
	for _, r := range all {
		// Of an entity that moves, an element may be stored at both places.
		if x.stored[r.SK] == nil || r.Partition() == d.Keys.Partition {
			x.stored[r.SK] = r
		}
	}
	elements.Each(d.v, func(pos codec.Pos, rec any) bool {
		x.element(model.Record{Item: it, Value: rec, Pos: pos})
		return true
	})
	for _, r := range all {
		if _, ok := x.seen[r.SK]; !ok || r.Partition() != d.Keys.Partition {
			d.delete(it, r)
		}
	}
}

func (x *elementDiff) element(rec model.Record) {
	if rec.Value == nil {
		x.fail(x.m.ValueErrorf(x.it.Name, "%s is nil, but an item needs a value: remove the element", posName(rec.Pos)))
		return
	}
	if field := x.s.Unread(x.it); field != "" {
		x.fail(&NotLoaded{Field: x.it.Name, Needs: field + ","})
		return
	}
	sk, err := x.m.SortKey(rec, x.Keys.KeyFields)
	if err != nil {
		x.fail(fmt.Errorf("%w (%s)", err, posName(rec.Pos)))
		return
	}
	if first, ok := x.seen[sk]; ok {
		x.fail(x.m.ValueErrorf(x.it.Name, "%s and %s have the same key, %s: change a field that the template names",
			posName(first), posName(rec.Pos), sk))
		return
	}
	x.seen[sk] = rec.Pos
	at := x.m.Place(x.it, x.Keys.Partition, sk)
	r := x.stored[sk]
	switch {
	case r != nil && r.Place == at:
		x.update(rec, r, x.m.Codec.Elements(x.it.Index).At(x.s.Old, r.Pos))
	case !x.s.Covers(x.it, sk):
		x.fail(&NotLoaded{Field: x.it.Name, At: at, Element: true})
	case r != nil: // the same sort key, in the partition that it moves away from
		x.put(rec, at, r)
	default:
		x.put(rec, at, x.moved(rec))
	}
}

// moved returns the stored item of an element whose key changed with its entity's, so that
// attributes that the model does not know move with it.
func (x *elementDiff) moved(rec model.Record) *snapshot.Stored {
	if !x.Moves {
		return nil
	}
	sk, err := x.m.SortKey(rec, x.Old)
	if err != nil {
		return nil
	}
	return x.stored[sk]
}

func posName(p codec.Pos) string {
	if p.Key != nil {
		if p.Key == "" {
			return `the entry ""`
		}
		return fmt.Sprintf("the entry %v", p.Key)
	}
	return "the element " + strconv.Itoa(p.Index)
}

// itemDiff compares one item. r is the stored item, nil for none, and old the record as it was read. sets and removes
// are the attributes that differ.
type itemDiff struct {
	*differ
	rec           model.Record
	r             *snapshot.Stored
	old           any
	sets, removes []item.Assignment
}

// writes reports whether an attribute differs.
func (x *itemDiff) writes() bool { return len(x.sets)+len(x.removes) > 0 }

// assign adds the assignment of an attribute, which removes it if it has no value.
func (x *itemDiff) assign(a item.Assignment) {
	if a.Value != nil {
		x.sets = append(x.sets, a)
	} else {
		x.removes = append(x.removes, a)
	}
}

// update compares a stored item's attributes, and notes those that differ.
func (d *differ) update(rec model.Record, r *snapshot.Stored, old any) {
	x := &itemDiff{differ: d, rec: rec, r: r, old: old}
	err := x.compare()
	if err == nil && x.writes() && len(r.Former) > 0 {
		err = x.rename()
	}
	if err == nil && (x.writes() || d.reindexes(rec.Item)) {
		err = x.reindex()
	}
	if err == nil && r.Projection != nil {
		err = x.checkRead()
	}
	if err != nil {
		d.fail(err)
		return
	}
	x.write()
}

// compare notes the attributes that differ from the stored ones.
func (x *itemDiff) compare() error {
	record := x.m.Codec.Record(x.rec.Item.Index)
	var faults Faults
	for i, a := range x.rec.Item.Attributes {
		if !a.Opaque && record.Same(x.old, x.rec.Value, i) {
			continue
		}
		// A value that may be external has its form inside the item; write places it.
		switch now, same, err := x.attribute(i); {
		case err != nil:
			faults = append(faults, err)
		case same:
		case now != nil || x.r == nil || x.r.Sizes[i] > 0:
			x.assign(item.Assignment{Name: a.Name, Index: i, Value: now})
		default:
			x.removeFormer(i)
		}
	}
	if err := faults.OrNil(); err != nil {
		x.sets, x.removes = nil, nil
		return err
	}
	x.expiry()
	return nil
}

// attribute returns the value of an attribute, and reports whether it is the stored value.
func (x *itemDiff) attribute(i int) (now types.AttributeValue, same bool, err error) {
	it, r := x.rec.Item, x.r
	if it.Attributes[i].Large.External() {
		return x.sameLarge(x.rec, r, x.old, i)
	}
	now, err = encode(x.m, it, x.rec.Value, i, r)
	switch {
	case err != nil && isAsRead(x.m, it, r, x.rec.Value, i):
		return nil, true, nil
	case err != nil && r != nil:
		return nil, false, at(r.Place, err)
	case err != nil:
		return nil, false, err
	case (r == nil || !it.Attributes[i].Distinct) && attr.Same(x.was(it, r, x.old, i), now):
		return now, true, nil
	case now != nil && r != nil:
		now, err = graft(x.m, it, r, i, now)
	}
	return now, false, err
}

// expiry adds the change of the item's expiry.
func (x *itemDiff) expiry() {
	was, now := expiryOf(x.m, x.rec.Item, x.s.Old, x.old), expiryOf(x.m, x.rec.Item, x.v, x.rec.Value)
	if !attr.Same(was, now) && (now != nil || x.r == nil || x.r.Expiry > 0) {
		x.assign(x.m.Reserved.AssignExpiry(now))
	}
}

// removeFormer removes an attribute under the names that it had before.
func (x *itemDiff) removeFormer(i int) {
	for _, f := range x.r.Former {
		if f.Attribute == i {
			x.removes = append(x.removes, item.Assignment{Name: f.Name, Index: item.Former})
		}
	}
}

// rename writes the attributes that are stored under earlier names: each is set under its present name, and the
// earlier name is removed.
func (x *itemDiff) rename() error {
	it, r := x.rec.Item, x.r
	for _, f := range r.Former {
		if slices.ContainsFunc(x.removes, func(a item.Assignment) bool { return a.Name == f.Name }) {
			continue
		}
		remove := item.Assignment{Name: f.Name, Index: item.Former}
		name := it.Attributes[f.Attribute].Name
		same := func(a item.Assignment) bool { return a.Name == name }
		if r.Sizes[f.Attribute] > 0 || slices.ContainsFunc(x.sets, same) || slices.ContainsFunc(x.removes, same) {
			x.removes = append(x.removes, remove)
			continue
		}
		// The field did not change, though AfterLoad may have changed or emptied it, so that the stored value stays.
		was := func() types.AttributeValue { return x.was(it, r, x.old, f.Attribute) }
		v, err := storable(x.m, it, f.Attribute, r.Value(it, f.Attribute, was))
		switch {
		case err != nil:
			return x.m.ValueErrorf(fieldOf(it, f.Attribute), "attribute %q: %w", name, err)
		case v != nil:
			x.sets = append(x.sets, item.Assignment{Name: name, Index: f.Attribute, Value: v})
		}
		x.removes = append(x.removes, remove)
	}
	return nil
}

// reindexes reports whether items of a kind are written for the keys of indexes alone.
func (d *differ) reindexes(it *schema.Item) bool { return d.o.Reindex && len(it.Derived) > 0 }

// reindex adds the keys of indexes that differ from the stored ones.
func (x *itemDiff) reindex() error {
	keys, err := x.m.IndexKeys(x.rec, x.Keys.KeyFields)
	for j, now := range keys {
		name := x.rec.Item.Derived[j].Name
		switch {
		case x.r.Projection != nil && !x.o.Reindex && !x.changesKey(j):
		case x.r.Projection.Reads(name) && attr.Same(x.r.IndexKey(j), now):
		default:
			x.assign(item.Assignment{Name: name, Index: item.Indexed, Value: now})
		}
	}
	return err
}

// changesKey reports whether a field changes that a key of an index names.
func (x *itemDiff) changesKey(derived int) bool {
	return slices.ContainsFunc(x.rec.Item.Derived[derived].Sources, func(src schema.Source) bool {
		return slices.ContainsFunc(slices.Concat(x.sets, x.removes), func(a item.Assignment) bool {
			return a.Index >= 0 && slices.Equal(x.rec.Item.Attributes[a.Index].Value.Path, src.Value.Path)
		})
	})
}

// checkRead refuses a change of an attribute that was not read, and a new key of an index if the key names such an
// attribute.
func (x *itemDiff) checkRead() error {
	it, r := x.rec.Item, x.r
	for _, a := range slices.Concat(x.sets, x.removes) {
		switch {
		case a.Index >= 0 && !r.Projection.Loads(it.Attributes[a.Index]):
			return &NotLoaded{Field: it.Attributes[a.Index].Value.Name, At: r.Place}
		case a.Index == item.Expiry && !r.Projection.Reads(a.Name):
			return &NotLoaded{Field: it.Expiry.Name, At: r.Place}
		case a.Index != item.Indexed:
			continue
		}
		k := it.Derived[it.DerivedKey(a.Name)]
		for _, a := range it.Attributes {
			named := slices.ContainsFunc(k.Sources, func(src schema.Source) bool {
				return src.From != schema.FromModel && slices.Equal(src.Value.Path, a.Value.Path)
			})
			if named && !r.Projection.Loads(a) {
				return &NotLoaded{Field: a.Value.Name, Needs: "the key " + k.Name + " of an index", At: r.Place}
			}
		}
	}
	return nil
}

// clear removes all of the item's attributes that the model knows, and leaves others.
func (d *differ) clear(rec model.Record, r *snapshot.Stored) {
	x := &itemDiff{differ: d, rec: rec, r: r, old: d.s.Old}
	for i, a := range rec.Item.Attributes {
		if r.Sizes[i] > 0 {
			x.removes = append(x.removes, item.Assignment{Name: a.Name, Index: i})
		}
		x.removeFormer(i)
	}
	for j, k := range rec.Item.Derived {
		if r.IndexKey(j) != nil {
			x.removes = append(x.removes, item.Assignment{Name: k.Name, Index: item.Indexed})
		}
	}
	x.expiry()
	x.write()
}

// write notes the update of a stored item, or where that would not do its replacement.
func (x *itemDiff) write() {
	d, rec, r := x.differ, x.rec, x.r
	if !x.writes() {
		d.keep(rec.Item, r, rec.Pos)
		return
	}
	r.Order = rec.Pos.Index
	ch := of(d.m, write.Update, rec.Item, r)
	ch.Record, ch.Pos, ch.Set, ch.Remove = rec.Value, rec.Pos, x.sets, x.removes
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
	ch.NewSize = r.Size + d.m.Reserved.Grows(r.Header, d.m.DropsMark(rec.Item))
	for _, a := range ch.Set {
		ch.NewSize += attr.AttributeSize(a.Name, a.Value) - r.StoredSize(rec.Item, a)
	}
	for _, a := range ch.Remove {
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
				switch {
				case a.Index == i:
					return a.Value, true
				case a.Index == item.Former && ch.Item.Former(a.Name) == i && ch.Stored.Sizes[i] == 0:
					return nil, true
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

// put notes a new item; from is the stored item that it moves away from, or nil.
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
	if from == nil {
		expiry = d.inherited(it, expiry)
	} else {
		old := d.s.Old
		if it.Element() {
			old = d.m.Codec.Elements(it.Index).At(old, from.Pos)
		}
		if err := d.checkEmptied(rec, from, old); err != nil {
			d.fail(err)
			return
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

// copied returns the stored value of an attribute of an item that moves, nil for one that is not stored; ok is false
// for one to encode again.
func (d *differ) copied(rec model.Record, from *snapshot.Stored, old any, i int) (v types.AttributeValue, ok bool) {
	a, record := rec.Item.Attributes[i], d.m.Codec.Record(rec.Item.Index)
	if a.Large.External() {
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
	was := func() types.AttributeValue { return d.was(rec.Item, from, old, i) }
	v, err := storable(d.m, rec.Item, i, from.Value(rec.Item, i, was))
	return v, err == nil
}

// checkEmptied refuses the move of an item with an external value whose field AfterLoad has emptied: the new item would
// not have the value.
func (d *differ) checkEmptied(rec model.Record, from *snapshot.Stored, old any) error {
	if !d.m.Schema.Hooks || !rec.Item.HasExternal() {
		return nil
	}
	record, zero := d.m.Codec.Record(rec.Item.Index), d.m.Codec.New()
	if rec.Item.Element() {
		zero = d.m.Codec.Elements(rec.Item.Index).NewElement()
	}
	for i, a := range rec.Item.Attributes {
		none, noneErr := record.Plain(zero, i)
		if !a.Large.External() || a.Value.Type.Lazy || noneErr != nil || from.Opaque[i] == nil ||
			extern.Same(from.Opaque[i], none, d.m.Codecs, a.Text(), attr.Same) {
			continue
		}
		was, err := record.Plain(old, i)
		is, isErr := record.Plain(rec.Value, i)
		if err == nil && isErr == nil && attr.Same(was, none) && attr.Same(is, none) {
			return d.m.ValueErrorf(fieldOf(rec.Item, i), "the item %s would move without the external value of the "+
				"attribute %q, since AfterLoad has emptied the field: set it before the move", from.Place, a.Name)
		}
	}
	return nil
}

// keepsEmptied reports whether a stored singleton has values that the program did not change, and whose fields
// AfterLoad has emptied: the item stays, though its fields are empty.
func (d *differ) keepsEmptied(rec model.Record, r *snapshot.Stored) bool {
	it, record := rec.Item, d.m.Codec.Record(rec.Item.Index)
	if r == nil || !d.m.Schema.Hooks || it.Pointer && record.Present(d.s.Old) {
		return false
	}
	kept := d.m.Codec.New()
	for i, a := range it.Attributes {
		if a.Large.External() {
			if now, err := record.Plain(rec.Value, i); err == nil && r.Opaque[i] != nil && r.IsSeen(i, now) {
				return true
			}
			continue
		}
		if v, ok := d.copied(rec, r, d.s.Old, i); ok && v != nil && record.Decode(kept, i, v) != nil {
			return true
		}
	}
	return record.Present(kept)
}

func (d *differ) delete(it *schema.Item, r *snapshot.Stored) {
	ch := of(d.m, write.Delete, it, r)
	ch.expectRead(d.m, d.s)
	d.add(ch)
}

// keep notes an item that is not written.
func (d *differ) keep(it *schema.Item, r *snapshot.Stored, pos codec.Pos) {
	r.Order = pos.Index
	if !d.o.Checks {
		return
	}
	ch := of(d.m, write.Check, it, r)
	ch.NewSize = r.Size
	ch.expectRead(d.m, d.s)
	d.Checks = append(d.Checks, ch)
}

// add notes a change, unless its item would be too large, or cannot be compared.
func (d *differ) add(ch *Change) {
	for _, err := range []error{ch.checkSize(0), comparable(ch)} {
		if err != nil {
			d.fail(err)
			return
		}
	}
	ch.External = len(Values([]*Change{ch}))
	ch.index(d.m)
	if err := ch.checkLocal(); err != nil {
		d.fail(err)
		return
	}
	d.Changes = append(d.Changes, ch)
}
