package generated

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"strconv"
)

// subset returns the sources of a package, by file name, without the lists of models. It leaves out
// types that are not named, not used by the rest, and have no methods.
func subset(sources map[string][]byte, named map[string]bool) (map[string][]byte, error) {
	fset := token.NewFileSet()
	files := map[string]*ast.File{}
	types := map[string]ast.Node{}
	stays := map[string]bool{}
	for name, source := range sources {
		f, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files[name] = f
		for _, d := range f.Decls {
			if name := typeOf(d); name != "" {
				types[name] = d
			}
		}
	}
	var use func(n ast.Node)
	use = func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !stays[id.Name] {
				stays[id.Name] = true
				if d := types[id.Name]; d != nil {
					use(d)
				}
			}
			return true
		})
	}
	for name := range named {
		use(ast.NewIdent(name))
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if typeOf(d) == "" && !isList(d) {
				use(d)
			}
		}
	}
	out := map[string][]byte{}
	for name, f := range files {
		text, err := without(f, fset, sources[name], stays)
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

// without returns the source of a file without its lists of models and the types that do not stay.
func without(f *ast.File, fset *token.FileSet, source []byte, stays map[string]bool) ([]byte, error) {
	used := map[string]bool{}
	var kept []ast.Decl
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT || isList(d) || typeOf(d) != "" && !stays[typeOf(d)] {
			continue
		}
		kept = append(kept, d)
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	var b bytes.Buffer
	b.WriteString("package " + f.Name.Name + "\n\n")
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		if used[path.Base(p)] {
			b.WriteString("import " + i.Path.Value + "\n")
		}
	}
	for _, d := range kept {
		from := d.Pos()
		if doc := docOf(d); doc != nil {
			from = doc.Pos()
		}
		b.WriteString("\n")
		b.Write(source[fset.Position(from).Offset:fset.Position(d.End()).Offset])
		b.WriteString("\n")
	}
	return format.Source(b.Bytes())
}

// typeOf returns the name of the type that a declaration declares alone, or "".
func typeOf(d ast.Decl) string {
	if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE && len(g.Specs) == 1 {
		return g.Specs[0].(*ast.TypeSpec).Name.Name
	}
	return ""
}

// isList reports whether a declaration is one of the lists of models.
func isList(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return false
	}
	name := g.Specs[0].(*ast.ValueSpec).Names[0].Name
	return name == "All" || name == "Indexes"
}

func docOf(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.GenDecl:
		return d.Doc
	case *ast.FuncDecl:
		return d.Doc
	}
	return nil
}
