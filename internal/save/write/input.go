package write

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

const (
	// byIndex requests the consumed capacity of the table and of each index, which costs nothing.
	byIndex = types.ReturnConsumedCapacityIndexes
	total   = types.ReturnConsumedCapacityTotal
	allOld  = types.ReturnValuesOnConditionCheckFailureAllOld
)

// UpdateExpression returns the SET and REMOVE clauses of an update: the changed attributes and the
// version.
func (r *Request) UpdateExpression(x *attr.Expression) string {
	var b strings.Builder
	b.Grow(64) // most expressions are shorter
	last := ""
	clause := func(word string, text ...string) {
		if word == last {
			b.WriteString(", ")
		} else {
			if last != "" {
				b.WriteString(" ")
			}
			b.WriteString(word)
			b.WriteString(" ")
		}
		last = word
		for _, t := range text {
			b.WriteString(t)
		}
	}
	for _, a := range r.Set {
		clause("SET", x.Name(a.Name), " = ", x.Value(a.Value))
	}
	for _, a := range r.Defaults {
		clause("SET", x.Name(a.Name), " = if_not_exists(", x.Name(a.Name), ", ", x.Value(a.Value), ")")
	}
	operations := func(word string) {
		for i := range r.Operations {
			if o := &r.Operations[i]; o.Clause() == word {
				clause(word, o.Text(x))
			}
		}
	}
	operations("SET")
	if r.Reserved.Versions() {
		a := r.Reserved.AssignVersion(r.Token)
		clause("SET", x.Name(a.Name), " = ", x.Value(a.Value))
	}
	for _, a := range r.Remove {
		clause("REMOVE", x.Name(a.Name))
	}
	operations("REMOVE")
	operations("ADD")
	operations("DELETE")
	return b.String()
}

// Longest returns the length of the longest expression that the request is sent with, in bytes.
func (r *Request) Longest() int {
	var x attr.Expression
	n := 0
	if r.Kind == Update { // it takes the first, shortest placeholders
		n = len(r.UpdateExpression(&x))
	}
	return max(n, len(r.render(&x, time.Now())))
}

// whole returns the whole item of a put, with its version. It is a copy, unless nobody but the SDK sees the request:
// others may keep or change it. Then it is r.Put itself, and only another version is set in a copy.
func (r *Request) whole(unseen bool) item.Attributes {
	a, was := r.Put, r.Put[r.Reserved.Version]
	if !unseen || was != nil && was != r.Token {
		a = maps.Clone(a)
	}
	if r.Token != nil && was != r.Token { // a request that is sent again does not write to its map
		a[r.Reserved.Version] = r.Token
	}
	return a
}

// WholeSize returns the size of the whole item of a put, with its version, in bytes: before and after it is sent.
func (r *Request) WholeSize() int {
	n := attr.ItemSize(r.Put)
	if r.Reserved.Versions() && r.Put[r.Reserved.Version] == nil {
		n += r.Reserved.VersionSize()
	}
	return n
}

func (r *Request) putInput(now time.Time, unseen bool) *dynamodb.PutItemInput {
	in := &dynamodb.PutItemInput{TableName: &r.Table.Name, Item: r.whole(unseen), ReturnConsumedCapacity: byIndex}
	c := newCondition(unseen).of(r, now)
	defer c.release()
	if c.text != nil {
		in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure = c.text, allOld
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = c.names, c.values
	}
	return in
}

// condition is the condition of a request, with its placeholders.
type condition struct {
	x      attr.Expression
	was    string
	text   *string // nil for none
	names  map[string]string
	values map[string]types.AttributeValue
	unseen bool // described at whole
}

// conditions are those that can be used again, with the text and the names of their last request. Nobody but the SDK
// has seen that: others may keep or change it.
var conditions = sync.Pool{New: func() any { return &condition{unseen: true} }}

func newCondition(unseen bool) *condition {
	if !unseen {
		return &condition{}
	}
	return conditions.Get().(*condition)
}

// release lets other requests use the condition.
func (c *condition) release() {
	if c.unseen {
		c.x.Reset()
		c.values = nil
		conditions.Put(c)
	}
}

// of sets the condition of a request. It reuses the parts of the request before if they are equal, as
// they are for the items of an insert. Sent requests do not change.
func (c *condition) of(r *Request, now time.Time) *condition {
	c.x.Reset()
	text := r.render(&c.x, now)
	if c.text == nil || text != c.was || !c.x.NamedBy(c.names) {
		if c.was, c.text, c.names = text, nil, c.x.Names(); text != "" {
			sent := text // text itself would be in the heap for each request
			c.text = &sent
		}
	}
	c.values = c.x.Values()
	return c
}

// updateCall is an UpdateItem and the values that it refers to, in one piece of memory.
type updateCall struct {
	in                dynamodb.UpdateItemInput
	x                 attr.Expression
	update, condition string
}

func (r *Request) updateInput(now time.Time) *dynamodb.UpdateItemInput {
	var c updateCall
	c.update = r.UpdateExpression(&c.x)
	c.in = dynamodb.UpdateItemInput{
		TableName: &r.Table.Name, Key: r.Key(), UpdateExpression: &c.update,
		ReturnConsumedCapacity: byIndex, ReturnValuesOnConditionCheckFailure: allOld,
	}
	if r.Return {
		c.in.ReturnValues = types.ReturnValueAllNew
	}
	if c.condition = r.render(&c.x, now); c.condition != "" {
		c.in.ConditionExpression = &c.condition
	}
	c.in.ExpressionAttributeNames, c.in.ExpressionAttributeValues = c.x.Names(), c.x.Values()
	return &c.in
}

func (r *Request) deleteInput(now time.Time, unseen bool) *dynamodb.DeleteItemInput {
	c := newCondition(unseen).of(r, now)
	defer c.release()
	return &dynamodb.DeleteItemInput{
		TableName: &r.Table.Name, Key: r.Key(),
		ConditionExpression: c.text, ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnConsumedCapacity: byIndex, ReturnValuesOnConditionCheckFailure: allOld,
	}
}

// transactItem returns the request as an item of a transaction. c is that of the item before.
func (r *Request) transactItem(now time.Time, c *condition) types.TransactWriteItem {
	if r.raw != nil {
		return *r.raw
	}
	table := &r.Table.Name
	if r.Kind == Update {
		in := r.updateInput(now)
		return types.TransactWriteItem{Update: &types.Update{
			TableName: table, Key: in.Key, UpdateExpression: in.UpdateExpression,
			ConditionExpression:                 in.ConditionExpression,
			ExpressionAttributeNames:            in.ExpressionAttributeNames,
			ExpressionAttributeValues:           in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: allOld,
		}}
	}
	c.of(r, now)
	switch r.Kind {
	case Put:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: table, Item: r.whole(c.unseen), ConditionExpression: c.text,
			ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case Delete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: table, Key: r.Key(), ConditionExpression: c.text,
			ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
			ReturnValuesOnConditionCheckFailure: allOld,
		}}
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: table, Key: r.Key(), ConditionExpression: c.text,
		ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: allOld,
	}}
}
