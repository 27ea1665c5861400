package change

import (
	"errors"
	"io"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/snapshot"
)

// lazy is a lazy value where it lies in a model's value.
type lazy struct {
	it   *schema.Item
	attr int
	rec  any
	pos  codec.Pos
	*large.Cell
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

// SettleAll makes the lazy values of what was saved be read from where they are stored, unless they are in memory: those too that
// were found to be what is stored.
func SettleAll(s *snapshot.Snapshot, v any) {
	m := s.Model
	if m.Source == nil {
		return
	}
	lazies(m, v, func(l lazy) bool {
		sk, err := m.SortKey(model.Record{Item: l.it, Value: l.rec, Pos: l.pos}, s.KeyFields)
		if err != nil {
			return false
		}
		at := m.Place(l.it, s.Partition, sk)
		if !l.Elsewhere(at) {
			return false
		}
		for _, r := range s.Items[l.it.Index] {
			if r.Place == at && r.Opaque[l.attr] != nil {
				l.settle(m, at, r.Opaque[l.attr])
				return true
			}
		}
		return false
	})
}

// settle makes it be read from where it is stored.
func (l *lazy) settle(m *model.Model, at item.Place, stored types.AttributeValue) {
	a := l.it.Attributes[l.attr]
	l.Settle(stored, m.Source(&item.Image{Place: at, Kind: l.it}, a, a.Name))
}

// Readers are the readers that values were given, and what was read of them.
type Readers map[io.Reader]*large.Given

// errTwice says that one reader is to give two values.
var errTwice = errors.New("its reader was given to another value too, and can be read once: give each a reader of its own, or copy the Value")

// Given notes which readers the lazy values of a model's value were given. One that was given before, in a try that is
// repeated, has given already what it has.
func (r Readers) Given(m *model.Model, v any) error {
	if m.Source == nil {
		return nil
	}
	var err error
	here := map[io.Reader]*large.Given{}
	lazies(m, v, func(l lazy) bool {
		from, once := l.GivenOnce()
		if !once || !reflect.TypeOf(from).Comparable() {
			return false
		}
		if other := here[from]; other != nil && !l.Gives(other) {
			err = m.ValueErrorf(l.it.Attributes[l.attr].Value.Name, "%w", errTwice)
			return false
		}
		if was := r[from]; was != nil {
			l.Give(was)
		}
		here[from] = l.Given()
		return true
	})
	for from, g := range here {
		r[from] = g
	}
	return err
}
