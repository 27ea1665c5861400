package stream

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/model"
)

// Record is a record of a stream: the change of one item.
type Record struct {
	// Table is the real name of the table.
	Table string
	// ID identifies the record. SequenceNumber is its position in the shard. Shard is "" in a Lambda
	// function.
	ID, SequenceNumber, Shard string
	// Time is when DynamoDB wrote the item, in full seconds.
	Time time.Time
	// Keys is the key of the item. Old and New are the item before and after, nil for none.
	Keys, Old, New map[string]types.AttributeValue
	// Expired reports that DynamoDB has deleted the item because of its time to live.
	Expired bool
	// View is the view type of the stream.
	View string
}

// expiry is the principal of deletes by the time to live.
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html)
const expiry = "dynamodb.amazonaws.com"

// recordOf returns a record of the client of package dynamodbstreams. With an error it has what could be decoded.
func recordOf(table, shard string, r *streams.Record) (*Record, error) {
	if r.Dynamodb == nil {
		return &Record{Table: table, Shard: shard, ID: aws.ToString(r.EventID)},
			fmt.Errorf("stream: record %s of the table %s: it has no change", aws.ToString(r.EventID), table)
	}
	out := &Record{
		Table: table, Shard: shard, ID: aws.ToString(r.EventID), View: string(r.Dynamodb.StreamViewType),
		SequenceNumber: aws.ToString(r.Dynamodb.SequenceNumber),
		Time:           aws.ToTime(r.Dynamodb.ApproximateCreationDateTime),
		Expired:        r.UserIdentity != nil && aws.ToString(r.UserIdentity.PrincipalId) == expiry,
	}
	var err error
	if len(r.Dynamodb.OldImage) > 0 {
		out.Old, err = attributevalue.FromDynamoDBStreamsMap(r.Dynamodb.OldImage)
	}
	if err == nil && len(r.Dynamodb.NewImage) > 0 {
		out.New, err = attributevalue.FromDynamoDBStreamsMap(r.Dynamodb.NewImage)
	}
	image := out.New
	if image == nil {
		image = out.Old
	}
	out.Keys = make(map[string]types.AttributeValue, len(r.Dynamodb.Keys))
	for name, v := range r.Dynamodb.Keys {
		if k := image[name]; k != nil { // an image has the keys, which need no second conversion
			out.Keys[name] = k
			continue
		}
		k, failed := attributevalue.FromDynamoDBStreams(v)
		if err = errors.Join(err, failed); failed == nil {
			out.Keys[name] = k
		}
	}
	if err != nil {
		return out, fmt.Errorf("stream: record %s of the table %s: %w", out.ID, table, err)
	}
	return out, nil
}

// textOf returns the text of a key attribute, "" for none.
func textOf(v streams.AttributeValue) string {
	switch v := v.(type) {
	case *streams.AttributeValueMemberS:
		return v.Value
	case *streams.AttributeValueMemberN:
		return v.Value
	case *streams.AttributeValueMemberB:
		return string(v.Value)
	}
	return ""
}

// check returns an error if the stream does not have the images that changes need.
func (r *Record) check() error {
	if r == nil {
		return model.Usagef("stream: the record is nil: pass one of a stream, or of stream.RecordsOf")
	}
	switch r.View {
	case "", string(streams.StreamViewTypeNewAndOldImages):
		return nil
	case string(streams.StreamViewTypeKeysOnly):
		return &ViewError{Table: r.Table, View: r.View, Missing: "old and new images"}
	case string(streams.StreamViewTypeNewImage):
		return &ViewError{Table: r.Table, View: r.View, Missing: "old images"}
	}
	return &ViewError{Table: r.Table, View: r.View, Missing: "new images"}
}

// ViewError reports a stream without the images that changes need. The view type of a stream cannot be changed:
// disable it, and enable a new one.
type ViewError struct{ Table, View, Missing string }

func (e *ViewError) Error() string {
	return fmt.Sprintf("stream of the table %s: the view type %s has no %s: disable the stream, and enable a new one "+
		"with NEW_AND_OLD_IMAGES", e.Table, e.View, e.Missing)
}
