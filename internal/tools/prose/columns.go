package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"
)

// maxColumns is the length of the longest line of a Go file. A tab counts as four columns.
const maxColumns = 120

// longLines returns the lines of Go files that are too long. A struct tag cannot be broken, and the
// output of an example is data.
func (r *repository) longLines() []string {
	var out []string
	for _, s := range r.sources {
		unbreakable := s.unbreakable()
		for i, l := range strings.Split(string(s.code), "\n") {
			if n := utf8.RuneCountInString(strings.ReplaceAll(l, "\t", "    ")); n > maxColumns && !unbreakable[i+1] {
				out = append(out, fmt.Sprintf("%s:%d: %d columns, the limit is %d", s.file, i+1, n, maxColumns))
			}
		}
	}
	return out
}

// unbreakable returns the lines that hold struct tags, also those in tests' strings of Go code, and
// outputs of examples.
func (s *source) unbreakable() map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				lines[s.line(n.Tag.Pos())] = true
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.Contains(n.Value, "`ddb:") {
				lines[s.line(n.Pos())] = true
			}
		}
		return true
	})
	for _, group := range s.syntax.Comments {
		output := false
		for _, c := range group.List {
			output = output || isOutput(c.Text)
			lines[s.line(c.Pos())] = lines[s.line(c.Pos())] || output
		}
	}
	return lines
}
