package generator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

	// foreign is the module of the package if the command is run in another one.
	foreign string
	fset    *token.FileSet
	find    *finder
	types   *types.Package
	files   []*sourceFile
	// imports are the paths of the packages that the files import, and importer has them.
	imports  []string
	importer types.Importer
	// byName are the declarations of the files, once they were asked for.
	byName map[string]ast.Spec
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
	l := &loader{fset: token.NewFileSet(), types: map[string]*types.Package{}, roots: map[string]*Package{}}
	listed, err := l.list(ctx, cfg, patterns)
	if err != nil {
		return nil, err
	}
	for _, path := range sortedKeys(listed) {
		l.roots[path] = l.parse(listed[path])
	}
	if err := l.imports(ctx, cfg); err != nil {
		return nil, err
	}
	out := l.ordered()
	for _, p := range out {
		l.check(p)
	}
	module := ""
	for _, r := range listed {
		if r.Module != nil {
			module = r.Module.Dir
		}
	}
	embeddedElsewhere(out, module)
	bases := basesElsewhere(out, module)
	for _, p := range out {
		p.dropBases(bases)
	}
	return out, nil
}

type loader struct {
	fset *token.FileSet
	// roots are the packages that the patterns name, by their paths.
	roots map[string]*Package
	// types are the types of the roots that are checked, and deps has those of the packages that they import.
	types map[string]*types.Package
	deps  types.Importer
}

// list finds the packages, and of each the variant with the most files: that with
// its tests. It does not ask for their imports. The go command would also list the hundreds of packages that
// generated code needs.
func (l *loader) list(ctx context.Context, cfg Config, patterns []string) (map[string]*packages.Package, error) {
	all, err := packages.Load(&packages.Config{
		Context: ctx, Dir: cfg.Dir, Env: cfg.Env, BuildFlags: cfg.BuildFlags, Fset: l.fset, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedForTest | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return nil, goError(err)
	}
	best := map[string]*packages.Package{}
	for _, p := range all {
		if strings.HasSuffix(p.PkgPath, ".test") || len(p.GoFiles) == 0 {
			if err := missing(p); err != nil {
				return nil, err
			}
			continue
		}
		if b := best[p.PkgPath]; b == nil || len(p.GoFiles) > len(b.GoFiles) {
			best[p.PkgPath] = p
		}
	}
	if len(best) == 0 && len(all) == 0 {
		return nil, fmt.Errorf(
			"the pattern %s matches no package: %s",
			strings.Join(patterns, " "),
			otherPattern(patterns),
		)
	}
	return best, nil
}

// otherPattern returns what to write in place of patterns that match no package.
func otherPattern(patterns []string) string {
	if slices.ContainsFunc(patterns, func(p string) bool { return strings.HasSuffix(p, "/...") }) {
		return "run the command in the module of the models; folders whose names begin with _ or . are left out"
	}
	return "name a folder such as ./models, or ./... for all"
}

// ordered lists the roots, imported ones first.
func (l *loader) ordered() []*Package {
	var out []*Package
	seen := map[*Package]bool{}
	var add func(p *Package)
	add = func(p *Package) {
		if p == nil || seen[p] {
			return
		}
		seen[p] = true
		for _, path := range p.imports {
			add(l.roots[path])
		}
		out = append(out, p)
	}
	for _, path := range sortedKeys(l.roots) {
		add(l.roots[path])
	}
	return out
}

// missing returns the error of a package that does not exist.
func missing(p *packages.Package) error {
	var errs []error
	for _, e := range p.Errors {
		switch {
		case e.Kind != packages.ListError:
		case e.Pos == "" || e.Pos == "-": // the package, not a file of it
			if cured := goError(e); cured != error(e) {
				return cured
			}
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
	for _, p := range l.roots {
		for _, path := range p.imports {
			want[path] = l.roots[path] == nil && path != "C" && path != "unsafe"
		}
	}
	maps.DeleteFunc(want, func(_ string, wanted bool) bool { return !wanted })
	files := map[string]string{}
	if len(want) > 0 { // no pattern would mean the folder
		deps, err := packages.Load(&packages.Config{
			Context: ctx, Dir: cfg.Dir, Env: cfg.Env, BuildFlags: cfg.BuildFlags, Fset: l.fset,
			Mode: packages.NeedName | packages.NeedExportFile,
		}, sortedKeys(want)...)
		if err != nil {
			return goError(err)
		}
		for _, p := range deps {
			files[p.PkgPath] = p.ExportFile
		}
	}
	l.deps = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("the package %s could not be loaded: see the errors of go build", path)
		}
		return os.Open(files[path])
	})
	return nil
}

// Import returns a package that a root imports.
func (l *loader) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := l.types[path]; p != nil {
		return p, nil
	}
	return l.deps.Import(path)
}

// parse parses the files of a root that are not generated.
func (l *loader) parse(r *packages.Package) *Package {
	p := &Package{Path: r.PkgPath, Name: r.Name, Dir: filepath.Dir(r.GoFiles[0]), fset: l.fset}
	if r.Module != nil && !r.Module.Main {
		p.foreign = r.Module.Path
	}
	for _, path := range r.GoFiles {
		if isGenerated(path) {
			p.generated = append(p.generated, path)
			continue
		}
		f, err := parser.ParseFile(l.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.unreadable(path, err)
		}
		if f == nil || f.Name.Name == "" {
			continue // its package clause does not parse
		}
		p.files = append(p.files, &sourceFile{path, f})
		for _, i := range f.Imports {
			if path, err := strconv.Unquote(i.Path.Value); err == nil && !slices.Contains(p.imports, path) {
				p.imports = append(p.imports, path)
			}
		}
	}
	for _, path := range p.otherDotImports() {
		if !slices.Contains(p.imports, path) {
			p.imports = append(p.imports, path)
		}
	}
	return p
}

// check type-checks a root, as far as it can be.
func (l *loader) check(p *Package) {
	var files []*ast.File
	for _, f := range p.files {
		files = append(files, f.ast)
	}
	var all []types.Error
	cfg := types.Config{
		Importer: l, FakeImportC: true, IgnoreFuncBodies: true,
		Error: func(err error) {
			if e := (types.Error{}); errors.As(err, &e) {
				all = append(all, e)
			}
		},
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	p.otherPackage()
	p.importer = l
	p.types, _ = cfg.Check(p.Path, l.fset, files, info)
	p.generated = append(p.generated, p.orphans()...)
	l.types[p.Path] = p.types
	p.find = &finder{p: p, info: info, typeErrors: all}
	if len(p.unread) == 0 {
		p.find.find()
	}
	p.Diagnostics = sortDiagnostics(append(p.Diagnostics, p.unread...))
}
