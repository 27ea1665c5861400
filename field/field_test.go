package field_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

type title string

type wish struct {
	Title   title
	Price   float64
	Count   uint8
	Done    bool
	AddedAt time.Time
	Until   time.Time
	Hash    []byte
	Tags    []string
	Lines   lines
	Counts  map[string]int8
	Homes   map[title]address
	Note    *string
	Home    address
	Other   *address
	Number  attributevalue.Number
	Text    int
}

type address struct{ City string }

type lines []string

// addresses are the handles of a nested struct.
var addresses = struct {
	City *field.String[*address, string]
}{
	City: handmade.String("City", "city", func(a *address) *string { return &a.City }),
}

var addressForm = mapperimpl.Struct(mapperimpl.Funcs[address]{},
	mapperimpl.Field("City", mapperimpl.String[string]().Form))

// wishes are handles as generated code declares them.
var wishes = struct {
	Title   *field.String[*wish, title]
	Price   *field.Number[*wish, float64]
	Count   *field.Number[*wish, uint8]
	Done    *field.Value[*wish, bool]
	AddedAt *field.Ordered[*wish, time.Time]
	Until   *field.Ordered[*wish, time.Time]
	Hash    *field.Ordered[*wish, []byte]
	Tags    *field.Set[*wish, string]
	Lines   *field.List[*wish, string]
	Counts  *field.Map[*wish, map[string]int8, string, *field.Number[*wish, int8]]
	Homes   *field.Map[*wish, map[title]address, title, *field.Struct[*wish, address]]
	Note    *field.Value[*wish, *string]
	Home    *field.Struct[*wish, address]
	Other   *field.Struct[*wish, address]
	Number  *field.Value[*wish, attributevalue.Number]
	Text    *field.Number[*wish, int]
}{
	Title:   handmade.String("Title", "title,omitempty", func(w *wish) *title { return &w.Title }),
	Price:   handmade.Number("Price", "", func(w *wish) *float64 { return &w.Price }),
	Count:   handmade.Number("Count", ",omitempty", func(w *wish) *uint8 { return &w.Count }),
	Done:    handmade.Bool("Done", "", func(w *wish) *bool { return &w.Done }),
	AddedAt: handmade.Time("AddedAt", "", func(w *wish) *time.Time { return &w.AddedAt }),
	Until:   handmade.Time("Until", "until,unixtime", func(w *wish) *time.Time { return &w.Until }),
	Hash:    handmade.Bytes("Hash", "", func(w *wish) *[]byte { return &w.Hash }),
	Tags: handmade.Set("Tags", ",stringset", func(w *wish) *[]string { return &w.Tags },
		mapperimpl.Slice[[]string](mapperimpl.String[string]())),
	Lines: handmade.List("Lines", "", func(w *wish) *lines { return &w.Lines },
		mapperimpl.Slice[lines](mapperimpl.String[string]())),
	Counts: handmade.Map[*field.Number[*wish, int8]]("Counts", "counts",
		func(w *wish) *map[string]int8 { return &w.Counts },
		mapperimpl.Map[map[string]int8](mapperimpl.Numeric[int8]())),
	Homes: handmade.Map[*field.Struct[*wish, address]]("Homes", "",
		func(w *wish) *map[title]address { return &w.Homes },
		mapperimpl.Map[map[title]address](addressForm)),
	Note: handmade.Value("Note", "", func(w *wish) **string { return &w.Note },
		mapperimpl.Pointer(mapperimpl.String[string]())),
	Home:  handmade.Struct("Home", "", func(w *wish) *address { return &w.Home }, addressForm),
	Other: handmade.StructPointer("Other", "", func(w *wish) **address { return &w.Other }, addressForm),
	Number: handmade.Value("Number", "", func(w *wish) *attributevalue.Number { return &w.Number },
		mapperimpl.Number[attributevalue.Number]()),
	Text: handmade.Number("Text", ",string", func(w *wish) *int { return &w.Text }),
}

// rendered shows a condition with its placeholders replaced.
func rendered(c field.Condition[wish]) string {
	u := conditionOf(c)
	if u.Err != nil {
		return "error: " + u.Err.Error()
	}
	var x attr.Expression
	text := u.Text(&x, expr.Field.Attributes)
	var pairs []string
	for p, name := range x.Names() {
		pairs = append(pairs, p, name)
	}
	for p, v := range x.Values() {
		pairs = append(pairs, p, value(v))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func value(v types.AttributeValue) string {
	switch v := v.(type) {
	case nil:
		return "<nil>"
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("%q", v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("%x", v.Value)
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberSS:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberM:
		return fmt.Sprintf("{City: %s}", value(v.Value["City"]))
	}
	return fmt.Sprintf("%T", v)
}

func TestConditions(t *testing.T) {
	w, at := wishes, time.Date(2021, 11, 14, 1, 2, 3, 0, time.UTC)
	note := "n"
	for _, c := range []struct {
		condition field.Condition[wish]
		want      string
	}{
		{w.Title.Equal("a"), `title = "a"`},
		{w.Title.Equal(""), `attribute_not_exists(title) OR attribute_type(title, "NULL")`},
		{w.Title.NotEqual("a"), `title <> "a"`},
		{w.Title.NotEqual(""), `attribute_exists(title) AND NOT (attribute_type(title, "NULL"))`},
		{w.Title.In("a", "b"), `title IN ("a", "b")`},
		{w.Title.Exists(), `attribute_exists(title) AND NOT (attribute_type(title, "NULL"))`},
		{w.Title.Absent(), `attribute_not_exists(title) OR attribute_type(title, "NULL")`},
		{w.Title.BeginsWith("a"), `begins_with(title, "a")`},
		{w.Title.Contains("a"), `contains(title, "a")`},
		{w.Title.Less("b"), `title < "b"`},
		{w.Price.LessOrEqual(1.5), `Price <= 1.5`},
		{w.Price.Greater(20), `Price > 20`},
		{w.Price.GreaterOrEqual(-20), `Price >= -20`},
		{w.Price.Between(1, 2), `Price BETWEEN 1 AND 2`},
		{w.Count.Equal(7), `Count = 7`},
		{w.Done.Equal(false), `Done = false`},
		{w.AddedAt.Greater(at), `AddedAt > "2021-11-14T01:02:03Z"`},
		{w.Until.Less(at), `until < 1636851723`},
		{w.Hash.Equal([]byte{1, 2}), `Hash = 0102`},
		{w.Hash.Equal(nil), `attribute_not_exists(Hash) OR attribute_type(Hash, "NULL")`},
		{w.Tags.Equal([]string{"a", "b"}), `Tags = [a b]`},
		{w.Note.Equal(&note), `Note = "n"`},
		{w.Note.Equal(nil), `attribute_not_exists(Note) OR attribute_type(Note, "NULL")`},
		{w.Home.Equal(address{"Rome"}), `Home = {City: "Rome"}`},
		{w.Other.Equal(address{"Rome"}), `Other = {City: "Rome"}`},
		{w.Number.Equal("12"), `Number = 12`},
		{w.Text.Equal(12), `Text = "12"`},
		{w.Tags.Contains("a"), `contains(Tags, "a")`},
		{w.Tags.Size().Greater(2), `size(Tags) > 2`},
		{w.Lines.Contains("a"), `contains(Lines, "a")`},
		{w.Lines.Size().Equal(0), `size(Lines) = 0`},
		{w.Counts.Key("a.b").GreaterOrEqual(3), `counts.a.b >= 3`},
		{w.Counts.Key("a").Exists(), `attribute_exists(counts.a) AND NOT (attribute_type(counts.a, "NULL"))`},
		{w.Counts.Size().Less(9), `size(counts) < 9`},
		{w.Homes.Key("x").Where(addresses.City.Equal("Oslo")), `Homes.x.city = "Oslo"`},
		{
			w.Home.Where(field.And(addresses.City.BeginsWith("O"), addresses.City.Absent())),
			`begins_with(Home.city, "O") AND (attribute_not_exists(Home.city) OR attribute_type(Home.city, "NULL"))`,
		},
		{
			w.Other.Where(field.Raw[address](expression.Name("City").Equal(expression.Value("Rome")))),
			`Other.City = "Rome"`,
		},
		{w.Counts.Key("").Equal(1), `error: the condition on Counts[...]: the key of a map's entry is empty, which ` +
			`DynamoDB does not store`},

		{field.And(w.Price.Greater(1), w.Done.Equal(true)), `Price > 1 AND Done = true`},
		{
			field.Or(w.Price.Greater(1), w.Done.Equal(true), w.Title.Exists()),
			`Price > 1 OR Done = true OR (attribute_exists(title) AND NOT (attribute_type(title, "NULL")))`,
		},
		{
			field.And(w.Price.Greater(1), field.Or(w.Done.Equal(true), w.Title.Exists())),
			`Price > 1 AND (Done = true OR (attribute_exists(title) AND NOT (attribute_type(title, "NULL"))))`,
		},
		{field.And(w.Price.Greater(1)), `Price > 1`},
		{field.Not(field.And(w.Price.Greater(1), w.Done.Equal(true))), `NOT (Price > 1 AND Done = true)`},
		{field.And(field.Not(w.Done.Equal(true)), w.Price.Less(5)), `NOT (Done = true) AND Price < 5`},
		{field.Raw[wish](expression.Name("Price").GreaterThan(expression.Value(5))), `Price > 5`},
		{
			field.And(w.Price.Less(9),
				field.Raw[wish](expression.Name("Home.City").Equal(expression.Value("Rome")).
					And(expression.Name("Price").AttributeExists())),
			),
			`Price < 9 AND ((Home.City = "Rome") AND (attribute_exists (Price)))`,
		},

		{w.Title.Less(""), `error: the condition on Title: the value would not be stored (omitempty), so that no ` +
			`stored value equals it: use Absent or Exists`},
		{w.Title.In(), `error: the condition on Title: In takes 1 to 100 values`},
		{w.Title.In("a", ""), `(attribute_not_exists(title) OR attribute_type(title, "NULL")) OR title IN ("a")`},
		{
			w.Price.Equal(math.NaN()),
			`error: the condition on Price: the number is invalid: DynamoDB takes up to 38 digits, between 1E-130 ` +
				`and 9.9E+125, but not NaN or infinity`,
		},
		{
			field.And(w.Price.Less(9), w.Count.Between(0, 1)),
			`error: the condition on Count: the value would not be stored (omitempty), so that no stored value ` +
				`equals it: use Absent or Exists`,
		},
		{
			field.Not(w.Title.Equal("\xff")),
			`error: the condition on Title: the string is not valid UTF-8, and would change in the request: store ` +
				`it as []byte`,
		},
	} {
		if got := rendered(c.condition); got != c.want {
			t.Errorf("rendered %s\nwant     %s", got, c.want)
		}
	}
}

func TestChanges(t *testing.T) {
	w, note := wishes, "n"
	for _, c := range []struct {
		change field.Change[wish]
		field  string
		want   wish
	}{
		{w.Title.Set("a"), "Title", wish{Title: "a"}},
		{w.Price.Set(2.5), "Price", wish{Price: 2.5}},
		{w.Note.Set(&note), "Note", wish{Note: &note}},
		{w.Home.Set(address{"Rome"}), "Home", wish{Home: address{"Rome"}}},
		{w.Other.Set(address{"Rome"}), "Other", wish{Other: &address{"Rome"}}},
		{w.Tags.Set([]string{"a"}), "Tags", wish{Tags: []string{"a"}}},
	} {
		u := changesOf(c.change)[0]
		var got wish
		u.Apply(&got)
		if u.Kind != expr.Set || u.Field.Name() != c.field || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: the change made %+v of kind %d, want %+v", u.Field, got, u.Kind, c.want)
		}
	}
	for _, c := range []struct {
		change     field.Change[wish]
		kind       expr.Kind
		path, want string
	}{
		{w.Title.SetIfAbsent("a"), expr.SetIfAbsent, "title", `"a"`},
		{w.Tags.Add("a", "b"), expr.AddElements, "Tags", "[a b]"},
		{w.Tags.Delete("a"), expr.DeleteElements, "Tags", "[a]"},
		{w.Lines.Append("a", "b"), expr.Append, "Lines", "*types.AttributeValueMemberL"},
		{w.Counts.Key("a").Set(5), expr.Set, "counts.a", "5"},
		{w.Counts.Key("a").Remove(), expr.Remove, "counts.a", "<nil>"},
		{w.Home.Change(addresses.City.Set("Rome")), expr.Set, "Home.city", `"Rome"`},
		{w.Other.Change(addresses.City.Set("Rome")), expr.Set, "Other.city", `"Rome"`},
		{w.Homes.Key("x").Change(addresses.City.Set("Rome")), expr.Set, "Homes.x.city", `"Rome"`},
	} {
		u := changesOf(c.change)[0]
		if got := strings.Join(u.Field.Attributes(), "."); u.Err != nil || u.Kind != c.kind || got != c.path ||
			value(u.Value) != c.want {
			t.Errorf("the change of %s is of kind %d, to %s: %v", got, u.Kind, value(u.Value), u.Err)
		}
	}
	for text, c := range map[string]field.Change[wish]{
		"the change of Counts[...]: the key of a map's entry is empty": w.Counts.Key("").Set(1),
	} {
		if err := changesOf(c)[0].Err; err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, c := range []struct {
		change field.Change[wish]
		by     string
	}{
		{w.Price.Increment(0.1), "0.1"},
		{w.Price.Decrement(1), "-1"},
		{w.Price.Decrement(-1), "1"},
		{w.Count.Increment(3), "3"},
		{w.Count.Decrement(3), "-3"},
		{w.Text.Increment(-4), "-4"},
	} {
		if u := changesOf(c.change)[0]; u.Kind != expr.Increment || u.By != c.by {
			t.Errorf("%s: increments by %s, want %s", u.Field, u.By, c.by)
		}
	}
	if u := changesOf(w.Title.Remove())[0]; u.Kind != expr.Remove || u.Field.Name() != "Title" {
		t.Errorf("the removal is %+v", u)
	}
	if u := changesOf(w.Count.Increment(3))[0]; u.Least != "0" || u.Most != "255" {
		t.Errorf("a uint8 is between %s and %s", u.Least, u.Most)
	}
	if u := changesOf(w.Counts.Key("a").Decrement(3))[0]; u.Least != "-128" || u.Most != "127" || u.By != "-3" {
		t.Errorf("an int8 is between %s and %s, by %s", u.Least, u.Most, u.By)
	}
}

// Handles are rows, and what a projection names.
func TestRows(t *testing.T) {
	rows := []field.Of[wish]{wishes.Title, wishes.Price, wishes.Other, field.Named[wish]("stored")}
	var got []string
	for _, r := range rows {
		row := handmade.Row(r)
		got = append(got, row.Name+":"+row.Attribute())
	}
	if want := []string{"Title:title", "Price:Price", "Other:Other", ":stored"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	var w wish
	if p := handmade.Row(wishes.Title).At(&w); p != &w.Title {
		t.Errorf("the title is at %p, want %p", p, &w.Title)
	}
	var _ []codec.Row = []codec.Row{handmade.Row(wishes.Title), handmade.Row(wishes.Home)}
}

// A value that is changed after a change was made does not change it.
func TestSetTakesTheValue(t *testing.T) {
	a := address{"Rome"}
	c := changesOf(wishes.Other.Set(a))[0]
	var v, w wish
	c.Apply(&v)
	v.Other.City = "Oslo"
	if c.Apply(&w); w.Other.City != "Rome" {
		t.Errorf("the second record has %+v", w.Other)
	}
}

// A zero condition or handle is an error, and no panic.
func TestNothingMade(t *testing.T) {
	type record struct{ S string }
	var none field.Condition[record]
	var handle field.String[*record, string]
	for name, c := range map[string]field.Condition[record]{
		"zero": none, "not zero": field.Not(none), "zero or zero": field.Or(none, none), "no field": handle.Equal("a"),
		"no conditions": field.And[record](), "none of no conditions": field.Or[record](),
		"no field, there": handle.Exists(), "no field, less": handle.Less("a"),
		"no field, between": handle.Between("a", "b"),
	} {
		if conditionOf(c).Err == nil {
			t.Error(name)
		}
	}
}

func changesOf[R any](c ...field.Change[R]) []expr.Change {
	return door.Field.Changes(unsafe.Pointer(unsafe.SliceData(c)), 1)[0]
}

func conditionOf[R any](c ...field.Condition[R]) expr.Condition {
	return door.Field.Conditions(unsafe.Pointer(unsafe.SliceData(c)), 1)[0]
}
