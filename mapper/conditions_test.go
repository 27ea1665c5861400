package mapper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/testengine"
)

// wideModel returns a model with n texts, which are left out when empty.
func wideModel(n int, options string) reflect.Type {
	fields := []reflect.StructField{
		{
			Name:    "_",
			PkgPath: "modeltest",
			Type:    reflect.TypeFor[struct{}](),
			Tag:     reflect.StructTag(`ddb:"table=wide` + options + `"`),
		},
		{Name: "ID", Type: reflect.TypeFor[string](), Tag: `ddb:"pk={ID}"`},
	}
	for i := range n {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("A%d", i), Type: reflect.TypeFor[string](), Tag: `ddb:"sk=H" dynamodbav:",omitempty"`,
		})
	}
	return reflect.StructOf(fields)
}

// A save is sent within the limits of DynamoDB, or is refused before it is sent: also if its condition is what is too
// long.
func TestConditionsAreBelowLimits(t *testing.T) {
	t.Parallel()
	r := random(t)
	for _, options := range []string{"", ",noversion"} {
		typ := wideModel(320, options)
		table := testengine.Table(t, "PK:S", "SK:S")
		f := fixtureOn(t, r, typ, map[string]string{"wide": table})
		client := testengine.Start(t).Client()
		for _, stored := range []int{0, 1, 100, 147, 148, 149, 200, 320} {
			for _, changed := range []int{
				1, 100, 131, 132, 133, 134, 140, 146, 147, 148, 149, 150, 200, 298, 299,
				320,
			} {
				for _, versioned := range []bool{false, true} {
					id := fmt.Sprint(stored, "-", changed, "-", versioned)
					it := map[string]types.AttributeValue{
						"PK": &types.AttributeValueMemberS{Value: id}, "SK": &types.AttributeValueMemberS{Value: "H"},
					}
					if versioned {
						it["_v"] = &types.AttributeValueMemberB{Value: []byte("12345678")}
					}
					for i := range stored {
						it[fmt.Sprintf("A%d", i)] = &types.AttributeValueMemberS{Value: "stored"}
					}
					if _, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{
						TableName: &table,
						Item:      it,
					}); err != nil {
						t.Fatal(err)
					}
					key := f.Codec.New()
					reflect.ValueOf(key).Elem().FieldByName("ID").SetString(id)
					v, s := f.mustRead(key)
					for i := range changed {
						reflect.ValueOf(v).Elem().FieldByName(fmt.Sprintf("A%d", 319-i)).SetString("changed")
					}
					_, err := f.again(s, v)
					var service *types.ResourceNotFoundException
					if err != nil &&
						(errors.As(err, &service) || strings.Contains(err.Error(), "ValidationException")) {
						t.Errorf("%s: %v", id, err)
					} else if err != nil {
						t.Logf("%s %s: %v", options, id, err)
					}
				}
			}
		}
	}
}
