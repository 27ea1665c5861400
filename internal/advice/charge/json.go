package charge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/itemize/itemize/internal/model/redact"
)

// ItemFromJSON reads an item in DynamoDB JSON ({"email": {"S": "a@example.com"}}), or as a plain JSON
// object. As in attributevalue, the numbers of a plain object become N, its arrays L and its objects M.
// Values that DynamoDB would refuse are refused. Any size is accepted, so that documents can be read
// before they are split; see CheckItem.
func ItemFromJSON(text []byte) (Item, error) { return itemFrom(text, typed) }

// ItemFromPlainJSON reads an item as a plain JSON object, also one that looks like DynamoDB JSON.
func ItemFromPlainJSON(text []byte) (Item, error) {
	return itemFrom(text, func(map[string]any) bool { return false })
}

func itemFrom(text []byte, typed func(map[string]any) bool) (Item, error) {
	text = UTF8(text)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("the item is not a JSON object: %w", err)
	}
	if m == nil {
		return nil, errors.New("the item is null, not a JSON object: write an object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("text after the item: write one item")
	}
	item, read := Item{}, plainValue
	if typed(map[string]any{"": m}) && isValue(m) {
		return nil, errors.New("the item looks like one attribute value with several types: write the name of the " +
			"attribute around it, and one type: {\"email\": {\"S\": \"a@example.com\"}}")
	}
	if typed(m) {
		read = typedValue
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, err := read(m[name])
		if err == nil {
			err = checkValue(v)
		}
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		item[name] = v
	}
	return item, nil
}

// ItemsFromJSON reads the items of a file: one item, an array of items, an item on each line, or the output of a read
// (aws dynamodb scan --table-name ...), which has them under "Items", "Item" or "Responses".
func ItemsFromJSON(text []byte) ([]Item, error) {
	var out []Item
	err := EachFromJSON(text, func(it Item) { out = append(out, it) })
	return out, err
}

// EachFromJSON calls do with each item of ItemsFromJSON, and holds one of them at a time.
func EachFromJSON(text []byte, do func(Item)) error {
	text = UTF8(text)
	raw, ok := answered(text)
	if !ok {
		raw, ok = several(text)
	}
	if !ok {
		item, err := ItemFromJSON(text)
		if err == nil {
			do(item)
		}
		return err
	}
	for i, raw := range raw {
		item, err := ItemFromJSON(raw)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		do(item)
	}
	return nil
}

// several returns the objects of an array, or those of several lines.
func several(text []byte) (items []json.RawMessage, ok bool) {
	if json.Unmarshal(text, &items) == nil && items != nil {
		return items, true
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) < 2 {
		return nil, false
	}
	items = nil
	for _, line := range lines {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' || !json.Valid(line) {
			return nil, false
		}
		items = append(items, line)
	}
	return items, true
}

// answered returns the items in the output of a read. ok is false for anything else, such as a document
// with an attribute of that name.
func answered(text []byte) (items []json.RawMessage, ok bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return nil, false
	}
	for name, raw := range all {
		var one json.RawMessage
		var tables map[string][]json.RawMessage
		var err error
		switch name {
		case "Item":
			err = json.Unmarshal(raw, &one)
			items = append(items, one)
		case "Items":
			err = json.Unmarshal(raw, &items)
			ok = true
		case "Responses":
			err = json.Unmarshal(raw, &tables)
			for _, table := range slices.Sorted(maps.Keys(tables)) {
				items = append(items, tables[table]...)
			}
		case "Count", "ScannedCount", "LastEvaluatedKey", "ConsumedCapacity", "NextToken", "UnprocessedKeys",
			"ResponseMetadata":
		default:
			return nil, false
		}
		if err != nil {
			return nil, false
		}
	}
	for _, raw := range items {
		var m map[string]any
		if json.Unmarshal(raw, &m) != nil || !typed(m) {
			return nil, false
		}
	}
	return items, ok || len(items) > 0
}

var typeNames = []string{"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}

// typed reports whether all attributes are objects with types of DynamoDB. An object with several of them is no valid
// attribute value, and no document that a program writes.
func typed(m map[string]any) bool {
	for _, v := range m {
		o, ok := v.(map[string]any)
		if !ok || len(o) == 0 {
			return false
		}
		for name, v := range o {
			if !slices.Contains(typeNames, name) || len(o) > 1 && !typedLike(name, v) {
				return false
			}
		}
	}
	return len(m) > 0
}

// typedLike reports whether a value has the JSON type that a type of DynamoDB is written with.
func typedLike(name string, v any) bool {
	switch v.(type) {
	case string:
		return name == "S" || name == "N" || name == "B"
	case bool:
		return name == "BOOL" || name == "NULL"
	case []any:
		return name == "L" || name == "SS" || name == "NS" || name == "BS"
	case map[string]any:
		return name == "M"
	}
	return false
}

// isValue reports whether an object is one attribute value in DynamoDB JSON with several types, and no item.
func isValue(m map[string]any) bool {
	for name, v := range m {
		if !slices.Contains(typeNames, name) || !typedLike(name, v) {
			return false
		}
	}
	return len(m) > 1
}

func plainValue(v any) (types.AttributeValue, error) { return plain(v), nil }

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
			return nil, redact.Errorf("an entry of the map%v: %w", redact.Of(name), err)
		}
		item[name] = v
	}
	return item, nil
}

// typedValue reads a value in DynamoDB JSON: an object with a type and a value.
func typedValue(v any) (types.AttributeValue, error) {
	o, ok := v.(map[string]any)
	if ok && len(o) > 1 {
		return nil, fmt.Errorf("an attribute value has one type, and this one has %s: write one of them",
			strings.Join(slices.Sorted(maps.Keys(o)), ", "))
	}
	if !ok || len(o) != 1 {
		return nil, redact.Errorf("invalid attribute value%v: write {\"S\":\"text\"} or {\"N\":\"1\"}, for example",
			redact.Of(v))
	}
	for name, v := range o {
		switch name {
		case "S", "N", "B":
			return typedText(name, v)
		case "BOOL", "NULL":
			return typedBool(name, v)
		case "L", "M":
			return typedDocument(name, v)
		case "SS", "NS", "BS":
			return typedSet(name, v)
		}
		return nil, redact.Errorf("invalid attribute type%v: write one of %s", redact.Of(name),
			strings.Join(typeNames, ", "))
	}
	return nil, nil // an object with one member has one
}

// holds returns the error of a value that does not fit its type.
func holds(name, what string, v any) error {
	text, _ := json.Marshal(v)
	return redact.Errorf("invalid value%v of %s: write %s", redact.Of(string(text)), name, what)
}

func typedText(name string, v any) (types.AttributeValue, error) {
	s, ok := v.(string)
	if _, is := v.(json.Number); is && name == "N" {
		return nil, fmt.Errorf("%w: write {\"N\":\"1\"}, with quotation marks", holds(name, "a text", v))
	}
	switch {
	case !ok:
		return nil, holds(name, "a text", v)
	case name == "S":
		return &types.AttributeValueMemberS{Value: s}, nil
	case name == "N":
		return &types.AttributeValueMemberN{Value: s}, nil
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, holds(name, "base64", v)
	}
	return &types.AttributeValueMemberB{Value: b}, nil
}

func typedBool(name string, v any) (types.AttributeValue, error) {
	is, ok := v.(bool)
	switch {
	case name == "BOOL" && ok:
		return &types.AttributeValueMemberBOOL{Value: is}, nil
	case name == "BOOL":
		return nil, holds(name, "true or false", v)
	case !is:
		return nil, holds(name, "true", v)
	}
	return &types.AttributeValueMemberNULL{Value: true}, nil
}

func typedDocument(name string, v any) (types.AttributeValue, error) {
	if name == "M" {
		o, ok := v.(map[string]any)
		if !ok {
			return nil, holds(name, "an object", v)
		}
		m, err := typedMap(o)
		return &types.AttributeValueMemberM{Value: m}, err
	}
	all, ok := v.([]any)
	if !ok {
		return nil, holds(name, "an array", v)
	}
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

func typedSet(name string, v any) (types.AttributeValue, error) {
	all, ok := v.([]any)
	texts := make([]string, len(all))
	for i, e := range all {
		s, is := e.(string)
		texts[i], ok = s, ok && is
	}
	if !ok {
		return nil, holds(name, "an array of texts", v)
	}
	switch name {
	case "SS":
		return &types.AttributeValueMemberSS{Value: texts}, nil
	case "NS":
		return &types.AttributeValueMemberNS{Value: texts}, nil
	}
	bs := &types.AttributeValueMemberBS{}
	for _, s := range texts {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, holds(name, "base64", s)
		}
		bs.Value = append(bs.Value, b)
	}
	return bs, nil
}

// PlainJSON returns a value for encoding/json: the opposite of reading a plain JSON object. Sets become arrays, and
// bytes base64.
func PlainJSON(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, e := range v.Value {
			all[i] = PlainJSON(e)
		}
		return all
	case *types.AttributeValueMemberM:
		all := map[string]any{}
		for name, e := range v.Value {
			all[name] = PlainJSON(e)
		}
		return all
	case *types.AttributeValueMemberSS:
		return v.Value
	case *types.AttributeValueMemberNS:
		return v.Value
	case *types.AttributeValueMemberBS:
		return v.Value
	}
	return nil
}
