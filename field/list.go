package field

import (
	"reflect"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
)

// List is the handle of a slice that is stored as a list.
// It also has the methods of [Value]: Set, SetIfAbsent, Remove, Equal, NotEqual, In, Exists, Absent.
type List[R, E any] struct{ value[R, []E] }

//go:noinline
func (h *List[R, E]) bind(is handle) { h.is = unnamed[E](is) }

// unnamed returns the handle of a slice whose values have the unnamed slice type.
func unnamed[E any](h handle) handle {
	f := h.row.Form
	h.as = func(v any) any {
		to := reflect.ValueOf(f.New())
		if s, ok := v.(*[]E); ok && to.Type() != reflect.TypeFor[*[]E]() {
			to.Elem().Set(reflect.ValueOf(*s).Convert(to.Type().Elem()))
			return to.Interface()
		}
		return v
	}
	return h
}

// Append appends elements to the list. A missing list counts as empty. An append is never applied
// twice.
//
//go:noinline
func (h *List[R, E]) Append(elements ...E) Change[R] {
	return changeOf[R](h.is.some(expr.Append, &elements, len(elements)))
}

// Contains is the condition that an element of the list is v.
//
//go:noinline
func (h *List[R, E]) Contains(v E) Condition[R] {
	return Condition[R]{h.is.contains(&v)}
}

// Size is the number of elements, for comparisons.
//
//go:noinline
func (h *List[R, E]) Size() *Size[R] { return &Size[R]{&h.is} }

// Set is the handle of a slice that is stored as a set (option stringset, numberset or binaryset). It
// also has the methods of [Value]: Set, SetIfAbsent, Remove, Equal, NotEqual, In, Exists, Absent.
type Set[R, E any] struct{ value[R, []E] }

//go:noinline
func (h *Set[R, E]) bind(is handle) { h.is = unnamed[E](is) }

// Add adds elements to the set. Elements that it has already stay.
//
//go:noinline
func (h *Set[R, E]) Add(elements ...E) Change[R] {
	return changeOf[R](h.is.some(expr.AddElements, &elements, len(elements)))
}

// Delete deletes elements from the set. Elements that it does not have are ignored.
//
//go:noinline
func (h *Set[R, E]) Delete(elements ...E) Change[R] {
	return changeOf[R](h.is.some(expr.DeleteElements, &elements, len(elements)))
}

// Contains is the condition that v is an element of the set.
//
//go:noinline
func (h *Set[R, E]) Contains(v E) Condition[R] {
	return Condition[R]{h.is.contains(&v)}
}

// Size is the number of elements, for comparisons.
//
//go:noinline
func (h *Set[R, E]) Size() *Size[R] { return &Size[R]{&h.is} }

// some returns a change by elements. Without elements it changes nothing.
func (h *handle) some(kind expr.Kind, v any, n int) expr.Change {
	if n == 0 {
		return h.change(expr.Nothing)
	}
	return h.changing(kind, v)
}

// contains returns the condition that the value at v is an element.
func (h *handle) contains(v any) expr.Condition {
	if err := h.usable(); err != nil {
		return h.failed(err)
	}
	elem := h.row.Form.List.Elem
	e := handle{row: codec.Row{Name: h.row.Name, Tag: h.row.Tag, Form: elem}, options: h.options.Elem()}
	return e.call("contains", v)
}
