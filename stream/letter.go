package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
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

// letterKey is the key of a letter, to find those whose other attributes cannot be decoded.
type letterKey struct {
	_        struct{} `ddb:"table=leases"`
	Name     string   `ddb:"pk=LETTERS#{Name}"`
	Shard    string   `ddb:"sk={Shard}#{Sequence}"`
	Sequence string   `ddb:"sk={Shard}#{Sequence}"`
}

// allLetters yields the letters of the group, in the order of their keys. It continues after a letter that cannot be
// decoded, a *mapper.StoredValueError.
func (s *store) allLetters(ctx context.Context) iter.Seq2[*mapper.Entity[letter], error] {
	return func(yield func(*mapper.Entity[letter], error) bool) {
		last, damaged := "", false
		for e, err := range s.letters.Entities(ctx, query.Of[letter](s.letters.Key(s.name))) {
			if damaged = errors.As(err, new(*mapper.StoredValueError)); damaged {
				break
			}
			if !yield(e, err) || err != nil {
				return
			}
			last = e.Value.Shard + "#" + e.Value.Sequence
		}
		if !damaged {
			return
		}
		for k, err := range s.keys.Entities(ctx, query.Of[letterKey](s.keys.Key(s.name))) {
			var e *mapper.Entity[letter]
			if err == nil {
				if k.Value.Shard+"#"+k.Value.Sequence <= last {
					continue
				}
				e, err = s.letters.Load(ctx, s.letters.Key(s.name, k.Value.Shard, k.Value.Sequence))
			}
			if errors.Is(err, mapper.ErrNotFound) {
				continue // deleted since
			}
			if !yield(e, err) || err != nil && !errors.As(err, new(*mapper.StoredValueError)) {
				return
			}
		}
	}
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
		out.Error = strings.ToValidUTF8(l.Err.Error(), "\uFFFD") // of the library, which writes no values
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
		out.Error, out.Kept = strings.ToValidUTF8(l.Err.Error(), "\uFFFD"), true
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
// packages fmt and errors say nothing, and are shown only if there are no others. It looks at the outermost 100.
func kindOf(err error) string {
	kinds := ""
	kind := ""
	for e, n := err, 0; e != nil && n < 100; e, n = errors.Unwrap(e), n+1 {
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
	return shortened(cmp.Or(strings.TrimSpace(kinds), kind), 1000)
}

// shortened returns the beginning of a text.
func shortened(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
