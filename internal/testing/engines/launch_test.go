//go:build unix

package engines

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A missing image is pulled before the engine starts: the minute in which an engine has to answer does
// not include the pull.
func TestDockerPullsMissingImageFirst(t *testing.T) {
	for _, c := range []struct {
		name, inspect string
		want          []string
		err           string
	}{
		{"the image exists", "exit 0", []string{"image"}, ""},
		{"the image is missing", "exit 1", []string{"image", "pull"}, ""},
		{
			"the pull fails", "exit 1; fi; if [ $1 = pull ]; then echo no space left >&2; exit 1",
			[]string{"image", "pull"},
			"no space left",
		},
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\necho $1 >>" + dir + "/calls\nif [ $1 = image ]; then " + c.inspect + "; fi\n"
		if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		cmd, err := dockerCommand(context.Background(), 8000)
		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
		if got := strings.Fields(string(calls)); !slices.Equal(got, c.want) {
			t.Errorf("%s: the calls of docker are %v", c.name, got)
		}
		switch {
		case c.err == "" && (err != nil || !slices.Contains(cmd.Args, "run")):
			t.Errorf("%s: %v, %v", c.name, cmd, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: the error is %v", c.name, err)
		}
	}
}
