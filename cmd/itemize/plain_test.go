package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\tb\n": "a\tb\n", "Gräfin ☃": "Gräfin ☃", "a\x1b[2Jb": `a\x1b[2Jb`, "a\rb": `a\x0db`, "a\u202eb": `a\u202eb`,
		"\u009b1m": `\u009b1m`, "\x00": `\x00`,
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q is written as %q", text, got)
		}
		var b bytes.Buffer
		if n, err := fmt.Fprint(&plain{to: &b}, text); err != nil || n != len(text) || b.String() != want {
			t.Errorf("%q: %d bytes, %q, %v", text, n, b.String(), err)
		}
	}
}

// Stored text cannot control the terminal on which it is printed.
func TestCommandEscapesStoredText(t *testing.T) {
	m := newMigrating(t, 1)
	_, err := m.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &m.source, Item: map[string]types.AttributeValue{
			"name":   &types.AttributeValueMemberS{Value: "evil\x1b[2J"},
			"visits": &types.AttributeValueMemberS{Value: "no list"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"plan", "run", "verify", "status"} {
		code := 1
		if step == "status" {
			code = 0
		}
		text := m.itemize(code, step)
		if strings.ContainsAny(text, "\x1b\r") || step != "run" && !strings.Contains(text, `evil\x1b[2J`) {
			t.Errorf("%s prints %q", step, text)
		}
	}
}

// fullDisk takes no bytes.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A command whose output could not be written does not end as if it were: in text, in JSON, and its help.
func TestOutputThatIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"version"},
		{"help"},
		{"cost", "-h"},
		{"cost", "item", "item.json"},
		{"cost", "item", "-json", "item.json"},
		{"discover", "-h"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "item.json"), []byte(`{"a": "b"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		code := run(context.Background(), args, dir, fullDisk{}, &errs)
		if code != exitFaults || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%v: status %d, %s", args, code, errs.String())
		}
	}
}
