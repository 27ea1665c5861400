// Package codegen has the functions of the commands itemize gen and itemize vet, for programs that
// generate or analyze code themselves. [Generate] returns the code of models, and [Analyzer] finds
// faults in their tags.
package codegen

import (
	"context"
	"errors"

	"golang.org/x/tools/go/analysis"

	"github.com/itemize/itemize/internal/generator"
)

// Analyzer reports faults in the ddb tags of models, under go vet and other drivers of analyzers.
var Analyzer *analysis.Analyzer = generator.Analyzer

// Generate returns the files that itemize gen would write for the models of packages, with the lock
// file of each package, by path. It writes nothing. Patterns are those of the go command, resolved in
// dir; "" is the current folder. If models have faults, or a change would make stored items unreadable,
// the error joins one error for each fault, which starts with its position: file:line:column.
func Generate(ctx context.Context, dir string, patterns ...string) (map[string][]byte, error) {
	packages, err := generator.Load(ctx, generator.Config{Dir: dir}, patterns...)
	if err != nil {
		return nil, err
	}
	made, faults, err := generator.All(packages, false)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, f := range faults {
		errs = append(errs, errors.New(f.String()))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	files := map[string][]byte{}
	for _, f := range made {
		files[f.Path] = f.Content
	}
	return files, nil
}
