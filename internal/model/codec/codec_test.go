package codec_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// schemaOf returns the schema of a type, which has to be a model.
func schemaOf(t *testing.T, typ reflect.Type) *schema.Entity {
	t.Helper()
	e, err := schema.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// each calls check with random values of all models of the family.
func each(t *testing.T, check func(t *testing.T, e *schema.Entity, m codec.Model, g *models.Gen)) {
	seed := draws.Seed(t)
	for _, model := range slices.Concat(models.All, models.Indexes) {
		typ := reflect.TypeOf(model).Elem()
		t.Run(typ.Name(), func(t *testing.T) {
			e := schemaOf(t, typ)
			check(t, e, codec.ReflectedModel(e), models.NewGen(rand.New(rand.NewPCG(seed, 0)), e))
		})
	}
}

// records yields every record of a value: the value itself for singletons.
func records(e *schema.Entity, m codec.Model, v any, yield func(it *schema.Item, r codec.Record, rec any)) {
	for _, it := range e.Items {
		if !it.Element() {
			yield(it, m.Record(it.Index), v)
			continue
		}
		m.Elements(it.Index).Each(v, func(_ codec.Pos, rec any) bool {
			if rec != nil {
				yield(it, m.Record(it.Index), rec)
			}
			return true
		})
	}
}

// at returns the field at a path; it is not valid where a pointer on the way is nil.
func at(v reflect.Value, path []int) reflect.Value {
	for i, x := range path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// marshal encodes a field as attributevalue does, with its tag.
func marshal(a *schema.Attribute, v reflect.Value) (types.AttributeValue, error) {
	holder := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "F", Type: v.Type(),
		Tag: reflect.StructTag(fmt.Sprintf("dynamodbav:%q", strings.Join(append([]string{"F"}, a.AV.Options...), ","))),
	}}))
	holder.Elem().Field(0).Set(v)
	m, err := attributevalue.MarshalMapWithOptions(holder.Interface(), models.AsWritten)
	return m["F"], err
}

// Attributes are encoded as attributevalue encodes their fields, and decoded to what
// encodes alike.
func TestAttributes(t *testing.T) {
	each(t, func(t *testing.T, e *schema.Entity, m codec.Model, g *models.Gen) {
		for range 50 {
			records(e, m, g.New(), func(it *schema.Item, r codec.Record, rec any) {
				for i, a := range it.Attributes {
					attribute(t, m, r, it, rec, i, a)
				}
			})
		}
	})
}

func attribute(t *testing.T, m codec.Model, r codec.Record, it *schema.Item, rec any, i int, a *schema.Attribute) {
	t.Helper()
	got, err := r.Encode(rec, i)
	if err != nil {
		t.Fatalf("%s: %v", a.Value.Name, err)
	}
	f := at(reflect.ValueOf(rec).Elem(), a.Value.Path)
	if !f.IsValid() {
		if got != nil {
			t.Errorf("%s: %v of a struct that is nil", a.Value.Name, got)
		}
		return
	}
	want, err := marshal(a, f)
	if err != nil || !attr.Same(got, want) {
		t.Fatalf("%s: encoded %s, attributevalue %s, %v", a.Value.Name, show(got), show(want), err)
	}
	if got == nil {
		return
	}
	other := m.New()
	if it.Element() {
		other = m.Elements(it.Index).NewElement()
	}
	if err := r.Decode(other, i, got); err != nil {
		t.Fatalf("%s: decoding %s: %v", a.Value.Name, show(got), err)
	}
	if again, err := r.Encode(other, i); err != nil || !attr.Same(got, again) {
		t.Errorf("%s: %s became %s, %v", a.Value.Name, show(got), show(again), err)
	}
}

func show(v types.AttributeValue) string { return fmt.Sprintf("%#v", v) }

// Equal values of an attribute have equal encodings. A copy equals its original, and edits of the copy
// do not change the original.
func TestSameAndClone(t *testing.T) {
	each(t, func(t *testing.T, e *schema.Entity, m codec.Model, g *models.Gen) {
		for range 50 {
			v := g.New()
			c := copied(e, m, v)
			if what := different(e, m, v, c); what != "" {
				t.Fatalf("a copy differs in %s:\n%s", what,
					cmp.Diff(v, c, cmp.Exporter(func(reflect.Type) bool { return true })))
			}
			again := copied(e, m, c)
			g.Edit(c)
			for _, it := range e.Items {
				if !it.Element() {
					compare(t, m.Record(it.Index), it, v, c)
				}
			}
			if what := different(e, m, v, again); what != "" {
				t.Fatalf("the edit of a copy showed in another, in %s", what)
			}
		}
	})
}

func compare(t *testing.T, r codec.Record, it *schema.Item, v, w any) {
	t.Helper()
	for i, a := range it.Attributes {
		x, errX := r.Encode(v, i)
		y, errY := r.Encode(w, i)
		if errX == nil && errY == nil && !a.Opaque && r.Same(v, w, i) && !attr.Same(x, y) {
			t.Fatalf("%s is the same, but %s and %s", a.Value.Name, show(x), show(y))
		}
	}
}

func copied(e *schema.Entity, m codec.Model, v any) any {
	c := m.New()
	m.CloneKeyFields(c, v)
	for i, it := range e.Items {
		if it.Element() {
			m.Elements(i).Clone(c, v)
		} else {
			m.Record(i).Clone(c, v)
		}
	}
	return c
}

// different names the item in which two values differ, "" for none.
func different(e *schema.Entity, m codec.Model, v, w any) string {
	if !m.SameKeyFields(v, w) {
		return "the key fields"
	}
	for i, it := range e.Items {
		if it.Element() && !m.Elements(i).Equal(v, w) || !it.Element() && !m.Record(i).Equal(v, w) {
			return it.Name
		}
	}
	return ""
}

// What keys hold comes back from them.
func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, e *schema.Entity, m codec.Model, g *models.Gen) {
		for range 20 {
			v := g.New()
			w := m.New()
			for i := range e.KeyFields {
				value, err := m.KeyField(v, i)
				if err == nil {
					err = m.SetKeyField(w, i, value)
				}
				if back, _ := m.KeyField(w, i); err != nil || !back.Equal(value) {
					t.Fatalf("%s: %v became %v, %v", e.KeyFields[i].Name, value, back, err)
				}
			}
			records(e, m, v, func(it *schema.Item, r codec.Record, rec any) {
				if !it.Element() {
					return
				}
				for n, src := range it.Key.Sources {
					if src.From != schema.FromElement && src.From != schema.FromSelf {
						continue
					}
					value, err := r.Key(rec, n)
					other := m.Elements(it.Index).NewElement()
					if err == nil {
						err = r.SetKey(other, n, value)
					}
					if back, _ := r.Key(other, n); err != nil || !back.Equal(value) {
						t.Fatalf("%s: %v became %v, %v", src.Text, value, back, err)
					}
				}
			})
		}
	})
}

type table struct{}

type base struct {
	Shared string `ddb:"sk=HEAD"`
}

type OptionalKeys struct {
	Deep *int `ddb:"sk=HEAD"`
}

type point struct{ X, Y int }

// shop has what the tables of generated code leave out or hold in a way of their own.
type shop struct {
	_  table  `ddb:"table=shops,ttl=expires"`
	ID string `ddb:"pk=SHOP#{ID}"`
	base
	*OptionalKeys
	Name     string           `ddb:"sk=HEAD" dynamodbav:"name,omitempty"`
	Any      any              `ddb:"sk=HEAD"`
	Home     *point           `ddb:"sk=HOME"`
	Lines    []line           `ddb:"sk=LINE#{No:04}"`
	Pointers []*line          `ddb:"sk=POINTER#{No:04}"`
	Parts    map[string]*line `ddb:"sk=PART#{key}"`
	Words    []string         `ddb:"sk=WORD#{.}"`
}

type line struct {
	No    int
	Text  string
	Until time.Time `ddb:"ttl"`
	Tree  *tree
}

type tree struct {
	Name     string `dynamodbav:",omitempty"`
	Children []tree `dynamodbav:",omitempty"`
	Up       *tree  `dynamodbav:",omitempty"`
}

var lineForm = codec.StructOf(codec.Funcs[line]{
	Same: func(a, b *line) bool {
		return a.No == b.No && a.Text == b.Text && a.Until.Equal(b.Until) && a.Tree == b.Tree
	},
	Clone: func(dst, src *line) { *dst = *src },
},
	row("No", codec.NumericOf[int]()),
	row("Text", codec.StringOf[string]()),
	row("Until", codec.TimeOf[time.Time]()),
)

var shopForm = codec.StructOf(codec.Funcs[shop]{},
	row("ID", codec.StringOf[string]()),
	row("Name", codec.StringOf[string]()),
	row("Any", codec.OpaqueOf[any]()),
	row("Lines", codec.SliceOf[[]line](lineForm)),
	row("Pointers", codec.SliceOf[[]*line](codec.PointerOf(lineForm))),
	row("Parts", codec.MapOf[map[string]*line](codec.PointerOf(lineForm))),
	row("Words", codec.SliceOf[[]string](codec.StringOf[string]())),
)

// shops are the two codecs of a shop.
func shops(t *testing.T) (*schema.Entity, map[string]codec.Model) {
	e := schemaOf(t, reflect.TypeFor[shop]())
	return e, map[string]codec.Model{
		"table":     codec.New(e, shopForm.Form, nil),
		"reflected": codec.ReflectedModel(e),
	}
}

func itemOf(e *schema.Entity, name string) int {
	for _, it := range e.Items {
		if it.Decl.Name == name {
			return it.Index
		}
	}
	panic(name)
}

func TestElements(t *testing.T) {
	e, all := shops(t)
	for name, m := range all {
		t.Run(name, func(t *testing.T) {
			until := time.Unix(1e9, 0)
			v := &shop{
				Lines: []line{{No: 1, Text: "a"}, {No: 2, Until: until}}, Pointers: []*line{{No: 3}},
				Parts: map[string]*line{"x": {No: 4}}, Words: []string{"b"},
			}
			w := copied(e, m, v).(*shop)
			if what := different(e, m, v, w); what != "" {
				t.Fatal("a copy differs in", what)
			}
			w.Lines[1].Until = until.Add(time.Hour)
			w.Pointers[0].Text = "other"
			w.Parts["x"].Text = "other"
			w.Words[0] = "other"
			for _, field := range []string{"Lines", "Pointers", "Parts", "Words"} {
				if m.Elements(itemOf(e, field)).Equal(v, w) {
					t.Errorf("%s are equal after an edit", field)
				}
			}
			if at, ok := m.Record(itemOf(e, "Lines")).Expiry(&v.Lines[1]); !ok || !at.Equal(until) {
				t.Errorf("expires at %v, %v", at, ok)
			}
			w.Pointers[0] = nil
			if m.Elements(itemOf(e, "Pointers")).Equal(w, w) {
				t.Error("nil elements are equal")
			}
			entries := m.Elements(itemOf(e, "Parts"))
			k, err := entries.FromKey(key.OfString("y"))
			if err != nil || k != "y" {
				t.Errorf("the key is %v, %v", k, err)
			}
			rec := entries.NewElement()
			entries.Append(v, k, rec)
			if entries.Len(v) != 2 || v.Parts["y"] != rec || entries.At(v, codec.Pos{Key: "y"}) != rec {
				t.Errorf("the map is %v", v.Parts)
			}
			n := testing.AllocsPerRun(100, func() { m.Elements(itemOf(e, "Lines")).Equal(v, v) })
			if n != 0 {
				t.Errorf("comparing a slice allocates %v times", n)
			}
		})
	}
}

func TestSingletons(t *testing.T) {
	e, all := shops(t)
	for name, m := range all {
		t.Run(name, func(t *testing.T) {
			home := m.Record(itemOf(e, "Home"))
			v := &shop{}
			if home.Present(v) || m.Record(e.Root.Index).Present(v) {
				t.Error("something of an empty value is present")
			}
			home.Part(v).(*point).X = 5
			if v.Home == nil || v.Home.X != 5 || !home.Present(v) {
				t.Errorf("the part is %v", v.Home)
			}
			w := copied(e, m, v).(*shop)
			if w.Home == v.Home || *w.Home != *v.Home {
				t.Errorf("the copy is %v", w.Home)
			}
			home.Clone(w, &shop{})
			if w.Home != nil {
				t.Error("a nil pointer was not copied")
			}
			v.Any = make(chan int)
			for i, a := range e.Root.Attributes {
				if _, err := m.Record(e.Root.Index).Encode(v, i); (err != nil) != (a.Name == "Any") {
					t.Errorf("%s: %v", a.Name, err)
				}
			}
		})
	}
}

// A value that contains itself is an error, not a stack overflow.
func TestCycle(t *testing.T) {
	e, all := shops(t)
	for name, m := range all {
		l := line{Tree: &tree{Name: "a", Children: []tree{{Name: "b"}}}}
		r := m.Record(itemOf(e, "Lines"))
		i := e.Items[itemOf(e, "Lines")].Attribute("Tree")
		av, err := r.Encode(&l, i)
		var back line
		if err == nil {
			err = r.Decode(&back, i, av)
		}
		if err != nil || !reflect.DeepEqual(l, back) {
			t.Errorf("%s: a tree became %v, %v", name, back.Tree, err)
		}
		l.Tree.Up = l.Tree
		if _, err := r.Encode(&l, i); err == nil || !strings.Contains(err.Error(), "contains itself") {
			t.Errorf("%s: a cycle gave %v", name, err)
		}
	}
}

func TestKeyFieldValue(t *testing.T) {
	type model struct {
		_ table  `ddb:"table=small"`
		N int8   `ddb:"pk=N#{N:03}"`
		X string `ddb:"sk=HEAD"`
	}
	e := schemaOf(t, reflect.TypeFor[model]())
	for _, c := range []struct {
		arg  any
		want string
	}{
		{int8(5), "5"},
		{5, "5"},
		{300, "the number does not fit"},
		{"5", "the value is of type string"},
		{nil, "the value is nil"},
	} {
		v, err := codec.KeyFieldValue(e, 0, c.arg)
		if got := v.String(); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gave %s, %v", c.arg, got, err)
		}
	}
}
