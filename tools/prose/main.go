// Command prose checks the texts of the repository.
package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
)

func main() {
	root := os.Args[2]
	pages, sources, err := read(root)
	if err != nil {
		panic(err)
	}
	texts := pages
	for _, s := range sources {
		texts = append(texts, s.texts()...)
	}
	list, err := alerts(os.Args[1], os.Args[3], texts)
	if err != nil {
		panic(err)
	}
	type key struct {
		folder string
		kind
	}
	words, found := map[key]int{}, map[key]int{}
	of := func(t *text) key {
		if t.kind == page {
			return key{t.file, page}
		}
		return key{path.Dir(t.file), t.kind}
	}
	for i := range texts {
		words[of(&texts[i])] += texts[i].words()
	}
	for _, a := range list {
		found[of(a.text)]++
		fmt.Println(a)
	}
	for _, k := range slices.SortedFunc(maps.Keys(words), func(a, b key) int { return found[b] - found[a] }) {
		fmt.Fprintf(os.Stderr, "%-40s %-12s %6d words %4d alerts %6.1f\n", k.folder, k.kind, words[k], found[k], float64(found[k])*1000/float64(words[k]))
	}
}
