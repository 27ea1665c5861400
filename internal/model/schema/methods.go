package schema

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RootMethod is the method of a generated key that selects the root item.
const RootMethod = "Root"

// QueryMethods are the methods that generated queries have, and NodeMethods those of all nodes. No item can have a
// method of that name.
var (
	QueryMethods = []string{
		"All", "Collect", "Page", "After", "Count", "Input", "Plan", "Limit", "Refs", "Reverse", "Filter", "Project",
		"Roots", "Between", "Since", "Before", "Year", "Month", "Day", "Hour", "Week",
		"Fetch", "AtLeast", "AtMost", "BeginsWith", "On", "Query",
	}
	NodeMethods = []string{"Patch", "Delete", "Add", "Put", "Map"}
)

// initialisms are words that Go writes in capitals.
var initialisms = []string{"API", "HTML", "HTTP", "ID", "IP", "JSON", "SKU", "SQL", "TTL", "URI", "URL", "UUID", "XML"}

// MixedCaps makes a Go identifier that begins with a capital of a segment of a key: Profile of PROFILE, WorldRank of
// WORLD_RANK, DevDependencies of DevDependencies. It is "" where no such identifier is left.
func MixedCaps(segment string) string {
	words := strings.FieldsFunc(segment, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		first, size := utf8.DecodeRuneInString(w)
		rest := w[size:]
		switch upper := strings.ToUpper(w); {
		case slices.Contains(initialisms, upper):
			rest = upper[size:]
		case w == upper:
			rest = strings.ToLower(rest)
		}
		words[i] = string(unicode.ToUpper(first)) + rest
	}
	s := strings.Join(words, "")
	if first, _ := utf8.DecodeRuneInString(s); !unicode.IsUpper(first) {
		return ""
	}
	return s
}
