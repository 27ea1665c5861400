package write_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// things is a table that belongs to no model.
var things = &item.Table{Name: "things", Hash: "PK", Range: "SK"}

var versioned = item.Reserved{Version: "_v"}

// request returns a request of a kind for an item of some bytes.
func request(kind write.Kind, sk string, bytes int) *write.Request {
	r := &write.Request{
		Kind: kind, Place: item.Place{Table: things, PK: Text("p"), SK: Text(sk)}, Label: "Thing", Field: sk,
		Reserved: versioned, OldSize: bytes, NewSize: bytes,
	}
	switch kind {
	case write.Put:
		r.New, r.OldSize, r.Put, r.Expect.Absent = true, 0, r.Key(), true
	case write.Delete:
		r.NewSize = 0
	}
	return r
}

func put(sk string) *write.Request    { return request(write.Put, sk, 100) }
func update(sk string) *write.Request { return request(write.Update, sk, 100) }
func remove(sk string) *write.Request { return request(write.Delete, sk, 100) }
func check(sk string) *write.Request  { return request(write.Check, sk, 100) }

func root(r *write.Request) *write.Request {
	r.Root = true
	return r
}

func many(n, bytes int) []*write.Request {
	var all []*write.Request
	for i := range n {
		all = append(all, request(write.Update, fmt.Sprintf("I%03d", i), bytes))
	}
	return all
}

// shape describes a plan: its mode, and its steps with "+" between the requests of one and
// "!" behind one that is sent as a transaction.
func shape(p *write.Plan) string {
	var steps []string
	for _, st := range p.Steps {
		var names []string
		for _, r := range st.Requests {
			names = append(names, string(r.Kind)+" "+r.Field)
		}
		step := strings.Join(names, "+")
		if st.How == write.InTransaction {
			step += "!"
		}
		steps = append(steps, step)
	}
	return string(p.Mode) + ": " + strings.Join(steps, "; ")
}

// staging makes steps that show what they were made of.
func staging(requests []*write.Request) []write.Step {
	return []write.Step{{Requests: requests[:1], How: write.Each}, {Requests: requests[1:], How: write.Each}}
}

type (
	requests = []*write.Request
	choice   = write.Choice
)

// The mode, by the caller's choice and the requests. This table is the only definition.
func TestArrange(t *testing.T) {
	for _, c := range []struct {
		name             string
		requests, checks requests
		choice           choice
		want             string
	}{
		{"nothing", nil, nil, choice{}, "nothing: "},
		{
			"nothing, whatever is asked for", nil, nil,
			choice{Independent: true, Staged: true, ExactlyOnce: true, Steps: staging, Delete: true},
			"nothing: ",
		},
		{"checks alone write nothing", nil, requests{check("A")}, choice{}, "nothing: "},

		{"one", requests{update("A")}, nil, choice{}, "one: update A"},
		{"one, independent", requests{update("A")}, nil, choice{Independent: true}, "one: update A"},
		{"one, exactly once", requests{update("A")}, nil, choice{ExactlyOnce: true}, "transaction: update A!"},
		{"one insert, staged", requests{root(put("A"))}, nil, choice{Staged: true, Steps: staging}, "one: put A"},
		{"one that cannot be staged", requests{update("A")}, nil, choice{Staged: true}, "one: update A"},
		{"one with a check", requests{update("A")}, requests{check("B")}, choice{}, "transaction: update A+check B!"},

		{"several", requests{update("A"), put("B")}, nil, choice{}, "transaction: update A+put B!"},
		{
			"several, exactly once",
			requests{update("A"), put("B")},
			nil,
			choice{ExactlyOnce: true},
			"transaction: update A+put B!",
		},
		{
			"several with checks",
			requests{update("A"), put("B")},
			requests{check("C"), check("D")},
			choice{},
			"transaction: update A+put B+check C+check D!",
		},
		{
			"an insert that fits",
			requests{root(put("A")), put("B")},
			nil,
			choice{Steps: staging},
			"transaction: put A+put B!",
		},
		{
			"a delete that fits",
			requests{remove("B"), root(remove("A"))},
			nil,
			choice{Steps: staging, Delete: true},
			"transaction: delete B+delete A!",
		},

		{
			"independent: puts before deletes, in their order",
			requests{remove("A"), update("B"), put("C"), remove("D")},
			nil,
			choice{Independent: true},
			"independent: update B; put C; delete A; delete D",
		},
		{
			"one by one: an insert's root first",
			requests{put("A"), root(put("B")), put("C")},
			nil,
			choice{Independent: true, Steps: staging},
			"independent: put B; put A; put C",
		},
		{
			"one by one: an update's root in its order",
			requests{update("A"), root(update("B"))},
			nil,
			choice{Independent: true},
			"independent: update A; update B",
		},
		{
			"one by one: a root's delete last",
			requests{root(remove("A")), remove("B"), put("C")},
			nil,
			choice{Independent: true, Delete: true, Steps: staging},
			"independent: put C; delete B; delete A",
		},
		{
			"one by one, exactly once",
			requests{update("A"), update("B")},
			nil,
			choice{Independent: true, ExactlyOnce: true},
			"independent: update A!; update B!",
		},

		{
			"an insert, staged",
			requests{root(put("A")), put("B")},
			nil,
			choice{Staged: true, Steps: staging},
			"staged: put A; put B",
		},
		{
			"a delete, staged",
			requests{root(remove("A")), remove("B")},
			nil,
			choice{Staged: true, Delete: true, Steps: staging},
			"staged: delete A; delete B",
		},
		{
			"a delete of one item, staged",
			requests{root(remove("A"))},
			nil,
			choice{Staged: true, Delete: true, Steps: staging},
			"staged: delete A; ",
		},
		{
			"staged, and nothing to stage",
			requests{update("A"), update("B")},
			nil,
			choice{Staged: true},
			"transaction: update A+update B!",
		},
	} {
		p, err := write.Arrange(c.requests, c.checks, c.choice)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := shape(p); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Requests that do not fit a transaction are staged if possible. They are sent one by one if the caller
// requests it. Otherwise they are refused, and the error names the alternatives.
func TestArrangeTooMany(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests requests
		checks   requests
		choice   choice
		mode     write.Mode
		steps    int
		err      string
	}{
		{"a hundred items fit", many(100, 10), nil, choice{}, write.Transaction, 1, ""},
		{
			"one more does not", many(101, 10), nil,
			choice{},
			"", 0,
			"Thing: transaction too large: 101 items (limit 100), 1,010 bytes in all (limit 4 MB): save with " +
				"Independent, one by one, or save in parts",
		},
		{"one by one", many(101, 10), nil, choice{Independent: true}, write.OneByOne, 101, ""},
		{"staged by itself", many(101, 10), nil, choice{Steps: staging}, write.Staged, 2, ""},
		{
			"independent rather than staged", many(101, 10), nil,
			choice{Independent: true, Steps: staging},
			write.OneByOne, 101, "",
		},
		{"a delete", many(101, 10), nil, choice{Delete: true, Steps: staging}, write.Staged, 2, ""},
		{
			"a delete, exactly once", many(101, 10), nil,
			choice{Delete: true, ExactlyOnce: true, Steps: staging},
			"", 0,
			"Thing: transaction too large: 101 items (limit 100), 1,010 bytes in all (limit 4 MB): delete without " +
				"ExactlyOnce, or with Independent, one by one",
		},
		{
			"an insert, exactly once", many(101, 10), nil,
			choice{ExactlyOnce: true, Steps: staging},
			"", 0,
			"Thing: transaction too large: 101 items (limit 100), 1,010 bytes in all (limit 4 MB): insert without " +
				"ExactlyOnce, which stages it, or with Independent, one by one",
		},
		{
			"a mark that takes an item over the limit", many(2, 409_601), nil,
			choice{Staged: true, Steps: staging},
			"", 0,
			"Thing.I000: the item p I000 would have 409,601 bytes with the mark of a staged write (limit " +
				"400 KB): write with Independent, or make it smaller",
		},
		{
			"a move", many(101, 10), nil,
			choice{Move: true},
			"", 0,
			"Thing: transaction too large: 101 items (limit 100), 1,010 bytes in all (limit 4 MB): an entity " +
				"moves in one transaction: insert a copy under the new key, with Staged, and delete the old one",
		},
		{"4 MB fit", many(16, 4<<20/16), nil, choice{}, write.Transaction, 1, ""},
		{
			"more do not", many(16, 4<<20/16+1), nil,
			choice{},
			"", 0,
			"Thing: transaction too large: 16 items (limit 100), 4,194,320 bytes in all (limit 4 MB): save with " +
				"Independent, one by one, or save in parts",
		},
		{"more, staged by itself", many(16, 4<<20/16+1), nil, choice{Steps: staging}, write.Staged, 2, ""},
		{
			"with checks", many(60, 10), func() requests {
				all := many(41, 10)
				for _, r := range all {
					r.Kind = write.Check
				}
				return all
			}(),
			choice{},
			"", 0,
			"Thing: transaction too large: 101 items (limit 100), 1,010 bytes in all (limit 4 MB): load less, so " +
				"that fewer items are checked, or save without CheckLoaded",
		},
	} {
		p, err := write.Arrange(c.requests, c.checks, c.choice)
		if text := fmt.Sprint(err); c.err == "" && err != nil || c.err != "" && text != c.err {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p != nil && (p.Mode != c.mode || len(p.Steps) != c.steps) {
			t.Errorf("%s: %s in %d steps, want %s in %d", c.name, p.Mode, len(p.Steps), c.mode, c.steps)
		}
	}
}

// Every write of an item with versions gets a new one, each its own; checks, deletes and
// items without versions get none.
func TestArrangeGivesVersions(t *testing.T) {
	a, b, d, k, plain := put("A"), update("B"), remove("D"), check("K"), put("P")
	plain.Reserved = item.Reserved{}
	if _, err := write.Arrange(requests{a, b, d, plain}, requests{k}, choice{}); err != nil {
		t.Fatal(err)
	}
	if a.Token == nil || b.Token == nil || Show(a.Token) == Show(b.Token) {
		t.Errorf("the put has %v, the update %v", a.Token, b.Token)
	}
	if d.Token != nil || k.Token != nil || plain.Token != nil {
		t.Errorf("the delete has %v, the check %v, the plain item %v", d.Token, k.Token, plain.Token)
	}
	first := Show(a.Token)
	if _, err := write.Arrange(requests{a}, nil, choice{}); err != nil || Show(a.Token) == first {
		t.Errorf("arranged again, the version is the same: %v", err)
	}
}

// The price of a request follows the sizes before and after, with bounds where an unread
// item may be there.
func TestUnits(t *testing.T) {
	sized := func(kind write.Kind, old, now int, unread bool) *write.Request {
		return &write.Request{
			Kind: kind, Place: item.Place{Table: &item.Table{Hash: "PK"}}, OldSize: old, NewSize: now,
			Unread: unread,
		}
	}
	guarded := func(r *write.Request, e write.Expect) *write.Request {
		r.Expect = e
		return r
	}
	absent := func(r *write.Request) *write.Request { return guarded(r, write.Expect{Absent: true}) }
	likely := func(r *write.Request, bytes int) *write.Request {
		r.Likely = bytes
		return r
	}
	old := func(bytes int) *write.Old {
		return &write.Old{Values: []item.Assignment{{Name: "a", Value: S(strings.Repeat("x", bytes))}}}
	}
	for _, c := range []struct {
		name string
		r    *write.Request
		want string
	}{
		{"a small put", sized(write.Put, 0, 100, false), "1"},
		{"a put of 1 KB", sized(write.Put, 0, 1024, false), "1"},
		{"a put of more", sized(write.Put, 0, 1025, false), "2"},
		{"a put in place of a larger item", sized(write.Put, 5000, 100, false), "5"},
		{"an update that shrinks", sized(write.Update, 3000, 100, false), "3"},
		{"an update that grows", sized(write.Update, 100, 3000, false), "3"},
		{"a delete", sized(write.Delete, 3000, 0, false), "3"},
		{"a delete unread", sized(write.Delete, 0, 0, true), "1 (up to 400 if the item is larger)"},
		{"a put over what is there", sized(write.Put, 0, 2000, true), "2 (up to 400 if the item is larger)"},
		{
			"an update whose item is likely to be larger", likely(sized(write.Update, 0, 100, true), 9000),
			"9 (1 to 400 if the item is larger)",
		},
		{
			"a put where something expired may be", absent(sized(write.Put, 0, 2000, true)),
			"2 (up to 400 if an expired item has the same key)",
		},
		{"a put in place of leftovers that may go", absent(sized(write.Put, 5000, 2000, false)), "5 (at least 2)"},
		{"a check", sized(write.Check, 3000, 3000, false), "3"},
		{"an update of a version", guarded(sized(write.Update, 5000, 5000, false), write.Expect{Version: B("v")}), "5"},
		{
			"one of old values", guarded(sized(write.Update, 5000, 5100, false), write.Expect{Old: old(3000)}),
			"5 (3 to 400 if other writers enlarged the item)",
		},
		{
			"a put of old values", guarded(sized(write.Put, 3000, 5000, false), write.Expect{Old: old(2900)}),
			"5 (up to 400 if other writers enlarged the item)",
		},
		{
			"a delete of old values", guarded(sized(write.Delete, 3000, 0, false), write.Expect{Old: old(2900)}),
			"3 (up to 400 if other writers enlarged the item)",
		},
	} {
		if got := c.r.Units().String(); got != c.want {
			t.Errorf("%s costs %s, want %s", c.name, got, c.want)
		}
	}
}

// A plan's calls, items and price are those of its steps: a transaction is one call at the
// double price.
func TestPlanPrices(t *testing.T) {
	all := func() requests { return requests{put("A"), request(write.Update, "B", 2000), remove("C")} }
	for _, c := range []struct {
		name   string
		choice choice
		calls  int
		wcu    string
		items  string
	}{
		{"together", choice{}, 1, "8", "A 2, B 4, C 2"},
		{"one by one", choice{Independent: true}, 3, "4", "A 1, B 2, C 1"},
		{"each a transaction", choice{Independent: true, ExactlyOnce: true}, 3, "8", "A 2, B 4, C 2"},
		{"staged", choice{Staged: true, Steps: staging}, 3, "4", "A 1, B 2, C 1"},
	} {
		p, err := write.Arrange(all(), nil, c.choice)
		if err != nil {
			t.Fatal(err)
		}
		var items []string
		p.Items(func(r *write.Request, wcu cost.Units) { items = append(items, r.Field+" "+wcu.String()) })
		if got := strings.Join(items, ", "); p.Calls() != c.calls || p.Units().String() != c.wcu || got != c.items {
			t.Errorf("%s: %d calls, %s WCU: %s", c.name, p.Calls(), p.Units(), got)
		}
	}
}

// The alternatives of a plan are the modes that it is not sent in and could be, with their
// calls and prices.
func TestAlternatives(t *testing.T) {
	two := requests{put("A"), request(write.Update, "B", 2000)}
	staged := func(all []*write.Request) write.Alternative {
		return write.Alternative{Mode: write.Staged, Calls: len(all) + 1, WCU: cost.Exactly(7)}
	}
	for _, c := range []struct {
		name     string
		mode     write.Mode
		requests requests
		staged   func([]*write.Request) write.Alternative
		want     []write.Alternative
	}{
		{"one request has none", write.One, requests{put("A")}, staged, nil},
		{
			"a transaction", write.Transaction, two, nil,
			[]write.Alternative{{Mode: write.OneByOne, Calls: 2, WCU: cost.Exactly(3)}},
		},
		{
			"one by one", write.OneByOne, two, nil,
			[]write.Alternative{{Mode: write.Transaction, Calls: 1, WCU: cost.Exactly(6)}},
		},
		{
			"an insert", write.Transaction, two, staged,
			[]write.Alternative{{Mode: write.OneByOne, Calls: 2, WCU: cost.Exactly(3)}, staged(two)},
		},
		{"a staged insert", write.Staged, two, staged, []write.Alternative{
			{Mode: write.OneByOne, Calls: 2, WCU: cost.Exactly(3)}, {
				Mode: write.Transaction, Calls: 1,
				WCU: cost.Exactly(6),
			},
		}},
		{"too many for a transaction", write.OneByOne, many(101, 10), nil, nil},
	} {
		if diff := cmp.Diff(c.want, write.Alternatives(c.mode, c.requests, c.staged)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Plans show the attributes that a request changes, in order, or those that it was given to show. No
// plan shows that the mark of a staged insert is removed.
func TestAttributes(t *testing.T) {
	r := update("A")
	r.Set = []item.Assignment{{Name: "z", Value: S("1")}, {Name: "b", Value: S("1")}}
	r.Remove = []item.Assignment{{Name: "c"}, item.Reserved{}.DropMark()}
	r.Operations = []item.Operation{{Op: item.OpIncrement, Path: []string{"a"}, Value: N("1")}}
	if got := strings.Join(r.Attributes(), " "); got != "a b c z" {
		t.Errorf("shown: %s", got)
	}
	r.Shown = []string{"y", "x"}
	if got := strings.Join(r.Attributes(), " "); got != "x y" || r.Shown[0] != "y" {
		t.Errorf("shown: %s, and the request's own %v", got, r.Shown)
	}
}
