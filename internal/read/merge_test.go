package read_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/testing/draws"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

var main, side = &item.Table{Name: "main", Hash: "PK", Range: "SK"}, &item.Table{
	Name: "side", Hash: "PK", Range: "SK",
	Index: 1,
}

// memory is a source of items that are in memory, which is no DynamoDB: each part is given
// out in pages of some size.
type memory struct {
	tables []*item.Table
	keys   [][]string // of each table
	size   int        // of a page
	// passes is a filter: pages have the items that pass it, so they may be empty.
	passes func(sk string) bool
	// fails is the error that the part with that index ends with, after its first page.
	fails map[int]error

	pulled, ended int   // pages and sequences
	ahead         []int // how many items each part has given out
}

func (m *memory) Ranges(_ context.Context, parts []selection.Part, o read.Options,
	u *read.Usage,
) []iter.Seq2[read.Page, error] {
	m.ahead = make([]int, len(parts))
	var all []iter.Seq2[read.Page, error]
	for i, p := range parts {
		all = append(all, func(yield func(read.Page, error) bool) {
			defer func() { m.ended++ }()
			m.part(i, p, o, u, yield)
		})
	}
	return all
}

func (m *memory) part(i int, p selection.Part, o read.Options, u *read.Usage, yield func(read.Page, error) bool) {
	var found []item.Image
	for _, sk := range m.keys[p.Table] {
		if at := (item.Place{Table: m.tables[p.Table], PK: p.PK, SK: Text(sk)}); p.Range.Contains(at.SK) {
			found = append(found, item.Image{Place: at})
		}
	}
	slices.SortFunc(found, func(a, b item.Image) int { return cmp.Compare(a.SK.Text, b.SK.Text) })
	if o.Reverse {
		slices.Reverse(found)
	}
	for {
		n := min(m.size, len(found))
		page := read.Page{Items: slices.Clone(found[:n]), More: n < len(found)}
		if page.More {
			page.Last = found[n-1].SK
		}
		if m.passes != nil {
			page.Items = slices.DeleteFunc(page.Items, func(i item.Image) bool { return !m.passes(i.SK.Text) })
		}
		found = found[n:]
		m.pulled++
		u.Requests++
		m.ahead[i] += n
		if !yield(page, nil) {
			return
		}
		if err := m.fails[i]; err != nil {
			yield(read.Page{}, err)
			return
		}
		if !page.More {
			return
		}
	}
}

func ranges(all ...selection.Range) []selection.Part {
	var parts []selection.Part
	for _, r := range all {
		parts = append(parts, selection.Part{Partition: In(Text("p")), Range: r})
	}
	return parts
}

func prefix(text string) selection.Range {
	return selection.Range{Kind: selection.Prefix, Low: Text(text)}
}

func between(low, high string) selection.Range {
	return selection.Range{Kind: selection.Between, Low: Text(low), High: Text(high)}
}

func one(sk string) selection.Range { return selection.Range{Kind: selection.One, Low: Text(sk)} }

// keysOf returns the sort keys of pages, and the error that they end with.
func keysOf(pages iter.Seq2[read.Page, error]) (string, error) {
	var all []string
	for page, err := range pages {
		if err != nil {
			return strings.Join(all, " "), err
		}
		for _, f := range page.Items {
			all = append(all, f.SK.Text)
		}
	}
	return strings.Join(all, " "), nil
}

// Ranges are merged in the order of the sort keys, in both directions, an item that is
// in several of them once.
func TestMerged(t *testing.T) {
	keys := [][]string{{"a1", "a2", "a3", "b1", "b2", "c1", "c2"}}
	for _, c := range []struct {
		name   string
		ranges []selection.Range
		want   string
	}{
		{"none", nil, ""},
		{"one", []selection.Range{prefix("a")}, "a1 a2 a3"},
		{"side by side", []selection.Range{prefix("c"), prefix("a")}, "a1 a2 a3 c1 c2"},
		{"overlapping", []selection.Range{prefix("a"), between("a2", "b1"), prefix("b")}, "a1 a2 a3 b1 b2"},
		{"the same thrice", []selection.Range{prefix("b"), prefix("b"), prefix("b")}, "b1 b2"},
		{
			"one inside another",
			[]selection.Range{{Kind: selection.All}, prefix("b"), one("c1")},
			"a1 a2 a3 b1 b2 c1 c2",
		},
		{"empty ones", []selection.Range{prefix("x"), prefix("b"), prefix("y")}, "b1 b2"},
		{"all empty", []selection.Range{prefix("x"), prefix("y")}, ""},
	} {
		for size := 1; size < 5; size++ {
			for _, reverse := range []bool{false, true} {
				src := &memory{tables: []*item.Table{main}, keys: keys, size: size}
				got, err := keysOf(read.Merged(context.Background(), src, ranges(c.ranges...),
					read.Options{Reverse: reverse}, &read.Usage{}))
				want := strings.Fields(c.want)
				if reverse {
					slices.Reverse(want)
				}
				if err != nil || got != strings.Join(want, " ") {
					t.Errorf("%s, pages of %d, reverse %v: %s %v", c.name, size, reverse, got, err)
				}
				if src.ended != len(c.ranges) {
					t.Errorf("%s, pages of %d: %d of %d ranges have ended", c.name, size, src.ended, len(c.ranges))
				}
			}
		}
	}
}

// Merging gives the items of all ranges, sorted and without duplicates, and each page says whether
// there are more and where. This holds for any ranges and pages.
func TestMergedAtRandom(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	letter := func() string { return string(rune('a' + r.IntN(6))) }
	for range 300 {
		src := &memory{tables: []*item.Table{main}, keys: [][]string{nil}, size: 1 + r.IntN(4)}
		for range r.IntN(20) {
			if sk := letter() + letter(); !slices.Contains(src.keys[0], sk) {
				src.keys[0] = append(src.keys[0], sk)
			}
		}
		var all []selection.Range
		for range 1 + r.IntN(5) {
			all = append(all,
				[]selection.Range{prefix(letter()), between(letter(), letter()), one(letter() + letter())}[r.IntN(3)])
		}
		o := read.Options{Reverse: r.IntN(2) == 0}
		var want, got []string
		for _, sk := range src.keys[0] {
			if slices.ContainsFunc(all, func(x selection.Range) bool { return x.Contains(Text(sk)) }) {
				want = append(want, sk)
			}
		}
		slices.Sort(want)
		if o.Reverse {
			slices.Reverse(want)
		}
		more := true
		for page, err := range read.Merged(context.Background(), src, ranges(all...), o, &read.Usage{}) {
			if err != nil || !more {
				t.Fatalf("seed %d: more %v, %v", seed, more, err)
			}
			for _, f := range page.Items {
				got = append(got, f.SK.Text)
			}
			if more = page.More; more && len(page.Items) > 0 && page.Last.Text != got[len(got)-1] {
				t.Fatalf("seed %d: %s is the last, and %s is said to be", seed, got[len(got)-1], page.Last)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v of %v\n got %v\nwant %v", seed, all, src.keys, got, want)
		}
	}
}

// Items of two tables with one sort key are two items.
func TestMergedTables(t *testing.T) {
	src := &memory{tables: []*item.Table{main, side}, keys: [][]string{{"a", "b"}, {"a", "c"}}, size: 1}
	parts := []selection.Part{{Table: 0, Partition: In(Text("p"))}, {Table: 1, Partition: In(Text("p"))}}
	if got, err := keysOf(read.Merged(context.Background(), src, parts, read.Options{}, &read.Usage{})); err != nil ||
		got != "a a b c" {
		t.Errorf("%s %v", got, err)
	}
	// A third range, over what the first one holds, adds nothing.
	parts = append(parts, selection.Part{Table: 0, Partition: In(Text("p")), Range: prefix("a")})
	if got, err := keysOf(read.Merged(context.Background(), src, parts, read.Options{}, &read.Usage{})); err != nil ||
		got != "a a b c" {
		t.Errorf("%s %v", got, err)
	}
}

// A page of which no item passes the filter does not end its range, and does not change the order.
func TestMergedReadsBehindFilteredPages(t *testing.T) {
	keys := [][]string{{"a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"}}
	for _, c := range []struct {
		passes string
		want   string
	}{
		{"a4 b4", "a4 b4"}, {"a4", "a4"}, {"b4", "b4"}, {"a1 b4", "a1 b4"}, {"a1 a4 b3", "a1 a4 b3"}, {"", ""},
	} {
		for size := 1; size < 4; size++ {
			for _, all := range [][]selection.Part{
				ranges(prefix("a"), prefix("b")), ranges(prefix("a"), prefix("x")),
				ranges(prefix("b"), prefix("x")),
			} {
				src := &memory{
					tables: []*item.Table{main}, keys: keys, size: size,
					passes: func(sk string) bool { return strings.Contains(c.passes, sk) },
				}
				var want []string
				for _, sk := range strings.Fields(c.want) {
					if slices.ContainsFunc(all, func(p selection.Part) bool { return p.Range.Contains(Text(sk)) }) {
						want = append(want, sk)
					}
				}
				got, err := keysOf(read.Merged(context.Background(), src, all, read.Options{}, &read.Usage{}))
				if err != nil || got != strings.Join(want, " ") {
					t.Errorf("%q pass in pages of %d: %s, want %v: %v", c.passes, size, got, want, err)
				}
			}
		}
	}
}

// Merging holds a page of each range in memory: nothing is read before it is needed.
func TestMergedReadsAsNeeded(t *testing.T) {
	var keys []string
	for _, a := range "ab" {
		for _, b := range "0123456789" {
			keys = append(keys, string(a)+string(b))
		}
	}
	src := &memory{tables: []*item.Table{main}, keys: [][]string{keys}, size: 3}
	yielded := [2]int{}
	for page, err := range read.Merged(context.Background(), src, ranges(prefix("a"), prefix("b")), read.Options{},
		&read.Usage{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Items {
			yielded[f.SK.Text[0]-'a']++
		}
		for i, n := range src.ahead {
			if ahead := n - yielded[i]; ahead > src.size {
				t.Fatalf("%d items of the range %d are in memory", ahead, i)
			}
		}
	}
	if yielded != [2]int{10, 10} {
		t.Errorf("yielded %v", yielded)
	}
}

// Ending early ends every range, and reads no further.
func TestMergedEndsEarly(t *testing.T) {
	src := &memory{tables: []*item.Table{main}, keys: [][]string{{"a1", "a2", "a3", "b1", "b2", "c1"}}, size: 1}
	for range read.Merged(context.Background(), src, ranges(prefix("a"), prefix("b"), prefix("c")), read.Options{},
		&read.Usage{}) {
		break
	}
	if src.ended != 3 || src.pulled != 3 {
		t.Errorf("%d ranges have ended, %d pages were read", src.ended, src.pulled)
	}
}

// An error of one range ends the whole, after the items before it in order, and ends the other ranges.
func TestMergedErrors(t *testing.T) {
	broken := errors.New("broken")
	src := &memory{
		tables: []*item.Table{main}, keys: [][]string{{"a1", "a2", "b1", "b2"}}, size: 1,
		fails: map[int]error{1: broken},
	}
	got, err := keysOf(read.Merged(context.Background(), src, ranges(prefix("a"), prefix("b")), read.Options{},
		&read.Usage{}))
	if !errors.Is(err, broken) || got != "a1 a2 b1" || src.ended != 2 {
		t.Errorf("%s %v, %d ranges have ended", got, err, src.ended)
	}
}

// Pages come range by range, each item with the first that holds it.
func TestPages(t *testing.T) {
	for size := 1; size < 4; size++ {
		src := &memory{tables: []*item.Table{main}, keys: [][]string{{"a1", "a2", "b1", "b2", "c1"}}, size: size}
		got, err := keysOf(read.Pages(context.Background(), src, ranges(prefix("b"), between("a2", "c1"), prefix("a")),
			read.Options{}, &read.Usage{}))
		if err != nil || got != "b1 b2 a2 c1 a1" {
			t.Errorf("pages of %d: %s %v", size, got, err)
		}
	}
	broken := errors.New("broken")
	src := &memory{
		tables: []*item.Table{main}, keys: [][]string{{"a1", "b1"}}, size: 1,
		fails: map[int]error{0: broken},
	}
	if got, err := keysOf(read.Pages(context.Background(), src, ranges(prefix("a"), prefix("b")), read.Options{},
		&read.Usage{})); !errors.Is(err, broken) || got != "a1" {
		t.Errorf("%s %v", got, err)
	}
}

// Collect returns the items of all ranges, or none with an error; a source need not be
// DynamoDB.
func TestCollect(t *testing.T) {
	src := &memory{tables: []*item.Table{main}, keys: [][]string{{"a1", "a2", "b1"}}, size: 1}
	var u read.Usage
	found, err := collect(context.Background(), src, ranges(prefix("a"), prefix("b"), one("a1")), read.Options{}, &u)
	if err != nil || len(found) != 3 || u.Requests != 4 {
		t.Errorf("%d items with %d requests: %v", len(found), u.Requests, err)
	}
	src.fails = map[int]error{2: errors.New("broken")}
	if found, err = collect(context.Background(), src, ranges(prefix("a"), prefix("b"), one("a1")), read.Options{},
		&u); err == nil || found != nil {
		t.Errorf("%d items: %v", len(found), err)
	}
	if found, err = collect(context.Background(), src, nil, read.Options{}, &u); err != nil || len(found) != 0 {
		t.Errorf("of nothing: %v, %v", found, err)
	}
}

// collect returns all items of the parts.
func collect(ctx context.Context, src read.Source, parts []selection.Part, o read.Options,
	u *read.Usage,
) (all []item.Image, err error) {
	for page, err := range read.Pages(ctx, src, parts, o, u) {
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
	}
	return all, nil
}
