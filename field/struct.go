package field

import (
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/naming"
)

// Struct is the handle of a struct, or of a pointer to one. The struct is one attribute, or its fields
// are spread over an item. It also has the methods of [Value]: Set, SetIfAbsent, Remove, Equal,
// NotEqual, In, Exists, Absent.
type Struct[R, S any] struct{ value[R, S] }

//go:noinline
func (h *Struct[R, S]) bind(is handle) {
	is.pointer = is.row.Form != nil && is.row.Form.Pointer != nil
	h.is = is
}

// Change changes fields of the struct and leaves the others unchanged.
//
//go:noinline
func (h *Struct[R, S]) Change(changes ...Change[S]) Change[R] {
	var all []expr.Change
	for _, c := range changes {
		all = append(all, c.changes...)
	}
	return Change[R]{h.is.lift(all)}
}

// Where returns a condition on the fields of the struct.
//
//go:noinline
func (h *Struct[R, S]) Where(c Condition[S]) Condition[R] {
	return Condition[R]{h.is.where(c.checked())}
}

// lift turns changes of the struct's fields into changes of its owner.
func (h *handle) lift(changes []expr.Change) []expr.Change {
	if len(changes) == 0 {
		return []expr.Change{h.change(expr.Nothing)}
	}
	if c := h.change(expr.Set); c.Err != nil {
		return []expr.Change{c}
	}
	all := make([]expr.Change, len(changes))
	for i, c := range changes {
		if h.row.At == nil {
			c.Apply = nil // an entry has no position of its own
		}
		all[i] = c.Under(h.fieldPath(), h.part)
	}
	return all
}

// part returns a pointer to the struct in a record, and creates it if it is missing.
func (h *handle) part(rec any) any {
	p := h.row.At(rec)
	if h.pointer {
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
