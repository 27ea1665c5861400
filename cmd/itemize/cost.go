package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const costUsage = `usage: itemize cost item|plan|measure|forecast|advise|capacity|scaletest [flags] [files]

  item FILE            the size of an item, by attribute, and what it costs to write and read
  plan OLD NEW         what a write costs that makes the item OLD the item NEW; "-" is none.
                       Both have the same key: -key PK,SK names its attributes
  measure FILE...      the attributes of documents with their sizes: the beginning of a workload;
                       a file may be the output of aws dynamodb scan
  forecast FILE        a workload's price a month: as one item, as its layouts, one item per attribute.
                       An operation's perMonth is per document, entities the number of documents;
                       prices that are not given are those of us-east-1
  advise FILE          the best layout of a workload, with the tags to write
  capacity             partitions, shares, burst, load and hot keys: see its flags
  scaletest            the settings of an empty table that serves as the grown one will; requests of
                       a mix and a skew, what is throttled, and the hottest key: see its flags

Items are JSON, plain or DynamoDB's own. All take -json; forecast takes -html FILE.
`

// cost runs itemize cost ...
func (c *command) cost(args []string) error {
	words := map[string]func([]string) error{
		"item": c.costItem, "plan": c.costPlan, "measure": c.costMeasure, "forecast": c.costForecast,
		"advise": c.costAdvise, "capacity": c.costCapacity, "scaletest": c.costScaletest,
	}
	if len(args) == 0 || words[args[0]] == nil {
		fmt.Fprint(c.stderr, costUsage)
		if len(args) == 0 || slices.Contains([]string{"-h", "help", "--help"}, args[0]) {
			return nil
		}
		return usageError{fmt.Errorf("no command cost %s", args[0])}
	}
	return words[args[0]](args[1:])
}

// costFlags parses the flags of a command of itemize cost, and checks the number of its
// files.
func (c *command) costFlags(name string, args []string, least, most int, more func(*flag.FlagSet)) (files []string,
	asJSON bool, err error) {
	f := flag.NewFlagSet("itemize cost "+name, flag.ContinueOnError)
	f.SetOutput(c.stderr)
	f.Usage = func() {
		fmt.Fprint(c.stderr, costUsage, "\n")
		f.PrintDefaults()
	}
	j := f.Bool("json", false, "print JSON")
	if more != nil {
		more(f)
	}
	for { // flags may stand behind files
		if err := parse(f, args); err != nil {
			return nil, false, err
		}
		if f.NArg() == 0 {
			break
		}
		files, args = append(files, f.Arg(0)), f.Args()[1:]
	}
	switch {
	case len(files) == 0 && least > 0:
		return nil, false, fmt.Errorf("cost %s takes %s, and none is given", name, counted(least, most))
	case len(files) < least, len(files) > most:
		return nil, false, fmt.Errorf("cost %s takes %s: %s", name, counted(least, most), strings.Join(files, " "))
	}
	return files, *j, nil
}

func counted(least, most int) string {
	switch {
	case most == 0:
		return "no files"
	case least == most && least == 1:
		return "one file"
	case least == most:
		return fmt.Sprint(least, " files")
	}
	return "one file or more"
}

// read returns the content of a file; "-" is standard input.
func (c *command) read(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	return os.ReadFile(path)
}
