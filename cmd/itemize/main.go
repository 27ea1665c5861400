// Itemize is the command for models: it generates their code, checks their tags, prints their tables and costs, and
// moves stored data. docs/command.md has all commands and flags.
//
//	itemize discover TABLE   see what a table costs, what splitting saves, and get the model
//	itemize gen [packages]   generate typed keys, queries, patches and codecs
//	itemize vet [packages]   report faults of tags; also for go vet -vettool
//	itemize tables           print table definitions
//	itemize cost             sizes, units, forecasts, the best layout, capacity
//	itemize migrate          turn large items into item collections, and back
//	itemize gc               delete unreferenced large values
//	itemize unique           make and verify the guards of unique values
//	itemize check            look for items that other programs have written wrongly
//	itemize eject            write the items, keys and requests of models as code without this library
//
// In a module that uses itemize:
//
//	go install github.com/itemize/itemize/cmd/itemize@latest
//	itemize gen ./...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/itemize/itemize/mapper"
)

func main() {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) { // a shell has some ignored by programs in the background
			signals = append(signals, s)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], ".", os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK     = 0
	exitFaults = 1 // faults of models, or files that are not up to date
	exitUsage  = 2
)

var errFaults = errors.New("faults were reported")

const overview = `itemize maps Go structs to DynamoDB item collections.

  itemize discover TABLE      see what a table costs, what splitting saves, and get the model
  itemize gen [packages]      generate typed keys, queries, patches and codecs
  itemize vet [packages]      report faults of tags
  itemize tables [packages]   print the tables of models, as CloudFormation, Terraform or JSON
  itemize cost COMMAND        sizes, units, forecasts, the best layout, capacity
  itemize migrate COMMAND     turn large items into item collections, live, and back
  itemize gc [packages]       delete unreferenced large values
  itemize unique COMMAND      make and verify the guards of unique values
  itemize stream COMMAND      look at consumers of a change stream
  itemize check TABLE         look for items that other programs have written wrongly
  itemize eject [packages]    write models as code without this library
  itemize version             print the version of this command

itemize COMMAND -h prints the flags of a command, with examples. Packages are those of the go
command; the default is the current folder.
`

// commands are the words of the overview.
var commands = []string{
	"discover", "gen", "vet", "tables", "cost", "migrate", "gc", "unique", "stream", "check", "eject",
	"version",
}

// command is a call of the program.
type command struct {
	ctx            context.Context
	dir            string
	stdout, stderr io.Writer
	// terminal is the output for a line that is overwritten.
	terminal io.Writer
	// lines makes notes on stderr objects of JSON, and bar says that the last line on a terminal is a bar.
	lines, bar bool
	// local says that requests go to a local engine.
	local bool
}

// note prints a line on stderr that is no result, with lines as the only field of an object.
func (c *command) note(text string) {
	if c.lines {
		_ = json.NewEncoder(c.stderr).Encode(map[string]string{"note": text})
		return
	}
	if c.bar {
		fmt.Fprint(c.terminal, clearLine)
	}
	fmt.Fprintln(c.stderr, "itemize:", text)
}

// clearLine clears the line of a terminal.
const clearLine = "\r\x1b[K"

func run(ctx context.Context, args []string, dir string, stdout, stderr io.Writer) int {
	terminal := stderr
	out := &plain{to: stdout}
	stdout, stderr = out, &plain{to: stderr}
	c := &command{ctx: ctx, dir: dir, stdout: stdout, stderr: stderr, terminal: terminal}
	if len(args) > 0 && isVettool(args) {
		return vettool()
	}
	if len(args) > 1 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "-h")
	}
	err := c.subcommand("", overview, commands, args, func(word string, args []string) error {
		return map[string]func([]string) error{
			"discover": c.discover, "gen": c.gen, "vet": c.vet, "tables": c.tables, "cost": c.cost,
			"migrate": c.migrate, "gc": c.gc, "unique": c.unique, "stream": c.stream,
			"check": c.checkTable, "eject": c.eject, "version": c.version,
		}[word](args)
	})
	if out.failed != nil && (err == nil || errors.Is(err, flag.ErrHelp) || errors.Is(err, errFaults)) {
		err = fmt.Errorf("the output is incomplete: %w", out.failed)
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errFaults):
		return exitFaults
	}
	text := err.Error()
	if args[0] == "cost" { // the user looks for faults in their own files
		text = mapper.Detail(err)
	}
	fmt.Fprintln(stderr, "itemize:", c.withCure(err, text))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFaults
}

// usageError is an error of the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func buildFlags(tags string) []string {
	if tags == "" {
		return nil
	}
	return []string{"-tags=" + tags}
}

func patterns(f *flags) []string {
	if f.NArg() == 0 {
		return []string{"."}
	}
	return f.Args()
}

// isVettool reports whether the go command runs this program as a vet tool. It requests its version and
// flags first, and then passes a configuration.
func isVettool(args []string) bool {
	return strings.HasPrefix(args[0], "-V=") || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}
