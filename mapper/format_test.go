package mapper_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	format "github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// The tests of this file compare the code with the vectors of internal/testdata/format, which were written by hand from
// docs/format.md.

// madeModel is a model of fields that a test makes up.
func madeModel(t *testing.T, fields ...reflect.StructField) (*model.Model, reflect.Type) {
	t.Helper()
	typ := reflect.StructOf(fields)
	e, err := schema.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	return model.New(e, codec.ReflectedModel(e), []string{"made"}), typ
}

func madeField(name string, typ reflect.Type, tag string) reflect.StructField {
	f := reflect.StructField{Name: name, Type: typ, Tag: reflect.StructTag(tag)}
	if name == "_" {
		f.PkgPath = "made"
	}
	return f
}

var keyTypes = map[string]reflect.Type{
	"string": reflect.TypeFor[string](), "int64": reflect.TypeFor[int64](), "uint64": reflect.TypeFor[uint64](),
	"time": reflect.TypeFor[time.Time](), "bytes": reflect.TypeFor[[]byte](),
}

// inKey returns a value of a vector.
func inKey(t *testing.T, typ, text string) any {
	t.Helper()
	var v any = text
	var err error
	switch typ {
	case "int64":
		v, err = strconv.ParseInt(text, 10, 64)
	case "uint64":
		v, err = strconv.ParseUint(text, 10, 64)
	case "time":
		v, err = time.Parse(time.RFC3339Nano, text)
	case "bytes":
		v, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A key is written as its vector, and gives its values back, as far as its formats hold them.
func TestFormatKeys(t *testing.T) {
	t.Parallel()
	for i, v := range models.Vectors[struct {
		Template, Delim, Type string
		Fields                []struct{ Name, Type string }
		Values                []string
		Key                   models.DynamoJSON
	}](t, "keys.json") {
		pk := fmt.Sprintf(`ddb:"pk='%s'"`, v.Template)
		fields := []reflect.StructField{
			madeField("_", reflect.TypeFor[struct{}](), `ddb:"table=made,delim=`+v.Delim+`"`),
			madeField("_", reflect.TypeFor[struct{}](), `ddb:"sk=HEAD,root"`),
			madeField("_", reflect.TypeFor[struct{}](), pk),
		}
		for _, f := range v.Fields {
			fields = append(fields, madeField(f.Name, keyTypes[f.Type], ""))
		}
		m, typ := madeModel(t, fields...)
		made := reflect.New(typ)
		for j, f := range v.Fields {
			made.Elem().FieldByName(f.Name).Set(reflect.ValueOf(inKey(t, f.Type, v.Values[j])))
		}
		values, err := m.KeyFields(made.Interface())
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		at, err := m.RootPlace(m.Identity(values))
		if err != nil || !attr.Same(attr.ValueOf(at.PK), v.Key.AttributeValue) {
			t.Errorf("%d: %s is %v and not %v, %v", i, v.Template, at.PK, models.ShowJSON(v.Key.AttributeValue), err)
			continue
		}
		found := make([]key.Value, len(values))
		if !m.Schema.PK.Template.Parse(at.PK, found) {
			t.Errorf("%d: the key %v is not one of %s", i, at.PK, v.Template)
		}
		if again, err := m.Schema.PK.Template.Render(found); err != nil || again != at.PK {
			t.Errorf("%d: %v comes back as %v, %v", i, at.PK, again, err)
		}
		for j := range found {
			if m.Schema.PK.Sources[j].Lossless && found[j] != values[j] && v.Fields[j].Type != "time" {
				t.Errorf("%d: %v comes back as %v", i, values[j], found[j])
			}
		}
	}
}

// Shards are computed as their vectors.
func TestFormatShards(t *testing.T) {
	t.Parallel()
	for _, v := range models.Vectors[struct {
		Text   string
		Shards int
		Shard  int
	}](t, "shards.json") {
		if got := key.HashShard([]byte(v.Text), v.Shards); got != v.Shard {
			t.Errorf("%q of %d: %d and not %d", v.Text, v.Shards, got, v.Shard)
		}
	}
}

// valueOf returns a value of Go, with its expression.
func valueOf[V any](expression string, v V) models.GoValue {
	return models.GoValue{Expression: expression, Type: reflect.TypeFor[V](), Value: v}
}

// A value is stored as its vector, and loaded from it.
func TestFormatValues(t *testing.T) {
	t.Parallel()
	all := models.Vectors[struct {
		Type, Value string
		Options     []string
		Attribute   models.DynamoJSON
	}](t, "values.json")
	if len(all) != len(goValues) {
		t.Fatalf("%d vectors, but %d values", len(all), len(goValues))
	}
	for i, v := range all {
		g := goValues[i]
		if v.Value != g.Expression {
			t.Fatalf("%d: %s is not %s", i, v.Value, g.Expression)
		}
		m, typ := madeModel(t,
			madeField("_", reflect.TypeFor[struct{}](), `ddb:"table=made"`),
			madeField("ID", reflect.TypeFor[string](), `ddb:"pk=X#{ID}"`),
			madeField("V", g.Type, nested(g.Type)+` dynamodbav:"`+strings.Join(append([]string{"V"}, v.Options...),
				",")+`"`))
		made := reflect.New(typ)
		made.Elem().FieldByName("ID").SetString("1")
		if g.Value != nil {
			made.Elem().FieldByName("V").Set(reflect.ValueOf(g.Value))
		}
		put := putsOf(t, m, made.Interface())[0]
		if !attr.Same(put["V"], v.Attribute.AttributeValue) {
			t.Errorf("%d: %s %s with %v is %s and not %s", i, v.Type, v.Value, v.Options, models.ShowJSON(put["V"]),
				models.ShowJSON(v.Attribute.AttributeValue))
			continue
		}
		again := reflect.New(typ)
		decode(t, m, put, again.Interface())
		if encoded := putsOf(t, m, again.Interface())[0]; !attr.Same(encoded["V"], put["V"]) &&
			attr.TypeName(put["V"]) != "NULL" { // which is nil, and may be left out
			t.Errorf("%d: %s comes back as %s", i, models.ShowJSON(put["V"]), models.ShowJSON(encoded["V"]))
		}
	}
}

// nested returns the tag of a field whose value is one attribute.
func nested(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() {
		return `ddb:"sk=HEAD,nested"`
	}
	return `ddb:"sk=HEAD"`
}

// putsOf returns the items that an insert of a value puts.
func putsOf(t *testing.T, m *model.Model, v any) []format.Attributes {
	t.Helper()
	all, err := models.PutsOf(m, v)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// decode decodes an item into a value.
func decode(t *testing.T, m *model.Model, put format.Attributes, v any) {
	t.Helper()
	img, err := m.Image(m.Tables[0], put)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Loaded(m, m.Select([]any{"1"}))
	if err == nil {
		err = errors.Join(s.Identify(v), s.Decode(v, []format.Image{img}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sameJSON compares two values as JSON.
func sameJSON(t *testing.T, want json.RawMessage, got any) string {
	t.Helper()
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var x, y any
	if err := json.Unmarshal(want, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return cmp.Diff(x, y)
}

// An entity is loaded from the items of its vector, and an insert of it puts the items that are part of it.
func TestFormatEntities(t *testing.T) {
	t.Parallel()
	clinics, err := mapper.New[models.Clinic](testengine.Start(t).Client())
	if err != nil {
		t.Fatal(err)
	}
	m := door.Mapper.Model(clinics)
	found := 0
	for i, v := range models.Vectors[struct {
		Now   int64
		Items []models.DynamoItem
		Value json.RawMessage
	}](t, "entities.json") {
		m.Now = func() time.Time { return time.Unix(v.Now, 0) }
		id := "7"
		if len(v.Items) > 0 {
			pk, _ := attr.ScalarOf(v.Items[0]["PK"].AttributeValue)
			values := make([]key.Value, 1)
			if m.Schema.PK.Template.Parse(pk, values) {
				id = values[0].Text
			}
		}
		items := models.ItemsOf(v.Items)
		e, err := clinics.FromItems(clinics.Key(id), map[string][]format.Attributes{"clinics": items})
		if string(v.Value) == "null" {
			if !errors.Is(err, mapper.ErrNotFound) {
				t.Errorf("%d: %v, and not that it is missing", i, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		found++
		if d := sameJSON(t, v.Value, e.Value); d != "" {
			t.Errorf("%d (-vector +loaded):\n%s", i, d)
		}
		for _, put := range putsOf(t, m, &e.Value) {
			was := at(items, put)
			if was == nil {
				t.Errorf("%d: an insert puts %s, which is not stored", i, models.ShowJSON(put["SK"]))
			}
			for name, value := range put {
				if was := was[name]; name != "_a" && name != "Letter" && was != nil && !attr.Same(value, was) &&
					!sameTime(value, was) {
					t.Errorf("%d: %s of %s is %s, and not %s", i, name, models.ShowJSON(put["SK"]),
						models.ShowJSON(value),
						models.ShowJSON(was))
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d entities exist", found)
	}
}

// at returns the item with the key of another.
func at(items []format.Attributes, like format.Attributes) format.Attributes {
	for _, a := range items {
		if attr.Same(a["PK"], like["PK"]) && attr.Same(a["SK"], like["SK"]) {
			return a
		}
	}
	return nil
}

// sameTime reports whether two texts are one instant.
func sameTime(a, b types.AttributeValue) bool {
	var x, y time.Time
	return attributevalue.Unmarshal(a, &x) == nil && attributevalue.Unmarshal(b, &y) == nil && x.Equal(y)
}

// Records are read and written as their vectors.
func TestFormatRecords(t *testing.T) {
	t.Parallel()
	table := &format.Table{Name: "clinics", Hash: "PK", Range: "SK"}
	for i, v := range models.Vectors[struct {
		Record  models.DynamoItem
		Meaning string
	}](t, "records.json") {
		a := v.Record.Attributes()
		pk, _ := attr.ScalarOf(a["PK"])
		sk, _ := attr.ScalarOf(a["SK"])
		r, err := extern.RecordOf(format.Place{Table: table, PK: pk, SK: sk}, a)
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		put := r.Put("Clinic").Put
		if !r.Since.IsZero() {
			put["~since"] = a["~since"]
		}
		if !strings.Contains(v.Meaning, string(r.State)) || !attr.SameItem(put, a) {
			t.Errorf("%d: %s: %v comes back as %v", i, v.Meaning, models.ShowJSON(a["~values"]),
				models.ShowJSON(put["~values"]))
		}
	}
}

// Items have the hashes of their vectors.
func TestFormatHashes(t *testing.T) {
	t.Parallel()
	for i, v := range models.Vectors[struct {
		Item    models.DynamoItem
		Without []string
		SHA256  string
	}](t, "hashes.json") {
		if got := hex.EncodeToString(attr.Hash(v.Item.Attributes(), v.Without...)); got != v.SHA256 {
			t.Errorf("%d: %s and not %s", i, got, v.SHA256)
		}
	}
}

// A monolith and its items are made of each other as in their vectors.
func TestFormatMonoliths(t *testing.T) {
	t.Parallel()
	e, err := schema.Of(reflect.TypeFor[models.Package]())
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New(e.Layout())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range models.Vectors[struct {
		Monolith models.DynamoItem
		Items    []models.DynamoItem
	}](t, "monoliths.json") {
		doc, items := v.Monolith.Attributes(), models.ItemsOf(v.Items)
		parts, err := l.Split(doc)
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		for _, it := range parts.Items {
			a := maps.Clone(it.Attributes)
			a["PK"], a["SK"] = attr.ValueOf(it.PK), attr.ValueOf(it.SK)
			if was := at(items, a); was == nil || !attr.SameItem(a, was) {
				t.Errorf("%d: the item %s differs", i, it.SK)
			}
		}
		if len(parts.Items) != len(items) {
			t.Errorf("%d: %d items, and not %d", i, len(parts.Items), len(items))
		}
		if back, err := l.Join(parts.Items); err != nil || !layout.Same(back, doc) {
			t.Errorf("%d: the monolith comes back otherwise: %v", i, err)
		}
	}
}
