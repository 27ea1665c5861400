package patterns

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/bench/store"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

var (
	ann = store.Driver{ID: "ann", Name: "Ann", Email: "ann@example.com", Phone: "+352 1"}
	bob = store.Driver{ID: "bob", Name: "Bob", Email: "ann@example.com", Phone: "+352 2"}
	eve = store.Driver{ID: "eve", Name: "Eve", Email: "eve@example.com", Phone: "+352 1"}
)

// trips returns open trips of ann: the first has the events, each of the others starts 10 hours later.
func trips(n, events int) []store.Trip {
	all := make([]store.Trip, n)
	for i := range all {
		started := time.Date(2026, time.October, 31, 20, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10 * time.Hour)
		all[i] = store.Trip{ID: fmt.Sprint("t", i), Driver: "ann", State: "open", Started: started, Fare: i}
	}
	for i := range events {
		at := all[0].Started.Add(time.Duration(i) * time.Minute)
		all[0].Events = append(all[0].Events, store.Event{At: at, Kind: "position", Note: strings.Repeat("x", 100)})
	}
	return all
}

// Each library stores the same items and reads the same values, apart from versions and incarnations.
func TestPatternsStoreAndReadTheSame(t *testing.T) {
	opened := trips(8, 5)
	var wantItems, wantRead any
	for _, l := range ledgers(t) {
		expect := func(what string, got, want error) {
			if !errors.Is(got, want) {
				t.Errorf("%s: %s: %v, want %v", l.file, what, got, want)
			}
		}
		expect("a new driver", l.Register(ann), nil)
		expect("a driver that exists", l.Register(ann), ErrTaken)
		expect("an e-mail address that is taken", l.Register(bob), ErrTaken)
		expect("a phone number that is taken", l.Register(eve), ErrTaken)
		for _, trip := range opened {
			expect("a trip", l.Open(trip), nil)
		}
		expect("an open trip", l.Finish("t1", 30), nil)
		expect("a closed trip", l.Finish("t1", 31), ErrNotOpen)
		expect("no trip", l.Finish("t9", 31), ErrNotOpen)
		var read []any
		cursor := ""
		for {
			events, next, err := l.Events("t0", 2, cursor)
			expect("a page", err, nil)
			read = append(read, len(events), events)
			if cursor = next; cursor == "" || err != nil {
				break
			}
		}
		month, err := l.Month("ann", 2026, time.November)
		expect("a month", err, nil)
		items := stored(t, l)
		if wantItems == nil {
			wantItems, wantRead = items, append(read, month)
			if len(month) != 7 || len(items) != 3+8+5 || month[0].State != "closed" || month[0].Fare != 30 {
				t.Errorf("%s: %d trips in November, %d items, %v", l.file, len(month), len(items), month[0])
			}
			continue
		}
		if d := gocmp.Diff(wantRead, any(append(read, month))); d != "" {
			t.Errorf("%s reads other values than itemize: %s", l.file, d)
		}
		if d := gocmp.Diff(wantItems, any(items)); d != "" {
			t.Errorf("%s stores other items than itemize: %s", l.file, d)
		}
	}
}

// A trip that was loaded before it was finished cannot be saved over the finished one.
func TestSaveAfterFinishIsAConflict(t *testing.T) {
	l := ledgers(t)[0]
	if err := l.Open(trips(1, 0)[0]); err != nil {
		t.Fatal(err)
	}
	own, err := mapper.New[store.Trip](testengine.Start(t).Client(), mapper.Table(l.table))
	if err != nil {
		t.Fatal(err)
	}
	trip, err := own.Load(t.Context(), store.TripByID("t0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Finish("t0", 30); err != nil {
		t.Fatal(err)
	}
	trip.Value.Fare = 31
	var conflict *mapper.ConflictError
	if _, err := own.Save(t.Context(), trip); !errors.As(err, &conflict) {
		t.Errorf("saving the trip after it was finished: %v", err)
	}
}

// stored returns the items of a ledger's table without the attributes _v and _a.
func stored(t *testing.T, l *ledger) []map[string]string {
	t.Helper()
	out, err := testengine.Start(t).Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: &l.table})
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, item := range out.Items {
		delete(item, "_v")
		delete(item, "_a")
		text := map[string]string{}
		for name, v := range item {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				text[name] = v.Value
			case *types.AttributeValueMemberN:
				text[name] = "N " + v.Value
			default:
				t.Errorf("%s: %s is a %T", l.file, name, v)
			}
		}
		all = append(all, text)
	}
	slices.SortFunc(all, func(a, b map[string]string) int {
		return cmp.Or(cmp.Compare(a["PK"], b["PK"]), cmp.Compare(a["SK"], b["SK"]))
	})
	return all
}

// docs/comparison.md has the lines, requests and units of the patterns as they are counted here.
func TestComparisonHasCountsOfPatterns(t *testing.T) {
	rows := []struct{ name, method string }{
		{"register with two claims", "Register"},
		{"finish if open", "Finish"},
		{"a page of 50 events", "Events"},
		{"a month by the index, 72 trips", "Month"},
		{"types, constructor, helpers", ""},
	}
	testengine.Need(t, testengine.Capacity)
	cells := make([][]string, len(rows))
	var all []string
	opened := trips(80, 60)
	for _, l := range ledgers(t) {
		lines := linesOf(t, l.file)
		for _, trip := range opened {
			if err := l.Open(trip); err != nil {
				t.Fatal(err)
			}
		}
		run := map[string]func() error{
			"Register": func() error { return l.Register(ann) },
			"Finish":   func() error { return l.Finish("t0", 30) },
			"Events":   func() error { _, _, err := l.Events("t0", 50, ""); return err },
			"Month":    func() error { _, err := l.Month("ann", 2026, time.November); return err },
		}
		sum := 0
		for i, row := range rows {
			sum += lines[row.method]
			cell := fmt.Sprint(lines[row.method])
			if row.method != "" {
				cell += ", " + requests(t, l, row.method, run[row.method])
			}
			cells[i] = append(cells[i], cell)
		}
		all = append(all, fmt.Sprint(sum))
	}
	var b strings.Builder
	b.WriteString("| lines, requests, units | itemize | guregu/dynamo | SDK |\n|---|---|---|---|\n")
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row.name, strings.Join(cells[i], " | "))
	}
	fmt.Fprintf(&b, "| all lines | %s |\n", strings.Join(all, " | "))
	page, err := os.ReadFile("../../../docs/comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), b.String()) {
		t.Errorf("docs/comparison.md does not have this table:\n%s", b.String())
	}
}

// requests runs a pattern and returns its requests and units.
func requests(t *testing.T, l *ledger, method string, run func() error) string {
	t.Helper()
	l.counted.Set(Count)
	err := run()
	l.counted.Set(Pass)
	if err != nil {
		t.Fatalf("%s: %s: %v", l.file, method, err)
	}
	c := l.counted.Counts
	if method == "Register" && !testengine.ReportsTransactions(t) {
		c.WCU = 6 // three items of less than 1 KB, two units for each
	}
	text := fmt.Sprint(c.Requests, " request")
	if c.WCU != 0 {
		return text + fmt.Sprintf(", %g WCU", c.WCU)
	}
	return text + fmt.Sprintf(", %g RCU", c.RCU)
}

// linesOf counts the lines of code of each method in a file: without blank lines and comments. "" has the rest, with
// the types in the file of the items or of the model, and without imports.
func linesOf(t *testing.T, file string) map[string]int {
	t.Helper()
	items := "items.go"
	if file == "itemize.go" {
		items = "../store/ledgers.go"
	}
	lines := map[string]int{}
	for _, path := range []string{file, items} {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		code := codeLines(src)
		for _, d := range parsed.Decls {
			name := ""
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				name = f.Name.Name
			}
			for line := files.Position(d.Pos()).Line; line <= files.Position(d.End()).Line; line++ {
				if code[line] {
					lines[name]++
				}
			}
		}
	}
	methods := slices.Sorted(maps.Keys(lines))
	if !slices.Equal(methods, []string{"", "Events", "Finish", "Month", "Register"}) {
		t.Errorf("%s has the methods %q", file, methods)
	}
	return lines
}

// codeLines returns the lines of a source that have code.
func codeLines(src []byte) map[int]bool {
	files := token.NewFileSet()
	f := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(f, src, nil, 0)
	code := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return code
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := files.Position(pos).Line
		for line := first; line <= first+bytes.Count([]byte(text), []byte("\n")); line++ {
			code[line] = true
		}
	}
}
