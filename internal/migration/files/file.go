// Package files reads and writes items in files of DynamoDB's JSON. It reads an export to S3 (Developer
// Guide, "DynamoDB table export output format"). It writes the input of ImportTable and
// StartBulkPutItems ("Amazon S3 import formats"). A line is an object with an Item.
package files

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/redact"
)

// Files are a folder of files, by their names with slashes.
type Files interface {
	// Open opens a file for reading; the error is a fs.ErrNotExist where there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Put writes a file, in place of whatever has that name.
	Put(ctx context.Context, name string, content []byte) error
}

// line is a line of a data file.
type line struct {
	Item json.RawMessage `json:"Item"`
}

// readLine reads the item of a line.
func readLine(text []byte) (item.Attributes, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	if l.Item == nil {
		return nil, redact.Errorf("it has no Item%v", redact.Of(string(text)))
	}
	a, err := attributevalue.UnmarshalMapJSON(l.Item)
	if err != nil {
		return nil, redact.Hide(err, "its Item is not in DynamoDB JSON")
	}
	return a, nil
}

// Writer writes items into files of about a size, one behind the other.
type Writer struct {
	files Files
	name  func(n int) string
	limit int
	n     int
	raw   int
	buf   bytes.Buffer
	zip   *gzip.Writer
}

// NewWriter returns a writer of files that are named by their numbers, from 0. A file ends when its
// lines have more than limit bytes before they are compressed: the writer holds one file in memory.
func NewWriter(files Files, limit int, name func(n int) string) *Writer {
	return &Writer{files: files, name: name, limit: limit}
}

// Write adds an item.
func (w *Writer) Write(ctx context.Context, a item.Attributes) error {
	text, err := attributevalue.MarshalMapJSON(a)
	if err != nil {
		return err
	}
	text, err = json.Marshal(line{Item: text})
	if err != nil {
		return err
	}
	if w.zip == nil {
		w.zip = gzip.NewWriter(&w.buf)
	}
	if _, err := w.zip.Write(append(text, '\n')); err != nil {
		return err
	}
	if w.raw += len(text) + 1; w.raw > w.limit {
		return w.Flush(ctx)
	}
	return nil
}

// Flush writes the last file. Bytes are as they would be uncompressed.
func (w *Writer) Flush(ctx context.Context) error {
	if w.zip == nil {
		return nil
	}
	if err := w.zip.Close(); err != nil {
		return err
	}
	if err := w.files.Put(ctx, w.name(w.n), w.buf.Bytes()); err != nil {
		return err
	}
	w.n, w.raw, w.zip = w.n+1, 0, nil
	w.buf.Reset()
	return nil
}
