package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// docs/command.md has the help of each command. UPDATE=1 go test -run TestCommandPage ./cmd/itemize writes it.
func TestCommandPage(t *testing.T) {
	const path = "../../docs/command.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(page), "```text\n")
	var b strings.Builder
	b.WriteString(head)
	show := func(args ...string) {
		var out bytes.Buffer
		if code := run(t.Context(), args, ".", &out, &out); code != exitOK {
			t.Errorf("%v: exit status %d: %s", args, code, &out)
		}
		b.WriteString("```text\n" + out.String() + "```\n")
	}
	show()
	for _, word := range commands {
		b.WriteString("\n## itemize " + word + "\n\n")
		show(word, "-h")
		for _, of := range map[string][]string{
			"cost": costWords, "migrate": migrateWords,
			"unique": uniqueWords, "stream": streamWords,
		}[word] {
			b.WriteString("\n")
			show(word, of, "-h")
		}
	}
	if os.Getenv("UPDATE") != "" {
		err = os.WriteFile(path, []byte(b.String()), 0o644)
	} else if b.String() != string(page) {
		t.Errorf("%s is not up to date: UPDATE=1 go test -run TestCommandPage ./cmd/itemize", path)
	}
	if err != nil {
		t.Error(err)
	}
}

// Each flag takes one line of at most 100 columns, and each command has an example.
func TestHelp(t *testing.T) {
	for _, word := range []string{
		"gen", "vet", "tables", "gc", "migrate run", "migrate plan", "cost capacity",
		"cost scaletest",
	} {
		var out bytes.Buffer
		run(t.Context(), append(strings.Fields(word), "-h"), ".", &out, &out)
		if !strings.Contains(out.String(), "\nExamples:\n\n  itemize "+word+" ") {
			t.Errorf("%s has no example: %s", word, &out)
		}
		for line := range strings.Lines(out.String()) {
			if n := len(line); strings.HasPrefix(line, "  -") && n > 101 {
				t.Errorf("%s: a line of %d columns: %s", word, n, line)
			}
		}
	}
}
