// Prose checks the texts of the repository: pages, comments, messages and identifiers.
//
// Usage, in the folder tools:
//
//	go test ./prose          all checks
//	go run ./prose           words and alerts of vale, by page and package
//	go run ./prose alerts    the alerts
//
// vale reads the style in styles: plain English (docs/glossary.md) and spelling. It gets the texts as [source.texts]
// extracts them.
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	r, err := read("../..")
	if err != nil {
		return err
	}
	found, err := alerts(r.texts())
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "alerts" {
		for _, a := range found {
			fmt.Println(a)
		}
		return nil
	}
	t := tally(r.texts(), found)
	for _, p := range slices.SortedFunc(maps.Keys(t), place.compare) {
		c := t[p]
		fmt.Printf("%-44s %-11s %6d words %5d alerts %6.1f per 1,000 words\n", p.path, p.kind, c.words, c.alerts,
			c.rate())
	}
	return nil
}

// place is a page, or the texts of one kind of a package.
type place struct {
	kind kind
	path string
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.kind, q.kind), cmp.Compare(p.path, q.path))
}

func placeOf(t *text) place {
	if t.kind == page {
		return place{page, t.file}
	}
	return place{t.kind, path.Dir(t.file)}
}

type count struct{ words, alerts int }

// rate returns the alerts per 1,000 words.
func (c count) rate() float64 { return float64(c.alerts) * 1000 / float64(max(c.words, 1)) }

// tally counts words and alerts by place.
func tally(texts []text, found []alert) map[place]count {
	out := map[place]count{}
	for i := range texts {
		c := out[placeOf(&texts[i])]
		c.words += texts[i].words()
		out[placeOf(&texts[i])] = c
	}
	for _, a := range found {
		c := out[placeOf(a.text)]
		c.alerts++
		out[placeOf(a.text)] = c
	}
	return out
}
