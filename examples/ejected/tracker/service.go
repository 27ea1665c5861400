// Package tracker is the tracker of examples/tracker without the library: on the code that itemize eject has written,
// and the SDK. It reads and writes the same items.
package tracker

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/examples/ejected/store"
	"github.com/itemize/itemize/examples/tracker/web"
)

// Client has the methods of a DynamoDB client that the tracker uses.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Tracker is the tracker of examples/tracker on the code of itemize eject: it has the same items.
type Tracker struct {
	client Client
	table  string
	now    func() time.Time
}

// New returns a tracker on a table.
func New(client Client, table string) *Tracker { return &Tracker{client, table, time.Now} }

// Receipt has the charge of a call.
type Receipt struct {
	Requests int     `json:"requests"`
	WCU      float64 `json:"wcu"`
}

func (r *Receipt) add(all ...types.ConsumedCapacity) {
	r.Requests++
	for _, c := range all {
		r.WCU += aws.ToFloat64(c.CapacityUnits)
	}
}

// The errors of calls.
var (
	errNotFound = errors.New("does not exist")
	errExists   = errors.New("exists already")
	errConflict = errors.New("another writer was faster")
	errCursor   = errors.New("the cursor is invalid")
	errBadKey   = errors.New("a value of the key is invalid")
)

type attributes = map[string]types.AttributeValue

// transact sends a transaction, and repeats it if others work on its items. failed are the indexes of the requests
// whose conditions are not true.
func (t *Tracker) transact(ctx context.Context, in *dynamodb.TransactWriteItemsInput) (r *Receipt,
	failed map[int]attributes,
	err error,
) {
	r = &Receipt{}
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	for try := 1; ; try++ {
		out, err := t.client.TransactWriteItems(ctx, in)
		var cancelled *types.TransactionCanceledException
		if !errors.As(err, &cancelled) {
			if err == nil {
				r.add(out.ConsumedCapacity...)
			}
			return r, nil, err
		}
		failed := map[int]attributes{}
		for i, reason := range cancelled.CancellationReasons {
			if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
				failed[i] = reason.Item
			}
		}
		if len(failed) > 0 || try == 10 {
			return r, failed, fmt.Errorf("%w: %w", errConflict, err)
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
}

// collect reads all pages of a query, strongly consistent.
func (t *Tracker) collect(ctx context.Context, in *dynamodb.QueryInput) (items []attributes, err error) {
	in.ConsistentRead = aws.Bool(true)
	for {
		out, err := t.client.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		items = append(items, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return items, nil
		}
	}
}

func key(pk, sk string) attributes {
	return attributes{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: sk}}
}

// keyOf returns a key, or errBadKey.
func keyOf(pk string, err error) func(sk string, err error) (attributes, error) {
	return func(sk string, other error) (attributes, error) {
		if err := errors.Join(err, other); err != nil {
			return nil, fmt.Errorf("%w: %w", errBadKey, err)
		}
		return key(pk, sk), nil
	}
}

// get reads an item, strongly consistent.
func (t *Tracker) get(ctx context.Context, key attributes) (attributes, error) {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.table, Key: key, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// head reads the root item of a project.
func (t *Tracker) head(ctx context.Context, tenant, id string) (*store.ProjectRoot, error) {
	at, err := keyOf(store.ProjectPK(tenant, id))(store.ProjectRootSK())
	if err != nil {
		return nil, err
	}
	item, err := t.get(ctx, at)
	if err != nil {
		return nil, err
	}
	if item == nil {
		return nil, fmt.Errorf("project %s/%s: %w", tenant, id, errNotFound)
	}
	var head store.ProjectRoot
	return &head, attributevalue.UnmarshalMap(item, &head)
}

// same requires that the root item is the one that was read.
func (t *Tracker) same(pk, sk string, incarnation []byte) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.table, Key: key(pk, sk),
		ConditionExpression:      aws.String("#a = :a AND (attribute_not_exists(#s) OR #s.#state = :live)"),
		ExpressionAttributeNames: map[string]string{"#a": "_a", "#s": "_s", "#state": "state"},
		ExpressionAttributeValues: attributes{
			":a":    &types.AttributeValueMemberB{Value: incarnation},
			":live": &types.AttributeValueMemberS{Value: "live"},
		},
	}}
}

// put puts an item of an entity.
func (t *Tracker) put(it any, condition string) (types.TransactWriteItem, error) {
	item, err := attributevalue.MarshalMap(it)
	p := &types.Put{TableName: &t.table, Item: item}
	if condition != "" {
		p.ConditionExpression = &condition
	}
	return types.TransactWriteItem{Put: p}, err
}

// update changes an item. The expression may name :v, the new version of #v.
func (t *Tracker) update(key attributes, expression, condition string, names map[string]string, values attributes,
) types.TransactWriteItem {
	names, values = maps.Clone(names), maps.Clone(values)
	names["#v"], values[":v"] = "_v", &types.AttributeValueMemberB{Value: store.NewVersion()}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.table, Key: key, UpdateExpression: &expression, ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func number(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// counters changes the counters of a project.
func (t *Tracker) counters(pk string, open int) (types.TransactWriteItem, error) {
	sk, err := store.ProjectCountersSK()
	return t.update(key(pk, sk), "SET #v = :v ADD #open :n", "attribute_exists(PK)", map[string]string{"#open": "Open"},
		attributes{":n": number(open)}), err
}

// activity adds an event to a project.
func (t *Tracker) activity(head *store.ProjectRoot, e store.Event) (types.TransactWriteItem, error) {
	sk, err := store.ProjectActivitySK(e.At, e.Ticket)
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	return t.put(store.ProjectActivity{
		PK: head.PK, SK: sk, Version: store.NewVersion(), Incarnation: head.Incarnation, Text: e.Text,
	}, "attribute_not_exists(PK)")
}

// CreateProject inserts a project. The error is errExists if the project exists.
func (t *Tracker) CreateProject(ctx context.Context, tenant, id, name string) (any, error) {
	in, err := store.ProjectInsert(t.table,
		&store.Project{TenantID: tenant, ProjectID: id, Name: name, CreatedAt: t.now()})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadKey, err)
	}
	r, failed, err := t.transact(ctx, in)
	if failed != nil {
		err = fmt.Errorf("project %s/%s: %w", tenant, id, errExists)
	}
	return r, err
}

// Project loads a project with its whole item collection.
func (t *Tracker) Project(ctx context.Context, tenant, id string) (any, error) {
	q, err := store.ProjectQuery(t.table, tenant, id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadKey, err)
	}
	items, err := t.collect(ctx, q)
	if err != nil {
		return nil, err
	}
	p, err := store.ProjectOf(items)
	if err == nil && p == nil {
		err = fmt.Errorf("project %s/%s: %w", tenant, id, errNotFound)
	}
	return p, err
}

// SetMember adds a member, or changes the role of one.
func (t *Tracker) SetMember(ctx context.Context, tenant, id, name string, m web.Member) (any, error) {
	head, err := t.head(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	sk, err := store.ProjectMembersSK(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadKey, err)
	}
	put, err := t.put(store.ProjectMembers{
		PK: head.PK, SK: sk, Version: store.NewVersion(), Incarnation: head.Incarnation, Role: m.Role, Email: m.Email,
	}, "")
	if err != nil {
		return nil, err
	}
	r, _, err := t.transact(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{t.same(head.PK, head.SK, head.Incarnation), put},
	})
	return r, err
}

// OpenTicket gives a ticket the project's next number, and inserts it. The same transaction changes the project's
// counters and its activity. No number is given twice; a number can be skipped.
func (t *Tracker) OpenTicket(ctx context.Context, tenant, id, title, body string) (int, error) {
	head, err := t.head(ctx, tenant, id)
	if err != nil {
		return 0, err
	}
	n, err := t.nextNumber(ctx, head)
	if err != nil {
		return 0, err
	}
	now := t.now()
	in, err := store.TicketInsert(t.table, &store.Ticket{
		TenantID: tenant, ProjectID: id, Number: n, Title: title, Text: body, State: "open", UpdatedAt: now,
	})
	if err != nil {
		return 0, err
	}
	counters, err := t.counters(head.PK, 1)
	if err != nil {
		return 0, err
	}
	event, err := t.activity(head, store.Event{At: now, Ticket: n, Text: "opened"})
	if err != nil {
		return 0, err
	}
	in.TransactItems = append(in.TransactItems, counters, event, t.same(head.PK, head.SK, head.Incarnation))
	_, _, err = t.transact(ctx, in)
	return n, err
}

// nextNumber counts the tickets of a project up. It makes missing counters.
func (t *Tracker) nextNumber(ctx context.Context, head *store.ProjectRoot) (int, error) {
	sk, err := store.ProjectCountersSK()
	if err != nil {
		return 0, err
	}
	out, err := t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.table, Key: key(head.PK, sk), UpdateExpression: aws.String("SET #v = :v, #a = :a ADD " +
			"LastTicket :one"),
		ConditionExpression:      aws.String("attribute_not_exists(PK) OR attribute_not_exists(#a) OR #a = :a"),
		ExpressionAttributeNames: map[string]string{"#v": "_v", "#a": "_a"},
		ExpressionAttributeValues: attributes{
			":v": &types.AttributeValueMemberB{Value: store.NewVersion()},
			":a": &types.AttributeValueMemberB{Value: head.Incarnation}, ":one": number(1),
		},
		ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil {
		return 0, err
	}
	var counters store.ProjectCounters
	return counters.LastTicket, errors.Join(attributevalue.UnmarshalMap(out.Attributes, &counters),
		attributevalue.Unmarshal(out.Attributes["LastTicket"], &counters.LastTicket))
}

// CloseTicket closes an open ticket. It is a conflict if the ticket is not open.
func (t *Tracker) CloseTicket(ctx context.Context, at web.At) (any, error) {
	head, err := t.head(ctx, at.Tenant, at.Project)
	if err != nil {
		return nil, err
	}
	ticket, err := t.ticketKey(at)
	if err != nil {
		return nil, err
	}
	now := t.now()
	when, err := attributevalue.Marshal(now)
	if err != nil {
		return nil, err
	}
	counters, err := t.counters(head.PK, -1)
	if err != nil {
		return nil, err
	}
	event, err := t.activity(head, store.Event{At: now, Ticket: at.Number, Text: "closed"})
	if err != nil {
		return nil, err
	}
	r, failed, err := t.transact(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		t.update(ticket, "SET #v = :v, #state = :closed, UpdatedAt = :now", "#state = :open",
			map[string]string{"#state": "State"},
			attributes{":closed": text("closed"), ":open": text("open"), ":now": when}),
		counters, event,
	}})
	switch item, ok := failed[0]; {
	case ok && item == nil:
		return r, fmt.Errorf("ticket %d: %w", at.Number, errNotFound)
	case ok:
		return r, fmt.Errorf("ticket %d: %w: State = ? is not true", at.Number, errConflict)
	}
	return r, err
}

func (t *Tracker) ticketKey(at web.At) (attributes, error) {
	return keyOf(store.TicketPK(at.Tenant, at.Project))(store.TicketRootSK(at.Number))
}

// Comment adds a comment if the ticket exists.
func (t *Tracker) Comment(ctx context.Context, at web.At, author, body string) (any, error) {
	ticket, err := t.ticketKey(at)
	if err != nil {
		return nil, err
	}
	item, err := t.get(ctx, ticket)
	if err != nil {
		return nil, err
	}
	if item == nil {
		return nil, fmt.Errorf("ticket %d: %w", at.Number, errNotFound)
	}
	var head store.TicketRoot
	if err := attributevalue.UnmarshalMap(item, &head); err != nil {
		return nil, err
	}
	now := t.now()
	sk, err := store.TicketCommentsSK(at.Number, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadKey, err)
	}
	put, err := t.put(store.TicketComments{
		PK: head.PK, SK: sk, Version: store.NewVersion(), Incarnation: head.Incarnation, Author: author, Text: body,
	}, "attribute_not_exists(PK)")
	if err != nil {
		return nil, err
	}
	when, err := attributevalue.Marshal(now)
	if err != nil {
		return nil, err
	}
	r, _, err := t.transact(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		t.update(ticket, "SET #v = :v, UpdatedAt = :now", "#a = :a", map[string]string{"#a": "_a"},
			attributes{":now": when, ":a": &types.AttributeValueMemberB{Value: head.Incarnation}}), put,
	}})
	return r, err
}

// Label adds labels to a ticket, or removes some.
func (t *Tracker) Label(ctx context.Context, at web.At, add, remove []string) (any, error) {
	action, labels := "ADD", add
	if len(add) == 0 {
		action, labels = "DELETE", remove
	}
	ticket, err := t.ticketKey(at)
	if err != nil {
		return nil, err
	}
	r, failed, err := t.transact(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		t.update(ticket, "SET #v = :v "+action+" Labels :labels", "attribute_exists(PK)", map[string]string{},
			attributes{":labels": &types.AttributeValueMemberSS{Value: labels}}),
	}})
	if failed != nil {
		err = fmt.Errorf("ticket %d: %w", at.Number, errNotFound)
	}
	return r, err
}

// ticketItems reads the items of a ticket: its head, its text, and its comments.
func (t *Tracker) ticketItems(ctx context.Context, at web.At) ([]attributes, error) {
	q, err := store.TicketCommentsQuery(t.table, at.Tenant, at.Project, at.Number)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadKey, err)
	}
	items, err := t.collect(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, sk := range []func(int) (string, error){store.TicketTextSK, store.TicketRootSK} {
		at, err := keyOf(store.TicketPK(at.Tenant, at.Project))(sk(at.Number))
		if err != nil {
			return nil, err
		}
		item, err := t.get(ctx, at)
		if err != nil {
			return nil, err
		}
		if item != nil {
			items = append(items, item)
		}
	}
	return items, nil
}

// Ticket loads a ticket with its text and comments.
func (t *Tracker) Ticket(ctx context.Context, at web.At) (any, error) {
	items, err := t.ticketItems(ctx, at)
	if err != nil {
		return nil, err
	}
	ticket, err := store.TicketOf(items)
	if err == nil && ticket == nil {
		err = fmt.Errorf("ticket %d: %w", at.Number, errNotFound)
	}
	return ticket, err
}

// Edit changes the title and the text of a ticket. It tries again after a conflict with another writer.
func (t *Tracker) Edit(ctx context.Context, at web.At, title, body string) (any, error) {
	for try := 1; ; try++ {
		items, err := t.ticketItems(ctx, at)
		if err != nil {
			return nil, err
		}
		ticket, err := store.TicketOf(items)
		if err != nil {
			return nil, err
		}
		if ticket == nil {
			return nil, fmt.Errorf("ticket %d: %w", at.Number, errNotFound)
		}
		ticket.Title, ticket.Text, ticket.UpdatedAt = title, body, t.now()
		in, err := store.TicketSave(t.table, items, ticket)
		if in == nil || err != nil {
			return &Receipt{}, err
		}
		r, failed, err := t.transact(ctx, in)
		if failed == nil || try == 10 {
			return r, err
		}
	}
}

// numberOf returns the number of a ticket from its sort key.
func numberOf(head store.TicketRoot) (n int) {
	_, _ = fmt.Sscanf(strings.TrimPrefix(head.SK, "TICKET#"), "%d", &n) // as TicketRootSK writes it
	return n
}

// Tickets lists the headers of tickets from a cursor on, the latest first. It reads no texts.
func (t *Tracker) Tickets(ctx context.Context, tenant, id string, n int, after string) (*web.Page, error) {
	q, err := store.TicketRootQuery(t.table, tenant, id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadKey, err)
	}
	q.ScanIndexForward, q.Limit, q.ReturnConsumedCapacity = aws.Bool(false), aws.Int32(int32(n)),
		types.ReturnConsumedCapacityTotal
	if after != "" {
		sk, err := base64.RawURLEncoding.DecodeString(after)
		if err != nil || !strings.HasPrefix(string(sk), "TICKET#") {
			return nil, errCursor
		}
		pk, err := store.TicketPK(tenant, id)
		if err != nil {
			return nil, err
		}
		q.ExclusiveStartKey = key(pk, string(sk))
	}
	out, err := t.client.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	var headers []store.TicketRoot
	if err := attributevalue.UnmarshalListOfMaps(out.Items, &headers); err != nil {
		return nil, err
	}
	page := &web.Page{Tickets: []web.Head{}, RCU: aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)}
	for _, x := range headers {
		page.Tickets = append(page.Tickets, web.Head{Number: numberOf(x), Title: x.Title, State: x.StateAttribute})
	}
	if sk, ok := out.LastEvaluatedKey["SK"].(*types.AttributeValueMemberS); ok {
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(sk.Value))
	}
	return page, nil
}

// Status returns the HTTP status of an error, as web.Tracker describes it.
func (t *Tracker) Status(err error) int {
	var sdk *smithy.OperationError
	switch {
	case errors.Is(err, errNotFound):
		return http.StatusNotFound
	case errors.Is(err, errExists), errors.Is(err, errConflict):
		return http.StatusConflict
	case errors.Is(err, errBadKey), errors.Is(err, store.ErrTooLarge), errors.Is(err, errCursor),
		errors.Is(err, web.ErrBadRequest):
		return http.StatusBadRequest
	case errors.As(err, &sdk), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
