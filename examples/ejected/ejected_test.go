package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/itemize/itemize/integration/enginetest"
)

// The package has one engine, started by the first test that needs it.
func TestMain(m *testing.M) { enginetest.Run(m) }

type client = Client

// newTracker returns a tracker with a table of its own.
func newTracker(t *testing.T) *Tracker {
	t.Helper()
	return trackerOn(t, enginetest.Start(t).Client(), enginetest.Table(t, "PK:S", "SK:S"))
}

func trackerOn(t *testing.T, c client, table string) *Tracker {
	t.Helper()
	return NewTracker(c, table)
}

// The program has the tests of examples/tracker, and does not import the library.
func TestEjected(t *testing.T) {
	own, err := os.ReadFile("handler_test.go")
	other, failed := os.ReadFile("../tracker/handler_test.go")
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(own, other) {
		t.Error("handler_test.go differs from that of examples/tracker: copy it")
	}
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "github.com/itemize/itemize") && !strings.Contains(path, "/examples/ejected") {
			t.Errorf("the program imports %s", path)
		}
	}
}
