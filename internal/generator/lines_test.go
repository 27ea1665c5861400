package generator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Lines that are too long are broken inside the outermost brackets, and those that are
// too long still inside the next.
func TestBreakLines(t *testing.T) {
	long := strings.Repeat("x", 50)
	for name, c := range map[string]struct{ src, want string }{
		"short": {"var a = f(b, c)\n", "var a = f(b, c)\n"},
		"call": {"var a = f(" + long + ", " + long + ", " + long + ")\n", "var a = f(\n\t" + long + ", " + long +
			",\n\t" + long + ",\n)\n"},
		"literal": {"var a = []T{" + long + ", " + long + ", b}\n", "var a = []T{" + long + ", " + long + ", b}\n"},
		"inside": {"var a = f(\n\t" + long + ", " + long + ", " + long + ",\n)\n", "var a = f(\n\t" + long + ", " +
			long + ",\n\t" + long + ",\n)\n"},
		"nested": {"var a = f(b, g(" + long + ", " + long + ", " + long + "), c)\n", "var a = f(\n\tb,\n\tg(\n\t\t" +
			long + ", " + long + ",\n\t\t" + long + ",\n\t),\n\tc,\n)\n"},
		"function": {
			"func (n T) f() R { return " + long + "." + long + "." + long + " }\n",
			"func (n T) f() R {\n\treturn " + long + "." + long + "." + long + "\n}\n",
		},
	} {
		got, err := breakLines([]byte("package p\n\n" + c.src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := "package p\n\n" + c.want; string(got) != want {
			t.Errorf("%s: %s\nwant: %s", name, got, want)
		}
	}
}

// The generated files of the examples are short, and so are their lines.
func TestLengths(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*_itemize.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../examples/*/*/*_itemize.go")
	if err != nil {
		t.Fatal(err)
	}
	if files = append(files, more...); len(files) < 5 {
		t.Fatalf("only %d files", len(files))
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		if len(lines) > 950 {
			t.Errorf("%s has %d lines", path, len(lines))
		}
		for i, line := range lines {
			if columns(line) > maxColumns && !strings.Contains(line, "`ddb:") {
				t.Errorf("%s:%d has %d columns", path, i+1, columns(line))
			}
		}
	}
}
