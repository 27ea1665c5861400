package compress_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/large/compress"
)

// documents are real package documents, by their names.
func documents(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../migrate/testdata/packages/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents:", err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".json")] = b
	}
	return all
}

// BenchmarkCodecs measures each codec on each document. With -v it prints the table of
// docs/large-values.md, whose WCU and RCU are those of an item with this document alone.
func BenchmarkCodecs(b *testing.B) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| document\t| codec\t| bytes\t| saved\t| write MB/s\t| read MB/s\t| WCU\t| RCU\t|")
	fmt.Fprintln(w, "|---\t|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|")
	docs := documents(b)
	for _, name := range []string{"express", "vite", "webpack", "electron", "aws-sdk", "typescript"} {
		doc := docs[name]
		key := map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "PACKAGE#" + name},
			"SK": &types.AttributeValueMemberS{Value: "HEAD"},
		}
		row := func(codec compression.Name, write, read string) {
			v, err := extern.Pack(&types.AttributeValueMemberS{Value: string(doc)}, compress.Codecs, codec, true)
			if err != nil {
				b.Fatal(err)
			}
			key["doc"] = v
			size := cost.ItemSize(key)
			shown := string(codec)
			if codec == "" {
				shown = "plain"
			}
			fmt.Fprintf(w, "| %s\t| %s\t| %d\t| %d %%\t| %s\t| %s\t| %v\t| %v\t|\n", name, shown, size,
				100-100*size/len(doc), write, read, cost.WriteUnits(size), cost.ReadUnits(size)/2)
		}
		row("", "", "")
		for _, codec := range compression.Names() {
			packed, err := compress.Codecs.Compress(codec, doc)
			if err != nil {
				b.Fatal(err)
			}
			speed := func(do func() error) string {
				n, begun := 0, time.Now()
				for time.Since(begun) < 200*time.Millisecond {
					if err := do(); err != nil {
						b.Fatal(err)
					}
					n++
				}
				return fmt.Sprintf("%.0f", float64(n*len(doc))/1e6/time.Since(begun).Seconds())
			}
			row(codec, speed(func() error {
				_, err := compress.Codecs.Compress(codec, doc)
				return err
			}), speed(func() error {
				_, err := compress.Codecs.Decompress(codec, packed, 1<<30)
				return err
			}))
		}
	}
	w.Flush()
	b.Log("\n" + text.String())
}
