package discover

import (
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/itemize/itemize/internal/model/schema"
)

// capitals are words that Go writes in capitals.
var capitals = []string{"api", "html", "http", "id", "ip", "json", "sku", "sql", "ttl", "uri", "url", "uuid", "xml"}

// queryMethods are the methods of generated code, which no field in a key and no item can be named after.
var queryMethods = slices.Concat(schema.QueryMethods, schema.NodeMethods, []string{"Key", "Item", schema.RootMethod})

// words splits a name at signs and at capitals.
func words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, string(word))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsUpper(runes[i-1]) &&
			i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

// goName makes an exported Go identifier of a name, "Field" where nothing is left of it.
func goName(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		switch lower := strings.ToLower(w); {
		case slices.Contains(capitals, lower):
			b.WriteString(strings.ToUpper(w))
		case lower == "ids" || lower == "urls":
			b.WriteString(strings.ToUpper(w[:len(w)-1]) + "s")
		default:
			if w == strings.ToUpper(w) && len(w) > 1 {
				w = lower
			}
			r := []rune(w)
			b.WriteString(string(unicode.ToUpper(r[0])) + string(r[1:]))
		}
	}
	s := b.String()
	if s == "" {
		return "Field"
	}
	if r := []rune(s)[0]; !unicode.IsUpper(r) {
		s = "F" + s
	}
	return s
}

// scope has the names that are taken.
type scope map[string]bool

// take returns a free name: name, or name with a number.
func (s scope) take(name string) string {
	out := name
	for i := 2; s[out] || token.IsKeyword(out); i++ {
		out = name + strconv.Itoa(i)
	}
	s[out] = true
	return out
}

// takeStruct returns a free name for a struct: neither it nor the names that gen makes of it are taken.
func (s scope) takeStruct(name string) string {
	out := name
	for i := 2; s[out] || s[out+"Fields"] || s[out+"Handles"] || token.IsKeyword(out); i++ {
		out = name + strconv.Itoa(i)
	}
	s[out], s[out+"Fields"], s[out+"Handles"] = true, true, true
	return out
}

// generated are the suffixes of names that gen makes of the name of a model, and prefixes those of functions.
var (
	generated = []string{"Key", "Fields", "Handles", "Index", "Path", "Items", "Entities", "Query", "Patch"}
	prefixes  = []string{"Forth", "Back"}
)

// takeModel returns a free name for a model: neither it nor a name made of it is another one, in any case of letters,
// because files and tables have its name in small letters.
func (s scope) takeModel(name string) string {
	made := func(name string) []string {
		all := []string{name}
		for _, suffix := range generated {
			all = append(all, name+suffix)
		}
		for _, prefix := range prefixes {
			all = append(all, prefix+name)
		}
		return all
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(made(name), func(n string) bool { return s[strings.ToLower(n)] })
	}
	out := name
	for i := 2; taken(out) || token.IsKeyword(out); i++ {
		out = name + strconv.Itoa(i)
	}
	for _, n := range made(out) {
		s[strings.ToLower(n)] = true
	}
	return out
}

// segment makes the literal of a sort key of a Go name: capitals, words joined by a minus sign.
func segment(name string) string {
	return strings.ToUpper(strings.Join(words(name), "-"))
}
