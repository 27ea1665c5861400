package compress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/mapper"
)

type note struct {
	ID   string `ddb:"pk=NOTE#{ID}"`
	Text string `ddb:"sk=TEXT,compress=zstd"`
}

type log struct {
	ID   string `ddb:"pk=LOG#{ID}"`
	Text string `ddb:"sk=TEXT,compress=gzip"`
}

// A codec that a tag names has to be given, unless it is one of the standard library: New names the option.
func TestCodecIsMissing(t *testing.T) {
	client := dynamodb.New(dynamodb.Options{})
	for _, options := range [][]mapper.Option{nil, {compress.LZ4(), compress.LZO(), compress.Snappy()}} {
		_, err := mapper.New[note](client, options...)
		if err == nil ||
			!strings.Contains(err.Error(),
				"is missing: pass the mapper the option compress.") {
			t.Error(err)
		}
	}
	if _, err := mapper.New[note](client, compress.Zstd()); err != nil {
		t.Error(err)
	}
	if _, err := mapper.New[log](client); err != nil {
		t.Error(err)
	}
}

func ExampleZstd() {
	type Note struct {
		ID   string `ddb:"pk=NOTE#{ID}"`
		Text string `ddb:"sk=TEXT,compress=zstd"`
	}
	notes, err := mapper.New[Note](dynamodb.New(dynamodb.Options{}), compress.Zstd())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(notes.PlanSave(notes.New(Note{ID: "1", Text: strings.Repeat("150 write units. ", 9000)})))
	// Output:
	// one request: 1 WCU
	//   put  Note  NOTE#1 TEXT  91 B  1 WCU  Text <nil>
}
