package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
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

// segment makes the method of a shared segment, nested as the keys are.
func (n *nodeWriter) segment(t *nodeType, self code, s *segment) {
	name := n.segmentName(s.text)
	m := &nodeMethod{
		name: name, doc: fmt.Sprintf("%s selects the items whose sort keys begin with %s.", name, s.text),
		result: n.plain(),
	}
	it := s.items[0]
	if it.Element() && n.elementsOnly(it.Table, s.text, it) {
		m.result = n.elements(it.Elem)
	}
	if len(s.children) > 0 {
		m.result = n.segmentType(t.name+name, s, m.result)
	}
	m.body = m.result.make(call(impl("Prefix"), self, 0, quoted(s.text)))
	n.method(t, m, fmt.Sprintf("the segment %q", s.text), it.Decl)
}

// segmentType makes the type of a segment that has others below it.
func (n *nodeWriter) segmentType(name string, s *segment, whole result) result {
	t := n.declare(n.g.names.declare(lowerFirst(name)), fmt.Sprintf("selects parts of %s.", s.text))
	t.bases = n.basesOf(whole.base())
	for _, c := range s.children {
		n.segment(t, t.self(), c)
	}
	return n.made(t)
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
