package cost

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ItemFromJSON reads an item: as DynamoDB's own JSON ({"PK":{"S":"a"}}), or as a plain
// JSON object, whose numbers become N, arrays L and objects M, as attributevalue would
// have it.
func ItemFromJSON(text []byte) (Item, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("the item is no JSON object: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("more than one JSON object: give one item")
	}
	if typed(m) {
		return typedMap(m)
	}
	item := Item{}
	for name, v := range m {
		item[name] = plain(v)
	}
	return item, nil
}

var typeNames = []string{"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}

// ItemsFromJSON reads the items of a file: one item, or the output of a scan or query of a
// table (aws dynamodb scan --table-name ...), which has them under "Items".
func ItemsFromJSON(text []byte) ([]Item, error) {
	var scan struct{ Items []json.RawMessage }
	if err := json.Unmarshal(text, &scan); err != nil || scan.Items == nil {
		item, err := ItemFromJSON(text)
		return []Item{item}, err
	}
	var out []Item
	for i, raw := range scan.Items {
		item, err := ItemFromJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		out = append(out, item)
	}
	return out, nil
}

// typed reports whether all attributes are objects with one of DynamoDB's types.
func typed(m map[string]any) bool {
	for _, v := range m {
		o, ok := v.(map[string]any)
		if !ok || len(o) != 1 {
			return false
		}
		for name := range o {
			if !slices.Contains(typeNames, name) {
				return false
			}
		}
	}
	return len(m) > 0
}

func plain(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case []any:
		l := &types.AttributeValueMemberL{}
		for _, e := range v {
			l.Value = append(l.Value, plain(e))
		}
		return l
	case map[string]any:
		m := &types.AttributeValueMemberM{Value: Item{}}
		for name, e := range v {
			m.Value[name] = plain(e)
		}
		return m
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

func typedMap(m map[string]any) (Item, error) {
	item := Item{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, err := typedValue(m[name])
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		item[name] = v
	}
	return item, nil
}

func typedValue(v any) (types.AttributeValue, error) {
	o, ok := v.(map[string]any)
	if !ok || len(o) != 1 {
		return nil, fmt.Errorf("%v is no value of DynamoDB: write {\"S\":\"text\"} or {\"N\":\"1\"}, for example", v)
	}
	for name, v := range o {
		switch x := v.(type) {
		case string:
			return typedText(name, x)
		case bool:
			if name == "NULL" {
				return &types.AttributeValueMemberNULL{Value: x}, nil
			}
			return &types.AttributeValueMemberBOOL{Value: x}, nil
		case []any:
			return typedList(name, x)
		case map[string]any:
			m, err := typedMap(x)
			return &types.AttributeValueMemberM{Value: m}, err
		}
	}
	return nil, fmt.Errorf("%v is no value of DynamoDB", v)
}

func typedText(name, s string) (types.AttributeValue, error) {
	switch name {
	case "S":
		return &types.AttributeValueMemberS{Value: s}, nil
	case "N":
		return &types.AttributeValueMemberN{Value: s}, nil
	case "B":
		b, err := base64.StdEncoding.DecodeString(s)
		return &types.AttributeValueMemberB{Value: b}, err
	}
	return nil, fmt.Errorf("the type %s does not hold a text", name)
}

func typedList(name string, all []any) (types.AttributeValue, error) {
	if name == "L" {
		l := &types.AttributeValueMemberL{}
		for _, e := range all {
			v, err := typedValue(e)
			if err != nil {
				return nil, err
			}
			l.Value = append(l.Value, v)
		}
		return l, nil
	}
	var texts []string
	for _, e := range all {
		s, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("a set of %T: its members are texts", e)
		}
		texts = append(texts, s)
	}
	switch name {
	case "SS":
		return &types.AttributeValueMemberSS{Value: texts}, nil
	case "NS":
		return &types.AttributeValueMemberNS{Value: texts}, nil
	case "BS":
		bs := &types.AttributeValueMemberBS{}
		for _, s := range texts {
			b, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				return nil, err
			}
			bs.Value = append(bs.Value, b)
		}
		return bs, nil
	}
	return nil, fmt.Errorf("the type %s is no list", name)
}

// Measure returns the attributes of documents with their sizes in each of them, in bytes:
// the beginning of a Workload.
func Measure(documents ...Item) []Attribute {
	sizes := map[string][]int{}
	for i, d := range documents {
		for name, v := range d {
			if sizes[name] == nil {
				sizes[name] = make([]int, len(documents))
			}
			sizes[name][i] = AttributeSize(name, v)
		}
	}
	var out []Attribute
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		out = append(out, Attribute{name, sizes[name]})
	}
	return out
}
