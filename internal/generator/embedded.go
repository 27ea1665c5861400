package generator

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// embeddedElsewhere removes the diagnostics of structs that another package embeds: a given package, or
// one of the module, whose folder is "" if there is none.
func embeddedElsewhere(all []*Package, module string) {
	for _, p := range all {
		p.Diagnostics = slices.DeleteFunc(p.Diagnostics, func(d Diagnostic) bool {
			return d.embed != "" &&
				(slices.ContainsFunc(all, func(o *Package) bool { return o.find.embedded[d.embed] }) ||
					embeddedIn(module, d.embed))
		})
	}
}

// embeddedIn reports whether a struct of a module embeds a type, an exported one, of another package
// of it. It reads the sources that name both, and nothing else.
func embeddedIn(module, typ string) bool {
	dot := strings.LastIndexByte(typ, '.')
	path, name := typ[:dot], typ[dot+1:]
	if module == "" || !ast.IsExported(name) {
		return false
	}
	found := false
	_ = filepath.WalkDir(module, func(file string, d fs.DirEntry, err error) error {
		switch {
		case found:
			return fs.SkipAll
		case err != nil:
			return nil // what cannot be read embeds nothing
		case d.IsDir() && file != module &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" || d.Name() == "testdata"):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(file, ".go"):
			found = embedsIn(file, path, name)
		}
		return nil
	})
	return found
}

// embedsIn reports whether a struct in a file embeds a type of a package.
func embedsIn(file, path, name string) bool {
	content, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(content, []byte(strconv.Quote(path))) || !bytes.Contains(content, []byte(name)) {
		return false
	}
	f, _ := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
	if f == nil {
		return false
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		st, ok := n.(*ast.StructType)
		if !ok {
			return !found
		}
		for _, field := range st.Fields.List {
			id := embeddedIdent(field.Type)
			found = found || len(field.Names) == 0 && id != nil && id.Name == name
		}
		return !found
	})
	return found
}

// elsewhere reports whether it is only said of a struct that no other embeds it, which one of a package
// that is not seen may.
func (d *Diagnostic) elsewhere() bool {
	return d.embed != "" && ast.IsExported(d.embed[strings.LastIndexByte(d.embed, '.')+1:])
}
