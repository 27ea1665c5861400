package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const (
	prefix = "github.com/itemize/itemize"
	// version is the one that the modules require each other at: the next release.
	version = "v0.1.0"
)

// mod is a module of the repository.
type mod struct {
	path, dir string
	file      *modfile.File
}

// published reports whether users install it. The benchmarks and the tools are run in a clone.
func (m *mod) published() bool {
	return m.path != prefix+"/bench" && m.path != prefix+"/tools" && !strings.Contains(m.path, "/examples/")
}

func (m *mod) own() bool { return m.path == prefix || strings.HasPrefix(m.path, prefix+"/") }

// modules are those of the repository.
type modules []*mod

// find returns the modules below a root. The error is of one that cannot be installed: it replaces
// another, or requires one of the repository's at another version.
func find(root string) (modules, error) {
	var all modules
	var errs []error
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name != root && strings.ContainsAny(d.Name()[:1], "._") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.Name() != "go.mod" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			return err
		}
		m := &mod{file.Module.Mod.Path, filepath.Dir(name), file}
		all = append(all, m)
		rel, err := filepath.Rel(root, m.dir)
		if want := path.Join(prefix, filepath.ToSlash(rel)); err == nil && m.path != want {
			errs = append(errs, fmt.Errorf("%s: it is the module %s: it must be %s", name, m.path, want))
		}
		if len(file.Replace) > 0 {
			errs = append(errs,
				fmt.Errorf("%s: it has a replace, which go install refuses: put it into a go.work", name))
		}
		for _, r := range file.Require {
			if (&mod{path: r.Mod.Path}).own() && r.Mod.Version != version {
				errs = append(errs, fmt.Errorf("%s: it requires %s: it must be %s", name, r.Mod, version))
			}
		}
		return err
	})
	return all, errors.Join(err, errors.Join(errs...))
}

// tidy runs go mod tidy in each module as if the others were published: with replacements in a copy of its go.mod.
func (all modules) tidy(check bool) error {
	var errs []error
	for _, m := range all {
		errs = append(errs, all.tidyOne(m, check))
	}
	return errors.Join(errs...)
}

func (all modules) tidyOne(m *mod, check bool) error {
	dir, err := os.MkdirTemp("", "itemize-tidy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	modPath, sumPath := filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")
	for _, n := range all {
		if n == m {
			continue
		}
		if err := m.file.AddReplace(n.path, version, n.dir, ""); err != nil {
			return err
		}
	}
	text, err := m.file.Format()
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(m.dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(os.WriteFile(modPath, text, 0o666), os.WriteFile(sumPath, sums, 0o666)); err != nil {
		return err
	}
	if err := command(m.dir, []string{"GOWORK=off"}, "go", "mod", "tidy", "-modfile="+modPath); err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	if text, err = os.ReadFile(modPath); err != nil {
		return err
	}
	tidied, err := modfile.Parse(modPath, text, nil)
	if err != nil {
		return err
	}
	for _, r := range slices.Clone(tidied.Replace) {
		if err := tidied.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	tidied.Cleanup()
	if text, err = tidied.Format(); err != nil {
		return err
	}
	after, err := os.ReadFile(sumPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(update(filepath.Join(m.dir, "go.mod"), text, check),
		update(filepath.Join(m.dir, "go.sum"), after, check))
}

// update writes a file if it is another. With check that is an error, and nothing is written.
func update(name string, text []byte, check bool) error {
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch {
	case bytes.Equal(before, text):
		return nil
	case check:
		return fmt.Errorf("%s is not tidy: run (cd internal/tools && go run ./modules tidy)", name)
	}
	return os.WriteFile(name, text, 0o666)
}

// command runs a program in a folder. The error has its output.
func command(dir string, env []string, name string, args ...string) error {
	_, err := output(dir, env, name, args...)
	return err
}

func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out), nil
}
