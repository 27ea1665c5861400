package write_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// sent sends one request to a client that answers, and returns its input.
func sent(t *testing.T, r *write.Request) any {
	t.Helper()
	c := &Client{Answers: []Answer{OK()}}
	if o := sender(c).One(context.Background(), r, &write.Tally{}); !o.OK() {
		t.Fatalf("%s: %v", r.Field, o.Err)
	}
	return c.Calls()[0].Input
}

func sender(c *Client) *write.Sender {
	return &write.Sender{Client: c, Now: func() time.Time { return Now }}
}

var ttl = item.Reserved{Version: "_v", TTL: "ttl"}

func term(text string) attr.Condition {
	return func(x *attr.Expression) string { return text + " = " + x.Value(N("1")) }
}

// The condition of each kind of expectation, as text. These conditions protect stored items.
func TestConditions(t *testing.T) {
	left := &item.Hidden{Header: item.Header{Version: B("old"), Incarnation: B("x")}}
	for _, c := range []struct {
		name     string
		reserved item.Reserved
		expect   write.Expect
		want     string
	}{
		{"nothing", versioned, write.Expect{}, ""},
		{"absent", versioned, write.Expect{Absent: true}, "attribute_not_exists(PK)"},
		{
			"absent or expired", ttl,
			write.Expect{Absent: true},
			"attribute_not_exists(PK) OR ttl <= 1700000000 AND ttl <> -62135596800",
		},
		{
			"absent or what was left over, by its exact version", versioned,
			write.Expect{Absent: true, Instead: left},
			"attribute_not_exists(PK) OR _v = b'old'",
		},
		{
			"absent or expired or what was left over", ttl,
			write.Expect{Absent: true, Instead: left},
			"attribute_not_exists(PK) OR ttl <= 1700000000 AND ttl <> -62135596800 OR _v = b'old'",
		},
		{
			"absent or what was left over without a version", versioned,
			write.Expect{Absent: true, Instead: &item.Hidden{Header: item.Header{Incarnation: B("x")}}},
			"attribute_not_exists(PK) OR _a = b'x'",
		},
		{"the version", versioned, write.Expect{Version: B("v1")}, "_v = b'v1'"},
		{"the version, whatever its form", ttl, write.Expect{Version: N("7")}, "_v = 7"},
		{
			"the version and what was read with it", versioned,
			write.Expect{
				Version: B("v1"), Values: []item.Assignment{{Name: "a", Value: S("x")}, {Name: "b"}},
				Sizes: []write.Attribute{{Name: "c", Size: 7}},
			},
			"_v = b'v1' AND a = 'x' AND attribute_not_exists(b) AND size(c) = 7",
		},
		{
			"old values", versioned,
			write.Expect{Old: &write.Old{Values: []item.Assignment{{Name: "a", Value: S("x")}, {Name: "b"}}}},
			"attribute_exists(PK) AND attribute_not_exists(_v) AND a = 'x' AND attribute_not_exists(b)",
		},
		{
			"old values without versions",
			item.Reserved{},
			write.Expect{Old: &write.Old{Values: []item.Assignment{{Name: "a", Value: S("x")}}}},
			"attribute_exists(PK) AND a = 'x'",
		},
		{"present", versioned, write.Expect{Present: true}, "attribute_exists(PK)"},
		{
			"present and not expired", ttl,
			write.Expect{Present: true},
			"attribute_exists(PK) AND (attribute_not_exists(ttl) OR ttl > 1700000000 OR ttl = -62135596800)",
		},
		{"terms", versioned, write.Expect{Terms: []attr.Condition{term("a"), term("b")}}, "a = 1 AND b = 1"},
		{
			"a version with terms", versioned,
			write.Expect{Version: B("v1"), Terms: []attr.Condition{term("a")}},
			"_v = b'v1' AND a = 1",
		},
		{
			"absent with terms", ttl,
			write.Expect{Absent: true, Terms: []attr.Condition{term("a")}},
			"(attribute_not_exists(PK) OR ttl <= 1700000000 AND ttl <> -62135596800) AND a = 1",
		},
		{
			"present with terms", versioned,
			write.Expect{Present: true, Blind: true, Terms: []attr.Condition{item.Reserved{}.Unstaged}},
			"attribute_exists(PK) AND attribute_not_exists(_s)",
		},
		{
			"values", versioned,
			write.Expect{Terms: []attr.Condition{write.AtLeast(item.Assignment{Name: "n", Value: N("3")})}},
			"n >= 3",
		},
	} {
		for _, kind := range []write.Kind{write.Put, write.Update, write.Delete} {
			r := request(kind, "A", 100)
			r.Reserved, r.Expect = c.reserved, c.expect
			if kind == write.Update && c.reserved.Version == "" {
				r.Set = []item.Assignment{{Name: "s", Value: S("t")}}
			}
			r.Prepare()
			if got := Condition(sent(t, r)); got != c.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", c.name, kind, got, c.want)
			}
		}
	}
}

// A request in a transaction has the condition that it has alone, and asks for the item
// that failed it; a check is that condition and nothing else.
func TestConditionsInTransactions(t *testing.T) {
	all := requests{put("P"), update("U"), remove("D"), check("C")}
	for _, r := range all[1:] {
		r.Expect = write.Expect{Version: B("v1")}
	}
	for _, r := range all {
		r.Prepare()
	}
	c := &Client{Answers: []Answer{OK()}}
	if o := sender(c).Send(context.Background(), &write.Step{Requests: all, How: write.InTransaction},
		&write.Tally{}); !o.OK() {
		t.Fatal(o.Err)
	}
	in := c.Calls()[0].Input.(*dynamodb.TransactWriteItemsInput)
	if in.ClientRequestToken == nil || len(in.TransactItems) != 4 {
		t.Fatalf("sent: %+v", in)
	}
	old := types.ReturnValuesOnConditionCheckFailureAllOld
	got := in.TransactItems
	if p := got[0].Put; Condition(p) != "attribute_not_exists(PK)" || p.ReturnValuesOnConditionCheckFailure != old ||
		p.Item["_v"] == nil {
		t.Errorf("put: %+v", p)
	}
	if u := got[1].Update; Condition(u) != "_v = b'v1'" || u.ReturnValuesOnConditionCheckFailure != old {
		t.Errorf("update: %+v", u)
	}
	if d := got[2].Delete; Condition(d) != "_v = b'v1'" || d.ReturnValuesOnConditionCheckFailure != old {
		t.Errorf("delete: %+v", d)
	}
	if k := got[3].ConditionCheck; Condition(k) != "_v = b'v1'" || k.ReturnValuesOnConditionCheckFailure != old {
		t.Errorf("check: %+v", k)
	}
}

// The old values of an item are those of the attributes that are asked for, absent ones
// included, or all but its keys in the order of their names.
func TestOldValues(t *testing.T) {
	at := put("A").Place
	stored := Item("p", "A", item.Attributes{"b": S("2"), "a": S("1")})
	show := func(old *write.Old) string {
		var all []string
		for _, a := range old.Values {
			text := a.Name + "="
			if a.Value != nil {
				text += Show(a.Value)
			}
			if a.Index != item.Unlisted {
				text += "?"
			}
			all = append(all, text)
		}
		return strings.Join(all, " ")
	}
	if got := show(write.OldValues(at, stored, nil)); got != "a='1' b='2'" {
		t.Error(got)
	}
	if got := show(write.OldValues(at, stored, []string{"b", "c"})); got != "b='2' c=" {
		t.Error(got)
	}
}

// If a stored item is as it was before a request, the request may be sent again after a lost answer. A
// wrong yes would lose a change.
func TestBefore(t *testing.T) {
	v1 := item.Attributes{"_v": B("v1"), "a": S("x")}
	left := &item.Hidden{Header: item.Header{Version: B("old"), Incarnation: B("x")}}
	old := &write.Old{Values: []item.Assignment{{Name: "a", Value: S("x")}, {Name: "b"}}}
	for _, c := range []struct {
		name   string
		expect write.Expect
		stored item.Attributes
		want   bool
	}{
		{"blind", write.Expect{Blind: true, Present: true}, v1, false},
		{"blind insert of nothing there", write.Expect{Blind: true, Absent: true}, nil, false},
		{"absent, and nothing there", write.Expect{Absent: true}, nil, true},
		{"absent, and an empty answer", write.Expect{Absent: true}, item.Attributes{}, true},
		{"absent, and something there", write.Expect{Absent: true}, v1, false},
		{"absent, and expired", write.Expect{Absent: true}, item.Attributes{"ttl": N("1700000000")}, true},
		{"absent, and not expired yet", write.Expect{Absent: true}, item.Attributes{"ttl": N("1700000001")}, false},
		{
			"absent, and an expired root that a rollback has marked",
			write.Expect{Absent: true},
			item.Attributes{"ttl": N("1700000000"), "_s": item.NewStage(item.RollingBack, Now).Value()},
			false,
		},
		{
			"absent, and what may be replaced",
			write.Expect{Absent: true, Instead: left},
			item.Attributes{"_v": B("old"), "_a": B("x")},
			true,
		},
		{
			"absent, and that was written since",
			write.Expect{Absent: true, Instead: left},
			item.Attributes{"_v": B("new"), "_a": B("x")},
			false,
		},
		{"the version", write.Expect{Version: B("v1")}, v1, true},
		{"another version", write.Expect{Version: B("v2")}, v1, false},
		{"the version, and the values", write.Expect{Version: B("v1"), Values: old.Values}, v1, true},
		{
			"the version, and a value of a program that writes none",
			write.Expect{Version: B("v1"), Values: old.Values},
			item.Attributes{"_v": B("v1"), "a": S("y")},
			false,
		},
		{
			"the version, and another size",
			write.Expect{Version: B("v1"), Sizes: []write.Attribute{{Name: "a", Size: 2}}},
			v1,
			false,
		},
		{"a version, and none there", write.Expect{Version: B("v1")}, item.Attributes{"a": S("x")}, false},
		{"a version, and nothing there", write.Expect{Version: B("v1")}, nil, false},
		{"a number in another form", write.Expect{Version: N("1.0")}, item.Attributes{"_v": N("1")}, true},
		{"old values", write.Expect{Old: old}, item.Attributes{"a": S("x")}, true},
		{
			"old values, other attributes changed",
			write.Expect{Old: old},
			item.Attributes{"a": S("x"), "c": S("y")},
			true,
		},
		{"old values, one changed", write.Expect{Old: old}, item.Attributes{"a": S("y")}, false},
		{"old values, one came", write.Expect{Old: old}, item.Attributes{"a": S("x"), "b": S("y")}, false},
		{"old values, and a version came", write.Expect{Old: old}, v1, false},
		{"old values, and nothing there", write.Expect{Old: old}, nil, false},
		{"nothing expected", write.Expect{}, v1, true},
	} {
		r := update("A")
		r.Reserved, r.Expect, r.Root = ttl, c.expect, true
		if got := r.Before(c.stored, Now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A request on a root item makes a check of it unnecessary only if it requires the same entity. While that is unknown,
// any entity will do.
func TestCovers(t *testing.T) {
	check := func(of types.AttributeValue) *write.Request {
		r := check("A")
		r.ForAdditions, r.PinsEntity, r.OfEntity = true, of != nil, of
		return r
	}
	pinned := func(r *write.Request, of types.AttributeValue) *write.Request {
		r.PinsEntity, r.OfEntity = true, of
		return r
	}
	loaded := pinned(update("A"), nil)
	loaded.Header.Incarnation = B("a")
	for _, c := range []struct {
		name     string
		r, check *write.Request
		want     bool
	}{
		{"the same entity", pinned(update("A"), B("a")), check(B("a")), true},
		{"another entity", pinned(update("A"), B("b")), check(B("a")), false},
		{"the entity that was loaded", loaded, check(B("a")), true},
		{"no entity", update("A"), check(B("a")), false},
		{"an entity, and the check of an unknown one", pinned(update("A"), B("a")), check(nil), true},
		{"two checks of an unknown entity", check(nil), check(nil), true},
		{"no entity, and the check of an unknown one", update("A"), check(nil), false},
		{"another item", pinned(update("B"), B("a")), check(B("a")), false},
	} {
		if got := c.r.Covers(c.check); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A stored item shows whether it is the result of a request, and not of another writer's. The version
// shows it. For a request that makes a root live the incarnation shows it too, and stays when others
// write the root. The existence of a claim alone does not show it.
func TestWrote(t *testing.T) {
	own := func(r *write.Request) *write.Request {
		r.Token = B("mine")
		return r
	}
	live := func() *write.Request {
		r := own(update("A"))
		r.Incarnation = B("x")
		return r
	}
	root := func(version, incarnation string, more ...item.Assignment) item.Attributes {
		a := item.Attributes{"_v": B(version), "_a": B(incarnation)}
		for _, m := range more {
			m.Into(a)
		}
		return a
	}
	stage := func(s item.State) item.Assignment { return item.Reserved{}.AssignStage(item.NewStage(s, Now)) }
	mine, other := item.Attributes{"_v": B("mine")}, item.Attributes{"_v": B("theirs")}
	for _, c := range []struct {
		name   string
		r      *write.Request
		stored item.Attributes
		want   bool
		shows  bool
	}{
		{"an own put", own(put("A")), mine, true, true},
		{"another's", own(put("A")), other, false, true},
		{"nothing there", own(put("A")), nil, false, true},
		{"an own update", own(update("A")), mine, true, true},
		{"an update without a version", update("A"), item.Attributes{"a": S("x")}, false, false},
		{"a delete, and nothing there", remove("A"), nil, true, false},
		{"a delete, and something there", remove("A"), other, false, false},
		{"a root that went live", live(), root("mine", "x", stage(item.Live)), true, true},
		{"a root that went live, written since", live(), root("theirs", "x", stage(item.Live)), true, true},
		{"a root of a plain insert, written since", live(), root("theirs", "x"), true, true},
		{
			"a root that is being deleted, which may have been a claim before", live(),
			root("theirs", "x", stage(item.Deleting)), false, true,
		},
		{"a claim, which is not live", live(), root("theirs", "x", stage(item.Inserting)), false, true},
		{"a root of another incarnation", live(), root("theirs", "y", stage(item.Live)), false, true},
		{"a root without incarnation", live(), other, false, true},
		{
			"an incarnation alone tells", &write.Request{Kind: write.Put, Incarnation: B("x")}, root("theirs", "x"),
			true,
			true,
		},
	} {
		if got := c.r.Wrote(c.stored); got != c.want || c.r.IsIdentifiable() != c.shows {
			t.Errorf("%s: %v, tells %v", c.name, got, c.r.IsIdentifiable())
		}
	}
}

// Of a write without a version only the values tell whether it was applied.
func TestHolds(t *testing.T) {
	set := update("A")
	set.Set, set.Remove = []item.Assignment{{Name: "a", Value: N("1")}}, []item.Assignment{{Name: "b"}}
	for _, c := range []struct {
		name   string
		r      *write.Request
		stored item.Attributes
		want   bool
	}{
		{"the same item", put("A"), Item("p", "A", nil), true},
		{"with another attribute", put("A"), Item("p", "A", item.Attributes{"a": S("x")}), false},
		{"an item that is missing", put("A"), nil, false},
		{"set and removed", set, Item("p", "A", item.Attributes{"a": N("1.0"), "c": S("x")}), true},
		{"not set", set, Item("p", "A", item.Attributes{"a": N("2")}), false},
		{"not removed", set, Item("p", "A", item.Attributes{"a": N("1"), "b": S("x")}), false},
		{"nothing there", set, nil, false},
		{"nothing to set, and nothing there", update("A"), nil, false},
		{"deleted", remove("A"), nil, true},
		{"not deleted", remove("A"), Item("p", "A", nil), false},
	} {
		if got := c.r.Holds(c.stored); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// An update's expression sets the changed attributes and the version.
func TestUpdateExpression(t *testing.T) {
	a, b := item.Assignment{Name: "a", Value: S("x")}, item.Assignment{Name: "b", Value: N("2")}
	removed := item.Assignment{Name: "c"}
	for _, c := range []struct {
		name    string
		version bool
		r       write.Request
		want    string
	}{
		{"nothing but the version", true, write.Request{}, "SET _v = b'v'"},
		{"attributes", true, write.Request{Set: []item.Assignment{a, b}}, "SET a = 'x', b = 2, _v = b'v'"},
		{"without versions", false, write.Request{Set: []item.Assignment{a}}, "SET a = 'x'"},
		{
			"removed", true,
			write.Request{Remove: []item.Assignment{removed, item.Reserved{}.DropMark()}},
			"SET _v = b'v' REMOVE c, _s",
		},
		{"removed without versions", false, write.Request{Remove: []item.Assignment{removed}}, "REMOVE c"},
		{
			"both", false,
			write.Request{Set: []item.Assignment{a}, Remove: []item.Assignment{removed}},
			"SET a = 'x' REMOVE c",
		},
		{
			"increments", true,
			write.Request{Operations: []item.Operation{{Op: item.OpIncrement, Path: []string{"b"}, Value: N("2")}}},
			"SET b = if_not_exists(b, 0) + 2, _v = b'v'",
		},
		{
			"operations of every clause", true,
			write.Request{Remove: []item.Assignment{removed}, Operations: []item.Operation{
				{Op: item.OpAddElements, Path: []string{"s"}, Value: S("x")},
				{Op: item.OpRemove, Path: []string{"m", "k"}},
				{Op: item.OpSet, Path: []string{"m", "l"}, Value: N("1")},
				{Op: item.OpDeleteElements, Path: []string{"t"}, Value: S("y")},
				{Op: item.OpSetIfAbsent, Path: []string{"n"}, Value: N("3")},
				{Op: item.OpAddElements, Path: []string{"u"}, Value: S("z")},
			}},
			"SET m.l = 1, n = if_not_exists(n, 3), _v = b'v' REMOVE c, m.k ADD s 'x', u 'z' DELETE t 'y'",
		},
		{
			"removed from a map alone", false,
			write.Request{Operations: []item.Operation{{Op: item.OpRemove, Path: []string{"m", "k"}}}},
			"REMOVE m.k",
		},
		{
			"defaults", false,
			write.Request{Set: []item.Assignment{a}, Defaults: []item.Assignment{b}},
			"SET a = 'x', b = if_not_exists(b, 2)",
		},
		{
			"all", true,
			write.Request{
				Set: []item.Assignment{a}, Defaults: []item.Assignment{b},
				Operations: []item.Operation{{Op: item.OpIncrement, Path: []string{"n"}, Value: N("-1")}},
				Remove:     []item.Assignment{removed},
			},
			"SET a = 'x', b = if_not_exists(b, 2), n = if_not_exists(n, 0) + -1, _v = b'v' REMOVE c",
		},
	} {
		r := c.r
		if c.version {
			r.Reserved, r.Token = versioned, B("v")
		}
		var x attr.Expression
		if got := Expand(r.UpdateExpression(&x), x.Names(), x.Values()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A put adds its version to its attributes. A client that changes the input changes nothing else: the next attempt,
// with another version, sends what the first was to send. An update and a delete have only the key.
func TestInputs(t *testing.T) {
	p := put("A")
	p.Prepare()
	size := p.WholeSize()
	in := sent(t, p).(*dynamodb.PutItemInput)
	was := p.Token
	defer func(in item.Attributes) {
		if !attr.SameItem(in, Item("p", "A", item.Attributes{"_v": was})) {
			t.Errorf("the first attempt: %v", in)
		}
	}(maps.Clone(in.Item))
	in.Item["SK"], in.Item["sealed"] = S("sealed"), S("yes")
	if now := p.WholeSize(); now != size || now != attr.ItemSize(Item("p", "A", item.Attributes{"_v": was})) {
		t.Errorf("a put of %d bytes has %d when it was sent", size, now)
	}
	p.Prepare()
	again := sent(t, p).(*dynamodb.PutItemInput)
	if *in.TableName != "things" {
		t.Errorf("put: %+v", in)
	}
	if !attr.SameItem(again.Item, Item("p", "A", item.Attributes{"_v": p.Token})) || attr.Same(was, p.Token) {
		t.Errorf("put again: %+v", again)
	}
	u := update("A")
	u.Prepare()
	up := sent(t, u).(*dynamodb.UpdateItemInput)
	if !attr.SameItem(up.Key, Item("p", "A", nil)) || up.ConditionExpression != nil {
		t.Errorf("update: %+v", up)
	}
	if got := Updates(up); got != "SET _v = "+Show(u.Token) {
		t.Errorf("update: %s", got)
	}
	d := sent(t, remove("A")).(*dynamodb.DeleteItemInput)
	if !attr.SameItem(d.Key, Item("p", "A", nil)) || d.ExpressionAttributeNames != nil {
		t.Errorf("delete: %+v", d)
	}
	alone := put("A")
	alone.Table, alone.SK = &item.Table{Name: "alone", Hash: "PK"}, Text("")
	if key := alone.Key(); len(key) != 1 {
		t.Errorf("the key of a table without a sort key: %v", key)
	}
}
