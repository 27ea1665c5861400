package field

import (
	"reflect"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
)

// Map is the handle of a map inside an attribute. M is its type, K the type of its keys, and H that of
// the handle of an entry, which is a pointer. It also has the methods of [Value]: Set, SetIfAbsent,
// Remove, Equal, NotEqual, In, Exists, Absent.
type Map[R, M any, K comparable, H any] struct{ value[R, M] }

// Key returns the handle of the entry with a key. A change of the entry requires that the map is
// stored, or creates the map with that entry.
//
//go:noinline
func (h *Map[R, M, K, H]) Key(k K) H { return h.is.entryIn(reflect.TypeFor[H](), k).(H) }

// Size is the number of entries, for comparisons.
//
//go:noinline
func (h *Map[R, M, K, H]) Size() *Size[R] { return &Size[R]{&h.is} }

// entryIn returns the handle of an entry, of the given type.
func (h *handle) entryIn(t reflect.Type, k any) any {
	e := reflect.New(t.Elem()).Interface()
	e.(binder).bind(h.at(k))
	return e
}

// at returns the handle of an entry.
func (h *handle) at(k any) handle {
	if h.row.Form == nil {
		return handle{}
	}
	text, err := h.row.Form.Entries.Text(k)
	e := handle{
		row:     codec.Row{Form: h.row.Form.Entries.Elem},
		under:   expr.Field{{Attribute: text}}.Under(h.fieldPath()),
		options: h.options.Elem(), entry: true,
	}
	switch {
	case err != nil:
	case text == "":
		err = errEmptyKey
	case !utf8.ValidString(text):
		err = errKeyText
	}
	e.err = err
	return e
}
