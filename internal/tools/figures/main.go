// Figures measures the structure of the repository, and keeps parts of its documentation up to date.
//
// Usage, in the folder tools:
//
//	go run ./figures [-json] [-check] [root]    functions, methods, packages, lines, calls
//	go run ./figures picture [-check] [root]    the picture of the packages in docs/design/architecture.md
//	go run ./figures draws [-check] [root]      how often tests draw, for the table in CONTRIBUTING.md
//	go run ./figures manifests FILE...          Kubernetes manifests are valid
//
// The root is that of the repository, "../.." unless given. The figures are of code that is neither a test
// nor generated, unless they say otherwise. With -check the exit status is 1 if a figure is over its
// limit (limits.go), or a page is not up to date; without it picture rewrites the page.
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
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// Limits of a function, and the length of the list of types.
const (
	maxLines      = 100
	maxParameters = 5
	maxTypes      = 10
)

var (
	generatedLine = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.$`)
	forLibrary    = regexp.MustCompile(`(?i)\bfor the (mapper|module|library)\b|\bfor generated code\b|for the ` +
		`packages of this module`)
	publicFolders = []string{"field", "mapper", "query"}
	endOfSentence = regexp.MustCompile(`[.!?](\s|$)`)
	writeLoop     = []string{"internal/save/change", "internal/save/operation"}
)

func main() {
	command, args := "", os.Args[1:]
	if len(args) > 0 && slices.Contains([]string{"picture", "draws", "manifests"}, args[0]) {
		command, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("figures", flag.ExitOnError)
	asJSON := flags.Bool("json", false, "print JSON")
	check := flags.Bool("check", false, "exit with status 1 if something is over a limit, or not up to date")
	_ = flags.Parse(args) // it exits
	root := cmp.Or(flags.Arg(0), "../..")
	var err error
	switch command {
	case "picture":
		err = picture(root, *check)
	case "draws":
		err = draws(root, *check)
	case "manifests":
		err = manifests(flags.Args())
	default:
		err = print(root, *asJSON, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// print prints the figures. With check the error names those that are over their limits.
func print(root string, asJSON, check bool) error {
	f, err := measure(root)
	if err != nil {
		return err
	}
	if err := f.print(os.Stdout, asJSON); err != nil || !check {
		return err
	}
	return f.overLimits()
}

// figures are all that is printed.
type figures struct {
	Long       list[function]  `json:"longFunctions"`
	Wide       list[function]  `json:"functionsWithManyParameters"`
	Explained  list[function]  `json:"functionsOfTheWriteLoopWithManySentences"`
	Types      list[typeCount] `json:"typesWithMostMethods"`
	Knows      []knowledge     `json:"filesThatKnow"`
	Lines      lines           `json:"lines"`
	ForLibrary []names         `json:"exportedForOtherPackages"`
	Tests      list[testCount] `json:"internalPackages"`
	Untested   list[string]    `json:"internalPackagesWithoutTests"`
	// Packages are those of all modules, and PackageLines the lines of code of each package of the main module.
	Packages     list[string]   `json:"packages"`
	PackageLines map[string]int `json:"packageLines"`
	// TestModels are the struct types that the tests of package mapper declare.
	TestModels int     `json:"structTypesInTestsOfMapper"`
	Reach      []reach `json:"reach"`
	// Public are the names that users see, by packages.
	Public []names `json:"publicNames"`
}

// list is entries and their number.
type list[T any] struct {
	Count   int `json:"count"`
	Entries []T `json:"entries"`
}

// function is a function with the number of its lines, parameters or sentences.
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
	f.Explained = explained(fset, code)
	f.Types = typesOf(code)
	f.Knows = whatFilesKnow(code)
	f.ForLibrary = namesForLibrary(code)
	f.Tests, f.Untested = internalTests(all)
	f.PackageLines = packageLines(fset, code)
	f.TestModels = structTypes(all, "mapper")
	if f.Packages, err = packagesOf(root); err != nil {
		return nil, err
	}
	if f.Public, err = publicNames(root); err != nil {
		return nil, err
	}
	f.Reach, err = reached(root)
	return f, err
}

// separateModules are modules that load leaves out: they are not measured.
var separateModules = []string{
	"contrib/cache", "integration/embedded", "internal/bench", "internal/tools", "migrate/beam",
}

// load parses the Go files of the modules, in the order of their names, except separateModules.
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
		case d.IsDir() && (hidden || d.Name() == "testdata" || slices.Contains(separateModules, rel)):
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

// explained returns the functions of the write loop whose doc comments have more than one sentence.
func explained(fset *token.FileSet, code []source) list[function] {
	var all []function
	for _, s := range code {
		if !slices.Contains(writeLoop, path.Dir(s.name)) {
			continue
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := len(endOfSentence.FindAllString(f.Doc.Text(), -1)); n > 1 {
				at := fset.PositionFor(f.Pos(), false)
				all = append(all, function{fmt.Sprintf("%s:%d", at.Filename, at.Line), declared(d), n})
			}
		}
	}
	return listOf(all)
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

// typesOf returns the types with most methods.
func typesOf(code []source) list[typeCount] {
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
	return listOf(all)
}

// whatFilesKnow returns the files that know of the reserved attributes and of the root.
func whatFilesKnow(code []source) []knowledge {
	var all []knowledge
	for _, k := range []struct {
		of    string
		match func(reader, ast.Node) bool
	}{
		{"the stage attribute", func(r reader, n ast.Node) bool { return isString(n, "_s") || r.constant(n, "State") }},
		{
			"the incarnation attribute",
			func(r reader, n ast.Node) bool { return isString(n, "_a") || r.constant(n, "Incarnation") },
		},
		{"the version attribute", func(r reader, n ast.Node) bool {
			return r.constant(n, "DefaultVersion") || isField(n, "Version", "schema", "Schema", "reserved", "Reserved")
		}},
		{"the outcomes of writes", func(r reader, n ast.Node) bool {
			return isField(n, "Rejected", "write") || isField(n, "Unknown", "write")
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

// reader looks for the words in a file that only one package may know.
type reader struct {
	file     *ast.File
	schema   string              // the name of package schema in the file, "" where it is not imported
	inSchema bool                // whether the file is of package schema
	selected map[*ast.Ident]bool // the names after a dot
}

// newReader returns the reader of a file.
func newReader(s source) reader {
	r := reader{file: s.syntax, inSchema: path.Dir(s.name) == "internal/model/schema", selected: map[*ast.Ident]bool{}}
	for _, i := range s.syntax.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && strings.HasSuffix(p, "/internal/model/schema") {
			r.schema = "schema"
			if i.Name != nil {
				r.schema = i.Name.Name
			}
		}
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			r.selected[x.Sel] = true
		}
		return true
	})
	return r
}

// finds reports whether a node of the file matches.
func (r reader) finds(match func(reader, ast.Node) bool) bool {
	found := false
	ast.Inspect(r.file, func(n ast.Node) bool {
		found = found || n != nil && match(r, n)
		return !found
	})
	return found
}

// constant reports whether a node is a constant of package schema.
func (r reader) constant(n ast.Node, name string) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		return ok && r.schema != "" && x.Name == r.schema && n.Sel.Name == name
	case *ast.Ident:
		return r.inSchema && n.Name == name && !r.selected[n]
	}
	return false
}

// isString reports whether a node is a literal of a string.
func isString(n ast.Node, want string) bool {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(l.Value)
	return err == nil && text == want
}

// isNamed reports whether a node is a name.
func isNamed(n ast.Node, name string) bool {
	x, ok := n.(*ast.Ident)
	return ok && x.Name == name
}

// isRootCall reports whether a node is a call .Root().
func isRootCall(n ast.Node) bool {
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) > 0 {
		return false
	}
	x, ok := c.Fun.(*ast.SelectorExpr)
	return ok && x.Sel.Name == "Root"
}

// isField reports whether a node selects a field of something whose name ends in one of
// some words.
func isField(n ast.Node, field string, words ...string) bool {
	x, ok := n.(*ast.SelectorExpr)
	if !ok || x.Sel.Name != field {
		return false
	}
	of := ""
	switch x := x.X.(type) {
	case *ast.Ident:
		of = x.Name
	case *ast.SelectorExpr:
		of = x.Sel.Name
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(of, w) })
}

// countLines counts the lines of the Go files that git tracks.
func countLines(root string) (lines, error) {
	git := exec.Command("git", "-C", root, "ls-files", "-z", "--", "*.go")
	git.Stderr = os.Stderr
	out, err := git.Output()
	if err != nil {
		return lines{}, fmt.Errorf("git ls-files: %w", err)
	}
	l := lines{Generated: []fileLines{}}
	tracked := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, name := range slices.Compact(tracked) { // a file in conflict is listed more than once
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // deleted, but not yet for git
		}
		if err != nil {
			return lines{}, err
		}
		n := bytes.Count(text, []byte("\n"))
		if len(text) > 0 && text[len(text)-1] != '\n' {
			n++
		}
		l.All += n
		if isGenerated(text) {
			l.Generated = append(l.Generated, fileLines{name, n})
			l.Sum += n
		}
	}
	return l, nil
}

// namesForLibrary returns the exported names of public packages that are documented to be
// there for other packages only.
func namesForLibrary(code []source) []names {
	var all []names
	for _, folder := range publicFolders {
		var found []string
		for _, s := range code {
			if path.Dir(s.name) != folder {
				continue
			}
			for _, d := range s.syntax.Decls {
				documented(d, func(name string, docs ...*ast.CommentGroup) {
					if isExported(name) && slices.ContainsFunc(docs, isForLibrary) {
						found = append(found, name)
					}
				})
			}
		}
		slices.Sort(found)
		all = append(all, names{folder, listOf(found)})
	}
	return all
}

// isExported reports whether a name is exported, and for that of a method also its type.
func isExported(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !ast.IsExported(part) {
			return false
		}
	}
	return true
}

// isForLibrary reports whether a comment says that a name exists for other packages.
func isForLibrary(doc *ast.CommentGroup) bool {
	return forLibrary.MatchString(strings.Join(strings.Fields(doc.Text()), " "))
}

// documented calls a function with each name of a declaration and its comments. Methods are named after
// their types, and the comment of a group is one of each of its names.
func documented(d ast.Decl, add func(name string, docs ...*ast.CommentGroup)) {
	if f, ok := d.(*ast.FuncDecl); ok {
		add(declared(f), f.Doc)
		return
	}
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		switch x := spec.(type) {
		case *ast.ValueSpec:
			for _, n := range x.Names {
				add(n.Name, g.Doc, x.Doc, x.Comment)
			}
		case *ast.TypeSpec:
			add(x.Name.Name, g.Doc, x.Doc, x.Comment)
			i, ok := x.Type.(*ast.InterfaceType)
			if !ok {
				continue
			}
			for _, m := range i.Methods.List {
				for _, n := range m.Names {
					add(x.Name.Name+"."+n.Name, m.Doc, m.Comment)
				}
			}
		}
	}
}

// internalTests returns the internal packages with their numbers of test functions, and
// those without any.
func internalTests(all []source) (list[testCount], list[string]) {
	counts := map[string]int{}
	for _, s := range all {
		folder := path.Dir(s.name)
		if !slices.Contains(strings.Split(folder, "/"), "internal") {
			continue
		}
		counts[folder] += 0 // a package without tests is one too
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && !s.generated && isTest(f) {
				counts[folder]++
			}
		}
	}
	var packages []testCount
	var untested []string
	for _, folder := range slices.Sorted(maps.Keys(counts)) {
		packages = append(packages, testCount{folder, counts[folder]})
		if counts[folder] == 0 {
			untested = append(untested, folder)
		}
	}
	return listOf(packages), listOf(untested)
}

// isTest reports whether go test runs a function of a test file as a test: TestMain,
// benchmarks, examples and fuzz tests are none.
func isTest(f *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(f.Name.Name, "Test")
	first, _ := utf8.DecodeRuneInString(rest)
	if !ok || f.Recv != nil || unicode.IsLower(first) || f.Type.Params.NumFields() != 1 {
		return false
	}
	p, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	x, ok := p.X.(*ast.SelectorExpr)
	return ok && x.Sel.Name == "T"
}

// print writes the figures as a table or as JSON.
func (f *figures) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(f)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	f.table(t)
	return t.Flush()
}

// table writes the figures to a writer that aligns columns at tabs.
func (f *figures) table(w io.Writer) {
	fmt.Fprintf(w, "1. functions over %d lines: %d\n", maxLines, f.Long.Count)
	for _, x := range f.Long.Entries {
		fmt.Fprintf(w, "  %s\t%s\t%d\n", x.At, x.Name, x.N)
	}
	fmt.Fprintf(w, "   functions with more than %d parameters: %d\n", maxParameters, f.Wide.Count)
	for _, x := range f.Wide.Entries {
		fmt.Fprintf(w, "  %s\t%s\t%d\n", x.At, x.Name, x.N)
	}
	fmt.Fprintf(w, "   functions of the write loop with more than one sentence: %d\n", f.Explained.Count)
	for _, x := range f.Explained.Entries {
		fmt.Fprintf(w, "  %s\t%s\t%d\n", x.At, x.Name, x.N)
	}
	fmt.Fprintf(w, "\n2. types with most methods\n")
	for _, x := range f.Types.Entries[:min(maxTypes, f.Types.Count)] {
		fmt.Fprintf(w, "  %s\t%d\tin %d files\n", x.Type, x.Methods, x.Files)
	}
	fmt.Fprintf(w, "\n3. files that know\n")
	for _, x := range f.Knows {
		fmt.Fprintf(w, "  %s: %d\n", x.Of, x.Files.Count)
		for _, name := range x.Files.Entries {
			fmt.Fprintf(w, "    %s\n", name)
		}
	}
	fmt.Fprintf(w, "\n4. generated lines: %d of %d Go lines\n", f.Lines.Sum, f.Lines.All)
	for _, x := range f.Lines.Generated {
		fmt.Fprintf(w, "  %s\t%d\n", x.File, x.Lines)
	}
	fmt.Fprintf(w, "\n5. exported names for other packages only\n")
	for _, x := range f.ForLibrary {
		fmt.Fprintf(w, "  %s: %d\n", x.Package, x.Names.Count)
		for _, name := range x.Names.Entries {
			fmt.Fprintf(w, "    %s\n", name)
		}
	}
	fmt.Fprintf(w, "\n6. internal packages: %d, without test functions: %d\n", f.Tests.Count, f.Untested.Count)
	for _, x := range f.Tests.Entries {
		fmt.Fprintf(w, "  %s\t%d\n", x.Package, x.Tests)
	}
	fmt.Fprintf(w, "   without test functions\n")
	for _, name := range f.Untested.Entries {
		fmt.Fprintf(w, "  %s\n", name)
	}
	fmt.Fprintf(w, "\n7. packages in all modules: %d\n", f.Packages.Count)
	for _, name := range slices.Sorted(maps.Keys(f.PackageLines)) {
		fmt.Fprintf(w, "  %s\t%d lines\n", name, f.PackageLines[name])
	}
	fmt.Fprintf(w, "\n8. what calls of a mapper reach\tpackages\tfiles\tfunctions\n")
	for _, r := range f.Reach {
		fmt.Fprintf(w, "  %s\t%d\t%d\t%d\n", r.Call, r.Packages, r.Files, r.Functions)
	}
	fmt.Fprintf(w, "\n9. public names, in all modules: %d\n", f.publicNames())
	for _, p := range f.Public {
		fmt.Fprintf(w, "  %s\t%d\n", p.Package, p.Names.Count)
	}
	fmt.Fprintf(w, "\n10. limits\n")
	for _, l := range limits {
		fmt.Fprintf(w, "  %s\t%d\tof %d, designed for %d\n", l.what, l.of(f), l.most(), l.designed)
	}
}
