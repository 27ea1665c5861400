package engines

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The embedded engine is a module of its own in this repository, integration/embedded, so that a program that
// imports itemize does not depend on minidyn. Outside a clone it is missing: tests call embedded.Memory.

// embeddedSource returns the folder of its module.
func embeddedSource(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/itemize/itemize").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "integration", "embedded")
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return "", errors.New("minidyn runs as a program only in a clone of this repository: call embedded.Memory " +
			"in a test")
	}
	return dir, nil
}

func embeddedAvailable(ctx context.Context) error {
	_, err := embeddedSource(ctx)
	return err
}

// embeddedCommand builds the program with go, once for each version of its source.
func embeddedCommand(ctx context.Context, port int) (*exec.Cmd, error) {
	source, err := embeddedSource(ctx)
	if err != nil {
		return nil, err
	}
	version, err := fingerprint(source, "go.mod", "front.go", "table.go", "search.go", "condition.go", "complete.go",
		"capacity.go",
		filepath.Join("serve", "main.go"))
	if err != nil {
		return nil, err
	}
	dir, err := fetch("minidyn-"+version, "minidyn, the embedded engine (built with go in seconds)",
		func(dir string) error {
			return newClient("building minidyn").run(exec.CommandContext(ctx, "go", "build", "-C", source, "-o",
				filepath.Join(dir, "minidyn"), "./serve"))
		})
	if err != nil {
		return nil, err
	}
	return exec.Command(filepath.Join(dir, "minidyn"), "-port", strconv.Itoa(port)), nil
}

// fingerprint is a short hash of files.
func fingerprint(dir string, files ...string) (string, error) {
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	return fmt.Sprintf("%.6x", h.Sum(nil)), nil
}
