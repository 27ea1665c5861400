package laws

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/mapper"
)

type namedPointer *int

// ownReader decodes itself, and does not encode itself.
type ownReader struct{ S string }

func (v *ownReader) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	if m, ok := av.(*types.AttributeValueMemberM); ok {
		v.S = m.Value["S"].(*types.AttributeValueMemberS).Value
	}
	return nil
}

type embedsReader struct {
	ownReader
	N int
}

// A pointer type with a name, and a model that decodes itself, are refused.
func TestModelsOfOddTypes(t *testing.T) {
	t.Parallel()
	type pointer struct {
		ID string       `ddb:"pk=P#{ID}"`
		V  namedPointer `ddb:"sk=H"`
	}
	type deepPointer struct {
		ID string         `ddb:"pk=P#{ID}"`
		V  []namedPointer `ddb:"sk=H"`
	}
	type model struct {
		ownReader
		ID string `ddb:"pk=P#{ID}"`
		V  int    `ddb:"sk=H"`
	}
	for _, m := range []any{pointer{}, deepPointer{}, model{}} {
		if _, err := schema.Of(reflect.TypeOf(m)); err == nil {
			t.Errorf("%T is accepted", m)
		} else {
			t.Log(err)
		}
	}
}

// A struct that decodes itself is one attribute, also as an element.
func TestStructsThatDecodeThemselves(t *testing.T) {
	t.Parallel()
	type fixed struct {
		ID   string                  `ddb:"pk=P#{ID}"`
		Text string                  `ddb:"sk=H"`
		Own  ownReader               `ddb:"sk=OWN"`
		Ptr  *ownReader              `ddb:"sk=PTR"`
		Map  map[string]ownReader    `ddb:"sk=M#{key}"`
		More map[string]embedsReader `ddb:"sk=N#{key}"`
	}
	s := open[fixed](t)
	v := fixed{
		ID: "1", Text: "t", Own: ownReader{"own"}, Ptr: &ownReader{"ptr"}, Map: map[string]ownReader{"a": {"map"}},
		More: map[string]embedsReader{"b": {ownReader: ownReader{"more"}}},
	}
	s.save(s.New(v))
	if got := s.load("1").Value; !reflect.DeepEqual(got, v) {
		t.Errorf("%+v", got)
	}
}

// The largest float32 is stored as a number that is larger than it, and loads.
func TestLargestFloat32(t *testing.T) {
	t.Parallel()
	type a struct {
		ID   string          `ddb:"pk=P#{ID}"`
		F    float32         `ddb:"sk=H"`
		List []float32       `ddb:"sk=H"`
		Keys map[float32]int `ddb:"sk=H"`
		Any  any             `ddb:"sk=H"`
	}
	s := open[a](t)
	v := a{
		ID: "1", F: math.MaxFloat32, List: []float32{-math.MaxFloat32, math.SmallestNonzeroFloat32},
		Keys: map[float32]int{math.MaxFloat32: 1, -math.MaxFloat32: 2, 1.5: 3},
	}
	s.save(s.New(v))
	if got := s.load("1").Value; !reflect.DeepEqual(got, v) {
		t.Errorf("%+v", got)
	}
	for _, opaque := range []any{ // attributevalue cannot read it
		struct{ F float32 }{math.MaxFloat32},
		map[float32]int{math.MaxFloat32: 1},
		map[float32]int{-math.MaxFloat32: 1},
		[]map[float32]bool{{math.MaxFloat32: true}},
		[1]any{map[float32]string{math.MaxFloat32: "x"}},
		struct{ M *map[float32]int }{&map[float32]int{math.MaxFloat32: 1}},
		map[string]map[float32]int{"x": {-math.MaxFloat32: 1}},
	} {
		s.refuses(s.New(a{ID: "2", Any: opaque}))
	}
}

// Several texts of one key of a map stay, until the key is removed. A load takes the key's own text, or the first.
func TestTextsOfOneKey(t *testing.T) {
	t.Parallel()
	type a struct {
		ID  string          `ddb:"pk=P#{ID}"`
		V   map[int]string  `ddb:"sk=H"`
		On  map[bool]string `ddb:"sk=H"`
		Any int             `ddb:"sk=H"`
	}
	s := open[a](t)
	s.put("P#1", "H", attributes{
		"V":  object(attributes{"1": text("a"), "01": text("b"), "002": text("c"), "02": text("d"), "3": text("e")}),
		"On": object(attributes{"t": text("t"), "1": text("1")}),
	})
	for range 10 { // maps have no order
		if v := s.load("1").Value; v.V[1] != "a" || v.V[2] != "c" || v.On[true] != "1" {
			t.Fatalf("%+v", v)
		}
	}
	e := s.load("1")
	e.Value.V[3], e.Value.V[2], e.Value.On[false] = "new", "two", "off"
	s.save(e)
	s.want("P#1", "H", "V", object(attributes{
		"1": text("a"), "01": text("b"), "002": text("two"), "02": text("d"), "3": text("new"),
	}))
	s.want("P#1", "H", "On", object(attributes{"t": text("t"), "1": text("1"), "false": text("off")}))
	delete(e.Value.V, 1)
	s.save(e)
	s.want("P#1", "H", "V", object(attributes{"002": text("two"), "02": text("d"), "3": text("new")}))
}

type pair struct {
	V [2]int
	O int
}

// A list that is longer than its array stays as it is if another part changes. A change that would cut it is refused,
// also if the array is an element of a list that gets shorter.
func TestLongListsStayOrAreRefused(t *testing.T) {
	t.Parallel()
	type a struct {
		ID string       `ddb:"pk=P#{ID}"`
		S  pair         `ddb:"sk=H,nested"`
		L  [][2]int     `ddb:"sk=H"`
		A  [2][2]string `ddb:"sk=H"`
	}
	s := open[a](t)
	long := list(number("1"), number("2"), number("3"))
	it := attributes{
		"S": object(attributes{"V": long, "O": number("1")}), "L": list(long, list(number("9"), number("9"))),
		"A": list(list(text("a"), text("b"), text("c")), list(text("x"))),
	}
	s.put("P#1", "H", it)
	e := s.load("1")
	e.Value.S.O, e.Value.A[1][1] = 2, "y"
	s.save(e)
	s.want("P#1", "H", "S", object(attributes{"V": long, "O": number("2")}))
	s.want("P#1", "H", "A", list(list(text("a"), text("b"), text("c")), list(text("x"), text("y"))))
	for _, change := range []func(*a){
		func(v *a) { v.S.V[0]++ },
		func(v *a) { v.A[0][0] = "z" },
		func(v *a) { v.L = v.L[:1]; v.L[0][0] = 7 },
		func(v *a) { v.L = append([][2]int{{7, 7}}, [2]int{1, 7}, v.L[1]) },
	} {
		e := s.load("1")
		change(&e.Value)
		s.refuses(e)
	}
	e = s.load("1")
	e.Value.L = e.Value.L[1:] // all of it is removed
	s.save(e)
	s.want("P#1", "H", "L", list(list(number("9"), number("9"))))
}

// odd is encoded as its value says.
type odd struct{ av types.AttributeValue }

func (o odd) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return o.av, nil }

func (o *odd) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }

// What a method returns is checked before it is sent.
func TestMethodsThatReturnNoValue(t *testing.T) {
	t.Parallel()
	type a struct {
		ID  string `ddb:"pk=P#{ID}"`
		V   odd    `ddb:"sk=H"`
		Any any    `ddb:"sk=H"`
	}
	s := open[a](t)
	for _, av := range []types.AttributeValue{
		(*types.AttributeValueMemberS)(nil), (*types.AttributeValueMemberM)(nil), (*types.AttributeValueMemberBS)(nil),
		&types.AttributeValueMemberNULL{}, &types.AttributeValueMemberL{Value: []types.AttributeValue{nil}},
		&types.AttributeValueMemberM{Value: attributes{"x": nil}}, &types.AttributeValueMemberSS{},
		&types.AttributeValueMemberL{Value: []types.AttributeValue{(*types.AttributeValueMemberN)(nil)}},
	} {
		s.refuses(s.New(a{ID: "1", V: odd{av}}))
		s.refuses(s.New(a{ID: "1", Any: odd{av}}))
		s.refuses(s.New(a{ID: "1", Any: []any{odd{av}}}))
	}
}

// A text in an interface with the option string cannot be read back, at any depth.
func TestQuotedTextsInStructs(t *testing.T) {
	t.Parallel()
	type quoted struct {
		V any `dynamodbav:",string"`
	}
	type a struct {
		ID   string            `ddb:"pk=P#{ID}"`
		Sub  quoted            `ddb:"sk=H,nested"`
		List []quoted          `ddb:"sk=H"`
		Map  map[string]quoted `ddb:"sk=H"`
		Any  any               `ddb:"sk=H" dynamodbav:",string"`
	}
	s := open[a](t)
	s.refuses(s.New(a{ID: "1", Sub: quoted{"x"}}))
	s.refuses(s.New(a{ID: "1", List: []quoted{{1}, {"x"}}}))
	s.refuses(s.New(a{ID: "1", Map: map[string]quoted{"k": {"5"}}}))
	type text struct{ T string }
	x := any("x")
	for _, v := range []any{
		[]any{"x"},
		map[string]any{"k": []any{1, "5"}},
		map[string]string{"k": "x"},
		text{"x"},
		&text{"x"}, &x,
		attributevalue.Number(""), attributevalue.Number("1E400"), json.Number("5"), json.Number(""), &byPointer{},
		time.Unix(1, 0),
	} {
		s.refuses(s.New(a{ID: "1", Sub: quoted{v}}))
		s.refuses(s.New(a{ID: "1", List: []quoted{{1}, {v}}}))
		s.refuses(s.New(a{ID: "1", Map: map[string]quoted{"k": {v}}}))
		s.refuses(s.New(a{ID: "1", Any: v}))
	}
	five := 5
	s.save(s.New(a{
		ID: "1", Sub: quoted{5}, List: []quoted{
			{nil},
			{1.5},
			{&five},
			{[]any{1, nil, true}},
			{map[string]any{"k": []byte{1}}},
			{attributevalue.Number("1E5")},
		}, Any: []any{1, map[string]any{"k": 2}},
	}))
	s.load("1")
}

// byPointer encodes itself by a method of its pointer, as a text.
type byPointer struct{}

func (*byPointer) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: "x"}, nil
}

// A part that cannot be written as it was read stays as it is stored if another part changes.
func TestPartsThatCannotBeWrittenStay(t *testing.T) {
	t.Parallel()
	type box struct {
		Weight attributevalue.Number
		Count  json.Number
		Tags   []string `dynamodbav:",stringset"`
		Blobs  [][]byte
		X      int
	}
	type a struct {
		ID    string         `ddb:"pk=P#{ID}"`
		Box   box            `ddb:"sk=H,nested"`
		Boxes []box          `ddb:"sk=H"`
		Named map[string]box `ddb:"sk=H"`
	}
	b, x := &types.AttributeValueMemberB{Value: []byte{1}}, &types.AttributeValueMemberS{Value: "x"}
	null := &types.AttributeValueMemberNULL{Value: true}
	for name, stored := range map[string]attributes{
		"missing": {"X": number("1")},
		"NULL":    {"X": number("1"), "Weight": null, "Count": null, "Tags": null, "Blobs": null},
		"lists": {
			"X": number("1"), "Weight": number("1"),
			"Tags":  &types.AttributeValueMemberL{Value: []types.AttributeValue{x, x}},
			"Blobs": &types.AttributeValueMemberL{Value: []types.AttributeValue{b, b}},
		},
	} {
		s := open[a](t)
		m := &types.AttributeValueMemberM{Value: stored}
		s.put("P#1", "H", attributes{
			"Box":   m,
			"Boxes": &types.AttributeValueMemberL{Value: []types.AttributeValue{m}},
			"Named": &types.AttributeValueMemberM{Value: attributes{"k": m}},
		})
		e := s.load("1")
		named := e.Value.Named["k"]
		named.X = 2
		e.Value.Box.X, e.Value.Boxes[0].X, e.Value.Named["k"] = 2, 2, named
		s.save(e)
		stored["X"] = number("2")
		got := s.get("P#1", "H")
		for _, part := range []types.AttributeValue{
			got["Box"], got["Boxes"].(*types.AttributeValueMemberL).Value[0],
			got["Named"].(*types.AttributeValueMemberM).Value["k"],
		} {
			if !attr.Same(part, m) {
				t.Errorf("%s: %v, want %v", name, part, stored)
			}
		}
	}
}

// A value that was read and cannot be written stays as it is stored if others change, and in moves.
func TestValuesThatCannotBeWrittenStay(t *testing.T) {
	t.Parallel()
	type mixed struct {
		F   float32
		Any any
	}
	type a struct {
		ID   string `ddb:"pk=P#{ID}"`
		Body string `ddb:"sk=A"`
		// Pair cannot encode zero values.
		Pair  [2]hollow `ddb:"sk=B"`
		Mixed mixed     `ddb:"sk=C,nested"`
		Next  int       `ddb:"sk=C"`
		Rows  []struct {
			N     int
			Mixed mixed
		} `ddb:"sk=R#{N:02}"`
	}
	s := open[a](t)
	null := &types.AttributeValueMemberNULL{Value: true}
	largest := &types.AttributeValueMemberM{Value: attributes{
		"F": number("3.4028234663852886E+38"), "Any": number("1"),
	}}
	s.put("P#1", "A", attributes{"Body": &types.AttributeValueMemberS{Value: "x"}})
	s.put("P#1", "B", attributes{"Pair": null})
	s.put("P#1", "C", attributes{"Mixed": largest})
	s.put("P#1", "R#01", attributes{"Mixed": largest})
	e := s.load("1")
	e.Value.Body, e.Value.Next = "y", 1
	s.save(e)
	s.want("P#1", "B", "Pair", null)
	s.want("P#1", "C", "Mixed", largest)
	e.Value.ID = "2"
	s.save(e, mapper.Move()) // which leaves out items with zero values only
	s.want("P#2", "C", "Mixed", largest)
	s.want("P#2", "R#01", "Mixed", largest)
	e.Value.Mixed.F = 1
	s.save(e)
	e.Value.Mixed.F = math.MaxFloat32
	s.refuses(e)
}

// hollow encodes its zero value as a nil pointer.
type hollow int

func (v hollow) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if v == 0 {
		return (*types.AttributeValueMemberS)(nil), nil
	}
	return &types.AttributeValueMemberS{Value: "full"}, nil
}

func (v *hollow) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error {
	*v = 1
	return nil
}

// A value whose encoding is a nil pointer is refused, also if it was stored before or the pointer is in a list. An item
// that has it alone is not written.
func TestEncodingsThatAreNilPointers(t *testing.T) {
	t.Parallel()
	type a struct {
		ID   string            `ddb:"pk=P#{ID}"`
		Text string            `ddb:"sk=H"`
		V    hollow            `ddb:"sk=B"`
		List []hollow          `ddb:"sk=C"`
		W    hollow            `ddb:"sk=D"`
		O    string            `ddb:"sk=D"`
		M    map[string]hollow `ddb:"sk=M#{key}"`
	}
	s := open[a](t)
	e := s.New(a{ID: "1", Text: "t", W: 1})
	s.save(e)
	e = s.load("1")
	e.Value.V, e.Value.List = 1, []hollow{1}
	s.save(e)
	e = s.load("1")
	for _, change := range []func(v *a){
		func(v *a) { v.W, v.O = 0, "o" },
		func(v *a) { v.List = []hollow{0} },
		func(v *a) { v.M = map[string]hollow{"a": 0} },
	} {
		e := s.load("1")
		change(&e.Value)
		s.refuses(e)
	}
	e.Value.V = 0 // nothing is left of its item
	s.save(e)
	if got := s.load("1").Value; got.V != 0 || got.W != 1 {
		t.Errorf("%+v", got)
	}
	s.refuses(s.New(a{ID: "2", O: "o"}))
}

// once can read 1, and cannot write it.
type once int

func (v once) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if v == 1 {
		return nil, errors.New("it cannot be written")
	}
	return number(strconv.Itoa(int(v))), nil
}

func (v *once) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	*v = 0
	if n, ok := av.(*types.AttributeValueMemberN); ok {
		i, err := strconv.Atoi(n.Value)
		*v = once(i)
		return err
	}
	return nil
}

type oncePart struct {
	N int
	V once            `dynamodbav:",omitempty"`
	M map[string]once `dynamodbav:",omitempty"`
	P *once           `dynamodbav:",omitempty"`
	T string
}

// onceModel has parts in a fixed item and in elements.
type onceModel struct {
	ID    string     `ddb:"pk=P#{ID}"`
	Body  string     `ddb:"sk=A"`
	Root  once       `ddb:"sk=A" dynamodbav:",omitempty"`
	Fixed oncePart   `ddb:"sk=B"`
	Rows  []oncePart `ddb:"sk=R#{N:02}"`
}

// plainModel has no versions.
type plainModel struct {
	_     struct{}   `ddb:"noversion"`
	ID    string     `ddb:"pk=P#{ID}"`
	Body  string     `ddb:"sk=A"`
	Root  once       `ddb:"sk=A" dynamodbav:",omitempty"`
	Fixed oncePart   `ddb:"sk=B"`
	Rows  []oncePart `ddb:"sk=R#{N:02}"`
}

// A value that can be read and not written can be replaced and removed.
func TestValuesThatCannotBeWrittenCanBeReplaced(t *testing.T) {
	t.Parallel()
	testReplaced[onceModel](t)
	testReplaced[plainModel](t)
}

func testReplaced[M any](t *testing.T) {
	t.Helper()
	for _, to := range []once{0, 2} {
		for _, options := range [][]mapper.WriteOption{nil, {mapper.Move()}} {
			s := open[M](t)
			one := number("1")
			s.put("P#1", "A", attributes{"Body": text("x"), "Root": one})
			part := attributes{"V": one, "M": object(attributes{"a": one}), "P": one, "T": text("t")}
			s.put("P#1", "B", part)
			s.put("P#1", "R#01", part)
			e := s.load("1")
			v := reflect.ValueOf(&e.Value).Elem()
			set := func(p *oncePart) {
				p.V, p.M, p.P = to, nil, nil
				if to > 0 {
					p.M, p.P = map[string]once{"b": to}, &to
				}
			}
			v.FieldByName("Root").SetInt(int64(to))
			set(v.FieldByName("Fixed").Addr().Interface().(*oncePart))
			set(v.FieldByName("Rows").Index(0).Addr().Interface().(*oncePart))
			id := "1"
			if options != nil {
				id = "2"
				v.FieldByName("ID").SetString(id)
			}
			s.save(e, options...)
			if got := s.load(id).Value; !reflect.DeepEqual(got, e.Value) {
				t.Errorf("%T, %d, move %t: %+v, want %+v", got, to, options != nil, got, e.Value)
			}
		}
	}
}

// A stored form of an omitted value stays in each change of its item, also after it was put and moved.
func TestFormsOfOmittedValuesStay(t *testing.T) {
	t.Parallel()
	s := open[onceModel](t)
	null := &types.AttributeValueMemberNULL{Value: true}
	s.put("P#1", "A", attributes{"Body": text("x"), "Root": null})
	s.put("P#1", "B", attributes{"V": null, "M": object(nil), "P": null, "T": text("t")})
	e := s.load("1")
	for i, body := range []string{strings.Repeat("x", 404_000), "y", strings.Repeat("y", 404_000), "z"} {
		e.Value.Body, e.Value.Fixed.T = body, body
		s.save(e)
		if i == 2 {
			e.Value.ID = "2"
			s.save(e, mapper.Move())
		}
		s.want("P#"+e.Value.ID, "A", "Root", null)
		s.want("P#"+e.Value.ID, "B", "V", null)
		s.want("P#"+e.Value.ID, "B", "P", null)
		s.want("P#"+e.Value.ID, "B", "M", object(nil))
	}
}
