package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/itemize/itemize/internal/model/attr"
)

// Raw returns a condition that was built with the SDK's package expression. Its placeholders are
// renamed for the expression that it is rendered into. Its fields are the attributes at the start of
// its paths.
func Raw(b expression.ConditionBuilder) Condition {
	e, err := expression.NewBuilder().WithCondition(b).Build()
	if err != nil {
		return Failed(err)
	}
	c := Condition{Raw: true, joined: true}
	names, values, text := e.Names(), e.Values(), *e.Condition()
	begins := map[string]bool{}
	replace(text, func(placeholder string, inString bool) string {
		if name, ok := names[placeholder]; ok && !inString {
			begins[name] = true
		}
		return ""
	})
	for _, name := range slices.Sorted(maps.Keys(begins)) {
		c.Fields = append(c.Fields, Field{{Attribute: name}})
	}
	c.render = func(x *attr.Expression, paths Paths) string {
		seen := map[string]string{} // a value that occurs twice is one value
		return replace(text, func(placeholder string, inString bool) string {
			name, isName := names[placeholder]
			switch {
			case isName && inString:
				return x.Name(name)
			case isName:
				return x.Path(paths(Field{{Attribute: name}}))
			}
			to, ok := seen[placeholder]
			if !ok {
				to = placeholder
				if v, ok := values[placeholder]; ok {
					to = x.Value(v)
				}
				seen[placeholder] = to
			}
			return to
		})
	}
	return c
}

// replace replaces the placeholders in a text: a # or : and digits. inString reports that a placeholder
// follows a point, so that it continues a path.
func replace(text string, by func(placeholder string, inString bool) string) string {
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
		b.WriteString(by(text[i:end], i > 0 && text[i-1] == '.'))
		i = end
	}
	return b.String()
}
