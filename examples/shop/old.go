package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// old is one of the programs that have written the table for years. It knows nothing of the library.
type old struct {
	client *dynamodb.Client
	table  string
}

func text(s string) types.AttributeValue  { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// fill writes two customers, and items that the model does not describe.
func (o old) fill(ctx context.Context) error {
	for _, item := range []map[string]types.AttributeValue{
		{
			"pk": text("cust|4711"), "sk": text("profile"), "name": text("Ann"), "mail": text("ann@example.com"),
			"since": number(1300000000), "_v": number(7), "shoeSize": text("41"),
			"groups": &types.AttributeValueMemberSS{Value: []string{"vip"}},
		},
		{"pk": text("cust|4711"), "sk": text("balance"), "cents": number(1250)},
		{
			"pk": text("cust|4711"), "sk": text("order|2019-03-04|17"), "day": text("2019-03-04T00:00:00Z"),
			"_s": text("paid"), "cents": number(995), "carrier": text("post"),
		},
		{"pk": text("cust|4711"), "sk": text("call|2020-01-02"), "text": text("asked for a discount")},
		{"pk": text("cust|4712"), "sk": text("profile"), "name": text("Bob"), "_v": number(1)},
		{"pk": text("stock|A17"), "sk": text("level"), "count": number(3)},
	} {
		if _, err := o.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &o.table, Item: item}); err != nil {
			return err
		}
	}
	return nil
}

// setMail changes an address, as this program has always done: it counts up _v, and checks nothing else.
func (o old) setMail(ctx context.Context, customer, mail string) error {
	return o.update(ctx, customer, "profile", "SET mail = :x ADD #v :one", text(mail))
}

// setCarrier changes an attribute that the model does not have.
func (o old) setCarrier(ctx context.Context, customer, order, carrier string) error {
	_, err := o.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &o.table, Key: o.key(customer, order), UpdateExpression: aws.String("SET carrier = :x"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":x": text(carrier)},
	})
	return err
}

func (o old) update(ctx context.Context, customer, sk, expression string, x types.AttributeValue) error {
	_, err := o.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &o.table, Key: o.key(customer, sk), UpdateExpression: &expression,
		ExpressionAttributeNames:  map[string]string{"#v": "_v"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":x": x, ":one": number(1)},
	})
	return err
}

func (o old) key(customer, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": text("cust|" + customer), "sk": text(sk)}
}

// get reads an item.
func (o old) get(ctx context.Context, customer, sk string) (map[string]types.AttributeValue, error) {
	out, err := o.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &o.table, Key: o.key(customer, sk)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// closeAccount deletes a customer in its own way: the profile alone.
func (o old) closeAccount(ctx context.Context, customer string) error {
	_, err := o.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &o.table, Key: o.key(customer, "profile")})
	return err
}
