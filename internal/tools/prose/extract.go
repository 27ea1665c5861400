package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind says where a text comes from.
type kind string

const (
	page       kind = "page"        // a file of Markdown
	packageDoc kind = "package doc" // the comment of a package clause
	comment    kind = "comment"     // every other comment of a Go file
	message    kind = "message"     // a string literal of three words or more: errors, help texts, reports
)

// text is the prose of one file and of one kind, as Markdown.
type text struct {
	kind  kind
	file  string // its path in the repository, with slashes
	body  []byte
	lines []int // lines[i] is the line in the file of line i+1 of the body
}

// words counts the words of a text.
func (t *text) words() int { return len(bytes.Fields(t.body)) }

// line returns the line in the file of a line of the body.
func (t *text) line(n int) int {
	if n < 1 || n > len(t.lines) {
		return n
	}
	return t.lines[n-1]
}

func (t *text) add(line int, s string) {
	t.body = append(append(t.body, s...), '\n')
	t.lines = append(t.lines, line)
}

// source is a Go file.
type source struct {
	file   string
	fset   *token.FileSet
	syntax *ast.File
	code   []byte
}

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

// test says whether only tests compile the file.
func (s *source) test() bool {
	return strings.HasSuffix(s.file, "_test.go") || strings.HasPrefix(s.file, "internal/testing/")
}

// repository has the pages and Go files of a folder, without the data of tests and folders whose names
// begin with a dot or an underscore.
type repository struct {
	pages   []text
	sources []*source
}

// read reads the repository in a folder.
func read(root string) (*repository, error) {
	r := &repository{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && (strings.ContainsAny(d.Name()[:1], "._") || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch path.Ext(rel) {
		case ".md":
			body, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			r.pages = append(r.pages, text{kind: page, file: rel, body: body})
		case ".go":
			code, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			s := &source{file: rel, fset: token.NewFileSet(), code: code}
			if s.syntax, err = parser.ParseFile(s.fset, rel, code, parser.ParseComments); err != nil {
				return err
			}
			r.sources = append(r.sources, s)
		}
		return nil
	})
	return r, err
}

// texts returns all texts.
func (r *repository) texts() []text {
	out := slices.Clone(r.pages)
	for _, s := range r.sources {
		out = append(out, s.texts()...)
	}
	return out
}

// directive matches comments that tools read.
var directive = regexp.MustCompile(`^//([a-z0-9]+:|line |export |nolint)`)

// texts returns the prose of a Go file.
func (s *source) texts() []text {
	doc := text{kind: packageDoc, file: s.file}
	comments := text{kind: comment, file: s.file}
	for _, group := range s.syntax.Comments {
		t := &comments
		if group == s.syntax.Doc {
			t = &doc
		}
		s.group(t, group)
	}
	out := []text{doc, comments}
	if !s.test() {
		messages := text{kind: message, file: s.file}
		s.literals(&messages)
		out = append(out, messages)
	}
	return slices.DeleteFunc(out, func(t text) bool { return len(t.body) == 0 })
}

// group adds a group of comments. The output of an example is no prose, and ends the group.
func (s *source) group(t *text, group *ast.CommentGroup) {
	for _, c := range group.List {
		line := s.line(c.Pos())
		if directive.MatchString(c.Text) {
			continue
		}
		if body, ok := strings.CutPrefix(c.Text, "/*"); ok {
			for i, l := range strings.Split(strings.TrimSuffix(body, "*/"), "\n") {
				t.add(line+i, strings.TrimSpace(l))
			}
			continue
		}
		body := strings.TrimPrefix(strings.TrimPrefix(c.Text, "//"), " ")
		if isOutput(c.Text) {
			break
		}
		t.add(line, body)
	}
	t.add(s.line(group.End()), "")
}

// isOutput says whether a comment begins the output of an example.
func isOutput(comment string) bool {
	return comment == "// Output:" || comment == "// Unordered output:"
}

// literals adds the string literals that are texts.
func (s *source) literals(t *text) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				return false
			}
		case ast.Expr:
			value, ok := constant(n)
			if !ok {
				return true
			}
			if prose(value) {
				for _, l := range strings.Split(value, "\n") {
					if strings.HasPrefix(l, "  ") { // a line of a list
						t.add(s.line(n.Pos()), "")
					}
					t.add(s.line(n.Pos()), strings.TrimSpace(l))
				}
				t.add(s.line(n.End()), "")
			}
			return false
		}
		return true
	})
}

// constant returns the value of a string literal, or of a sum of string literals.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, ok := constant(e.X)
		if !ok || e.Op != token.ADD {
			return "", false
		}
		y, ok := constant(e.Y)
		return x + y, ok
	case *ast.ParenExpr:
		return constant(e.X)
	}
	return "", false
}

var word = regexp.MustCompile(`[A-Za-z][a-z']+`)

// prose says whether a literal is a text: three words or more. Templates of code are none: their output
// is checked where it is generated.
func prose(s string) bool {
	if strings.Contains(s, "{{") || strings.Contains(s, "\n\t") && strings.ContainsAny(s, "{}") {
		return false
	}
	return len(strings.Fields(s)) >= 3 && len(word.FindAllString(s, 3)) == 3
}
