// Package docs holds the guides; its tests run them.
package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
)

func TestMain(m *testing.M) { testengine.Run(m) }

// install puts the command into the PATH, as go install does: that which go tool builds and keeps in the build cache.
var install = sync.OnceValue(func() error {
	path, err := exec.Command("go", "tool", "-n", "itemize").Output()
	if err != nil {
		return fmt.Errorf("go tool -n itemize: %w", err)
	}
	return os.Setenv("PATH", filepath.Dir(string(path))+string(filepath.ListSeparator)+os.Getenv("PATH"))
})

// guides are the pages whose blocks are an application. A block that begins with "```go FILE" is
// written to that file. The lines of "```sh" are run one after the other, and "```text" after them is
// the output of the last one.
var guides = []string{
	"get-started.md", "testing.md", "errors.md", "indexes.md", "recipes/lambda.md", "recipes/http.md",
	"recipes/unique-values.md", "recipes/soft-delete.md", "recipes/local-days.md",
	"recipes/several-models.md", "streams.md", "recipes/streams.md",
}

var fence = regexp.MustCompile("(?ms)^```(\\S*) ?(\\S*)\n(.*?)^```$")

// Every block of code of the guides compiles and runs, and prints what the guide says. Programs take
// most of the time to compile, so the default run draws three guides.
func TestGuides(t *testing.T) {
	t.Setenv("DYNAMODB_ENDPOINT", testengine.Start(t).Endpoint) // one engine for the programs of all guides
	for _, n := range draws.Some(draws.Seed(t), len(guides), draws.Times(3, draws.All, draws.All)) {
		name := guides[n]
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			g := &guide{T: t, dir: t.TempDir()}
			g.module()
			for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
				g.block(m[1], m[2], m[3])
			}
			g.run("go build ./...")
			g.run("go vet ./...")
		})
	}
}

// The model of the README generates, and compiles, as it is pasted.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{T: t, dir: t.TempDir()}
	g.module()
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		if m[1] == "go" && strings.HasPrefix(m[3], "package store") {
			g.block("go", "store/user.go", m[3])
		}
	}
	g.run("itemize gen ./...")
	g.run("go vet ./...")
}

// The first page needs the concepts that docs/design/concepts.md lists with their lines. Its code has
// none of the second page.
func TestFirstPageHasFewConcepts(t *testing.T) {
	first := section(t, "../README.md", "## Use it", "## When not")
	first += section(t, "get-started.md", "# Get started", "## 4.")
	list := string(must(os.ReadFile("design/concepts.md")))
	rows := regexp.MustCompile(`(?m)^\| \d+ \|.*$`).FindAllString(list, -1)
	if len(rows) == 0 || len(rows) > 13 {
		t.Errorf("the first page needs %d concepts, at most 13 are allowed", len(rows))
	}
	for _, row := range rows {
		for i, page := range []string{"../README.md", "get-started.md"} {
			cell := strings.Split(row, " |")[2+i]
			n, text, found := strings.Cut(strings.TrimSpace(cell), ": `")
			lines := strings.Split(string(must(os.ReadFile(page))), "\n")
			at, _ := strconv.Atoi(n)
			if found && !strings.Contains(lines[at-1], strings.Trim(text, "`")) {
				t.Errorf("design/concepts.md: line %s of %s has no %q", n, page, text)
			}
		}
	}
	for _, code := range fence.FindAllStringSubmatch(first, -1) {
		words := []string{"Plan", "eceipt", "one=", "Fields.", "Patch(", "ursor", "Page("}
		for _, word := range words {
			if strings.Contains(code[3], word) {
				t.Errorf("a block of the first page has %q, which belongs on the second page", word)
			}
		}
	}
}

// section returns the part of a page from one heading to another.
func section(t *testing.T, page, from, to string) string {
	t.Helper()
	text := string(must(os.ReadFile(page)))
	i, j := strings.Index(text, from), strings.Index(text, to)
	if i < 0 || j < i {
		t.Fatalf("%s has no section from %q to %q", page, from, to)
	}
	return text[i:j]
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

type guide struct {
	*testing.T
	dir, out string
}

// module makes the folder a module that requires what this one does, and this one, without network.
func (g *guide) module() {
	g.Helper()
	if err := install(); err != nil {
		g.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		g.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		g.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		g.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\n")
	g.write("go.mod", "module example.com/club\n"+rest+
		fmt.Sprintf("\nrequire github.com/itemize/itemize v0.1.0\n\n"+
			"require github.com/itemize/itemize/stream v0.1.0\n\n"+
			"replace github.com/itemize/itemize => %s\n\n"+
			"replace github.com/itemize/itemize/stream => %[1]s/stream\n", root))
	g.write("go.sum", string(sum))
}

func (g *guide) write(name, text string) {
	g.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.Fatal(err)
	}
}

func (g *guide) block(kind, file, text string) {
	g.Helper()
	switch {
	case file != "":
		g.write(file, text)
	case kind == "sh":
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !elsewhere(line) {
				g.run(line)
			}
		}
	case kind == "text" && !strings.Contains(g.out, text):
		g.Errorf("the guide shows\n%s\nand it prints\n%s", text, g.out)
	case kind == "go":
		g.Errorf("a block of code is in no file:\n%s", text)
	}
}

// elsewhere reports whether a command is for readers only: the test does the same in its own way.
func elsewhere(line string) bool {
	for _, begin := range []string{
		"mkdir ", "cd ", "go mod init", "go mod tidy", "go get ", "curl ", "aws ",
		"GOFLAGS=", "go mod edit ", "go install ", "go -C ",
	} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

func (g *guide) run(line string) {
	g.Helper()
	cmd := exec.Command("sh", "-c", line)
	if !strings.ContainsAny(line, "'\"|<>&;$=*") { // no shell is needed
		words := strings.Fields(line)
		cmd = exec.Command(words[0], words[1:]...)
	}
	// Without optimizations the compiler takes half the time; each guide is vetted at its end.
	cmd.Dir, cmd.Env = g.dir, append(os.Environ(), "GOFLAGS=-mod=mod -vet=off '-gcflags=-N -l'", "GOPROXY=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		g.Fatalf("%s: %v\n%s%s", line, err, out, stderr.String())
	}
	g.out = string(out)
}
