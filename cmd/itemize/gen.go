package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/generator"
)

func (c *command) gen(args []string) error {
	f := c.flags(help{"gen", "[packages]", "Generate <file>_itemize.go for each file with models, and " +
		"itemize.lock.json " +
		"for each package.\nFiles that are up to date are not written.", []string{
		"gen ./...", "gen -check ./...",
		"gen -accept ./store",
	}})
	asJSON, tags := f.common()
	check := f.Bool("check", false, "write nothing, print the differences, and exit with status 1 if files differ")
	accept := f.Bool("accept", false, "accept changes that make stored items unreadable")
	verbose := f.Bool("v", false, "print the names of written files")
	if err := f.parse(args); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // it ends soon: a fifth of its time, for 40 MB
	packages, err := generator.Load(c.ctx, generator.Config{Dir: c.dir, BuildFlags: buildFlags(*tags)}, patterns(f)...)
	if err != nil {
		return err
	}
	files, faults, err := generator.All(packages, *accept)
	if err != nil {
		return err
	}
	if err := c.report(faults, *asJSON); err != nil {
		return err
	}
	left := func(p *generator.Package) bool { return len(p.GeneratedFiles()) > 0 } // of deleted models
	models := func(p *generator.Package) bool { return len(p.Models) > 0 }
	if !slices.ContainsFunc(packages, models) && !slices.ContainsFunc(packages, left) {
		return fmt.Errorf("no models in %s: a model is a struct with a ddb:\"pk=...\" tag",
			strings.Join(patterns(f), " "))
	}
	stale, err := c.stale(packages, files)
	if err != nil {
		return err
	}
	c.renamed(stale)
	if *check {
		return c.showStale(stale)
	}
	for _, s := range stale {
		if *verbose {
			fmt.Fprintln(c.stdout, c.rel(s.path))
		}
		if err := s.write(); err != nil {
			return err
		}
	}
	c.notes(packages)
	return nil
}

// renamed announces the names of generated code that change, before a file is written.
func (c *command) renamed(stale []change) {
	for _, s := range stale {
		if s.old == nil || s.new == nil || filepath.Ext(s.path) != ".go" {
			continue
		}
		texts, err := generator.Renamed(s.old, s.new)
		if err != nil { // a damaged file, which this run replaces
			texts = []string{c.rel(s.path) + " cannot be read: names that change are unknown"}
		}
		for _, text := range texts {
			fmt.Fprintf(c.stderr, "note: %s\n", text)
		}
	}
}

// notes prints notes about the generated code.
func (c *command) notes(packages []*generator.Package) {
	for _, p := range packages {
		for _, d := range p.Notes {
			fmt.Fprintf(c.stderr, "note: %s: %s\n", c.position(d.Pos), d.Message)
		}
	}
}

// change is a file that is not up to date. old is nil for a missing file, new for a superfluous one.
type change struct {
	path     string
	old, new []byte
}

func (s change) write() error {
	if s.new == nil {
		return os.Remove(s.path)
	}
	return replaceFile(s.path, s.new)
}

// replaceFile writes a new file next to the old one, and renames it. A reader of the old file reads all
// of it, and a program that dies leaves it unchanged.
// If the path is a symbolic link, it replaces the file that the link names.
func replaceFile(path string, content []byte) (err error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	} else if to, err := os.Readlink(path); err == nil { // its file does not exist yet
		if path = filepath.Join(filepath.Dir(path), to); filepath.IsAbs(to) {
			path = to
		}
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = cmp.Or(err, f.Chmod(mode))
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// stale lists files that are not up to date, including those of deleted models.
func (c *command) stale(packages []*generator.Package, files []generator.File) ([]change, error) {
	var out []change
	made := map[string]bool{}
	for _, f := range files {
		made[f.Path] = true
		old, err := os.ReadFile(f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || !bytes.Equal(old, f.Content) {
			out = append(out, change{f.Path, old, f.Content})
		}
	}
	for _, p := range packages {
		for _, path := range p.GeneratedFiles() {
			if made[path] { // or listed: a package and its external tests share the folder
				continue
			}
			made[path] = true
			old, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			out = append(out, change{path, old, nil})
		}
	}
	return out, nil
}

func (c *command) showStale(stale []change) error {
	for _, s := range stale {
		fmt.Fprintf(c.stdout, "%s is out of date: run itemize gen\n%s", c.rel(s.path), difference(s.old, s.new))
	}
	if len(stale) > 0 {
		return errFaults
	}
	return nil
}

// rel returns a path relative to the current folder.
func (c *command) rel(path string) string {
	dir, err := filepath.Abs(c.dir)
	if err != nil {
		return path
	}
	if r, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(r, "..") {
		return r
	}
	return path
}

// difference shows the first lines that differ, without the common lines at the start and the end.
func difference(old, new []byte) string {
	a, b := strings.Split(string(old), "\n"), strings.Split(string(new), "\n")
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	end := 0
	for end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ line %d @@\n", from+1)
	show := func(sign string, lines []string) {
		const most = 20
		for i, l := range lines {
			if i == most {
				fmt.Fprintf(&out, "%s ... and %d lines more\n", sign, len(lines)-most)
				return
			}
			fmt.Fprintf(&out, "%s%s\n", sign, l)
		}
	}
	show("-", a[from:len(a)-end])
	show("+", b[from:len(b)-end])
	return out.String()
}
