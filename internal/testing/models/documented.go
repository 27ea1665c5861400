package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The types and options of this file are those that the documentation of attributevalue describes. Others have the
// shapes of its tests of encoding, decoding, marshalers and fields. Some are refused by this library.

// Named types of the basic kinds, without methods.
type (
	NamedString string
	NamedInt    int32
	NamedUint   uint16
	NamedFloat  float32
	NamedBool   bool
	NamedSlice  []NamedInt
	NamedMap    map[string]int
	NamedBytes  []byte
	NamedTime   time.Time
)

// YesNo is a string that encodes itself as a bool, by value.
type YesNo string

// MarshalDynamoDBAttributeValue writes a bool.
func (y YesNo) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberBOOL{Value: y == "yes"}, nil
}

// UnmarshalDynamoDBAttributeValue reads a bool.
func (y *YesNo) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	switch b, ok := v.(*types.AttributeValueMemberBOOL); {
	case !ok:
		*y = ""
	case b.Value:
		*y = "yes"
	default:
		*y = "no"
	}
	return nil
}

// Grade is a number that encodes itself as a text, by value.
type Grade uint

// MarshalDynamoDBAttributeValue writes a text.
func (g Grade) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: fmt.Sprint("grade ", uint(g))}, nil
}

// UnmarshalDynamoDBAttributeValue reads a text.
func (g *Grade) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return errors.New("a grade is a text")
	}
	var n uint
	_, err := fmt.Sscanf(s.Value, "grade %d", &n)
	*g = Grade(n)
	return err
}

// Read decodes itself, and does not encode itself.
type Read struct{ A string }

// UnmarshalDynamoDBAttributeValue reads what attributevalue has written.
func (v *Read) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	if m, ok := av.(*types.AttributeValueMemberM); ok {
		if s, ok := m.Value["A"].(*types.AttributeValueMemberS); ok {
			v.A = s.Value
		}
	}
	return nil
}

// Wraps embeds a struct that decodes itself.
type Wraps struct{ Read }

// NamedPointer is a pointer type with a name.
type NamedPointer *int

// Odd encodes itself as values that DynamoDB does not take, and others.
type Odd uint8

// MarshalDynamoDBAttributeValue returns a value, or none: then attributevalue writes the number.
func (o Odd) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return []types.AttributeValue{
		&types.AttributeValueMemberS{Value: fmt.Sprint(uint8(o))}, (*types.AttributeValueMemberS)(nil),
		&types.AttributeValueMemberNULL{},
		&types.AttributeValueMemberL{Value: []types.AttributeValue{nil}}, &types.AttributeValueMemberSS{},
		&types.AttributeValueMemberS{Value: "\xff"}, &types.AttributeValueMemberN{Value: "1e200"}, nil,
	}[o%8], nil
}

// UnmarshalDynamoDBAttributeValue reads a number, or its text.
func (o *Odd) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	var text string
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		text = av.Value
	case *types.AttributeValueMemberN:
		text = av.Value
	}
	n, err := strconv.ParseUint(text, 10, 8)
	*o = Odd(n)
	return err
}

// Hollow encodes its zero value as a nil pointer.
type Hollow int

// MarshalDynamoDBAttributeValue returns the number, or a nil pointer.
func (h Hollow) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if h == 0 {
		return (*types.AttributeValueMemberN)(nil), nil
	}
	return &types.AttributeValueMemberN{Value: fmt.Sprint(int(h))}, nil
}

// UnmarshalDynamoDBAttributeValue reads a number.
func (h *Hollow) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	if n, ok := av.(*types.AttributeValueMemberN); ok {
		i, err := strconv.Atoi(n.Value)
		*h = Hollow(i)
		return err
	}
	return nil
}

// Texted has methods for text, which attributevalue does not use for attributes: its fields are stored.
type Texted struct{ A, B string }

// MarshalText joins the fields.
func (t Texted) MarshalText() ([]byte, error) { return []byte(t.A + "|" + t.B), nil }

// UnmarshalText splits a text.
func (t *Texted) UnmarshalText(b []byte) error {
	a, rest, ok := strings.Cut(string(b), "|")
	if t.A, t.B = a, rest; !ok {
		return errors.New("no |")
	}
	return nil
}

// Tagged has an option of each kind on its fields.
type Tagged struct {
	Renamed string            `dynamodbav:"other"`
	Omitted int               `dynamodbav:",omitempty"`
	Quoted  int64             `dynamodbav:",string"`
	Unix    time.Time         `dynamodbav:",unixtime"`
	Texts   []string          `dynamodbav:",stringset,omitempty"`
	Numbers []float64         `dynamodbav:",numberset,omitempty"`
	Blobs   [][]byte          `dynamodbav:",binaryset,omitempty"`
	Null    string            `dynamodbav:",nullempty"`
	Elems   map[string]string `dynamodbav:",omitempty,omitemptyelem"`
	Hidden  string            `dynamodbav:"-"`
	Plain   *NamedFloat
	Any     any
}

// Embeds embeds a struct, and a pointer to one.
type Embeds struct {
	Common
	*Inner
	Own string
}

// Inner is embedded by pointer.
type Inner struct{ Deep, Deeper float64 }

// documented are the types of fields.
var documented = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](),
	reflect.TypeFor[int32](),
	reflect.TypeFor[int64](), reflect.TypeFor[uint](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](),
	reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[[3]byte](), reflect.TypeFor[time.Time](), reflect.TypeFor[any](),
	reflect.TypeFor[NamedString](), reflect.TypeFor[NamedInt](), reflect.TypeFor[NamedUint](),
	reflect.TypeFor[NamedFloat](),
	reflect.TypeFor[NamedBool](), reflect.TypeFor[NamedSlice](), reflect.TypeFor[NamedMap](),
	reflect.TypeFor[NamedBytes](),
	reflect.TypeFor[NamedTime](), reflect.TypeFor[YesNo](), reflect.TypeFor[Grade](), reflect.TypeFor[Texted](),
	reflect.TypeFor[Point](), reflect.TypeFor[Money](), reflect.TypeFor[UUID](), reflect.TypeFor[Tagged](),
	reflect.TypeFor[Embeds](),
	reflect.TypeFor[attributevalue.Number](), reflect.TypeFor[attributevalue.UnixTime](),
	reflect.TypeFor[json.Number](),
	reflect.TypeFor[big.Int](), reflect.TypeFor[big.Float](), reflect.TypeFor[time.Duration](),
	reflect.TypeFor[[][]byte](),
	reflect.TypeFor[map[int]string](), reflect.TypeFor[map[float64]any](), reflect.TypeFor[map[float32]int](),
	reflect.TypeFor[map[bool]int](),
	reflect.TypeFor[map[UUID]Address](), reflect.TypeFor[[2]int](), reflect.TypeFor[[2]any](),
	reflect.TypeFor[[]time.Time](),
	reflect.TypeFor[Read](), reflect.TypeFor[Wraps](), reflect.TypeFor[NamedPointer](), reflect.TypeFor[Odd](),
	reflect.TypeFor[Hollow](),
	reflect.TypeFor[[][2]int](),
	reflect.TypeFor[**int](), reflect.TypeFor[[]*string](), reflect.TypeFor[map[string][]float64](),
}

// documentedType returns a random type.
func documentedType(r *rand.Rand, depth int) reflect.Type {
	t := documented[r.IntN(len(documented))]
	if depth == 0 {
		return t
	}
	switch r.IntN(10) {
	case 0:
		return reflect.PointerTo(t)
	case 1:
		return reflect.SliceOf(documentedType(r, depth-1))
	case 2:
		return reflect.MapOf(reflect.TypeFor[string](), documentedType(r, depth-1))
	case 3:
		return reflect.ArrayOf(2, documentedType(r, depth-1))
	case 4:
		var fields []reflect.StructField
		for i := range 1 + r.IntN(3) {
			fields = append(fields, documentedField(r, fmt.Sprintf("G%d", i), "", depth-1))
		}
		return reflect.StructOf(fields)
	}
	return t
}

// documentedField returns a field of a random type, with random options.
func documentedField(r *rand.Rand, name, ddb string, depth int) reflect.StructField {
	t := documentedType(r, depth)
	var av []string
	for _, o := range []string{"omitempty", "omitemptyelem", "nullempty", "nullemptyelem", "string", "unixtime"} {
		if r.IntN(12) == 0 {
			av = append(av, o)
		}
	}
	if t.Kind() == reflect.Slice && r.IntN(4) == 0 {
		switch t.Elem().Kind() {
		case reflect.String:
			av = append(av, "stringset")
		case reflect.Float64, reflect.Int32:
			av = append(av, "numberset")
		}
	}
	elem := t
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	if ddb != "" && elem.Kind() == reflect.Struct {
		ddb += ",nested"
	}
	tag := ""
	if ddb != "" {
		tag = fmt.Sprintf("ddb:%q", ddb)
	}
	if len(av) > 0 || r.IntN(4) == 0 {
		attribute := ""
		if r.IntN(2) == 0 {
			attribute = "a_" + strings.ToLower(name)
		}
		tag += fmt.Sprintf(" dynamodbav:%q", strings.Join(append([]string{attribute}, av...), ","))
	}
	return reflect.StructField{Name: name, Type: t, Tag: reflect.StructTag(strings.TrimSpace(tag))}
}

// keyFields are fields of elements that keys name, with the placeholders of their keys, some of which the schema
// refuses.
var keyFields = []struct {
	typ  reflect.Type
	tag  string
	keys []string
}{
	{reflect.TypeFor[string](), "", []string{"K"}},
	{reflect.TypeFor[time.Time](), "", []string{"K", "K:millis", "K:seconds", "K:unix", "K:date", "K:month", "K:week"}},
	{
		reflect.TypeFor[time.Time](),
		`dynamodbav:",unixtime"`,
		[]string{"K", "K:millis", "K:seconds", "K:unix", "K:date"},
	},
	{
		reflect.TypeFor[time.Time](),
		`ddb:"stored" dynamodbav:",unixtime"`,
		[]string{"K", "K:millis", "K:seconds", "K:unix"},
	},
	{reflect.TypeFor[int64](), "", []string{"K:sortable", "K:012"}},
	{reflect.TypeFor[UUID](), "", []string{"K"}},
	{reflect.TypeFor[UUID](), `ddb:"stored"`, []string{"K"}},
	{reflect.TypeFor[Texted](), "", []string{"K"}},
	{reflect.TypeFor[*time.Time](), "", []string{"K:seconds", "K"}},
	{reflect.TypeFor[*string](), "", []string{"K"}},
	{reflect.TypeFor[NamedTime](), "", []string{"K:seconds", "K"}},
}

// indexFields are fields that keys of an index name, with the placeholders, like keyFields.
var indexFields = []struct {
	typ  reflect.Type
	tag  string
	keys []string
}{
	{reflect.TypeFor[string](), "", []string{"X"}},
	{reflect.TypeFor[*string](), `dynamodbav:",omitempty"`, []string{"X"}},
	{reflect.TypeFor[NamedString](), "", []string{"X"}},
	{reflect.TypeFor[time.Time](), "", []string{"X", "X:millis", "X:seconds", "X:unix", "X:date"}},
	{reflect.TypeFor[*time.Time](), "", []string{"X", "X:millis", "X:seconds", "X:unix", "X:month"}},
	{reflect.TypeFor[time.Time](), `dynamodbav:",unixtime"`, []string{"X", "X:millis", "X:seconds", "X:unix"}},
	{reflect.TypeFor[*time.Time](), `dynamodbav:",unixtime"`, []string{"X", "X:seconds", "X:unix"}},
	{reflect.TypeFor[NamedTime](), "", []string{"X", "X:seconds"}},
	{reflect.TypeFor[int64](), "", []string{"X:sortable", "X:012"}},
	{reflect.TypeFor[*uint16](), "", []string{"X:sortable", "X:05"}},
	{reflect.TypeFor[*NamedInt](), "", []string{"X:sortable", "X"}},
	{reflect.TypeFor[UUID](), "", []string{"X"}},
	{reflect.TypeFor[*UUID](), "", []string{"X"}},
	{reflect.TypeFor[float64](), "", []string{"X"}},
	{reflect.TypeFor[*bool](), "", []string{"X"}},
	{reflect.TypeFor[**string](), "", []string{"X"}},
	{reflect.TypeFor[[]byte](), "", []string{"X"}},
	{reflect.TypeFor[YesNo](), "", []string{"X"}},
	{reflect.TypeFor[any](), "", []string{"X"}},
}

// Documented returns a random model of documented types and options: a struct made by reflect,
// whose table is "random" with the keys PK and SK. The schema refuses some. Types of different numbers share no
// partition.
func Documented(r *rand.Rand, number int) reflect.Type {
	fields := []reflect.StructField{
		{Name: "_", PkgPath: "modeltest", Type: reflect.TypeFor[struct{}](), Tag: `ddb:"table=random"`},
		{Name: "ID", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(fmt.Sprintf(`ddb:"pk=D%d#{ID}"`, number))},
		{Name: "Body", Type: reflect.TypeFor[string](), Tag: `ddb:"sk=A"`},
	}
	for range 2 + r.IntN(4) {
		fields = append(fields, documentedField(r, fmt.Sprintf("F%d", len(fields)), "sk=A", 2))
	}
	if r.IntN(2) == 0 {
		fields = append(fields, documentedField(r, fmt.Sprintf("F%d", len(fields)), "sk=B", 1))
	}
	if r.IntN(2) == 0 {
		k := keyFields[r.IntN(len(keyFields))]
		elem := []reflect.StructField{
			{Name: "K", Type: k.typ, Tag: reflect.StructTag(k.tag)},
			{Name: "Body", Type: reflect.TypeFor[string]()},
		}
		for i := range 1 + r.IntN(2) {
			elem = append(elem, documentedField(r, fmt.Sprintf("E%d", i), "", 1))
		}
		fields = append(fields, reflect.StructField{
			Name: "List", Type: reflect.SliceOf(reflect.StructOf(elem)),
			Tag: reflect.StructTag(fmt.Sprintf(`ddb:"sk=L#{%s}"`, k.keys[r.IntN(len(k.keys))])),
		})
	}
	if r.IntN(3) == 0 {
		x := indexFields[r.IntN(len(indexFields))]
		fields = append(fields, reflect.StructField{
			Name: "X", Type: x.typ, Tag: reflect.StructTag(strings.TrimSpace(`ddb:"sk=A" ` + x.tag)),
		})
		form := []string{
			"index=byX,hash=IPK,range=ISK,pk=I#{ID},sk={%s}", "index=byX,hash=IPK,range=ISK,pk=I#{%s},sk={ID}",
			"index=byX,hash=IPK,pk=I#{%s}",
		}[r.IntN(3)]
		fields = slices.Insert(fields, 1, reflect.StructField{
			Name: "_", PkgPath: "modeltest", Type: reflect.TypeFor[struct{}](),
			Tag: reflect.StructTag(fmt.Sprintf("ddb:%q", fmt.Sprintf(form, x.keys[r.IntN(len(x.keys))]))),
		})
	}
	return reflect.StructOf(fields)
}

// deepest is the depth of the values that Draw draws in types that contain themselves.
const deepest = 8

// Draw sets a value to a random one of its type, as often at the limits of the type as between them. Values that
// cannot be stored are among them.
func Draw(r *rand.Rand, v reflect.Value, depth int) {
	if (r.IntN(7) == 0 || depth > deepest) && v.Kind() != reflect.Struct {
		v.SetZero()
		return
	}
	if special := drawSpecial(r, v); special {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(
			[]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1<<53 + 1, r.Int64()}[r.IntN(7)] >> (64 - v.Type().Bits()),
		)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint([]uint64{0, 1, math.MaxUint64, 1<<53 + 1, r.Uint64()}[r.IntN(5)] >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(float32([]float64{0, -0.1, 1e30, 1.0 / 3, math.MaxFloat32, r.NormFloat64()}[r.IntN(6)])))
	case reflect.Float64:
		v.SetFloat(
			[]float64{0, math.Copysign(0, -1), 0.1, 1e100, 1e-100, 1 << 53, 1.0 / 3, r.NormFloat64(), 1e17}[r.IntN(9)],
		)
	case reflect.String:
		v.SetString(drawText(r))
	case reflect.Slice:
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			Draw(r, v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			Draw(r, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			Draw(r, k, depth+1)
			Draw(r, e, depth+1)
			v.SetMapIndex(k, e)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Draw(r, v.Elem(), depth+1)
	case reflect.Interface:
		if x := drawAny(r, depth); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				Draw(r, f, depth+1)
			}
		}
	}
}

var zones = []*time.Location{
	time.UTC, time.FixedZone("LMT", -(44*60 + 30)), time.FixedZone("", 5*3600+1800), time.FixedZone("", 30),
	time.FixedZone("", -43200),
	time.FixedZone("", 90000),
}

// DrawTime returns a time of any year and zone.
func DrawTime(r *rand.Rand) time.Time {
	year := []int{1, 0, 1960, 1971, 2024, 2262, 9999, 10000, -1}[r.IntN(9)]
	if r.IntN(8) > 0 {
		year = 1970 + r.IntN(300)
	}
	return time.Date(
		year,
		time.Month(1+r.IntN(12)),
		1+r.IntN(28),
		r.IntN(24),
		r.IntN(60),
		r.IntN(60),
		r.IntN(3)*123456789,
		zones[r.IntN(len(zones))],
	)
}

func drawSpecial(r *rand.Rand, v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = DrawTime(r)
	case *NamedTime:
		*p = NamedTime(DrawTime(r))
	case *attributevalue.UnixTime:
		*p = attributevalue.UnixTime(DrawTime(r))
	case *big.Int:
		p.SetString(drawNumber(r, false), 10)
	case *big.Float:
		_, _, _ = p.SetPrec(100).Parse(drawNumber(r, true), 10)
	case *attributevalue.Number:
		*p = attributevalue.Number(drawNumber(r, true))
	case *json.Number:
		*p = json.Number(drawNumber(r, true))
	case *UUID:
		p[0], p[15] = byte(r.IntN(256)), byte(r.IntN(256))
	case *YesNo:
		*p = []YesNo{"yes", "no"}[r.IntN(2)]
	case interface{ SetPoint(x, y int) }:
		p.SetPoint(r.IntN(5), r.IntN(5))
	default:
		return false
	}
	return true
}

// drawNumber returns a number of up to 38 digits.
func drawNumber(r *rand.Rand, fraction bool) string {
	digits := fmt.Sprint(1 + r.IntN(9))
	for range []int{0, 5, 16, 20, 37}[r.IntN(5)] {
		digits += fmt.Sprint(r.IntN(10))
	}
	if fraction && len(digits) > 1 && r.IntN(2) == 0 {
		digits = digits[:1] + "." + digits[1:]
	}
	return []string{"", "-"}[r.IntN(2)] + digits
}

// drawText returns a text, sometimes with a size around a limit.
func drawText(r *rand.Rand) string {
	switch r.IntN(40) {
	case 0, 2, 3:
		return strings.Repeat("x", []int{1, 1023, 1024, 1025, 2048, 4095, 4096, 4097}[r.IntN(8)])
	case 1:
		return "\xff"
	}
	b := make([]rune, r.IntN(6))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// drawAny returns a value of any type at any depth.
func drawAny(r *rand.Rand, depth int) any {
	if depth > 5 {
		return "deep"
	}
	switch r.IntN(40) {
	case 0, 4, 5:
		return nil
	case 1, 6, 7, 8:
		m := map[string]any{}
		for range r.IntN(4) {
			m[fmt.Sprint("k", r.IntN(9))] = drawAny(r, depth+1)
		}
		return m
	case 2, 9, 10:
		l := make([]any, r.IntN(4))
		for i := range l {
			l[i] = drawAny(r, depth+1)
		}
		return l
	case 3:
		return []any{
			big.NewInt(5), make(chan int), func() {},
			struct{ hidden int }{1},
			complex(1, 2), &Point{},
			Money{1, "EUR"},
			struct{}{},
			math.Inf(1),
			[]string{"a"},
			map[int]string{1: "x"},
			[2]byte{1, 2},
			new(any), time.Duration(5),
		}[r.IntN(14)]
	}
	t := documented[r.IntN(len(documented))]
	if t == reflect.TypeFor[Tagged]() {
		t = reflect.TypeFor[Embeds]() // which has no sets: in an interface, they are read as sets in another order
	}
	v := reflect.New(t)
	Draw(r, v.Elem(), depth+1)
	if r.IntN(3) == 0 {
		return v.Interface()
	}
	return v.Elem().Interface()
}
