package generator

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/itemize/itemize/internal/model/schema"
)

// maxDocs is the largest number of places that the comment of a handle lists.
const maxDocs = 2

// describe notes where the field at a path is stored, for the comment of its handle.
func (s *structures) describe(t *schema.Type, path []int, text string) {
	for _, x := range path[:len(path)-1] {
		t = deref(t).Fields[x].Type
	}
	in, i := s.byKey[typeKey(goType(deref(t)))], path[len(path)-1]
	if in.docs == nil {
		in.docs = map[int][]string{}
	}
	if !slices.Contains(in.docs[i], text) {
		in.docs[i] = append(in.docs[i], text)
	}
}

// storedAs describes an attribute.
func storedAs(it *schema.Item, a *schema.Attribute) string {
	of := "the item "
	if it.Element() {
		of = "each item "
	}
	kind := "(" + wireWord(a.Value.Type.Wire(a.AV.Options)) + ")"
	if a.Large != nil {
		kind = "(large value)"
	}
	return fmt.Sprintf("the attribute %s %s of %s", strconv.Quote(a.Name), kind, of+templateText(it))
}

func wireWord(w schema.Wire) string {
	switch w.Type {
	case "any":
		return "any type"
	case "own":
		return "encodes itself"
	case "again":
		return "M"
	}
	return w.Type
}

// comment is the comment of a handle.
func (s *structure) comment(name string, docs []string) code {
	if len(docs) == 0 {
		return nil
	}
	text := name + " is " + docs[0] + "."
	for _, d := range docs[1:min(len(docs), maxDocs)] {
		text += " It is also " + d + "."
	}
	if len(docs) > maxDocs {
		text += " It has more places."
	}
	return commentIn(text, maxColumns-tabColumns)
}
