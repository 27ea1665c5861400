package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// version runs itemize version.
func (c *command) version(args []string) error {
	f := c.flags(help{
		"version", "",
		"Print the version of this command. It should be that of the library in a program's go.mod.",
		[]string{"version"},
	})
	rest, err := f.parseAll(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("version takes no arguments: see itemize version -h")
	}
	version, goVersion := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version, goVersion = cmp.Or(info.Main.Version, version), info.GoVersion
	}
	fmt.Fprintln(c.stdout, "itemize", version, goVersion)
	return nil
}
