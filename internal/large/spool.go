package large

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
		return nil, fmt.Errorf("it is kept in a temporary file, since the reader cannot be read twice (give one that "+
			"is an io.ReaderAt and an io.Seeker, as a file is, and let the field have no compress=): %w", err)
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
