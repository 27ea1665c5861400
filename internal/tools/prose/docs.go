package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// misnamedDocs returns the doc comments of functions, types and fields that begin with another name
// than the declared one, and not with an article. A rename that forgets the comment leaves such a
// comment. The doc comments of tests and benchmarks name the rule instead.
func (r *repository) misnamedDocs() []string {
	var out []string
	for _, s := range r.sources {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			var doc *ast.CommentGroup
			var names []string
			switch n := n.(type) {
			case *ast.FuncDecl:
				if s.test() && n.Recv == nil && isTest(n.Name.Name) {
					return true
				}
				doc, names = n.Doc, []string{n.Name.Name}
			case *ast.GenDecl:
				if t, ok := n.Specs[0].(*ast.TypeSpec); ok && len(n.Specs) == 1 {
					doc, names = n.Doc, []string{t.Name.Name}
				}
			case *ast.TypeSpec:
				doc, names = n.Doc, []string{n.Name.Name}
			case *ast.Field:
				doc = n.Doc
				for _, id := range n.Names {
					names = append(names, id.Name)
				}
			}
			if text := doc.Text(); text != "" && len(names) > 0 {
				first := strings.TrimRight(strings.Fields(text)[0], ",:")
				if !slices.Contains(names, first) && !slices.Contains([]string{"A", "The"}, first) {
					out = append(out, fmt.Sprintf("%s:%d: the comment of %s begins with %q", s.file, s.line(doc.Pos()),
						strings.Join(names, ", "), first))
				}
			}
			return true
		})
	}
	return out
}

// isTest reports whether the name is a test's, a benchmark's, an example's or a fuzz test's.
func isTest(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Benchmark", "Example", "Fuzz"}, func(p string) bool {
		return strings.HasPrefix(name, p)
	})
}
