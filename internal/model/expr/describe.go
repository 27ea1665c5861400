package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/redact"
)

// String returns the condition in the form of an error text, with the names of fields in Go and without
// values: Price > ?. A raw expression is "the condition given".
func (c Condition) String() string {
	return c.text(Field.Shown, func(types.AttributeValue) string { return "?" })
}

func (c Condition) text(name func(Field) string, show func(types.AttributeValue) string) string {
	if c.Raw || c.render == nil {
		return "the condition given"
	}
	var x attr.Expression
	text := c.Text(&x, func(f Field) []string { return []string{name(f)} })
	names, values := x.Names(), x.Values()
	return replace(text, func(placeholder string, _ bool) string {
		if v, ok := values[placeholder]; ok {
			return show(v)
		}
		return names[placeholder]
	})
}

// Unmet returns an error with the condition. Its details have the values, and those that an item stores.
func (c Condition) Unmet(stored map[string]types.AttributeValue, paths Paths) error {
	return redact.New(c.String(), c.text(Field.Name, Show)+", where "+c.found(stored, paths))
}

// Show returns a value in readable form, shortened if it is long.
func Show(v types.AttributeValue) string {
	const most = 40
	cut := func(s string) string {
		if r := []rune(s); len(r) > most {
			return string(r[:most]) + "..."
		}
		return s
	}
	switch v := v.(type) {
	case nil:
		return "nothing"
	case *types.AttributeValueMemberS:
		return cut(fmt.Sprintf("%q", v.Value))
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return cut(fmt.Sprintf("%x", v.Value))
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberSS:
		return cut("[" + strings.Join(v.Value, " ") + "]")
	case *types.AttributeValueMemberNS:
		return cut("[" + strings.Join(v.Value, " ") + "]")
	case *types.AttributeValueMemberL:
		return fmt.Sprintf("a list of %d", len(v.Value))
	case *types.AttributeValueMemberM:
		return fmt.Sprintf("a map of %d", len(v.Value))
	}
	return "a set"
}

// found returns the stored values of the fields in the condition.
func (c Condition) found(stored map[string]types.AttributeValue, paths Paths) string {
	var all []string
	for _, f := range c.Fields {
		name := f.Name()
		if name == "" {
			name = strings.Join(f.Attributes(), ".")
		}
		if text := name + " is " + Show(At(stored, paths(f))); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// At returns the value of an item at a path, nil for none.
func At(stored map[string]types.AttributeValue, path []string) types.AttributeValue {
	v := stored[path[0]]
	for _, name := range path[1:] {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			return nil
		}
		v = m.Value[name]
	}
	return v
}
