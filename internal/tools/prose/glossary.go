package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// glossary is docs/glossary.md: the words to avoid, and the exceptions for identifiers.
type glossary struct {
	avoid      map[string]string // term by word or phrase
	exceptions []exception
}

// exception allows a word in identifiers of files with a prefix.
type exception struct {
	word, prefix string
	used         bool
}

var code = regexp.MustCompile("`([^`]+)`")

// glossaryOf reads the glossary: tables with the columns term, meaning and avoid, or word, place and reason.
func glossaryOf(page []byte) *glossary {
	g := &glossary{avoid: map[string]string{}}
	head := ""
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			if text, ok := strings.CutPrefix(line, "Do not use these words"); ok {
				for _, m := range code.FindAllStringSubmatch(text, -1) {
					g.avoid[m[1]] = ""
				}
			}
			continue
		}
		first, second, third := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), cells[3]
		switch {
		case first == "term" || first == "word":
			head = first
		case head == "term":
			for _, m := range code.FindAllStringSubmatch(third, -1) {
				g.avoid[m[1]] = first
			}
		case head == "word":
			for _, m := range code.FindAllStringSubmatch(second, -1) {
				g.exceptions = append(g.exceptions, exception{word: strings.Trim(first, "`"), prefix: m[1]})
			}
		}
	}
	return g
}

// check returns the identifiers, and the names of files, that have a word to avoid, and exceptions that nothing needs.
func (g *glossary) check(sources []*source) []string {
	var out []string
	for _, s := range sources {
		for _, id := range s.identifiers() {
			words := " " + strings.Join(id.words(), " ") + " "
			for avoid, term := range g.avoid {
				if !strings.Contains(words, " "+avoid+" ") || g.excepts(avoid, s.file) {
					continue
				}
				out = append(out, fmt.Sprintf("%s:%d: %s: the glossary avoids %q: use the term %q", id.file, id.line,
					id.name, avoid, term))
			}
		}
	}
	for _, e := range g.exceptions {
		if !e.used {
			out = append(out,
				fmt.Sprintf("docs/glossary.md: no identifier needs the exception %q in %s", e.word, e.prefix))
		}
	}
	slices.Sort(out)
	return out
}

func (g *glossary) excepts(word, file string) bool {
	for i, e := range g.exceptions {
		if e.word == word && strings.HasPrefix(file, e.prefix) {
			g.exceptions[i].used = true
			return true
		}
	}
	return false
}
