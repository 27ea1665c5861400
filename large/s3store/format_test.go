package s3store_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/mapper"
)

// A compressed value is read from its vector, and what is written can be read again. It is written in the same form.
func TestFormatCompressed(t *testing.T) {
	t.Parallel()
	clinics, err := mapper.New[models.Clinic](testengine.Start(t).Client(), compress.Snappy(), compress.Zstd(),
		compress.LZ4(), compress.LZO())
	if err != nil {
		t.Fatal(err)
	}
	codecs := door.Mapper.Model(clinics).Codecs
	for i, v := range models.Vectors[struct {
		Field, Codec     string
		Value, Attribute models.DynamoJSON
	}](t, "compressed.json") {
		isText := v.Field == "string"
		got, err := extern.Unpack(v.Attribute.AttributeValue, codecs, isText)
		if err != nil || !attr.Same(got, v.Value.AttributeValue) {
			t.Errorf("%d: %s, %v", i, models.ShowJSON(got), err)
		}
		packed, err := extern.Pack(v.Value.AttributeValue, codecs, compression.Name(v.Codec), isText)
		if err != nil || form(packed) != form(v.Attribute.AttributeValue) {
			t.Errorf("%d: it is stored as %s and not %s, %v", i, models.ShowJSON(packed),
				models.ShowJSON(v.Attribute.AttributeValue), err)
			continue
		}
		if again, err := extern.Unpack(packed, codecs, isText); err != nil || !attr.Same(again,
			v.Value.AttributeValue) {
			t.Errorf("%d: it comes back as %s, %v", i, models.ShowJSON(again), err)
		}
	}
}

// form returns the types of a stored value, and its entry ~.
func form(av types.AttributeValue) string {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return attr.TypeName(av)
	}
	text := "M"
	if mark, ok := m.Value["~"].(*types.AttributeValueMemberS); ok {
		text += " " + mark.Value
	}
	for _, name := range []string{"S", "B", "J", "v"} {
		if m.Value[name] != nil {
			text += " " + name + attr.TypeName(m.Value[name])
		}
	}
	return text
}

// An external value is loaded from its vector, and what a save stores has the form of the vectors: read back by the
// page's rules alone.
func TestFormatExternal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	for i, v := range models.Vectors[struct {
		Item  models.DynamoItem
		Parts []models.DynamoItem
		Value models.DynamoJSON
	}](t, "external.json") {
		table := testengine.Table(t, "PK:S", "SK:S")
		clinics, err := mapper.New[models.Clinic](client, mapper.Table(table), compress.Zstd())
		if err != nil {
			t.Fatal(err)
		}
		one := v.Item.Attributes()
		root := map[string]types.AttributeValue{
			"PK": one["PK"], "SK": &types.AttributeValueMemberS{Value: "HEAD"},
		}
		if one["_a"] != nil {
			root["_a"] = one["_a"]
		}
		for _, a := range append(models.ItemsOf(v.Parts), one, root) {
			if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: a}); err != nil {
				t.Fatal(err)
			}
		}
		var all []models.Clinic
		for e, err := range clinics.Scan(ctx) {
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			all = append(all, e.Value)
		}
		if want, ok := v.Value.AttributeValue.(*types.AttributeValueMemberB); !ok || len(all) != 1 ||
			string(all[0].Scan) != string(want.Value) {
			t.Errorf("%d: %d entities, and a value of %d bytes", i, len(all), len(all[0].Scan))
		}
	}
}
