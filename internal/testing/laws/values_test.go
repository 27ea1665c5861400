package laws

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/mapper"
)

// liberia is a zone with seconds, as Africa/Monrovia was until 1972.
var liberia = time.FixedZone("LMT", -(44*60 + 30))

type event struct {
	At   time.Time
	Text string
}

// A key with a finer time than the attribute that holds the same field is refused: after a load the two would differ.
func TestKeysAreNoFinerThanAttributes(t *testing.T) {
	t.Parallel()
	type unix struct {
		At   time.Time `dynamodbav:",unixtime"`
		Text string
	}
	type stored struct {
		At time.Time `ddb:"stored" dynamodbav:",unixtime"`
	}
	for _, m := range []any{
		struct {
			ID   string `ddb:"pk={ID}"`
			Name string `ddb:"sk=H"`
			List []unix `ddb:"sk=E#{At:millis}"`
		}{},
		struct {
			ID   string   `ddb:"pk={ID}"`
			Name string   `ddb:"sk=H"`
			List []stored `ddb:"sk=E#{At}"`
		}{},
		struct {
			ID   string      `ddb:"pk={ID}"`
			Name string      `ddb:"sk=H"`
			List []time.Time `ddb:"sk=E#{.:millis}" dynamodbav:",unixtime"`
		}{},
		struct {
			At   time.Time `ddb:"pk=DAY#{At:millis}" dynamodbav:",unixtime"`
			Name string    `ddb:"sk=H"`
		}{},
		struct {
			ID   string         `ddb:"pk={ID}"`
			At   time.Time      `ddb:"sk=H" dynamodbav:",unixtime"`
			List map[string]int `ddb:"sk=E#{^At:millis}#{key}"`
		}{},
		struct {
			ID   string    `ddb:"pk={ID}"`
			At   time.Time `ddb:"sk=E#{At:millis}" dynamodbav:",unixtime"`
			Text string    `ddb:"sk=E#{At:millis}"`
		}{},
	} {
		if _, err := schema.Of(reflect.TypeOf(m)); err == nil ||
			!strings.Contains(err.Error(), "finer than the stored seconds") {
			t.Errorf("%T: %v", m, err)
		}
	}
}

// lossy encodes itself in a form that its key does not have.
type lossy struct{ text string }

func (l lossy) MarshalText() ([]byte, error)     { return []byte(l.text), nil }
func (l *lossy) UnmarshalText(text []byte) error { l.text = string(text); return nil }
func (l lossy) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return text(strings.ToLower(l.text)), nil
}

func (l *lossy) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	l.text = v.(*types.AttributeValueMemberS).Value
	return nil
}

// unreadable has a text that it cannot read.
type unreadable struct{ N int }

func (o unreadable) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "n%d", o.N), nil }
func (o *unreadable) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d", &o.N)
	return err
}

// forgetful reads a text as another value.
type forgetful struct{ text string }

func (f forgetful) MarshalText() ([]byte, error) { return []byte(f.text), nil }
func (f *forgetful) UnmarshalText(text []byte) error {
	f.text = strings.ToLower(string(text))
	return nil
}

// What a key and an attribute hold of one field agrees, and what a key holds can be read back, before anything is sent.
func TestWritesOfUnreadableKeysAreRefused(t *testing.T) {
	t.Parallel()
	type entry struct {
		K    lossy `ddb:"stored"`
		Text string
	}
	type a struct {
		ID   string  `ddb:"pk={ID}"`
		Name string  `ddb:"sk=H"`
		List []entry `ddb:"sk=E#{K}"`
	}
	s := open[a](t)
	s.refuses(s.New(a{ID: "1", Name: "x", List: []entry{{K: lossy{"Upper"}}}}))
	s.save(s.New(a{ID: "2", Name: "x", List: []entry{{K: lossy{"lower"}}}}))
	s.load("2")

	type b struct {
		ID   string         `ddb:"pk={ID}"`
		Kind lossy          `ddb:"sk=H,stored"`
		List map[string]int `ddb:"sk=E#{^Kind}#{key}"`
	}
	sb := open[b](t)
	sb.refuses(sb.New(b{ID: "1", Kind: lossy{"Upper"}, List: map[string]int{"a": 1}}))

	type c struct {
		ID   string                   `ddb:"pk={ID}"`
		Name string                   `ddb:"sk=H"`
		List map[forgetful]string     `ddb:"sk=E#{key}"`
		More []struct{ K unreadable } `ddb:"sk=M#{K}"`
		Self []unreadable             `ddb:"sk=S#{.}"`
		Keys map[string]*forgetful    `ddb:"-"`
	}
	sc := open[c](t)
	sc.refuses(sc.New(c{ID: "1", Name: "x", List: map[forgetful]string{{"Upper"}: "x"}}))
	sc.refuses(sc.New(c{ID: "1", Name: "x", More: []struct{ K unreadable }{{unreadable{1}}}}))
	sc.refuses(sc.New(c{ID: "1", Name: "x", Self: []unreadable{{1}}}))
	type d struct {
		ID   forgetful `ddb:"pk=P#{ID}"`
		Name string    `ddb:"sk=H"`
	}
	sd := open[d](t)
	sd.refuses(sd.New(d{ID: forgetful{"Upper"}, Name: "x"}))
	if all := must(s.client.Scan(context.Background(), scanOf(sc.table)))(t); len(all.Items) > 0 {
		t.Errorf("%d items are stored", len(all.Items))
	}
}

// A key with two placeholders of one field gives it the complete value.
func TestKeysWithPartsOfOneTime(t *testing.T) {
	t.Parallel()
	type a struct {
		ID   string         `ddb:"pk={ID}"`
		Name string         `ddb:"sk=H"`
		At   time.Time      `ddb:"sk=H"`
		List []event        `ddb:"sk=E#{At}#{At:date}"`
		More []event        `ddb:"sk=F#{At:date}#{At}"`
		Map  map[string]int `ddb:"sk=G#{^At:date}#{^At}#{key}"`
	}
	s := open[a](t)
	at := time.Date(2024, 2, 3, 4, 5, 6, 789, time.UTC)
	s.save(s.New(a{
		ID: "1", Name: "x", At: at, List: []event{{At: at}}, More: []event{{At: at}}, Map: map[string]int{"k": 1},
	}))
	e := s.load("1")
	if v := e.Value; len(v.List) != 1 || !v.List[0].At.Equal(at) || !v.More[0].At.Equal(at) || v.Map["k"] != 1 {
		t.Errorf("%+v", v)
	}
	if r := must(s.Save(context.Background(), e))(t); r.Consumed.WCU != 0 {
		t.Error(r)
	}
}

// A time is stored as the same instant, whatever its zone: as an attribute, in keys, inside values of any type, and
// in patches.
func TestTimesKeepTheirInstant(t *testing.T) {
	t.Parallel()
	type stamp time.Time
	type a struct {
		_     struct{}             `ddb:"index=byTime,hash=IPK,range=ISK,pk=X,sk={Plain}"`
		ID    string               `ddb:"pk={ID}"`
		Plain time.Time            `ddb:"sk=H"`
		Unix  time.Time            `ddb:"sk=H" dynamodbav:",unixtime"`
		Stamp stamp                `ddb:"sk=H"`
		Ptr   *time.Time           `ddb:"sk=H"`
		Many  []time.Time          `ddb:"sk=H"`
		Any   any                  `ddb:"sk=H"`
		Map   map[string]any       `ddb:"sk=H"`
		Keys  map[time.Time]string `ddb:"sk=H"`
		List  []event              `ddb:"sk=E#{At:seconds}"`
	}
	s := open[a](t)
	ctx := context.Background()
	for i, zone := range []*time.Location{
		liberia, time.FixedZone("", 30), time.FixedZone("", -59), time.FixedZone("", 90000), time.FixedZone("",
			-86400), time.UTC,
		time.FixedZone("", 23*3600+59*60), time.FixedZone("", 5*3600+53*60+28),
	} {
		at := time.Date(1971, 6, 1, 12, 0, 0, 5, zone)
		id := fmt.Sprint(i)
		v := a{
			ID: id, Plain: at, Unix: at.Truncate(time.Second), Stamp: stamp(at), Ptr: &at, Many: []time.Time{at},
			Any: at,
			Map: map[string]any{
				"at": at,
				"in": struct{ At time.Time }{at},
			}, List: []event{{At: at.Truncate(time.Second)}},
		}
		s.save(s.New(v))
		e := s.load(id)
		got := e.Value
		for name, x := range map[string]time.Time{
			"Plain": got.Plain, "Stamp": time.Time(got.Stamp), "Ptr": *got.Ptr, "Many": got.Many[0],
			"Any":    must(time.Parse(time.RFC3339Nano, got.Any.(string)))(t),
			"Map":    must(time.Parse(time.RFC3339Nano, got.Map["at"].(string)))(t),
			"Struct": must(time.Parse(time.RFC3339Nano, got.Map["in"].(map[string]any)["At"].(string)))(t),
		} {
			if !x.Equal(at) {
				t.Errorf("%v: %s is %v, not %v", zone, name, x, at)
			}
		}
		if len(got.List) != 1 || !got.List[0].At.Equal(at.Truncate(time.Second)) ||
			!got.Unix.Equal(at.Truncate(time.Second)) {
			t.Errorf("%v: %v", zone, got.List)
		}
		e.Value.Plain = at // the same instant: nothing to write, or the same index key
		before := s.get(id, "H")["ISK"]
		s.save(e)
		s.want(id, "H", "ISK", before)
	}
	if _, err := s.Save(ctx, s.New(a{ID: "keys", Keys: map[time.Time]string{time.Date(1971, 6, 1, 12, 0, 0, 0,
		liberia): "x"}})); err == nil {
		t.Error("a key of a map loses its seconds")
	}
	e := s.load("0")
	e.Value.Plain = time.Date(1971, 6, 1, 12, 0, 30, 5, liberia)
	s.save(e)
	if got := s.load("0").Value.Plain; !got.Equal(e.Value.Plain) {
		t.Errorf("%v, not %v", got, e.Value.Plain)
	}
}

// What attributevalue would drop or store empty is refused in values of any type, as it is in the types of a model.
func TestValuesOfAnyTypeAreNotDropped(t *testing.T) {
	t.Parallel()
	type inner struct{ C chan int }
	type named []octet
	type a struct {
		ID   string         `ddb:"pk={ID}"`
		Any  any            `ddb:"sk=H"`
		List []any          `ddb:"sk=H"`
		Map  map[string]any `ddb:"sk=H"`
		Text string         `ddb:"sk=H"`
	}
	s := open[a](t)
	var nothing any
	cycle := map[string]any{}
	cycle["x"] = cycle
	for i, v := range []any{
		big.NewInt(5), *big.NewInt(5), big.NewFloat(5), big.NewRat(1, 2), make(chan int), func() {}, complex(1, 2),
		complex64(1),
		uintptr(5),
		inner{make(chan int)},
		&inner{},
		struct{ hidden int }{1},
		[]any{big.NewInt(1)},
		&[]any{make(chan int)},
		map[string]*big.Int{"x": big.NewInt(5)},
		[1]any{func() {}},
		named{1},
		struct{ P *any }{&nothing},
		[]*any{&nothing},
		unreadable{}.pointerMarshaler(),
		map[color]int{1: 1, 2: 2},
		map[float64]int{math.NaN(): 1, -math.NaN(): 2},
		cycle,
		math.Inf(1),
		map[string]any{"deep": []any{map[int]any{1: struct{ X chan bool }{}}}},
		new(strings.Builder), time.Now,
		reflect.ValueOf(5),
		map[struct{ X int }]int{{1}: 1},
		errTest, &lossyPointer{},
		lossyPointer{},
		map[string]lossyPointer{"x": {}},
	} {
		if _, ok := v.(*lossyPointer); ok {
			s.save(s.New(a{ID: fmt.Sprint(i), Any: v}))
			continue
		}
		for _, e := range []a{
			{ID: fmt.Sprint(i), Any: v},
			{ID: fmt.Sprint(i), List: []any{1, v}},
			{ID: fmt.Sprint(i), Map: map[string]any{"x": v}},
		} {
			if _, err := s.Save(context.Background(), s.New(e)); err == nil {
				t.Errorf("%T is stored as %s", v, show(object(s.get(e.ID, "H"))))
			}
		}
	}
	for i, v := range []any{
		nil, (*int)(nil),
		struct{}{},
		[]any{},
		map[string]any{},
		struct{ X any }{},
		[0]int{},
		&nothing,
		map[octet]int{1: 1},
		time.Now(), []byte(nil),
		struct {
			C chan int `dynamodbav:"-"`
		}{make(chan int)},
	} {
		s.save(s.New(a{ID: fmt.Sprint("ok", i), Any: v, Text: "x"}))
	}
}

var errTest = fmt.Errorf("x")

type octet uint8

type color int

func (color) String() string { return "red" }

type lossyPointer struct{ _ int }

func (*lossyPointer) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return number("1"), nil
}

func (unreadable) pointerMarshaler() any { return lossyPointer{} }

// A change of a part of a value keeps the other parts as they are stored, at any depth. They can have
// digits that a float64 does not hold, entries that a struct does not have, and other types.
func TestChangesKeepStoredParts(t *testing.T) {
	t.Parallel()
	type sub struct {
		A     int
		Ratio float64
	}
	type a struct {
		ID     string             `ddb:"pk=P#{ID}"`
		Meta   any                `ddb:"sk=H"`
		Typed  map[string]float64 `ddb:"sk=H"`
		Floats []float64          `ddb:"sk=H" dynamodbav:",numberset"`
		Sub    sub                `ddb:"sk=H,nested"`
		Subs   []sub              `ddb:"sk=H"`
		Ptr    *sub               `ddb:"sk=H,nested"`
		Keys   map[float64]string `ddb:"sk=H"`
		Blank  map[string]*int    `ddb:"sk=H" dynamodbav:",omitemptyelem"`
		Zip    map[string]any     `ddb:"sk=H,compress=gzip"`
		Far    map[string]any     `ddb:"sk=H,chunk"`
		Text   string             `ddb:"sk=H"`
	}
	const snowflake, long = "9007199254740993", "0.1234567890123456789012345"
	for _, version := range []bool{true, false} {
		for _, hooks := range []string{"update"} {
			t.Run(fmt.Sprint(version, hooks), func(t *testing.T) {
				s := open[a](t)
				inner := object(
					attributes{"snowflake": number(snowflake), "title": text("a"), "set": numbers("1", snowflake)},
				)
				it := attributes{
					"Meta": object(
						attributes{
							"snowflake": number(snowflake),
							"title":     text("a"),
							"list":      list(inner, number(long)),
						},
					),
					"Typed":  object(attributes{"x": number(snowflake), "y": number("1")}),
					"Floats": numbers(snowflake, "9007199254740995", "5"),
					"Sub":    object(attributes{"A": number("1"), "Ratio": number(long), "Z": number("7")}),
					"Subs": list(
						object(attributes{"A": number("1"), "Ratio": number(long), "Z": text("z")}),
						object(attributes{"A": number("2")}),
					),
					"Ptr":   object(attributes{"A": text("1"), "Ratio": number(long)}),
					"Keys":  object(attributes{"1.0": text("one"), "2": text("two")}),
					"Blank": object(attributes{"nothing": null(), "b": number("1")}),
					"Zip":   inner, "Far": inner,
					"Text": number("5"),
				}
				delete(it, "Ptr")
				if version {
					it["_v"] = &types.AttributeValueMemberB{Value: []byte("12345678")}
				}
				s.put("P#1", "H", it)
				for round := range 2 {
					e := s.load("1")
					v := &e.Value
					meta := v.Meta.(map[string]any)
					meta["title"] = fmt.Sprint("b", round)
					meta["list"].([]any)[0].(map[string]any)["title"] = fmt.Sprint("c", round)
					meta["list"] = append(meta["list"].([]any), "new")
					v.Typed["y"]++
					v.Floats = append(v.Floats, float64(100+round))
					v.Sub.A++
					v.Subs[0].A++
					v.Subs = append(v.Subs, sub{A: 9})
					v.Keys[2] += "!"
					*v.Blank["b"]++
					v.Zip["title"] = fmt.Sprint("d", round)
					v.Far["title"] = fmt.Sprint("e", round)
					s.save(e)
					v.Zip["title"] = "again"
					v.Sub.A++
					meta["title"] = "again"
					v.Far["title"] = "again"
					s.save(e)
					now := s.get("P#1", "H")
					at := func(path ...any) types.AttributeValue {
						var x types.AttributeValue = object(now)
						for _, p := range path {
							switch y := x.(type) {
							case *types.AttributeValueMemberM:
								x = y.Value[p.(string)]
							case *types.AttributeValueMemberL:
								x = y.Value[p.(int)]
							}
						}
						return x
					}
					for _, c := range []struct {
						want types.AttributeValue
						path []any
					}{
						{number(snowflake), []any{"Meta", "snowflake"}},
						{text("again"), []any{"Meta", "title"}},
						{number(snowflake), []any{"Meta", "list", 0, "snowflake"}},
						{numbers("1", snowflake), []any{"Meta", "list", 0, "set"}},
						{number(long), []any{"Meta", "list", 1}},
						{number(snowflake), []any{"Typed", "x"}},
						{number("7"), []any{"Sub", "Z"}},
						{number(long), []any{"Sub", "Ratio"}},
						{number(long), []any{"Subs", 0, "Ratio"}},
						{text("z"), []any{"Subs", 0, "Z"}},
						{text("one"), []any{"Keys", "1.0"}},
						{null(), []any{"Blank", "nothing"}},
						{number("5"), []any{"Text"}},
					} {
						if got := at(c.path...); got == nil || show(got) != show(c.want) {
							t.Errorf("round %d: %v is %s, not %s", round, c.path, show(got), show(c.want))
						}
					}
					for _, n := range []string{snowflake, "9007199254740995"} {
						if !strings.Contains(show(now["Floats"]), n) {
							t.Errorf("round %d: Floats lost %s: %s", round, n, show(now["Floats"]))
						}
					}
					for _, name := range []string{"Zip", "Far"} {
						if !strings.Contains(show(now[name]), snowflake) ||
							!strings.Contains(show(now[name]), "again") {
							t.Errorf("round %d: %s is %s", round, name, show(now[name]))
						}
					}
				}
				e := s.load("1")
				if r := must(s.Save(context.Background(), e))(t); r.Predicted().Requests != 0 {
					t.Errorf("an unchanged entity is written: %v", r)
				}
			})
		}
	}
}

// A put of the whole item and a Move copy the stored values of attributes that did not change.
func TestPutsCopyStoredValues(t *testing.T) {
	t.Parallel()
	type sub struct{ A int }
	type row struct {
		N    int
		F    float64
		Sub  sub
		Body string
	}
	type a struct {
		Group string  `ddb:"pk=G#{Group}"`
		ID    string  `ddb:"sk=E#{ID}#H"`
		F     float64 `ddb:"sk=E#{ID}#H"`
		Sub   sub     `ddb:"sk=E#{ID}#H,nested"`
		S     string  `ddb:"sk=E#{ID}#H"`
		None  int     `ddb:"sk=E#{ID}#H"`
		Body  string  `ddb:"sk=E#{ID}#H"`
		Rows  []row   `ddb:"sk=E#{^ID}#R#{N:03}"`
	}
	foreign := attributes{
		"F": number(
			"0.1234567890123456789012345",
		), "Sub": object(attributes{"A": number("1"), "Z": text("z")}), "S": number("5"),
		"Other": text("o"),
	}
	for _, version := range []bool{true, false} {
		s := open[a](t)
		it := attributes{"Body": text("b")}
		for name, v := range foreign {
			it[name] = v
		}
		if version {
			it["_v"] = &types.AttributeValueMemberB{Value: []byte("12345678")}
		}
		check := func(pk, sk string) {
			t.Helper()
			for name, v := range foreign {
				s.want(pk, sk, name, v)
			}
			if sk == "E#1#H" || sk == "E#2#H" {
				s.want(pk, sk, "None", nil)
			}
		}
		s.put("G#g", "E#1#H", it)
		s.put("G#g", "E#1#R#001", it)
		e := s.load("g", "1")
		e.Value.Body = strings.Repeat("x", 405_000)
		s.save(e)
		check("G#g", "E#1#H")
		e = s.load("g", "1")
		e.Value.Rows[0].Body = strings.Repeat("x", 405_000)
		s.save(e)
		check("G#g", "E#1#R#001")
		s.want("G#g", "E#1#H", "Body", text(strings.Repeat("x", 405_000)))

		s.put("G#g", "E#1#H", it)
		s.put("G#g", "E#1#R#001", it)
		e = s.load("g", "1")
		e.Value.ID = "2"
		e.Value.Rows[0].Sub.A = 5
		s.save(e, mapper.Move())
		check("G#g", "E#2#H")
		s.want("G#g", "E#2#R#001", "F", foreign["F"])
		s.want("G#g", "E#2#R#001", "Sub", object(attributes{"A": number("5"), "Z": text("z")}))
		e.Value.Sub.A, e.Value.Rows[0].Sub.A = 2, 6 // the entity knows what it moved
		s.save(e)
		s.want("G#g", "E#2#H", "Sub", object(attributes{"A": number("2"), "Z": text("z")}))
		s.want("G#g", "E#2#R#001", "Sub", object(attributes{"A": number("6"), "Z": text("z")}))
	}
}

// A stored list that is longer than the array of its field is read as far as it goes, and no write cuts it.
func TestLongListsAreNotCut(t *testing.T) {
	t.Parallel()
	type a struct {
		ID   string      `ddb:"pk={ID}"`
		Two  [2]int      `ddb:"sk=H"`
		Deep [][2]string `ddb:"sk=H"`
		Text string      `ddb:"sk=H"`
	}
	s := open[a](t)
	three := list(number("1"), number("2"), number("3"))
	deep := list(list(text("a"), text("b"), text("c")))
	s.put("1", "H", attributes{"Two": three, "Deep": deep, "Text": text("x")})
	e := s.load("1")
	e.Value.Text = "y"
	s.save(e)
	s.want("1", "H", "Two", three)
	e = s.load("1")
	e.Value.Two[0] = 9
	s.refuses(e)
	e = s.load("1")
	e.Value.Deep[0][0] = "z"
	s.refuses(e)
	s.want("1", "H", "Deep", deep)
}
