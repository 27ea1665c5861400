package generator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// importedBy lists the names that a file has by its imports. Nothing in the package can have them.
func (p *Package) importedBy(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		switch path, _ := strconv.Unquote(spec.Path.Value); {
		case spec.Name == nil:
			out = append(out, p.importName(path))
		case spec.Name.Name == "." && path != p.Path:
			out = append(out, p.exported(path)...)
		case spec.Name.Name != "_" && spec.Name.Name != ".":
			out = append(out, spec.Name.Name)
		}
	}
	return out
}

// importName returns the name of an imported package. That of a package which only other builds import is guessed.
func (p *Package) importName(of string) string {
	all := p.types.Imports()
	if i := slices.IndexFunc(all, func(q *types.Package) bool { return q.Path() == of }); i >= 0 {
		return all[i].Name()
	}
	base := path.Base(of)
	if majorVersion.MatchString(base) {
		base = path.Base(path.Dir(of))
	}
	name, _, _ := strings.Cut(base, ".") // yaml.v3
	return name
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// exported lists the exported names of an imported package, none if it cannot be loaded.
func (p *Package) exported(path string) []string {
	q, err := p.importer.Import(path)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(q.Scope().Names(), func(name string) bool { return !ast.IsExported(name) })
}

// dotImports lists the packages all of whose exported names a file imports.
func dotImports(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && spec.Name != nil && spec.Name.Name == "." {
			out = append(out, path)
		}
	}
	return out
}

// otherDotImports lists the dot imports of the files that this build does not read.
func (p *Package) otherDotImports() []string {
	var out []string
	for _, path := range p.otherFiles() {
		if generatedName(path) {
			continue
		}
		if f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly); err == nil {
			out = append(out, dotImports(f)...)
		}
	}
	return slices.DeleteFunc(out, func(path string) bool { return path == p.Path })
}
