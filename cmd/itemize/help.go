package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/naming"
)

// help describes a command.
type help struct {
	name      string // gen, cost item
	arguments string // after the flags
	about     string
	examples  []string
}

// flags are the flags of a command, with its help.
type flags struct {
	*flag.FlagSet
	help
	stdout io.Writer
	// elsewhere has flags of related commands, with the names of these.
	elsewhere map[string][]string
}

// flags returns the flags of a command: none yet.
func (c *command) flags(h help) *flags {
	f := &flags{FlagSet: flag.NewFlagSet("itemize "+h.name, flag.ContinueOnError), help: h, stdout: c.stdout}
	f.SetOutput(io.Discard) // errors are printed once, by run
	return f
}

// common adds the flags of commands that read the source of models.
func (f *flags) common() (asJSON *bool, buildTags *string) {
	return f.Bool("json", false, "print diagnostics as a JSON array"),
		f.String("tags", "", "build `tags`, separated by commas")
}

// parse parses flags that precede the arguments.
func (f *flags) parse(args []string) error {
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.print()
		return err
	case err != nil:
		return usageError{f.explain(err)}
	}
	var err error
	f.Visit(func(x *flag.Flag) {
		g, ok := x.Value.(flag.Getter)
		if !ok {
			return
		}
		if n, ok := g.Get().(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			err = usageError{fmt.Errorf("-%s is %v: write a number", x.Name, n)}
		}
	})
	return err
}

// parseAll parses flags before, between and after the arguments, and returns the arguments.
func (f *flags) parseAll(args []string) (all []string, err error) {
	for {
		if err := f.parse(args); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			return all, nil
		}
		all, args = append(all, f.Arg(0)), f.Args()[1:]
	}
}

// explain returns an error of package flag with its cure.
func (f *flags) explain(err error) error {
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	var of string
	f.VisitAll(func(x *flag.Flag) {
		if g, is := x.Value.(flag.Getter); is && strings.Contains(err.Error(), " for flag -"+x.Name+": ") {
			if _, is = g.Get().(time.Duration); is {
				of = x.Name
			}
		}
	})
	if of != "" {
		return fmt.Errorf("-%s: not a time: write a number with its unit, such as 5s", of)
	}
	if !ok {
		return fmt.Errorf("%s: %w: see itemize %s -h", f.name, err, f.name)
	}
	if of := f.elsewhere[name]; of != nil {
		return fmt.Errorf("unknown flag -%s: it belongs to %s: leave it out", name, strings.Join(of, ", "))
	}
	var names []string
	f.VisitAll(func(x *flag.Flag) { names = append(names, x.Name) })
	return unknown("flag", name, "-", names, "see itemize "+f.name+" -h")
}

// print prints the help: one line for each flag.
func (f *flags) print() {
	fmt.Fprintf(f.stdout, "usage: itemize %s [flags]", f.name)
	if f.arguments != "" {
		fmt.Fprint(f.stdout, " ", f.arguments)
	}
	fmt.Fprintf(f.stdout, "\n\n%s\n\n", f.about)
	var lines [][2]string
	width := 0
	f.VisitAll(func(x *flag.Flag) {
		value, text := flag.UnquoteUsage(x)
		if !slices.Contains([]string{"", "0", "0s", "-1", "false"}, x.DefValue) && !strings.Contains(text, "(default") {
			text += fmt.Sprintf(" (default %s)", x.DefValue)
		}
		name := strings.TrimRight("-"+x.Name+" "+value, " ")
		lines, width = append(lines, [2]string{name, text}), max(width, len(name))
	})
	for _, l := range lines {
		fmt.Fprintf(f.stdout, "  %-*s  %s\n", width, l[0], l[1])
	}
	fmt.Fprint(f.stdout, "\nExamples:\n\n")
	for _, e := range f.examples {
		fmt.Fprintf(f.stdout, "  itemize %s\n", e)
	}
}

// unknown returns the error for an unknown word, with the one that may be meant. Both are shown after a prefix.
func unknown(kind, word, prefix string, names []string, cure string) error {
	if n := naming.Nearest(word, names); n != "" {
		cure = "did you mean " + prefix + n + "?"
	}
	return fmt.Errorf("unknown %s %s%s: %s", kind, prefix, word, cure)
}

// isHelp reports whether arguments ask for help.
func isHelp(args []string) bool {
	return len(args) == 0 || slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0])
}

// subcommand runs the command that the first argument names. words are its names in the order of the overview, which is
// printed for help.
func (c *command) subcommand(of, overview string, words []string, args []string,
	call func(word string, args []string) error,
) error {
	if isHelp(args) {
		fmt.Fprint(c.stdout, overview)
		return nil
	}
	if !slices.Contains(words, args[0]) {
		if of != "" {
			of += " "
		}
		return usageError{unknown("command", args[0], of, words, "the commands are "+strings.Join(words, ", "))}
	}
	return call(args[0], args[1:])
}
