package generator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// An error of the go command is one sentence with the command to run.
func TestErrorsOfTheGoCommandHaveACure(t *testing.T) {
	for text, want := range map[string]string{
		"err: exit status 1: stderr: go: updates to go.mod needed\n\tgo mod tidy": "the go command: go.mod lacks " +
			"requirements: run go mod tidy",
		"err: exit status 1: stderr: go: inconsistent vendoring in /x:\n\ty": "the go command: the folder vendor " +
			"is not up to date: run go mod vendor",
		"err: exit status 1: stderr: go: something new\n": "the go command: something new",
		"the pattern is bad":                              "the pattern is bad",
	} {
		if got := goError(errors.New(text)); got.Error() != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(name, want string, env ...string) {
		t.Helper()
		env = slices.Concat(os.Environ(), []string{"GOFLAGS=", "GOTOOLCHAIN=local", "GOPROXY=off", "GOWORK="}, env)
		if _, err := Load(context.Background(), Config{Dir: dir, Env: env}, "."); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	write("x.go", "package x\n")
	load("no module", "the go command: no go.mod here or above: run go mod init, or run the command in a module")
	write("go.mod", "module example.com/x\n\ngo 1.999\n")
	load("a newer Go", "the go command: go.mod requires a newer Go: install it, or leave GOTOOLCHAIN out")
	write("go.mod", "module example.com/x\n\ngo 1.26\n\nrequire example.com/z v1.0.0\n")
	load("vendor", "the go command: the folder vendor is not up to date: run go mod vendor", "GOFLAGS=-mod=vendor")
	write("go.work", "go 1.26\n\nuse ./z\n")
	_ = os.Mkdir(filepath.Join(dir, "z"), 0o700)
	write("z/go.mod", "module example.com/z\n\ngo 1.26\n")
	load("a workspace without it", "the go command: go.work lacks the module: run go work use .")
}
