package stream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/mapper"
)

// RecordsOf returns the records of a save that makes the entity now of the entity old. Tests of handlers pass them to
// Router.Handle. nil is an entity that does not exist. It sends nothing. External values (chunk, s3=) are
// in their items, and sequence numbers count from 1.
func RecordsOf[T any](m *mapper.Mapper[T], old, now *T) ([]*Record, error) {
	if m == nil {
		panic("stream.RecordsOf: the mapper is nil: make it with mapper.New")
	}
	of := door.Mapper.Model(m)
	before, err := putsOf(of, old)
	if err != nil {
		return nil, door.Mapper.Public(m, err)
	}
	after, err := putsOf(of, now)
	if err != nil {
		return nil, door.Mapper.Public(m, err)
	}
	var records []*Record
	add := func(at *change.Change, old, now map[string]types.AttributeValue) {
		n := strconv.Itoa(len(records) + 1)
		records = append(records, &Record{
			Table: at.Place.Table.Name, ID: n, SequenceNumber: n, Time: time.Now().Truncate(time.Second),
			Keys: at.Place.Key(), Old: old, New: now, View: string(types.StreamViewTypeNewAndOldImages),
		})
	}
	slices.SortStableFunc(before, func(a, b *change.Change) int { return rank(a) - rank(b) })
	var incarnation types.AttributeValue // of an entity that existed, which it keeps
	for _, b := range before {
		i := slices.IndexFunc(after, func(a *change.Change) bool { return a.Place == b.Place })
		if i < 0 {
			add(b, b.Put, nil)
			continue
		}
		if v := b.Put[of.Schema.Incarnation]; v != nil {
			incarnation = v
		}
	}
	for _, a := range after {
		if incarnation != nil && a.Put[of.Schema.Incarnation] != nil {
			a.Put[of.Schema.Incarnation] = incarnation
		}
		i := slices.IndexFunc(before, func(b *change.Change) bool { return a.Place == b.Place })
		switch {
		case i < 0:
			add(a, nil, a.Put)
		case !attr.SameItem(before[i].Put, a.Put):
			add(a, before[i].Put, a.Put)
		}
	}
	return records, nil
}

// EventOf returns the event of a Lambda function with some records. Tests pass it to Function.Invoke.
func EventOf(records ...*Record) ([]byte, error) {
	all := make([]map[string]any, len(records))
	for i, rec := range records {
		if err := rec.check(); err != nil {
			return nil, err
		}
		if rec.SequenceNumber == "" {
			return nil, model.Usagef("stream.EventOf: a record has no SequenceNumber: set one")
		}
		name, change := "MODIFY", map[string]any{
			"SequenceNumber": rec.SequenceNumber, "StreamViewType": string(types.StreamViewTypeNewAndOldImages),
			"ApproximateCreationDateTime": rec.Time.Unix(),
		}
		switch {
		case rec.Old == nil:
			name = "INSERT"
		case rec.New == nil:
			name = "REMOVE"
		}
		for part, m := range map[string]map[string]types.AttributeValue{
			"Keys": rec.Keys, "OldImage": rec.Old, "NewImage": rec.New,
		} {
			if m == nil {
				continue
			}
			text, err := attributevalue.MarshalMapJSON(m)
			if err != nil {
				return nil, fmt.Errorf("stream.EventOf: record %s: %s: %w", rec.ID, part, err)
			}
			change[part] = json.RawMessage(text)
		}
		all[i] = map[string]any{
			"eventID": rec.ID, "eventName": name, "eventSource": "aws:dynamodb", "dynamodb": change,
			"eventSourceARN": "arn:aws:dynamodb:eu-central-1:000000000000:table/" + rec.Table +
				"/stream/2026-01-01T00:00:00.000",
		}
		if rec.Expired {
			all[i]["userIdentity"] = map[string]string{"type": "Service", "principalId": expiry}
		}
	}
	return json.Marshal(map[string]any{"Records": all})
}

// rank is the place of a delete: root items are last, as in a save.
func rank(c *change.Change) int {
	if c.Root {
		return 1
	}
	return 0
}

// putsOf returns the writes that an insert of a value is, none for nil.
func putsOf[T any](m *model.Model, v *T) (all []*change.Change, err error) {
	if v == nil {
		return nil, nil
	}
	value := *v // a hook can change it
	d, err := change.Of(snapshot.New(m, &value), nil, &value, change.Options{})
	if err != nil {
		return nil, err
	}
	for _, c := range d.Changes {
		if c.Kind == write.Put {
			all = append(all, c)
		}
	}
	return all, nil
}
