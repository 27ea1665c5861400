package models

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// Vectors reads a file of internal/testdata/format: what docs/format.md says is stored, written by hand.
func Vectors[V any](t testing.TB, file string) []V {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil && !isFormat(dir) {
		if dir == filepath.Dir(dir) {
			t.Fatal("no folder above has internal/testdata/format")
		}
		dir = filepath.Dir(dir)
	}
	b, err := os.ReadFile(filepath.Join(dir, "internal", "testdata", "format", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []V
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

func isFormat(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "internal", "testdata", "format"))
	return err == nil
}

// DynamoJSON is an attribute value in DynamoDB's JSON; nil is none.
type DynamoJSON struct{ types.AttributeValue }

// UnmarshalJSON reads a value, or null.
func (d *DynamoJSON) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	m, err := attributevalue.UnmarshalMapJSON(fmt.Appendf(nil, `{"v": %s}`, b))
	d.AttributeValue = m["v"]
	return err
}

// DynamoItem is an item in DynamoDB's JSON.
type DynamoItem map[string]DynamoJSON

// Attributes returns the item.
func (d DynamoItem) Attributes() map[string]types.AttributeValue {
	a := map[string]types.AttributeValue{}
	for name, v := range d {
		a[name] = v.AttributeValue
	}
	return a
}

// ItemsOf returns items.
func ItemsOf(all []DynamoItem) []map[string]types.AttributeValue {
	out := []map[string]types.AttributeValue{}
	for _, d := range all {
		out = append(out, d.Attributes())
	}
	return out
}

// ShowJSON returns a value for messages.
func ShowJSON(v types.AttributeValue) string {
	if v == nil {
		return "none"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return attr.TypeName(v) + " " + string(b)
}

// GoValue is a value of Go, with its expression.
type GoValue struct {
	Expression string
	Type       reflect.Type
	Value      any
}

// Package is the model of monoliths.json.
type Package struct {
	_        struct{}         `ddb:"table=packages"`
	Name     string           `ddb:"pk=PKG#{Name}" dynamodbav:"name"`
	Title    string           `ddb:"sk=HEAD"`
	Versions []PackageVersion `ddb:"sk=VERSION#{Number}"`
}

// PackageVersion is a version of a package.
type PackageVersion struct {
	Number string
	Size   int
}
