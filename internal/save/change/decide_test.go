package change

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
)

// eachCombination calls f with each state and demand.
func eachCombination(f func(state, demand)) {
	for s := isUnread; s <= isLeftover; s++ {
		for d := toAdd; d <= toCheckRoot; d++ {
			f(s, d)
			f(s|asRead, d)
		}
	}
}

// Each combination of knowledge and demand is in one row: of the decisions, or of the reasons why it cannot occur.
func TestEachCombinationHasOneRow(t *testing.T) {
	eachCombination(func(s state, d demand) {
		var rows []string
		for _, row := range decisions {
			if slices.Contains(row.states, s) && slices.Contains(row.demands, d) {
				rows = append(rows, row.rule)
			}
		}
		for _, row := range impossible {
			if slices.Contains(row.states, s) && slices.Contains(row.demands, d) {
				rows = append(rows, row.reason)
			}
		}
		if len(rows) != 1 {
			t.Errorf("%s, to %s: %q", s, d, rows)
		}
	})
}

// hut has items of all demands. The items expire with the root item, and one has an index key of the entity's key.
type hut struct {
	_     struct{}          `ddb:"table=huts,ttl=expires"`
	_     struct{}          `ddb:"index=byID,hash=GPK,pk=G#{ID},on=NOTE"`
	ID    string            `ddb:"pk=H#{ID}"`
	Name  string            `ddb:"sk=HEAD,root"`
	Until time.Time         `ddb:"sk=HEAD,ttl,all"`
	Log   []string          `ddb:"sk=HEAD"`
	Notes []string          `ddb:"sk=NOTE"`
	Parts []fakedynamo.Note `ddb:"sk=PART#{N:02}"`
}

var (
	liveNow = fakedynamo.B("live")
	dead    = &item.Hidden{
		Size: 99, Header: item.Header{Version: fakedynamo.B("old"), Incarnation: fakedynamo.B("dead")},
	}
)

// decided returns the item of a patch that has this demand and this knowledge.
func decided(t *testing.T, s state, d demand) *PatchItem {
	t.Helper()
	m := fakedynamo.Of[hut](t)
	element := expr.Change{Kind: expr.Add, Item: len(m.Schema.Items) - 1, Record: &fakedynamo.Note{N: 1}}
	name := "Notes"
	if d >= toUpdateRoot {
		name = "Log"
	}
	list := expr.Change{
		Kind: expr.Append, Item: expr.OfField, Field: expr.Field{{Name: name, Attribute: name}},
		Value: &types.AttributeValueMemberL{}, Upsert: d == toUpsertRoot,
	}
	all := []expr.Change{list}
	switch d {
	case toAdd, toReplace, toRemove:
		all[0] = element
		all[0].Kind = map[demand]expr.Kind{toAdd: expr.Add, toReplace: expr.Put, toRemove: expr.RemoveElement}[d]
	case toUpdateRoot, toUpsertRoot, toCheckRoot:
		all = append(all, element)
	}
	x, err := NewPatch(m, m.Select([]any{"1"}), all)
	if err != nil {
		t.Fatal(err)
	}
	if d == toCreate {
		x.RequireItems()
	}
	ch := x.Items[0]
	if ch.demand = d; d == toCheck || d == toCheckEither || d == toCheckRoot {
		ch.basis.kind = write.Check
	}
	x.expiry = fakedynamo.N("1800000000")
	k := knowledge{state: s, incarnation: liveNow}
	switch s &^ asRead {
	case isUnread:
		k.incarnation = nil
	case isBound, isMissing:
		x.bound, x.live = true, liveNow
	case isLeftover:
		k.leftover = dead
	}
	if s&asRead != 0 {
		k.read = &rewriting{set: []item.Assignment{{Name: name, Value: &types.AttributeValueMemberL{}}}}
		if s&^asRead != isMissing {
			k.read.stored = item.Attributes{"PK": fakedynamo.S("H#1"), "_v": fakedynamo.B("seen")}
		}
	}
	ch.learn(k)
	return ch
}

// A request has the conditions that its row names, and no other ones.
func TestConditionsFollowTheTable(t *testing.T) {
	const (
		unexpired = "(attribute_not_exists(expires) OR expires > 1700000000 OR expires = -62135596800)"
		free      = "attribute_not_exists(PK) OR expires <= 1699999100 AND expires <> -62135596800"
		alive     = "(attribute_not_exists(_s) OR _s.state = 'live')"
		isOwn     = "(attribute_not_exists(_a) OR _a = b'live')"
	)
	before := map[need]string{
		exists: "attribute_exists(PK) AND " + unexpired, isNone: "attribute_not_exists(PK)", isSame: "_v = b'seen'",
		isSameNone: "(" + free + ") AND attribute_not_exists(PK)",
	}
	of := map[origin]string{
		unstaged: "attribute_not_exists(_s)", ofLikely: "attribute_not_exists(_s) AND " + isOwn, ofLive: "_a = b'live'",
		ofOwn: isOwn, liveRoot: alive, liveRootOf: alive + " AND _a = b'live'",
		inheritable: alive + " AND _a = b'live'",
	}
	after := map[need]string{existsOrNot: unexpired, isSame: unexpired}
	eachCombination(func(s state, d demand) {
		row := decide(s, d)
		if row == nil {
			return
		}
		ch := decided(t, s, d)
		want := []string{before[row.item], of[row.entity], after[row.item]}
		if len(ch.Operations) > 0 {
			want = append(want, "(attribute_not_exists("+ch.Operations[0].Path[0]+") OR attribute_type("+
				ch.Operations[0].Path[0]+", 'L'))")
		}
		if row.entity == inheritable {
			want = append(want, "expires = 1800000000")
		}
		if row.item == isSameNone && ch.Root {
			want[0] = "(" + free + " AND NOT _s.state = 'rollingback') AND attribute_not_exists(PK)"
		}
		switch row.item {
		case isAbsent:
			want = []string{free}
		case isReplaceable:
			want = []string{free + " OR _v = b'old'"}
		}
		want = slices.DeleteFunc(want, func(text string) bool { return text == "" })
		if got := conditionOf(t, &ch.Request); got != strings.Join(want, " AND ") {
			t.Errorf("%s, to %s:\n got %s\nwant %s", s, d, got, strings.Join(want, " AND "))
		}
	})
}

// A request has the form and the attributes that its row names.
func TestRequestsFollowTheTable(t *testing.T) {
	eachCombination(func(s state, d demand) {
		row := decide(s, d)
		if row == nil {
			return
		}
		asked, ch := decided(t, isUnread, d), decided(t, s, d)
		carried := func(ch *PatchItem) []string {
			has := map[string]bool{}
			for name := range ch.Put {
				has[name] = name == "_a" || name == "expires" || name == "GPK"
			}
			for _, a := range ch.Defaults {
				has[a.Name] = true
			}
			maps.DeleteFunc(has, func(_ string, is bool) bool { return !is })
			return slices.Sorted(maps.Keys(has))
		}
		want := carried(asked)
		switch row.carries {
		case identity:
			want = append(want, "_a", "expires")
		case withKeys:
			want = append(want, "GPK", "_a", "expires")
		}
		slices.Sort(want)
		if got := carried(ch); !slices.Equal(got, slices.Compact(want)) {
			t.Errorf("%s, to %s: it carries %v, not %v", s, d, got, want)
		}
		whole := len(ch.Operations) < len(asked.Operations)
		switch {
		case row.sends == wholeItem && ch.Kind != write.Put, row.sends != wholeItem && ch.Kind != asked.Kind,
			row.sends == wholeValue != whole:
			t.Errorf("%s, to %s: %s of %d operations", s, d, ch.Kind, len(ch.Operations))
		}
		if row.carries != sameRoot {
			return
		}
		ch.learn(knowledge{state: s, read: ch.read})
		if got := carried(ch); len(got) > 0 {
			t.Errorf("%s, to %s: in an entity without an incarnation it carries %v", s, d, got)
		}
		if !ch.PinsEntity || ch.OfEntity != nil {
			t.Errorf("%s, to %s: it does not require an entity without an incarnation", s, d)
		}
	})
}

// A patch forgets its knowledge about an item if that cannot occur: no request is sent without a condition.
func TestImpossibleKnowledgeIsForgotten(t *testing.T) {
	eachCombination(func(s state, d demand) {
		if decide(s, d) != nil {
			return
		}
		ch := decided(t, s, d)
		if bound := s&^asRead == isBound || s&^asRead == isMissing; ch.state == isBound != bound ||
			ch.state == isUnread == bound || conditionOf(t, &ch.Request) == "" {
			t.Errorf("%s, to %s: it is %s, on condition %s", s, d, ch.state, conditionOf(t, &ch.Request))
		}
	})
}

// conditionOf returns the condition of a request, by sending it to a client that takes all.
func conditionOf(t *testing.T, r *write.Request) string {
	t.Helper()
	c := &fakedynamo.Client{Answers: []fakedynamo.Answer{fakedynamo.OK()}}
	s := &write.Sender{Client: c, Now: func() time.Time { return fakedynamo.Now }}
	one := *r
	one.Prepare()
	if one.Kind == write.Check {
		one.Kind = write.Delete // which has the same condition
	}
	if o := s.One(context.Background(), &one, &write.Tally{}); !o.OK() {
		t.Fatal(o.Err)
	}
	return fakedynamo.Condition(c.Calls()[0].Input)
}

// docs/design/writes.md has the table. UPDATE=1 go test -run TestTableIsDocumented ./internal/save/change writes it.
func TestTableIsDocumented(t *testing.T) {
	const path, design = "../../../docs/design/writes.md", "../../../docs/design/invariants.md"
	begin, end := "<!-- decisions of patches: UPDATE=1 go test -run TestTableIsDocumented ./internal/save/change -->\n",
		"<!-- end of the decisions of patches -->\n"
	rules, err := os.ReadFile(design)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| knowledge | demand | request | the item | its entity | the request carries | rule |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, row := range decisions {
		cells := []string{
			joined(row.states), joined(row.demands), string(row.sends), string(row.item), string(row.entity),
			string(row.carries), row.rule,
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if !strings.Contains(string(rules), "- *"+row.rule+"*") {
			t.Errorf("%s has no rule %q", design, row.rule)
		}
	}
	b.WriteString("\nThese combinations cannot occur. If one did, the patch would forget its knowledge about the " +
		"item.\n\n| knowledge | demand | reason |\n|---|---|---|\n")
	for _, row := range impossible {
		b.WriteString("| " + joined(row.states) + " | " + joined(row.demands) + " | " + row.reason + " |\n")
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	table, tail, closed := strings.Cut(rest, end)
	switch want := "\n" + b.String() + "\n"; {
	case !ok || !closed:
		t.Errorf("%s has no place for the table", path)
	case table == want:
	case os.Getenv("UPDATE") != "":
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not up to date: UPDATE=1 go test -run TestTableIsDocumented ./internal/save/change", path)
	}
}

// joined returns the names of states or demands.
func joined[T interface{ String() string }](all []T) string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.String()
	}
	return strings.Join(names, "; ")
}

// Law 5: a request that sets attributes as a whole has the price of the item that it makes. The item gets a version,
// and has entries in indexes.
func TestItemSetAsWholeIsPriced(t *testing.T) {
	ch := decided(t, isUnread, toUpdate)
	ch.learn(knowledge{state: isUnread | asRead, read: &rewriting{
		stored: item.Attributes{"PK": fakedynamo.S("H#1"), "SK": fakedynamo.S("NOTE"), "GPK": fakedynamo.S("G#1")},
		set:    []item.Assignment{{Name: "Notes", Value: fakedynamo.S("xyz")}},
	}})
	before := len("PK"+"H#1"+"SK"+"NOTE") + len("GPK"+"G#1")
	after := before + len("Notes"+"xyz") + ch.Reserved.VersionSize()
	if ch.OldSize != before || ch.NewSize != after || ch.Unread {
		t.Errorf("%d to %d bytes, unread %v, want %d to %d", ch.OldSize, ch.NewSize, ch.Unread, before, after)
	}
	if len(ch.Entries) != 1 || ch.Entries[0].Unread || ch.Entries[0].Old == 0 {
		t.Errorf("entries %+v", ch.Entries)
	}
}
