package change

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// external is a value of an attribute that may be outside its item.
type external struct {
	*extern.Encoded
	index int
	// value is the external value, nil for one that stays in the item.
	value *extern.Value
}

// Values are the values that changes store outside their items.
func Values(changes []*Change) []*extern.Value {
	var all []*extern.Value
	for _, ch := range changes {
		for i := range ch.external {
			if v := ch.external[i].value; v != nil {
				all = append(all, v)
			}
		}
	}
	return all
}

// Point makes changes point to values that were stored for such changes before, in the order of Values.
func Point(changes []*Change, to []*extern.Value) {
	n := 0
	for _, ch := range changes {
		for i := range ch.external {
			x := &ch.external[i]
			if x.value == nil {
				continue
			}
			x.value = to[n]
			n++
			v := x.stored()
			for j := range ch.Set {
				if ch.Set[j].Index == x.index {
					ch.Set[j].Value = v
				}
			}
			if ch.Put != nil {
				ch.Put[ch.Item.Attributes[x.index].Name] = v
			}
		}
	}
}

// Renew gives the values of changes new ids.
func Renew(changes []*Change, now time.Time) {
	all := Values(changes)
	for i, v := range all {
		fresh := *v
		fresh.ID = extern.NewID(now)
		all[i] = &fresh
	}
	Point(changes, all)
}

// plainly returns the value of an attribute as it is before it is compressed or leaves its item, checked; nil for none.
func plainly(m *model.Model, it *schema.Item, rec any, i int) (types.AttributeValue, error) {
	v, err := m.Codec.Record(it.Index).Plain(rec, i)
	if err == nil {
		err = attr.Check(v)
	}
	if err != nil {
		a := it.Attributes[i]
		return nil, m.ValueErrorf(a.Value.Name, "attribute %q: %w", a.Name, err)
	}
	return v, nil
}

// sameLarge compares a value that may be external with the stored value, or, without an item, with the snapshot's,
// and returns it as it would be inside the item.
func (d *differ) sameLarge(rec model.Record, r *snapshot.Stored, old any, i int) (now types.AttributeValue, same bool,
	err error,
) {
	it := rec.Item
	now, err = plainly(d.m, it, rec.Value, i)
	switch {
	case err != nil && r != nil:
		return nil, false, at(r.Place, err)
	case err != nil:
		return nil, false, err
	case r != nil:
		return graftLarge(d.m, r, it, i, now)
	}
	was, _ := d.m.Codec.Record(it.Index).Plain(old, i)
	return now, attr.Same(was, now), nil
}

// graftLarge returns the value to store for a value that may be external, grafted onto an inexact stored value, and
// reports whether it is the stored value.
func graftLarge(m *model.Model, r *snapshot.Stored, it *schema.Item, i int, now types.AttributeValue) (
	_ types.AttributeValue, same bool, err error,
) {
	plain, was, a := r.Plain[i], r.Opaque[i], it.Attributes[i]
	_, hooked := r.Seen[i]
	switch {
	case r.IsSeen(i, now):
		return now, true, nil
	case now == nil || was == nil:
		return now, was == nil && now == nil, nil
	case hooked:
		return now, false, nil
	case plain == nil:
		return now, extern.Same(was, now, m.Codecs, a.Text(), attr.Same), nil
	}
	if now, err = m.Codec.Record(it.Index).Graft(i, plain, now); err != nil {
		return nil, false, m.ValueErrorf(a.Value.Name, "attribute %q: %w", a.Name, err)
	}
	return now, attr.Same(plain, now), nil
}

// attribute returns the value of an attribute as it is written, nil for none: an unchanged value that may be external
// is the stored one.
func (ch *Change) attribute(m *model.Model, i int) (types.AttributeValue, error) {
	if !ch.Item.Attributes[i].Large.External() {
		return encode(m, ch.Item, ch.Record, i, nil)
	}
	if j := slices.IndexFunc(ch.external, func(o external) bool { return o.index == i }); j >= 0 {
		return ch.external[j].stored(), nil
	}
	now, err := plainly(m, ch.Item, ch.Record, i)
	if err != nil || now == nil && ch.Stored == nil {
		return nil, err
	}
	switch same := false; {
	case ch.Stored != nil:
		if now, same, err = graftLarge(m, ch.Stored, ch.Item, i, now); same {
			return ch.Stored.Opaque[i], nil
		}
	case ch.From != nil && ch.From.Plain[i] != nil:
		now, _, err = graftLarge(m, ch.From, ch.Item, i, now)
	}
	if err != nil || now == nil {
		return nil, err
	}
	// a new value, which the change records
	return ch.encode(m, i, now)
}

// encode notes a new value of an attribute.
func (ch *Change) encode(m *model.Model, i int, now types.AttributeValue) (types.AttributeValue, error) {
	a := ch.Item.Attributes[i]
	if _, out := extern.PointerOf(now); out { // each item has its own, so that what another item points to is copied
		c := cellOf(m, ch.Item, ch.Record, i)
		if c == nil {
			return nil, m.ValueErrorf(a.Value.Name, "attribute %q: it points to a large value, but no field has that "+
				"attribute", a.Name)
		}
		v, err := c.External(a, m.Codecs, ch.Place, m.Now(), m.PartSize)
		if err != nil {
			return nil, m.ValueErrorf(a.Value.Name, "attribute %q: %w", a.Name, err)
		}
		return ch.note(external{index: i, value: v}), nil
	}
	e, err := extern.Encode(now, m.Codecs, a)
	if err != nil {
		return nil, m.ValueErrorf(a.Value.Name, "attribute %q: %w", a.Name, err)
	}
	if n := e.Length(); m.MaxValue > 0 && n > m.MaxValue && !a.Value.Type.Lazy {
		return nil, m.ValueErrorf(a.Value.Name, "attribute %q: its %s are over the limit of %s for reading: "+
			"raise the limit (mapper.MaxValue)", a.Name, attr.Bytes(n), attr.Bytes(m.MaxValue))
	}
	if from := cmp.Or(ch.Stored, ch.From); from != nil && from.Plain[i] != nil {
		ch.plain = maps.Clone(ch.plain)
		if ch.plain == nil {
			ch.plain = map[int]types.AttributeValue{}
		}
		ch.plain[i] = now
	}
	x := external{Encoded: e, index: i}
	size := attr.ValueSize(e.In)
	if a.Large.Inline > 0 && size >= a.Large.Inline || size > cost.MaxItem {
		x.value = e.External(a, ch.Place, m.Now(), m.PartSize)
	}
	return ch.note(x), nil
}

// note notes a value, and returns it as its item holds it.
func (ch *Change) note(x external) types.AttributeValue {
	ch.external = append(slices.DeleteFunc(ch.external, func(o external) bool { return o.index == x.index }), x)
	return x.stored()
}

// stored returns the value as its item holds it.
func (x *external) stored() types.AttributeValue {
	if x.value != nil {
		return x.value.Pointer.Attribute()
	}
	return x.In
}

// spill takes values out of an item that is too large with them, the largest first, until it fits.
func (ch *Change) spill(m *model.Model) error {
	for ch.NewSize > cost.MaxItem {
		most, at := 0, -1
		for i, a := range ch.Item.Attributes {
			if n := ch.inline(i); a.Large.External() && n > most {
				most, at = n, i
			}
		}
		if at < 0 {
			return nil // no part of it may be outside the item
		}
		if err := ch.takeOut(m, at); err != nil {
			return err
		}
	}
	return nil
}

// leastOut is the size below which taking a value out makes no item smaller, since its pointer takes as much, in bytes.
const leastOut = 512

// inline returns the size of an attribute that is in the item, 0 for an external one.
func (ch *Change) inline(i int) int {
	now := ch.now(i)
	if now == nil {
		return 0
	}
	if _, out := extern.PointerOf(now); out {
		return 0
	}
	if ch.Stored != nil && ch.Put == nil {
		if _, hooked := ch.Stored.Seen[i]; hooked &&
			!slices.ContainsFunc(ch.Set, func(a item.Assignment) bool { return a.Index == i }) {
			return 0 // the record differs from the stored value
		}
	}
	if n := attr.ValueSize(now); n >= leastOut {
		return n
	}
	return 0
}

// now returns what an attribute is written as, or is as it was read.
func (ch *Change) now(i int) types.AttributeValue {
	if j := slices.IndexFunc(ch.Set, func(a item.Assignment) bool { return a.Index == i }); j >= 0 {
		return ch.Set[j].Value
	}
	removed := slices.ContainsFunc(ch.Remove, func(a item.Assignment) bool { return a.Index == i })
	if ch.Put != nil || ch.Stored == nil || removed {
		return nil
	}
	return ch.Stored.Opaque[i]
}

// takeOut makes the value of an attribute an external value.
func (ch *Change) takeOut(m *model.Model, i int) error {
	a := ch.Item.Attributes[i]
	before := attr.AttributeSize(a.Name, ch.now(i))
	j := slices.IndexFunc(ch.external, func(o external) bool { return o.index == i })
	if j < 0 { // it is as it was
		now, err := plainly(m, ch.Item, ch.Record, i)
		if err == nil && ch.Stored != nil {
			now, _, err = graftLarge(m, ch.Stored, ch.Item, i, now)
		}
		if err == nil {
			_, err = ch.encode(m, i, now)
		}
		if err != nil {
			return err
		}
		j = len(ch.external) - 1
	}
	x := &ch.external[j]
	if x.value == nil {
		x.value = x.External(a, ch.Place, m.Now(), m.PartSize)
	}
	set := item.Assignment{Name: a.Name, Index: i, Value: x.stored()}
	ch.Set = append(slices.DeleteFunc(ch.Set, func(o item.Assignment) bool { return o.Index == i }), set)
	if ch.Put != nil {
		ch.Put[a.Name] = set.Value
	}
	ch.NewSize += set.Size() - before
	return nil
}

// Settle makes the lazy values of changes whose requests were applied be read from where they are
// stored now, unless they are in memory.
func Settle(m *model.Model, changes []*Change, requests []*write.Request) {
	if m.Source == nil {
		return
	}
	eachChange(changes, requests, func(ch *Change, _ *write.Request) {
		for i := range ch.external {
			x := &ch.external[i]
			if c := cellOf(m, ch.Item, ch.Record, x.index); c != nil && c.Elsewhere(ch.Place, x.stored()) {
				l := lazy{it: ch.Item, attr: x.index, Cell: c}
				l.readFrom(m, ch.Place, x.stored())
			}
		}
	})
}

// SettleAll makes the lazy values of a saved value, also unchanged ones, read from their storage, unless they are in
// memory.
func SettleAll(s *snapshot.Snapshot, v any) {
	m := s.Model
	if m.Source == nil {
		return
	}
	var of *schema.Item
	all := map[item.Place]*snapshot.Stored{}
	lazies(m, v, func(l lazy) bool {
		if of != l.it {
			of = l.it
			for _, r := range s.Items[of.Index] {
				all[r.Place] = r
			}
		}
		sk, err := m.SortKey(model.Record{Item: l.it, Value: l.rec, Pos: l.pos}, s.KeyFields)
		at := m.Place(l.it, s.Partition, sk)
		r := all[at]
		if err != nil || r == nil || r.Opaque[l.attr] == nil || !l.Elsewhere(at, r.Opaque[l.attr]) {
			return false
		}
		l.readFrom(m, at, r.Opaque[l.attr])
		return true
	})
}

// cellOf returns the cell of a lazy attribute, nil of another one, and where there is no struct that holds it.
func cellOf(m *model.Model, it *schema.Item, rec any, i int) *extern.Cell {
	if rec == nil || !it.Attributes[i].Value.Type.Lazy {
		return nil
	}
	p := m.Codec.Record(it.Index).Field(rec, i)
	if p == nil {
		return nil
	}
	return extern.CellOf(p)
}

// lazy is a lazy value in a value of the model.
type lazy struct {
	it   *schema.Item
	attr int
	rec  any
	pos  codec.Pos
	*extern.Cell
}

// lazies calls do with each lazy value of a model's value that holds something; it reports whether it has changed that.
func lazies(m *model.Model, v any, do func(lazy) bool) {
	for _, it := range m.Schema.Items {
		if !it.HasLazy() {
			continue
		}
		each := func(pos codec.Pos, rec any) bool {
			changed := false
			for i := range it.Attributes {
				if c := cellOf(m, it, rec, i); c != nil && !c.Empty() {
					changed = do(lazy{it, i, rec, pos, c}) || changed
				}
			}
			if changed && it.Map() { // rec is a copy
				m.Codec.Elements(it.Index).Set(v, pos, rec)
			}
			return true
		}
		if it.Element() {
			m.Codec.Elements(it.Index).Each(v, each)
		} else {
			each(codec.Pos{}, v)
		}
	}
}

// readFrom makes it be read from where it is stored.
func (l *lazy) readFrom(m *model.Model, at item.Place, stored types.AttributeValue) {
	a := l.it.Attributes[l.attr]
	l.Settle(stored, m.Source(&item.Image{Place: at, Kind: l.it}, a, a.Name))
}

// Readers are the readers that values were given: in tries before, and in that of now.
type Readers struct{ was, now map[io.Reader]*extern.Input }

// Next begins another try.
func (r *Readers) Next() {
	if r.was == nil {
		r.was = map[io.Reader]*extern.Input{}
	}
	maps.Copy(r.was, r.now)
	r.now = nil
}

// errTwice says that one reader is to give two values.
var errTwice = errors.New("another value has the same reader, which can be read only once: give each a reader of " +
	"its own, or copy the Value")

// KeepReaders notes the readers of a value's lazy values that can be read once, and refuses one that two values were
// given.
func (r *Readers) KeepReaders(m *model.Model, v any) error {
	if m.Source == nil {
		return nil
	}
	if r.now == nil {
		r.now = map[io.Reader]*extern.Input{}
	}
	var err error
	lazies(m, v, func(l lazy) bool {
		from, once := l.StreamInput()
		if !once || !reflect.ValueOf(from).Comparable() {
			return false
		}
		if other := r.now[from]; other != nil && !l.Gives(other) {
			err = m.ValueErrorf(l.it.Attributes[l.attr].Value.Name, "%w", errTwice)
			return false
		}
		// One that has given all it has in a try before gives that again.
		if was := r.was[from]; was != nil && !l.Gives(was) && l.Ended() {
			l.Give(was)
		}
		r.now[from] = l.Input()
		return true
	})
	return err
}
