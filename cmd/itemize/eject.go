package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/itemize/itemize/internal/generator"
)

// eject runs itemize eject.
func (c *command) eject(args []string) error {
	f := c.flags(help{
		"eject", "[packages]",
		"Write ejected.go into the folder of each package: structs for the items of its models with attributevalue\n" +
			"tags, functions for their keys, and functions that make the requests of queries and saves. They import\n" +
			"only the SDK. Print what the code does not do. Nothing is deleted.",
		[]string{"eject ./store", "eject -model User ./store"},
	})
	asJSON, tags := f.common()
	var models []string
	f.Func("model", "`name` of a model; repeatable (default: all)", func(s string) error {
		models = append(models, s)
		return nil
	})
	force := f.Bool("force", false, "replace a file ejected.go that differs")
	if err := f.parse(args); err != nil {
		return err
	}
	cfg := generator.Config{Dir: c.dir, BuildFlags: buildFlags(*tags)}
	packages, err := generator.Load(c.ctx, cfg, patterns(f)...)
	if err != nil {
		return err
	}
	var all []*generator.Ejected // before one is written
	for _, p := range packages {
		out, faults, err := p.Eject(models)
		if err != nil {
			return err
		}
		if len(faults) > 0 {
			return c.report(faults, *asJSON)
		}
		if out == nil {
			continue
		}
		if err := p.Compiles(c.ctx, cfg, out.File); err != nil {
			return err
		}
		all = append(all, out)
	}
	for _, out := range all {
		if err := c.writeEjected(out, *force); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		var names []string
		for _, p := range packages {
			for _, m := range p.Models {
				names = append(names, m.Name)
			}
		}
		if len(names) > 0 && len(models) == 0 {
			return fmt.Errorf("the models in %s are in test files, which programs cannot use: move %s",
				strings.Join(patterns(f), " "), strings.Join(names, ", "))
		}
		if len(names) > 0 {
			return fmt.Errorf("no such model in %s: the models are %s", strings.Join(patterns(f), " "),
				strings.Join(names, ", "))
		}
		return fmt.Errorf("no models in %s: a model is a struct with a ddb:\"pk=...\" tag",
			strings.Join(patterns(f), " "))
	}
	return nil
}

// writeEjected writes a file, and prints what its code does not do.
func (c *command) writeEjected(out *generator.Ejected, force bool) error {
	old, err := os.ReadFile(out.Path)
	switch {
	case err == nil && !force && !bytes.Equal(old, out.Content):
		return fmt.Errorf("%s exists and differs, as a file that was edited does: rename it, or use -force",
			c.rel(out.Path))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.WriteFile(out.Path, out.Content, 0o644); err != nil { //nolint:gosec // source code
		return err
	}
	fmt.Fprintf(c.stdout, "%s\nnot in it:\n", c.rel(out.Path))
	for _, line := range out.Lost {
		fmt.Fprintf(c.stdout, "  %s\n", line)
	}
	return nil
}
