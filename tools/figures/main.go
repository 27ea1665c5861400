// Figures prints figures of the repository's structure: long functions, types with many
// methods, the files that know of a reserved attribute, generated lines, exported names
// that are there for other packages, and the tests of internal packages.
//
// Usage, in the folder tools:
//
//	go run ./figures [-json] [-check] [root]
//
// The root is that of the repository, ".." unless given. The figures are of code that is
// neither a test nor generated, unless they say otherwise. With -check the exit status is
// 1 if a function is too long or has too many parameters.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a function, and the length of the list of types.
const (
	maxLines      = 60
	maxParameters = 5
	maxTypes      = 10
)

var (
	generatedLine = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.$`)
	forOthers     = regexp.MustCompile(`(?i)\bfor the (mapper|module|library)\b|\bfor generated code\b|for the packages of this module`)
	publicFolders = []string{"field", "mapper", "query"}
)

func main() {
	asJSON := flag.Bool("json", false, "print JSON")
	check := flag.Bool("check", false, "exit with status 1 if a function is over a limit")
	flag.Parse()
	root := ".."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	f, err := measure(root)
	if err == nil {
		err = f.print(os.Stdout, *asJSON)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(2)
	case *check && f.Long.Count+f.Wide.Count > 0:
		os.Exit(1)
	}
}

// figures are all that is printed.
type figures struct {
	Long      list[function]  `json:"longFunctions"`
	Wide      list[function]  `json:"functionsWithManyParameters"`
	Types     list[typeCount] `json:"typesWithMostMethods"`
	Knows     []knowledge     `json:"filesThatKnow"`
	Lines     lines           `json:"lines"`
	ForOthers []names         `json:"exportedForOtherPackages"`
	Tests     list[testCount] `json:"internalPackages"`
	Untested  list[string]    `json:"internalPackagesWithoutTests"`
}

// list is entries and their number.
type list[T any] struct {
	Count   int `json:"count"`
	Entries []T `json:"entries"`
}

// function is a function with its lines or its parameters.
type function struct {
	At   string `json:"at"` // file:line
	Name string `json:"name"`
	N    int    `json:"n"`
}

// typeCount is a type with the number of its methods and of the files they are in.
type typeCount struct {
	Type    string `json:"type"`
	Methods int    `json:"methods"`
	Files   int    `json:"files"`
}

// knowledge is the files that know of something.
type knowledge struct {
	Of    string       `json:"of"`
	Files list[string] `json:"files"`
}

// lines are the lines of the Go files that git tracks, tests among them.
type lines struct {
	Generated []fileLines `json:"generated"`
	Sum       int         `json:"generatedSum"`
	All       int         `json:"all"`
}

// fileLines is a file with its number of lines.
type fileLines struct {
	File  string `json:"file"`
	Lines int    `json:"lines"`
}

// names are names of a package.
type names struct {
	Package string       `json:"package"`
	Names   list[string] `json:"names"`
}

// testCount is a package with the number of its test functions.
type testCount struct {
	Package string `json:"package"`
	Tests   int    `json:"tests"`
}

// listOf returns a list of entries.
func listOf[T any](entries []T) list[T] {
	if entries == nil {
		entries = []T{} // [] in JSON
	}
	return list[T]{len(entries), entries}
}

// source is a Go file of the repository.
type source struct {
	name      string // from the root, with slashes
	syntax    *ast.File
	test      bool
	generated bool
}

// measure returns the figures of the repository at a root.
func measure(root string) (*figures, error) {
	fset := token.NewFileSet()
	all, err := load(fset, root)
	if err != nil {
		return nil, err
	}
	f := &figures{}
	if f.Lines, err = countLines(root); err != nil {
		return nil, err
	}
	code := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.test || s.generated })
	f.Long, f.Wide = functions(fset, code)
	f.Types = types(code)
	f.Knows = whatFilesKnow(code)
	f.ForOthers = namesForOthers(code)
	f.Tests, f.Untested = internalTests(all)
	return f, nil
}

// load parses the Go files of the root's module and of the module otel, in the order of
// their names.
func load(fset *token.FileSet, root string) ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch hidden := strings.ContainsAny(d.Name()[:1], "._"); {
		case d.IsDir() && (hidden || d.Name() == "testdata" || rel != "otel" && isModule(name)):
			return fs.SkipDir
		case d.IsDir(), hidden, path.Ext(rel) != ".go":
			return nil
		}
		s, err := parse(fset, name, rel)
		all = append(all, s)
		return err
	})
	return all, err
}

// isModule reports whether a folder is the root of a module.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// parse reads a Go file. Rel is its name from the root.
func parse(fset *token.FileSet, name, rel string) (source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	syntax, err := parser.ParseFile(fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{rel, syntax, strings.HasSuffix(rel, "_test.go"), isGenerated(text)}, err
}

// isGenerated reports whether the first line of a file says that it is generated.
func isGenerated(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return generatedLine.Match(bytes.TrimSuffix(first, []byte("\r")))
}

// functions returns the functions with too many lines and those with too many parameters.
// Function literals are functions too, named after the declaration they are in.
func functions(fset *token.FileSet, code []source) (long, wide list[function]) {
	var byLines, byParameters []function
	add := func(n ast.Node, name string, t *ast.FuncType) {
		from, to := fset.PositionFor(n.Pos(), false), fset.PositionFor(n.End(), false)
		at := fmt.Sprintf("%s:%d", from.Filename, from.Line)
		if n := to.Line - from.Line + 1; n > maxLines {
			byLines = append(byLines, function{at, name, n})
		}
		if n := t.Params.NumFields(); n > maxParameters {
			byParameters = append(byParameters, function{at, name, n})
		}
	}
	for _, s := range code {
		for _, d := range s.syntax.Decls {
			name := declared(d)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					add(n, name, n.Type)
				case *ast.FuncLit:
					add(n, name+" (literal)", n.Type)
				}
				return true
			})
		}
	}
	return listOf(byLines), listOf(byParameters)
}

// declared returns the name of a function, with that of its type, or of the first variable
// of a declaration.
func declared(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if t := receiver(d); t != "" {
			return t + "." + d.Name.Name
		}
		return d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				return v.Names[0].Name
			}
		}
	}
	return "declaration"
}

// receiver returns the name of the type that a method belongs to, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv.NumFields() == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.ParenExpr:
			t = x.X
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// types returns the types with most methods.
func types(code []source) list[typeCount] {
	type key struct{ folder, name string } // two packages may have the same name
	methods, files := map[key]int{}, map[key]map[string]bool{}
	packages := map[string]string{}
	for _, s := range code {
		folder := path.Dir(s.name)
		packages[folder] = s.syntax.Name.Name
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			k := key{folder, receiver(f)}
			methods[k]++
			if files[k] == nil {
				files[k] = map[string]bool{}
			}
			files[k][s.name] = true
		}
	}
	var all []typeCount
	for k, n := range methods {
		all = append(all, typeCount{packages[k.folder] + "." + k.name, n, len(files[k])})
	}
	slices.SortFunc(all, func(a, b typeCount) int {
		return cmp.Or(cmp.Compare(b.Methods, a.Methods), cmp.Compare(a.Type, b.Type), cmp.Compare(b.Files, a.Files))
	})
	return listOf(all[:min(maxTypes, len(all))])
}

// whatFilesKnow returns the files that know of the reserved attributes and of the root.
func whatFilesKnow(code []source) []knowledge {
	var all []knowledge
	for _, k := range []struct {
		of    string
		match func(reader, ast.Node) bool
	}{
		{"the stage attribute", func(r reader, n ast.Node) bool { return isString(n, "_s") || r.constant(n, "State") }},
		{"the attempt attribute", func(r reader, n ast.Node) bool { return isString(n, "_a") || r.constant(n, "Attempt") }},
		{"the version attribute", func(r reader, n ast.Node) bool {
			return r.constant(n, "DefaultVersion") || isField(n, "Version", "schema", "Schema", "reserved", "Reserved")
		}},
		{"the root", func(r reader, n ast.Node) bool {
			return isNamed(n, "IsRoot") || isRootCall(n) || isField(n, "Root", "schema", "Schema")
		}},
	} {
		var files []string
		for _, s := range code {
			if r := newReader(s); r.finds(k.match) {
				files = append(files, s.name)
			}
		}
		all = append(all, knowledge{k.of, listOf(files)})
	}
	return all
}

// reader looks for what a file knows of.
type reader struct {
	file   *ast.File
	schema string // the name of package schema in the file: "" in itself, "-" where it is not imported
}

// newReader returns the reader of a file.
func newReader(s source) reader {
	r := reader{s.syntax, "-"}
	if path.Dir(s.name) == "internal/schema" {
		r.schema = ""
	}
	for _, i := range s.syntax.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); strings.HasSuffix(p, "/internal/schema") {
			r.schema = "schema"
			if i.Name != nil {
				r.schema = i.Name.Name
			}
		}
	}
	return r
}

// finds reports whether a node of the file matches.
func (r reader) finds(match func(reader, ast.Node) bool) bool {
	found := false
	ast.Inspect(r.file, func(n ast.Node) bool {
		if found || n == nil {
			return false
		}
		found = match(r, n)
		if s, ok := n.(*ast.SelectorExpr); ok && r.schema == "" && !found {
			// The name of a field or method is no constant of the package.
			found = match(r, s.Sel) && !r.isOwn(s.Sel) || (reader{s2f(s.X), r.schema}).finds(match)
			return false
		}
		return true
	})
	return found
}
