package extern

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

// spool returns the written bytes in a temporary file, which is deleted after the last reader is
// closed.
func spool(fill func(io.Writer) error) (io.ReaderAt, error) {
	f, err := os.CreateTemp("", "itemize-*")
	if err != nil {
		return nil, fmt.Errorf("a temporary file is needed, since the reader is read only once (cure: an "+
			"io.ReaderAt and io.Seeker, such as a file, without compress=): %w", err)
	}
	if os.Remove(f.Name()) != nil { // as where a file that is open stays
		runtime.AddCleanup(f, func(name string) { _ = os.Remove(name) }, f.Name())
	}
	if err := fill(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
