package files

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/itemize/itemize/internal/model/item"
)

// Export is an export of a table to S3, in DynamoDB's JSON.
type Export struct {
	// Table is the name of the table that was exported, "" where that is not said.
	Table string
	// Items is the number of items, and ID distinguishes the export from others.
	Items int
	ID    string
	files Files
	data  []dataFile
}

// dataFile is a line of manifest-files.json.
type dataFile struct {
	Items int    `json:"itemCount"`
	MD5   string `json:"md5Checksum"`
	Key   string `json:"dataFileS3Key"`
}

// name is the path of the file in the folder of the export, also in a copy of the folder.
func (f dataFile) name() string { return "data/" + path.Base(f.Key) }

const (
	summaryName = "manifest-summary.json"
	filesName   = "manifest-files.json"
)

// Open reads the manifests of an export: files are those of its folder, AWSDynamoDB/ID.
func Open(ctx context.Context, files Files) (*Export, error) {
	content, err := readAll(ctx, files, summaryName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the export cannot be read: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("the export has no %s (%w): name the folder of one export, which ends with "+
			"AWSDynamoDB/ and an id, and wait until it is complete", summaryName, err)
	}
	var summary struct {
		ExportType, OutputFormat, TableARN string
		ItemCount                          int
	}
	if err := json.Unmarshal(content, &summary); err != nil {
		return nil, fmt.Errorf("%s: %w", summaryName, err)
	}
	switch {
	case summary.OutputFormat != "DYNAMODB_JSON":
		return nil, fmt.Errorf("the export's format is %q: export as DYNAMODB_JSON", summary.OutputFormat)
	case strings.HasPrefix(summary.ExportType, "INCREMENTAL"):
		return nil, errors.New("the export is incremental: export the whole table")
	}
	if content, err = readAll(ctx, files, filesName); err != nil {
		return nil, fmt.Errorf("%w: %s", err, copyAgain)
	}
	id := sha256.Sum256(content)
	_, table, _ := strings.Cut(summary.TableARN, ":table/")
	e := &Export{Table: table, Items: summary.ItemCount, ID: hex.EncodeToString(id[:8]), files: files}
	sum := 0
	for n, text := range bytes.Split(bytes.TrimSpace(content), []byte("\n")) {
		var f dataFile
		if len(text) == 0 {
			continue
		}
		if err := json.Unmarshal(text, &f); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", filesName, n+1, err)
		}
		e.data, sum = append(e.data, f), sum+f.Items
	}
	if sum != e.Items {
		return nil, fmt.Errorf("%s has %d items, but %s has %d: the export is incomplete", summaryName, e.Items,
			filesName,
			sum)
	}
	return e, nil
}

func readAll(ctx context.Context, files Files, name string) ([]byte, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Position is how far a segment was read: Lines of its File, which is the first for 0.
type Position struct{ File, Line int }

// Batch are items of an export, and how far that is.
type Batch struct {
	Items []item.Attributes
	At    Position
	More  bool
}

// Segment is one of so many parts of an export, from a position on, in batches of at most Limit items.
type Segment struct {
	Number, Of, Limit int
	From              Position
}

// Read reads the files of a segment. A file that is not what its manifest says is an error, when it was read.
func (e *Export) Read(ctx context.Context, s Segment, yield func(Batch) error) error {
	var own []dataFile
	for i := s.Number; i < len(e.data); i += s.Of {
		own = append(own, e.data[i])
	}
	for ; s.From.File < len(own); s.From = (Position{File: s.From.File + 1}) {
		if err := e.file(ctx, own[s.From.File], s, yield); err != nil {
			return err
		}
	}
	return yield(Batch{At: s.From})
}

// file reads one file.
func (e *Export) file(ctx context.Context, f dataFile, s Segment, yield func(Batch) error) error {
	in, err := e.files.Open(ctx, f.name())
	if err != nil {
		return fmt.Errorf("%w: %s", err, copyAgain)
	}
	defer in.Close()
	sum := md5.New()
	whole := io.TeeReader(in, sum)
	zip, err := gzip.NewReader(whole)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", f.name(), err, copyAgain)
	}
	lines := bufio.NewScanner(zip)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	var batch []item.Attributes
	skip, n := s.From.Line, 0
	for lines.Scan() {
		if n++; n <= skip {
			continue
		}
		a, err := readLine(lines.Bytes())
		if err != nil {
			return fmt.Errorf("%s, line %d: %w: %s", f.name(), n, err, copyAgain)
		}
		if batch = append(batch, a); len(batch) == s.Limit {
			if err := yield(Batch{batch, Position{s.From.File, n}, true}); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s, line %d: %w: %s", f.name(), n+1, err, copyAgain)
	}
	if err := f.check(whole, sum, n); err != nil {
		return err
	}
	if len(batch) == 0 {
		return nil
	}
	return yield(Batch{batch, Position{s.From.File, n}, true})
}

// copyAgain is the remedy for a file that differs from the export.
const copyAgain = "copy the export again"

// maxLine bounds a line in bytes: an item of 400 KB, of which each byte can take six in JSON.
const maxLine = 4 << 20

// check compares a file that was read to its end with its manifest.
func (f dataFile) check(rest io.Reader, sum hash.Hash, n int) error {
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(sum.Sum(nil)); f.MD5 != "" && got != f.MD5 {
		return fmt.Errorf("%s has the checksum %s, but %s in the manifest: %s", f.name(), got, f.MD5, copyAgain)
	}
	if n != f.Items {
		return fmt.Errorf("%s has %d items, but %d in the manifest: %s", f.name(), n, f.Items, copyAgain)
	}
	return nil
}
