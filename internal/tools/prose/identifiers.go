package main

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"unicode"
)

// identifier is a name that a file declares, or the name of the file.
type identifier struct {
	name string
	file string
	line int
}

// identifiers returns the names that a file declares: of packages, types, functions, methods, fields,
// constants, variables, parameters and labels. The last one is the name of the file.
func (s *source) identifiers() []identifier {
	var out []identifier
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id != nil && id.Name != "_" {
				out = append(out, identifier{id.Name, s.file, s.line(id.Pos())})
			}
		}
	}
	add(s.syntax.Name)
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.Field:
			add(n.Names...)
		case *ast.LabeledStmt:
			add(n.Label)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					id, _ := e.(*ast.Ident)
					add(id)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				key, _ := n.Key.(*ast.Ident)
				value, _ := n.Value.(*ast.Ident)
				add(key, value)
			}
		}
		return true
	})
	base := strings.TrimSuffix(path.Base(s.file), ".go")
	return append(out, identifier{strings.TrimSuffix(base, "_test"), s.file, 1})
}

// words returns the words of an identifier, in lower case: left, over and items for LeftOverItems.
func (id identifier) words() []string {
	var out []string
	start := 0
	runes := []rune(id.name)
	end := func(i int) {
		if i > start {
			out = append(out, strings.ToLower(string(runes[start:i])))
		}
		start = i
	}
	for i, r := range runes {
		switch {
		case r == '_' || r == '-' || unicode.IsDigit(r):
			end(i)
			start = i + 1
		case unicode.IsUpper(r) && i > 0 &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
		}
	}
	end(len(runes))
	return out
}
