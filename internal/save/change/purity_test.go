package change_test

import (
	"context"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// rendered returns the condition of a request, by sending it to a client that takes all.
func rendered(t *testing.T, r *write.Request) string {
	t.Helper()
	c := &Client{Answers: []Answer{OK()}}
	s := &write.Sender{Client: c, Now: func() time.Time { return Now }}
	one := *r
	one.Prepare()
	if one.Kind == write.Check {
		one.Kind = write.Delete // which has the same condition
	}
	if o := s.One(context.Background(), &one, &write.Tally{}); !o.OK() {
		t.Fatal(o.Err)
	}
	return Condition(c.Calls()[0].Input)
}

// The package does no I/O and waits for nothing: it imports no client, only the types of
// values, and no contexts.
func TestPurity(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range tree.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case path == "context", path == "os", strings.HasPrefix(path, "net"),
				strings.Contains(path, "/service/dynamodb") && !strings.HasSuffix(path, "/types"),
				strings.HasSuffix(path, "/internal/read"), strings.HasSuffix(path, "/internal/retry"),
				strings.HasSuffix(path, "/internal/save/staging"):
				t.Errorf("%s imports %s", f.Name(), path)
			}
		}
	}
}
