package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The program compiles without the library: of itemize it imports its own packages and the HTTP interface, which
// imports the standard library. The handlers are tested in examples/tracker.
func TestEjected(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const examples = "github.com/itemize/itemize/examples/"
	own := []string{
		examples + "ejected", examples + "ejected/store", examples + "ejected/tracker", examples + "tracker/web",
	}
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "github.com/itemize/itemize") && !slices.Contains(own, path) {
			t.Errorf("the program imports %s", path)
		}
	}
	if out, err := exec.Command("go", "build", "-o", t.TempDir(), ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
