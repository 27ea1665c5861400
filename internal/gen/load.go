package gen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Config says what to load.
type Config struct {
	// Dir is where patterns are resolved; "" for the current one.
	Dir string
	// Env is the environment of the go command; nil for this program's.
	Env []string
	// BuildFlags are flags of the go command, such as -tags.
	BuildFlags []string
}

// Package is a package with its models.
type Package struct {
	Path, Name, Dir string
	// Models are in the order of their places.
	Models []*Model
	// Diagnostics are the faults of its models.
	Diagnostics []Diagnostic
	// Notes are remarks on the generated code that are no faults.
	Notes []Diagnostic

	fset  *token.FileSet
	find  *finder
	types *types.Package
	files []*sourceFile
	// unread are the errors because of which the package could not be read whole.
	unread []Diagnostic
	// generated are the paths of the existing generated files.
	generated []string
}

// sourceFile is a parsed file.
type sourceFile struct {
	path string
	ast  *ast.File
}

// generatedName reports whether the path has the form of a generated file's name.
func generatedName(path string) bool {
	return strings.HasSuffix(path, "_itemize.go") || strings.HasSuffix(path, "_itemize_test.go")
}

// isGenerated reports whether this package has written a file: by its name and its first line. A file
// of another origin with such a name is source code.
func isGenerated(path string) bool {
	if !generatedName(path) {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	return strings.TrimRight(line, "\r\n") == header
}

// Load loads the packages that match patterns, with their tests. The code need not compile: it must
// parse, and the models must be readable. Load does not read generated files. The error is an error of
// the patterns or of the go command; faults of models, and of files that do not parse, are diagnostics.
func Load(ctx context.Context, cfg Config, patterns ...string) ([]*Package, error) {
	l := &loader{fset: token.NewFileSet(), deps: map[string]*types.Package{}, done: map[string]*types.Package{}}
	if err := l.list(ctx, cfg, patterns); err != nil {
		return nil, err
	}
	if err := l.imports(ctx, cfg); err != nil {
		return nil, err
	}
	var out []*Package
	for _, r := range l.roots {
		out = append(out, l.check(r))
	}
	embeddedElsewhere(out, l.module())
	return out, nil
}

// module is the folder of the packages' module, "" where there is none.
func (l *loader) module() string {
	for _, r := range l.roots {
		if r.Module != nil {
			return r.Module.Dir
		}
	}
	return ""
}

type loader struct {
	fset  *token.FileSet
	roots []*packages.Package
	// deps are the types of imported packages, done those of roots.
	deps, done map[string]*types.Package
}

const listMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedForTest |
	packages.NeedModule

// list finds the packages, and of each the variant with the most files: that with
// its tests.
func (l *loader) list(ctx context.Context, cfg Config, patterns []string) error {
	all, err := packages.Load(&packages.Config{
		Context: ctx, Dir: cfg.Dir, Env: cfg.Env, BuildFlags: cfg.BuildFlags, Fset: l.fset, Mode: listMode, Tests: true,
	}, patterns...)
	if err != nil {
		return err
	}
	best := map[string]*packages.Package{}
	for _, p := range all {
		if strings.HasSuffix(p.PkgPath, ".test") || len(p.GoFiles) == 0 {
			if err := missing(p); err != nil {
				return err
			}
			continue
		}
		if b := best[p.PkgPath]; b == nil || len(p.GoFiles) > len(b.GoFiles) {
			best[p.PkgPath] = p
		}
	}
	if len(best) == 0 && len(all) == 0 {
		return fmt.Errorf("the pattern %s matches no package: name a folder such as ./models, or ./... for all",
			strings.Join(patterns, " "))
	}
	var order func(p *packages.Package)
	seen := map[string]bool{}
	order = func(p *packages.Package) { // imported roots come first
		if seen[p.PkgPath] {
			return
		}
		seen[p.PkgPath] = true
		for _, path := range sortedKeys(p.Imports) {
			if r := best[p.Imports[path].PkgPath]; r != nil {
				order(r)
			}
		}
		l.roots = append(l.roots, p)
	}
	for _, path := range sortedKeys(best) {
		order(best[path])
	}
	return nil
}

// missing returns the error of a package that does not exist.
func missing(p *packages.Package) error {
	var errs []error
	for _, e := range p.Errors {
		switch {
		case e.Kind != packages.ListError:
		case e.Pos == "" || e.Pos == "-": // the package, not a file of it
			errs = append(errs, fmt.Errorf("%s: name a folder such as ./models, or ./... for all", e.Msg))
		default:
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// imports loads the types of the packages that the roots import, from their export
// data.
func (l *loader) imports(ctx context.Context, cfg Config) error {
	want := map[string]bool{}
	for _, r := range l.roots {
		for _, p := range r.Imports {
			want[p.PkgPath] = true
		}
	}
	for _, r := range l.roots {
		delete(want, r.PkgPath)
	}
	delete(want, "C")
	delete(want, "unsafe")
	if len(want) == 0 {
		return nil
	}
	deps, err := packages.Load(&packages.Config{
		Context: ctx, Dir: cfg.Dir, Env: cfg.Env, BuildFlags: cfg.BuildFlags, Fset: l.fset,
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedExportFile,
	}, sortedKeys(want)...)
	if err != nil {
		return err
	}
	for _, p := range deps {
		if p.Types != nil {
			l.deps[p.PkgPath] = p.Types
		}
	}
	return nil
}

// importer finds the packages that a root imports.
type importer struct {
	l    *loader
	root *packages.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := i.root.Imports[path]; p != nil {
		path = p.PkgPath
	}
	if p := i.l.done[path]; p != nil {
		return p, nil
	}
	if p := i.l.deps[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("the package %s could not be loaded: see the errors of go build", path)
}

// check parses and type-checks a root, as far as it can be.
func (l *loader) check(r *packages.Package) *Package {
	p := &Package{Path: r.PkgPath, Name: r.Name, Dir: filepath.Dir(r.GoFiles[0]), fset: l.fset}
	var files []*ast.File
	for _, path := range r.GoFiles {
		if isGenerated(path) {
			p.generated = append(p.generated, path)
			continue
		}
		f, err := parser.ParseFile(l.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.unreadable(path, err)
		}
		if f == nil {
			continue
		}
		files = append(files, f)
		p.files = append(p.files, &sourceFile{path, f})
	}
	var first error
	cfg := types.Config{
		Importer: importer{l, r}, FakeImportC: true, IgnoreFuncBodies: true,
		Error: func(err error) {
			if first == nil {
				first = err
			}
		},
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	p.otherPackage()
	p.types, _ = cfg.Check(r.PkgPath, l.fset, files, info)
	l.done[r.PkgPath] = p.types
	p.find = &finder{p: p, info: info, typeError: first}
	if len(p.unread) == 0 {
		p.find.find()
	}
	p.Diagnostics = sortDiagnostics(append(p.Diagnostics, p.unread...))
	return p
}
