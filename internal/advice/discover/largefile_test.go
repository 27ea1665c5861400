package discover

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of a large file, the items behind a full sample are counted, and their bytes are estimated by their text.
func TestLargeFilesAreCounted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "visits.jsonl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	const n = 3600
	for i := range n {
		fmt.Fprintf(w, `{"id": "v%d", "n": %d, "text": "%s"}`+"\n", i, i, strings.Repeat("x", 9500+i%100))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() < largeFile {
		t.Fatalf("%v, %v", info, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := ReadFiles([]string{name}, 0)
	if err != nil {
		t.Fatal(err)
	}
	some, err := ReadFiles([]string{name}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if all.Table.Items != n || some.Table.Items != n || len(some.Items) != 10 {
		t.Errorf("%d and %d of %d items, %d in the sample", all.Table.Items, some.Table.Items, n, len(some.Items))
	}
	if off := math.Abs(float64(some.Table.Bytes)/float64(all.Table.Bytes) - 1); off > 0.01 {
		t.Errorf("%d bytes are estimated as %d", all.Table.Bytes, some.Table.Bytes)
	}
}
