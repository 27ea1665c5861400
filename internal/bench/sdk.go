package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/bench/store"
)

// The items with declarations by hand: with the keys, and a version that updates compare. Tags are for
// attributevalue and for guregu/dynamo.
type (
	keys struct {
		PK      string
		SK      string
		Version int
	}
	infoItem struct {
		keys
		Email, Name string
	}
	addressItem struct {
		keys
		store.Address
	}
	cartItem struct {
		keys
		store.Cart
	}
	wishItem struct {
		keys
		store.Wish
	}
	sessionItem struct {
		keys
		User, Agent string
		Started     int64
		Hits        int
	}
)

func pk(id string) string { return "USER#" + id }

func wishKey(at time.Time) string { return "WISH#" + at.UTC().Format(time.RFC3339) }

// itemsOf returns the items of a user.
func itemsOf(u store.User) []any {
	k := func(sk string) keys { return keys{pk(u.ID), sk, 1} }
	all := []any{
		infoItem{k("INFO"), u.Email, u.Name},
		addressItem{k("ADDRESS#HOME"), u.Home},
		addressItem{k("ADDRESS#OFFICE"), u.Office},
		cartItem{k("CART"), u.Cart},
	}
	for _, w := range u.Wishes {
		all = append(all, wishItem{k(wishKey(w.AddedAt)), w})
	}
	return all
}

// itemOf returns the item of a session.
func itemOf(s store.Session) sessionItem {
	return sessionItem{keys{"SESSION#" + s.ID, "SESSION", 1}, s.User, s.Agent, s.Started, s.Hits}
}

// byHand is the SDK with attributevalue, as its documentation has it.
type byHand struct {
	*dynamodb.Client
	table   *string
	version int
	email   string
	session sessionItem
	asks
}

// asks are the answers that requests ask for, beyond the items of a read. marked reports that each item also has eight
// random bytes, which those of a user share.
type asks struct {
	marked      bool
	read, write types.ReturnConsumedCapacity
	refused     types.ReturnValuesOnConditionCheckFailure
}

func openSDK(c *dynamodb.Client, table string) (*Opened, error) { return openByHand(c, table, asks{}) }

// openSame opens the SDK by hand, with the attributes, conditions and answers that itemize has.
func openSame(c *dynamodb.Client, table string) (*Opened, error) {
	return openByHand(c, table, asks{
		true, types.ReturnConsumedCapacityTotal, types.ReturnConsumedCapacityIndexes,
		types.ReturnValuesOnConditionCheckFailureAllOld,
	})
}

func openByHand(c *dynamodb.Client, table string, a asks) (*Opened, error) {
	h := &byHand{Client: c, table: &table, asks: a}
	return &Opened{Fill: h.fill, FillPage: h.fillPage, Jobs: map[string]Job{
		Small: h.small, Get: h.get, Touch: h.touch,
		Insert: h.insert, Load: h.load, Change: h.change, Add: h.add, Month: h.month, Page: h.page, Bulk: h.bulk,
	}}, nil
}

func (h *byHand) fill(ctx context.Context) error {
	h.version, h.email = 1, theUser(userID).Email
	if err := h.insertUser(ctx, theUser(userID)); err != nil {
		return err
	}
	h.session = itemOf(theSession(userID))
	return h.put(ctx, h.session)
}

func (h *byHand) fillPage(ctx context.Context) error {
	return h.write(ctx, itemsOf(store.User{ID: pageID, Email: "page@example.com", Wishes: pageWishes()}))
}

// mark returns eight random bytes; nil for items without them.
func (h *byHand) mark() []byte {
	if !h.marked {
		return nil
	}
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return b
}

// marshal returns an item, with the bytes of mark if there are some.
func marshal(it any, mark []byte) (map[string]types.AttributeValue, error) {
	av, err := attributevalue.MarshalMap(it)
	if err == nil && mark != nil {
		av["_a"] = &types.AttributeValueMemberB{Value: mark}
	}
	return av, err
}

func (h *byHand) insert(ctx context.Context, i int) error {
	return h.insertUser(ctx, theUser(fmt.Sprint("new-", i)))
}

func (h *byHand) insertUser(ctx context.Context, u store.User) error {
	var puts []types.TransactWriteItem
	mark := h.mark()
	for _, it := range itemsOf(u) {
		av, err := marshal(it, mark)
		if err != nil {
			return err
		}
		puts = append(puts, types.TransactWriteItem{Put: &types.Put{
			TableName: h.table, Item: av, ConditionExpression: aws.String("attribute_not_exists(PK)"),
			ReturnValuesOnConditionCheckFailure: h.refused,
		}})
	}
	_, err := h.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: puts, ReturnConsumedCapacity: h.asks.write,
	})
	return err
}

// query yields all items of a key condition.
func (h *byHand) query(ctx context.Context, condition expression.KeyConditionBuilder,
	each func(map[string]types.AttributeValue) error,
) error {
	x, err := expression.NewBuilder().WithKeyCondition(condition).Build()
	if err != nil {
		return err
	}
	pages := dynamodb.NewQueryPaginator(h, &dynamodb.QueryInput{
		TableName: h.table, KeyConditionExpression: x.KeyCondition(),
		ExpressionAttributeNames: x.Names(), ExpressionAttributeValues: x.Values(), ReturnConsumedCapacity: h.read,
	})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			if err := each(it); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *byHand) load(ctx context.Context, _ int) error {
	u := store.User{ID: userID}
	err := h.query(ctx, expression.Key("PK").Equal(expression.Value(pk(userID))),
		func(it map[string]types.AttributeValue) error {
			sk := it["SK"].(*types.AttributeValueMemberS).Value
			switch {
			case sk == "INFO":
				var i infoItem
				err := attributevalue.UnmarshalMap(it, &i)
				u.Email, u.Name = i.Email, i.Name
				return err
			case sk == "ADDRESS#HOME":
				return attributevalue.UnmarshalMap(it, &u.Home)
			case sk == "ADDRESS#OFFICE":
				return attributevalue.UnmarshalMap(it, &u.Office)
			case sk == "CART":
				return attributevalue.UnmarshalMap(it, &u.Cart)
			case strings.HasPrefix(sk, "WISH#"):
				u.Wishes = append(u.Wishes, store.Wish{})
				return attributevalue.UnmarshalMap(it, &u.Wishes[len(u.Wishes)-1])
			}
			return nil
		})
	if err != nil {
		return err
	}
	return check(u.Email != "" && len(u.Wishes) >= 16, len(u.Wishes))
}

func (h *byHand) change(ctx context.Context, i int) error {
	was := h.email
	h.email = fmt.Sprint("ann-", i, "@example.com")
	x, err := expression.NewBuilder().
		WithUpdate(expression.Set(expression.Name("Email"), expression.Value(h.email)).
			Set(expression.Name("Version"), expression.Value(h.version+1))).
		WithCondition(expression.Name("Version").Equal(expression.Value(h.version)).
			And(expression.Name("Email").Equal(expression.Value(was)))).Build()
	if err != nil {
		return err
	}
	_, err = h.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: h.table, Key: keys{PK: pk(userID), SK: "INFO"}.key(),
		UpdateExpression: x.Update(), ConditionExpression: x.Condition(),
		ExpressionAttributeNames: x.Names(), ExpressionAttributeValues: x.Values(),
		ReturnConsumedCapacity: h.asks.write, ReturnValuesOnConditionCheckFailure: h.refused,
	})
	h.version++
	return err
}

func (h *byHand) small(ctx context.Context, i int) error {
	return h.put(ctx, itemOf(theSession(fmt.Sprint("new-", i))))
}

func (h *byHand) get(ctx context.Context, _ int) error {
	out, err := h.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: h.table, Key: h.session.key(), ReturnConsumedCapacity: h.read,
	})
	if err != nil {
		return err
	}
	var s sessionItem
	if err := attributevalue.UnmarshalMap(out.Item, &s); err != nil {
		return err
	}
	return check(s.User == userID && s.Hits > 0, s)
}

func (h *byHand) touch(ctx context.Context, i int) error {
	was := h.session.Hits
	h.session.Hits += 1 + i%2
	x, err := expression.NewBuilder().
		WithUpdate(expression.Set(expression.Name("Hits"), expression.Value(h.session.Hits)).
			Set(expression.Name("Version"), expression.Value(h.session.Version+1))).
		WithCondition(expression.Name("Version").Equal(expression.Value(h.session.Version)).
			And(expression.Name("Hits").Equal(expression.Value(was)))).Build()
	if err != nil {
		return err
	}
	_, err = h.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: h.table, Key: h.session.key(), UpdateExpression: x.Update(), ConditionExpression: x.Condition(),
		ExpressionAttributeNames: x.Names(), ExpressionAttributeValues: x.Values(),
		ReturnConsumedCapacity: h.asks.write, ReturnValuesOnConditionCheckFailure: h.refused,
	})
	h.session.Version++
	return err
}

// key returns an item's primary key.
func (k keys) key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: k.PK},
		"SK": &types.AttributeValueMemberS{Value: k.SK},
	}
}

func (h *byHand) add(ctx context.Context, i int) error {
	w := wish(later.Add(time.Duration(i)*time.Second), i, 40)
	if err := h.put(ctx, wishItem{keys{pk(userID), wishKey(w.AddedAt), 1}, w}); err != nil {
		return err
	}
	out, err := h.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: h.table, Key: keys{PK: pk(userID), SK: "INFO"}.key(),
		ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: h.read,
	})
	if err != nil {
		return err
	}
	return check(out.Item != nil, userID) // the user still exists
}

// put puts an item that must not be there.
func (h *byHand) put(ctx context.Context, it any) error {
	av, err := marshal(it, h.mark())
	if err != nil {
		return err
	}
	_, err = h.PutItem(ctx,
		&dynamodb.PutItemInput{
			TableName: h.table, Item: av,
			ConditionExpression:    aws.String("attribute_not_exists(PK)"),
			ReturnConsumedCapacity: h.asks.write, ReturnValuesOnConditionCheckFailure: h.refused,
		})
	return err
}

// wishes returns the wishes of a key condition.
func (h *byHand) wishes(ctx context.Context, condition expression.KeyConditionBuilder) ([]store.Wish, error) {
	var all []store.Wish
	err := h.query(ctx, condition, func(it map[string]types.AttributeValue) error {
		all = append(all, store.Wish{})
		return attributevalue.UnmarshalMap(it, &all[len(all)-1])
	})
	return all, err
}

func (h *byHand) month(ctx context.Context, _ int) error {
	got, err := h.wishes(ctx,
		expression.Key("PK").Equal(expression.Value(pk(userID))).And(expression.Key("SK").BeginsWith("WISH#2021-11-")))
	if err != nil {
		return err
	}
	return checkMonth(got)
}

func (h *byHand) page(ctx context.Context, _ int) error {
	got, err := h.wishes(ctx,
		expression.Key("PK").Equal(expression.Value(pk(pageID))).And(expression.Key("SK").BeginsWith("WISH#")))
	if err != nil {
		return err
	}
	return checkPage(got)
}

func (h *byHand) bulk(ctx context.Context, i int) error {
	var all []any
	for n := range bulk {
		all = append(all, itemsOf(theUser(fmt.Sprint("bulk-", i, "-", n)))...)
	}
	return h.write(ctx, all)
}

// write writes items in batches of 25, and unprocessed items again.
func (h *byHand) write(ctx context.Context, items []any) error {
	for len(items) > 0 {
		n := min(25, len(items))
		var puts []types.WriteRequest
		for _, it := range items[:n] {
			av, err := marshal(it, h.mark())
			if err != nil {
				return err
			}
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: av}})
		}
		for want := map[string][]types.WriteRequest{*h.table: puts}; len(want) > 0; {
			out, err := h.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: want, ReturnConsumedCapacity: h.read,
			})
			if err != nil {
				return err
			}
			want = out.UnprocessedItems
		}
		items = items[n:]
	}
	return nil
}

func keptSDK(c *dynamodb.Client, table string) (func(context.Context) (string, error), error) {
	h := &byHand{Client: c, table: &table}
	return func(ctx context.Context) (string, error) {
		got, err := h.wishes(ctx,
			expression.Key("PK").Equal(expression.Value(pk(pageID))).And(expression.Key("SK").BeginsWith("WISH#")))
		if err != nil {
			return "", err
		}
		return got[len(got)/2].SKU, nil
	}, nil
}
