package files

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/model/item"
)

// exportOf writes items as an export has them, in files of two, and returns its folder.
func exportOf(t *testing.T, items []item.Attributes) Folder {
	t.Helper()
	dir := t.TempDir()
	w := NewWriter(Folder(dir), 60, func(n int) string { return fmt.Sprintf("data/%02d.json.gz", n) })
	for _, a := range items {
		if err := w.Write(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var manifest bytes.Buffer
	names, _ := filepath.Glob(filepath.Join(dir, "data", "*.json.gz"))
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		zip, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		var lines bytes.Buffer
		if _, err := lines.ReadFrom(zip); err != nil {
			t.Fatal(err)
		}
		sum := md5.Sum(content)
		_ = json.NewEncoder(&manifest).Encode(dataFile{
			bytes.Count(lines.Bytes(), []byte("\n")),
			base64.StdEncoding.EncodeToString(sum[:]), "prefix/AWSDynamoDB/1/data/" + filepath.Base(name),
		})
	}
	put(t, dir, filesName, manifest.String())
	put(t, dir, summaryName, fmt.Sprintf(`{"exportType":"FULL_EXPORT","outputFormat":"DYNAMODB_JSON",`+
		`"tableArn":"arn:aws:dynamodb:eu-west-1:1:table/T","itemCount":%d}`, len(items)))
	return Folder(dir)
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func someItems(n int) []item.Attributes {
	var all []item.Attributes
	for i := range n {
		all = append(all, item.Attributes{
			"PK": &types.AttributeValueMemberS{Value: fmt.Sprint("item ", i)},
			"N":  &types.AttributeValueMemberN{Value: fmt.Sprint(i)},
			"B":  &types.AttributeValueMemberB{Value: []byte{byte(i), 0, 255}},
			"L": &types.AttributeValueMemberL{
				Value: []types.AttributeValue{&types.AttributeValueMemberNULL{Value: true}},
			},
		})
	}
	return all
}

// readAllItems reads the segments of an export one after the other.
func readAllItems(ctx context.Context, e *Export, of, limit int, from Position) (all []item.Attributes,
	positions []Position, err error,
) {
	for n := range of {
		err = errors.Join(err, e.Read(ctx, Segment{n, of, limit, from}, func(b Batch) error {
			all, positions = append(all, b.Items...), append(positions, b.At)
			return nil
		}))
	}
	return all, positions, err
}

var equal = cmp.Options{cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{},
	types.AttributeValueMemberB{}, types.AttributeValueMemberL{}, types.AttributeValueMemberNULL{})}

// What the writer writes, an export reads: each item once, in any number of segments and in batches of any size.
func TestExportReadsEachItemOnce(t *testing.T) {
	items := someItems(9)
	e, err := Open(t.Context(), exportOf(t, items))
	if err != nil || e.Table != "T" || e.Items != 9 || e.ID == "" {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, c := range []struct{ of, limit int }{{1, 100}, {1, 1}, {1, 2}, {3, 1}, {20, 5}} {
		got, _, err := readAllItems(t.Context(), e, c.of, c.limit, Position{})
		seen := map[string]bool{}
		for _, a := range got {
			seen[a["PK"].(*types.AttributeValueMemberS).Value] = true
		}
		if err != nil || len(got) != 9 || len(seen) != 9 {
			t.Errorf("%d segments, batches of %d: %d items, %d different, %v", c.of, c.limit, len(got), len(seen), err)
		}
		if c.of == 1 {
			if d := cmp.Diff(items, got, equal); d != "" {
				t.Errorf("(-written +read):\n%s", d)
			}
		}
	}
}

// A segment continues behind any position that a batch had.
func TestExportContinuesBehindPosition(t *testing.T) {
	items := someItems(7)
	e, err := Open(t.Context(), exportOf(t, items))
	if err != nil {
		t.Fatal(err)
	}
	_, positions, _ := readAllItems(t.Context(), e, 1, 1, Position{})
	for n, at := range positions {
		got, _, err := readAllItems(t.Context(), e, 1, 3, at)
		if want := items[min(n+1, len(items)):]; err != nil || !cmp.Equal(want, got, equal, cmpopts.EquateEmpty()) {
			t.Errorf("behind %+v: %d items, want %d, %v", at, len(got), len(want), err)
		}
	}
}

// A damaged or incomplete export is an error with the cure, and never fewer items.
func TestDamagedExportIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"no summary": {
			func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, summaryName)) },
			"name the folder of one export",
		},
		"no list of files": {
			func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, filesName)) },
			"copy the export again",
		},
		"another format": {
			func(t *testing.T, dir string) { put(t, dir, summaryName, `{"outputFormat":"ION"}`) },
			"export as DYNAMODB_JSON",
		},
		"incremental": {func(t *testing.T, dir string) {
			put(t, dir, summaryName, `{"outputFormat":"DYNAMODB_JSON","exportType":"INCREMENTAL_EXPORT"}`)
		}, "export the whole table"},
		"another count": {func(t *testing.T, dir string) {
			put(t, dir, summaryName, `{"outputFormat":"DYNAMODB_JSON","itemCount":99}`)
		}, "the export is incomplete"},
		"a missing file": {
			func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "data", "01.json.gz")) },
			"copy the export again",
		},
		"a cut file": {func(t *testing.T, dir string) {
			os.Truncate(filepath.Join(dir, "data", "01.json.gz"), 30)
		}, "copy the export again"},
		"a changed content": {
			func(t *testing.T, dir string) { copyFile(t, dir, "00.json.gz", "01.json.gz") },
			"has the checksum",
		},
		"no gzip": {
			func(t *testing.T, dir string) { put(t, dir, "data/01.json.gz", "text") },
			"copy the export again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := exportOf(t, someItems(6))
			c.damage(t, string(folder))
			e, err := Open(t.Context(), folder)
			if err == nil {
				_, _, err = readAllItems(t.Context(), e, 1, 10, Position{})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func copyFile(t *testing.T, dir, from, to string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "data", from))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "data/"+to, string(content))
}
