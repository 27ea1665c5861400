package generator

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// maxColumns is how long a line of a generated file may be, where it can be broken.
// A tab counts as tabColumns.
const (
	maxColumns = 120
	tabColumns = 4
)

// breakLines breaks the lines of formatted code that are too long. Declarations are broken one by one: most have no
// such line, and need not be parsed again.
func breakLines(src []byte) ([]byte, error) {
	const clause = "package p\n\n"
	out := make([]byte, 0, len(src)+len(src)/8)
	for rest := src; len(rest) > 0; {
		n := declaration(rest)
		text := rest[:n]
		rest = rest[n:]
		if !hasLong(text) {
			out = append(out, text...)
			continue
		}
		if bytes.HasPrefix(text, []byte("package ")) {
			return breakAll(src) // no declaration by itself
		}
		broken, err := breakAll(slices.Concat([]byte(clause), text))
		if err != nil {
			return breakAll(src)
		}
		out = append(out, bytes.TrimRight(broken[len(clause):], "\n")...)
		out = append(out, text[len(bytes.TrimRight(text, "\n")):]...)
	}
	return out, nil
}

// declaration returns the length of the first declaration of formatted code, with its comment and the empty line behind
// it: up to an empty line that is followed by a line without an indent.
func declaration(src []byte) int {
	at := 0
	for {
		n := bytes.Index(src[at:], []byte("\n\n"))
		if n < 0 {
			return len(src)
		}
		at += n + 2
		if at == len(src) || src[at] != '\t' {
			return at
		}
	}
}

// hasLong reports whether code has a line that is too long.
func hasLong(src []byte) bool {
	for line := range bytes.Lines(src) {
		if len(line) > maxColumns/tabColumns && columns(string(bytes.TrimSuffix(line, []byte("\n")))) > maxColumns {
			return true
		}
	}
	return false
}

// breakAll breaks the lines of formatted code that are too long, inside the outermost brackets first.
func breakAll(src []byte) ([]byte, error) {
	for n := range 8 { // brackets within brackets
		if n > 0 && !hasLong(src) {
			break
		}
		b := &breaker{src: src, fset: token.NewFileSet()}
		f, err := parser.ParseFile(b.fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		b.file = b.fset.File(f.Package)
		b.find(f)
		if len(b.best) == 0 {
			break
		}
		if src, err = format.Source(b.apply()); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// breaker finds where one formatted text is broken.
type breaker struct {
	src  []byte
	fset *token.FileSet
	file *token.File
	// best are the brackets to break, by line: those of the largest span.
	best map[int]brackets
}

// brackets hold a list, or the statements of a block.
type brackets struct {
	open, close int // offsets, of the brackets themselves
	elements    []ast.Node
	block       bool
	// inner says that the brackets are on other lines: just the elements of one line
	// are between open and close.
	inner bool
}

func (b *breaker) find(f *ast.File) {
	b.best = map[int]brackets{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			b.list(n.Lparen, n.Rparen, nodes(n.Args), false)
		case *ast.CompositeLit:
			b.list(n.Lbrace, n.Rbrace, nodes(n.Elts), false)
		case *ast.IndexListExpr:
			b.list(n.Lbrack, n.Rbrack, nodes(n.Indices), false)
		case *ast.BlockStmt:
			b.list(n.Lbrace, n.Rbrace, nodes(n.List), true)
		case *ast.FieldList:
			if n.Opening.IsValid() && b.src[b.offset(n.Opening)] == '(' {
				b.list(n.Opening, n.Closing, nodes(n.List), false)
			}
		}
		return true
	})
}

func nodes[N ast.Node](list []N) []ast.Node {
	out := make([]ast.Node, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}

func (b *breaker) offset(p token.Pos) int { return b.file.Offset(p) }

// list takes brackets on one line that is too long, if they are the largest so far.
func (b *breaker) list(open, close token.Pos, elements []ast.Node, block bool) {
	line := b.file.Line(open)
	if line != b.file.Line(close) {
		if !block {
			b.inner(elements)
		}
		return
	}
	if len(elements) == 0 || columns(b.line(line)) <= maxColumns {
		return
	}
	b.take(line, brackets{b.offset(open), b.offset(close), elements, block, false})
}

// inner takes the elements that share a line which is too long, of a list of several
// lines.
func (b *breaker) inner(elements []ast.Node) {
	for len(elements) > 0 {
		line, n := b.file.Line(elements[0].Pos()), 0
		for n < len(elements) && b.file.Line(elements[n].Pos()) == line && b.file.Line(elements[n].End()) == line {
			n++
		}
		if n > 1 && columns(b.line(line)) > maxColumns {
			last := b.offset(elements[n-1].End())
			if b.src[last] == ',' {
				b.take(line, brackets{b.offset(elements[0].Pos()) - 1, last + 1, elements[:n], false, true})
			}
		}
		elements = elements[max(n, 1):]
	}
}

func (b *breaker) take(line int, x brackets) {
	if old, ok := b.best[line]; !ok || x.close-x.open > old.close-old.open {
		b.best[line] = x
	}
}

// line returns the text of a line.
func (b *breaker) line(n int) string {
	start := b.offset(b.file.LineStart(n))
	text, _, _ := bytes.Cut(b.src[start:], []byte("\n"))
	return string(text)
}

// columns is the width of a line.
func columns(line string) int {
	return len([]rune(line)) + strings.Count(line, "\t")*(tabColumns-1)
}

// apply returns the text with the breaks.
func (b *breaker) apply() []byte {
	lines := make([]int, 0, len(b.best))
	for line := range b.best {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	var out []byte
	at := 0
	for _, line := range lines {
		x := b.best[line]
		text := b.line(line)
		indent := len(text) - len(strings.TrimLeft(text, "\t")) + 1
		out = append(out, b.src[at:x.open+1]...)
		out = append(out, b.broken(x, indent)...)
		at = x.close
	}
	return append(out, b.src[at:]...)
}

// broken returns the text between brackets, broken into lines that are as full as possible.
func (b *breaker) broken(x brackets, indent int) string {
	if x.block {
		return "\n" + string(b.src[x.open+1:x.close]) + "\n"
	}
	texts := make([]string, len(x.elements))
	for i, e := range x.elements {
		texts[i] = string(b.src[b.offset(e.Pos()):b.offset(e.End())])
	}
	if x.inner {
		text := filled(texts, indent*tabColumns, indent*tabColumns)
		return text[:len(text)-1]
	}
	return filled(texts, indent*tabColumns, maxColumns+1)
}

// filled returns the elements of a list with commas, in lines that are as full as possible, and a line break. The
// lines have an indent, and the first one has so many columns before it, both in columns.
func filled(elements []string, indent, width int) string {
	var out strings.Builder
	for _, text := range elements {
		n := columns(text) + 1
		if width+1+n > maxColumns {
			out.WriteString("\n")
			width = indent
		} else {
			out.WriteString(" ")
			width++
		}
		out.WriteString(text + ",")
		width += n
	}
	return out.String() + "\n"
}
