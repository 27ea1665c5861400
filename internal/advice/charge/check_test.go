package charge

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/itemize/itemize/cost"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// What DynamoDB refuses of an item or of a write is refused, with its place and a cure.
func TestCheckItem(t *testing.T) {
	if err := CheckItem(Item{"PK": text("a"), "v": text(strings.Repeat("x", cost.MaxItem-4))}); err != nil {
		t.Error(err)
	}
	for want, item := range map[string]Item{
		`the item has 409,601 bytes (limit 400 KB); the largest attribute is "v" with 409,598 bytes: split the ` +
			`item, or ` +
			`compress that attribute`: {
			"PK": text("a"), "v": text(strings.Repeat("x", cost.MaxItem-3)),
		},
		`attribute "n": the number is invalid`: {"n": &types.AttributeValueMemberN{Value: "abc"}},
		`attribute "s": the set has a member twice`: {
			"s": &types.AttributeValueMemberSS{Value: []string{"a", "b", "a"}},
		},
		`the item has no attributes: add at least its key`:            {},
		`an attribute without a name, of 1 byte: add its name`:        {"": text("a")},
		`attribute "z": invalid NULL attribute: the value must be tr`: {"z": &types.AttributeValueMemberNULL{}},
	} {
		if err := CheckItem(item); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A write keeps the item's key: with another it would be a write of another item.
func TestCheckWrite(t *testing.T) {
	table := Table{Hash: "PK", Range: "SK"}
	item := func(pk, sk string) Item { return Item{"PK": text(pk), "SK": text(sk)} }
	for _, c := range []struct {
		want     string
		table    Table
		old, new Item
	}{
		{"", table, item("a", "b"), item("a", "b")},
		{"", table, nil, item("a", "b")},
		{"", table, item("a", "b"), nil},
		{"", Table{Hash: "PK"}, item("a", "b"), item("a", "c")},
		{"the key differs in PK, but a write does not change a key", table, item("a", "b"), item("x", "b")},
		{"the key differs in SK, but a write does not change a key", table, item("a", "b"), item("a", "c")},
		{"the new item lacks the key attribute SK", table, item("a", "b"), Item{"PK": text("a")}},
		{"the old item lacks the key attribute PK", table, Item{"SK": text("b")}, nil},
		{"the key attribute PK of the new item is empty", table, nil, item("", "b")},
		{
			"the key attribute SK of the new item has 1,025 bytes (limit 1,024 bytes)", table, nil,
			item("a", strings.Repeat("x", 1025)),
		},
		{
			"the key attribute PK of the new item is not a string, number or binary", table, nil,
			Item{"PK": &types.AttributeValueMemberBOOL{}, "SK": text("b")},
		},
		{"the old item and the new item are missing", table, nil, nil},
	} {
		err := c.table.CheckWrite(c.old, c.new)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
}

// A file that is no item, or one that DynamoDB would refuse, is refused with the place.
func TestItemFromJSONRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":{"N":"abc"}}`:            `attribute "a": the number is invalid`,
		`{"a":{"M":{"b":{"N":"x"}}}}`:  `attribute "a"`,
		`{"a":1e999}`:                  `attribute "a": the number is invalid`,
		`{"a":{"SS":["x","x"]}}`:       `attribute "a": the set has a member twice: keep one`,
		`{"a":{"NS":["1","1.0"]}}`:     `attribute "a": the set has a member twice`,
		`{"a":{"BS":["AA==","AA=="]}}`: `twice`,
		`{"a":{"SS":[]}}`:              `a set cannot be empty`,
		`{"a":{"S":true}}`:             `attribute "a": invalid value of S: write a text`,
		`{"a":{"S":{"b":{"S":"c"}}}}`:  `attribute "a": invalid value of S: write a text`,
		`{"a":{"N":5}}`: `attribute "a": invalid value of N: write a text: ` +
			`write {"N":"1"}`,
		`{"a":{"BOOL":"true"}}`:         `attribute "a": invalid value of BOOL: write true or false`,
		`{"a":{"NULL":false}}`:          `attribute "a": invalid value of NULL: write true`,
		`{"a":{"L":{}}}`:                `attribute "a": invalid value of L: write an array`,
		`{"a":{"M":[]}}`:                `attribute "a": invalid value of M: write an object`,
		`{"a":{"B":"%"}}`:               `attribute "a": invalid value of B: write base64`,
		`{"a":{"SS":[1]}}`:              `attribute "a": invalid value of SS: write an array of texts`,
		`{"a":{"BS":["%"]}}`:            `attribute "a": invalid value of BS: write base64`,
		`{"a":{"L":[{"X":"1"}]}}`:       `attribute "a": invalid attribute type: write one of S, N`,
		`{"a":{"L":["x"]}}`:             `attribute "a": invalid attribute value: write`,
		`null`:                          `not a JSON object`,
		`[1]`:                           `not a JSON object`,
		`{"a":1} {"b":1}`:               `text after the item: write one item`,
		`{"a":1}}`:                      `text after the item`,
		`{"a":1} x`:                     `text after the item`,
		`{"Items":[{"a":{"N":"abc"}}]}`: `item 0: attribute "a": the number is invalid`,
	} {
		if _, err := ItemsFromJSON([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", in, err, want)
		}
	}
	const all = `{"a":{"S":"x"},"b":{"N":"1"},"c":{"B":"AA=="},"d":{"BOOL":false},"e":{"NULL":true},` +
		`"f":{"L":[{"S":"x"}]},"g":{"M":{"h":{"S":"x"}}},"i":{"SS":["x"]},"j":{"NS":["1"]},"k":{"BS":["AA=="]}}`
	item, err := ItemFromJSON([]byte(all + "\n"))
	if err != nil || len(item) != 10 {
		t.Error(item, err)
	}
}
