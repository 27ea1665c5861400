package field

import (
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/expr"
)

// Map is the handle of a map inside an attribute: M is its type, K that of its keys, and H
// the handle of an entry.
type Map[R, M any, K comparable, H any] struct {
	value[R, M]
	entry func(Entry) H
}

// Entry is an entry of a map, of which generated code makes a handle.
type Entry struct{ is handle }

// NewMap returns the handle of a map; entry makes that of an entry. For generated code.
func NewMap[R any, M ~map[K]E, K comparable, E, H any](name, tag string, at func(*R) *M, f codec.Typed[M], entry func(Entry) H) Map[R, M, K, H] {
	return Map[R, M, K, H]{newValue(name, tag, at, f), entry}
}

// Key returns the handle of the entry at a key. What changes it requires that the map is
// stored, or makes it: with that entry alone.
func (h *Map[R, M, K, H]) Key(k K) *H {
	e := h.entry(Entry{h.is.at(k)})
	return &e
}

// Size is the number of the map's entries, to compare with.
func (h *Map[R, M, K, H]) Size() Size[R] { return Size[R]{&h.is} }

// at returns the handle of an entry, without a form.
func (h *handle) at(k any) handle {
	if h.row.Form == nil {
		return handle{}
	}
	text, err := h.row.Form.Entries.Text(k)
	e := handle{under: expr.Field{{Attribute: text}}.Under(h.way()), options: h.options.Elem(), entry: true}
	if err == nil && text == "" {
		err = errEmptyKey
	}
	e.err = err
	return e
}

// of completes the handle of an entry with its form.
func (e Entry) of(f *codec.Form) handle {
	h := e.is
	h.row.Form = f
	return h
}

// EntryValue returns the handle of an entry, and the others those of the types that have
// handles of their own. For generated code.
func EntryValue[R, V any](e Entry, f codec.Typed[V]) Value[R, V] {
	return Value[R, V]{e.of(f.Untyped())}
}

// EntryBool is described at EntryValue.
func EntryBool[R any, V ~bool](e Entry) Bool[R, V] {
	return Bool[R, V]{EntryValue[R](e, codec.BoolOf[V]())}
}

// EntryNumber is described at EntryValue.
func EntryNumber[R any, V number](e Entry) Number[R, V] {
	return Number[R, V]{EntryValue[R](e, codec.NumericOf[V]())}
}

// EntryString is described at EntryValue.
func EntryString[R any, V ~string](e Entry) String[R, V] {
	return String[R, V]{EntryValue[R](e, codec.StringOf[V]())}
}

// EntryBytes is described at EntryValue.
func EntryBytes[R any, V ~[]byte](e Entry) Bytes[R, V] {
	return Bytes[R, V]{EntryValue[R](e, codec.BytesOf[V]())}
}

// EntryTime is described at EntryValue.
func EntryTime[R, V any](e Entry) Time[R, V] {
	return Time[R, V]{EntryValue[R](e, codec.TimeOf[V]())}
}

// EntryStruct is described at EntryValue.
func EntryStruct[R, S any](e Entry, f codec.Typed[S]) Struct[R, S] {
	return Struct[R, S]{EntryValue[R](e, f)}
}
