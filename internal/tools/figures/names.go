package main

import (
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// publicNames returns the names that users of the packages of all modules see: exported types,
// functions, methods, constants, variables, struct fields and interface methods. Commands, examples,
// tools and internal packages have none. Embedded fields are fields. Methods of a type that is not
// exported count once where exported types embed it.
func publicNames(root string) ([]names, error) {
	var all []names
	files := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && rel != "." &&
			(strings.ContainsAny(d.Name()[:1], "._") ||
				slices.Contains([]string{"testdata", "internal", "examples"}, d.Name())):
			return fs.SkipDir
		case d.IsDir(), path.Ext(rel) != ".go", strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		s, err := parse(token.NewFileSet(), name, rel)
		if err != nil || s.syntax.Name.Name == "main" {
			return err
		}
		files[path.Dir(rel)] = append(files[path.Dir(rel)], s.syntax)
		return nil
	})
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		shared := sharedTypes(files[folder])
		var out []string
		for _, f := range files[folder] {
			out = append(out, exportedNames(f, shared)...)
		}
		slices.Sort(out)
		all = append(all, names{folder, listOf(out)})
	}
	return all, err
}

// exportedNames returns the exported names of a file: those of methods and fields with their types.
func exportedNames(file *ast.File, shared map[string]bool) []string {
	var out []string
	add := func(of string, ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				out = append(out, of+id.Name)
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if of := receiver(d); of == "" {
				add("", d.Name)
			} else if ast.IsExported(of) || shared[of] {
				add(of+".", d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					add("", spec.Names...)
				case *ast.TypeSpec:
					if !spec.Name.IsExported() {
						continue
					}
					add("", spec.Name)
					for _, f := range fieldsOfType(spec.Type) {
						add(spec.Name.Name+".", f.Names...)
						if len(f.Names) == 0 {
							add(spec.Name.Name+".", embedded(f.Type))
						}
					}
				}
			}
		}
	}
	return out
}

// sharedTypes are the types of a package that are not exported and that exported structs embed.
func sharedTypes(files []*ast.File) map[string]bool {
	shared := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok && t.Name.IsExported() {
				for _, f := range fieldsOfType(t.Type) {
					if len(f.Names) == 0 {
						shared[embedded(f.Type).Name] = true
					}
				}
			}
			return true
		})
	}
	return shared
}

// embedded returns the name of an embedded field, or interface.
func embedded(t ast.Expr) *ast.Ident {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.SelectorExpr:
			return x.Sel
		case *ast.Ident:
			return x
		default: // a set of types
			return ast.NewIdent("_")
		}
	}
}

// fieldsOfType returns the fields of a struct type and the methods of an interface type.
func fieldsOfType(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}
