package snapshot

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// Effect is the result of an applied write for one item.
type Effect struct {
	item.Place
	Item *schema.Item
	// Stored is the item as it was known, nil for a new one. From is the item that a new one moved away from, or nil.
	Stored, From *Stored
	// Record is the value that is stored now, nil if no record changed or the item is deleted. Pos is
	// its position in the value.
	Record any
	Pos    codec.Pos
	// Deleted reports that the item was deleted.
	Deleted bool
	// Put is the whole item of one that was put, without its version; of others nil.
	Put item.Attributes
	// Set and Removed are the attributes that have a new value, or none any more.
	Set, Removed []item.Assignment
	// Plain are the values of external attributes that are inexact now, by index.
	Plain   map[int]types.AttributeValue
	Version types.AttributeValue
	// Size is the item's size in bytes.
	Size int
}

// Keys are the keys of a value that was saved.
type Keys struct {
	Value     any
	KeyFields []key.Value
	Partition key.Partition
}

// Apply updates the snapshot by the items that were written, and by their values.
func (s *Snapshot) Apply(keys Keys, effects []Effect) {
	for i := range effects {
		if !effects[i].Deleted {
			delete(s.Hidden, effects[i].Place)
		}
	}
	for i := range effects {
		it := effects[i].Item
		if slices.ContainsFunc(effects[:i], func(e Effect) bool { return e.Item == it }) {
			continue // with the first of its kind
		}
		if it.Element() {
			s.applyElements(it, keys.Value, ofItem(effects[i:], it))
		} else {
			s.applyFixedItem(it, ofItem(effects[i:], it))
		}
	}
	if s.Fresh && s.Root() != nil {
		s.Fresh = false
		s.Arrive(keys)
	}
}

// ofItem returns the effects on one kind of item.
func ofItem(effects []Effect, it *schema.Item) []Effect {
	if len(effects) == 1 {
		return effects
	}
	n := 0
	for i := range effects {
		if effects[i].Item == it {
			n++
		}
	}
	if n == len(effects) {
		return effects
	}
	out := make([]Effect, 0, n)
	for i := range effects {
		if effects[i].Item == it {
			out = append(out, effects[i])
		}
	}
	return out
}

// Arrive takes over the keys of the saved value: when the root of a new entity is stored, or when a
// moved entity is complete.
func (s *Snapshot) Arrive(to Keys) {
	same := len(s.KeyFields) > 0 && len(to.KeyFields) > 0 && &s.KeyFields[0] == &to.KeyFields[0]
	if same && s.Partition == to.Partition {
		return // they are where they were
	}
	identity := s.Model.Identity(to.KeyFields)
	unchanged := s.Selection.Err == nil && slices.EqualFunc(s.Selection.Identity, identity, key.Value.Equal)
	if s.Selection.Err != nil || s.Selection.Whole && !unchanged {
		s.Selection = selection.Entity(s.Model.Schema, identity)
	}
	s.Partition, s.KeyFields = to.Partition, to.KeyFields
	s.Model.Codec.CloneKeyFields(s.Old, to.Value)
}

// Forget drops items that were deleted.
func (s *Snapshot) Forget(effects []Effect) {
	for i := range effects {
		s.Apply(Keys{}, effects[i:i+1])
	}
}

// Remove drops the item of a kind at a place, if the snapshot has it.
func (s *Snapshot) Remove(it *schema.Item, at item.Place) {
	for _, r := range s.Items[it.Index] {
		if r.Place == at {
			s.Apply(Keys{}, []Effect{{Place: at, Item: it, Stored: r, Deleted: true}})
			return
		}
	}
}

func (s *Snapshot) applyFixedItem(it *schema.Item, effects []Effect) {
	record := s.Model.Codec.Record(it.Index)
	for i := range effects {
		e := &effects[i]
		items := s.Items[it.Index]
		switch {
		case e.Deleted:
			items = slices.DeleteFunc(items, func(r *Stored) bool { return r == e.Stored })
			if len(items) == 0 {
				record.Clone(s.Old, s.Model.Codec.New())
			}
		case e.Stored == nil:
			// Of an item that moves, that of the old place stays until it is deleted.
			r, first := newAlone(it)
			items = append(append(first, s.stored(e, r)), items...)
			record.Clone(s.Old, e.Record)
		default:
			s.stored(e, nil)
			if e.Record != nil {
				record.Clone(s.Old, e.Record)
			}
		}
		s.Items[it.Index] = items
	}
}

// applyElements applies the effects on a slice or map. v is the saved value, nil for none.
func (s *Snapshot) applyElements(it *schema.Item, v any, effects []Effect) {
	elements, record := s.Model.Codec.Elements(it.Index), s.Model.Codec.Record(it.Index)
	fresh := newStored(effects, it)
	if len(s.Items[it.Index]) == 0 && v != nil && len(fresh) == len(effects) && len(fresh) == elements.Len(v) {
		s.adoptElements(it, v, effects, fresh)
		return
	}
	clone := func(rec any) any {
		n := elements.NewElement()
		record.Clone(n, rec)
		return n
	}
	removed := map[*Stored]bool{}
	added := make(map[*Stored]any, len(fresh))
	copies := elements.NewElements(len(fresh)) // of the records of new items
	s.Items[it.Index] = slices.Grow(s.Items[it.Index], len(fresh))
	for i := range effects {
		e := &effects[i]
		switch {
		case e.Deleted:
			removed[e.Stored] = true
		case e.Stored != nil:
			r := s.stored(e, nil)
			if e.Record != nil {
				elements.Set(s.Old, r.Pos, clone(e.Record))
			}
		default:
			r := s.stored(e, &fresh[len(added)])
			r.Pos.Key, r.Order = e.Pos.Key, e.Pos.Index
			record.Clone(copies[len(added)], e.Record)
			added[r] = copies[len(added)]
			s.Items[it.Index] = append(s.Items[it.Index], r)
		}
	}
	if len(removed)+len(added) > 0 {
		s.rebuild(it, removed, added)
	}
}

// adoptElements takes over all elements of a saved value, none of which was stored before.
func (s *Snapshot) adoptElements(it *schema.Item, v any, effects []Effect, fresh []Stored) {
	s.Model.Codec.Elements(it.Index).Clone(s.Old, v)
	items := make([]*Stored, len(effects))
	for i := range effects {
		items[i] = s.stored(&effects[i], &fresh[i])
		items[i].Pos, items[i].Order = effects[i].Pos, effects[i].Pos.Index
	}
	slices.SortStableFunc(items, func(a, b *Stored) int { return a.Order - b.Order })
	s.Items[it.Index] = items
}

// rebuild rebuilds the values of a slice or map, in the order of the saved value.
func (s *Snapshot) rebuild(it *schema.Item, removed map[*Stored]bool, added map[*Stored]any) {
	elements := s.Model.Codec.Elements(it.Index)
	items := slices.DeleteFunc(s.Items[it.Index], func(r *Stored) bool { return removed[r] })
	slices.SortStableFunc(items, func(a, b *Stored) int { return a.Order - b.Order })
	recs := make([]any, len(items))
	for i, r := range items {
		if recs[i] = added[r]; recs[i] == nil {
			recs[i] = elements.At(s.Old, r.Pos)
		}
	}
	elements.Reset(s.Old, len(items))
	for i, r := range items {
		r.Pos.Index = i
		elements.Append(s.Old, r.Pos.Key, recs[i])
	}
	s.Items[it.Index] = items
}

// newAlone returns what will be known of a new item, and an empty list with room for it.
func newAlone(it *schema.Item) (r *Stored, list []*Stored) {
	a := &struct {
		Stored
		list  [1]*Stored
		sizes [8]int32
	}{}
	if a.Sizes = a.sizes[:]; len(it.Attributes) > len(a.sizes) {
		a.Sizes = make([]int32, len(it.Attributes))
	}
	a.Sizes = a.Sizes[:len(it.Attributes):len(it.Attributes)]
	return &a.Stored, a.list[:0]
}

// newStored returns what will be known of the items that effects have made, side by side in memory.
func newStored(effects []Effect, it *schema.Item) []Stored {
	n := 0
	for i := range effects {
		if !effects[i].Deleted && effects[i].Stored == nil {
			n++
		}
	}
	all, per := make([]Stored, n), len(it.Attributes)
	sizes := make([]int32, n*per)
	for i := range all {
		all[i].Sizes = sizes[i*per : (i+1)*per : (i+1)*per]
	}
	return all
}

// stored returns the record of an item that was written; a new item gets fresh.
func (s *Snapshot) stored(e *Effect, fresh *Stored) *Stored {
	r := e.Stored
	if r == nil {
		r = fresh
		r.Place = e.Place
	}
	r.Header.Version = e.Version
	if e.Version == nil {
		r.Raw = rawAfter(r, e)
	} else {
		r.Raw = nil
	}
	inexact := r.Inexact
	if e.From != nil {
		inexact = e.From.Inexact
	}
	inexact = maps.Clone(inexact)
	var had []bool // the attributes that were stored, of an item that is put
	if e.Put != nil {
		for i := range r.Sizes {
			had = append(had, r.ReadAs(e.Item, i) != "")
		}
		clear(r.Sizes)
		r.Header.Expiry, r.Expiry, r.Index = nil, 0, nil
	}
	for _, a := range e.Set {
		r.set(s.Model.Reserved, e.Item, a)
		if _, was := inexact[a.Index]; was && a.Index >= 0 && a.Value != nil {
			s.stillInexact(r, e, a)
		}
	}
	for _, a := range e.Removed { // after a value has its new name
		r.set(s.Model.Reserved, e.Item, a)
	}
	for i, v := range e.Plain {
		keep(&r.Plain, i, v)
	}
	if e.Put != nil {
		for i, n := range r.Sizes {
			if n == 0 && had[i] {
				r.forget(i)
			}
		}
		r.Former = nil
		h := s.Model.Reserved.Header(e.Put)
		r.Header.Incarnation, r.Header.Stage = h.Incarnation, h.Stage
	}
	r.Size = e.Size
	s.keepCompared(e, r)
	return r
}

// keepCompared keeps the encodings of opaque attributes, with which later values are compared: AfterLoad may have
// changed the fields of stored values that the write keeps, and items without versions keep all stored values in Raw.
func (s *Snapshot) keepCompared(e *Effect, r *Stored) {
	if e.Record == nil || !e.Item.Opaque || !s.Model.Schema.Hooks && s.Model.Reserved.Versions() {
		return
	}
	for i, a := range e.Item.Attributes {
		if !a.Opaque || a.Large.External() {
			continue
		}
		if own, err := s.Model.Codec.Record(e.Item.Index).Encode(e.Record, i); err == nil {
			keep(&r.Opaque, i, attr.Copy(own))
		}
	}
}

// forget forgets the value of an attribute, which is not stored any more.
func (r *Stored) forget(i int) {
	delete(r.Opaque, i)
	delete(r.Seen, i)
	delete(r.Inexact, i)
	delete(r.Packed, i)
	delete(r.Plain, i)
}

// stillInexact notes a value that was inexact: parts of it may be as they were stored.
func (s *Snapshot) stillInexact(r *Stored, e *Effect, a item.Assignment) {
	keep(&r.Inexact, a.Index, a.Value)
	if !e.Item.Attributes[a.Index].Opaque || e.Record == nil {
		return
	}
	if own, err := s.Model.Codec.Record(e.Item.Index).Encode(e.Record, a.Index); err == nil {
		keep(&r.Opaque, a.Index, attr.Copy(own)) // with which later values are compared
	}
}

// rawAfter returns the whole item that an effect makes of one.
func rawAfter(r *Stored, e *Effect) item.Attributes {
	raw := maps.Clone(r.Raw)
	switch {
	case e.Put != nil:
		raw = attr.CopyItem(e.Put)
	case raw == nil:
		raw = e.Key()
	}
	for _, a := range e.Removed {
		delete(raw, a.Name)
	}
	for _, a := range e.Set {
		raw[a.Name] = attr.Copy(a.Value)
	}
	return raw
}

// set notes an attribute's new value, nil for a removed one.
func (r *Stored) set(names item.Reserved, it *schema.Item, a item.Assignment) {
	n := 0
	if a.Value != nil {
		n = attr.AttributeSize(a.Name, a.Value)
	}
	switch {
	case a.Index == item.Expiry:
		r.Header.Expiry, r.Expiry = a.Value, n
	case a.Index == item.Indexed:
		r.setIndex(it, it.DerivedKey(a.Name), a.Value)
	case a.Index == item.Former:
		i := slices.IndexFunc(r.Former, func(f Former) bool { return f.Name == a.Name })
		if i < 0 {
			return
		}
		of := r.Former[i].Attribute
		r.Former = slices.Delete(r.Former, i, i+1)
		if r.Sizes[of] == 0 { // its value was that of the old name
			r.forget(of)
		}
	case a.Index >= 0:
		r.Sizes[a.Index] = int32(n)
		delete(r.Inexact, a.Index)
		l := it.Attributes[a.Index].Large
		// a put, and a new name, write the external value again that the item had
		if !l.External() || !attr.Same(r.Opaque[a.Index], a.Value) {
			delete(r.Seen, a.Index)
			delete(r.Plain, a.Index)
		}
		if l != nil && !l.External() {
			keep(&r.Packed, a.Index, a.Value)
		}
		if it.Attributes[a.Index].Opaque {
			keep(&r.Opaque, a.Index, attr.Copy(a.Value))
		}
	case names.Set(&r.Header, a):
	default: // one that moved along with its item
		if r.Unknown == nil {
			r.Unknown = item.Attributes{}
		}
		r.Unknown[a.Name] = a.Value
	}
}
