package grammar

import (
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/naming"
)

// AV is the dynamodbav part of a tag, as attributevalue reads it.
type AV struct {
	Present bool
	// Name is the attribute's name, "" for the field's own.
	Name string
	// Ignore is dynamodbav:"-".
	Ignore bool
	// Options are the words behind the name, in their order.
	Options []string
	// Pos and End are the value's place in the raw tag, in bytes.
	Pos, End int
}

// Has reports whether the option is set.
func (a AV) Has(option string) bool { return slices.Contains(a.Options, option) }

// av parses the value of the dynamodbav key. attributevalue passes over what it
// does not know; here an unknown option is a fault, because it would do nothing.
func (p *parser) av(kv pair) {
	s := kv.value
	a := AV{Present: true, Pos: s.pos(0), End: s.pos(len(s.text))}
	parts := strings.Split(s.text, ",")
	if parts[0] == "-" {
		a.Ignore = true
	} else {
		a.Name = parts[0]
	}
	for _, o := range parts[1:] {
		if !slices.Contains(avWords, o) {
			fix := "the options are " + strings.Join(avWords, ", ")
			if n := naming.Nearest(strings.ToLower(o), avWords); n != "" {
				fix = "write " + n
			} else if _, ok := lookup(strings.SplitN(o, "=", 2)[0]); ok {
				fix = "write it in the ddb tag"
			}
			p.fault(a.Pos, a.End, fix, "unknown dynamodbav option %q, which attributevalue would ignore", o)
			continue
		}
		a.Options = append(a.Options, o)
	}
	for _, elem := range []string{"", "elem"} {
		omit, null := "omitempty"+elem, "nullempty"+elem
		if a.Has(omit) && a.Has(null) {
			p.fault(a.Pos, a.End, "keep one of them", "dynamodbav %s and %s exclude each other", omit, null)
		}
	}
	p.tag.AV = a
}
