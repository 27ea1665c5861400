package codec_test

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
)

type (
	word    string
	count   int16
	level   uint8
	ratio   float32
	flag    bool
	stamp   time.Time
	blob    []byte
	words   []word
	byCount map[count]inner
)

type inner struct {
	City string `dynamodbav:"city"`
	Zip  *int   `dynamodbav:",omitempty"`
	At   time.Time
}

type Base struct {
	Shared string
	Hidden string
}

type Optional struct{ Deep int }

type hidden struct{ Promoted string }

// kitchen has a field of each kind, with each option that means something to it.
type kitchen struct {
	Base
	*Optional
	hidden
	Hidden int // hides that of Base

	S     string
	SOmit string `dynamodbav:"renamed,omitempty"`
	SNull string `dynamodbav:",nullempty"`
	W     word
	B     bool
	BOmit flag `dynamodbav:",omitempty"`
	I     int
	I8    int8
	C     count
	IText int `dynamodbav:",string"`
	IOmit int `dynamodbav:",omitempty"`
	U     uint
	L     level  `dynamodbav:",nullempty"`
	UText uint64 `dynamodbav:",string,omitempty"`
	F     float64
	F32   ratio
	FText float32 `dynamodbav:",string"`
	N     attributevalue.Number
	NOmit attributevalue.Number `dynamodbav:",omitempty"`
	T     time.Time
	TUnix time.Time `dynamodbav:",unixtime"`
	St    stamp
	TP    *time.Time `dynamodbav:",unixtime"`
	By    []byte
	ByO   blob `dynamodbav:",omitempty"`
	Arr   [4]byte
	Zero  [0]byte

	SS      []string
	SSet    []string `dynamodbav:",stringset"`
	NSet    []int    `dynamodbav:",numberset,omitempty"`
	BSet    [][]byte `dynamodbav:",binaryset"`
	Blobs   [][]byte
	Words   words    `dynamodbav:",omitemptyelem"`
	Nulls   []string `dynamodbav:",nullemptyelem"`
	Three   [3]count
	Inners  []inner
	PInners []*inner `dynamodbav:",omitempty"`
	M       map[string]string
	MC      byCount
	MP      map[word]*inner `dynamodbav:",omitempty,omitemptyelem"`
	MF      map[float32]bool
	MB      map[bool]uint
	In      inner
	PIn     *inner
	PS      *string
	PSO     *string `dynamodbav:",omitempty"`
	PPS     **string
	PText   *int   `dynamodbav:",string"`
	Skipped string `dynamodbav:"-"`
}

var optionalForm = codec.StructOf(codec.Funcs[Optional]{},
	row("Deep", codec.NumericOf[int]()))

var innerForm = codec.StructOf(codec.Funcs[inner]{},
	row("City", codec.StringOf[string]()),
	row("Zip", codec.PointerOf(codec.NumericOf[int]())),
	row("At", codec.TimeOf[time.Time]()))

// row returns the form of a field.
func row[V any](name string, f codec.Typed[V]) codec.Field {
	return codec.Field{Name: name, Form: f.Form}
}

// kitchenForm is the form as generated code makes it.
var kitchenForm = codec.StructOf(codec.Funcs[kitchen]{},
	row("Optional", codec.PointerOf(optionalForm)),
	row("S", codec.StringOf[string]()),
	row("SOmit", codec.StringOf[string]()),
	row("W", codec.StringOf[word]()),
	row("BOmit", codec.BoolOf[flag]()),
	row("I8", codec.NumericOf[int8]()),
	row("C", codec.NumericOf[count]()),
	row("IText", codec.NumericOf[int]()),
	row("L", codec.NumericOf[level]()),
	row("UText", codec.NumericOf[uint64]()),
	row("F32", codec.NumericOf[ratio]()),
	row("N", codec.NumberOf[attributevalue.Number]()),
	row("TUnix", codec.TimeOf[time.Time]()),
	row("St", codec.TimeOf[stamp]()),
	row("TP", codec.PointerOf(codec.TimeOf[time.Time]())),
	row("ByO", codec.BytesOf[blob]()),
	row("Arr", codec.ByteArrayOf[[4]byte]()),
	row("SSet", codec.SliceOf[[]string](codec.StringOf[string]())),
	row("NSet", codec.SliceOf[[]int](codec.NumericOf[int]())),
	row("Blobs", codec.SliceOf[[][]byte](codec.BytesOf[[]byte]())),
	row("Words", codec.SliceOf[words](codec.StringOf[word]())),
	row("Three", codec.ArrayOf(codec.NumericOf[count](), func(a *[3]count) []count { return a[:] })),
	row("Inners", codec.SliceOf[[]inner](innerForm)),
	row("PInners", codec.SliceOf[[]*inner](codec.PointerOf(innerForm))),
	row("MC", codec.MapOf[byCount](innerForm)),
	row("MP", codec.MapOf[map[word]*inner](codec.PointerOf(innerForm))),
	row("MF", codec.MapOf[map[float32]bool](codec.BoolOf[bool]())),
	row("In", innerForm),
	row("PIn", codec.PointerOf(innerForm)),
	row("PPS", codec.PointerOf(codec.PointerOf(codec.StringOf[string]()))),
)

// forms are the two forms of a type: by reflect, and as generated code makes it.
func forms() map[string]*codec.Form {
	return map[string]*codec.Form{
		"reflected": codec.Reflected(schema.TypeOf(reflect.TypeFor[kitchen]())),
		"typed":     kitchenForm.Form,
	}
}

var equal = cmp.Options{
	cmp.AllowUnexported(kitchen{}, inner{}, hidden{}), cmp.Exporter(func(t reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	cmp.Comparer(func(a, b stamp) bool { return time.Time(a).Equal(time.Time(b)) }),
	cmpopts.IgnoreFields(kitchen{}, "Skipped"),
}

// Forms encode what attributevalue encodes, and decode it as that does.
func TestForms(t *testing.T) {
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range 2000 {
				v := randomOf[kitchen](r)
				check(t, f, v)
				if t.Failed() {
					return
				}
			}
		})
	}
}

func check(t *testing.T, f *codec.Form, v *kitchen) {
	t.Helper()
	got, err := f.Encode(v, 0)
	want, errWant := attributevalue.Marshal(v)
	if (err == nil) != (errWant == nil) {
		t.Fatalf("%v, attributevalue has %v", err, errWant)
	}
	if err != nil {
		return
	}
	if !attr.Same(got, want) {
		t.Fatalf("encoded %s", cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.AttributeValueMemberM{})))
	}
	var a, b kitchen
	err, errWant = f.Decode(&a, got, 0), attributevalue.Unmarshal(want, &b)
	if (err == nil) != (errWant == nil) {
		t.Fatalf("decoding: %v, attributevalue has %v", err, errWant)
	}
	if d := cmp.Diff(b, a, equal); err == nil && d != "" {
		t.Fatalf("decoded %s", d)
	}
	if !f.Same(v, v, 0) {
		t.Fatal("a value is not the same as itself")
	}
	var c kitchen
	f.Clone(&c, v)
	if !f.Same(&c, v, 0) {
		t.Fatalf("a copy is not the same: %s", cmp.Diff(*v, c, equal))
	}
}

// Two values that encode differently are never the same.
func TestSame(t *testing.T) {
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			for range 2000 {
				v := randomOf[kitchen](r)
				var w kitchen
				f.Clone(&w, v)
				field := reflect.ValueOf(&w).Elem().Field(3 + r.IntN(reflect.TypeFor[kitchen]().NumField()-4))
				fill(r, field, 0)
				a, errA := f.Encode(v, 0)
				b, errB := f.Encode(&w, 0)
				if errA == nil && errB == nil && f.Same(v, &w, 0) && !attr.Same(a, b) {
					t.Fatalf("the same, but encoded differently:\n%s", cmp.Diff(a, b, cmpopts.IgnoreUnexported()))
				}
			}
		})
	}
}

// Names match exactly, where attributevalue takes others too.
func TestExactNames(t *testing.T) {
	av := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"CITY": &types.AttributeValueMemberS{Value: "no"},
		"At":   &types.AttributeValueMemberS{Value: "2021-11-14T00:00:00Z"},
	}}
	for _, f := range []*codec.Form{innerForm.Form, codec.Reflected(schema.TypeOf(reflect.TypeFor[inner]()))} {
		var v inner
		if err := f.Decode(&v, av, 0); err != nil || v.City != "" || v.At.IsZero() {
			t.Errorf("decoded %+v, %v", v, err)
		}
	}
}

type marked struct{ text string }

func (m marked) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if m.text == "panic" {
		panic("as asked")
	}
	return &types.AttributeValueMemberS{Value: "<" + m.text + ">"}, nil
}

func (m *marked) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	m.text = strings.Trim(av.(*types.AttributeValueMemberS).Value, "<>")
	return nil
}

func TestOpaque(t *testing.T) {
	type both struct {
		M marked
		A any
	}
	f := codec.Opaque(codec.OpaqueOf[both]().Form, nil, codec.NamesOf(schema.TypeOf(reflect.TypeFor[both]())))
	v := both{marked{"x"}, []any{"a", 1.5}}
	av, err := f.Encode(&v, 0)
	if err != nil {
		t.Fatal(err)
	}
	var w both
	if err := f.Decode(&w, av, 0); err != nil || w.M.text != "x" {
		t.Errorf("decoded %+v, %v", w, err)
	}
	if f.Same(&v, &v, 0) {
		t.Error("opaque values are the same")
	}
	if _, err := f.Encode(&both{marked{"panic"}, nil}, 0); err == nil ||
		!strings.Contains(redact.Detail(err), "as asked") || strings.Contains(err.Error(), "as asked") {
		t.Errorf("a panic gave %v", err)
	}
	if _, err := f.Encode(&both{A: make(chan int)}, 0); err == nil || !strings.Contains(err.Error(), "cannot store") {
		t.Errorf("a channel gave %v", err)
	}
	loop := &both{}
	loop.A = loop
	if _, err := f.Encode(loop, 0); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("a value in itself gave %v", err)
	}
}

type node struct {
	Name     string
	Children []node `dynamodbav:",omitempty"`
	Next     *node  `dynamodbav:",omitempty"`
	By       map[string]node
}

var nodeForm = codec.Recursive[node]()

func init() {
	codec.Define(nodeForm, codec.StructOf(codec.Funcs[node]{},
		row("Name", codec.StringOf[string]()),
		row("Children", codec.SliceOf[[]node](nodeForm)),
		row("Next", codec.PointerOf(nodeForm)),
		row("By", codec.MapOf[map[string]node](nodeForm)),
	))
}

func TestRecursive(t *testing.T) {
	for name, f := range map[string]*codec.Form{
		"typed":     nodeForm.Form,
		"reflected": codec.Reflected(schema.TypeOf(reflect.TypeFor[node]())),
	} {
		t.Run(name, func(t *testing.T) {
			v := node{
				"a",
				[]node{{Name: "b"}, {Name: "c", Next: &node{Name: "d"}}},
				nil,
				map[string]node{"e": {Name: "f"}},
			}
			got, err := f.Encode(&v, 0)
			want, _ := attributevalue.Marshal(v)
			if err != nil || !attr.Same(got, want) {
				t.Fatalf("encoded %v, %v", got, err)
			}
			var w, c node
			if err := f.Decode(&w, got, 0); err != nil || !f.Same(&v, &w, 0) {
				t.Errorf("decoded %+v, %v", w, err)
			}
			f.Clone(&c, &v)
			c.Children[1].Next.Name = "other"
			if v.Children[1].Next.Name != "d" || f.Same(&v, &c, 0) {
				t.Error("a copy shares what a pointer points to")
			}
			loop := node{Name: "loop"}
			loop.Next = &loop
			if _, err := f.Encode(&loop, 0); err == nil || !strings.Contains(err.Error(), "nested deeper") {
				t.Errorf("a value in itself gave %v", err)
			}
		})
	}
}

// What leaves and structs of them do allocates only what it returns.
func TestAllocations(t *testing.T) {
	f := innerForm.Form
	zip := 5
	a, b := &inner{City: "Rome", Zip: &zip}, &inner{City: "Rome", Zip: &zip}
	if n := testing.AllocsPerRun(100, func() { f.Same(a, b, 0) }); n != 0 {
		t.Errorf("comparing allocates %v times", n)
	}
}

// onceKey is a map's key whose text can be read into a fresh value only.
type onceKey struct{ s string }

func (k onceKey) MarshalText() ([]byte, error) { return []byte(k.s), nil }

func (k *onceKey) UnmarshalText(b []byte) error {
	k.s += string(b)
	return nil
}

// Each key of a map is read into a value of its own.
func TestKeysAreReadOneByOne(t *testing.T) {
	f := codec.Reflected(schema.TypeOf(reflect.TypeFor[map[onceKey]int]()))
	want := map[onceKey]int{{"a"}: 1, {"b"}: 2, {"c"}: 3}
	av, err := f.Encode(&want, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got map[onceKey]int
	if err := f.Decode(&got, av, 0); err != nil || !maps.Equal(got, want) {
		t.Error(got, err)
	}
}
