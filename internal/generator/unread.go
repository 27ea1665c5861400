package generator

import (
	"bytes"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
)

// A package that does not parse cannot be read completely, so a model may be missing. Such a package
// has no models. Its only diagnostics are the errors of the parser, so that no code is generated or
// deleted.

// unreadable adds the errors of a file that does not parse.
func (p *Package) unreadable(path string, err error) {
	if generatedName(path) && isMerged(path) {
		at := token.Position{Filename: path, Line: 1, Column: 1}
		p.unread = append(p.unread, Diagnostic{
			Pos: at, End: at, Message: "a merge of two branches is not finished in this generated file: delete it, " +
				"and run itemize gen",
		})
		return
	}
	if at, ok := openTag(path); ok { // the text after it is read as something else
		p.unread = append(p.unread,
			Diagnostic{
				Pos: at, End: at,
				Message: "the struct tag that begins here has no second backquote on its line: add it",
			})
		return
	}
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		at := token.Position{Filename: path, Line: 1, Column: 1}
		p.unread = append(p.unread, Diagnostic{Pos: at, End: at, Message: err.Error()})
	}
	for _, e := range list {
		p.unread = append(p.unread, Diagnostic{Pos: e.Pos, End: e.Pos, Message: e.Msg})
	}
}

// isMerged reports whether a generated file begins with both sides of a merge.
func isMerged(path string) bool {
	src, err := os.ReadFile(path)
	return err == nil && bytes.HasPrefix(src, []byte("<<<<<<<")) && bytes.Contains(src, []byte(header))
}

// openTag finds a struct tag without its second backquote. Such a tag ends at the first backquote of
// the next tag, and the parser complains about the text after that.
func openTag(path string) (at token.Position, found bool) {
	src, err := os.ReadFile(path)
	if err != nil {
		return at, false
	}
	files := token.NewFileSet()
	f := files.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(f, src, func(token.Position, string) {}, 0)
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return at, false
		case tok == token.STRING && tagOverLines.MatchString(text):
			return f.Position(pos), true
		}
	}
}

// tagOverLines matches a tag that does not end on its line.
var tagOverLines = regexp.MustCompile("^`[A-Za-z_]+:\"[^`\n]*\n")

// otherPackage adds the faults of a folder with files of two packages.
func (p *Package) otherPackage() {
	for _, f := range p.files {
		if first := p.files[0]; f.ast.Name.Name != first.ast.Name.Name {
			at := p.fset.Position(f.ast.Package)
			p.unread = append(p.unread, Diagnostic{Pos: at, End: at, Message: fmt.Sprintf(
				"the file is of package %s, but %s in the same folder is of package %s: move one of them",
				f.ast.Name.Name,
				filepath.Base(first.path), first.ast.Name.Name)})
		}
	}
}
