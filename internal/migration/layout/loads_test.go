package layout_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// load decodes the items of a collection as the mapper does, into a new value.
func load(m *model.Model, c *layout.Collection, like any) error {
	byTable := map[int][]item.Attributes{}
	for _, it := range c.Items {
		a := attr.CopyItem(it.Attributes)
		t := m.Tables[it.Kind.Table]
		for name, v := range (item.Place{Table: t, PK: it.PK, SK: it.SK}).Key() {
			a[name] = v
		}
		byTable[it.Kind.Table] = append(byTable[it.Kind.Table], a)
	}
	keyFields, err := m.KeyFields(like)
	if err != nil {
		return err
	}
	s, err := snapshot.Loaded(m, selection.Entity(m.Schema, m.Identity(keyFields)))
	if err != nil {
		return err
	}
	var images []item.Image
	for i, t := range m.Tables {
		some, err := m.Describe(t, byTable[i])
		if err != nil {
			return err
		}
		images = append(images, some...)
	}
	v := m.Codec.New()
	if err := s.Identify(v); err != nil {
		return err
	}
	return s.Decode(v, images)
}

// A monolith that is split can be loaded, whatever types of values other programs have stored in it, for random values
// of every model of the family and of random models, with random distortions.
func TestSplitMonolithsLoad(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	var all []reflect.Type
	for _, m := range slices.Concat(models.All, models.Indexes) {
		all = append(all, reflect.TypeOf(m).Elem())
	}
	ofFamily := len(all) + len(all)%2
	all = append(all, all[:ofFamily-len(all)]...)
	for i := range draws.Times(100, 400, 10_000) {
		all = append(all, models.Type(r, i), models.Documented(r, i))
	}
	loaded, unread, refused := 0, 0, 0
	for n, typ := range all {
		e, err := schema.Of(typ)
		if err != nil {
			continue
		}
		l, err := layoutOf(t, e)
		if err != nil {
			continue
		}
		var tables []string
		for _, table := range e.Tables {
			tables = append(tables, table.Name)
		}
		m := model.New(e, codec.ReflectedModel(e), tables)
		g := models.NewGen(r, e)
		draw := g.New
		if n >= ofFamily && n%2 == 1 { // the documented types
			draw = func() any {
				v := reflect.New(typ)
				models.Draw(r, v.Elem(), 0)
				v.Elem().FieldByName("ID").SetString("a")
				return v.Interface()
			}
		}
		for range 20 {
			v := draw()
			doc, err := attributevalue.MarshalMapWithOptions(v, models.AsWritten)
			if err == nil {
				distort(r, l, doc)
				err = attr.Check(&types.AttributeValueMemberM{Value: doc})
			}
			if err != nil {
				continue // DynamoDB does not store it
			}
			parts, err := l.Split(doc)
			switch {
			case err == nil:
				if err := load(m, parts, v); err != nil && !ownMethod(e, err) {
					t.Fatalf("seed %d: %v: %s was split, but a load fails: %v", seed, typ,
						show(&types.AttributeValueMemberM{Value: doc}), err)
				}
				loaded++
			case strings.Contains(err.Error(), "a load of the field"):
				unread++
			default:
				refused++
			}
		}
	}
	t.Logf("%d monoliths were split and loaded, %d were refused because a load would fail, and %d for other reasons",
		loaded, unread, refused)
	if loaded < 300 || unread < 300 {
		t.Error("too few to mean anything")
	}
}

// distort changes values of a monolith other than those that name the entity, at random.
func distort(r *rand.Rand, l *layout.Layout, doc item.Attributes) {
	identity := l.PartitionKey.Placeholders
	if k := l.Root.SortKey; k != nil {
		identity = slices.Concat(identity, k.Placeholders)
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if r.IntN(4) > 0 || slices.ContainsFunc(identity, func(p schema.LayoutPlaceholder) bool {
			return cmp.Or(p.Attribute, p.Field) == name
		}) {
			continue
		}
		doc[name] = models.Distorted(r, doc[name])
	}
}

// ownMethod reports whether a load failed at an attribute in which a type has its own method, which data cannot call.
func ownMethod(e *schema.Entity, err error) bool {
	for _, it := range e.Items {
		for _, a := range it.Attributes {
			form, _ := json.Marshal(a.Value.Type.Wire(a.AV.Options))
			if strings.Contains(err.Error(), fmt.Sprintf("attribute %q", a.Name)) &&
				(strings.Contains(string(form), `"own"`) || strings.Contains(string(form), `"text"`)) {
				return true
			}
		}
	}
	return false
}

type wine struct {
	Name   string
	Rating int8              `dynamodbav:"r"`
	Notes  map[string]string `dynamodbav:",omitempty"`
}

type cellar struct {
	_      struct{}                    `ddb:"table=cellars"`
	ID     [4]byte                     `ddb:"pk={ID}"`
	Owner  string                      `ddb:"sk=HEAD"`
	Since  time.Time                   `ddb:"sk=HEAD" dynamodbav:",unixtime"`
	Tags   []string                    `ddb:"sk=HEAD" dynamodbav:",stringset"`
	Racks  map[int8]bool               `ddb:"sk=HEAD"`
	Best   wine                        `ddb:"sk=HEAD,nested"`
	Rooms  []map[string][]wine         `ddb:"sk=HEAD"`
	Place  struct{ Lat, Long float64 } `ddb:"sk=PLACE"`
	Wines  []wine                      `ddb:"sk=WINE#{Name}"`
	Prices map[string]uint16           `ddb:"sk=PRICE#{key}"`
}

// A monolith with a value that its field cannot hold is refused, wherever in the model the field is.
func TestValuesThatNoLoadReads(t *testing.T) {
	e, err := schema.Of(reflect.TypeFor[cellar]())
	if err != nil {
		t.Fatal(err)
	}
	l, err := layoutOf(t, e)
	if err != nil {
		t.Fatal(err)
	}
	n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	s := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	list := func(all ...types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: all}
	}
	m := func(name string, v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: item.Attributes{name: v}}
	}
	named := func(name string, v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: item.Attributes{"Name": s("a"), name: v}}
	}
	for _, c := range []struct {
		name, attribute string
		value           types.AttributeValue
		want            string
	}{
		{"text against a list", "Owner", list(s("a")), "Owner: it is of type L, and not S"},
		{"a number in a text", "Owner", n("1"), ""},
		{"a time", "Since", s("yesterday"), "Since: it is not a time of RFC 3339"},
		{"a time with a fraction", "Since", n("1.5"), "Since: it is not an integer"},
		{"a set against a map", "Tags", m("a", s("b")), "Tags: it is of type M, and not SS"},
		{"a set against a list", "Tags", list(s("a")), ""},
		{
			"a set against a list of numbers and maps", "Tags", list(n("1"), m("a", n("1"))),
			"Tags[1]: it is of type M, and not S",
		},
		{
			"the key of a map", "Racks", m("top", &types.AttributeValueMemberBOOL{}),
			"Racks: it has a key that is not a number",
		},
		{"an entry of a map", "Racks", m("1", n("1")), "Racks[...]: it is of type N, and not BOOL"},
		{"a nested struct", "Best", named("r", n("300")), "Best.r: it is not in the range of int8"},
		{"the map of a nested struct", "Best", m("Notes", list()), "Best.Notes: it is of type L, and not M"},
		{
			"a struct at depth", "Rooms", list(m("a", list(named("Notes", m("b", list(n("1"))))))),
			"Rooms[0][...][0].Notes[...]: it is of type L, and not S",
		},
		{"a field of an item", "Place", m("Lat", s("north")), "Place.Lat: it is of type S, and not N"},
		{
			"an element", "Wines", list(named("r", n("1")), m("Name", s("b")), named("r", n("2000"))),
			"Wines[2].r: it is not in the range of int8",
		},
		{"a scalar element", "Prices", m("a", n("-1")), `Prices["a"]: it is not in the range of uint16`},
		{
			"the key of an element", "Wines", list(m("Name", list())),
			"Wines[0].Name: it is a L, but a key needs it as text: change its type",
		},
		{
			"the key of the entity", "ID", &types.AttributeValueMemberB{Value: []byte("12345")},
			"ID: it has 5 bytes, and not 4",
		},
		{
			"an empty key of an element", "Wines", list(m("Name", s(""))),
			"Wines[0].Name: an empty string in a key",
		},
		{"a long key of an entry", "Prices", m(strings.Repeat("k", 1100), n("1")), `k"]: the key has `},
		{"NULL", "Best", &types.AttributeValueMemberNULL{Value: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := item.Attributes{"ID": &types.AttributeValueMemberB{Value: []byte("1234")}}
			doc[c.attribute] = c.value
			parts, err := l.Split(doc)
			if c.want == "" {
				if err == nil {
					m := model.New(e, codec.ReflectedModel(e), []string{"cellars"})
					err = load(m, parts, &cellar{ID: [4]byte([]byte("1234"))})
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
