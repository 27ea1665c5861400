package embedded

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/truora/minidyn/server"
	"github.com/truora/minidyn/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
)

// condition is one condition of a key condition expression.
type condition struct {
	attribute, operator string
	values              []key.Scalar
}

var (
	conditions = regexp.MustCompile(`(?i)^(?:begins_with\s*\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)|` +
		`([^\s()=<>]+)\s*(<=|>=|=|<|>)\s*([^\s()]+)|([^\s()]+)\s+BETWEEN\s+([^\s()]+)\s+AND\s+([^\s()]+))`)
	and          = regexp.MustCompile(`(?i)^and\b`)
	placeholders = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)
)

// parse returns the conditions of a key condition expression.
func (s *search) parse(expression string) (all []condition, err error) {
	rest := expression
	for {
		if rest = strings.TrimLeft(rest, "( \t\n"); len(all) > 0 && strings.Trim(rest, ") \t\n") == "" {
			break
		}
		m := conditions.FindStringSubmatch(rest)
		if m == nil {
			return nil, errors.New("key condition: it is no comparison of a key: write one, as PK = :p")
		}
		c := condition{m[1] + m[3] + m[6], m[4], nil}
		for _, v := range []string{m[2], m[5], m[7], m[8]} {
			if v != "" {
				values, _ := s.in["ExpressionAttributeValues"].(object)
				c.values = append(c.values, scalar(values[v]))
			}
		}
		switch {
		case m[1] != "":
			c.operator = "begins_with"
		case m[6] != "":
			c.operator = "between"
		}
		if name, ok := s.names[c.attribute]; ok {
			c.attribute = name
		}
		all = append(all, c)
		rest = strings.TrimLeft(rest[len(m[0]):], ") \t\n")
		if rest != "" && !and.MatchString(rest) {
			return nil, errors.New("key condition: AND is missing between two conditions: write it")
		}
		rest = and.ReplaceAllString(rest, "")
	}
	return all, s.check(all)
}

// check returns why the conditions do not fit the keys.
func (s *search) check(all []condition) error {
	last := -1
	for _, c := range all {
		i := slices.Index(s.index.keys(), c.attribute)
		if i < 0 {
			return fmt.Errorf("key condition: %s is no key of the table or index: use a filter", c.attribute)
		}
		for _, v := range c.values {
			if string(v.Type) != s.table.typ(c.attribute) {
				return errors.New("key condition: a value has not the type of its key: send the type of the schema")
			}
		}
		if c.operator == "begins_with" && s.table.typ(c.attribute) == "N" {
			return errors.New("key condition: it compares the start of a number: use BETWEEN")
		}
		if c.operator == "between" && key.Compare(c.values[0], c.values[1]) > 0 {
			return errors.New("key condition: the upper bound of BETWEEN is below the lower one: swap them")
		}
		if i < len(s.index.hash) && c.operator != "=" {
			return errors.New("key condition: a partition key takes only =: compare the sort key")
		}
		last = max(last, i)
	}
	// Each key before the last one is equal to a value.
	for i, k := range s.index.keys() {
		if i < max(last, len(s.index.hash)) && !slices.ContainsFunc(all, func(c condition) bool {
			return c.attribute == k && c.operator == "="
		}) {
			return fmt.Errorf("key condition: the key %s is missing: add %[1]s = :value", k)
		}
	}
	if len(all) > last+1 {
		return errors.New("key condition: a key has two conditions: write one")
	}
	return nil
}

// fits reports whether an item fits the conditions.
func (s *search) fits(item object) bool {
	return !slices.ContainsFunc(s.conditions, func(c condition) bool { return !c.fits(scalar(item[c.attribute])) })
}

func (c condition) fits(v key.Scalar) bool {
	n := key.Compare(v, c.values[0])
	switch c.operator {
	case "=":
		return n == 0
	case "<":
		return n < 0
	case "<=":
		return n <= 0
	case ">":
		return n > 0
	case ">=":
		return n >= 0
	case "between":
		return n >= 0 && key.Compare(v, c.values[1]) <= 0
	}
	return strings.HasPrefix(v.Text, c.values[0].Text)
}

// undefined returns the error of a placeholder that is not defined, or not used.
func undefined(in object) error {
	used := map[string]bool{}
	for _, e := range []string{"KeyConditionExpression", "FilterExpression", "ProjectionExpression"} {
		for _, p := range placeholders.FindAllString(text(in, e), -1) {
			used[p] = true
		}
	}
	defined := map[string]bool{}
	for _, field := range []string{"ExpressionAttributeNames", "ExpressionAttributeValues"} {
		all, _ := in[field].(object)
		for p := range all {
			if defined[p] = true; !used[p] {
				return fmt.Errorf("%s: no expression uses %s: leave it out", field, p)
			}
		}
	}
	for p := range used {
		if !defined[p] {
			return fmt.Errorf("expression: the placeholder %s is not defined: define it", p)
		}
	}
	return nil
}

func names(in object) map[string]string {
	all, _ := in["ExpressionAttributeNames"].(object)
	out := map[string]string{}
	for p := range all {
		out[p] = text(all, p)
	}
	return out
}

// scalar returns the value of a key attribute.
func scalar(v any) key.Scalar {
	o, _ := v.(object)
	for typ := range o {
		switch s := text(o, typ); typ {
		case "S":
			return key.Scalar{Type: 'S', Text: s}
		case "N":
			return key.Scalar{Type: 'N', Text: attr.Canonical(s)}
		case "B":
			b, _ := base64.StdEncoding.DecodeString(s)
			return key.Scalar{Type: 'B', Text: string(b)}
		}
	}
	return key.Scalar{}
}

// typed returns an item in the types of minidyn, whose fields have the names of DynamoDB's JSON.
func typed(item object) (out map[string]*types.Item) {
	b, _ := json.Marshal(item)
	_ = json.Unmarshal(b, &out)
	return out
}

// untyped is the inverse of typed, or nil for nil.
func untyped(item map[string]*types.Item) (out object) {
	var values map[string]*server.AttributeValue
	b, _ := json.Marshal(item)
	_ = json.Unmarshal(b, &values)
	b, _ = json.Marshal(values)
	_ = json.Unmarshal(b, &out)
	return out
}

// itemSize returns the size of an item in bytes.
func itemSize(item object) (n int) {
	for name, v := range item {
		n += len(name) + size(v)
	}
	return n
}

func size(value any) int {
	n := 0
	o, _ := value.(object)
	for typ, v := range o {
		all, _ := v.([]any)
		switch typ {
		case "S", "N", "B":
			n += scalarSize(typ, v)
		case "SS", "NS", "BS":
			for _, e := range all {
				n += scalarSize(typ[:1], e)
			}
		case "L":
			n = 3
			for _, e := range all {
				n += 1 + size(e)
			}
		case "M":
			n = 3
			fields, _ := v.(object)
			for name, e := range fields {
				n += 1 + len(name) + size(e)
			}
		default: // BOOL, NULL
			n = 1
		}
	}
	return n
}

func scalarSize(typ string, v any) int {
	s, _ := v.(string)
	switch typ {
	case "N":
		return attr.NumberSize(s)
	case "B":
		return base64.StdEncoding.DecodedLen(len(s)) - strings.Count(s, "=")
	}
	return len(s)
}

// canonical writes the numbers of a request as DynamoDB stores them, so that keys are equal if their values
// are. minidyn compares their texts.
func canonical(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			canonical(e)
		}
	case object:
		for name, e := range v {
			if n, ok := e.(string); ok && name == "N" {
				v[name] = attr.Canonical(n)
			}
			if set, ok := e.([]any); ok && name == "NS" {
				for i := range set {
					n, _ := set[i].(string)
					set[i] = attr.Canonical(n)
				}
			}
			canonical(e)
		}
	}
}
