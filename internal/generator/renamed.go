package generator

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// declared is a name in a generated file, and what its comment says of it after the name.
type declared struct{ name, doc string }

// declarations are the names of a generated file: by "" those of the package, and by a type its methods and fields.
type declarations map[string][]declared

// Renamed compares two generated files of a source file, and describes the exported names of the old one that the new
// one lacks. Names that select the same are one name that changed.
func Renamed(old, made []byte) ([]string, error) {
	before, err := declarationsOf(old)
	if err != nil {
		return nil, fmt.Errorf("the present generated file: %w", err)
	}
	after, err := declarationsOf(made)
	if err != nil {
		return nil, err
	}
	now, out := changes("", "", before[""], after[""])
	var hidden []string
	out = slices.DeleteFunc(out, func(text string) bool {
		old, made, ok := strings.Cut(text, " is now ")
		if ok = ok && strings.EqualFold(old, made) && !ast.IsExported(made); ok {
			hidden = append(hidden, old)
		}
		return ok
	})
	if len(hidden) > 0 {
		out = append(out, enumerated(hidden, "and")+": not exported any more; write *query.Query[Model, Element] in "+
			"signatures, and pass Query()")
	}
	if bytes.Contains(old, []byte("EnforceVersion(4 - ")) && bytes.Contains(old, []byte("IndexQuery struct")) {
		out = append(out, "queries of indexes return the items of the index: add Fetch where whole entities are needed")
	}
	for _, in := range sortedKeys(before) {
		if to, ok := now[in]; in != "" && ok {
			_, texts := changes(in+".", to+".", before[in], after[to])
			out = append(out, texts...)
		}
	}
	return out, nil
}

// changes pairs names of one scope, and describes the exported ones that changed.
func changes(from, to string, before, after []declared) (now map[string]string, out []string) {
	now = map[string]string{}
	var free, lost []declared
	for _, d := range after {
		if slices.ContainsFunc(before, func(o declared) bool { return o.name == d.name }) {
			now[d.name] = d.name
		} else {
			free = append(free, d)
		}
	}
	for _, o := range before {
		if now[o.name] != "" {
			continue
		}
		i := slices.IndexFunc(free, func(d declared) bool { return strings.EqualFold(d.name, o.name) })
		if i < 0 && o.doc != "" {
			i = slices.IndexFunc(free, func(d declared) bool { return d.doc == o.doc })
		}
		switch {
		case i >= 0:
			now[o.name] = free[i].name
			if ast.IsExported(o.name) {
				out = append(out, fmt.Sprintf("%s%s is now %s%s", from, o.name, to, free[i].name))
			}
			free = slices.Delete(free, i, i+1)
		case ast.IsExported(o.name):
			lost = append(lost, o)
		}
	}
	added := ""
	for _, d := range free {
		if ast.IsExported(d.name) {
			added += ", " + to + d.name
		}
	}
	for _, o := range lost {
		text := from + o.name + " is removed"
		if added != "" {
			text += "; new: " + added[2:]
		}
		out = append(out, text)
	}
	return now, out
}

func declarationsOf(src []byte) (declarations, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	all := declarations{}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			in := ""
			if id := receiver(d); id != nil {
				in = id.Name
			}
			all.add(in, d.Name.Name, d.Doc)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				all.spec(s, d.Doc)
			}
		}
	}
	return all, nil
}

func (all declarations) spec(s ast.Spec, doc *ast.CommentGroup) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Doc != nil {
			doc = s.Doc
		}
		all.add("", s.Name.Name, doc)
		if st, ok := s.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				for _, name := range f.Names {
					all.add(s.Name.Name, name.Name, f.Doc)
				}
			}
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			all.add("", name.Name, doc)
		}
	}
}

// add adds a name with the rest of the first sentence of its comment.
func (all declarations) add(in, name string, doc *ast.CommentGroup) {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	text, _, _ = strings.Cut(text, ". ")
	text = strings.TrimSuffix(strings.TrimPrefix(text, name+" "), ".")
	text = strings.Replace(text, "selects the root item, ", "selects ", 1)
	all[in] = append(all[in], declared{name, text})
}
