package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
)

// values are the stored forms of unique values.
type values struct {
	_    struct{}  `ddb:"table=values"`
	ID   string    `ddb:"pk={ID}"`
	A    string    `ddb:"sk=HEAD,unique,as='V#A'"`
	B    string    `ddb:"sk=HEAD"`
	C    string    `ddb:"sk=HEAD,unique=fold"`
	AB   string    `ddb:"sk=HEAD,unique='A,AB'"`
	N    float64   `ddb:"sk=HEAD,unique"`
	Q    float64   `ddb:"sk=HEAD,unique" dynamodbav:",string"`
	Data []byte    `ddb:"sk=HEAD,unique"`
	At   time.Time `ddb:"sk=HEAD,unique"`
}

func modelOf[T any](t *testing.T, table string) *model.Model {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return model.New(e, codec.ReflectedModel(e), []string{table})
}

// The keys of guards are those of docs/format.md: the vectors were made by hand.
func TestKeysOfGuards(t *testing.T) {
	text, err := os.ReadFile("../testdata/format/guards.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Prefix string
		Fold, Time   bool
		Number       bool
		Repeat       int
		Values       []map[string]any
		Key          *string
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	m := modelOf[values](t, "values")
	for i, v := range vectors {
		var names []string
		kinds := []string{"A", "AB"}
		if v.Fold {
			kinds[0] = "C"
		} else if v.Time {
			kinds[0] = "At"
		} else if v.Number {
			kinds[0] = "Q"
		}
		root := item.Attributes{}
		for n, value := range v.Values {
			for kind, x := range value {
				a := attribute(t, kind, x)
				if s, ok := a.(*types.AttributeValueMemberS); ok && v.Repeat > 0 {
					s.Value = strings.Repeat(s.Value, v.Repeat)
				}
				switch {
				case kind == "N" && !v.Time:
					kinds[0] = "N"
				case kind == "B":
					kinds[0] = "Data"
				}
				root[kinds[n]] = a
			}
		}
		names = kinds[:len(v.Values)]
		u := uniqueOf(m, strings.Join(names, ","))
		u.Name = v.Name
		at, ok, err := m.Guard(u, root)
		switch {
		case err != nil:
			t.Errorf("vector %d: %v", i, err)
		case v.Prefix != "":
			if !strings.HasPrefix(at.PK.Text, v.Prefix) {
				t.Errorf("vector %d: %q", i, at.PK.Text)
			}
		case v.Key == nil && ok, v.Key != nil && (!ok || at.PK != key.Scalar{Type: 'S', Text: *v.Key}):
			t.Errorf("vector %d: %q, %v, want %v", i, at.PK.Text, ok, v.Key)
		}
		if ok && at.SK.Text != "guard" {
			t.Errorf("vector %d: sort key %q", i, at.SK.Text)
		}
	}
}

func uniqueOf(m *model.Model, fields string) *schema.Unique {
	for _, u := range m.Schema.Uniques {
		if m.Schema.FieldNames(u) == fields {
			c := *u
			return &c
		}
	}
	panic(fields)
}

func attribute(t *testing.T, kind string, x any) types.AttributeValue {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case "S":
		return &types.AttributeValueMemberS{Value: x.(string)}
	case "N":
		return &types.AttributeValueMemberN{Value: x.(string)}
	case "NULL":
		return &types.AttributeValueMemberNULL{Value: true}
	}
	v := &types.AttributeValueMemberB{}
	if err := json.Unmarshal(b, &v.Value); err != nil {
		t.Fatal(err)
	}
	return v
}

// Two characters are one in folded values exactly if simple case folding makes them equal.
func TestFoldedCharactersAreThoseOfSimpleFolding(t *testing.T) {
	m := modelOf[values](t, "values")
	u := uniqueOf(m, "C")
	of := func(r rune) string {
		at, ok, err := m.Guard(u, item.Attributes{"C": &types.AttributeValueMemberS{Value: "x" + string(r)}})
		if err != nil || !ok {
			t.Fatalf("%U: %v, %v", r, ok, err)
		}
		return at.PK.Text
	}
	first := map[string]rune{}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		text := of(r)
		if next := unicode.SimpleFold(r); next != r && of(next) != text {
			t.Errorf("%U and %U fold to %q and %q", r, next, text, of(next))
		}
		least := r
		for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
			least = min(least, x)
		}
		if was, ok := first[text]; ok && was != least {
			t.Errorf("%U and %U both fold to %q", was, least, text)
		}
		first[text] = least
	}
}

// A method Normal whose result cannot be part of a key is an error of the value, and no panic.
func TestResultsOfNormalAreChecked(t *testing.T) {
	m := modelOf[struct {
		_  struct{} `ddb:"table=odd"`
		ID string   `ddb:"pk={ID}"`
		A  odd      `ddb:"sk=HEAD,unique"`
	}](t, "odd")
	for stored, want := range map[string]string{
		"invalid": "the method Normal of model_test.odd returns invalid UTF-8: return text",
		"panic":   "the method Normal of model_test.odd panics: fix it",
	} {
		_, _, err := m.Guard(m.Schema.Uniques[0], item.Attributes{"A": &types.AttributeValueMemberS{Value: stored}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", stored, err, want)
		}
	}
	_, ok, err := m.Guard(m.Schema.Uniques[0], item.Attributes{"A": &types.AttributeValueMemberS{Value: "empty"}})
	if ok || err != nil {
		t.Errorf("an empty result: %v, %v", ok, err)
	}
}

type odd string

func (o odd) Normal() string {
	switch o {
	case "invalid":
		return "a\xff"
	case "panic":
		panic("odd")
	case "empty":
		return ""
	}
	return string(o)
}

// A guard names its owner, and is read back.
func TestGuardsNameTheirOwners(t *testing.T) {
	m := modelOf[values](t, "values")
	at, _, _ := m.Guard(uniqueOf(m, "A"), item.Attributes{"A": &types.AttributeValueMemberS{Value: "x"}})
	root, err := m.RootPlace([]key.Value{key.OfString("1")})
	if err != nil {
		t.Fatal(err)
	}
	want := model.Owner{Root: root, Incarnation: item.NewToken()}
	guard := m.GuardItem(at, want)
	got, err := m.GuardOwner(uniqueOf(m, "A"), guard)
	if err != nil || got == nil || !got.Same(want) || attr.ItemSize(guard) > 200 {
		t.Errorf("owner %v, want %v", got, want)
	}
	if identity, ok := m.RootIdentity(got.Root); !ok || !identity[0].Equal(key.OfString("1")) {
		t.Errorf("identity %v", identity)
	}
	if o, err := m.GuardOwner(uniqueOf(m, "A"), item.Attributes{}); o != nil || err != nil {
		t.Error("an empty guard has an owner")
	}
}

// anything is a value of any attribute type, compared by all that it contains.
type anything struct{ v types.AttributeValue }

func (a anything) Normal() string { return shown(a.v) }

func (a anything) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return a.v, nil }

func (a *anything) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	a.v = v
	return nil
}

func shown(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberSS:
		return strings.Join(v.Value, " ")
	case *types.AttributeValueMemberNS:
		return strings.Join(v.Value, " ")
	case *types.AttributeValueMemberBS:
		return string(bytes.Join(v.Value, []byte(" ")))
	case *types.AttributeValueMemberL:
		text := ""
		for _, w := range v.Value {
			text += "[" + shown(w) + "]"
		}
		return text
	case *types.AttributeValueMemberM:
		text := ""
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			text += name + "{" + shown(v.Value[name]) + "}"
		}
		return text
	}
	return fmt.Sprintf("%T", v)
}

// Law: a value has one guard, in each form in which DynamoDB may return it: other digits of the same numbers, and other
// orders of the same sets.
func TestGuardsOfTheFormsOfAValue(t *testing.T) {
	type thing struct {
		_  struct{} `ddb:"table=things"`
		ID string   `ddb:"pk=T#{ID}"`
		V  anything `ddb:"sk=HEAD,unique"`
	}
	m := modelOf[thing](t, "things")
	u := m.Schema.Uniques[0]
	r := rand.New(rand.NewPCG(draws.Seed(t), 0))
	for range draws.Times(2_000, 10_000, 500_000) {
		forms := [2]func(int) int{func(int) int { return 0 }, r.IntN}
		seed := r.Uint64()
		var places [2]item.Place
		var values [2]types.AttributeValue
		for i, spell := range forms {
			values[i] = drawn(rand.New(rand.NewPCG(seed, 1)), spell, 3)
			at, ok, err := m.Guard(u, item.Attributes{"V": values[i]})
			if err != nil || !ok {
				t.Fatalf("%s: %v", shown(values[i]), err)
			}
			places[i] = at
		}
		if places[0].PK != places[1].PK {
			t.Fatalf("%s and %s have two guards: %q, %q", shown(values[0]), shown(values[1]), places[0].PK.Text,
				places[1].PK.Text)
		}
	}
}

// drawn draws a value; spell draws the form in which it is written.
func drawn(r *rand.Rand, spell func(int) int, deep int) types.AttributeValue {
	number := func() string {
		n, zeros := r.IntN(2000)-1000, spell(3)
		switch spell(3) {
		case 1:
			return fmt.Sprint(n) + "." + strings.Repeat("0", zeros+1)
		case 2:
			return fmt.Sprint(n) + strings.Repeat("0", zeros) + fmt.Sprintf("E-%d", zeros)
		}
		return fmt.Sprint(n)
	}
	shuffled := func(all []string) []string {
		for i := range all {
			j := i - spell(i+1)
			all[i], all[j] = all[j], all[i]
		}
		return all
	}
	switch r.IntN(3 + 2*min(deep, 1) + 2) {
	case 0:
		return &types.AttributeValueMemberS{Value: fmt.Sprint("s", r.IntN(9))}
	case 1, 2:
		return &types.AttributeValueMemberN{Value: number()}
	case 3:
		return &types.AttributeValueMemberSS{Value: shuffled([]string{"a", "b", fmt.Sprint("c", r.IntN(9))})}
	case 4:
		first := r.IntN(9)
		return &types.AttributeValueMemberNS{Value: shuffled([]string{fmt.Sprint(first), fmt.Sprint(first + 10)})}
	case 5:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{
			drawn(r, spell, deep-1), drawn(r, spell, deep-1),
		}}
	}
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"a": drawn(r, spell, deep-1), "b": drawn(r, spell, deep-1),
	}}
}
