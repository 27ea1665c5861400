package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func get(pk, sk string) (item, error) {
	out, err := db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: table, Key: item{"PK": text(pk), "SK": text(sk)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("get %s, %s: %w", pk, sk, err)
	}
	return out.Item, nil
}

func getRoot(pk string) (item, error) { return get(pk, "HEAD") }

// query returns all items of a partition.
func query(pk string) (items []item, err error) {
	p := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName: table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("PK = :pk"), ExpressionAttributeValues: item{":pk": text(pk)},
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", pk, err)
		}
		items = append(items, page.Items...)
	}
	return items, nil
}

// checkFormat refuses a table with a later version of the format.
func checkFormat() error {
	note, err := get("~format#Clinic", "format")
	if err != nil || note == nil || equal(note["version"], number(1)) {
		return err
	}
	return errors.New("the table has another version of the format")
}

// state returns the state of a root item, or an empty text if it is unknown.
func state(root item) (s string) {
	if root["_s"] == nil {
		return "live"
	}
	if m, ok := root["_s"].(*types.AttributeValueMemberM); ok {
		if t, ok := m.Value["state"].(*types.AttributeValueMemberS); ok {
			return t.Value
		}
	}
	return ""
}

func live(root item) bool { return root != nil && state(root) == "live" && !expired(root) }

func expired(it item) bool {
	n, ok := it["expires"].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && at != never && at <= float64(time.Now().Unix())
}

func belongs(it, root item) bool { return it["_a"] == nil || equal(it["_a"], root["_a"]) }

// read returns an entity, or nil if it does not exist. It starts again if the entity changes while it is read. The root
// item is also read before the others: pages before the one with the root item may be older than the entity.
func read(pk, id string) (*Clinic, error) {
	for damaged := ""; ; {
		root, err := getRoot(pk)
		if err != nil || !live(root) {
			return nil, err
		}
		items, err := query(pk)
		if err != nil {
			return nil, err
		}
		again, err := getRoot(pk)
		if err != nil {
			return nil, err
		}
		if !live(again) || !equal(again["_a"], root["_a"]) {
			continue
		}
		items = slices.DeleteFunc(items, func(it item) bool {
			return sortKey(it) == "HEAD" || !belongs(it, root) || expired(it)
		})
		c := &Clinic{ID: id, Visits: []Visit{}, Staff: map[string]Person{}, Rooms: []Room{}, Wards: []string{}}
		for _, it := range append(items, again) {
			if err := decode(c, it); err != nil {
				return nil, err
			}
		}
		var value string
		c.Scan, value, err = decodeScan(pk, find(items, "SCAN")["Scan"])
		if err == nil {
			return c, nil
		}
		if value == damaged {
			return nil, fmt.Errorf("the external value %q: %w", value, err)
		}
		damaged = value
	}
}

// External values

type pointer struct {
	Class  string `dynamodbav:"~"`
	ID     string `dynamodbav:"id"`
	Parts  int    `dynamodbav:"parts"`
	Length int64  `dynamodbav:"length"`
	Kind   string `dynamodbav:"kind"`
	SHA256 []byte `dynamodbav:"sha256"`
	Codec  string `dynamodbav:"codec"`
	Stored int64  `dynamodbav:"stored"`
}

// decodeScan returns the bytes, and for an external value its id.
func decodeScan(pk string, v value) (b []byte, id string, err error) {
	switch v := v.(type) {
	case nil, *types.AttributeValueMemberNULL:
		return nil, "", nil
	case *types.AttributeValueMemberB:
		return append([]byte{}, v.Value...), "", nil
	}
	var p pointer
	if err := attributevalue.Unmarshal(v, &p); err != nil {
		return nil, "", fmt.Errorf("decode the pointer: %w", err)
	}
	if p.Class != "chunk" || p.Kind != "B" {
		return nil, "", fmt.Errorf("a value as %q, %q is not supported", p.Class, p.Kind)
	}
	if b, err = joinParts(pk, p); err != nil {
		return nil, p.ID, err
	}
	if sum := sha256.Sum256(b); int64(len(b)) != p.Length || !bytes.Equal(sum[:], p.SHA256) {
		return nil, p.ID, errors.New("the length or the hash is wrong")
	}
	return b, p.ID, nil
}

func joinParts(pk string, p pointer) ([]byte, error) {
	if len(pk) > 1984 {
		sum := sha256.Sum256([]byte(pk))
		pk = "~" + hex.EncodeToString(sum[:])
	}
	parts, err := query(pk + "#~" + p.ID)
	if err != nil {
		return nil, err
	}
	b := []byte{}
	for i := range p.Parts {
		data, ok := find(parts, fmt.Sprintf("%06d", i))["~data"].(*types.AttributeValueMemberB)
		if !ok {
			return nil, fmt.Errorf("part %d is missing", i)
		}
		b = append(b, data.Value...)
	}
	if p.Codec == "" {
		return b, nil
	}
	if int64(len(b)) != p.Stored {
		return nil, errors.New("the length of the frame is wrong")
	}
	return decompress(b, p.Length)
}
