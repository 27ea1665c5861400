// Package golden compares what a program prints with a file.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Check compares text with a file; with -update it writes the file.
func Check(t *testing.T, file string, text []byte) {
	t.Helper()
	if *update {
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
		t.Errorf("the output is not that of %s; if it should be, run the test with -update (-want +got):\n%s", file, d)
	}
}
