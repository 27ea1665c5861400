package charge

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// CheckItem returns the reason why DynamoDB would refuse an item in any table: a value, or its size.
func CheckItem(item Item) error {
	if len(item) == 0 {
		return errors.New("the item has no attributes: add at least its key")
	}
	largest := ""
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if name == "" {
			return fmt.Errorf("an attribute without a name, of %s: add its name",
				attr.Bytes(cost.ValueSize(item[name])))
		}
		if err := checkValue(item[name]); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
		if largest == "" || cost.AttributeSize(name, item[name]) > cost.AttributeSize(largest, item[largest]) {
			largest = name
		}
	}
	if n := cost.ItemSize(item); n > cost.MaxItem {
		return fmt.Errorf("the item has %s (limit 400 KB); the largest attribute is %q with %s: split the item, "+
			"or compress that attribute",
			attr.Bytes(n), largest, attr.Bytes(cost.AttributeSize(largest, item[largest])))
	}
	return nil
}

// checkValue returns the reason why DynamoDB would refuse a value.
func checkValue(v types.AttributeValue) error {
	if null, ok := v.(*types.AttributeValueMemberNULL); ok && !null.Value {
		return errors.New("invalid NULL attribute: the value must be true")
	}
	return attr.Check(v)
}

// CheckWrite returns the reason why no write can turn old into new; nil is no item. Both must have the
// same key of the table.
func (t Table) CheckWrite(old, new Item) error {
	if old == nil && new == nil {
		return errors.New("the old item and the new item are missing: write one of them")
	}
	for _, key := range []struct {
		name  string
		limit int
	}{{t.Hash, cost.MaxPartitionKey}, {t.Range, cost.MaxSortKey}} {
		if key.name == "" {
			continue
		}
		if err := errors.Join(checkKey("old", old, key.name, key.limit),
			checkKey("new", new, key.name, key.limit)); err != nil {
			return err
		}
		if old != nil && new != nil && !attr.Same(old[key.name], new[key.name]) {
			return fmt.Errorf("the key differs in %s, but a write does not change a key: price a move as a delete "+
				"and an insert", key.name)
		}
	}
	return nil
}

// checkKey returns the fault of a key attribute of an item.
func checkKey(which string, item Item, name string, limit int) error {
	if item == nil {
		return nil
	}
	v, ok := item[name]
	if !ok {
		return fmt.Errorf("the %s item lacks the key attribute %s: add it", which, name)
	}
	if _, ok := attr.ScalarOf(v); !ok {
		return fmt.Errorf("the key attribute %s of the %s item is not a string, number or binary: write one of these",
			name, which)
	}
	switch n := cost.ValueSize(v); {
	case n == 0:
		return fmt.Errorf("the key attribute %s of the %s item is empty: add its value", name, which)
	case n > limit:
		return fmt.Errorf("the key attribute %s of the %s item has %s (limit %s): shorten it", name,
			which, attr.Bytes(n), attr.Bytes(limit))
	}
	return nil
}
