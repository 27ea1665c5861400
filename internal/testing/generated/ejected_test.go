package generated

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// notEjected are the models of the family that itemize eject refuses: their keys are numbers or bytes, they have
// secondary tables or no sort key, structs behind pointers, or values that attributevalue does not store.
var notEjected = []string{
	"Sized", "Quoted", "Decimals", "Product", "SecondaryItems", "Reading", "Chunk", "OneTable", "BinaryKey", "Page",
	"Indexed", "EmbeddedPointer", "SharedSpread", "EmbeddedElements", "Optionals", "PointedBase",
}

// The code that itemize eject writes stores the same items as the library, and reads them.
func TestEjectedStoresTheSame(t *testing.T) {
	dir := filepath.Join(folder(t), "ejected")
	seed := draws.Seed(t)
	var names []string
	all := slices.Concat(models.All, models.Indexes)
	for _, n := range draws.Some(seed, len(all), draws.Times(8, draws.All, draws.All)) {
		if name := reflect.TypeOf(all[n]).Elem().Name(); !slices.Contains(notEjected, name) {
			names = append(names, name)
		}
	}
	paths, err := filepath.Glob("../models/family*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources, named := map[string][]byte{}, map[string]bool{}
	for _, name := range names {
		named[name] = true
	}
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
	var tests strings.Builder
	fmt.Fprintf(&tests, "package models\n\nimport (\n\t\"testing\"\n\n\tvalues \"%s\"\n)\n\nfunc TestEjected(t "+
		"*testing.T) {\n",
		modelsPath)
	for _, name := range names {
		fmt.Fprintf(&tests, "\tt.Run(%q, func(t *testing.T) { values.Ejected(t, %d, %d, %[1]sItems, %[1]sOf) })\n",
			name, seed,
			draws.Times(20, 100, 1000))
	}
	tests.WriteString("}\n")
	for _, command := range [][]string{
		{"run", "github.com/itemize/itemize/cmd/itemize", "eject", "./" + dir},
		{"vet", "./" + dir},
		{"test", "-count=1", "-gcflags=-N -l", "./" + dir},
	} {
		if command[0] == "test" {
			write(t, filepath.Join(dir, "ejected_test.go"), []byte(tests.String()))
		}
		if out, err := exec.Command("go", command...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
}
