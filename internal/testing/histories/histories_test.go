// Package histories records the requests of random histories, so that two versions of the library can be compared: the
// same histories have to send the same requests.
package histories

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
)

func TestMain(m *testing.M) { testengine.Run(m) }

var inOrder = request.InOrder(context.Background())

// variable names the file for the records of histories, and seedsVariable the first and the last seed of them.
const variable, seedsVariable = "ITEMIZE_HISTORIES", "ITEMIZE_HISTORIES_SEEDS"

// A history sends the same requests each time. With a file in ITEMIZE_HISTORIES the test writes the records of all
// histories there, so that a record of another version can be compared with it.
func TestHistoriesRepeat(t *testing.T) {
	l := newLab(t)
	if name := os.Getenv(variable); name != "" {
		l.write(t, name)
		return
	}
	for i := range uint64(draws.Times(24, 120, 1200)) {
		seed := draws.Seed(t)>>32 + i
		if was, now := l.must(t, seed), l.must(t, seed); was != now {
			t.Fatalf("seed %d: %s", seed, difference(was, now))
		}
	}
}

// must plays the history of a seed.
func (l *lab) must(t *testing.T, seed uint64) string {
	t.Helper()
	record, err := l.play(seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return record
}

// write writes the records of the histories of all seeds to a file.
func (l *lab) write(t *testing.T, name string) {
	var from, to uint64
	if _, err := fmt.Sscanf(os.Getenv(seedsVariable), "%d-%d", &from, &to); err != nil {
		t.Fatalf("%s: write two seeds, as 1-1000: %v", seedsVariable, err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for seed := from; seed <= to; seed++ {
		if _, err := f.WriteString(l.must(t, seed)); err != nil {
			t.Fatal(err)
		}
	}
}

// difference returns the first lines of two records that differ.
func difference(was, now string) string {
	a, b := strings.Split(was, "\n"), strings.Split(now, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines and %d lines", len(a), len(b))
}
