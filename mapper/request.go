package mapper

import (
	"crypto/rand"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/read"
)

// tokenSize is the size of a version token in bytes. Tokens are random: 2^64 of
// them, compared with the one that was read only.
const tokenSize = 8

func newToken() types.AttributeValue {
	b := make([]byte, tokenSize)
	_, _ = rand.Read(b) // never fails
	return &types.AttributeValueMemberB{Value: b}
}

// prepare gives a change the version that it will write.
func (c *core) prepare(ch *change) {
	if c.schema.Version != "" && ch.kind != KindDelete && ch.kind != KindCheck {
		ch.token = newToken()
	}
}

// item returns the whole item of a put.
func (c *core) item(ch *change) read.Item {
	item := maps.Clone(ch.put)
	if ch.token != nil {
		item[c.schema.Version] = ch.token
	}
	return item
}

const (
	total  = types.ReturnConsumedCapacityTotal
	allOld = types.ReturnValuesOnConditionCheckFailureAllOld
)

func (c *core) putInput(ch *change) *dynamodb.PutItemInput {
	var x expression
	condition := c.condition(&x, ch)
	if condition == "" {
		return &dynamodb.PutItemInput{TableName: &c.tables[ch.table], Item: c.item(ch), ReturnConsumedCapacity: total}
	}
	return &dynamodb.PutItemInput{
		TableName: &c.tables[ch.table], Item: c.item(ch),
		ConditionExpression: &condition, ExpressionAttributeNames: x.names(), ExpressionAttributeValues: x.valueMap(),
		ReturnConsumedCapacity: total, ReturnValuesOnConditionCheckFailure: allOld,
	}
}

func (c *core) updateInput(ch *change) *dynamodb.UpdateItemInput {
	var x expression
	update := c.updateExpression(&x, ch)
	condition := c.condition(&x, ch)
	return &dynamodb.UpdateItemInput{
		TableName: &c.tables[ch.table], Key: c.reader.Key(ch.table, ch.pk, ch.sk), UpdateExpression: &update,
		ConditionExpression: unlessEmpty(condition), ExpressionAttributeNames: x.names(), ExpressionAttributeValues: x.valueMap(),
		ReturnConsumedCapacity: total, ReturnValuesOnConditionCheckFailure: allOld,
	}
}

// unlessEmpty returns an expression, nil for an empty one.
func unlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (c *core) deleteInput(ch *change) *dynamodb.DeleteItemInput {
	var x expression
	condition := unlessEmpty(c.condition(&x, ch))
	return &dynamodb.DeleteItemInput{
		TableName: &c.tables[ch.table], Key: c.reader.Key(ch.table, ch.pk, ch.sk),
		ConditionExpression: condition, ExpressionAttributeNames: x.names(), ExpressionAttributeValues: x.valueMap(),
		ReturnConsumedCapacity: total, ReturnValuesOnConditionCheckFailure: allOld,
	}
}

// transactItem returns a change as an item of a transaction.
func (c *core) transactItem(ch *change) types.TransactWriteItem {
	table := aws.String(c.tables[ch.table])
	switch ch.kind {
	case KindPut:
		in := c.putInput(ch)
		return types.TransactWriteItem{Put: &types.Put{
			TableName: table, Item: in.Item, ConditionExpression: in.ConditionExpression,
			ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case KindUpdate:
		in := c.updateInput(ch)
		return types.TransactWriteItem{Update: &types.Update{
			TableName: table, Key: in.Key, UpdateExpression: in.UpdateExpression, ConditionExpression: in.ConditionExpression,
			ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case KindDelete:
		in := c.deleteInput(ch)
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: table, Key: in.Key, ConditionExpression: in.ConditionExpression,
			ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: allOld,
		}}
	}
	in := c.deleteInput(ch) // a check has the condition of a delete: the item is as it was
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: table, Key: in.Key, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: allOld,
	}}
}

// clientToken returns a new token that makes a transaction idempotent.
func clientToken() string { return rand.Text() }
