package schema_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/itemize/itemize/internal/model/schema"
)

type hiddenBase struct {
	Name  string `ddb:"sk=BASE"`
	Other string `ddb:"sk=BASE" dynamodbav:"Own"`
}

type hiddenInner struct {
	Name  string `dynamodbav:"inner"`
	Count string `dynamodbav:"Own,omitempty"`
}

type hiddenOuter struct {
	hiddenInner
	Name string
	Own  string
}

type hiddenModel struct {
	hiddenBase
	ID    string        `ddb:"pk={ID}"`
	Name  string        `ddb:"sk=HEAD"`
	Own   string        `ddb:"sk=HEAD"`
	Outer []hiddenOuter `ddb:"sk=HEAD"`
}

// A field of a model is hidden by its name in Go, and one inside an attribute by the name of its attribute.
func TestShadowedFieldsAreThoseNotStored(t *testing.T) {
	model := schema.TypeOf(reflect.TypeFor[hiddenModel]())
	var got []string
	for _, s := range model.Shadowed() {
		got = append(got, s.Field.Name+" by "+s.By.Name)
	}
	if want := []string{"Count by Own", "Name by Name"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Error(got)
	}
	e, err := schema.Build(model)
	if err != nil {
		t.Fatal(err)
	}
	if base := e.Items[0]; len(base.Attributes) != 1 || base.Attributes[0].Name != "Own" {
		t.Error("the item BASE has other attributes than Own")
	}
	for _, f := range model.Fields[4].Type.Elem.EncodedFields() {
		if f.Name == "Own" && f.GoName != "Own" {
			t.Error("Count is stored")
		}
	}
}
