//go:build lzop

package compress

import (
	"bytes"
	"io"
	"os/exec"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
)

// lzop, which uses liblzo2, can read the output, and its output can be read. It is in Debian's package
// lzop; .ci/full installs it, and runs this with -tags lzop.
func TestAgainstLzop(t *testing.T) {
	run := func(in []byte, args ...string) []byte {
		t.Helper()
		cmd := exec.Command("lzop", args...)
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("lzop %v of %d bytes: %v", args, len(in), err)
		}
		return out
	}
	for _, in := range lzoInputs(t, draws.Seed(t)) {
		if len(in) == 0 {
			continue // lzop writes no file of nothing
		}
		if out := run(lzoFile(t, in), "-dc"); !bytes.Equal(out, in) {
			t.Fatalf("lzop gave %d bytes for %d", len(out), len(in))
		}
		for _, level := range []string{"-1", "-3", "-9"} {
			out, err := io.ReadAll(newLZOReader(bytes.NewReader(run(in, level, "-c"))))
			if err != nil || !bytes.Equal(out, in) {
				t.Fatalf("of lzop %s: %d bytes for %d, %v", level, len(out), len(in), err)
			}
		}
	}
}
