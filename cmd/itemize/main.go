// The command itemize generates code for models, and checks their tags.
//
//	itemize gen [packages]   write <file>_itemize.go beside each model's file
//	itemize vet [packages]   report faults of tags; also for go vet -vettool
//	itemize migrate ...      monoliths to item collections, and back
//	itemize gc [packages]    remove large values that nothing points to
//	itemize cost ...         sizes, units, forecasts, the best layout, capacity
//
// In a module that uses itemize:
//
//	go install github.com/itemize/itemize/cmd/itemize@latest
//	itemize gen ./...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"

	"github.com/itemize/itemize/mapper"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], ".", os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK     = 0
	exitFaults = 1 // of models, or files that are out of date
	exitUsage  = 2
)

var errFaults = errors.New("faults were reported")

const usage = `itemize maps Go structs to DynamoDB item collections.

  itemize gen [flags] [packages]   generate typed keys, queries, patches and codecs
  itemize vet [flags] [packages]   report what is wrong with the tags of models
  itemize tables [flags] [packages]  the tables that models need, as CloudFormation or Terraform
  itemize migrate ...              monoliths to item collections, live, and back
  itemize gc [flags] [packages]    remove large values that nothing points to any more
  itemize cost ...                 sizes, units, forecasts, layouts, capacity

Packages are as for go build; the default is the current one. Flags: itemize gen -h.
`

// command is one word of the command line.
type command struct {
	ctx            context.Context
	dir            string
	stdout, stderr io.Writer
	// terminal is where a line is written over.
	terminal io.Writer
}

func run(ctx context.Context, args []string, dir string, stdout, stderr io.Writer) int {
	terminal := stderr
	stdout, stderr = plain{stdout}, plain{stderr}
	c := &command{ctx, dir, stdout, stderr, terminal}
	if len(args) > 0 && isVettool(args) {
		return vettool()
	}
	var err error
	switch {
	case len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	case args[0] == "gen":
		err = c.gen(args[1:])
	case args[0] == "vet":
		err = c.vet(args[1:])
	case args[0] == "tables":
		err = c.tables(args[1:])
	case args[0] == "cost":
		err = c.cost(args[1:])
	case args[0] == "migrate":
		err = c.migrate(args[1:])
	case args[0] == "gc":
		err = c.gc(args[1:])
	default:
		fmt.Fprintf(stderr, "itemize: no command %q: write gen, vet, tables, migrate, gc or cost\n", args[0])
		return exitUsage
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errFaults):
		return exitFaults
	case errors.As(err, new(usageError)):
		return exitUsage
	}
	text := err.Error()
	if args[0] == "cost" { // it reads files of the user, who looks for what is wrong with them
		text = mapper.Detail(err)
	}
	fmt.Fprintln(stderr, "itemize:", text)
	return exitFaults
}

// usageError is a flag that was wrong, which the flag package has reported.
type usageError struct{ error }

// flags returns the flags that all commands have.
func (c *command) flags(name, about string) (f *flag.FlagSet, asJSON *bool, buildTags *string) {
	f = flag.NewFlagSet("itemize "+name, flag.ContinueOnError)
	f.SetOutput(c.stderr)
	f.Usage = func() {
		fmt.Fprintf(c.stderr, "usage: itemize %s [flags] [packages]\n\n%s\n\n", name, about)
		f.PrintDefaults()
	}
	return f, f.Bool("json", false, "print diagnostics as JSON, one array"),
		f.String("tags", "", "build `tags`, separated by commas")
}

func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil && !errors.Is(err, flag.ErrHelp) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	var err error
	f.Visit(func(x *flag.Flag) {
		g, ok := x.Value.(flag.Getter)
		if !ok {
			return
		}
		if n, ok := g.Get().(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			err = usageError{fmt.Errorf("-%s is %v: give a number", x.Name, n)}
			fmt.Fprintln(f.Output(), err)
		}
	})
	return err
}

func buildFlags(tags string) []string {
	if tags == "" {
		return nil
	}
	return []string{"-tags=" + tags}
}

func patterns(f *flag.FlagSet) []string {
	if f.NArg() == 0 {
		return []string{"."}
	}
	return f.Args()
}

// isVettool reports whether the go command runs this program as a vet tool: it asks for
// its version and flags, and then gives it a configuration.
func isVettool(args []string) bool {
	return strings.HasPrefix(args[0], "-V=") || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}
