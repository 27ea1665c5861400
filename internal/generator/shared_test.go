package generator

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// filesOf generates code for a package of these files, by their names. The package
// imports nothing.
func filesOf(t *testing.T, sources map[string]string) (files map[string]string, diagnostics []Diagnostic) {
	t.Helper()
	files = map[string]string{}
	for _, p := range packagesOf(t, sources) {
		out, found, err := p.Generate(nil, false)
		if err != nil {
			t.Fatal(err)
		}
		diagnostics = append(diagnostics, found...)
		for _, f := range out {
			files[filepath.Base(f.Path)] = string(f.Content)
		}
	}
	return files, diagnostics
}

// packagesOf loads a module with these sources.
func packagesOf(t *testing.T, sources map[string]string) []*Package {
	t.Helper()
	dir := t.TempDir()
	sources["go.mod"] = "module example.com/shared\n\ngo 1.26\n"
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := Load(context.Background(), Config{Dir: dir, Env: offline}, ".")
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

const (
	lineSource = "type Line struct {\n\tN    int\n\tText string\n}\n"
	modelOf2   = "type %s struct {\n\tID    string `ddb:\"pk=%s#{ID}\"`\n\tName  string `ddb:\"sk=HEAD\"`\n\tLines " +
		"[]Line `ddb:\"sk=LINE#{N:04}\"`\n}\n"
)

func modelSource(name string) string { return strings.ReplaceAll(modelOf2, "%s", name) }

// The code of a struct is declared once, in the generated file of the first source file that uses it,
// or of one that is always compiled with the others.
func TestDeclaredOnce(t *testing.T) {
	for name, c := range map[string]struct {
		sources map[string]string
		in      string
	}{
		"the first": {map[string]string{
			"a.go": "package p\n" + modelSource("A"),
			"b.go": "package p\n" + lineSource + modelSource("B"),
		}, "a_itemize.go"},
		"no test": {map[string]string{
			"a_test.go": "package p\n" + modelSource("A"),
			"b.go":      "package p\n" + lineSource + modelSource("B"),
		}, "b_itemize.go"},
		"no constraint": {map[string]string{
			"a.go": "//go:build !windows\n\npackage p\n" + modelSource("A"),
			"b.go": "package p\n" + lineSource + modelSource("B"),
		}, "b_itemize.go"},
		"of one constraint": {map[string]string{
			"a.go": "//go:build !windows\n\npackage p\n" + modelSource("A"),
			"b.go": "//go:build !windows\n\npackage p\n" + lineSource + modelSource("B"),
		}, "a_itemize.go"},
	} {
		files, diagnostics := filesOf(t, c.sources)
		if len(diagnostics) > 0 {
			t.Errorf("%s: %v", name, diagnostics)
		}
		for file, text := range files {
			for _, declaration := range []string{"var LineFields = ", "var lineForm = ", "func sameLine("} {
				if got := strings.Count(text, declaration); (got == 1) != (file == c.in) {
					t.Errorf("%s: %s has %q %d times", name, file, declaration, got)
				}
			}
		}
	}
	sources := map[string]string{
		"a.go": "//go:build !windows\n\npackage p\n" + modelSource("A"),
		"b.go": "//go:build !plan9\n\npackage p\n" + lineSource + modelSource("B"),
	}
	if _, diagnostics := filesOf(t, sources); len(diagnostics) != 1 ||
		!strings.Contains(diagnostics[0].Message, "p.Line: models with different build constraints use it") {
		t.Errorf("%v", diagnostics)
	}
}

// The fields that have handles: stored and promoted fields. Fields that only keys have, slices of
// items, and fields that are not stored have none.
func TestHandles(t *testing.T) {
	files, diagnostics := filesOf(t, map[string]string{"a.go": `package p

type A struct {
	Base
	ID    string            ` + "`ddb:\"pk=A#{ID}\"`" + `
	Name  string            ` + "`ddb:\"sk=HEAD\" dynamodbav:\"name,omitempty\"`" + `
	Skip  string            ` + "`ddb:\"-\"`" + `
	Lines []line            ` + "`ddb:\"sk=LINE#{N:04}\"`" + `
	Inner struct{ X, Y int } ` + "`ddb:\"sk=HEAD,nested\"`" + `
}

type Base struct {
	By string ` + "`ddb:\"sk=HEAD\"`" + `
}

type line struct {
	N    int
	Text string
}
`})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	text := regexp.MustCompile(`(?m)^\t// .*\n`).ReplaceAllString(files["a_itemize.go"], "")
	for _, want := range []string{
		"var AFields = *mapperimpl.Handles(&struct {\n\tName *field.String[*A, string]\n" +
			"\tInner *field.Struct[*A, struct {",
		"\tBy *field.String[*A, string]\n",
		"(&struct {\n\tBy *field.String[*Base, string]\n}{}, baseForm.Form)",
		"(&struct {\n\tText *field.String[*line, string]\n}{}, lineForm.Form)",
		`mapperimpl.Reached("By", "", func(v *A) *string { return &v.By }, mapperimpl.String[string]().Form)`,
		`mapperimpl.Field("Base", baseForm.Form),`,
		"var aInnerForm = ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the file", want)
		}
	}
	for _, not := range []string{"ID field.", "Lines field.", "Skip"} {
		if strings.Contains(strings.Split(text, "Layout_changed_run_go_generate")[0], not) {
			t.Errorf("%q is in the file", not)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
