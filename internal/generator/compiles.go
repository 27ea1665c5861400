package generator

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Compiles checks the types of an ejected file together with the package, and returns the first error in the file. It
// finds no fault in code whose imports cannot be loaded.
func (p *Package) Compiles(ctx context.Context, cfg Config, f File) error {
	exports := map[string]string{}
	found, err := packages.Load(&packages.Config{
		Context: ctx, Dir: cfg.Dir, Env: cfg.Env, BuildFlags: cfg.BuildFlags, Fset: p.fset,
		Mode: packages.NeedName | packages.NeedExportFile,
	}, append(slices.Clone(ejectedImports), p.imports...)...)
	if err != nil {
		return err
	}
	for _, d := range found {
		exports[d.PkgPath] = d.ExportFile
	}
	made, err := parser.ParseFile(p.fset, f.Path, f.Content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	files := []*ast.File{made}
	for _, source := range p.files {
		if source.path != f.Path {
			files = append(files, source.ast)
		}
	}
	var first error
	check := types.Config{
		FakeImportC: true,
		Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
			if exports[path] == "" {
				return nil, fmt.Errorf("the package %s has no export data: build it first", path)
			}
			return os.Open(exports[path])
		}),
		Error: func(err error) {
			e := types.Error{}
			if first == nil && errors.As(err, &e) && p.fset.Position(e.Pos).Filename == f.Path &&
				!strings.Contains(e.Msg, "could not import") {
				first = fmt.Errorf("%s: the ejected code does not compile, and is not written: %s: rename what your "+
					"package declares", p.Name, e.Msg)
			}
		},
	}
	_, _ = check.Check(p.Path, p.fset, files, nil) // its errors are collected
	return first
}
