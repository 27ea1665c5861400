package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The file of examples/ejected is the one that eject writes for the models of the tracker.
func TestEjectedExample(t *testing.T) {
	source, err := os.ReadFile("../../examples/tracker/store/models.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":         "module ejected\n\ngo 1.26\n",
		"store/store.go": string(source), "none/none.go": "package none\n",
		"large/large.go": "package large\n\ntype Large struct {\n\tID string `ddb:\"pk={ID}\"`\n\t" +
			"Text string `ddb:\"sk=A,compress=gzip\"`\n}\n",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eject := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(context.Background(), append([]string{"eject"}, args...), dir, &out, &out); got != code {
			t.Fatalf("%v: exit status %d, and not %d: %s", args, got, code, out.String())
		}
		return out.String()
	}
	says := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in:\n%s", want, text)
			}
		}
	}
	says(eject(0, "./store"), "store/ejected.go\nnot in it:\n", "Project: inserts, saves and deletes of more than "+
		"100 items",
		"Ticket: predictions, receipts")
	path := filepath.Join(dir, "store", "ejected.go")
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../examples/ejected/store/ejected.go")
	if err != nil || !bytes.Equal(made, kept) {
		t.Errorf("examples/ejected/store/ejected.go is not what eject writes: eject "+
			"./examples/tracker/store, and move the file there, %v", err)
	}
	says(eject(0, "./store"), "ejected.go")
	if err := os.WriteFile(path, append(made, "// mine\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	says(eject(1, "./store"), "ejected.go exists and differs, as a file that was edited does: rename it, or use -force")
	eject(0, "-force", "./store")
	says(eject(1, "./none"), "no models in ./none: a model is a struct")
	says(eject(1, "-model", "Nothing", "./store"), "no such model in ./store: the models are Project, Ticket")
	says(eject(1, "./large"), "large.Large: Text is a large value: remove compress=, chunk and s3= from its tag")
}
