package generator

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/refused.txt anew")

const refusals = "../model/schema/refuse_test.go"

// refusal is a case of the table of refused models in package schema, as source code.
type refusal struct {
	name, model string
	want        []string
}

// readRefusals takes the cases from the test of package schema, and the declarations
// that they use.
func readRefusals(t *testing.T) (cases []refusal, rest string) {
	t.Helper()
	src, err := os.ReadFile(refusals)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, refusals, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := func(n ast.Node) string {
		return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	var out bytes.Buffer
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
			out.WriteString(text(d) + "\n")
		case fn.Recv != nil:
			out.WriteString(text(d) + "\n")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) != 3 {
			return true
		}
		name, ok := joined(lit.Elts[0])
		call, isCall := lit.Elts[1].(*ast.CallExpr)
		want, isList := lit.Elts[2].(*ast.CompositeLit)
		if !ok || !isCall || !isList {
			return true
		}
		c := refusal{model: modelOf(call, text), name: name}
		for _, e := range want.Elts {
			s, ok := joined(e)
			if !ok {
				t.Fatalf("not a string: %s", text(e))
			}
			c.want = append(c.want, s)
		}
		if c.model != "" {
			cases = append(cases, c)
		}
		return false
	})
	return cases, out.String()
}

// joined returns the value of a string literal, or of several that are added.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, ok := joined(e.X)
		y, okY := joined(e.Y)
		return x + y, ok && okY
	}
	return "", false
}

// modelOf returns the source of a case's model: that of reflect.TypeFor[struct{...}](),
// or of tagged(...). It is empty for others.
func modelOf(call *ast.CallExpr, text func(ast.Node) string) string {
	switch fn := call.Fun.(type) {
	case *ast.IndexExpr:
		if _, ok := fn.Index.(*ast.StructType); ok {
			return text(fn.Index)
		}
	case *ast.Ident:
		model := "struct {\n\t_ struct{} `ddb:\"table=models\"`\n\tID string `ddb:\"pk={ID}\"`\n"
		for i, arg := range call.Args {
			tag, _ := joined(arg)
			model += fmt.Sprintf("\t%c string %s\n", 'A'+i, "`"+tag+"`")
		}
		return model + "}"
	}
	return ""
}

// Both front ends of the schema, on reflect and on go/types, refuse the same models with the same
// texts. The generator shows each at its position in the source.
func TestRefused(t *testing.T) {
	cases, rest := readRefusals(t)
	if len(cases) < 20 {
		t.Fatalf("only %d cases found in %s", len(cases), refusals)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/refused\n\ngo 1.26\n")
	rest = strings.Replace(rest, `"github.com/google/go-cmp/cmp"`, "", 1)
	for i, c := range cases {
		imports, types, _ := strings.Cut(rest, ")\n")
		write(fmt.Sprintf("c%02d/model.go", i), "package schema\n\n"+imports+")\n\n// Case is refused.\ntype Case "+
			c.model+"\n\n"+types)
	}
	packages, err := Load(context.Background(),
		Config{Dir: dir, Env: append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	var golden strings.Builder
	for i, p := range packages {
		var got []string
		fmt.Fprintf(&golden, "# %s\n", cases[i].name)
		for _, d := range p.Diagnostics {
			if strings.Contains(d.Message, "schema.loop.") || strings.Contains(d.Message, "schema.box:") ||
				strings.Contains(d.Message, "so that it is not a model") {
				continue // these are models of other cases
			}
			got = append(got, d.Message)
			fmt.Fprintf(&golden, "%d:%d-%d %s\n", d.Pos.Line, d.Pos.Column, d.End.Column, d.Message)
		}
		want := slices.Clone(cases[i].want)
		for n := range want {
			want[n] = strings.Replace(want[n], "struct.", "schema.Case.", 1)
			want[n] = strings.Replace(want[n], "the field of struct", "the field of schema.Case", 1)
			want[n] = strings.Replace(want[n], "does not name a field of struct:",
				"does not name a field of schema.Case:", 1)
			if rest, ok := strings.CutPrefix(want[n], "struct:"); ok {
				want[n] = "schema.Case:" + rest
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if cases[i].name == "a model without a name" {
			continue // this one has a name
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-reflect +go/types):\n%s", cases[i].name, d)
		}
	}
	checkGolden(t, golden.String())
}

func checkGolden(t *testing.T, got string) {
	t.Helper()
	const path = "testdata/refused.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("the places differ (-want +got), if rightly, run with -update:\n%s", d)
	}
}
