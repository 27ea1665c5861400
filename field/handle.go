package field

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/form"
)

// Of is any handle of a field of the struct R.
type Of[R any] interface {
	// Row returns the field as a row of its struct's table. It is for the library.
	Row(*R) form.Row
}

// Value is the handle of a field of the type V: what all handles can do.
type Value[R, V any] struct {
	row     form.Row
	options form.Options
	// put sets the field to a value, where a pointer to it is what is stored.
	put func(p any, v *V)
}

// newValue returns the handle of a field of the type V.
func newValue[R, V any](name, tag string, at func(*R) *V, f form.Typed[V]) Value[R, V] {
	return Value[R, V]{
		row: form.RowOf(name, tag, at, f), options: optionsOf(tag),
		put: func(p any, v *V) { *p.(*V) = *v },
	}
}

func optionsOf(tag string) form.Options {
	words := strings.Split(tag, ",")
	return form.OptionsOf(words[1:])
}

// Row returns the field as a row of its struct's table. It is for the library.
func (h Value[R, V]) Row(*R) form.Row { return h.row }

// encode returns a value as the field is stored, nil where it is left out.
func (h Value[R, V]) encode(v V) (types.AttributeValue, error) {
	p := h.row.Form.New()
	h.put(p, &v)
	av, err := h.row.Form.Encode(p, h.options)
	if err == nil {
		err = attr.Check(av)
	}
	return av, err
}

// field returns what a condition on the field is about.
func (h Value[R, V]) field() condition.Field {
	return condition.Field{Name: h.row.Name, Attribute: h.row.Attribute()}
}

// Equal is the condition that the field is v.
func (h Value[R, V]) Equal(v V) Condition[R] { return h.compare(" = ", v) }

// NotEqual is the condition that the field is not v.
func (h Value[R, V]) NotEqual(v V) Condition[R] { return h.compare(" <> ", v) }

// compare compares the field's attribute with a value. One that is left out is there
// where the attribute is not.
func (h Value[R, V]) compare(operator string, v V) Condition[R] {
	av, err := h.encode(v)
	switch {
	case err != nil:
		return h.failed(err)
	case av == nil && operator == " = ":
		return h.Absent()
	case av == nil && operator == " <> ":
		return h.Exists()
	case av == nil:
		return h.failed(errOmitted)
	}
	return h.condition(func(x condition.Expression, name string) string { return name + operator + x.Value(av) })
}

// In is the condition that the field is one of the values: up to 100.
func (h Value[R, V]) In(values ...V) Condition[R] {
	if len(values) == 0 || len(values) > maxIn {
		return h.failed(errIn)
	}
	all := make([]types.AttributeValue, len(values))
	for i, v := range values {
		av, err := h.encode(v)
		if err == nil && av == nil {
			err = errOmitted
		}
		if err != nil {
			return h.failed(err)
		}
		all[i] = av
	}
	return h.condition(func(x condition.Expression, name string) string {
		texts := make([]string, len(all))
		for i, av := range all {
			texts[i] = x.Value(av)
		}
		return name + " IN (" + strings.Join(texts, ", ") + ")"
	})
}

// Exists is the condition that the field's attribute is there.
func (h Value[R, V]) Exists() Condition[R] {
	return h.condition(func(_ condition.Expression, name string) string { return "attribute_exists(" + name + ")" })
}

// Absent is the condition that the field's attribute is not there.
func (h Value[R, V]) Absent() Condition[R] {
	return h.condition(func(_ condition.Expression, name string) string { return "attribute_not_exists(" + name + ")" })
}

func (h Value[R, V]) condition(render func(x condition.Expression, name string) string) Condition[R] {
	return Condition[R]{condition.New(h.field(), render)}
}

// between is the condition that the field lies between two values, both included.
func (h Value[R, V]) between(low, high V) Condition[R] {
	from, errFrom := h.encode(low)
	to, errTo := h.encode(high)
	switch {
	case errFrom != nil:
		return h.failed(errFrom)
	case errTo != nil:
		return h.failed(errTo)
	case from == nil || to == nil:
		return h.failed(errOmitted)
	}
	return h.condition(func(x condition.Expression, name string) string {
		return name + " BETWEEN " + x.Value(from) + " AND " + x.Value(to)
	})
}

// call is the condition that a function of the attribute and a value holds.
func (h Value[R, V]) call(function string, v V) Condition[R] {
	av, err := h.encode(v)
	if err == nil && av == nil {
		err = errOmitted
	}
	if err != nil {
		return h.failed(err)
	}
	return h.condition(func(x condition.Expression, name string) string {
		return function + "(" + name + ", " + x.Value(av) + ")"
	})
}
