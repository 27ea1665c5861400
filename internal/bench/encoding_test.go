package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/guregu/dynamo/v2"

	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/bench/store"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/mapper"
)

// withoutCode is the model without its generated code.
type withoutCode store.Encoded

// differences are those from guregu/dynamo that are meant: itemize stores values as attributevalue does.
var differences = map[string]string{
	"empty values": "guregu leaves out empty texts and binaries, nil lists and nil maps without a tag; " +
		"attributevalue " +
		"stores them, and omitempty leaves them out",
	"texts":   "guregu stores types with MarshalText as texts; attributevalue stores them by their kind",
	"sets":    "guregu stores maps with the tag set as sets; attributevalue has sets of slices alone",
	"pointer": "guregu leaves out nil pointers, and nil entries of maps; attributevalue stores NULL",
}

// row is a value of the encoding tables. guregu is the difference that is meant, "" for none.
type row struct {
	field, guregu string
	value         any
}

func pointer[T any](v T) *T { return &v }

// rows are the values of the tables.
func rows() []row {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	inner := store.Inner{A: "a", B: 1}
	return []row{
		{"Text", "", "hello"},
		{"Text", "empty values", ""},
		{"Word", "", store.Word("w")},
		{"Bool", "", true},
		{"Bool", "", false},
		{"Int", "", 123},
		{"Int", "", 0},
		{"Int", "", -1 << 63},
		{"Count", "", store.Count(7)},
		{"Int8", "", int8(-128)},
		{"Uint64", "", uint64(1<<64 - 1)},
		{"Float", "", 1.25},
		{"Float", "", 1e-7},
		{"Float32", "", float32(0.5)},
		{"IntPtr", "", pointer(42)},
		{"IntPtr", "pointer", (*int)(nil)},
		{"TextPtr", "", pointer("p")},
		{"TextPtr", "empty values", pointer("")},
		{"Map", "", map[string]int{"one": 1, "zero": 0}},
		{"Map", "", map[string]int{}},
		{"Map", "empty values", map[string]int(nil)},
		{"WordMap", "", map[store.Word]string{"a": "b"}},
		{"PtrMap", "pointer", map[string]*string{"nil": nil, "set": pointer("x")}},
		{"StructMap", "", map[string]store.Inner{"k": inner}},
		{"ListMap", "", map[string][]int{"l": {1, 2}}},
		{"CodeMap", "", map[store.Code]string{true: "t"}},
		{"Struct", "", inner},
		{
			"Struct",
			"empty values",
			store.Inner{},
		},
		{"StructPtr", "", &inner},
		{"StructPtr", "pointer", (*store.Inner)(nil)},
		{"Bytes", "", []byte{0, 255}},
		{"Bytes", "empty values", []byte{}},
		{"ByteArray", "", [4]byte{1, 2, 3, 4}},
		{"List", "", []string{"a", "b"}},
		{"List", "empty values", []string(nil)},
		{"List", "", []string{}},
		{"List", "", []string{"a", ""}},
		{"Array", "", [3]int{1, 2, 3}},
		{"PtrList", "", []*string{pointer("a"), pointer("b")}},
		{"PtrList", "", []*string{nil, pointer("b")}},
		{"StructList", "", []store.Inner{inner, {A: "z", B: 2}}},
		{"BytesList", "sets", [][]byte{{1}, {2}}},
		{"MapList", "", []map[string]string{{"a": "b"}}},
		{"Code", "texts", store.Code(true)},
		{"Time", "", at},
		{"Time", "", at.Add(123 * time.Nanosecond)},
		{"TimePtr", "", &at},
		{"TimePtr", "pointer", (*time.Time)(nil)},
		{"Unix", "", at},
		{"UnixPtr", "", &at},
		{"UnixPtr", "pointer", (*time.Time)(nil)},
		{"Any", "", "text"},
		{"Any", "", 1.5},
		{"Any", "pointer", nil},
		{"Any", "", map[string]any{"a": []any{true, "x"}}},
		{"Renamed", "", "r"},
		{"Omitted", "", ""},
		{"OmittedInt", "", 0},
		{"OmittedList", "", []string(nil)},
		{"OmittedList", "", []string{"a"}},
		{"Null", "", ""},
		{"Null", "", "n"},
		{"Texts", "", []string{"a", "b"}},
		{"Words", "", []store.Word{"a"}},
		{"Ints", "", []int{1, -2}},
		{"Floats", "", []float64{1, 2.5}},
		{"Blobs", "", [][]byte{{1}, {2}}},
		{"BoolMap", "sets", map[string]bool{"a": true}},
		{"Allowed", "", map[string]store.Count{"a": 1}},
	}
}

// catcher is an HTTP client that keeps the items of writes.
type catcher struct {
	items []map[string]types.AttributeValue
}

func (c *catcher) Do(r *http.Request) (*http.Response, error) {
	var in struct {
		Item          json.RawMessage
		TransactItems []struct {
			Put, Update struct{ Item json.RawMessage }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	raw := []json.RawMessage{in.Item}
	for _, x := range in.TransactItems {
		raw = append(raw, x.Put.Item)
	}
	for _, text := range raw {
		if text == nil {
			continue
		}
		it, err := charge.ItemFromJSON(text)
		if err != nil {
			return nil, err
		}
		c.items = append(c.items, it)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader("{}")),
	}, nil
}

// stored returns the items that a mapper writes for a value, by sort key, and the value that it reads from them.
func stored[T any](t *testing.T, v T) (map[string]map[string]types.AttributeValue, T) {
	t.Helper()
	c := &catcher{}
	m, err := mapper.New[T](dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: c,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Save(context.Background(), m.New(v)); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]types.AttributeValue{}
	for _, it := range c.items {
		out[it["SK"].(*types.AttributeValueMemberS).Value] = it
	}
	e, err := m.FromItems(m.Key("1"), map[string][]map[string]types.AttributeValue{"bench": c.items})
	if err != nil {
		t.Fatal(err)
	}
	return out, e.Value
}

// The values of the peers' encoding tables are stored in each place as attributevalue stores them, by reflection and by
// generated code, and are read back. Where guregu/dynamo stores them in another way, that is one of the differences.
func TestEncodingsOfPeers(t *testing.T) {
	used := map[string]bool{}
	for i, r := range rows() {
		name := fmt.Sprintf("%d %s %#v", i, r.field, r.value)
		v := store.Encodings{Renamed: "r"} // otherwise an item without values would not exist
		if f := reflect.ValueOf(&v).Elem().FieldByName(r.field); r.value != nil {
			f.Set(reflect.ValueOf(r.value))
		}
		want, err := attributevalue.MarshalMap(v)
		if err != nil {
			t.Fatal(err)
		}
		other, err := dynamo.MarshalItem(v)
		if err != nil {
			t.Fatal(err)
		}
		attribute := map[string]string{"Renamed": "other_name"}[r.field]
		if attribute == "" {
			attribute = r.field
		}
		if same := sameOrMissing(want[attribute], other[attribute]); same != (r.guregu == "") {
			t.Errorf("%s: stored as %s, and by guregu as %s: the difference is %q", name, text(want[attribute]),
				text(other[attribute]), r.guregu)
		}
		if used[r.guregu] = true; r.guregu != "" && differences[r.guregu] == "" {
			t.Errorf("%s: unknown difference %s", name, r.guregu)
		}
		x := store.Encoded{
			ID: "1", Root: "r", Item: v, Nested: v, Elements: []store.EncodedElement{{Key: "k", Encodings: v}},
			ByName: map[string]store.Encodings{
				"k": v,
			}, Attrs: []store.Encodings{v}, Values: map[string]*store.Encodings{"k": &v},
		}
		items, back := stored(t, x)
		reflectedItems, reflectedBack := stored(t, withoutCode(x))
		for sk, it := range items {
			delete(it, "_v")
			delete(it, "_a")
			delete(reflectedItems[sk], "_v")
			delete(reflectedItems[sk], "_a")
			if !attr.SameItem(it, reflectedItems[sk]) {
				t.Errorf("%s: %s by generated code %s, by reflection %s", name, sk, text(it[attribute]),
					text(reflectedItems[sk][attribute]))
			}
		}
		places := map[string]map[string]types.AttributeValue{
			"item": items["ITEM"], "element": items["ELEMENT#k"], "entry": items["NAME#k"],
			"nested": mapIn(items["NESTED"]["Nested"]), "list": mapIn(first(items["ATTRS"]["Attrs"])),
			"map": mapIn(mapIn(items["VALUES"]["Values"])["k"]),
		}
		for place, it := range places {
			if !sameOrMissing(it[attribute], want[attribute]) {
				t.Errorf("%s: as %s %s, attributevalue %s", name, place, text(it[attribute]), text(want[attribute]))
			}
		}
		var expected store.Encodings
		if err := attributevalue.UnmarshalMap(want, &expected); err != nil {
			t.Fatal(err)
		}
		for place, got := range map[string]store.Encodings{
			"item": back.Item, "element": back.Elements[0].Encodings, "entry": back.ByName["k"], "nested": back.Nested,
			"list": back.Attrs[0], "map": *back.Values["k"], "reflected item": reflectedBack.Item,
			"reflected element": reflectedBack.Elements[0].Encodings, "reflected nested": reflectedBack.Nested,
		} {
			if d := cmp.Diff(expected, got); d != "" {
				t.Errorf("%s: %s: (-attributevalue +got)\n%s", name, place, d)
			}
		}
	}
	for d := range differences {
		if !used[d] {
			t.Errorf("no value has the difference %s", d)
		}
	}
}

// sameOrMissing compares two attributes, which may both be missing.
func sameOrMissing(a, b types.AttributeValue) bool {
	return a == nil && b == nil || a != nil && b != nil && attr.Same(a, b)
}

func mapIn(v types.AttributeValue) map[string]types.AttributeValue {
	m, _ := v.(*types.AttributeValueMemberM)
	if m == nil {
		return nil
	}
	return m.Value
}

func first(v types.AttributeValue) types.AttributeValue {
	l, _ := v.(*types.AttributeValueMemberL)
	if l == nil || len(l.Value) == 0 {
		return nil
	}
	return l.Value[0]
}

// text is an attribute as text.
func text(v types.AttributeValue) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprintf(
		"%s of %v",
		attr.TypeName(v),
		slices.Sorted(maps.Keys(map[string]bool{fmt.Sprintf("%+v", v): true})),
	)
}
