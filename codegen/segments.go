package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/schema"
)

// segment is a beginning of sort keys that several templates share: literal segments,
// each with its delimiter.
type segment struct {
	text     string
	items    []*schema.Item
	children []*segment
}

// literalPrefixes lists the beginnings of a template that end at a delimiter, within
// its literal text.
func literalPrefixes(k *schema.Key) []string {
	text := k.Template.LiteralPrefix()
	var out []string
	for i := range len(text) {
		if text[i] == k.Template.Delim {
			out = append(out, text[:i+1])
		}
	}
	return out
}

// tree returns the segments of the main table that at least two keys share.
func (n *nodeWriter) tree() []*segment {
	byText := map[string]*segment{}
	for _, it := range n.in(n.e.Tables[0]) {
		if it.Key == nil {
			continue
		}
		for _, p := range literalPrefixes(it.Key) {
			if byText[p] == nil {
				byText[p] = &segment{text: p}
			}
			byText[p].items = append(byText[p].items, it)
		}
	}
	var top []*segment
	for _, text := range sortedKeys(byText) {
		s := byText[text]
		if len(s.items) < 2 {
			continue
		}
		if parent := byText[parentText(text)]; parent != nil {
			parent.children = append(parent.children, s)
		} else {
			top = append(top, s)
		}
	}
	return top
}

// parentText returns a prefix without its last segment, "" for none.
func parentText(text string) string {
	return text[:strings.LastIndexByte(text[:len(text)-1], text[len(text)-1])+1]
}

// segments writes the methods of shared segments, nested as the keys are.
func (n *nodeWriter) segments(typ, embedded string) {
	for _, s := range n.tree() {
		n.segment(typ, embedded, s)
	}
}

func (n *nodeWriter) segment(typ, embedded string, s *segment) {
	name, field := n.segmentName(s.text), s.items[0].Decl
	if !n.method(typ, name, fmt.Sprintf("the segment %q", s.text), field) {
		return
	}
	node := n.query("Node") + "[" + n.model + "]"
	result, make := node, "%s"
	if it := s.items[0]; it.Element() && n.elementsOnly(it.Table, s.text, it) {
		elem := n.typ(goType(it.Elem))
		result = fmt.Sprintf("%s[%s, %s]", n.query("Elements"), n.model, elem)
		make = fmt.Sprintf("%s[%s, %s](%%s)", n.query("NewElements"), n.model, elem)
	}
	if len(s.children) > 0 {
		inner := n.declare(typ + name)
		embeds := embedded
		if result != node {
			embeds = n.embed(identifier(n.typ(goType(s.items[0].Elem)))+"Elements", result)
		}
		n.p("// %s is the node of %s.", inner, s.text)
		n.p("type %s struct{ at %s; %s }\n", inner, node, embeds)
		ctor := n.declare("new" + inner)
		n.p("func %s(at %s) %s { return %s{at, %s} }\n", ctor, node, inner, inner, fmt.Sprintf(make, "at"))
		result, make = inner, ctor+"(%s)"
		for _, c := range s.children {
			n.segment(inner, "at", c)
		}
	}
	n.p("// %s selects what begins with %s.", name, s.text)
	n.p("func (n %s) %s() %s { return %s }\n", typ, name, result, fmt.Sprintf(make, fmt.Sprintf("%s(n.%s, 0, %q)", n.impl("Prefix"), embedded, s.text)))
}

// segmentName returns the name of a segment's method: what prefix= says, or the text of
// its last segment.
func (n *nodeWriter) segmentName(text string) string {
	delim := string(n.e.Delim)
	i := slices.IndexFunc(n.e.Names, func(s schema.SegmentName) bool {
		return strings.TrimSuffix(s.Prefix, delim) == strings.TrimSuffix(text, delim)
	})
	if i >= 0 {
		return n.e.Names[i].Name
	}
	return identifier(strings.TrimPrefix(text, parentText(text)))
}
