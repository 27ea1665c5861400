package files

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Folder are the files of a folder.
type Folder string

// Open opens a file.
func (d Folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(d), filepath.FromSlash(name)))
}

// Put writes a file, and its folders.
func (d Folder) Put(_ context.Context, name string, content []byte) error {
	at := filepath.Join(string(d), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, content, 0o600)
}
