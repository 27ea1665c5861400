package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// limit is a figure that shows the design, and the value that the design means it to have.
type limit struct {
	what string
	of   func(*figures) int
	// designed is the value of the design. CI allows 5 % more, so that a change of some lines passes. 0 allows none.
	designed int
	why      string
}

// most is the highest value that CI allows: 5 % over the designed one, rounded up.
func (l *limit) most() int { return l.designed + (l.designed+19)/20 }

// limits are the ceilings of CI. A change that needs a higher one raises the designed value, and says why.
var limits = []limit{
	{
		"public names", func(f *figures) int { return f.publicNames() }, 1215,
		"each name is documentation that users read, and a promise from the first release on",
	},
	{
		"functions over 100 lines", func(f *figures) int { return f.Long.Count }, 0,
		"a longer function has parts that deserve names",
	},
	{
		"functions with more than 5 parameters", func(f *figures) int { return f.Wide.Count }, 0,
		"so many parameters are one value without a name",
	},
	{
		"functions of the write loop with more than one sentence of explanation",
		func(f *figures) int { return f.Explained.Count }, 0,
		"the loop and the changes are read by strangers: what needs two sentences is a type or a table",
	},
	{
		"packages in all modules", func(f *figures) int { return f.Packages.Count }, 93,
		"the table of folders on the architecture page fits a screen, and each package has one idea",
	},
	{
		"lines of package mapper", func(f *figures) int { return f.PackageLines["mapper"] }, 5450,
		"mapper is calls, options and errors: decisions are in internal/save and internal/read",
	},
	{
		"lines of package internal/save/operation",
		func(f *figures) int { return f.PackageLines["internal/save/operation"] }, 4940,
		"the write loop, its tables, its parts and guards: changes are in change, requests in write",
	},
	{
		"methods of mapper.engine", func(f *figures) int { return f.methods("mapper.engine") }, 50,
		"each is a call of users or a check before one",
	},
	{
		"files that know the outcomes of writes", func(f *figures) int { return f.knows("the outcomes of writes") }, 15,
		"the tables of internal/save/operation/verdicts.go decide the continuation after an outcome",
	},
	{
		"struct types that the tests of package mapper declare", func(f *figures) int { return f.TestModels }, 57,
		"tests share the models of internal/testing/kit and internal/testing/models",
	},
	{
		"packages that a save reaches", func(f *figures) int { return f.Reach[0].Packages }, 21,
		"a reader of a save opens so many folders at most",
	},
	{
		"files that a save reaches", func(f *figures) int { return f.Reach[0].Files }, 127,
		"a reader of a save opens so many files at most",
	},
	{
		"functions that a save reaches", func(f *figures) int { return f.Reach[0].Functions }, 830,
		"a kind of save that adds many belongs in a table or in data",
	},
}

// overLimits returns an error that names the figures over their limits.
func (f *figures) overLimits() error {
	var errs []error
	for _, l := range limits {
		if n := l.of(f); n > l.most() {
			errs = append(errs, fmt.Errorf("%s: %d, the limit is %d (%s): keep it below, or raise the designed value "+
				"in internal/tools/figures/limits.go and give the reason in the commit", l.what, n, l.most(), l.why))
		}
	}
	return errors.Join(errs...)
}

func (f *figures) publicNames() int {
	n := 0
	for _, p := range f.Public {
		n += p.Names.Count
	}
	return n
}

func (f *figures) methods(name string) int {
	for _, t := range f.Types.Entries {
		if t.Type == name {
			return t.Methods
		}
	}
	return 0
}

func (f *figures) knows(what string) int {
	for _, k := range f.Knows {
		if k.Of == what {
			return k.Files.Count
		}
	}
	return 0
}

// packagesOf returns the folders with Go files of all modules, tests among them, generated test data aside.
func packagesOf(root string) (list[string], error) {
	var all []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil || rel == "." {
			return err
		}
		if d.IsDir() && (strings.ContainsAny(d.Name()[:1], "._") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if folder := path.Dir(filepath.ToSlash(rel)); path.Ext(rel) == ".go" && !slices.Contains(all, folder) {
			all = append(all, folder)
		}
		return nil
	})
	return listOf(all), err
}

// packageLines returns the lines of code of each package.
func packageLines(fset *token.FileSet, code []source) map[string]int {
	lines := map[string]int{}
	for _, s := range code {
		lines[path.Dir(s.name)] += fset.File(s.syntax.FileStart).LineCount() - 1
	}
	return lines
}

// structTypes returns how many struct types the tests of a package declare.
func structTypes(all []source, folder string) int {
	n := 0
	for _, s := range all {
		if !s.test || path.Dir(s.name) != folder {
			continue
		}
		ast.Inspect(s.syntax, func(node ast.Node) bool {
			if t, ok := node.(*ast.TypeSpec); ok {
				if _, ok := t.Type.(*ast.StructType); ok {
					n++
				}
			}
			return true
		})
	}
	return n
}

// page is a part of a page between two comments that a tool writes.
type page struct{ file, begin, end string }

// update writes text between the comments of a page. With check it returns an error if it is another.
func (p page) update(root, text, command string, check bool) error {
	file := filepath.Join(root, filepath.FromSlash(p.file))
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(content), p.begin)
	_, after, found := strings.Cut(rest, p.end)
	if !ok || !found {
		return fmt.Errorf("%s: the lines %q and %q are missing", p.file, p.begin, p.end)
	}
	now := before + p.begin + "\n" + text + p.end + after
	switch {
	case now == string(content):
		return nil
	case check:
		return fmt.Errorf("%s is not up to date: run (cd internal/tools && %s)", p.file, command)
	}
	return os.WriteFile(file, []byte(now), 0o666)
}
