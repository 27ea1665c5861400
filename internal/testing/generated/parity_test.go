package generated

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// Law 8: reflection and generated code return the same results for all calls of the mapper, for the
// models of the family and for random ones. For the models of the family the mappers also send the same
// requests.
func TestReflectionAndGeneratedCodeAgree(t *testing.T) {
	dir := folder(t)
	seed := draws.Seed(t)
	family(t, filepath.Join(dir, "models"), seed)
	drawn(t, filepath.Join(dir, "random"), seed)
	packages := []string{"./" + filepath.Join(dir, "models"), "./" + filepath.Join(dir, "random")}
	generate(t, packages)
	// Without optimizations the compiler is done in little more than half the time.
	commands := [][]string{{"test", "-count=1", "-gcflags=-N -l"}}
	if draws.Times(0, 0, 1) > 0 {
		commands = append(commands, []string{"vet"})
	}
	for _, command := range commands {
		if out, err := exec.Command("go", append(command, packages...)...).CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", command[0], err, out)
		}
	}
}

// folder returns a new folder where internal packages can be imported, and ./... does not
// look. It has the same name each time, for the sake of the build's cache, unless another
// run is using that.
func folder(t *testing.T) string {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", "generated")
	if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Hour {
		_ = os.RemoveAll(dir) // left behind by a run that was killed
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		dir, err = os.MkdirTemp("testdata", "generated")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// family copies models of the family to a directory, with tests.
func family(t *testing.T, dir string, seed uint64) {
	t.Helper()
	var names []string
	all := slices.Concat(models.All, models.Indexes)
	for _, n := range draws.Some(seed, len(all), draws.Times(5, 12, draws.All)) {
		names = append(names, reflect.TypeOf(all[n]).Elem().Name())
	}
	named := map[string]bool{}
	for _, name := range names {
		named[name] = true
	}
	paths, err := filepath.Glob("../models/family*.go")
	if err != nil || len(paths) == 0 {
		t.Fatal("no models:", err)
	}
	sources := map[string][]byte{}
	for _, path := range paths {
		if sources[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if sources, err = subset(sources, named); err != nil {
		t.Fatal(err)
	}
	for name, text := range sources {
		write(t, filepath.Join(dir, name), text)
	}
	tests := testSource("models", seed, names, draws.Times(20, 60, 600),
		"\n\t\"github.com/itemize/itemize/internal/testing/generated\"\n\tplain \""+modelsPath+"\"")
	tests += fmt.Sprintf("\nfunc TestRequests(t *testing.T) {\n\tconst seed = %d\n", seed)
	for _, name := range names {
		tests += fmt.Sprintf("\tt.Run(%q, func(t *testing.T) { generated.Requests[%s, plain.%s](t, seed) })\n", name,
			name, name)
	}
	write(t, filepath.Join(dir, "law8_test.go"), []byte(tests+"}\n"))
}

// drawn writes random models to a directory, with tests.
func drawn(t *testing.T, dir string, seed uint64) {
	t.Helper()
	source, names, err := randomModels(seed, draws.Times(2, 5, 100))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "models.go"), source)
	write(t, filepath.Join(dir, "law8_test.go"), []byte(testSource("random", seed, names, 20, "")))
}

// testSource returns a test file of the models with these names, each with so many values.
func testSource(pkg string, seed uint64, names []string, values int, imports string) string {
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, "\tt.Run(%q, func(t *testing.T) { values.Parity(t, seed, &%s{}, %d) })\n", name, name, values)
	}
	return fmt.Sprintf(`package %s

import (
	"testing"

	values "%s"%s
)

func TestParity(t *testing.T) {
	const seed = %d
%s}
`, pkg, modelsPath, imports, seed, all.String())
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// generate writes the generated files of packages, by the command: it is in another module.
func generate(t *testing.T, packages []string) {
	t.Helper()
	arguments := append([]string{"run", "github.com/itemize/itemize/cmd/itemize", "gen"}, packages...)
	if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("itemize gen: %v\n%s", err, out)
	}
}

// Two draws with one seed are the same, and with another differ.
func TestRandomModels(t *testing.T) {
	seed := rand.Uint64()
	a, _, errA := randomModels(seed, 5)
	b, _, errB := randomModels(seed, 5)
	c, _, errC := randomModels(seed+1, 5)
	if errA != nil || errB != nil || errC != nil {
		t.Fatal(errA, errB, errC)
	}
	if string(a) != string(b) || string(a) == string(c) {
		t.Error("the models do not follow from the seed")
	}
}
