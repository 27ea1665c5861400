package snapshot

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Element is a decoded element.
type Element struct {
	Stored *Stored
	Record any
	MapKey any
	values []key.Value // of the placeholders in its key
}

// Identify sets the fields of v that the entity is known by to what its keys say: a
// date's midnight, if the key holds no more of an instant.
func (s *Snapshot) Identify(v any) error {
	m := s.Model
	for i, value := range s.Selection.Identity[:m.Schema.Identities()] {
		k, source := m.Schema.KeyOf(i)
		f := k.Format(source)
		var room [64]byte
		text, err := f.Append(room[:0], value, k.Template.Delim)
		if err == nil {
			value, _ = f.Parse(string(text), k.Template.Delim)
			err = m.Codec.SetKeyField(v, i, value)
		}
		if err != nil {
			return m.StoredErrorf(m.Schema.KeyFields[i].Name, item.Place{}, "%w", err)
		}
	}
	return nil
}

// Decode sets the fields of v from the items, and remembers them.
func (s *Snapshot) Decode(v any, images []item.Image) error {
	m := s.Model
	elements := make([][]Element, len(m.Schema.Items))
	all := make([]Stored, len(images))
	room := roomFor(m, images)
	for i := range images {
		f, r := &images[i], &all[i]
		r.fill(m, f)
		if !f.Kind.Element() {
			if err := DecodeItem(m, f, v); err != nil {
				return err
			}
			s.Items[f.Kind.Index] = []*Stored{r}
			continue
		}
		r.Pos.Index = -1 // until setElements has placed it: one whose key holds another value of a key field stays out
		free := &room[f.Kind.Index]
		e, err := decodeElement(m, f, r, (*free)[0])
		if err != nil {
			return err
		}
		*free = (*free)[1:]
		list := &elements[f.Kind.Index]
		if *list == nil {
			*list = make([]Element, 0, len(images)-i)
		}
		*list = append(*list, e)
	}
	if err := s.adoptKeyFields(v, elements); err != nil {
		return err
	}
	for i, it := range m.Schema.Items {
		if it.Element() {
			s.setElements(v, it, elements[i])
		}
	}
	if err := s.afterLoad(v); err != nil {
		return err
	}
	s.remember(v)
	s.keepStored(images, all, v)
	return nil
}

// afterLoad calls the model's method AfterLoad, which may set fields and sort elements, but change no
// keys, add no elements and take none away.
func (s *Snapshot) afterLoad(v any) error {
	m := s.Model
	if !m.Schema.Hooks {
		return s.checkIdentity(v)
	}
	codec.AfterLoad(v)
	keyFields, err := m.KeyFields(v)
	if err != nil {
		return err
	}
	for _, it := range m.Schema.Items {
		if !it.Element() {
			continue
		}
		if err := s.refreshElements(v, it, keyFields); err != nil {
			return err
		}
	}
	return s.checkIdentity(v)
}

// refreshElements finds the elements of a slice or map again, wherever they are now.
func (s *Snapshot) refreshElements(v any, it *schema.Item, keyFields []key.Value) error {
	m := s.Model
	bySK := make(map[key.Scalar]*Stored, len(s.Items[it.Index]))
	for _, r := range s.Items[it.Index] {
		bySK[r.SK] = r
	}
	items := make([]*Stored, 0, len(bySK))
	var failed error
	m.Codec.Elements(it.Index).Each(v, func(p codec.Pos, rec any) bool {
		sk, err := m.SortKey(model.Record{Item: it, Value: rec, Pos: p}, keyFields)
		r := bySK[sk]
		if failed = err; err == nil && r == nil {
			failed = m.FieldErrorf(it.Name,
				"AfterLoad added an element, or changed the key of one to %s: do that after the load", sk)
		}
		if failed != nil {
			return false
		}
		delete(bySK, sk)
		r.Pos = p
		items = append(items, r)
		return true
	})
	switch {
	case failed != nil:
		return failed
	case len(bySK) > 0:
		return m.FieldErrorf(it.Name,
			"AfterLoad removed elements, which a save would not notice: do that after the load")
	}
	s.Items[it.Index] = items
	return nil
}

// roomFor returns new elements for the items that are elements, by the index of their
// kind.
func roomFor(m *model.Model, images []item.Image) [][]any {
	counts, some := make([]int, len(m.Schema.Items)), false
	for i := range images {
		if images[i].Kind.Element() {
			counts[images[i].Kind.Index]++
			some = true
		}
	}
	if !some {
		return nil
	}
	room := make([][]any, len(counts))
	for i, n := range counts {
		if n > 0 {
			room[i] = m.Codec.Elements(i).NewElements(n)
		}
	}
	return room
}

// DecodeItem sets an item's attributes in a record.
func DecodeItem(m *model.Model, f *item.Image, rec any) error {
	codec := m.Codec.Record(f.Kind.Index)
	some, scanned := false, f.Wire.Shape != nil
	if scanned {
		var i int
		var err error
		if some, i, err = codec.ScanItem(rec, f.Wire, f.At); err != nil {
			a := f.Kind.Attributes[i]
			return notDecoded(m, f, a, fmt.Errorf("attribute %q: %w", a.Name, err))
		}
	}
	for i, a := range f.Kind.Attributes {
		if scanned && a.Straight {
			continue
		}
		name, value := stored(f, a)
		if value == nil {
			continue
		}
		some = true
		if _, out := extern.PointerOf(value); out && a.Large != nil && !a.Large.External() {
			return m.StoredErrorf(a.Value.Name, f.Place,
				"item %s: its value was stored outside of the item, but the tag "+
					"lacks the option: add chunk or s3= again", f.Place)
		}
		if a.Value.Type.Lazy {
			if err := codec.Decode(rec, i, value); err != nil {
				return m.StoredErrorf(a.Value.Name, f.Place, "item %s: attribute %q: %w", f.Place, name, err)
			}
			if m.Source != nil {
				extern.CellOf(codec.Field(rec, i)).From(m.Source(f, a, name))
			}
			continue
		}
		if _, out := extern.PointerOf(value); out && a.Large.External() {
			v := f.Loaded[name]
			switch {
			case v == nil && f.Partial:
				continue
			case v == nil:
				return m.StoredErrorf(a.Value.Name, f.Place,
					"item %s: its external value was not read: load it", f.Place)
			}
			if err := codec.Decode(rec, i, extern.Plainly(v)); err != nil {
				return m.StoredErrorf(a.Value.Name, f.Place, "item %s: the value that attribute %q points to: %w",
					f.Place, name,
					err)
			}
			continue
		}
		if err := codec.Decode(rec, i, value); err != nil {
			return notDecoded(m, f, a, fmt.Errorf("attribute %q: %w", name, err))
		}
	}
	if f.Projection != nil {
		if err := readKeys(m, f, rec); err != nil {
			return err
		}
	}
	// A root exists even if it is empty, so its existence does not show whether its pointer was nil.
	if !m.IsRoot(f.Kind) || some {
		codec.Allocate(rec)
	}
	codec.AfterLoad(rec)
	return nil
}

// readKeys sets the fields that only the keys of the item's index hold.
func readKeys(m *model.Model, f *item.Image, rec any) error {
	e := f.Projection.Entry
	if e == nil {
		return nil
	}
	for _, a := range f.Kind.Attributes {
		k, source := e.KeyOf(a)
		if k == nil || f.Projection.Reads(a.Name) {
			continue
		}
		values := make([]key.Value, len(k.Sources))
		s, ok := attr.ScalarOf(f.Attribute(k.Name))
		if !ok || !k.Template.Parse(s, values) {
			return m.StoredErrorf(a.Value.Name, f.Place,
				"item %s: the index key %q does not have the form %s: write it again "+
					"with Reindex", f.Place, k.Name, k.Text)
		}
		record := m.Codec.Record(f.Kind.Index)
		if err := record.SetIndexKey(rec, f.Kind.DerivedKey(k.Name), source, values[source]); err != nil {
			return m.StoredErrorf(a.Value.Name, f.Place, "item %s: the index key %q: %w", f.Place, k.Name, err)
		}
	}
	return nil
}

// notDecoded is the error of an attribute that does not decode: damage where it is that of a large value.
func notDecoded(m *model.Model, f *item.Image, a *schema.Attribute, err error) error {
	var damaged *extern.Damaged
	if errors.As(err, &damaged) {
		return &extern.CorruptError{Model: m.Label(), Field: a.Value.Name, Item: f.String(), Err: err}
	}
	if _, v := stored(f, a); a.Large == nil && extern.Framed(v) {
		err = fmt.Errorf("%w: it was stored compressed, but the tag lacks the option: add compress= again", err)
	}
	return m.StoredErrorf(a.Value.Name, f.Place, "item %s: %w", f.Place, err)
}

// stored returns an attribute's value, under its name or else the latest of those that it had
// before; nil for none.
func stored(f *item.Image, a *schema.Attribute) (string, types.AttributeValue) {
	if v := f.Attribute(a.Name); v != nil || len(a.Was) == 0 {
		return a.Name, v
	}
	for _, name := range a.Was {
		if v := f.Attribute(name); v != nil {
			return name, v
		}
	}
	return a.Name, nil
}

// DecodeElement makes an element of an item.
func DecodeElement(m *model.Model, f *item.Image) (any, error) {
	return new(Elements).Decode(m, f, 1)
}

// Elements are new elements of a kind, made many at a time.
type Elements struct {
	// Make returns pointers to so many new zero elements; nil for those that the codec makes.
	Make func(n int) []any

	kind *schema.Item
	room []any
}

// Decode makes an element of an item, one of at most so many of its kind that may follow, itself included.
func (e *Elements) Decode(m *model.Model, f *item.Image, most int) (any, error) {
	if e.kind != f.Kind || len(e.room) == 0 {
		e.kind = f.Kind
		if e.Make != nil {
			e.room = e.Make(most)
		} else {
			e.room = m.Codec.Elements(f.Kind.Index).NewElements(most)
		}
	}
	rec := e.room[0]
	e.room = e.room[1:]
	_, err := decodeElement(m, f, nil, rec)
	return rec, err
}

// decodeElement sets an element, rec, from an item.
func decodeElement(m *model.Model, f *item.Image, r *Stored, rec any) (Element, error) {
	it := f.Kind
	elements := m.Codec.Elements(it.Index)
	e := Element{Stored: r, Record: rec, values: f.Values}
	for i, src := range it.Key.Sources {
		var err error
		switch {
		case src.From == schema.FromModel, src.Repeats:
		case src.From == schema.FromMapKey:
			e.MapKey, err = elements.FromKey(f.Values[i])
		default:
			err = m.Codec.Record(it.Index).SetKey(rec, i, f.Values[i])
		}
		if err != nil {
			return e, m.StoredErrorf(it.Name, f.Place, "item %s: %w", f.Place, err)
		}
	}
	if err := DecodeItem(m, f, rec); err != nil {
		return e, err
	}
	for _, i := range it.KeyStored {
		value, err := m.Codec.Record(it.Index).Key(rec, i)
		if err != nil || !m.SameInKey(it.Key, i, value, f.Values[i]) {
			return e, m.StoredErrorf(it.Name, f.Place,
				"item %s: its attribute and its key have different values of %s, as "+
					"another "+
					"program wrote them: correct one of them", f.Place, it.Key.Sources[i].Text)
		}
	}
	if !m.Schema.Hooks {
		return e, nil
	}
	for i, src := range it.Key.Sources {
		if src.From != schema.FromElement && src.From != schema.FromSelf {
			continue
		}
		value, err := m.Codec.Record(it.Index).Key(rec, i)
		if err != nil || !m.SameInKey(it.Key, i, value, f.Values[i]) {
			return e, m.FieldErrorf(it.Name, "item %s: AfterLoad changed %s, which its key names: set other fields",
				f.Place, src.Text)
		}
	}
	return e, nil
}

// setElements fills a slice or map with the decoded elements, in the order of their keys.
func (s *Snapshot) setElements(v any, it *schema.Item, all []Element) {
	slices.SortStableFunc(all, func(a, b Element) int { return key.Compare(a.Stored.SK, b.Stored.SK) })
	elements := s.Model.Codec.Elements(it.Index)
	elements.Reset(v, len(all))
	items := make([]*Stored, len(all))
	for i, e := range all {
		elements.Append(v, e.MapKey, e.Record)
		e.Stored.Pos = codec.Pos{Index: i, Key: e.MapKey}
		items[i] = e.Stored
	}
	s.Items[it.Index] = items
}

// remember takes the snapshot of the values of v as they are stored.
func (s *Snapshot) remember(v any) {
	c := s.Model.Codec
	c.CloneKeyFields(s.Old, v)
	for i, it := range s.Model.Schema.Items {
		if it.Element() {
			c.Elements(i).Clone(s.Old, v)
		} else {
			c.Record(i).Clone(s.Old, v)
		}
	}
}

// keepOpaque keeps the encodings of the record's opaque attributes. Later values are compared with
// these, and not with the stored form, unless a value has no encoding.
func (s *Snapshot) keepOpaque(f *item.Image, r *Stored, rec any) {
	for i, a := range f.Kind.Attributes {
		if a.Large.External() && s.Model.Schema.Hooks && !a.Value.Type.Lazy {
			r.see(s.Model, f.Kind, rec, i)
		}
		if !a.Opaque || a.Large.External() {
			continue
		}
		v, err := s.Model.Codec.Record(f.Kind.Index).Encode(rec, i)
		if err != nil {
			v = storedValue(f, a)
		}
		keep(&r.Opaque, i, attr.Copy(v))
	}
}

// see keeps the digest of a value that AfterLoad may have changed outside the item.
func (r *Stored) see(m *model.Model, it *schema.Item, rec any, i int) {
	v, err := m.Codec.Record(it.Index).Plain(rec, i)
	if err != nil {
		return
	}
	if r.Seen == nil {
		r.Seen = map[int][32]byte{}
	}
	r.Seen[i] = seenAs(v)
}

// IsSeen reports whether a value of an external attribute, nil for none, is as AfterLoad has left it, and the stored
// value has not changed since then.
func (r *Stored) IsSeen(i int, now types.AttributeValue) bool {
	seen, hooked := r.Seen[i]
	return hooked && seen == seenAs(now)
}

// seenAs returns the digest of a value, nil for none.
func seenAs(v types.AttributeValue) [32]byte {
	if v == nil {
		return [32]byte{1} // no value has it
	}
	return extern.Digest(v)
}
