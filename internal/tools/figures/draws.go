package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The table of draws lists how often each test draws: the calls of draws.Times and draws.For. A row has
// the package, the test and the kind of draw. Then come the number from before there were three runs,
// and the numbers for the default run, .ci/full and .ci/long. The tool computes the package, the test and the last
// three columns; the others are written by hand.

// row is a call: in which test, and its three arguments as they are written.
type row struct{ pkg, test, byDefault, ci, long string }

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | ? | ? | %s | %s | %s |", r.pkg, r.test, r.byDefault, r.ci, r.long)
}

// draws prints the rows of the table, or with check compares them with CONTRIBUTING.md.
func draws(root string, check bool) error {
	rows, err := find(root)
	if err != nil {
		return err
	}
	if !check {
		for _, r := range rows {
			fmt.Println(r)
		}
		return nil
	}
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		return err
	}
	if faults := compare(rows, string(page)); len(faults) > 0 {
		return fmt.Errorf("CONTRIBUTING.md: the table of draws is wrong:\n%s", strings.Join(faults, "\n"))
	}
	return nil
}

// find returns the calls in the tests below a folder, and in package kit that tests share.
func find(root string) ([]row, error) {
	var rows []row
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		shared := strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "internal/testing/kit")
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || !shared && !strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				rows = append(rows, calls(pkg, f)...)
			}
		}
		return err
	})
	return rows, err
}

func calls(pkg string, f *ast.FuncDecl) (rows []row) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) == 3 &&
			(s.Sel.Name == "Times" || s.Sel.Name == "For") {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "draws" {
				rows = append(rows, row{pkg, f.Name.Name, text(call.Args[0]), text(call.Args[1]), text(call.Args[2])})
			}
		}
		return true
	})
	return rows
}

// text returns an argument as a reader of the table wants it: "all", "1 min".
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strings.ReplaceAll(e.Value, "_", ",")
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "All":
			return "all"
		case "Second":
			return "1 s"
		case "Minute":
			return "1 min"
		}
	case *ast.BinaryExpr: // 15 * time.Minute
		unit := map[string]string{"1 s": "s", "1 min": "min", "?": "ms"}[text(e.Y)]
		return text(e.X) + " " + unit
	}
	return "?"
}

// compare returns what the table lacks, and what it has too much.
func compare(rows []row, page string) (faults []string) {
	var listed []row
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) == 7 && !strings.HasPrefix(cells[0], "-") && cells[0] != "package" {
			listed = append(listed, row{cells[0], cells[1], cells[4], cells[5], cells[6]})
		}
	}
	for _, r := range rows {
		if i := slices.Index(listed, r); i >= 0 {
			listed = slices.Delete(listed, i, i+1)
		} else {
			faults = append(faults, "missing: "+r.String())
		}
	}
	for _, r := range listed {
		faults = append(faults, "no test has: "+r.String())
	}
	return faults
}
