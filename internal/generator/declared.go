package generator

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// otherName is a name of the package that a file of another build declares, or a generated file.
type otherName struct {
	path string
	// constraint is the //go:build line of the file, "" for none.
	constraint string
	// alias reports that only this file has the name, by an import: generated files can import a package by it.
	alias bool
}

// elsewhere returns the names that other files of the package's folder declare. This build does not read these files:
// they are for other systems, or have other build tags. With generated they are the generated files.
func (p *Package) elsewhere(generated bool) map[string][]otherName {
	out := map[string][]otherName{}
	var tests []*sourceFile
	for _, path := range p.otherFiles() {
		if isGenerated(path) != generated {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if f == nil || f.Name == nil || err != nil {
			continue // no build can read the file
		}
		switch file := (&sourceFile{path, f}); {
		case f.Name.Name == p.Name:
			note(out, file, false, declaredBy(f))
			note(out, file, true, p.importedBy(f))
		case f.Name.Name == p.Name+"_test" && isTest(file):
			tests = append(tests, file)
		}
	}
	p.externalTests(out, tests)
	return out
}

// note adds names of a file.
func note(out map[string][]otherName, f *sourceFile, alias bool, names []string) {
	line := constraints(f)
	for _, name := range names {
		out[name] = append(out[name], otherName{f.path, line, alias})
	}
}

// externalTests adds the names of the external tests, if one of their files imports all names of the package.
func (p *Package) externalTests(out map[string][]otherName, tests []*sourceFile) {
	imports := func(f *sourceFile) bool { return slices.Contains(dotImports(f.ast), p.Path) }
	if !slices.ContainsFunc(tests, imports) {
		return
	}
	for _, f := range tests {
		all := declaredBy(f.ast)
		if imports(f) {
			all = append(all, p.importedBy(f.ast)...)
		}
		note(out, f, true, slices.DeleteFunc(all, func(name string) bool { return !ast.IsExported(name) }))
	}
}

// otherFiles lists the Go files of the folder that this build does not read as source.
func (p *Package) otherFiles() []string {
	all, err := filepath.Glob(filepath.Join(escaped(p.Dir), "*.go"))
	if err != nil {
		return nil // no pattern: the folder has none
	}
	return slices.DeleteFunc(all, func(path string) bool {
		return strings.HasPrefix(filepath.Base(path), "_") || strings.HasPrefix(filepath.Base(path), ".") ||
			slices.ContainsFunc(p.files, func(f *sourceFile) bool { return f.path == path })
	})
}

// escaped escapes a folder for filepath.Glob.
func escaped(dir string) string {
	return strings.NewReplacer(`[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(dir)
}

// declaredBy lists the names that a file declares in the package's scope, and its methods as Type.Method.
func declaredBy(f *ast.File) []string {
	var out []string
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			switch id := receiver(d); {
			case d.Recv == nil:
				out = append(out, d.Name.Name)
			case id != nil:
				out = append(out, id.Name+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					out = append(out, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						out = append(out, id.Name)
					}
				}
			}
		}
	}
	return out
}

// receiver returns the type of a method's receiver, nil for a function.
func receiver(d *ast.FuncDecl) *ast.Ident {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return nil
	}
	return embeddedIdent(d.Recv.List[0].Type)
}

// orphans lists generated files whose source files do not exist, also of other builds.
func (p *Package) orphans() []string {
	var out []string
	for _, path := range p.otherFiles() {
		if !isGenerated(path) || slices.Contains(p.generated, path) {
			continue
		}
		source := strings.TrimSuffix(path, "_itemize.go") + ".go"
		if base, ok := strings.CutSuffix(path, "_itemize_test.go"); ok {
			source = base + "_test.go"
		}
		if _, err := os.Stat(source); err != nil {
			out = append(out, path)
		}
	}
	return out
}

// coincide reports whether a build can have the files of both constraints, which are //go:build lines, or "".
func coincide(a, b string) bool {
	var all []constraint.Expr
	names := map[string]bool{}
	for _, line := range []string{a, b} {
		if line == "" {
			continue
		}
		x, err := constraint.Parse(line)
		if err != nil {
			return true
		}
		all = append(all, x)
		x.Eval(func(tag string) bool { names[tag] = true; return true })
		x.Eval(func(tag string) bool { names[tag] = true; return false })
	}
	tags := slices.Sorted(maps.Keys(names))
	if len(tags) > mostTags {
		return true
	}
	for n := range 1 << len(tags) {
		set := map[string]bool{}
		for i, tag := range tags {
			set[tag] = n>>i&1 != 0
		}
		if possible(set) && !slices.ContainsFunc(all, func(x constraint.Expr) bool {
			return !x.Eval(func(tag string) bool { return set[tag] })
		}) {
			return true
		}
	}
	return false
}

// mostTags bounds the tags of which all combinations are tried.
const mostTags = 12

// possible reports whether a build can have these tags: it is for one system and one architecture. Files with the tag
// ignore are in no build.
func possible(tags map[string]bool) bool {
	systemsSet, architecturesSet := 0, 0
	for system, of := range impliedSystems {
		if on, named := tags[of]; tags[system] && named {
			if !on {
				return false
			}
			systemsSet-- // both are the one system
		}
	}
	for tag, on := range tags {
		switch {
		case !on:
		case tag == "ignore":
			return false
		case slices.Contains(strings.Fields(systems), tag):
			systemsSet++
			if set, ok := tags["unix"]; ok && set != slices.Contains(strings.Fields(unixSystems), tag) {
				return false
			}
		case slices.Contains(strings.Fields(architectures), tag):
			architecturesSet++
		}
	}
	return systemsSet <= 1 && architecturesSet <= 1
}

// impliedSystems are systems that set the tag of another one, too.
var impliedSystems = map[string]string{"android": "linux", "ios": "darwin", "illumos": "solaris"}

// unixSystems are the systems for which the tag unix is set (go help buildconstraint).
const unixSystems = "aix android darwin dragonfly freebsd hurd illumos ios linux netbsd openbsd solaris"

// hidden lists the predeclared names that a file uses, and that the package declares for something else.
func hidden(content []byte, taken func(name string) bool) []string {
	var declared []string
	for _, name := range types.Universe.Names() {
		if taken(name) {
			declared = append(declared, name)
		}
	}
	if len(declared) == 0 {
		return nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", content, 0)
	if err != nil {
		return nil // the file is formatted: it parses
	}
	used := map[string]bool{}
	for _, id := range f.Unresolved {
		used[id.Name] = true
	}
	return slices.DeleteFunc(declared, func(name string) bool { return !used[name] })
}
