// The program randomgen writes a package of random models, to generate code for.
package main

import (
	"flag"
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"

	"github.com/itemize/itemize/internal/modeltest"
	"github.com/itemize/itemize/internal/schema"
)

func main() {
	seed := flag.Uint64("seed", 1, "of the random source")
	n := flag.Int("n", 25, "number of models")
	out := flag.String("o", "models.go", "the file to write")
	flag.Parse()
	if err := write(*seed, *n, *out); err != nil {
		fmt.Fprintln(os.Stderr, "randomgen:", err)
		os.Exit(1)
	}
}

func write(seed uint64, n int, out string) error {
	r := rand.New(rand.NewPCG(seed, 0))
	var body strings.Builder
	var names []string
	for i := 0; len(names) < n; i++ {
		t := modeltest.Type(r, i)
		if _, err := schema.Of(t); err != nil {
			continue
		}
		name := fmt.Sprintf("Random%d", len(names))
		names = append(names, "&"+name+"{}")
		fmt.Fprintf(&body, "// %s is a model.\ntype %s %s\n\n", name, name, source(t))
	}
	text := body.String()
	var imports string
	if strings.Contains(text, "time.") {
		imports = "\"time\"\n\n"
	}
	if strings.Contains(text, "models.") {
		imports += "\"github.com/itemize/itemize/internal/modeltest/models\"\n"
	}
	all := fmt.Sprintf(`// Package random has models that were drawn at random, with the seed %d.
package random

import (
	%s)

// All has a pointer to each model.
var All = []any{%s}

%s`, seed, imports, strings.Join(names, ", "), text)
	b := []byte(all)
	for range 2 { // the first pass breaks lines that the second aligns
		var err error
		if b, err = format.Source(b); err != nil {
			return err
		}
	}
	return os.WriteFile(out, b, 0o644)
}

// source returns a type as Go source, which is how reflect writes it.
func source(t reflect.Type) string { return strings.ReplaceAll(t.String(), "uint8", "byte") }
