package field

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/form"
	"github.com/itemize/itemize/internal/patch"
)

// handle is what the handles of all types are: their methods only add the types, since
// each is compiled once for every field of every model.
type handle struct {
	row     form.Row
	options form.Options
	// pointer says that the field is a pointer to the handle's values.
	pointer bool
}

// newHandle returns the handle of a row.
func newHandle(r form.Row) handle {
	words := strings.Split(r.Tag, ",")
	return handle{row: r, options: form.OptionsOf(words[1:])}
}

// put sets the field at p to the value at v.
func (h *handle) put(p, v any) {
	if !h.pointer {
		h.row.Form.Assign(p, v)
		return
	}
	to := h.row.Form.Pointer
	c := to.Elem.New()
	to.Elem.Assign(c, v)
	to.Store(p, c)
}

// encode returns the value at v as the field is stored, nil where it is left out.
func (h *handle) encode(v any) (types.AttributeValue, error) {
	if h.row.Form == nil {
		return nil, errNoField
	}
	p := h.row.Form.New()
	h.put(p, v)
	av, err := h.row.Form.Encode(p, h.options)
	if err == nil {
		err = attr.Check(av)
	}
	return av, err
}

// given is encode for a condition that needs a value.
func (h *handle) given(v any) (types.AttributeValue, error) {
	av, err := h.encode(v)
	if err == nil && av == nil {
		err = errOmitted
	}
	return av, err
}

var (
	errOmitted = errors.New("the value is left out when it is stored (omitempty), so that nothing stored can be compared with it: use Absent or Exists")
	errNoField = errors.New("the handle is of no field: take those of generated code")
	errIn      = fmt.Errorf("In takes 1 to %d values", maxIn)
)

// maxIn is how many values DynamoDB takes in an IN.
const maxIn = 100

// condition returns a condition on the field.
func (h *handle) condition(render func(x *attr.Expression, name string) string) condition.Condition {
	if h.row.Form == nil {
		return h.failed(errNoField)
	}
	return condition.New(condition.Field{Name: h.row.Name, Attribute: h.row.Attribute()}, render)
}

// failed is a condition that cannot be. The error comes when it is used.
func (h *handle) failed(err error) condition.Condition {
	return condition.Failed(fmt.Errorf("the condition on %s: %w", h.row.Name, err))
}

// compare compares the field's attribute with a value. One that is left out is there
// where the attribute is not.
func (h *handle) compare(operator string, v any) condition.Condition {
	av, err := h.encode(v)
	switch {
	case err != nil:
		return h.failed(err)
	case av == nil && operator == " = ":
		return h.call("attribute_not_exists")
	case av == nil && operator == " <> ":
		return h.call("attribute_exists")
	case av == nil:
		return h.failed(errOmitted)
	}
	return h.condition(func(x *attr.Expression, name string) string { return name + operator + x.Value(av) })
}

// in is the condition that the field is one of the values.
func (h *handle) in(values []any) condition.Condition {
	if len(values) == 0 || len(values) > maxIn {
		return h.failed(errIn)
	}
	all := make([]types.AttributeValue, len(values))
	for i, v := range values {
		av, err := h.given(v)
		if err != nil {
			return h.failed(err)
		}
		all[i] = av
	}
	return h.condition(func(x *attr.Expression, name string) string {
		texts := make([]string, len(all))
		for i, av := range all {
			texts[i] = x.Value(av)
		}
		return name + " IN (" + strings.Join(texts, ", ") + ")"
	})
}

// between is the condition that the field lies between two values, both included.
func (h *handle) between(low, high any) condition.Condition {
	from, err := h.given(low)
	if err != nil {
		return h.failed(err)
	}
	to, err := h.given(high)
	if err != nil {
		return h.failed(err)
	}
	return h.condition(func(x *attr.Expression, name string) string {
		return name + " BETWEEN " + x.Value(from) + " AND " + x.Value(to)
	})
}

// call is the condition that a function of the attribute and of values holds.
func (h *handle) call(function string, arguments ...any) condition.Condition {
	var values []types.AttributeValue
	for _, v := range arguments {
		av, err := h.given(v)
		if err != nil {
			return h.failed(err)
		}
		values = append(values, av)
	}
	return h.condition(func(x *attr.Expression, name string) string {
		text := function + "(" + name
		for _, av := range values {
			text += ", " + x.Value(av)
		}
		return text + ")"
	})
}

// set returns the change of the field to the value at v.
func (h handle) set(v any) patch.Change {
	return patch.Change{Kind: patch.Set, Field: h.row.Name, Apply: func(rec any) { h.put(h.row.At(rec), v) }}
}

// remove returns the removal of the field's attribute.
func (h *handle) remove() patch.Change {
	return patch.Change{Kind: patch.Remove, Field: h.row.Name}
}

// increment returns the change of a number by another.
func (h *handle) increment(by string) patch.Change {
	return patch.Change{Kind: patch.Increment, Field: h.row.Name, By: by}
}
