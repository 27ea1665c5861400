package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
)

// String returns the condition as a person reads it, with the names of fields in Go: Price > 20.
// One that was given as an expression is "the condition given".
func (c Condition) String() string {
	if c.Raw || c.render == nil {
		return "the condition given"
	}
	var x attr.Expression
	text := c.Text(&x, func(f Field) []string { return []string{f.Name()} })
	names, values := x.Names(), x.Values()
	return replace(text, func(placeholder string, _ bool) string {
		if v, ok := values[placeholder]; ok {
			return Show(v)
		}
		return names[placeholder]
	})
}

// Show returns a value as a person reads it, cut where it is long.
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

// Found says what an item holds of the fields that the condition names.
func (c Condition) Found(stored map[string]types.AttributeValue, way Way) string {
	var all []string
	for _, f := range c.Fields {
		name := f.Name()
		if name == "" {
			name = strings.Join(f.Attributes(), ".")
		}
		if text := name + " is " + Show(At(stored, way(f))); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// At returns what an item holds at a path, nil for nothing.
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
