package read_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// recalled returns items of these sizes, with the sort keys a00, a01 and so on, the last one
// first.
func recalled(sizes ...int) *read.Recalled {
	r := &read.Recalled{TableOf: tableOf}
	for i := len(sizes) - 1; i >= 0; i-- {
		r.Images = append(r.Images,
			item.Image{
				Place: item.Place{Table: main, PK: Text("p"), SK: Text(fmt.Sprintf("a%02d", i))},
				Size:  sizes[i],
			})
	}
	return r
}

// Recalled items have the order, the pages and the cost of items that are read. A page ends with the
// item that takes it to 1 MB, and a batch before the item that would take it over 16 MB.
func TestRecalled(t *testing.T) {
	many := make([]int, 60)
	var each []selection.Range
	for i := range many {
		many[i] = 400_000
		each = append(each, one(fmt.Sprintf("a%02d", i)))
	}
	for _, c := range []struct {
		name     string
		sizes    []int
		ranges   []selection.Range
		requests int
		rcu      cost.Units
		answers  string
	}{
		{"nothing", nil, list(prefix("a")), 1, cost.Exactly(1), ""},
		{"an empty range", []int{1}, list(selection.Range{}), 1, cost.Exactly(1), "a00@1"},
		{"none", []int{1}, list(selection.Range{Kind: selection.None}), 0, cost.Units{}, ""},
		{"one", []int{5000}, list(one("a00")), 1, cost.Exactly(2), "a00@0"},
		{"one that is missing", nil, list(one("a00")), 1, cost.Exactly(1), ""},
		{
			"a batch",
			[]int{5000, 100},
			list(one("a01"), one("a00"), one("x"), one("a00")), 1, cost.Exactly(4),
			"a00@0 a01@0",
		},
		{"a batch over 16 MB", many, each, 2, cost.Exactly(60 * 98), "60"},
		{
			"pages",
			[]int{390_000, 390_000, 390_000, 100},
			list(prefix("a")), 2, cost.Exactly(286 + 1),
			"a00@1 a01@1 a02@1 a03@2",
		},
		{
			"a page of 1 MB",
			[]int{1 << 19, 1 << 19, 100},
			list(prefix("a")), 2, cost.Exactly(256 + 1),
			"a00@1 a01@1 a02@2",
		},
		{
			"a page of 1 MB that ends with the range",
			[]int{1 << 19, 1 << 19},
			list(prefix("a")), 1, cost.Exactly(256),
			"a00@1 a01@1",
		},
		{
			"an item in two ranges",
			[]int{5000},
			list(one("a00"), prefix("a"), prefix("a0")), 3, cost.Exactly(6),
			"a00@0",
		},
	} {
		for _, strong := range []bool{true, false} {
			var u read.Usage
			found, err := collect(context.Background(), recalled(c.sizes...), ranges(c.ranges...),
				read.Options{Strong: strong}, &u)
			want := c.rcu
			if !strong {
				want = want.Times(0.5)
			}
			if err != nil || u.Requests != c.requests || u.Predicted != want {
				t.Errorf("%s: %+v, want %d requests of %v", c.name, u, c.requests, want)
			}
			text := ""
			for i, f := range found {
				if i > 0 {
					text += " "
				}
				text += fmt.Sprintf("%s@%d", f.SK.Text, f.Answer)
			}
			if len(found) > 10 {
				text = fmt.Sprint(len(found))
			}
			if text != c.answers {
				t.Errorf("%s: found %s, want %s", c.name, text, c.answers)
			}
		}
	}
	for want, r := range map[string]*read.Recalled{
		"2 requests, 257": recalled(1<<19, 1<<19),
		"1 request, 1":    recalled(100),
	} {
		r.Trailing = true
		var u read.Usage
		if _, err := collect(context.Background(), r, ranges(prefix("a")), read.Options{Strong: true},
			&u); err != nil || !strings.HasPrefix(want, fmt.Sprint(u.Requests, " request")) ||
			!strings.HasSuffix(want, " "+u.Predicted.String()) {
			t.Errorf("%+v, want %s: %v", u, want, err)
		}
	}
	r := recalled(800_000, 300_000, 300_000)
	for reverse, want := range map[bool]string{false: "a00@1 a01@1 a02@2", true: "a02@1 a01@1 a00@1"} {
		found, err := collect(context.Background(), r, ranges(prefix("a")), read.Options{Reverse: reverse},
			&read.Usage{})
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s@%d", f.SK.Text, f.Answer))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%v: %s, want %s: %v", reverse, got, want, err)
		}
	}
	r = recalled(5000)
	var u read.Usage
	if f, err := r.One(context.Background(), r.Images[0].Place, read.Options{Strong: true}, &u); err != nil ||
		f.Size != 5000 || u.Requests != 1 || u.Predicted != cost.Exactly(2) {
		t.Errorf("%+v, %+v, %v", f, u, err)
	}
}

func list(all ...selection.Range) []selection.Range { return all }
