package field

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
)

// handle is a field of a struct. All types of handles are structs of one handle, and their methods only add types,
// because the compiler compiles each method for each type of record and field. Their first type parameter is a
// pointer to the record: types that differ only in pointers share the compiled code of their methods. For each type
// the compiler only adds a call of that code. They embed nothing, since a promoted method is compiled again. With the
// directive go:noinline generated code compiles faster: without it the compiler repeats the shared code in each call.
type handle struct {
	row     codec.Row
	options codec.Options
	// under is the path to an entry of a map. err is the fault of its key.
	under expr.Field
	entry bool
	err   error
}

// newHandle returns the handle of a row.
func newHandle(r codec.Row) handle {
	words := strings.Split(r.Tag, ",")
	return handle{row: r, options: codec.OptionsOf(words[1:])}
}

// fieldPath returns the path to the field.
func (h *handle) fieldPath() expr.Field {
	if h == nil {
		return expr.Field{{}}
	}
	if h.entry {
		return h.under
	}
	return expr.Field{{Name: h.row.Name, Attribute: h.row.Attribute()}}
}

// name returns the field's name for messages.
func (h *handle) name() string { return cmp.Or(h.fieldPath().Shown(), "no field") }

// put sets the field at p to the value at v. Its type may be another one than that of the field: a handle of a
// pointer to a struct has structs, and one of a named slice has unnamed slices.
func (h *handle) put(p, v any) {
	f := h.row.Form
	switch t := reflect.TypeOf(v).Elem(); {
	case t == f.Type:
		f.Assign(p, v)
	case f.Pointer != nil && t == f.Pointer.Elem.Type:
		c := f.Pointer.Elem.New()
		f.Pointer.Elem.Assign(c, v)
		f.Pointer.Store(p, c)
	default:
		reflect.ValueOf(p).Elem().Set(reflect.ValueOf(v).Elem().Convert(f.Type))
	}
}

// encode returns the value at v as the field is stored, nil if it is left out.
func (h *handle) encode(v any) (types.AttributeValue, error) {
	if err := h.usable(); err != nil {
		return nil, err
	}
	p := h.row.Form.New()
	h.put(p, v)
	av, err := h.row.Form.Encode(p, h.options)
	if err == nil {
		err = attr.Check(av)
	}
	return av, err
}

// encodeRequired is encode for a condition that needs a value.
func (h *handle) encodeRequired(v any) (types.AttributeValue, error) {
	av, err := h.encode(v)
	switch {
	case err != nil:
	case av == nil:
		err = errOmitted
	case isNull(av):
		err = errNull
	}
	return av, err
}

// isNull reports whether a value is stored as NULL, or is left out. Both are the same as a missing attribute.
func isNull(av types.AttributeValue) bool {
	_, null := av.(*types.AttributeValueMemberNULL)
	return null || av == nil
}

var (
	errOmitted = errors.New("the value would not be stored (omitempty), so that no stored value equals it: use " +
		"Absent or Exists")
	errNull     = errors.New("the value is stored as NULL, with which nothing can be compared: use Absent or Exists")
	errNoField  = errors.New("the handle is of no field: use the handles of generated code")
	errEmptyKey = errors.New("the key of a map's entry is empty, which DynamoDB does not store")
	errKeyText  = errors.New("the key of a map's entry is not valid UTF-8, and would change in the request")
	errIn       = fmt.Errorf("In takes 1 to %d values", maxIn)
)

// maxIn is the largest number of values that DynamoDB accepts in an IN.
const maxIn = 100

// condition returns a condition on the field.
func (h *handle) condition(render func(x *attr.Expression, name string) string) expr.Condition {
	if err := h.usable(); err != nil {
		return h.failed(err)
	}
	return expr.New(h.fieldPath(), render)
}

// usable returns an error if the handle belongs to no field.
func (h *handle) usable() error {
	switch {
	case h != nil && h.err != nil:
		return h.err
	case h == nil || h.row.Form == nil:
		return errNoField
	}
	return nil
}

// failed returns a condition whose use returns the error.
func (h *handle) failed(err error) expr.Condition {
	return expr.Failed(fmt.Errorf("the condition on %s: %w", h.name(), err))
}

// absent is the condition that the attribute is missing or NULL, and exists the opposite.
func (h *handle) absent() expr.Condition {
	return expr.Or(h.function("attribute_not_exists"), h.condition(item.IsNull))
}

// exists is described at absent.
func (h *handle) exists() expr.Condition {
	return expr.And(h.function("attribute_exists"), expr.Not(h.condition(item.IsNull)))
}

// compare compares the field's attribute with a value. If the value is NULL or left out when stored, the
// condition is that the attribute is missing or NULL.
func (h *handle) compare(operator string, v any) expr.Condition {
	av, err := h.encode(v)
	switch {
	case err != nil:
		return h.failed(err)
	case isNull(av) && operator == " = ":
		return h.absent()
	case isNull(av) && operator == " <> ":
		return h.exists()
	case av == nil:
		return h.failed(errOmitted)
	case isNull(av):
		return h.failed(errNull)
	}
	return h.condition(func(x *attr.Expression, name string) string { return name + operator + x.Value(av) })
}

// equal is the condition that the field is the value at v, and notEqual the opposite.
func (h *handle) equal(v any) expr.Condition { return h.compare(" = ", v) }

// notEqual is described at equal.
func (h *handle) notEqual(v any) expr.Condition { return h.compare(" <> ", v) }

// in returns the condition that the field is one of the values of the slice that values points to.
func (h *handle) in(values any) expr.Condition {
	from := reflect.ValueOf(values).Elem()
	n := from.Len()
	if n == 0 || n > maxIn {
		return h.failed(errIn)
	}
	var all []types.AttributeValue
	for i := range n {
		av, err := h.encode(from.Index(i).Addr().Interface())
		if err != nil {
			return h.failed(err)
		}
		if !isNull(av) {
			all = append(all, av)
		}
	}
	switch among := h.among(all); {
	case len(all) == n:
		return among
	case len(all) == 0:
		return h.absent()
	default:
		return expr.Or(h.absent(), among)
	}
}

// among returns the condition that the attribute is one of the values.
func (h *handle) among(all []types.AttributeValue) expr.Condition {
	return h.condition(func(x *attr.Expression, name string) string {
		texts := make([]string, len(all))
		for i, av := range all {
			texts[i] = x.Value(av)
		}
		return name + " IN (" + strings.Join(texts, ", ") + ")"
	})
}

// between returns the condition that the field is between two values, inclusive.
func (h *handle) between(low, high any) expr.Condition {
	from, err := h.encodeRequired(low)
	if err != nil {
		return h.failed(err)
	}
	to, err := h.encodeRequired(high)
	if err != nil {
		return h.failed(err)
	}
	return h.condition(func(x *attr.Expression, name string) string {
		return name + " BETWEEN " + x.Value(from) + " AND " + x.Value(to)
	})
}

// function returns the condition that a function of the attribute and values is true.
func (h *handle) function(function string, arguments ...any) expr.Condition {
	var values []types.AttributeValue
	for _, v := range arguments {
		av, err := h.encodeRequired(v)
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
func (h *handle) set(v any) []expr.Change { return h.setting(expr.Set, v) }

func (h *handle) setIfAbsent(v any) []expr.Change { return h.setting(expr.SetIfAbsent, v) }

func (h *handle) setting(kind expr.Kind, v any) []expr.Change {
	c := h.changing(kind, v)
	if c.Err == nil && h.row.At != nil {
		row, own := h.row, h.copied(v)
		c.Apply = func(rec any) {
			to := row.At(rec)
			row.Form.Assign(to, own)
			row.Form.Clone(to, own)
		}
	}
	return []expr.Change{c}
}

// copied returns a pointer to a deep copy of the value at v, in the type of the field.
func (h *handle) copied(v any) any {
	p, c := h.row.Form.New(), h.row.Form.New()
	h.put(p, v)
	h.row.Form.Assign(c, p)
	h.row.Form.Clone(c, p)
	return c
}

// changing returns a change of the field by the value at v, as the field is stored.
func (h *handle) changing(kind expr.Kind, v any) expr.Change {
	c := h.change(kind)
	if c.Err != nil {
		return c
	}
	c.Value, c.Unstorable = h.encode(v)
	return c
}

// remove returns the change that removes the field.
func (h *handle) remove() []expr.Change { return []expr.Change{h.change(expr.Remove)} }

// change returns a change of the field.
func (h *handle) change(kind expr.Kind) expr.Change {
	c := expr.Change{Kind: kind, Field: h.fieldPath()}
	if err := h.usable(); err != nil {
		c.Err = fmt.Errorf("the change of %s: %w", h.name(), err)
	}
	return c
}

// increment returns the change of a number by the number that v points to, and decrement that by the number with the
// other sign.
func (h *handle) increment(v any) []expr.Change { return h.add(v, decimal(v)) }

// decrement is described at increment.
func (h *handle) decrement(v any) []expr.Change { return h.add(v, negative(decimal(v))) }

func (h *handle) add(v any, by string) []expr.Change {
	c := h.change(expr.Increment)
	c.By = by
	c.Least, c.Most = boundsOf(v)
	return []expr.Change{c}
}
