package change

import (
	"errors"
	"io"
	"maps"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
)

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

// SettleAll makes the lazy values of a saved value read from their storage, unless they are in memory.
// This includes the values that were unchanged.
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

// KeepReaders notes which readers the lazy values of a model's value were given that can be read once. One
// that has given all it has in a try before gives that again. The error is of one that two values were
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
		if was := r.was[from]; was != nil && !l.Gives(was) && l.Ended() {
			l.Give(was)
		}
		r.now[from] = l.Input()
		return true
	})
	return err
}
