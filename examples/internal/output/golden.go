// Package output prints the cost of calls for the examples, and compares their output with files.
package output

import (
	"os"

	"github.com/google/go-cmp/cmp"
)

// T is the part of *testing.T that Check uses.
type T interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// Check compares text with a file. If UPDATE is set in the environment, it writes the file instead.
func Check(t T, file string, text []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(text)); d != "" {
		t.Errorf("the output differs from %s; if it should, run the test with UPDATE=1 (-want +got):\n%s", file, d)
	}
}
