package codegen

import (
	"fmt"
	"go/build/constraint"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Version is that of the code that is generated; package mapperimpl tells which ones
// it works with.
const Version = 1

// Generate returns the files of a package's models: one beside each file that declares
// some, and the lock file. lock is the lock file as it was, nil for none; accept takes
// the keys as they are now, whatever it says. Where there are diagnostics there are no
// files.
func (p *Package) Generate(lock []byte, accept bool) ([]File, []Diagnostic, error) {
	if len(p.Diagnostics) > 0 || len(p.Models) == 0 {
		return nil, p.Diagnostics, nil
	}
	g := &generator{p: p, taken: map[string]bool{}}
	for _, name := range p.types.Scope().Names() {
		g.taken[name] = true
	}
	var out []File
	for _, f := range p.files {
		models := p.modelsOf(f)
		if len(models) == 0 {
			continue
		}
		file, err := g.file(f, models)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, file)
	}
	file, contradictions, err := p.lock(lock, accept)
	if err != nil {
		return nil, nil, err
	}
	if g.diagnostics = append(g.diagnostics, contradictions...); len(g.diagnostics) > 0 {
		return nil, sortDiagnostics(g.diagnostics), nil
	}
	return append(out, file), nil, nil
}

func (p *Package) modelsOf(f *sourceFile) []*Model {
	var out []*Model
	for _, m := range p.Models {
		if m.File == f.path {
			out = append(out, m)
		}
	}
	return out
}

type generator struct {
	p           *Package
	taken       map[string]bool
	diagnostics []Diagnostic
}

func (g *generator) file(f *sourceFile, models []*Model) (File, error) {
	path := generatedPath(f.path)
	if i := slices.IndexFunc(g.p.files, func(x *sourceFile) bool { return x.path == path }); i >= 0 {
		pos := g.p.fset.Position(g.p.files[i].ast.Package)
		g.diagnostics = append(g.diagnostics, Diagnostic{Pos: pos, End: pos, Message: "this file has the name of a generated one, and was not generated: rename it"})
	}
	w := newWriter(g.p.types, f.path, g.taken)
	w.p("const (")
	w.p("_ = %s(%d - %s)", w.impl("EnforceVersion"), Version, w.impl("MinVersion"))
	w.p("_ = %s(%s - %d)", w.impl("EnforceVersion"), w.impl("MaxVersion"), Version)
	w.p(")\n")
	done := map[types.Type]bool{}
	for _, m := range models {
		w.assertions(m, done)
	}
	for _, m := range models {
		g.nodes(w, m)
		w.codec(m)
		w.flush()
		for _, text := range w.errs {
			pos := m.named.Obj().Pos()
			g.diagnostics = append(g.diagnostics, Diagnostic{
				Pos: g.p.fset.Position(pos), End: g.p.fset.Position(pos + token.Pos(len(m.Name))), Message: m.Schema.Label() + ": " + text,
			})
		}
		w.errs = nil
	}
	if len(g.diagnostics) > 0 {
		return File{}, nil
	}
	content, err := w.content(constraints(f))
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", f.path, err)
	}
	return File{Path: path, Content: content}, nil
}

// generatedPath returns the path of the file that is generated beside a source file.
func generatedPath(source string) string {
	if base, ok := strings.CutSuffix(source, "_test.go"); ok {
		return base + "_itemize_test.go"
	}
	return strings.TrimSuffix(source, ".go") + "_itemize.go"
}

// constraints returns the //go:build line of the file that is generated for a source
// file: its own, and what the name of the file says, which the generated one's does not.
func constraints(f *sourceFile) string {
	line, named := buildConstraint(f), nameConstraint(f.path)
	switch {
	case named == "":
		return line
	case line == "":
		return "//go:build " + named
	}
	return "//go:build (" + strings.TrimPrefix(line, "//go:build ") + ") && " + named
}

// nameConstraint returns what the name of a file asks for: model_linux_amd64.go.
func nameConstraint(path string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".go"), "_test")
	parts := strings.Split(base, "_")
	known := func(list, word string) bool { return slices.Contains(strings.Fields(list), word) }
	n := len(parts)
	switch {
	case n >= 3 && known(systems, parts[n-2]) && known(architectures, parts[n-1]):
		return parts[n-2] + " && " + parts[n-1]
	case n >= 2 && (known(systems, parts[n-1]) || known(architectures, parts[n-1])):
		return parts[n-1]
	}
	return ""
}

// The words that the go command takes for constraints in the names of files (go help
// buildconstraint).
const (
	systems       = "aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos"
	architectures = "386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm"
)

// buildConstraint returns the //go:build line of a file, "" for none.
func buildConstraint(f *sourceFile) string {
	for _, group := range f.ast.Comments {
		if group.Pos() > f.ast.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				return c.Text
			}
		}
	}
	return ""
}
