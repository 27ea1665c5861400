package generator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manyModels writes a module with a package of n models, and returns its directory.
func manyModels(tb testing.TB, n int) string {
	tb.Helper()
	dir := tb.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		tb.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		tb.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\n")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	write("go.mod", "module example.com/many\n"+rest+
		"\nrequire github.com/itemize/itemize v0.0.0\n\nreplace github.com/itemize/itemize => "+root+"\n")
	write("go.sum", string(sum))
	files := min(n, 20)
	for f := range files {
		var b strings.Builder
		b.WriteString("package many\n\nimport \"time\"\n\n")
		for i := range n / files {
			id := fmt.Sprintf("%d_%d", f, i)
			fmt.Fprintf(&b, `// Model%[1]s is a model.
type Model%[1]s struct {
	ID     string            `+"`ddb:\"pk=M#{ID}\"`"+`
	Name   string            `+"`ddb:\"sk=HEAD\"`"+`
	Tags   []string          `+"`ddb:\"sk=HEAD\" dynamodbav:\",stringset,omitempty\"`"+`
	Meta   map[string]string `+"`ddb:\"sk=META\"`"+`
	Home   *Address%[1]s     `+"`ddb:\"sk=HOME\"`"+`
	Events []Event%[1]s      `+"`ddb:\"sk=EVENT#{At}#{K}\"`"+`
	Cards  map[string]int    `+"`ddb:\"sk=CARD#{key}\"`"+`
}

// Address%[1]s is an item.
type Address%[1]s struct{ Street, City string }

// Event%[1]s is an element.
type Event%[1]s struct {
	At time.Time
	K  string
	N  int
}

`, id)
		}
		write(fmt.Sprintf("models%d.go", f), b.String())
	}
	return dir
}

var offline = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")

func generateIn(tb testing.TB, dir string) []File {
	tb.Helper()
	packages, err := Load(context.Background(), Config{Dir: dir, Env: offline}, ".")
	if err != nil {
		tb.Fatal(err)
	}
	var out []File
	for _, p := range packages {
		files, diagnostics, err := p.Generate(nil, false)
		if err != nil || len(diagnostics) > 0 {
			tb.Fatal(err, diagnostics)
		}
		out = append(out, files...)
	}
	return out
}

// Two runs, in two directories, give the same bytes, and nothing of the directory is in
// them.
func TestDeterministic(t *testing.T) {
	a, b := manyModels(t, 20), manyModels(t, 20)
	first, second := generateIn(t, a), generateIn(t, b)
	if len(first) != 21 || len(first) != len(second) {
		t.Fatalf("%d and %d files", len(first), len(second))
	}
	for i := range first {
		if string(first[i].Content) != string(second[i].Content) {
			t.Errorf("%s differs between two runs", filepath.Base(first[i].Path))
		}
		if strings.Contains(string(first[i].Content), filepath.Dir(a)) {
			t.Errorf("%s holds a path of the machine", first[i].Path)
		}
	}
}

// BenchmarkManyModels generates the code of 200 models in one package, and compares with go vet of the
// same package. Both run once before, so caches are warm.
func BenchmarkManyModels(b *testing.B) {
	dir := manyModels(b, 200)
	write := func() {
		for _, f := range generateIn(b, dir) {
			if err := os.WriteFile(f.Path, f.Content, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	vet := func() {
		cmd := exec.Command("go", "vet", ".")
		cmd.Dir, cmd.Env = dir, offline
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "itemize"), "../../cmd/itemize")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	write()
	vet()
	b.Run("itemize gen", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(filepath.Join(dir, "itemize"), "gen", ".")
			cmd.Dir, cmd.Env = dir, offline
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
	b.Run("go vet", func(b *testing.B) {
		for b.Loop() {
			// A comment changes, so that vet does not give its cached answer.
			path := filepath.Join(dir, "doc.go")
			if err := os.WriteFile(path, fmt.Appendf(nil, "// Package many has models: %d.\npackage many\n",
				time.Now().UnixNano()), 0o644); err != nil {
				b.Fatal(err)
			}
			vet()
		}
	})
}
