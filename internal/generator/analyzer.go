package generator

import (
	"go/token"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports the faults of the ddb tags of models, under go vet and other drivers of analyzers.
var Analyzer = &analysis.Analyzer{
	Name: "itemize",
	Doc:  "report mistakes in the ddb tags of models",
	Run:  analyze,
}

func analyze(pass *analysis.Pass) (any, error) {
	p := &Package{Path: pass.Pkg.Path(), Name: pass.Pkg.Name(), fset: pass.Fset, types: pass.Pkg}
	for _, f := range pass.Files {
		if path := pass.Fset.Position(f.Package).Filename; !isGenerated(path) {
			p.files = append(p.files, &sourceFile{path, f})
		}
	}
	p.find = &finder{p: p, info: pass.TypesInfo}
	p.find.find()
	p.dropBases(basesElsewhere([]*Package{p}, moduleFolder(p)))
	for _, d := range sortDiagnostics(p.Diagnostics) {
		if d.elsewhere() {
			continue // an analysis sees one package
		}
		pass.Report(analysis.Diagnostic{Pos: posOf(pass, d.Pos), End: posOf(pass, d.End), Message: d.Message})
	}
	return nil, nil
}

// posOf returns the token.Pos of a position in one of the pass's files.
func posOf(pass *analysis.Pass, at token.Position) token.Pos {
	for _, f := range pass.Files {
		if tf := pass.Fset.File(f.Package); tf != nil && tf.Name() == at.Filename {
			return tf.Pos(at.Offset)
		}
	}
	return token.NoPos
}
