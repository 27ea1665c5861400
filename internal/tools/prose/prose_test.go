package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = "../../.."

var repositoryOf = sync.OnceValues(func() (*repository, error) { return read(root) })

func open(t *testing.T) *repository {
	t.Helper()
	r, err := repositoryOf()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Pages and package documentation have no alert of vale, comments and messages one in 1,000 words.
func TestAlerts(t *testing.T) {
	texts := open(t).texts()
	found, err := alerts(texts)
	if err != nil {
		t.Fatal(err)
	}
	tallied := tally(texts, found)
	for _, p := range slices.SortedFunc(maps.Keys(tallied), place.compare) {
		c := tallied[p]
		most := 0
		if p.kind == comment || p.kind == message {
			most = c.words / 1000
		}
		if c.alerts <= most {
			continue
		}
		t.Errorf("%s %s: %d alerts in %d words, the limit is %d:", p.kind, p.path, c.alerts, c.words, most)
		for _, a := range found {
			if placeOf(a.text) == p {
				t.Error(a)
			}
		}
	}
}

// No text switches vale off.
func TestNoOffSwitch(t *testing.T) {
	off := regexp.MustCompile(`(?i)<!--\s*vale|vale\s+\S+\s*=\s*(NO|YES)`)
	for _, x := range open(t).texts() {
		if found := off.Find(x.body); found != nil {
			t.Errorf("%s: %q", x.file, found)
		}
	}
}

// Links between pages lead to files and headings that exist.
func TestLinks(t *testing.T) {
	for _, l := range open(t).brokenLinks(root) {
		t.Error(l)
	}
}

// Lines of Go have at most 120 columns.
func TestColumns(t *testing.T) {
	for _, l := range open(t).longLines() {
		t.Error(l)
	}
}

// Doc comments begin with the declared name.
func TestDocNames(t *testing.T) {
	for _, d := range open(t).misnamedDocs() {
		t.Error(d)
	}
}

// Error texts have the form "subject: fact: cure".
func TestMessages(t *testing.T) {
	r := open(t)
	if n := len(r.errorTexts()); n < 1000 {
		t.Errorf("only %d error texts were found", n)
	}
	for _, m := range r.wrongMessages() {
		t.Error(m)
	}
}

// Identifiers and names of files have no word that docs/glossary.md avoids.
func TestGlossary(t *testing.T) {
	r := open(t)
	page, err := os.ReadFile(root + "/docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range glossaryOf(page).check(r.sources) {
		t.Error(found)
	}
}

// What the checks find in a repository made for them: each rule has a text that breaks it.
func TestChecksFind(t *testing.T) {
	r, err := read("testdata/repository")
	if err != nil {
		t.Fatal(err)
	}
	found, err := alerts(r.texts())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range found {
		got = append(got, fmt.Sprintf("%s:%d: %s %s", a.text.file, a.text.line(a.Line), a.text.kind, a.Check))
	}
	got = append(got, r.longLines()...)
	got = append(got, r.wrongMessages()...)
	got = append(got, r.misnamedDocs()...)
	got = append(got, r.brokenLinks("testdata/repository")...)
	want := []string{
		"a.go:2: package doc Plain.Absent",
		"a.go:8: comment Plain.Archaic",
		"a.go:11: message Plain.Spelling",
		"a.go:16: comment Plain.Length",
		"page.md:3: page Plain.WhatClause",
		"a.go:15: 121 columns, the limit is 120",
		`m.go:8: "itemize: the item: it is missing: create it": a sentinel has a subject and a fact`,
		`m.go:13: "The item is missing: create it": begin in lower case`,
		`m.go:14: "item: it is missing: create it.": end without a full stop`,
		`m.go:15: "create the item": write subject: fact: cure`,
		`m.go:16: "the attribute %s: the value is wrong: %s": no attribute value: put value into redact.Of`,
		`m.go:17: "create it. It cannot be created if another item has the same key, which must not be replaced: ` +
			`create it under another key. No item of the table may have that key": at most 160 characters without ` +
			`names: it has 161`,
		`m.go:18: "The item %q is missing": begin in lower case`,
		"a.go:13: the comment of f begins with \"g\"",
		"page.md: the link missing.md: missing.md is missing",
		"page.md: the link #none: page.md has no such heading",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
