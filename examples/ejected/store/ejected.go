// Items, keys and requests of models without the library, by itemize eject. The file is yours to edit.

package store

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var projectPK = ejectedKey{'#', []ejectedPart{
	{text: "TENANT#"},
	{format: "text", width: 0},
	{text: "#PROJECT#"},
	{format: "text", width: 0},
}}

// ProjectPK returns the partition key of a Project: TENANT#{TenantID}#PROJECT#{ProjectID}
func ProjectPK(tenantID string, projectID string) (string, error) {
	return projectPK.write(tenantID, projectID)
}

var projectRootSK = ejectedKey{'#', []ejectedPart{
	{text: "HEAD"},
}}

// ProjectRootSK returns the sort key of an item ProjectRoot: HEAD
func ProjectRootSK() (string, error) {
	return projectRootSK.write()
}

var projectCountersSK = ejectedKey{'#', []ejectedPart{
	{text: "COUNTERS"},
}}

// ProjectCountersSK returns the sort key of an item ProjectCounters: COUNTERS
func ProjectCountersSK() (string, error) {
	return projectCountersSK.write()
}

var projectMembersSK = ejectedKey{'#', []ejectedPart{
	{text: "MEMBER#"},
	{format: "text", width: 0},
}}

// ProjectMembersSK returns the sort key of an item ProjectMembers: MEMBER#{key}
func ProjectMembersSK(key string) (string, error) {
	return projectMembersSK.write(key)
}

var projectActivitySK = ejectedKey{'#', []ejectedPart{
	{text: "ACTIVITY#"},
	{format: "2006-01-02T15:04:05.000000000Z", width: 0},
	{text: "#"},
	{format: "digits", width: 6},
}}

// ProjectActivitySK returns the sort key of an item ProjectActivity: ACTIVITY#{At}#{Ticket:06}
func ProjectActivitySK(atValue time.Time, ticket int) (string, error) {
	return projectActivitySK.write(atValue, int64(ticket))
}

// ProjectRoot is an item with the sort key HEAD.
type ProjectRoot struct {
	PK          string    `dynamodbav:"PK"`
	SK          string    `dynamodbav:"SK"`
	Version     []byte    `dynamodbav:"_v,omitempty"`
	Incarnation []byte    `dynamodbav:"_a,omitempty"`
	State       any       `dynamodbav:"_s,omitempty"`
	Name        string    `dynamodbav:"Name"`
	CreatedAt   time.Time `dynamodbav:"CreatedAt"`
}

// ProjectCounters is an item with the sort key COUNTERS.
type ProjectCounters struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	Version     []byte `dynamodbav:"_v,omitempty"`
	Incarnation []byte `dynamodbav:"_a,omitempty"`
	State       any    `dynamodbav:"_s,omitempty"`
	LastTicket  int    `dynamodbav:"LastTicket"`
	Open        int    `dynamodbav:"Open"`
}

// ProjectMembers is an item with the sort key MEMBER#{key}.
type ProjectMembers struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	Version     []byte `dynamodbav:"_v,omitempty"`
	Incarnation []byte `dynamodbav:"_a,omitempty"`
	State       any    `dynamodbav:"_s,omitempty"`
	Role        string `dynamodbav:"Role"`
	Email       string `dynamodbav:"Email"`
}

// ProjectActivity is an item with the sort key ACTIVITY#{At}#{Ticket:06}.
type ProjectActivity struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	Version     []byte `dynamodbav:"_v,omitempty"`
	Incarnation []byte `dynamodbav:"_a,omitempty"`
	State       any    `dynamodbav:"_s,omitempty"`
	Text        string `dynamodbav:"Text"`
}

var projectEjected = ejectedModel{
	name: "Project", hash: "PK", sort: "SK", version: "_v",
	state: "_s", incarnation: "_a", ttl: "",
	attributes: projectEjectedAttributes, root: projectRootSK, fixed: projectEjectedFixed,
}

func projectEjectedAttributes(item map[string]types.AttributeValue) []string {
	sk, _ := item["SK"].(*types.AttributeValueMemberS)
	if sk == nil {
		return nil
	}
	if _, ok := projectRootSK.read(sk.Value); ok {
		return []string{"PK", "Name", "CreatedAt"}
	}
	if _, ok := projectCountersSK.read(sk.Value); ok {
		return []string{"PK", "LastTicket", "Open"}
	}
	if _, ok := projectMembersSK.read(sk.Value); ok {
		return []string{"PK", "Role", "Email"}
	}
	if _, ok := projectActivitySK.read(sk.Value); ok {
		return []string{"PK", "Text"}
	}
	return nil
}

func projectEjectedFixed(item map[string]types.AttributeValue) bool {
	for _, k := range []ejectedKey{projectRootSK, projectCountersSK} {
		if _, ok := k.read(ejectedScalar(item["SK"])); ok {
			return true
		}
	}
	return false
}

// ProjectItems returns the items of an entity, without versions.
func ProjectItems(v *Project) (items []map[string]types.AttributeValue, err error) {
	pk, err := ProjectPK(v.TenantID, v.ProjectID)
	if err != nil {
		return nil, err
	}
	add := func(it any, sparse ...string) {
		item, failed := attributevalue.MarshalMapWithOptions(it, ejectedTimes)
		err = errors.Join(err, failed)
		for _, name := range sparse {
			if ejectedEmpty(item[name]) {
				delete(item, name)
			}
		}
		items = append(items, item)
	}
	{
		it := ProjectRoot{}
		it.Name = v.Name
		it.CreatedAt = v.CreatedAt
		sk, failed := ProjectRootSK()
		if failed != nil {
			return nil, failed
		}
		it.PK, it.SK = pk, sk
		add(&it)
	}
	{
		it := ProjectCounters{}
		it.LastTicket = v.Counters.LastTicket
		it.Open = v.Counters.Open
		if !reflect.ValueOf(it).IsZero() {
			sk, failed := ProjectCountersSK()
			if failed != nil {
				return nil, failed
			}
			it.PK, it.SK = pk, sk
			add(&it)
		}
	}
	for key, e := range v.Members {
		it := ProjectMembers{}
		it.Role = e.Role
		it.Email = e.Email
		sk, failed := ProjectMembersSK(key)
		if failed != nil {
			return nil, failed
		}
		it.PK, it.SK = pk, sk
		add(&it)
	}
	for _, e := range v.Activity {
		it := ProjectActivity{}
		it.Text = e.Text
		sk, failed := ProjectActivitySK(e.At, e.Ticket)
		if failed != nil {
			return nil, failed
		}
		it.PK, it.SK = pk, sk
		add(&it)
	}
	return items, err
}

// ProjectOf returns the entity of items that were read: nil if it does not exist.
func ProjectOf(items []map[string]types.AttributeValue) (*Project, error) {
	items, root, err := projectEjected.live(items)
	if root == nil || err != nil {
		return nil, err
	}
	v := &Project{}
	var keys struct {
		PK, SK string
	}
	keys.PK, keys.SK = ejectedScalar(root["PK"]), ejectedScalar(root["SK"])
	if values, ok := projectPK.read(keys.PK); ok {
		v.TenantID = values[0]
		v.ProjectID = values[1]
	} else {
		return nil, fmt.Errorf("Project: the key %q is not one of the model", keys.PK)
	}
	for _, item := range items {
		sk := ejectedScalar(item["SK"])
		if _, ok := projectRootSK.read(sk); ok {
			var it ProjectRoot
			if err := attributevalue.UnmarshalMap(projectEjected.values(item), &it); err != nil {
				return nil, fmt.Errorf("Project: the item %s: %w", sk, err)
			}
			v.Name = it.Name
			v.CreatedAt = it.CreatedAt
			continue
		}
		if _, ok := projectCountersSK.read(sk); ok {
			var it ProjectCounters
			if err := attributevalue.UnmarshalMap(projectEjected.values(item), &it); err != nil {
				return nil, fmt.Errorf("Project: the item %s: %w", sk, err)
			}
			v.Counters.LastTicket = it.LastTicket
			v.Counters.Open = it.Open
			continue
		}
		if values, ok := projectMembersSK.read(sk); ok {
			var it ProjectMembers
			if err := attributevalue.UnmarshalMap(projectEjected.values(item), &it); err != nil {
				return nil, fmt.Errorf("Project: the item %s: %w", sk, err)
			}
			var e Member
			var key string
			e.Role = it.Role
			e.Email = it.Email
			key = values[0]
			if want, err := ProjectMembersSK(key); err != nil || want != sk {
				continue // an item of another entity, or with a key in another form
			}
			if v.Members == nil {
				v.Members = map[string]Member{}
			}
			v.Members[key] = e
			continue
		}
		if values, ok := projectActivitySK.read(sk); ok {
			var it ProjectActivity
			if err := attributevalue.UnmarshalMap(projectEjected.values(item), &it); err != nil {
				return nil, fmt.Errorf("Project: the item %s: %w", sk, err)
			}
			var e Event
			e.Text = it.Text
			e.At = ejectedTime(values[0], "2006-01-02T15:04:05.000000000Z")
			e.Ticket = int(ejectedInt(values[1], false))
			if want, err := ProjectActivitySK(e.At, e.Ticket); err != nil || want != sk {
				continue // an item of another entity, or with a key in another form
			}
			v.Activity = append(v.Activity, e)
			continue
		}
	}
	return v, nil
}

// ProjectQuery returns the query of all items of an entity. Read every page, and pass the items to ProjectOf.
func ProjectQuery(table string, tenantID string, projectID string) (*dynamodb.QueryInput, error) {
	pk, err := ProjectPK(tenantID, projectID)
	if err != nil {
		return nil, err
	}
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": "PK"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
		ConsistentRead:            aws.Bool(true),
	}, nil
}

// ProjectMembersQuery returns the query of the elements ProjectMembers of an entity.
func ProjectMembersQuery(table string, tenantID string, projectID string) (*dynamodb.QueryInput, error) {
	pk, err := ProjectPK(tenantID, projectID)
	if err != nil {
		return nil, err
	}
	sk, err := ejectedKey{'#', projectMembersSK.parts[:1]}.write()
	if err != nil {
		return nil, err
	}
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames: map[string]string{"#pk": "PK", "#sk": "SK"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: pk}, ":sk": &types.AttributeValueMemberS{Value: sk},
		},
	}, nil
}

// ProjectActivityQuery returns the query of the elements ProjectActivity of an entity.
func ProjectActivityQuery(table string, tenantID string, projectID string) (*dynamodb.QueryInput, error) {
	pk, err := ProjectPK(tenantID, projectID)
	if err != nil {
		return nil, err
	}
	sk, err := ejectedKey{'#', projectActivitySK.parts[:1]}.write()
	if err != nil {
		return nil, err
	}
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames: map[string]string{"#pk": "PK", "#sk": "SK"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: pk}, ":sk": &types.AttributeValueMemberS{Value: sk},
		},
	}, nil
}

// ProjectInsert returns the transaction that inserts an entity. It fails if the entity exists.
func ProjectInsert(table string, v *Project) (*dynamodb.TransactWriteItemsInput, error) {
	items, err := ProjectItems(v)
	if err != nil {
		return nil, err
	}
	return projectEjected.insert(table, items)
}

// ProjectSave returns the transaction that writes the differences between the items that were read and those of the
// entity now. It is nil if there are none. It fails if another program has changed one of these items.
func ProjectSave(
	table string, read []map[string]types.AttributeValue, v *Project,
) (*dynamodb.TransactWriteItemsInput, error) {
	was, err := projectEjectedWas(read)
	if err != nil {
		return nil, err
	}
	now, err := ProjectItems(v)
	if err != nil {
		return nil, err
	}
	return projectEjected.save(table, read, was, now)
}

// ProjectDelete returns the transaction that deletes the items of an entity as they were read. It is nil if the entity
// does not exist.
func ProjectDelete(table string, read []map[string]types.AttributeValue) (*dynamodb.TransactWriteItemsInput, error) {
	was, err := projectEjectedWas(read)
	if err != nil {
		return nil, err
	}
	return projectEjected.delete(table, read, was)
}

// projectEjectedWas returns the items of the value that items have: as this code would write them.
func projectEjectedWas(read []map[string]types.AttributeValue) ([]map[string]types.AttributeValue, error) {
	v, err := ProjectOf(read)
	if v == nil || err != nil {
		return nil, err
	}
	return ProjectItems(v)
}

var ticketPK = ejectedKey{'#', []ejectedPart{
	{text: "TENANT#"},
	{format: "text", width: 0},
	{text: "#TICKETS#"},
	{format: "text", width: 0},
}}

// TicketPK returns the partition key of a Ticket: TENANT#{TenantID}#TICKETS#{ProjectID}
func TicketPK(tenantID string, projectID string) (string, error) {
	return ticketPK.write(tenantID, projectID)
}

var ticketRootSK = ejectedKey{'#', []ejectedPart{
	{text: "TICKET#"},
	{format: "digits", width: 6},
}}

// TicketRootSK returns the sort key of an item TicketRoot: TICKET#{Number:06}
func TicketRootSK(number int) (string, error) {
	return ticketRootSK.write(int64(number))
}

var ticketTextSK = ejectedKey{'#', []ejectedPart{
	{text: "TEXT#"},
	{format: "digits", width: 6},
}}

// TicketTextSK returns the sort key of an item TicketText: TEXT#{Number:06}
func TicketTextSK(number int) (string, error) {
	return ticketTextSK.write(int64(number))
}

var ticketCommentsSK = ejectedKey{'#', []ejectedPart{
	{text: "COMMENT#"},
	{format: "digits", width: 6},
	{text: "#"},
	{format: "2006-01-02T15:04:05.000000000Z", width: 0},
}}

// TicketCommentsSK returns the sort key of an item TicketComments: COMMENT#{^Number:06}#{At}
func TicketCommentsSK(number int, atValue time.Time) (string, error) {
	return ticketCommentsSK.write(int64(number), atValue)
}

// TicketRoot is an item with the sort key TICKET#{Number:06}.
type TicketRoot struct {
	PK             string    `dynamodbav:"PK"`
	SK             string    `dynamodbav:"SK"`
	Version        []byte    `dynamodbav:"_v,omitempty"`
	Incarnation    []byte    `dynamodbav:"_a,omitempty"`
	State          any       `dynamodbav:"_s,omitempty"`
	Title          string    `dynamodbav:"Title"`
	StateAttribute string    `dynamodbav:"State"`
	Labels         []string  `dynamodbav:"Labels,stringset,omitempty"`
	UpdatedAt      time.Time `dynamodbav:"UpdatedAt"`
}

// TicketText is an item with the sort key TEXT#{Number:06}.
type TicketText struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	Version     []byte `dynamodbav:"_v,omitempty"`
	Incarnation []byte `dynamodbav:"_a,omitempty"`
	State       any    `dynamodbav:"_s,omitempty"`
	Text        string `dynamodbav:"Text"`
}

// TicketComments is an item with the sort key COMMENT#{^Number:06}#{At}.
type TicketComments struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	Version     []byte `dynamodbav:"_v,omitempty"`
	Incarnation []byte `dynamodbav:"_a,omitempty"`
	State       any    `dynamodbav:"_s,omitempty"`
	Author      string `dynamodbav:"Author"`
	Text        string `dynamodbav:"Text"`
}

var ticketEjected = ejectedModel{
	name: "Ticket", hash: "PK", sort: "SK", version: "_v",
	state: "_s", incarnation: "_a", ttl: "",
	attributes: ticketEjectedAttributes, root: ticketRootSK, fixed: ticketEjectedFixed,
}

func ticketEjectedAttributes(item map[string]types.AttributeValue) []string {
	sk, _ := item["SK"].(*types.AttributeValueMemberS)
	if sk == nil {
		return nil
	}
	if _, ok := ticketRootSK.read(sk.Value); ok {
		return []string{"PK", "Title", "State", "Labels", "UpdatedAt"}
	}
	if _, ok := ticketTextSK.read(sk.Value); ok {
		return []string{"PK", "Text"}
	}
	if _, ok := ticketCommentsSK.read(sk.Value); ok {
		return []string{"PK", "Author", "Text"}
	}
	return nil
}

func ticketEjectedFixed(item map[string]types.AttributeValue) bool {
	for _, k := range []ejectedKey{ticketRootSK, ticketTextSK} {
		if _, ok := k.read(ejectedScalar(item["SK"])); ok {
			return true
		}
	}
	return false
}

// TicketItems returns the items of an entity, without versions.
func TicketItems(v *Ticket) (items []map[string]types.AttributeValue, err error) {
	pk, err := TicketPK(v.TenantID, v.ProjectID)
	if err != nil {
		return nil, err
	}
	add := func(it any, sparse ...string) {
		item, failed := attributevalue.MarshalMapWithOptions(it, ejectedTimes)
		err = errors.Join(err, failed)
		for _, name := range sparse {
			if ejectedEmpty(item[name]) {
				delete(item, name)
			}
		}
		items = append(items, item)
	}
	{
		it := TicketRoot{}
		it.Title = v.Title
		it.StateAttribute = v.State
		it.Labels = v.Labels
		it.UpdatedAt = v.UpdatedAt
		sk, failed := TicketRootSK(v.Number)
		if failed != nil {
			return nil, failed
		}
		it.PK, it.SK = pk, sk
		add(&it)
	}
	{
		it := TicketText{}
		it.Text = v.Text
		if !reflect.ValueOf(it).IsZero() {
			sk, failed := TicketTextSK(v.Number)
			if failed != nil {
				return nil, failed
			}
			it.PK, it.SK = pk, sk
			add(&it)
		}
	}
	for _, e := range v.Comments {
		it := TicketComments{}
		it.Author = e.Author
		it.Text = e.Text
		sk, failed := TicketCommentsSK(v.Number, e.At)
		if failed != nil {
			return nil, failed
		}
		it.PK, it.SK = pk, sk
		add(&it)
	}
	return items, err
}

// TicketOf returns the entity of items that were read: nil if it does not exist.
func TicketOf(items []map[string]types.AttributeValue) (*Ticket, error) {
	items, root, err := ticketEjected.live(items)
	if root == nil || err != nil {
		return nil, err
	}
	v := &Ticket{}
	var keys struct {
		PK, SK string
	}
	keys.PK, keys.SK = ejectedScalar(root["PK"]), ejectedScalar(root["SK"])
	if values, ok := ticketPK.read(keys.PK); ok {
		v.TenantID = values[0]
		v.ProjectID = values[1]
	} else {
		return nil, fmt.Errorf("Ticket: the key %q is not one of the model", keys.PK)
	}
	if values, ok := ticketRootSK.read(keys.SK); ok {
		v.Number = int(ejectedInt(values[0], false))
	} else {
		return nil, fmt.Errorf("Ticket: the key %q is not one of the model", keys.SK)
	}
	for _, item := range items {
		sk := ejectedScalar(item["SK"])
		if _, ok := ticketRootSK.read(sk); ok {
			if want, err := TicketRootSK(v.Number); err != nil || want != sk {
				continue // an item of another entity, or with a key in another form
			}
			var it TicketRoot
			if err := attributevalue.UnmarshalMap(ticketEjected.values(item), &it); err != nil {
				return nil, fmt.Errorf("Ticket: the item %s: %w", sk, err)
			}
			v.Title = it.Title
			v.State = it.StateAttribute
			v.Labels = it.Labels
			v.UpdatedAt = it.UpdatedAt
			continue
		}
		if _, ok := ticketTextSK.read(sk); ok {
			if want, err := TicketTextSK(v.Number); err != nil || want != sk {
				continue // an item of another entity, or with a key in another form
			}
			var it TicketText
			if err := attributevalue.UnmarshalMap(ticketEjected.values(item), &it); err != nil {
				return nil, fmt.Errorf("Ticket: the item %s: %w", sk, err)
			}
			v.Text = it.Text
			continue
		}
		if values, ok := ticketCommentsSK.read(sk); ok {
			var it TicketComments
			if err := attributevalue.UnmarshalMap(ticketEjected.values(item), &it); err != nil {
				return nil, fmt.Errorf("Ticket: the item %s: %w", sk, err)
			}
			var e Comment
			e.Author = it.Author
			e.Text = it.Text
			e.At = ejectedTime(values[1], "2006-01-02T15:04:05.000000000Z")
			if want, err := TicketCommentsSK(v.Number, e.At); err != nil || want != sk {
				continue // an item of another entity, or with a key in another form
			}
			v.Comments = append(v.Comments, e)
			continue
		}
	}
	return v, nil
}

// TicketRootQuery returns the query of the items TicketRoot of all entities with a partition key.
func TicketRootQuery(table string, tenantID string, projectID string) (*dynamodb.QueryInput, error) {
	pk, err := TicketPK(tenantID, projectID)
	if err != nil {
		return nil, err
	}
	sk, err := ejectedKey{'#', ticketRootSK.parts[:1]}.write()
	if err != nil {
		return nil, err
	}
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames: map[string]string{"#pk": "PK", "#sk": "SK"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: pk}, ":sk": &types.AttributeValueMemberS{Value: sk},
		},
	}, nil
}

// TicketTextQuery returns the query of the items TicketText of all entities with a partition key.
func TicketTextQuery(table string, tenantID string, projectID string) (*dynamodb.QueryInput, error) {
	pk, err := TicketPK(tenantID, projectID)
	if err != nil {
		return nil, err
	}
	sk, err := ejectedKey{'#', ticketTextSK.parts[:1]}.write()
	if err != nil {
		return nil, err
	}
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames: map[string]string{"#pk": "PK", "#sk": "SK"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: pk}, ":sk": &types.AttributeValueMemberS{Value: sk},
		},
	}, nil
}

// TicketCommentsQuery returns the query of the elements TicketComments of an entity.
func TicketCommentsQuery(table string, tenantID string, projectID string, number int) (*dynamodb.QueryInput, error) {
	pk, err := TicketPK(tenantID, projectID)
	if err != nil {
		return nil, err
	}
	sk, err := ejectedKey{'#', ticketCommentsSK.parts[:3]}.write(int64(number))
	if err != nil {
		return nil, err
	}
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames: map[string]string{"#pk": "PK", "#sk": "SK"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: pk}, ":sk": &types.AttributeValueMemberS{Value: sk},
		},
	}, nil
}

// TicketInsert returns the transaction that inserts an entity. It fails if the entity exists.
func TicketInsert(table string, v *Ticket) (*dynamodb.TransactWriteItemsInput, error) {
	items, err := TicketItems(v)
	if err != nil {
		return nil, err
	}
	return ticketEjected.insert(table, items)
}

// TicketSave returns the transaction that writes the differences between the items that were read and those of the
// entity now. It is nil if there are none. It fails if another program has changed one of these items.
func TicketSave(
	table string, read []map[string]types.AttributeValue, v *Ticket,
) (*dynamodb.TransactWriteItemsInput, error) {
	was, err := ticketEjectedWas(read)
	if err != nil {
		return nil, err
	}
	now, err := TicketItems(v)
	if err != nil {
		return nil, err
	}
	return ticketEjected.save(table, read, was, now)
}

// TicketDelete returns the transaction that deletes the items of an entity as they were read. It is nil if the entity
// does not exist.
func TicketDelete(table string, read []map[string]types.AttributeValue) (*dynamodb.TransactWriteItemsInput, error) {
	was, err := ticketEjectedWas(read)
	if err != nil {
		return nil, err
	}
	return ticketEjected.delete(table, read, was)
}

// ticketEjectedWas returns the items of the value that items have: as this code would write them.
func ticketEjectedWas(read []map[string]types.AttributeValue) ([]map[string]types.AttributeValue, error) {
	v, err := TicketOf(read)
	if v == nil || err != nil {
		return nil, err
	}
	return TicketItems(v)
}

// The rest of this file is the same for all models.

// ejectedPart is a part of a key: text, or a value in a format.
type ejectedPart struct {
	text string
	// format is "" for text. Of a value it is text (escaped), raw, native (raw, and the whole key), digits, sortable,
	// unix, week, or a layout of package time.
	format string
	width  int // of digits
}

// ejectedKey is the template of a key.
type ejectedKey struct {
	delim byte
	parts []ejectedPart
}

// write returns the key of values: strings, int64, uint64 and times.
func (k ejectedKey) write(values ...any) (string, error) {
	var b strings.Builder
	i := 0
	for _, p := range k.parts {
		if p.format == "" {
			b.WriteString(p.text)
			continue
		}
		text, err := p.write(values[i], k.delim)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		i++
	}
	return b.String(), nil
}

func (p ejectedPart) write(value any, delim byte) (string, error) {
	switch v := value.(type) {
	case string:
		switch {
		case v == "" || !utf8.ValidString(v):
			return "", errors.New("text in a key: empty, or not valid UTF-8: set it")
		case p.format == "raw" && v[0] == '~':
			return "", errors.New("text in a key: it begins with ~: use another text")
		case p.format == "text":
			v = strings.ReplaceAll(strings.ReplaceAll(v, "%", "%25"), string(delim), fmt.Sprintf("%%%02X", delim))
			if v[0] == '~' {
				v = "%7E" + v[1:]
			}
		}
		return v, nil
	case int64:
		if p.format == "sortable" {
			return fmt.Sprintf("%020d", uint64(v)^(1<<63)), nil
		}
		text := fmt.Sprintf("%0*d", p.width, v)
		if v < 0 || len(text) > p.width {
			return "", fmt.Errorf("number in a key: negative, or more than %d digits", p.width)
		}
		return text, nil
	case uint64:
		if p.format == "sortable" {
			n := new(big.Int).Add(new(big.Int).SetUint64(v), new(big.Int).Lsh(big.NewInt(1), 63))
			return fmt.Sprintf("%020s", n), nil
		}
		text := fmt.Sprintf("%0*d", p.width, v)
		if len(text) > p.width {
			return "", fmt.Errorf("number in a key: more than %d digits", p.width)
		}
		return text, nil
	case time.Time:
		v = v.UTC()
		switch {
		case v.IsZero() || v.Year() < 0 || v.Year() > 9999:
			return "", errors.New("time in a key: zero, or not in the years 0 to 9999: set it")
		case p.format == "unix":
			return fmt.Sprintf("%010d", v.Unix()), nil
		case p.format == "week":
			year, week := v.ISOWeek()
			return fmt.Sprintf("%04d-W%02d", year, week), nil
		}
		return v.Format(p.format), nil
	case error:
		return "", v
	}
	return "", fmt.Errorf("key: %T is not the type of a value in it", value)
}

// read returns the texts of the values in a key; ok is false for a key of another template.
func (k ejectedKey) read(key string) (values []string, ok bool) {
	for i, p := range k.parts {
		if p.format == "" {
			if key, ok = strings.CutPrefix(key, p.text); !ok {
				return nil, false
			}
			continue
		}
		n := k.width(i, key)
		if n < 0 || n > len(key) {
			return nil, false
		}
		text := key[:n]
		if p.format == "text" {
			if text == "" || text[0] == '~' || strings.IndexByte(text, k.delim) >= 0 {
				return nil, false
			}
			for _, c := range []string{string(k.delim), "~", "%"} {
				text = strings.ReplaceAll(text, fmt.Sprintf("%%%02X", c[0]), c)
			}
		}
		values, key = append(values, text), key[n:]
	}
	return values, key == ""
}

// width returns the number of bytes of the value at part i. A text ends at the next delimiter, less the
// parts in front of that.
func (k ejectedKey) width(i int, key string) int {
	switch p := k.parts[i]; p.format {
	case "raw", "native":
		return len(key)
	case "text":
		end, tail := len(key), 0
		for _, next := range k.parts[i+1:] {
			sample := next.text
			if next.format != "" {
				sample = strings.Repeat("0", k.fixed(next))
			}
			if j := strings.IndexByte(sample, k.delim); j >= 0 {
				return strings.IndexByte(key, k.delim) - tail - j
			}
			tail += len(sample)
		}
		return end - tail
	default:
		return k.fixed(p)
	}
}

// fixed returns the number of bytes of a value of fixed width.
func (k ejectedKey) fixed(p ejectedPart) int {
	switch p.format {
	case "digits":
		return p.width
	case "sortable":
		return 20
	case "unix":
		return 10
	case "week":
		return len("2021-W46")
	}
	return len(p.format)
}

// ejectedInt returns the number of a text in a key, 0 for another text.
func ejectedInt(text string, sortable bool) int64 {
	if sortable {
		n, _ := strconv.ParseUint(text, 10, 64)
		return int64(n ^ (1 << 63))
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// ejectedTime returns the time of a text in a key, the zero time for another text.
func ejectedTime(text, format string) time.Time {
	if format == "unix" {
		n, _ := strconv.ParseInt(text, 10, 64)
		return time.Unix(n, 0).UTC()
	}
	t, _ := time.Parse(format, text)
	return t
}

// ejectedModel has the names of a model's attributes.
type ejectedModel struct {
	name, hash, sort, version, state, incarnation, ttl string
	// attributes returns the attributes that the model writes to an item, nil for an item of no kind.
	attributes func(item map[string]types.AttributeValue) []string
	// root is the sort key of root items, and fixed reports whether an item is no element.
	root  ejectedKey
	fixed func(item map[string]types.AttributeValue) bool
}

// key returns the key of an item as text, to compare it.
func (m ejectedModel) key(item map[string]types.AttributeValue) string {
	return ejectedScalar(item[m.hash]) + "\x00" + ejectedScalar(item[m.sort])
}

// ejectedScalar returns the text of the value of a key attribute.
func ejectedScalar(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return ""
}

// values returns the attributes of an item that the model knows: by their exact names, which attributevalue does not
// compare exactly, and without a TTL attribute of another type, which has no effect.
func (m ejectedModel) values(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	out := map[string]types.AttributeValue{}
	for _, name := range m.attributes(item) {
		if item[name] != nil && (name != m.ttl || ejectedInteger(item[name])) {
			out[name] = item[name]
		}
	}
	return out
}

func ejectedInteger(v types.AttributeValue) bool {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	_, err := strconv.ParseInt(n.Value, 10, 64)
	return err == nil
}

func (m ejectedModel) isRoot(item map[string]types.AttributeValue) bool {
	sk, ok := item[m.sort].(*types.AttributeValueMemberS)
	if !ok {
		return m.sort == ""
	}
	_, ok = m.root.read(sk.Value)
	return ok
}

// live returns the items of the entity: the root item first, and the others in the order of their sort keys. It returns
// nil if the entity does not exist. The items have to be those of one entity.
func (m ejectedModel) live(items []map[string]types.AttributeValue) (own []map[string]types.AttributeValue,
	root map[string]types.AttributeValue, err error,
) {
	for _, item := range items {
		if !m.isRoot(item) {
			continue
		}
		if root != nil && m.key(root) != m.key(item) {
			return nil, nil, fmt.Errorf("%s: the items have several root items: pass those of one entity", m.name)
		}
		root = item
	}
	if root == nil || m.expired(root) {
		return nil, nil, nil
	}
	if s := root[m.state]; s != nil {
		state, _ := s.(*types.AttributeValueMemberM)
		if state == nil || !reflect.DeepEqual(state.Value["state"], &types.AttributeValueMemberS{Value: "live"}) {
			return nil, nil, nil
		}
	}
	for _, item := range items {
		if a := item[m.incarnation]; !m.expired(item) && (a == nil || reflect.DeepEqual(a, root[m.incarnation])) {
			own = append(own, item)
		}
	}
	order := func(item map[string]types.AttributeValue) string {
		if m.isRoot(item) {
			return ""
		}
		return m.key(item)
	}
	slices.SortFunc(own, func(a, b map[string]types.AttributeValue) int { return cmp.Compare(order(a), order(b)) })
	return own, root, nil
}

func (m ejectedModel) expired(item map[string]types.AttributeValue) bool {
	n, ok := item[m.ttl].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && at <= float64(time.Now().Unix()) && at != float64(time.Time{}.Unix())
}

// NewVersion returns a new version, or incarnation: 8 random bytes. Set a new version in each request that writes an
// item.
func NewVersion() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return b
}

func newVersion() types.AttributeValue { return &types.AttributeValueMemberB{Value: NewVersion()} }

// insert puts items. It requires that none of them exists.
func (m ejectedModel) insert(table string, items []map[string]types.AttributeValue) (*dynamodb.TransactWriteItemsInput,
	error,
) {
	incarnation := newVersion()
	out := &dynamodb.TransactWriteItemsInput{}
	for _, item := range items {
		out.TransactItems = append(out.TransactItems, m.put(table, item, incarnation))
	}
	return out, m.check(out)
}

func (m ejectedModel) put(table string, item map[string]types.AttributeValue, incarnation types.AttributeValue,
) types.TransactWriteItem {
	item = maps.Clone(item)
	if m.version != "" {
		item[m.version] = newVersion()
	}
	if incarnation != nil {
		item[m.incarnation] = incarnation
	}
	p := &types.Put{
		TableName: &table, Item: item, ConditionExpression: aws.String("attribute_not_exists(#k)"),
		ExpressionAttributeNames:            map[string]string{"#k": m.hash},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if m.ttl != "" { // an expired item does not exist
		p.ConditionExpression = aws.String("attribute_not_exists(#k) OR #t <= :now AND #t <> :never AND " +
			"NOT #s.#state IN (:migrating, :back)") // root items of a migration stay
		p.ExpressionAttributeNames["#t"] = m.ttl
		p.ExpressionAttributeNames["#s"], p.ExpressionAttributeNames["#state"] = m.state, "state"
		p.ExpressionAttributeValues = map[string]types.AttributeValue{
			":now": ejectedEpoch(time.Now()), ":never": ejectedEpoch(time.Time{}),
			":migrating": &types.AttributeValueMemberS{Value: "migrating"},
			":back":      &types.AttributeValueMemberS{Value: "rollingback"},
		}
	}
	return types.TransactWriteItem{Put: p}
}

func ejectedEpoch(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Unix(), 10)}
}

// save writes the differences between the items of the value that was read and of the value now. It returns nil if
// there are none. Attributes that other programs have written in another way stay, unless the value has changed.
func (m ejectedModel) save(table string, read, was, now []map[string]types.AttributeValue) (
	*dynamodb.TransactWriteItemsInput, error,
) {
	own, root, err := m.live(read)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("%s: the entity does not exist", m.name)
	}
	before, encoded := map[string]map[string]types.AttributeValue{}, map[string]map[string]types.AttributeValue{}
	for _, item := range own {
		before[m.key(item)] = item
	}
	for _, item := range was {
		encoded[m.key(item)] = item
	}
	out := &dynamodb.TransactWriteItemsInput{}
	adds, writesRoot := false, false
	for _, item := range now {
		if ejectedScalar(item[m.hash]) != ejectedScalar(root[m.hash]) {
			return nil, fmt.Errorf("%s: a field of the partition key has changed: insert a new entity", m.name)
		}
		old := before[m.key(item)]
		delete(before, m.key(item))
		if old == nil {
			adds = true
			out.TransactItems = append(out.TransactItems, m.put(table, item, root[m.incarnation]))
			continue
		}
		u, err := m.update(table, old, encoded[m.key(item)], item)
		if err != nil {
			return nil, err
		}
		if u != nil {
			writesRoot = writesRoot || m.isRoot(old)
			out.TransactItems = append(out.TransactItems, types.TransactWriteItem{Update: u})
		}
	}
	for key, old := range before {
		if encoded[key] == nil {
			continue // an item that the value did not have
		}
		if !m.hasUnknown(old) || !m.fixed(old) {
			out.TransactItems = append(out.TransactItems, m.remove(table, old))
			continue
		}
		u, err := m.update(table, old, encoded[key], nil)
		if err != nil {
			return nil, err
		}
		if u != nil {
			out.TransactItems = append(out.TransactItems, types.TransactWriteItem{Update: u})
		}
	}
	if len(out.TransactItems) == 0 {
		return nil, nil
	}
	if adds && !writesRoot {
		e := m.unchanged(root, []string{m.incarnation, m.state, m.ttl})
		out.TransactItems = append(out.TransactItems, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &table, Key: m.keyOf(root), ConditionExpression: &e.text, ExpressionAttributeNames: e.names,
			ExpressionAttributeValues: e.values,
		}})
	}
	return out, m.check(out)
}

// hasUnknown reports whether an item has attributes that the model does not know.
func (m ejectedModel) hasUnknown(item map[string]types.AttributeValue) bool {
	own := append(m.attributes(item), m.hash, m.sort, m.version, m.state, m.incarnation, m.ttl)
	for name := range item {
		if !slices.Contains(own, name) {
			return true
		}
	}
	return false
}

// keyOf returns the primary key of an item.
func (m ejectedModel) keyOf(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	key := map[string]types.AttributeValue{m.hash: item[m.hash]}
	if m.sort != "" {
		key[m.sort] = item[m.sort]
	}
	return key
}

// ejectedExpression is a condition or update expression with its placeholders.
type ejectedExpression struct {
	text   string
	names  map[string]string
	values map[string]types.AttributeValue
}

func (e *ejectedExpression) name(name string) string {
	p := "#" + strconv.Itoa(len(e.names))
	e.names[p] = name
	return p
}

func (e *ejectedExpression) value(v types.AttributeValue) string {
	p := ":" + strconv.Itoa(len(e.values))
	e.values[p] = v
	return p
}

// unchanged is the condition that an item has the version, and the values of some attributes, that were read.
func (m ejectedModel) unchanged(old map[string]types.AttributeValue, attributes []string) *ejectedExpression {
	e := &ejectedExpression{names: map[string]string{}}
	e.text = "attribute_exists(" + e.name(m.hash) + ")"
	if m.version == "" || old[m.version] == nil { // then the entity has to be the same, too
		attributes = append([]string{m.incarnation, m.state}, attributes...)
	}
	var seen []string
	for _, name := range append([]string{m.version}, attributes...) {
		if slices.Contains(seen, name) || name == "" || name != m.version && ejectedSize(old[name]) > 4<<10 {
			continue
		}
		if name == m.hash || name == m.sort {
			continue
		}
		seen = append(seen, name)
		if old[name] == nil {
			e.text += " AND attribute_not_exists(" + e.name(name) + ")"
			continue
		}
		if e.values == nil {
			e.values = map[string]types.AttributeValue{}
		}
		e.text += " AND " + e.name(name) + " = " + e.value(old[name])
	}
	return e
}

// update returns the update of an item, nil if nothing has changed. It compares the old values that it changes.
// Attributes that the model does not know stay.
func (m ejectedModel) update(table string, old, was, now map[string]types.AttributeValue) (*types.Update, error) {
	changed := slices.DeleteFunc(m.attributes(old), func(name string) bool {
		return name == m.hash || name == m.sort || ejectedSame(was[name], now[name])
	})
	e := m.unchanged(old, changed)
	if e.values == nil {
		e.values = map[string]types.AttributeValue{}
	}
	var set, remove []string
	for _, name := range changed {
		switch v := now[name]; {
		case v == nil:
			remove = append(remove, e.name(name))
		default:
			set = append(set, e.name(name)+" = "+e.value(v))
		}
	}
	if set == nil && remove == nil {
		return nil, nil
	}
	if err := m.checkSize(now); err != nil {
		return nil, err
	}
	if m.version != "" {
		set = append(set, e.name(m.version)+" = "+e.value(newVersion()))
	}
	var text string
	if set != nil {
		text = "SET " + strings.Join(set, ", ")
	}
	if remove != nil {
		text += " REMOVE " + strings.Join(remove, ", ")
	}
	u := &types.Update{
		TableName: &table, Key: m.keyOf(old), UpdateExpression: &text, ConditionExpression: &e.text,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if len(e.values) == 0 {
		u.ExpressionAttributeValues = nil
	}
	return u, nil
}

// ejectedTimes encodes times as text in their zones. It takes UTC if the zone has seconds or is a day from UTC:
// RFC 3339 has offsets in minutes, and the text would be of another instant.
func ejectedTimes(o *attributevalue.EncoderOptions) {
	o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
		if _, offset := t.Zone(); offset%60 != 0 || offset <= -86400 || offset >= 86400 {
			t = t.UTC()
		}
		if t.Year() < 0 || t.Year() > 9999 {
			return nil, fmt.Errorf("the year %d is not one of 0 to 9999: store a time of these years", t.Year())
		}
		return &types.AttributeValueMemberS{Value: t.Format(time.RFC3339Nano)}, nil
	}
}

// ejectedEmpty reports whether an index cannot have a value as its key: then the item is not in the index.
func ejectedEmpty(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		t, err := time.Parse(time.RFC3339Nano, v.Value)
		return v.Value == "" || err == nil && t.IsZero()
	case *types.AttributeValueMemberNULL:
		return true
	}
	return false
}

// ejectedSame compares values. Sets have no order.
func ejectedSame(a, b types.AttributeValue) bool {
	sorted := func(v types.AttributeValue) types.AttributeValue {
		switch v := v.(type) {
		case *types.AttributeValueMemberSS:
			return &types.AttributeValueMemberSS{Value: slices.Sorted(slices.Values(v.Value))}
		case *types.AttributeValueMemberNS:
			return &types.AttributeValueMemberNS{Value: slices.Sorted(slices.Values(v.Value))}
		case *types.AttributeValueMemberBS:
			return &types.AttributeValueMemberBS{Value: slices.SortedFunc(slices.Values(v.Value), bytes.Compare)}
		}
		return v
	}
	return reflect.DeepEqual(sorted(a), sorted(b))
}

// remove deletes an item as it was read.
func (m ejectedModel) remove(table string, old map[string]types.AttributeValue) types.TransactWriteItem {
	e := m.unchanged(old, m.attributes(old))
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &table, Key: m.keyOf(old), ConditionExpression: &e.text, ExpressionAttributeNames: e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// delete deletes the items of the value that was read, as they were read. It returns nil if the entity does not exist.
func (m ejectedModel) delete(table string, read, was []map[string]types.AttributeValue) (
	*dynamodb.TransactWriteItemsInput, error,
) {
	own, root, err := m.live(read)
	if root == nil || err != nil {
		return nil, err
	}
	encoded := map[string]bool{}
	for _, item := range was {
		encoded[m.key(item)] = true
	}
	out := &dynamodb.TransactWriteItemsInput{}
	for _, old := range own {
		if encoded[m.key(old)] || m.attributes(old) != nil && m.fixed(old) && m.key(old) == m.key(root) {
			out.TransactItems = append(out.TransactItems, m.remove(table, old))
		}
	}
	return out, m.check(out)
}

// check returns an error for a transaction that DynamoDB would refuse.
func (m ejectedModel) check(in *dynamodb.TransactWriteItemsInput) error {
	if n := len(in.TransactItems); n > 100 {
		return fmt.Errorf("%s: %d items do not fit a transaction of 100", m.name, n)
	}
	for _, t := range in.TransactItems {
		if t.Put == nil {
			continue
		}
		if err := m.checkSize(t.Put.Item); err != nil {
			return err
		}
	}
	return nil
}

// ErrTooLarge is the error of an item over 400 KB.
var ErrTooLarge = errors.New("the item has more than 400 KB")

func (m ejectedModel) checkSize(item map[string]types.AttributeValue) error {
	n, most, largest := 0, 0, ""
	for name, v := range item {
		size := len(name) + ejectedSize(v)
		if n += size; size > most {
			most, largest = size, name
		}
	}
	if n > 400<<10 {
		return fmt.Errorf("%s: %w, most of it in %s", m.name, ErrTooLarge, largest)
	}
	return nil
}

// ejectedSize returns about how many bytes a value has in an item.
func ejectedSize(v types.AttributeValue) int {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberN:
		n = len(v.Value)/2 + 2
	case *types.AttributeValueMemberL:
		n = 3
		for _, e := range v.Value {
			n += 1 + ejectedSize(e)
		}
	case *types.AttributeValueMemberM:
		n = 3
		for name, e := range v.Value {
			n += 1 + len(name) + ejectedSize(e)
		}
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberNS:
		n = 8 * len(v.Value)
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	default:
		n = 1
	}
	return n
}
