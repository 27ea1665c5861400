package generator

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxFunctions is the limit of the functions that the compiler makes of one model of manyModels, with its two
// structs: 504, and 5 % of air. The time to compile a package grows with their number, and generic types multiply them.
// Each of their methods is compiled for each type, and again if it is a method of a value or promoted. CI
// cannot measure the time, but a method too many shows here.
const maxFunctions = 530

// Generated code compiles to a limited number of functions for each model.
func TestFunctionsOfModel(t *testing.T) {
	few, many := functionsOf(t, 1), functionsOf(t, 4)
	if of := (many - few) / 3; of > maxFunctions {
		t.Errorf("a model has %d functions in the object file, the limit is %d", of, maxFunctions)
	}
}

// functionsOf returns the number of functions in the object file of a package of models.
func functionsOf(t *testing.T, models int) int {
	t.Helper()
	dir := manyModels(t, models)
	for _, f := range generateIn(t, dir) {
		if err := os.WriteFile(f.Path, f.Content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	object := filepath.Join(dir, "many.a")
	run := func(args ...string) []byte {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, offline
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	run("build", "-o", object, ".")
	n := 0
	for line := range bytes.Lines(run("tool", "nm", object)) {
		if kind := bytes.Fields(line); len(kind) > 1 && string(bytes.ToUpper(kind[1])) == "T" {
			n++
		}
	}
	return n
}
