package write

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// Raw returns a request of a transaction that is sent as the caller has made it. Where its table
// is one that tables knows by its name, its place is known.
func Raw(part types.TransactWriteItem, tables func(name string) *item.Table) (*Request, error) {
	r := &Request{Label: "mapper", Field: "RawPart", Unread: true, raw: &types.TransactWriteItem{}}
	var names []*string
	var key, put item.Attributes
	var missing error
	need := func(expression *string, what string) {
		if aws.ToString(expression) == "" {
			missing = fmt.Errorf("the %s lacks %s: add it", r.Kind, what)
		}
	}
	if g := part.Put; g != nil {
		c := *g
		c.ReturnValuesOnConditionCheckFailure = allOld
		r.Kind, r.raw.Put, put = Put, &c, c.Item
		names = append(names, c.TableName)
	}
	if g := part.Update; g != nil {
		c := *g
		c.ReturnValuesOnConditionCheckFailure = allOld
		r.Kind, r.raw.Update, key = Update, &c, c.Key
		names = append(names, c.TableName)
		need(c.UpdateExpression, "UpdateExpression")
	}
	if g := part.Delete; g != nil {
		c := *g
		c.ReturnValuesOnConditionCheckFailure = allOld
		r.Kind, r.raw.Delete, key = Delete, &c, c.Key
		names = append(names, c.TableName)
	}
	if g := part.ConditionCheck; g != nil {
		c := *g
		c.ReturnValuesOnConditionCheckFailure = allOld
		r.Kind, r.raw.ConditionCheck, key = Check, &c, c.Key
		names = append(names, c.TableName)
		need(c.ConditionExpression, "ConditionExpression")
	}
	switch {
	case len(names) != 1:
		return nil, fmt.Errorf("the item has %d of Put, Update, Delete and ConditionCheck: use one of them", len(names))
	case aws.ToString(names[0]) == "":
		return nil, fmt.Errorf("the %s lacks the TableName: add it", r.Kind)
	case len(put)+len(key) == 0:
		return nil, fmt.Errorf("the %s has no attributes: add the Item of a Put, or the Key of the others", r.Kind)
	case missing != nil:
		return nil, missing
	}
	r.NewSize = attr.ItemSize(put) + attr.ItemSize(key)
	if r.Kind == Delete || r.Kind == Check {
		r.NewSize = 0
	}
	err := r.locate(*names[0], key, put, tables)
	r.Arguments = ArgumentsOf(r)
	return r, err
}

// locate finds the table of a raw request. In an unknown table only its key is known.
func (r *Request) locate(name string, key, put item.Attributes, tables func(string) *item.Table) error {
	t := tables(name)
	if t == nil {
		r.Table = &item.Table{Name: name}
		for _, a := range slices.Sorted(maps.Keys(key)) {
			if s, ok := attr.ScalarOf(key[a]); ok {
				r.RawKey += fmt.Sprintf(" %s=%s", a, s.Text)
			}
		}
		r.RawKey = strings.TrimPrefix(r.RawKey, " ")
		for n, a := range slices.Sorted(maps.Keys(key)) {
			if s, ok := attr.ScalarOf(key[a]); ok && n == 0 {
				r.Table.Hash, r.PK = a, s
			} else if ok {
				r.Table.Range, r.SK = a, s
			}
		}
		return nil
	}
	r.Table = t
	all := put
	if all == nil {
		all = key
	}
	var ok bool
	if r.PK, ok = attr.ScalarOf(all[r.Table.Hash]); !ok {
		return fmt.Errorf("the %s lacks %s, the partition key of %s: add it", r.Kind, r.Table.Hash, name)
	}
	if r.Table.Range == "" {
		return nil
	}
	if r.SK, ok = attr.ScalarOf(all[r.Table.Range]); !ok {
		return fmt.Errorf("the %s lacks %s, the sort key of %s: add it", r.Kind, r.Table.Range, name)
	}
	return nil
}
