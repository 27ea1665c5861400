package change

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Options say what a diff may do, and is asked for.
type Options struct {
	// Move allows key fields to be changed.
	Move bool
	// Checks asks for the stored items that are not written.
	Checks bool
	// Root asks for the root item with new items.
	Root bool
	// RootToo asks for it with changes of stored items as well.
	RootToo bool
	// Owner is a unique value that the root item must still have, whatever is changed; nil for none.
	Owner *schema.Unique
	// Reindex also writes stored items whose keys of secondary indexes are not as they are made now.
	Reindex bool
	// Room is the memory for the changes of new items, nil for new memory.
	Room *Room
}

// Room is memory for changes that is used again by the next diff. It is for a caller that has no use for them then.
type Room struct {
	changes []Change
	sets    []item.Assignment
}

// assignments returns an empty list with room for n.
func (r *Room) assignments(n int) []item.Assignment {
	used := len(r.sets)
	if used+n > cap(r.sets) {
		r.sets, used = make([]item.Assignment, 0, max(64, n, 2*cap(r.sets))), 0
	}
	r.sets = r.sets[:used+n]
	return r.sets[used : used : used+n]
}

// Diff is the difference between a value and the stored items.
type Diff struct {
	Changes []*Change
	// Checks are the stored items that are not written, if they were asked for.
	Checks []*Change
	// Keys are those of the value; Old are the key fields' values as stored. Moves reports
	// that they differ.
	Keys  snapshot.Keys
	Old   []key.Value
	Moves bool
	// RootMoves reports that the root does as well: another key field may only move elements.
	RootMoves bool
	// Guards are the changes of guards of unique values, which are applied together with that of the root item.
	Guards []Guard
	// NeedsRoot reports that a new item is put and that no loaded item has the entity's incarnation, so
	// the root must be read first.
	NeedsRoot bool
}

// differ compares a value with its snapshot.
type differ struct {
	Diff
	m *model.Model
	s *snapshot.Snapshot
	v any
	o Options
	// expiryChanged reports that the expiry of all items (ttl,all) did.
	expiryChanged bool
	// incarnation is the incarnation of new items; nil until the first one.
	incarnation types.AttributeValue
	faults      Faults
	few         [1]*Change // room for those of most saves
	first       [1]Change
	rooms       []Change // for new ones, side by side in memory
}

// room returns the memory of a new change.
func (d *differ) room() *Change {
	if r := d.o.Room; r != nil {
		if len(r.changes) == cap(r.changes) {
			r.changes = make([]Change, 0, max(16, 2*cap(r.changes))) // those before stay where they are
		}
		r.changes = append(r.changes, Change{})
		return &r.changes[len(r.changes)-1]
	}
	if len(d.rooms) == 0 {
		return new(Change)
	}
	ch := &d.rooms[0]
	d.rooms = d.rooms[1:]
	return ch
}

// Of compares a value with its snapshot, without I/O; the error is a single fault, or Faults.
func Of(s *snapshot.Snapshot, unresolved UnresolvedWrites, v any, o Options) (*Diff, error) {
	d := &differ{m: s.Model, s: s, v: v, o: o}
	d.Keys.Value, d.Changes, d.rooms = v, d.few[:0], d.first[:]
	if o.Room != nil {
		o.Room.changes, o.Room.sets = o.Room.changes[:0], o.Room.sets[:0]
	}
	if !o.Checks && !o.Reindex && !(o.Move && s.Shard().Kind != key.None) && Unchanged(s, unresolved, v) {
		return &d.Diff, nil
	}
	if err := d.identify(); err != nil {
		return nil, err
	}
	if err := d.compareExpiry(); err != nil {
		return nil, err
	}
	for _, it := range d.m.Schema.Items {
		if it.Element() {
			d.elements(it)
		} else {
			d.fixedItem(it)
		}
	}
	if len(d.faults) > 0 {
		return nil, d.faults
	}
	for _, ch := range d.Changes { // a program without the library changes no version
		if ch.Root && ch.Stored != nil {
			ch.requireNamed(d.s, d.added()...)
		}
	}
	if err := cmp.Or(d.guard(), d.checkRoot(), d.checkShards(), d.checkStays()); err != nil {
		return nil, err
	}
	return &d.Diff, d.fence(unresolved)
}

// Unchanged reports, without encoding or allocating anything, that a value is as it is stored: it may say no of one
// that is, never yes of one that is not.
func Unchanged(s *snapshot.Snapshot, unresolved UnresolvedWrites, v any) bool {
	c := s.Model.Codec
	if s.Fresh || len(unresolved) > 0 || !c.SameKeyFields(v, s.Old) {
		return false
	}
	for i, it := range s.Model.Schema.Items {
		switch {
		case it.Opaque:
			return false
		case it.Element():
			if !c.Elements(i).Equal(v, s.Old) {
				return false
			}
		default:
			if !c.Record(i).Equal(v, s.Old) {
				return false
			}
		}
	}
	return true
}

// LeftBehind reports whether an item under the old key is left behind by a move: its key agrees with the old values,
// and not with the new ones.
func (d *Diff) LeftBehind(m *model.Model, now []key.Value, found []item.Image, i int) bool {
	f := &found[i]
	// If the root moved, items of the next entity with the old key, also of one whose insert is under way, are not
	// left behind.
	if d.RootMoves {
		next := func(root item.Image) bool {
			return root.Kind != nil && m.IsRoot(root.Kind) &&
				(root.Header.Live() || root.Header.ReadStage().State == item.Inserting) &&
				(root.Place == f.Place || attr.Same(root.Header.Incarnation, f.Header.Incarnation))
		}
		identity := m.Identity(d.Old)
		return Belongs(m, f, identity, identity) && !slices.ContainsFunc(found, next)
	}
	// now are the key fields of the entity where it is
	return f.Kind != nil && m.Agrees(f, d.Old) && !m.Agrees(f, now)
}

func (d *differ) fail(err error) {
	if all, several := err.(Faults); several {
		d.faults = append(d.faults, all...)
		return
	}
	d.faults = append(d.faults, err)
}

// identify computes the keys' values, and refuses ones that were changed.
func (d *differ) identify() error {
	m, s := d.m, d.s
	same := !s.Fresh && m.Codec.SameKeyFields(d.v, s.Old)
	if d.o.Move && s.Shard().Kind != key.None {
		same, s.KeyFields = false, nil
	}
	if same && s.KeyFields != nil {
		d.Keys.KeyFields, d.Old, d.Keys.Partition = s.KeyFields, s.KeyFields, s.Partition
		return nil
	}
	var err error
	if d.Keys.KeyFields, err = m.KeyFields(d.v); err != nil {
		return err
	}
	if err := s.KeepShard(d.Keys.KeyFields, d.o.Move); err != nil {
		return err
	}
	if d.Keys.Partition, err = m.Schema.Partition(d.Keys.KeyFields); err != nil {
		if !s.Fresh {
			return err
		}
		d.fail(err) // in addition to other errors
	}
	switch {
	case same:
		s.KeyFields = d.Keys.KeyFields
		fallthrough
	case s.Fresh:
		d.Old = d.Keys.KeyFields
		return nil
	default:
		if d.Old, err = m.KeyFields(s.Old); err != nil {
			return err
		}
		if shard := s.Shard(); shard.Kind != key.None {
			d.Old[len(d.Old)-1] = shard
		}
	}
	return d.move()
}

// move finds out whether a key has changed, and whether that is allowed.
func (d *differ) move() error {
	changed := d.changedKeyField()
	if changed < 0 && (!d.o.Move || d.m.Shard(d.Old) == d.m.Shard(d.Keys.KeyFields)) {
		return nil
	}
	d.Moves = true
	o := d.m.Schema.KeyFields[max(changed, 0)]
	if !d.o.Move {
		return &KeyChanged{Field: o.Name, Old: d.Old[changed].String(), New: d.Keys.KeyFields[changed].String()}
	}
	from, _ := d.m.RootPlace(d.m.Identity(d.Old)) // where it was loaded from
	to, err := d.m.RootPlace(d.m.Identity(d.Keys.KeyFields))
	if d.RootMoves = from != to; err != nil {
		return err
	}
	if !d.s.Selection.Whole {
		return d.m.FieldErrorf(o.Name, "Move needs the whole entity, but only a part was loaded: load it by its key")
	}
	return nil
}

// changedKeyField returns the first field whose change changes a key, -1 for none.
func (d *differ) changedKeyField() int {
	keys := []*schema.Key{d.m.Schema.PK}
	for _, it := range d.m.Schema.Items {
		if it.Key != nil {
			keys = append(keys, it.Key)
		}
	}
	for _, k := range keys {
		for i, src := range k.Sources {
			if src.From == schema.FromModel &&
				!d.m.SameInKey(k, i, d.Keys.KeyFields[src.KeyField], d.Old[src.KeyField]) {
				return src.KeyField
			}
		}
	}
	return -1
}

// compareExpiry finds out whether the expiry of every item has changed.
func (d *differ) compareExpiry() error {
	it := d.m.Root()
	if !it.ExpiryOfRoot {
		return nil
	}
	now, _ := d.m.Codec.Record(it.Index).Expiry(d.v)
	was, _ := d.m.Codec.Record(it.Index).Expiry(d.s.Old)
	d.expiryChanged = !d.s.Fresh && now.Unix() != was.Unix()
	if d.expiryChanged && !d.s.Selection.Whole {
		return &NotLoaded{Field: it.Expiry.Name, Needs: "every item, whose expiry it is,"}
	}
	return nil
}

// checkRoot adds a check of the root to a save that adds items: the root is live, and has the incarnation that the
// new items carry.
func (d *differ) checkRoot() error {
	if d.o.Owner != nil {
		d.o.Root, d.o.RootToo = true, true
	}
	isNew := func(ch *Change) bool { return ch.New }
	isRoot := func(ch *Change) bool { return ch.Root }
	loaded := d.s.Root() != nil
	// with Checks, a loaded root has a change or a check already
	asked := d.o.Checks && !loaded || d.o.Root && !(d.o.Checks && loaded) && !slices.ContainsFunc(d.Changes, isRoot)
	added := slices.ContainsFunc(d.Changes, isNew)
	if !asked || d.s.Fresh || !added && !(d.o.RootToo && len(d.Changes) > 0) {
		return nil
	}
	if !added {
		var fits bool
		d.incarnation, fits = d.s.Incarnation()
		d.NeedsRoot = !fits
	}
	return d.requireRoot()
}

// requireRoot asks for the root, which was not loaded: live, and of the incarnation of the new items.
func (d *differ) requireRoot() error {
	at, err := d.m.RootPlace(d.m.Identity(d.Keys.KeyFields))
	if err != nil {
		return err
	}
	ch := checkLive(d.m, at, d.incarnation)
	ch.ForAdditions, ch.PinsEntity, ch.OfEntity = true, !d.NeedsRoot, d.incarnation
	ch.requireNamed(d.s, d.added()...)
	if root := d.s.Root(); d.o.Owner != nil && root != nil {
		ch.named(write.Values(d.m.UniqueValues(d.o.Owner, guarded(d.s, root))))
	}
	d.Checks = append(d.Checks, ch)
	return nil
}

// added returns the kinds of items that the save adds.
func (d *differ) added() []*schema.Item {
	var all []*schema.Item
	for _, ch := range d.Changes {
		if ch.IsAddition() {
			all = append(all, ch.Item)
		}
	}
	return all
}

// checkStays requires that an entity to which a save adds items has not moved to another shard, where the added items
// would be missing.
func (d *differ) checkStays() error {
	if !d.m.IsResharding() || d.s.Fresh || d.RootMoves {
		return nil
	}
	if all := d.Keys.KeyFields; all != nil && !d.m.CanReshard(d.m.Identity(all)) {
		return nil
	}
	root, adds := (*Change)(nil), false
	for _, ch := range d.Changes {
		if ch.Root {
			root = ch
		}
		adds = adds || ch.New && !ch.Root
	}
	// An expired root is not restored, since there may be another one.
	if root != nil && root.Kind != write.Delete && d.m.Reserved.Expires() {
		root.Expect.Terms = append(root.Expect.Terms, d.m.Reserved.NotExpired(d.m.Now))
	}
	isRoot := func(ch *Change) bool { return ch.Root } // which a lookup has required already
	if !adds || root != nil || d.o.Checks || slices.ContainsFunc(d.Checks, isRoot) {
		return nil
	}
	if r := d.s.Root(); r != nil {
		ch := of(d.m, write.Check, d.m.Root(), r)
		ch.NewSize = r.Size
		ch.expectStored()
		d.Checks = append(d.Checks, ch)
		return nil
	}
	return d.requireRoot()
}

// checkShards requires that an inserted or moved entity is on no other shard that its key may lead to,
// from before or after a change of their number.
func (d *differ) checkShards() error {
	if !d.m.IsResharding() || !d.s.Fresh && !d.RootMoves {
		return nil
	}
	own := d.m.Identity(d.Keys.KeyFields)
	shards, err := d.m.Schema.ShardsOf(own[:len(own)-1])
	if err != nil {
		return err
	}
	for _, shard := range shards {
		there := append(slices.Clone(own[:len(own)-1]), shard)
		if shard == d.m.Shard(own) || d.RootMoves && slices.EqualFunc(there, d.Old, key.Value.Equal) {
			continue
		}
		at, err := d.m.RootPlace(there)
		if err != nil {
			return err
		}
		ch := new(Change).start(d.m, write.Check, d.m.Root(), at)
		ch.New = true
		ch.Expect = write.Expect{Blind: true, Terms: []attr.Condition{d.m.Reserved.NoLiveRoot(at, d.m.Now)}}
		d.Checks = append(d.Checks, ch)
	}
	return nil
}

// ErrLate is the reason to refuse a write while an unresolved write of a missing item can still be applied.
var ErrLate = fmt.Errorf("the item does not exist, but the unresolved write may still arrive until %v after it was "+
	"sent, and the new write would not stop it", Lateness)

// fence makes sure that no unresolved write is applied after the changes of a save, which the caller believes to be
// the last ones.
func (d *differ) fence(unresolved UnresolvedWrites) error {
	var open UnresolvedWrites
	for _, x := range unresolved.Late(d.Changes) {
		if len(UnresolvedWrites{x}.Late(d.Changes)) == 0 {
			continue // by a fence before
		}
		// The save writes none of its items, so one of them gets a new version. This is impossible for an item that
		// does not exist.
		i := slices.IndexFunc(x.Changes,
			func(ch *Change) bool { return x.keptOutBy(ch.Place) && d.s.Versioned(ch.Place) != nil })
		if i < 0 {
			open = append(open, x)
			continue
		}
		r := d.s.Versioned(x.Changes[i].Place)
		bump := of(d.m, write.Update, x.Changes[i].Item, r)
		bump.NewSize = r.Size + d.m.Reserved.Grows(r.Header, d.m.DropsMark(bump.Item))
		bump.Shown = []string{d.m.Reserved.AssignVersion(nil).Name}
		bump.expectStored()
		bump.dropMark(d.m)
		d.Checks = slices.DeleteFunc(d.Checks, func(ch *Change) bool { return ch.Place == bump.Place })
		d.Changes = append(d.Changes, bump)
	}
	if len(open) > 0 {
		return &UnresolvedError{open.Places(), ErrLate}
	}
	return nil
}
