package draws

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A test that fails ends its log with one command that sets what it depended on.
func TestFailureEndsWithCommand(t *testing.T) {
	if os.Getenv("REPEAT_FAIL") != "" {
		t.Run("a (b) 'c'", func(t *testing.T) {
			With(t, "ITEMIZE_ENGINE", "dynoxide")
			With(t, "ITEMIZE_RANDOM_SEED", "1")
			With(t, "ITEMIZE_RANDOM_SEED", "17")
			t.Fail()
		})
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run", "^TestFailureEndsWithCommand$")
	cmd.Env = append(os.Environ(), "REPEAT_FAIL=1", "ITEMIZE_DRAWS=ci")
	out, err := cmd.CombinedOutput()
	want := `repeat with: ITEMIZE_DRAWS=ci ITEMIZE_ENGINE=dynoxide ITEMIZE_RANDOM_SEED=17 go test -count=1 -run ` +
		`'^TestFailureEndsWithCommand$/^a_\(b\)_'\''c'\''$' ./internal/testing/draws` + "\n"
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

// The command of a package in a nested module begins in that module.
func TestCommandOfNestedModule(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"nested/inner/deep", "plain"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "nested/inner/go.mod"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ITEMIZE_DRAWS", "")
	for dir, want := range map[string]string{
		"":                  "go test -count=1 -run '^TestX$' .",
		"plain":             "go test -count=1 -run '^TestX$' ./plain",
		"nested/inner":      "cd nested/inner && go test -count=1 -run '^TestX$' .",
		"nested/inner/deep": "cd nested/inner && go test -count=1 -run '^TestX$' ./deep",
	} {
		if got := command("TestX", filepath.Join(root, dir), nil); got != want {
			t.Errorf("%s: %s; want %s", dir, got, want)
		}
	}
}
