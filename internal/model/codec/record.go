package codec

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request/wire"
)

// record is the codec of one item's records.
type record struct {
	item       *schema.Item
	codecs     compression.Codecs
	root       *Form // of the records
	attributes []attribute
	keys       []inModelKey // by source; unused for those that are no fields of the element
	// pointer is the field of a singleton that is one pointer.
	pointer      Path
	pointerForm  *Form
	derived      [][]inModelKey // by index in Derived, and source; unused for those that are no fields of the record
	expiry       Path
	expiryForm   *Form
	part         Path
	partForm     *Form
	wholeRecords bool // the form's functions compare and copy whole records
	spread       []spread
}

// attribute is one attribute: the way to its field, and the field's form.
type attribute struct {
	*schema.Attribute
	path    Path
	form    *Form
	plain   *Form // of a large value before it is compressed
	parts   *Form // with the forms of its parts, also of an opaque value
	options Options
	// set is that of the form, nil for none and where a pointer is on the way, and offset is where the field is.
	set    func(p unsafe.Pointer, v wire.Value, o Options) bool
	offset uintptr
}

// spread is a struct whose fields are attributes of the item: the way to it.
type spread struct {
	path Path
	form *Form
}

// spreads returns the structs that are spread over an item.
func spreads(it *schema.Item, root *Form) []spread {
	var all []spread
	var seen [][]int
	for _, a := range it.Attributes {
		if a.Place == 0 || a.Place == len(a.Value.Path) {
			continue
		}
		prefix := a.Value.Path[:a.Place]
		if slices.ContainsFunc(seen, func(s []int) bool { return slices.Equal(s, prefix) }) {
			continue
		}
		seen = append(seen, prefix)
		path, f := root.Path(prefix)
		all = append(all, spread{path, f})
	}
	return all
}

func newRecord(it *schema.Item, root *Form, codecs compression.Codecs) *record {
	r := &record{item: it, codecs: codecs, root: root, spread: spreads(it, root)}
	for _, a := range it.Attributes {
		x := attribute{Attribute: a, options: OptionsOf(a.AV.Options)}
		x.path, x.form = root.Path(a.Value.Path)
		x.parts = x.form
		if a.Value.Type.Opaque() {
			x.parts = reflectedOf(x.form.Type) // which generated code does not have
			x.form = Opaque(x.form, a.AV.Options, NamesOf(a.Value.Type))
		}
		x.plain = x.form
		if l := a.Large; l != nil {
			x.form = packed(x.form, codecs, compression.Name(l.Codec), a.Text())
		}
		if offset, ok := root.offset(a.Value.Path); ok {
			x.set, x.offset = x.form.set, offset
		}
		r.attributes = append(r.attributes, x)
	}
	if it.Expiry != nil && (!it.ExpiryOfRoot || !it.Element()) {
		r.expiry, r.expiryForm = root.Path(it.Expiry.Path)
	}
	for _, k := range it.Derived {
		in := make([]inModelKey, len(k.Sources))
		for i, src := range k.Sources {
			if inRecord(src) {
				in[i] = newInModelKey(root, src.Value, k.Format(i).Value)
			}
		}
		r.derived = append(r.derived, in)
	}
	if it.Element() {
		for i, src := range it.Key.Sources {
			if !r.named(i) {
				r.keys = append(r.keys, inModelKey{})
				continue
			}
			r.keys = append(r.keys, newInModelKey(root, src.Value, it.Key.Format(i).Value))
		}
		r.wholeRecords = root.Table != nil && root.Table.Compared && !it.HasExternal()
		return r
	}
	if it.Field != nil {
		r.part, r.partForm = root.Path(it.Field.Path)
		if it.Pointer {
			r.pointer, r.pointerForm = r.part, r.partForm
		}
	}
	return r
}

// named reports whether a placeholder names a field of the element, or it itself.
func (r *record) named(source int) bool { return inRecord(r.item.Key.Sources[source]) }

// inRecord reports whether a placeholder names a field of the record, or it itself.
func inRecord(src schema.Source) bool {
	return src.From == schema.FromElement || src.From == schema.FromSelf || src.From == schema.FromItem
}

func (r *record) Encode(rec any, i int) (types.AttributeValue, error) {
	a := &r.attributes[i]
	p := a.path.At(rec)
	if p == nil {
		return nil, nil
	}
	return a.form.Encode(p, a.options)
}

func (r *record) Plain(rec any, i int) (types.AttributeValue, error) {
	a := &r.attributes[i]
	p := a.path.At(rec)
	if p == nil {
		return nil, nil
	}
	v, err := a.plain.Encode(p, a.options)
	if _, null := v.(*types.AttributeValueMemberNULL); null && a.Value.Type.Lazy {
		v = nil // it holds nothing
	}
	return v, err
}

func (r *record) Field(rec any, i int) any { return r.attributes[i].path.At(rec) }

func (r *record) Decode(rec any, i int, value types.AttributeValue) error {
	a := &r.attributes[i]
	return a.form.Decode(a.path.Make(rec), value, a.options)
}

func (r *record) Scan(rec any, i int, value wire.Value) error {
	return r.attributes[i].scan(rec, address(rec), value)
}

func (r *record) ScanItem(rec any, it wire.Item, at []int32) (some bool, attribute int, err error) {
	p := address(rec)
	for i := range r.attributes {
		if a := &r.attributes[i]; at[i] >= 0 && a.Straight {
			some = true
			if err := a.scan(rec, p, it.Value(int(at[i]))); err != nil {
				return some, i, err
			}
		}
	}
	return some, 0, nil
}

// scan sets the attribute's field in a record, which is at p.
func (x *attribute) scan(rec any, p unsafe.Pointer, value wire.Value) error {
	if x.set != nil && x.set(unsafe.Add(p, x.offset), value, x.options) {
		return nil
	}
	return x.form.Scan(x.path.Make(rec), value, x.options)
}

func (r *record) Exact(rec any, i int, value wire.Value) bool {
	a := &r.attributes[i]
	p := a.path.At(rec)
	return p != nil && a.form.Exact(p, value, a.options)
}

func (r *record) Graft(i int, stored, now types.AttributeValue) (types.AttributeValue, error) {
	a := &r.attributes[i]
	switch {
	case a.Large == nil, a.Large.External():
		return a.parts.Graft(stored, now, a.options)
	case stored == nil || now == nil || a.Text():
		return now, nil
	}
	from, err := extern.Unpack(stored, r.codecs, a.Text())
	if err != nil {
		return now, nil // it is damaged, and was not read
	}
	to, err := extern.Unpack(now, r.codecs, a.Text())
	if err != nil {
		return nil, err
	}
	grafted, err := a.parts.Graft(from, to, a.options)
	switch {
	case err != nil:
		return nil, err
	case attr.Same(grafted, from):
		return stored, nil
	case attr.Same(grafted, to):
		return now, nil
	}
	return extern.Pack(grafted, r.codecs, compression.Name(a.Large.Codec), a.Text())
}

func (r *record) AfterLoad(rec any) {
	for i := range r.spread {
		s := &r.spread[i]
		p := s.path.At(rec)
		if p != nil && s.form.Pointer != nil {
			p = s.form.Pointer.Load(p)
		}
		if p != nil {
			AfterLoad(p)
		}
	}
	if r.item.Element() {
		AfterLoad(rec)
	}
}

func (r *record) Same(a, b any, i int) bool { return r.attributes[i].same(a, b) }

func (x *attribute) same(a, b any) bool {
	p, q := x.path.At(a), x.path.At(b)
	if p == nil || q == nil {
		return p == nil && q == nil
	}
	return x.form.Same(p, q, x.options)
}

func (r *record) Equal(a, b any) bool {
	if r.wholeRecords {
		return r.root.Same(a, b, 0) && r.sameExpiry(a, b)
	}
	for i := range r.attributes {
		if x := &r.attributes[i]; !x.Opaque && !x.same(a, b) {
			return false
		}
	}
	for i := range r.keys {
		if r.named(i) && !r.keys[i].same(a, b) {
			return false
		}
	}
	if r.pointerForm != nil && r.isNil(a) != r.isNil(b) {
		return false
	}
	return r.sameExpiry(a, b)
}

// sameExpiry compares the fields that set the items' own expiry.
func (r *record) sameExpiry(a, b any) bool {
	if !r.expires() {
		return true
	}
	at, ok := r.Expiry(a)
	was, had := r.Expiry(b)
	return ok == had && at.Unix() == was.Unix()
}

// isNil reports whether the singleton's pointer is nil, or inside a nil pointer.
func (r *record) isNil(rec any) bool {
	p := r.pointer.At(rec)
	return p == nil || r.pointerForm.Pointer.Load(p) == nil
}

func (r *record) Clone(dst, src any) {
	if r.wholeRecords {
		r.root.Clone(dst, src)
		r.cloneExpiry(dst, src)
		return
	}
	if r.pointerForm != nil && !r.clonePointer(dst, src) {
		return
	}
	for i := range r.attributes {
		if x := &r.attributes[i]; !x.Opaque {
			x.clone(dst, src)
		}
	}
	for i := range r.keys {
		if r.named(i) {
			r.keys[i].clone(dst, src)
		}
	}
	r.cloneExpiry(dst, src)
}

// expires reports whether a field sets the items' own expiry.
func (r *record) expires() bool { return r.item.Expiry != nil && !r.item.ExpiryOfRoot }

func (r *record) cloneExpiry(dst, src any) {
	if r.expires() {
		if p := r.expiry.At(src); p != nil {
			r.expiryForm.Clone(r.expiry.Make(dst), p)
		}
	}
}

// clonePointer copies whether the item's pointer is nil, and gives dst a struct of its
// own. It reports whether there is one.
func (r *record) clonePointer(dst, src any) bool {
	if !r.isNil(src) {
		r.pointerForm.Pointer.Store(r.pointer.Make(dst), r.pointerForm.Pointer.Elem.New())
		return true
	}
	if p := r.pointer.At(dst); p != nil {
		r.pointerForm.Clear(p)
	}
	return false
}

func (x *attribute) clone(dst, src any) {
	if p := x.path.At(src); p != nil {
		x.form.Clone(x.path.Make(dst), p)
		return
	}
	// A nil struct on the way: nothing of it may be left in dst.
	x.path.ClearAs(dst, src, x.Place, x.form)
}

func (r *record) Present(rec any) bool {
	if r.pointerForm != nil {
		return !r.isNil(rec)
	}
	for i := range r.attributes {
		x := &r.attributes[i]
		present, decided := x.path.Present(rec, x.Place)
		if !decided {
			present = !x.form.IsZero(x.path.At(rec))
		}
		if present {
			return true
		}
	}
	return false
}

func (r *record) Allocate(rec any) {
	if r.pointerForm != nil {
		r.pointerForm.Pointer.Allocate(r.pointer.Make(rec))
	}
}

func (r *record) Part(rec any) any {
	p := r.part.Make(rec)
	if r.pointerForm != nil {
		return r.pointerForm.Pointer.Allocate(p)
	}
	return p
}

func (r *record) Expiry(rec any) (time.Time, bool) {
	if r.expiryForm == nil {
		return time.Time{}, false
	}
	p, f := r.expiry.At(rec), r.expiryForm
	if p != nil && f.Pointer != nil {
		p, f = f.Pointer.Load(p), f.Pointer.Elem
	}
	if p == nil {
		return time.Time{}, false
	}
	t := *f.Time(p)
	return t, !t.IsZero()
}

func (r *record) Key(rec any, source int) (key.Value, error) { return r.keys[source].get(rec) }

func (r *record) IndexKey(rec any, derived, source int) (key.Value, error) {
	v, err := r.derived[derived][source].get(rec)
	if errors.Is(err, errNilStruct) {
		return key.Value{Kind: key.String}, nil // no value, as in an empty text
	}
	return v, err
}

func (r *record) SetIndexKey(rec any, derived, source int, value key.Value) error {
	return r.derived[derived][source].set(rec, value)
}

func (r *record) SetKey(rec any, source int, value key.Value) error {
	if err := r.keys[source].set(rec, value); err != nil {
		return fmt.Errorf("%s: %w", r.item.Key.Sources[source].Text, err)
	}
	return nil
}
