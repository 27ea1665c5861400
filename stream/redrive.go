package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Redrive handles the records of a message that Lambda has sent to the destination for failures after its last retry.
// Pass the body of the message. Such a message has positions only, and Redrive reads the
// records from the stream, which keeps them for 24 hours. They come after later changes of their items. The error has
// those of all records that failed again: keep the message then.
func (f *Function) Redrive(ctx context.Context, from Streams, message []byte) error {
	var in struct {
		Batch *struct {
			Shard string `json:"shardId"`
			First string `json:"startSequenceNumber"`
			Last  string `json:"endSequenceNumber"`
			ARN   string `json:"streamArn"`
		} `json:"DDBStreamBatchInfo"`
	}
	switch err := json.Unmarshal(message, &in); {
	case from == nil:
		return errors.New("stream: Redrive: the client of streams is nil: pass dynamodbstreams.NewFromConfig(cfg)")
	case err != nil || in.Batch == nil || in.Batch.Shard == "" || in.Batch.First == "" || in.Batch.Last == "":
		return errors.New("stream: Redrive: the message has no DDBStreamBatchInfo: pass the body of a message that " +
			"Lambda has sent to the destination for failures")
	}
	b, from := in.Batch, explaining{from}
	it, err := from.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &b.ARN, ShardId: &b.Shard, ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber,
		SequenceNumber: &b.First,
	})
	switch {
	case errors.As(err, new(*types.TrimmedDataAccessException)):
		return fmt.Errorf("stream: Redrive: the stream does not have the records any more, which it keeps for 24 "+
			"hours: %w", err)
	case errors.As(err, new(*types.ResourceNotFoundException)):
		return fmt.Errorf("stream: Redrive: the stream does not exist, or not its shard any more: pass a client with "+
			"the Region and account of the function: %w", err)
	case err != nil:
		return fmt.Errorf("stream: Redrive: %w", err)
	}
	table := tableOf(b.ARN)
	failed := map[string]bool{}
	var errs []error
	for next := it.ShardIterator; next != nil; {
		out, err := from.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("stream: Redrive: %w", err))...)
		}
		for i := range out.Records {
			rec, err := recordOf(table, b.Shard, &out.Records[i])
			at, last := position(rec.SequenceNumber), position(b.Last)
			if key := f.router.orderOf(rec); at <= last && !failed[key] { // none before an earlier change of its entity
				if err == nil {
					err = guarded(func() error { return f.router.handle(ctx, rec, &f.deleted) })
				}
				if failed[key] = err != nil; failed[key] {
					errs = append(errs, fmt.Errorf("stream: Redrive: record %s: %w", rec.SequenceNumber, err))
				}
			}
			if at >= last {
				return errors.Join(errs...)
			}
		}
		next = out.NextShardIterator
		if len(out.Records) == 0 && !sleep(ctx, 100*time.Millisecond) {
			return errors.Join(append(errs, ctx.Err())...)
		}
	}
	return errors.Join(errs...)
}
