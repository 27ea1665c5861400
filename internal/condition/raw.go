package condition

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/itemize/itemize/internal/attr"
)

// Raw returns a condition that was built with the SDK's package expression. Its
// placeholders become those of the expression that it is rendered into.
func Raw(b expression.ConditionBuilder) Condition {
	e, err := expression.NewBuilder().WithCondition(b).Build()
	if err != nil {
		return Failed(err)
	}
	c := Condition{Raw: true, joined: true}
	names, values := e.Names(), e.Values()
	for _, name := range slices.Sorted(maps.Values(names)) {
		c.Fields = append(c.Fields, Field{Attribute: name})
	}
	text := *e.Condition()
	c.render = func(x *attr.Expression) string {
		seen := map[string]string{} // a value that stands twice is one value
		return replace(text, func(placeholder string) string {
			if to, ok := seen[placeholder]; ok {
				return to
			}
			to := placeholder
			if name, ok := names[placeholder]; ok {
				to = x.Name(name)
			} else if v, ok := values[placeholder]; ok {
				to = x.Value(v)
			}
			seen[placeholder] = to
			return to
		})
	}
	return c
}

// replace replaces the placeholders in a text: a # or : and digits.
func replace(text string, by func(placeholder string) string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '#' && text[i] != ':' {
			b.WriteByte(text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && '0' <= text[end] && text[end] <= '9' {
			end++
		}
		b.WriteString(by(text[i:end]))
		i = end
	}
	return b.String()
}
