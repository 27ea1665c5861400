package record

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// path is a document path in an expression: an attribute, and whether a part of its value is meant.
type path struct {
	attribute string
	// element is the list element or map entry in the attribute, "" for the attribute itself. whole reports that the
	// path means all of it, and not a part.
	element string
	whole   bool
}

// change is an action of an update expression.
type change struct {
	clause string // set, remove, add, delete
	path   path
	value  []string // the tokens of the new value
}

// tokens splits an expression into names, placeholders, numbers and signs.
func tokens(expression string) []string {
	var out []string
	for i := 0; i < len(expression); {
		c := expression[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case isWord(c):
			k := i
			for k < len(expression) && isWord(expression[k]) {
				k++
			}
			out = append(out, expression[i:k])
			i = k
		default:
			out = append(out, expression[i:i+1])
			i++
		}
	}
	return out
}

func isWord(c byte) bool {
	return c == '#' || c == ':' || c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' ||
		c >= 'A' && c <= 'Z' || c >= 0x80
}

// pathAt reads a path from tokens, and returns the rest.
func pathAt(t []string, names map[string]string) (p path, rest []string, ok bool) {
	if len(t) == 0 || !isWord(t[0][0]) || t[0][0] == ':' {
		return p, t, false
	}
	p.attribute = named(t[0], names)
	t = t[1:]
	for len(t) >= 2 && (t[0] == "." || t[0] == "[") {
		p.whole = p.element == ""
		if p.whole {
			p.element = t[0] + t[1]
		}
		if t[0] == "[" {
			if len(t) < 3 || t[2] != "]" {
				return p, t, false
			}
			t = t[3:]
			continue
		}
		t = t[2:]
	}
	return p, t, true
}

func named(token string, names map[string]string) string {
	if n, ok := names[token]; ok && token[0] == '#' {
		return n
	}
	return token
}

// changesOf returns the actions of an update expression. It returns nil for one that it does not understand.
func changesOf(expression string, names map[string]string) []change {
	t := tokens(expression)
	var out []change
	clause := ""
	for len(t) > 0 {
		if word := strings.ToLower(t[0]); word == "set" || word == "remove" || word == "add" || word == "delete" {
			if next := t[1:]; len(next) > 0 && isWord(next[0][0]) {
				clause, t = word, next
			}
		}
		p, rest, ok := pathAt(t, names)
		if !ok || clause == "" {
			return nil
		}
		c := change{clause: clause, path: p}
		depth := 0
		for len(rest) > 0 {
			word := strings.ToLower(rest[0])
			starts := depth == 0 && len(rest) > 1 && isWord(rest[1][0]) &&
				(word == "set" || word == "remove" || word == "add" || word == "delete")
			if depth == 0 && rest[0] == "," || starts {
				break
			}
			switch rest[0] {
			case "(":
				depth++
			case ")":
				depth--
			}
			c.value = append(c.value, rest[0])
			rest = rest[1:]
		}
		out = append(out, c)
		if len(rest) > 0 && rest[0] == "," {
			rest = rest[1:]
		}
		t = rest
	}
	return out
}

// appended returns the number of elements that an action appends to a list: list_append of the list itself, or of
// nothing if it is missing, and a value. It returns 0 for other actions.
func (c change) appended(names map[string]string, values attributes) int {
	if c.clause != "set" || len(c.value) < 3 || c.value[0] != "=" || !strings.EqualFold(c.value[1], "list_append") {
		return 0
	}
	args, depth := [][]string{nil}, 0
	for _, t := range c.value[2:] {
		switch {
		case t == "(":
			if depth++; depth == 1 {
				continue
			}
		case t == ")":
			depth--
		case t == "," && depth == 1:
			args = append(args, nil)
			continue
		}
		if depth > 0 {
			args[len(args)-1] = append(args[len(args)-1], t)
		}
	}
	if len(args) != 2 {
		return 0
	}
	self, added := false, 0
	for _, arg := range args {
		switch {
		case len(arg) == 1 && arg[0][0] == ':':
			if l, ok := values[arg[0]].(*types.AttributeValueMemberL); ok {
				added = len(l.Value)
			}
		case len(arg) == 1:
			self = named(arg[0], names) == c.path.attribute
		case len(arg) > 2 && strings.EqualFold(arg[0], "if_not_exists"):
			self = named(arg[2], names) == c.path.attribute
		}
	}
	if !self {
		return 0
	}
	return added
}

// projectionOf returns the attributes of a projection expression.
func projectionOf(expression *string, names map[string]string) []string {
	if expression == nil {
		return nil
	}
	out := []string{}
	for t := tokens(*expression); len(t) > 0; {
		p, rest, ok := pathAt(t, names)
		if !ok {
			return nil
		}
		include(&out, p.attribute)
		for len(rest) > 0 && rest[0] == "," {
			rest = rest[1:]
		}
		t = rest
	}
	return out
}

// comparedIn returns the attributes that a filter compares with "=", which an index could find.
func comparedIn(expression *string, names map[string]string) []string {
	out := []string{}
	if expression == nil {
		return out
	}
	t := tokens(*expression)
	for i := 1; i+1 < len(t); i++ {
		alone := i < 2 || t[i-2] != "." && t[i-2] != "]" && t[i-2] != "<" && t[i-2] != ">"
		if t[i] == "=" && t[i+1][0] == ':' && isWord(t[i-1][0]) && t[i-1][0] != ':' && alone {
			include(&out, named(t[i-1], names))
		}
	}
	return out
}

// keyCondition is the condition of a query on the sort key.
type keyCondition struct {
	partition string // the placeholder of the partition key
	kind      string // "", "=", "begins_with", "between", "<", "<=", ">", ">="
	low, high string // placeholders
}

// keyConditionOf reads the condition of a query whose partition key has a name.
func keyConditionOf(expression string, names map[string]string, hash string) keyCondition {
	var k keyCondition
	t := tokens(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(expression))
	var words []string
	for _, x := range t {
		if x != "(" && x != ")" && x != "," {
			words = append(words, x)
		}
	}
	for i := 0; i < len(words); i++ {
		word := strings.ToLower(words[i])
		switch {
		case word == "begins_with" && i+2 < len(words):
			k.kind, k.low = "begins_with", words[i+2]
			i += 2
		case word == "between" && i+3 < len(words):
			k.kind, k.low, k.high = "between", words[i+1], words[i+3]
			i += 3
		case word == "=" && i > 0 && i+1 < len(words) && named(words[i-1], names) == hash:
			k.partition = words[i+1]
		case (word == "=" || word == "<" || word == ">") && i+1 < len(words):
			if k.kind, k.low = word, words[i+1]; words[i+1] == "=" && i+2 < len(words) {
				k.kind, k.low = word+"=", words[i+2]
			}
		}
	}
	return k
}
