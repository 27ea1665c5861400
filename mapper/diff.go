package mapper

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// diff is the difference between a value and what is stored of it.
type diff struct {
	c *core
	s *state
	v any
	// keyFields are the values of the fields that keys name, oldKeyFields as stored
	// where they differ.
	keyFields, oldKeyFields []key.Value
	pk                key.Scalar
	// moves tells that a key field was changed.
	moves bool
	// expiryChanged tells that the expiry of all items (ttl,all) did.
	expiryChanged bool

	changes []*change
	// same are the stored items that are not written, if they are asked for.
	same     []*change
	wantSame bool
	errs     []error
}

// unchanged tells, without encoding or allocating anything, that a value is as it
// is stored. It may say no of one that is, never yes of one that is not.
func (c *core) unchanged(s *state, v any) bool {
	if s.fresh || len(s.doubts) > 0 || s.moving != nil || !c.codec.SameKeyFields(v, s.old) {
		return false
	}
	for i, it := range c.schema.Items {
		if it.Opaque {
			return false
		}
		if it.Element() {
			if !c.codec.Elements(i).Equal(v, s.old) {
				return false
			}
		} else if !c.codec.Record(i).Equal(v, s.old) {
			return false
		}
	}
	return true
}

// diff compares a value with its snapshot. It does no I/O.
func (c *core) diff(s *state, v any, settings writeSettings) (*diff, error) {
	d := &diff{c: c, s: s, v: v, wantSame: settings.checkLoaded}
	if c.unchanged(s, v) {
		return d, nil
	}
	if err := d.identify(settings); err != nil {
		return nil, err
	}
	if it := c.schema.Root; it.ExpiryOfRoot {
		now, _ := c.codec.Record(it.Index).Expiry(v)
		was, _ := c.codec.Record(it.Index).Expiry(s.old)
		d.expiryChanged = !s.fresh && now.Unix() != was.Unix()
		if d.expiryChanged && !s.spec.Whole {
			return nil, &NotLoadedError{Model: c.schema.Label(), Field: it.Expiry.Name, needs: "every item, whose expiry it is,"}
		}
	}
	for _, it := range c.schema.Items {
		if it.Element() {
			d.elements(it)
		} else {
			d.singleton(it)
		}
	}
	if len(d.errs) == 0 {
		return d, d.fence()
	}
	return d, errors.Join(d.errs...)
}

func (d *diff) fail(err error) { d.errs = append(d.errs, err) }

// identify computes the keys' values, and refuses ones that were changed.
func (d *diff) identify(settings writeSettings) error {
	c, s := d.c, d.s
	same := !s.fresh && c.codec.SameKeyFields(d.v, s.old)
	if same && s.keyFields != nil && s.moving == nil {
		d.keyFields, d.oldKeyFields, d.pk = s.keyFields, s.keyFields, s.pk
		return nil
	}
	var err error
	if d.keyFields, err = c.keyFields(d.v); err != nil {
		return err
	}
	if d.pk, err = c.partitionKey(d.keyFields); err != nil {
		return err
	}
	switch {
	case s.moving != nil:
		d.oldKeyFields, d.moves = s.moving, true
	case same:
		s.keyFields = d.keyFields
		fallthrough
	case s.fresh:
		d.oldKeyFields = d.keyFields
		return nil
	default:
		if d.oldKeyFields, err = c.keyFields(s.old); err != nil {
			return err
		}
	}
	if same {
		return nil // a move that was interrupted goes on, or back
	}
	changed := d.changedKeyField()
	if changed < 0 {
		return nil
	}
	d.moves = true
	o := c.schema.KeyFields[changed]
	if !settings.move {
		return &KeyChangedError{Model: c.schema.Label(), Field: o.Name, Old: d.oldKeyFields[changed].String(), New: d.keyFields[changed].String()}
	}
	if !s.spec.Whole {
		return fmt.Errorf("%s.%s: Move needs the whole entity, and only a part was loaded: load it by its key", c.schema.Label(), o.Name)
	}
	return nil
}

// changedKeyField returns the first field whose change changes a key, -1 for none.
func (d *diff) changedKeyField() int {
	keys := []*schema.Key{d.c.schema.PK}
	for _, it := range d.c.schema.Items {
		if it.Key != nil {
			keys = append(keys, it.Key)
		}
	}
	for _, k := range keys {
		for i, src := range k.Sources {
			if src.From == schema.FromModel && !d.c.sameInKey(k, i, d.keyFields[src.KeyField], d.oldKeyFields[src.KeyField]) {
				return src.KeyField
			}
		}
	}
	return -1
}

// covered reports whether a save may write the item at a place.
func (d *diff) covered(table int, sk key.Scalar) bool {
	return d.s.fresh || d.s.spec.Whole || d.s.spec.Contains(table, sk)
}

func (d *diff) notLoaded(it *schema.Item, at place) {
	d.fail(&NotLoadedError{Model: d.c.schema.Label(), Field: it.Name, Key: d.c.public(at)})
}

func (d *diff) singleton(it *schema.Item) {
	sk, err := d.c.sortKey(it, d.keyFields, d.v, codec.Pos{})
	if err != nil {
		d.fail(err)
		return
	}
	at := place{it.Table.Index, d.pk, sk}
	record := d.c.codec.Record(it.Index)
	if rows := d.s.rows[it.Index]; len(rows) == 1 && rows[0].place == at && !it.Opaque && !d.expiryChanged && record.Equal(d.v, d.s.old) {
		d.keep(it, rows[0], codec.Pos{})
		return
	}
	if !d.covered(at.table, at.sk) {
		if d.differs(it, nil, d.s.old, d.v) || d.expiryChanged {
			d.notLoaded(it, at)
		}
		return
	}
	r, away := d.stored(it, at)
	for _, old := range away {
		d.delete(it, old)
	}
	present := it == d.c.schema.Root || record.Present(d.v)
	switch {
	case r == nil && !present:
	case r == nil && len(away) > 0:
		d.put(it, at, d.v, codec.Pos{}, away[0])
	case r == nil:
		d.put(it, at, d.v, codec.Pos{}, nil)
	case !present && d.differs(it, r, d.s.old, d.v):
		if len(r.unknown) > 0 && !it.Pointer {
			d.update(it, r, d.s.old, d.v, codec.Pos{}, true)
		} else {
			d.delete(it, r)
		}
	default:
		d.update(it, r, d.s.old, d.v, codec.Pos{}, false)
	}
}

// stored returns a singleton's row at a place, and the rows of places that the
// entity moves away from.
func (d *diff) stored(it *schema.Item, at place) (r *row, away []*row) {
	for _, x := range d.s.rows[it.Index] {
		if x.place == at {
			r = x
		} else {
			away = append(away, x)
		}
	}
	return r, away
}

// differs reports whether an item's attributes are not as they are stored.
func (d *diff) differs(it *schema.Item, r *row, old, rec any) bool {
	record := d.c.codec.Record(it.Index)
	if !record.Equal(old, rec) {
		// The comparison of typed values may be too strict: encode and see.
		sets, removes, _ := d.compare(it, r, old, rec, false)
		return len(sets)+len(removes) > 0 || r != nil && record.Present(old) != record.Present(rec)
	}
	for i, a := range it.Attributes {
		if a.Opaque {
			now, err := record.Encode(rec, i)
			if err != nil || !attr.Same(now, d.storedOpaque(it, r, old, i)) {
				return true
			}
		}
	}
	return false
}

// storedOpaque is what an opaque attribute is compared with: its value in the
// row, or without one what the snapshot's zero value encodes to.
func (d *diff) storedOpaque(it *schema.Item, r *row, old any, i int) types.AttributeValue {
	if r != nil {
		return r.opaque[i]
	}
	av, _ := d.c.codec.Record(it.Index).Encode(old, i)
	return av
}

// elements compares a slice or map.
func (d *diff) elements(it *schema.Item) {
	elements := d.c.codec.Elements(it.Index)
	if d.unchangedElements(it, elements) {
		for _, r := range d.s.rows[it.Index] {
			d.keep(it, r, r.pos)
		}
		return
	}
	// Of an entity that moves, an element may be stored at both places.
	stored := make(map[key.Scalar]*row, len(d.s.rows[it.Index]))
	for _, r := range d.s.rows[it.Index] {
		if stored[r.sk] == nil || r.pk == d.pk {
			stored[r.sk] = r
		}
	}
	seen := make(map[key.Scalar]codec.Pos, elements.Len(d.v))
	elements.Each(d.v, func(pos codec.Pos, rec any) bool {
		d.element(it, elements, stored, seen, pos, rec)
		return true
	})
	for _, r := range d.s.rows[it.Index] {
		if _, ok := seen[r.sk]; !ok || r.pk != d.pk {
			d.delete(it, r)
		}
	}
}

// unchangedElements is the short way for elements that are as they were, in
// their order: nothing is rendered or encoded, but opaque attributes.
func (d *diff) unchangedElements(it *schema.Item, elements codec.Elements) bool {
	return !d.s.fresh && !d.expiryChanged && !d.moves && !it.Opaque && elements.Equal(d.v, d.s.old)
}

func (d *diff) element(it *schema.Item, elements codec.Elements, stored map[key.Scalar]*row, seen map[key.Scalar]codec.Pos, pos codec.Pos, rec any) {
	if rec == nil {
		d.fail(fmt.Errorf("%s.%s: %s is nil, and an item has to hold something: remove it", d.c.schema.Label(), it.Name, posName(pos)))
		return
	}
	if o := d.unreadKeyField(it); o != "" {
		d.fail(&NotLoadedError{Model: d.c.schema.Label(), Field: it.Name, needs: o + ","})
		return
	}
	sk, err := d.c.sortKey(it, d.keyFields, rec, pos)
	if err != nil {
		d.fail(fmt.Errorf("%w (%s)", err, posName(pos)))
		return
	}
	at := place{it.Table.Index, d.pk, sk}
	if first, ok := seen[sk]; ok {
		d.fail(fmt.Errorf("%s.%s: %s and %s have one key, %s: make a field that the template names differ", d.c.schema.Label(), it.Name, posName(first), posName(pos), sk))
		return
	}
	seen[sk] = pos
	r := stored[sk]
	switch {
	case r != nil && r.place == at:
		d.update(it, r, elements.At(d.s.old, r.pos), rec, pos, false)
	case !d.covered(at.table, at.sk):
		d.notLoaded(it, at)
	case r != nil: // the same sort key, in the partition that it moves away from
		d.put(it, at, rec, pos, r)
	default:
		d.put(it, at, rec, pos, d.moved(it, stored, rec, pos))
	}
}

// moved returns the row of an element whose key changed with its owner's, so
// that attributes that the model does not know move with it.
func (d *diff) moved(it *schema.Item, stored map[key.Scalar]*row, rec any, pos codec.Pos) *row {
	if !d.moves {
		return nil
	}
	sk, err := d.c.sortKey(it, d.oldKeyFields, rec, pos)
	if err != nil {
		return nil
	}
	return stored[sk]
}

func posName(p codec.Pos) string {
	if p.Key != nil {
		return fmt.Sprintf("the entry %v", p.Key)
	}
	return "the element " + strconv.Itoa(p.Index)
}

// keep notes an item that is not written.
func (d *diff) keep(it *schema.Item, r *row, pos codec.Pos) {
	r.order = pos.Index
	if !d.wantSame {
		return
	}
	d.same = append(d.same, &change{place: r.place, kind: KindCheck, item: it, row: r, oldSize: r.size, newSize: r.size})
}

func (d *diff) delete(it *schema.Item, r *row) {
	d.add(&change{place: r.place, kind: KindDelete, item: it, row: r, oldSize: r.size})
}

// encode returns an attribute's value, checked.
func (d *diff) encode(it *schema.Item, rec any, i int) (types.AttributeValue, error) {
	av, err := d.c.codec.Record(it.Index).Encode(rec, i)
	if err == nil {
		err = attr.Check(av)
	}
	if err != nil {
		a := it.Attributes[i]
		return nil, fmt.Errorf("%s.%s: attribute %q: %w", d.c.schema.Label(), a.Value.Name, a.Name, err)
	}
	return av, nil
}

// expiry returns the value of the TTL attribute that the library itself sets on
// an item, nil for none.
func (d *diff) expiry(it *schema.Item, v, rec any) types.AttributeValue {
	if it.Expiry == nil || it.Attribute(d.c.schema.TTL) >= 0 {
		return nil
	}
	record := d.c.codec.Record(it.Index)
	if it.ExpiryOfRoot {
		record, rec = d.c.codec.Record(d.c.schema.Root.Index), v
	}
	at, ok := record.Expiry(rec)
	if !ok {
		return nil
	}
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
}

// compare returns the attributes that differ from what is stored. With clear, all
// that are stored are removed.
func (d *diff) compare(it *schema.Item, r *row, old, rec any, clear bool) (sets, removes []assignment, err error) {
	record := d.c.codec.Record(it.Index)
	for i, a := range it.Attributes {
		if clear {
			if r.sizes[i] > 0 {
				removes = append(removes, assignment{name: a.Name, index: i})
			}
			continue
		}
		if !a.Opaque && record.Same(old, rec, i) {
			continue
		}
		now, err := d.encode(it, rec, i)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case (r == nil || !a.Distinct) && attr.Same(d.was(it, r, old, i), now):
		case now != nil:
			sets = append(sets, assignment{a.Name, i, now})
		case r == nil || r.sizes[i] > 0:
			removes = append(removes, assignment{name: a.Name, index: i})
		}
	}
	was, now := d.expiry(it, d.s.old, old), d.expiry(it, d.v, rec)
	switch {
	case attr.Same(was, now):
	case now != nil:
		sets = append(sets, assignment{d.c.schema.TTL, expiryIndex, now})
	case r == nil || r.expiry > 0:
		removes = append(removes, assignment{name: d.c.schema.TTL, index: expiryIndex})
	}
	return sets, removes, nil
}

// was returns what an attribute is stored as, or would be.
func (d *diff) was(it *schema.Item, r *row, old any, i int) types.AttributeValue {
	if it.Attributes[i].Opaque {
		return d.storedOpaque(it, r, old, i)
	}
	av, _ := d.c.codec.Record(it.Index).Encode(old, i)
	return av
}

// update compares a stored item's attributes, and notes those that differ.
func (d *diff) update(it *schema.Item, r *row, old, rec any, pos codec.Pos, clear bool) {
	sets, removes, err := d.compare(it, r, old, rec, clear)
	if err != nil {
		d.fail(err)
		return
	}
	if len(sets)+len(removes) == 0 {
		d.keep(it, r, pos)
		return
	}
	r.order = pos.Index
	ch := &change{
		place: r.place, kind: KindUpdate, item: it, row: r, rec: rec, pos: pos,
		attributes: sets, removed: removes, oldSize: r.size,
	}
	ch.newSize = r.size + d.versionGrowth(it, r)
	for _, a := range sets {
		ch.newSize += cost.AttributeSize(a.name, a.value) - r.stored(a.index)
	}
	for _, a := range removes {
		ch.newSize -= r.stored(a.index)
	}
	if d.needsPut(ch) {
		if err := d.replace(ch); err != nil {
			d.fail(err)
			return
		}
	}
	d.add(ch)
}

func (d *diff) add(ch *change) {
	if ch.newSize > cost.MaxItem {
		d.fail(d.c.tooLarge(ch))
		return
	}
	if err := d.c.comparable(ch); err != nil {
		d.fail(err)
		return
	}
	d.changes = append(d.changes, ch)
}

// stored returns the size of a stored attribute by its index in an assignment.
func (r *row) stored(index int) int {
	if index == expiryIndex {
		return r.expiry
	}
	return int(r.sizes[index])
}

// versionGrowth is what a write adds to an item beside its attributes: the
// version, if it had none, less the staged attempt, which the write drops unless
// it is the root's, to which other items refer.
func (d *diff) versionGrowth(it *schema.Item, r *row) int {
	n := 0
	if name := d.c.schema.Version; name != "" {
		n = len(name) + tokenSize
		if r.version != nil {
			n -= cost.AttributeSize(name, r.version)
		}
	}
	if r.attempt != nil && it != d.c.schema.Root {
		n -= cost.AttributeSize(schema.Attempt, r.attempt)
	}
	return n
}

// put notes a new item. from is the row that it moves away from, or nil.
func (d *diff) put(it *schema.Item, at place, rec any, pos codec.Pos, from *row) {
	ch := &change{place: at, kind: KindPut, item: it, rec: rec, pos: pos, ghost: d.s.ghosts[at]}
	if it.ExpiryOfRoot && !d.s.fresh && len(d.s.rows[d.c.schema.Root.Index]) == 0 {
		d.notLoaded(d.c.schema.Root, at)
		return
	}
	if err := d.fill(ch, from); err != nil {
		d.fail(err)
		return
	}
	if ch.ghost != nil {
		ch.oldSize = ch.ghost.size
	}
	ch.unread = d.s.fresh && ch.ghost == nil && d.c.schema.TTL != ""
	d.add(ch)
}

// unreadKeyField returns the name of a field of the owner that an item's key names and
// that was not loaded, "" for none: the key would be that of another item.
func (d *diff) unreadKeyField(it *schema.Item) string {
	if d.s.unread == nil || it.Key == nil {
		return ""
	}
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && d.s.unread[src.KeyField] {
			return d.c.schema.KeyFields[src.KeyField].Name
		}
	}
	return ""
}

// fill encodes all attributes of a put. from holds unknown ones to take along.
func (d *diff) fill(ch *change, from *row) error {
	ch.attributes = nil
	ch.put = d.c.reader.Key(ch.table, ch.pk, ch.sk)
	set := func(a assignment) {
		if a.value != nil {
			ch.attributes = append(ch.attributes, a)
			ch.put[a.name] = a.value
		}
	}
	for i, a := range ch.item.Attributes {
		av, err := d.encode(ch.item, ch.rec, i)
		if err != nil {
			return err
		}
		set(assignment{a.Name, i, av})
	}
	expiry := d.expiry(ch.item, d.v, ch.rec)
	if ch.row != nil && ch.item.ExpiryOfRoot && len(d.s.rows[d.c.schema.Root.Index]) == 0 {
		expiry = ch.row.ttl // the root, which tells it, was not loaded
	}
	set(assignment{d.c.schema.TTL, expiryIndex, expiry})
	if from != nil {
		for name, v := range from.unknown {
			set(assignment{name, unknownIndex, v})
		}
	}
	ch.newSize = cost.ItemSize(ch.put)
	if name := d.c.schema.Version; name != "" {
		ch.newSize += len(name) + tokenSize
	}
	return nil
}

// updateGate is the size near the limit from which UpdateItem is avoided: it has
// been seen to refuse there what Put accepts (cost.md, Limits).
const updateGate = 400_000

// needsPut reports whether an update has to be a put of the whole item: its
// expression would be over a limit, or the item is near its own.
func (d *diff) needsPut(ch *change) bool {
	if ch.newSize > updateGate && ch.newSize <= cost.MaxItem {
		return true
	}
	// One SET or REMOVE each, and the version, and the attempt.
	if len(ch.attributes)+len(ch.removed)+2 > cost.MaxOperators {
		return true
	}
	// No assignment is longer than "#1000 = :1000, ".
	if 16*(len(ch.attributes)+len(ch.removed)+2) < cost.MaxExpression {
		return false
	}
	return len(d.c.updateExpression(&expression{}, ch)) > cost.MaxExpression
}

// replace makes an update a put of the whole item, on its version.
func (d *diff) replace(ch *change) error {
	changed, removed := slices.Clone(ch.attributes), ch.removed
	if err := d.fill(ch, ch.row); err != nil {
		return err
	}
	if ch.item == d.c.schema.Root && ch.row.attempt != nil {
		ch.put[schema.Attempt] = ch.row.attempt
		ch.newSize += cost.AttributeSize(schema.Attempt, ch.row.attempt)
	}
	// What was cleared is not put again.
	for _, a := range removed {
		if v, ok := ch.put[a.name]; ok {
			ch.newSize -= cost.AttributeSize(a.name, v)
			delete(ch.put, a.name)
			ch.attributes = slices.DeleteFunc(ch.attributes, func(x assignment) bool { return x.name == a.name })
		}
	}
	ch.kind, ch.removed = KindPut, removed
	for _, a := range append(changed, removed...) {
		ch.shown = append(ch.shown, a.name)
	}
	return nil
}
