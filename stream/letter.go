package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/mapper"
)

// Letter is a dead letter: a record that a handler has refused in all attempts.
type Letter struct {
	// Table is the table of the item, and Group the consumer group.
	Table, Group string
	// Shard and SequenceNumber are the position of the record, which the stream keeps for 24 hours. Stream is the ARN
	// of the stream. An entity of a snapshot has the shard SNAPSHOT, and a hash of its key as the number.
	Stream, Shard, SequenceNumber string
	// ID is the identity of the record.
	ID string
	// Keys is the key of the item. Old and New are set with KeepValues only.
	Keys, Old, New map[string]types.AttributeValue
	// Time is when DynamoDB wrote the item.
	Time time.Time
	// Attempts is the number of calls of the handler, 0 for a record that could not be decoded. Err is the last error.
	// The table of leases stores the types of a handler's error, and its text with KeepValues only, because the text
	// can have values.
	Attempts int
	Err      error
}

// letter is a dead letter in the table of leases.
type letter struct {
	_        struct{}  `ddb:"table=leases"`
	Name     string    `ddb:"pk=LETTERS#{Name}"`
	Shard    string    `ddb:"sk={Shard}#{Sequence}"`
	Sequence string    `ddb:"sk={Shard}#{Sequence}"`
	Stream   string    `ddb:"sk={Shard}#{Sequence}"`
	ID       string    `ddb:"sk={Shard}#{Sequence}"`
	Keys     string    `ddb:"sk={Shard}#{Sequence}"`
	Old      string    `ddb:"sk={Shard}#{Sequence}" dynamodbav:",omitempty"`
	New      string    `ddb:"sk={Shard}#{Sequence}" dynamodbav:",omitempty"`
	Time     time.Time `ddb:"sk={Shard}#{Sequence}"`
	Attempts int       `ddb:"sk={Shard}#{Sequence}"`
	Error    string    `ddb:"sk={Shard}#{Sequence}"`
	Expired  bool      `ddb:"sk={Shard}#{Sequence}" dynamodbav:",omitempty"`
	// Kept reports that Old and New are stored.
	Kept bool `ddb:"sk={Shard}#{Sequence}" dynamodbav:",omitempty"`
}

// largestImages is the size of images up to which a letter keeps them, in bytes of JSON: an item has up to 400 KB.
const largestImages = 380_000

// put stores a letter. A letter that exists is one that was stored before.
func (s *store) put(ctx context.Context, l *Letter, expired, values bool) error {
	out := letter{
		Name: s.name, Shard: l.Shard, Sequence: l.SequenceNumber, Stream: l.Stream, ID: l.ID, Time: l.Time,
		Attempts: l.Attempts,
		Error:    kindOf(l.Err), Expired: expired,
	}
	if l.Attempts == 0 {
		out.Error = l.Err.Error() // of the library, which writes no values
	}
	for _, m := range []struct {
		from map[string]types.AttributeValue
		to   *string
	}{{l.Keys, &out.Keys}, {l.Old, &out.Old}, {l.New, &out.New}} {
		if m.from == nil || !values && m.to != &out.Keys {
			continue
		}
		b, err := attributevalue.MarshalMapJSON(m.from)
		if err != nil {
			return err
		}
		*m.to = string(b)
	}
	if values {
		out.Error, out.Kept = l.Err.Error(), true
		if len(out.Old)+len(out.New)+len(out.Error) > largestImages {
			out.Old, out.New, out.Error, out.Kept = "", "", kindOf(l.Err), false
		}
	}
	_, err := s.letters.Save(ctx, s.letters.New(out))
	if errors.Is(err, mapper.ErrExists) {
		return nil
	}
	return err
}

// kindOf returns the types of an error and of those that it wraps, and the code of an error of AWS. Types of the
// packages fmt and errors say nothing, and are shown only if there are no others.
func kindOf(err error) string {
	kinds := ""
	kind := ""
	for e := err; e != nil; e = errors.Unwrap(e) {
		kind = fmt.Sprintf("%T", e)
		if strings.HasPrefix(kind, "*fmt.") || strings.HasPrefix(kind, "*errors.") {
			continue
		}
		if kinds != "" {
			kinds += ": "
		}
		kinds += kind
	}
	var refused smithy.APIError
	if errors.As(err, &refused) {
		kinds += " " + refused.ErrorCode()
	}
	return cmp.Or(strings.TrimSpace(kinds), kind)
}
