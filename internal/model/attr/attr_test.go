package attr

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/key"
)

type av = types.AttributeValue

func s(v string) av             { return &types.AttributeValueMemberS{Value: v} }
func n(v string) av             { return &types.AttributeValueMemberN{Value: v} }
func b(v string) av             { return &types.AttributeValueMemberB{Value: []byte(v)} }
func boolean(v bool) av         { return &types.AttributeValueMemberBOOL{Value: v} }
func null() av                  { return &types.AttributeValueMemberNULL{Value: true} }
func list(v ...av) av           { return &types.AttributeValueMemberL{Value: v} }
func object(v map[string]av) av { return &types.AttributeValueMemberM{Value: v} }
func strs(v ...string) av       { return &types.AttributeValueMemberSS{Value: v} }
func numbers(v ...string) av    { return &types.AttributeValueMemberNS{Value: v} }
func binaries(v ...[]byte) av   { return &types.AttributeValueMemberBS{Value: v} }
func one(v av) map[string]av    { return map[string]av{"a": v} }
func nested(depth int, in av) av {
	for range depth {
		in = list(in)
	}
	return in
}

// Two values are the same if DynamoDB takes them for the same: sets have no order, numbers
// many spellings, and types are never mixed.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b av
		want bool
	}{
		{nil, nil, true},
		{nil, null(), false},
		{null(), nil, false},
		{null(), null(), true},
		{s("a"), s("a"), true},
		{s("a"), s("b"), false},
		{s(""), nil, false},
		{s("1"), n("1"), false},
		{s("a"), b("a"), false},
		{n("1"), n("1.0"), true},
		{n("1e2"), n("100"), true},
		{n("-0"), n("0"), true},
		{n("1"), n("2"), false},
		{b("a"), b("a"), true},
		{b("a"), b("b"), false},
		{b(""), b(""), true},
		{boolean(true), boolean(true), true},
		{boolean(true), boolean(false), false},
		{list(n("1"), s("a")), list(n("1.0"), s("a")), true},
		{list(s("a"), s("b")), list(s("b"), s("a")), false},
		{list(), list(s("a")), false},
		{object(one(n("1"))), object(one(n("1.0"))), true},
		{object(one(s("a"))), object(map[string]av{"b": s("a")}), false},
		{object(nil), object(one(s("a"))), false},
		{strs("a", "b"), strs("b", "a"), true},
		{strs("a"), strs("a", "b"), false},
		{strs("a", "a"), strs("a", "b"), false},
		{numbers("1", "2.0"), numbers("2", "1.0"), true},
		{numbers("1"), numbers("2"), false},
		{binaries([]byte("a"), []byte("b")), binaries([]byte("b"), []byte("a")), true},
		{binaries([]byte("a")), strs("a"), false},
	} {
		if Same(c.a, c.b) != c.want || Same(c.b, c.a) != c.want {
			t.Errorf("%#v and %#v: %v and back %v", c.a, c.b, Same(c.a, c.b), Same(c.b, c.a))
		}
	}
}

// Two items are the same if all their attributes are.
func TestSameItem(t *testing.T) {
	for _, c := range []struct {
		a, b map[string]av
		want bool
	}{
		{nil, nil, true},
		{nil, map[string]av{}, true},
		{one(n("1")), one(n("1.0")), true},
		{one(s("a")), nil, false},
		{one(s("a")), map[string]av{"b": s("a")}, false},
		{one(nil), map[string]av{"b": s("a")}, false},
	} {
		if SameItem(c.a, c.b) != c.want || SameItem(c.b, c.a) != c.want {
			t.Errorf("%v and %v", c.a, c.b)
		}
	}
}

// A copy is the same and shares no memory.
func TestCopy(t *testing.T) {
	bytes, elements, texts := []byte("bytes"), []av{s("x")}, []string{"t"}
	v := object(map[string]av{
		"b": &types.AttributeValueMemberB{Value: bytes}, "l": &types.AttributeValueMemberL{Value: elements},
		"ss": &types.AttributeValueMemberSS{Value: texts},
		"ns": numbers("1"), "bs": binaries(bytes), "bool": boolean(true), "null": null(), "n": n("1"), "s": s("x"),
	})
	c := Copy(v)
	if !Same(v, c) {
		t.Fatalf("%#v", c)
	}
	bytes[0], elements[0], texts[0] = 'B', s("y"), "u"
	m := c.(*types.AttributeValueMemberM).Value
	if !Same(m["b"], b("bytes")) || !Same(m["l"], list(s("x"))) || !Same(m["ss"], strs("t")) ||
		!Same(m["bs"], binaries([]byte("bytes"))) {
		t.Errorf("changed with its original: %#v", m)
	}
	if CopyItem(nil) != nil || Copy(nil) != nil {
		t.Error("of nothing")
	}
}

// Values that DynamoDB would refuse or change are refused, and the error says what to do.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		v    av
		want string
	}{
		{"nothing", nil, ""},
		{"a string", s("ä"), ""},
		{"any bytes", b("\xff"), ""},
		{"null", null(), ""},
		{"the smallest number", n("1E-130"), ""},
		{"no UTF-8", s("\xff"), `the string is not valid UTF-8, and would change in the request: store it as []byte`},
		{"in a list", list(s("a"), s("\xff")), "is not valid UTF-8"},
		{"in a map", object(one(s("\xff"))), "is not valid UTF-8"},
		{"a map's key", object(map[string]av{"\xff": s("a")}), "is not valid UTF-8"},
		{"in a set", strs("\xff"), "is not valid UTF-8"},
		{"no number", n(fmt.Sprint(math.Inf(1))), `the number is invalid: DynamoDB takes`},
		{"39 digits", n(strings.Repeat("1", 39)), "takes up to 38 digits"},
		{"38 digits", n(strings.Repeat("1", 38)), ""},
		{"a number in a set", numbers("x"), `the number is invalid`},
		{"an empty set", strs(), "a set cannot be empty"},
		{"an empty set of numbers", numbers(), "a set cannot be empty"},
		{"an empty set of bytes", binaries(), "a set cannot be empty"},
		{"twice in a set", strs("a", "b", "a"), `the set has a member twice: keep one`},
		{"one number in two spellings", numbers("1", "1.0"), "twice"},
		{"the same bytes", binaries([]byte("a"), []byte("a")), "twice"},
		{"31 lists around a value", nested(31, s("a")), ""},
		{"32 lists", nested(32, s("a")), "the value is nested deeper than the 32 levels of DynamoDB"},
	} {
		err := Check(c.v)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A key's value and its attribute are one another's inverse, numbers in their one text.
func TestScalars(t *testing.T) {
	for _, c := range []struct {
		v    av
		want key.Scalar
		ok   bool
	}{
		{s("a"), key.Scalar{Type: 'S', Text: "a"}, true},
		{n("1.0"), key.Scalar{Type: 'N', Text: "1"}, true},
		{b("\xff"), key.Scalar{Type: 'B', Text: "\xff"}, true},
		{boolean(true), key.Scalar{}, false},
		{nil, key.Scalar{}, false},
	} {
		got, ok := ScalarOf(c.v)
		if got != c.want || ok != c.ok {
			t.Errorf("%#v: %v %v", c.v, got, ok)
		}
		if ok && !Same(ValueOf(got), c.v) {
			t.Errorf("%v comes back as %#v", got, ValueOf(got))
		}
	}
	if _, ok := ScalarOf(n("x")); ok {
		t.Error("no number is a key")
	}
}

// An expression has one placeholder for each name, and one for each value that was given,
// however many there are.
func TestExpression(t *testing.T) {
	var x Expression
	if x.Names() != nil || x.Values() != nil {
		t.Error("an empty expression has placeholders")
	}
	for i := range 100 {
		name, value := fmt.Sprint("n", i), n(fmt.Sprint(i))
		p, q := x.Name(name), x.Value(value)
		if p != fmt.Sprint("#", i) || q != fmt.Sprint(":", i) || x.Name(name) != p {
			t.Fatalf("%d: %s %s", i, p, q)
		}
	}
	x.Value(n("0"))
	if names, values := x.Names(), x.Values(); len(names) != 100 || len(values) != 101 || names["#42"] != "n42" ||
		!Same(values[":42"], n("42")) || !Same(values[":100"], n("0")) {
		t.Errorf("%d names, %d values", len(names), len(values))
	}
}

// Of several faults in a map, each time the same is named.
func TestCheckNamesTheSameFault(t *testing.T) {
	v := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"a": &types.AttributeValueMemberNULL{}, "b": nil, "c": &types.AttributeValueMemberSS{},
		"d": &types.AttributeValueMemberN{},
	}}
	for range 50 {
		if err := Check(v); err == nil || !strings.Contains(err.Error(), "NULL") {
			t.Fatal(err)
		}
	}
}
