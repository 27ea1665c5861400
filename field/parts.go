package field

import (
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/naming"
)

// some returns a change by elements. Without elements it changes nothing.
func (h *handle) some(kind expr.Kind, v any, n int) []expr.Change {
	if n == 0 {
		return []expr.Change{h.change(expr.Nothing)}
	}
	return []expr.Change{h.changing(kind, v)}
}

// contains returns the condition that the value at v is an element.
func (h *handle) contains(v any) expr.Condition {
	if err := h.usable(); err != nil {
		return h.failed(err)
	}
	elem := h.row.Form.List.Elem
	e := handle{row: codec.Row{Name: h.row.Name, Tag: h.row.Tag, Form: elem}, options: h.options.Elem()}
	return e.function("contains", v)
}

// entryIn returns the handle of an entry, of the given type.
func (h *handle) entryIn(t reflect.Type, k any) any {
	e := reflect.New(t.Elem()).Interface()
	*(*handle)(reflect.ValueOf(e).UnsafePointer()) = h.at(k)
	return e
}

// at returns the handle of an entry.
func (h *handle) at(k any) handle {
	if h.row.Form == nil {
		return handle{}
	}
	text, err := h.row.Form.Entries.Text(k)
	e := handle{
		row:     codec.Row{Form: h.row.Form.Entries.Elem, In: &h.row, Key: text},
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

// lift turns changes of the struct's fields into changes of its owner.
func (h *handle) lift(all [][]expr.Change) []expr.Change {
	changes := slices.Concat(all...)
	if len(changes) == 0 {
		return []expr.Change{h.change(expr.Nothing)}
	}
	if c := h.change(expr.Set); c.Err != nil {
		return []expr.Change{c}
	}
	for i, c := range changes {
		if h.row.At == nil {
			c.Apply = nil // an entry has no position of its own
		}
		changes[i] = c.Under(h.fieldPath(), h.part)
	}
	return changes
}

// part returns a pointer to the struct in a record, and creates it if it is missing.
func (h *handle) part(rec any) any {
	p := h.row.At(rec)
	if h.row.Form.Pointer != nil {
		return h.row.Form.Pointer.Allocate(p)
	}
	return p
}

// where turns a condition on the struct's fields into one on its owner.
func (h *handle) where(c expr.Condition) expr.Condition {
	if err := h.usable(); err != nil {
		return h.failed(err)
	}
	if err := h.raw(c); err != nil {
		return h.failed(err)
	}
	return expr.Under(h.fieldPath(), c)
}

// raw checks the attribute names of an SDK condition against those of the struct.
func (h *handle) raw(c expr.Condition) error {
	names := h.row.Form.AttributeNames()
	for _, f := range c.Fields {
		name := f[0].Attribute
		if !c.Raw || f[0].Name != "" || slices.Contains(names, name) {
			continue
		}
		return fmt.Errorf("the attribute %q is unknown: the struct does not store it%s", name, naming.Hint(name, names))
	}
	return nil
}
