package attr

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Expression collects the placeholders of one request's expressions: #0, #1, ... for
// names of attributes, :0, :1, ... for values. The zero Expression is empty.
type Expression struct {
	names  []string
	values []types.AttributeValue
	// fewNames for most expressions
	fewNames  [4]string
	fewValues [6]types.AttributeValue
}

// Reset empties the expression.
func (x *Expression) Reset() {
	clear(x.values)
	x.names, x.values = x.names[:0], x.values[:0]
}

// NamedBy reports whether its names are those of the placeholders.
func (x *Expression) NamedBy(placeholders map[string]string) bool {
	if len(placeholders) != len(x.names) {
		return false
	}
	for i, a := range x.names {
		if placeholders[placeholder('#', i)] != a {
			return false
		}
	}
	return true
}

// Name returns the placeholder of an attribute's name.
func (x *Expression) Name(attribute string) string {
	i := slices.Index(x.names, attribute)
	if x.names == nil {
		x.names = x.fewNames[:0]
	}
	if i < 0 {
		i = len(x.names)
		x.names = append(x.names, attribute)
	}
	return placeholder('#', i)
}

// Path returns the placeholders of a path: of an attribute, and of the names in the maps below.
func (x *Expression) Path(names []string) string {
	text := x.Name(names[0])
	for _, name := range names[1:] {
		text += "." + x.Name(name)
	}
	return text
}

// Value returns the placeholder of a value.
func (x *Expression) Value(v types.AttributeValue) string {
	if x.values == nil {
		x.values = x.fewValues[:0]
	}
	x.values = append(x.values, v)
	return placeholder(':', len(x.values)-1)
}

// placeholders are the first names and values, which are enough for most expressions.
var placeholders = func() (all [2][32]string) {
	for i := range all[0] {
		all[0][i], all[1][i] = "#"+strconv.Itoa(i), ":"+strconv.Itoa(i)
	}
	return all
}()

func placeholder(sign byte, i int) string {
	switch {
	case i >= len(placeholders[0]):
		return string(sign) + strconv.Itoa(i)
	case sign == '#':
		return placeholders[0][i]
	}
	return placeholders[1][i]
}

// Names returns the names by their placeholders, nil for none.
func (x *Expression) Names() map[string]string {
	if len(x.names) == 0 {
		return nil
	}
	m := make(map[string]string, len(x.names))
	for i, a := range x.names {
		m[placeholder('#', i)] = a
	}
	return m
}

// Values returns the values by their placeholders, nil for none.
func (x *Expression) Values() map[string]types.AttributeValue {
	if len(x.values) == 0 {
		return nil
	}
	m := make(map[string]types.AttributeValue, len(x.values))
	for i, v := range x.values {
		m[placeholder(':', i)] = v
	}
	return m
}

// Condition is a condition on an item. It writes itself into an expression, and returns its text.
type Condition func(x *Expression) string
