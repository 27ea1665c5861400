// Modules keeps the modules of the repository installable: they require each other at one version,
// without replace, and need no more than they use.
//
// Usage, in the folder tools:
//
//	go run ./modules tidy [-check] [root]       go mod tidy in every module, as if all were published
//	go run ./modules install [root]             installs every module from outside, with a clean module cache
//	go run ./modules proxy DIRECTORY [root]     writes the modules as a GOPROXY serves them
//
// The root is that of the repository, "../.." unless given. With -check, tidy changes nothing, and fails
// if something would change.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command: name one: tidy, install or proxy")
	}
	flags := flag.NewFlagSet("modules", flag.ExitOnError)
	check := flags.Bool("check", false, "change nothing, and fail if something would change")
	_ = flags.Parse(args[1:]) // it exits
	rest := flags.Args()
	var proxy string
	if args[0] == "proxy" {
		if len(rest) == 0 {
			return fmt.Errorf("no directory: name the directory of the proxy")
		}
		proxy, rest = rest[0], rest[1:]
	}
	root := "../.."
	if len(rest) > 0 {
		root = cmp.Or(rest[0], root)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	all, err := find(root)
	if err != nil {
		return err
	}
	switch args[0] {
	case "tidy":
		return all.tidy(*check)
	case "install":
		return all.install()
	case "proxy":
		return all.writeProxy(proxy)
	}
	return fmt.Errorf("unknown command %s: name one: tidy, install or proxy", args[0])
}
