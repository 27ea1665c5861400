package layout_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// ticket is in indexes by its own keys and by derived keys, and expires.
type ticket struct {
	_        struct{}  `ddb:"table=tickets,ttl=gone"`
	_        struct{}  `ddb:"index=byOwner,pk={Owner},sk={Opened:unix}"`
	_        struct{}  `ddb:"index=byState,hash=G1,pk=STATE#{State},range=G2,sk={Weight:04}"`
	_        struct{}  `ddb:"index=byAuthor,pk={Author},on=Notes"`
	_        struct{}  `ddb:"index=byCity,pk={City},on=Home"`
	ID       string    `ddb:"pk=TICKET#{ID}"`
	Owner    string    `ddb:"sk=HEAD"`
	State    string    `ddb:"sk=HEAD"`
	Weight   int       `ddb:"sk=HEAD"`
	Opened   time.Time `ddb:"sk=HEAD" dynamodbav:",unixtime"`
	Until    time.Time `ddb:"sk=HEAD,ttl,all"`
	Home     home      `ddb:"sk=HOME"`
	Notes    []note    `ddb:"sk=NOTE#{N:04}"`
	Comments []string  `ddb:"sk=COMMENT#{.}"`
}

type home struct{ City, Street string }

type note struct {
	N            int
	Author, Text string
}

func ticketLayout(t *testing.T) *layout.Layout {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[ticket]())
	if err != nil {
		t.Fatal(err)
	}
	l, err := layoutOf(t, e)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// What an index cannot hold as a key is left out of the items, what indexes and the expiry need is
// written, and all comes back as it was.
func TestKeysOfIndexes(t *testing.T) {
	l := ticketLayout(t)
	doc := func(change func(item.Attributes)) item.Attributes {
		d := item.Attributes{
			"ID": str("a"), "Owner": str("bob"), "State": str("open"), "Weight": num("7"), "Opened": num("1700000000"),
			"Until": str("2030-01-01T00:00:00Z"),
			"Home":  &types.AttributeValueMemberM{Value: item.Attributes{"City": str("Ulm"), "Street": str("x")}},
			"Notes": &types.AttributeValueMemberL{Value: []types.AttributeValue{
				&types.AttributeValueMemberM{Value: item.Attributes{
					"N": num("1"), "Author": str("eve"),
					"Text": str("t"),
				}},
			}},
		}
		change(d)
		return d
	}
	in := func(d item.Attributes, name string) item.Attributes {
		switch v := d[name].(type) {
		case *types.AttributeValueMemberM:
			return v.Value
		case *types.AttributeValueMemberL:
			return v.Value[0].(*types.AttributeValueMemberM).Value
		}
		return nil
	}
	tests := map[string]struct {
		change func(item.Attributes)
		// at is the sort key of an item, and has its attributes: nil for an absent one.
		at  string
		has item.Attributes
		err string
	}{
		"written for indexes": {
			func(item.Attributes) {}, "HEAD",
			item.Attributes{"G1": str("STATE#open"), "G2": str("0007"), "Owner": str("bob"), "gone": num("1893456000")},
			"",
		},
		"the expiry of all": {
			func(item.Attributes) {}, "NOTE#0001",
			item.Attributes{"gone": num("1893456000"), "Author": str("eve")},
			"",
		},
		"no expiry": {
			func(d item.Attributes) { d["Until"] = str("0001-01-01T00:00:00Z") },
			"NOTE#0001",
			item.Attributes{"gone": nil},
			"",
		},
		"an expiry that is no time": {
			func(d item.Attributes) { d["Until"] = str("soon") }, "", nil,
			`Until: the text is not a time, but it is the expiry`,
		},
		"empty own key": {
			func(d item.Attributes) { d["Owner"] = str("") }, "HEAD",
			item.Attributes{"Owner": nil},
			"",
		},
		"NULL own key": {func(d item.Attributes) {
			d["Owner"] = &types.AttributeValueMemberNULL{Value: true}
		}, "HEAD", item.Attributes{"Owner": nil}, ""},
		"zero time": {
			func(d item.Attributes) { d["Opened"] = num("-62135596800") }, "HEAD",
			item.Attributes{"Opened": nil},
			"",
		},
		"an own key of another type": {
			func(d item.Attributes) { d["Owner"] = num("1") }, "", nil,
			"Owner: it is a N, but the key of the index byOwner has the type S",
		},
		"a large own key": {
			func(d item.Attributes) { d["Owner"] = str(strings.Repeat("x", 2049)) }, "", nil,
			"Owner: as a key of the index byOwner: ",
		},
		"a large key": {
			func(d item.Attributes) { d["State"] = str(strings.Repeat("x", 2049)) }, "", nil,
			"State: as a key of the index byState: ",
		},
		"empty in a key": {
			func(d item.Attributes) { d["State"] = str("") }, "HEAD",
			item.Attributes{"G1": nil, "G2": str("0007"), "State": str("")},
			"",
		},
		"absent in a key": {
			func(d item.Attributes) { delete(d, "State"); delete(d, "Weight") }, "HEAD",
			item.Attributes{"G1": nil, "G2": str("0000")},
			"",
		},
		"of another type in a key": {
			func(d item.Attributes) { d["Weight"] = str("much") }, "", nil,
			`Weight: the text is not an integer of 64 bits of the index byState`,
		},
		"in a struct": {
			func(d item.Attributes) { in(d, "Home")["City"] = str("") }, "HOME",
			item.Attributes{"City": nil, "Street": str("x")},
			"",
		},
		"in an element": {
			func(d item.Attributes) { in(d, "Notes")["Author"] = str("") }, "NOTE#0001",
			item.Attributes{"Author": nil, "Text": str("t")},
			"",
		},
		"of an element, wrong": {
			func(d item.Attributes) { in(d, "Notes")["Author"] = num("1") }, "", nil,
			"Notes[0].Author: it is a N",
		},
		"kept in the monolith too": {func(d item.Attributes) {
			d["G1"], d["gone"] = str("STATE#open"), num("1893456000")
		}, "HEAD", item.Attributes{"G1": str("STATE#open")}, ""},
		"another in the monolith": {
			func(d item.Attributes) { d["G1"] = str("open") }, "", nil,
			"G1: no field of the model has this name, but the root has another attribute with it",
		},
	}
	for name, tt := range tests {
		d := doc(tt.change)
		c, err := l.Split(d)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %s", name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := false
		for _, it := range c.Items {
			if it.SK.Text != tt.at {
				continue
			}
			found = true
			for n, want := range tt.has {
				if got := it.Attributes[n]; !attr.Same(got, want) {
					t.Errorf("%s: %s is %s, want %s", name, n, show(got), show(want))
				}
			}
		}
		if back, err := l.Join(c.Items); !found || err != nil || !layout.Same(d, back) {
			t.Errorf("%s: %v comes back as %v, %v; found: %v", name, d, back, err, found)
		}
	}
}

// After the move, attributes that an application writes take precedence over the record of the
// monolith.
func TestNotesYieldToAttributes(t *testing.T) {
	l := ticketLayout(t)
	c, err := l.Split(item.Attributes{"ID": str("a"), "Owner": str(""), "State": str("open"), "G1": str("STATE#open")})
	if err != nil {
		t.Fatal(err)
	}
	root := c.Root()
	root.Attributes["Owner"], root.Attributes["State"], root.Attributes["G1"] = str("eve"), str("shut"),
		str("STATE#shut")
	back, err := l.Join([]*layout.Item{{
		Kind: root.Kind, PK: key.Scalar{Type: 'S', Text: "TICKET#a"}, SK: root.SK,
		Attributes: root.Attributes,
	}})
	want := item.Attributes{"ID": str("a"), "Owner": str("eve"), "State": str("shut"), "G1": str("STATE#shut")}
	if err != nil || !layout.Same(back, want) {
		t.Errorf("%v, %v, want %v", back, err, want)
	}
}
