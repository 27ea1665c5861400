package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// post is the model whose changes are streamed.
type post struct {
	_    struct{} `ddb:"table=posts"`
	ID   string   `ddb:"pk=POST#{ID}"`
	Text string   `ddb:"sk=POST"`
	N    int      `ddb:"sk=POST"`
}

// shard is a stream of one shard that was read before: it gives the same answer for ever, as fast as the program takes
// it. It ends after some answers.
type shard struct {
	dynamodbstreams.Client
	records []streams.Record
	left    atomic.Int64
}

func (s *shard) DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput,
	...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: &streams.StreamDescription{
		Shards: []streams.Shard{{ShardId: aws.String("shard")}},
	}}, nil
}

func (s *shard) GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput,
	...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String("0")}, nil
}

func (s *shard) GetRecords(_ context.Context, _ *dynamodbstreams.GetRecordsInput,
	_ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	if s.left.Add(-1) < 0 {
		return &dynamodbstreams.GetRecordsOutput{NextShardIterator: aws.String("0")}, nil
	}
	return &dynamodbstreams.GetRecordsOutput{Records: s.records, NextShardIterator: aws.String("0")}, nil
}

// records are the records of one answer: as many as fit 1 MB with both images, 1000 at most, of different entities.
func records(payload int) []streams.Record {
	n := min(1000, 1<<20/(2*payload))
	out := make([]streams.Record, n)
	for i := range out {
		keys := map[string]streams.AttributeValue{
			"PK": &streams.AttributeValueMemberS{Value: "POST#" + strconv.Itoa(i)},
			"SK": &streams.AttributeValueMemberS{Value: "POST"},
		}
		image := func(n int) map[string]streams.AttributeValue {
			return map[string]streams.AttributeValue{
				"PK": keys["PK"], "SK": keys["SK"], "Text": &streams.AttributeValueMemberS{Value: strings.Repeat("x",
					payload)},
				"N":  &streams.AttributeValueMemberN{Value: strconv.Itoa(n)},
				"_v": &streams.AttributeValueMemberB{Value: fmt.Appendf(nil, "%08d", n)},
			}
		}
		out[i] = streams.Record{EventID: aws.String(strconv.Itoa(i)), Dynamodb: &streams.StreamRecord{
			Keys: keys, OldImage: image(i), NewImage: image(i + 1), SequenceNumber: aws.String(fmt.Sprintf("%021d", i)),
			StreamViewType: streams.StreamViewTypeNewAndOldImages, ApproximateCreationDateTime: aws.Time(time.Now()),
		}}
	}
	return out
}

// describing is a client that describes the table of the stream.
type describing struct{ *dynamodb.Client }

func (describing) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (
	*dynamodb.DescribeTableOutput, error,
) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{LatestStreamArn: aws.String("arn")}}, nil
}

// BenchmarkStream compares a consumer with a bare loop over GetRecords that decodes the same records, side by side in
// one process. x-loop is how many times as fast the consumer is, the median of rounds; handlers are 1, as the loop
// has, or as many as there are processors.
func BenchmarkStream(b *testing.B) {
	for _, payload := range []int{1 << 10, 20 << 10} {
		for _, handlers := range []int{1, 16} {
			b.Run(fmt.Sprintf("payload=%d/handlers=%d", payload, handlers), func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				of := turns(loop(b, payload), consumer(b, payload, handlers))
				ratios := ratioOfRounds(of, 0)
				b.ReportMetric(median(ratios), "x-loop")
				b.ReportMetric(slices.Min(ratios), "least")
				b.ReportMetric(float64(len(records(payload))*answersOf(payload))/(median(of[1])/1e9), "records/s")
			})
		}
	}
}

// answersOf returns the number of answers in a turn: about 20,000 records.
func answersOf(payload int) int { return 20_000 / len(records(payload)) }

// loop returns a function that takes a turn of the bare loop.
func loop(b *testing.B, payload int) func() time.Duration {
	m, err := mapper.New[post](engine.Client())
	if err != nil {
		b.Fatal(err)
	}
	s, answers := &shard{records: records(payload)}, answersOf(payload)
	return func() time.Duration {
		s.left.Store(int64(answers))
		begun := time.Now()
		for range answers {
			out, err := s.GetRecords(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			for i := range out.Records {
				r := out.Records[i].Dynamodb
				old, err := attributevalue.FromDynamoDBStreamsMap(r.OldImage)
				if err != nil {
					b.Fatal(err)
				}
				now, err := attributevalue.FromDynamoDBStreamsMap(r.NewImage)
				if err != nil {
					b.Fatal(err)
				}
				c, err := m.DecodeChange(old, now)
				if err != nil || c.New.Value.N == 0 {
					b.Fatal(err)
				}
			}
		}
		return time.Since(begun)
	}
}

// consumer returns a function that takes a turn of a consumer, which runs all the time.
func consumer(b *testing.B, payload, handlers int) func() time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	m, err := mapper.New[post](engine.Client())
	if err != nil {
		b.Fatal(err)
	}
	leases := fmt.Sprintf("leases-%d", time.Now().UnixNano())
	if err := engine.CreateTable(ctx, leases, "PK:S", "SK:S"); err != nil {
		b.Fatal(err)
	}
	s, answers := &shard{records: records(payload)}, answersOf(payload)
	var handled atomic.Int64
	turn := make(chan struct{})
	want := int64(len(s.records) * answers)
	router := stream.NewRouter()
	stream.On(router, m, func(_ context.Context, c *stream.Change[post]) error {
		if c.New.N == 0 {
			b.Error("no value")
		}
		if handled.Add(1)%want == 0 {
			turn <- struct{}{}
		}
		return nil
	})
	c, err := stream.NewConsumer(describing{engine.Client()}, s, "posts", router, stream.Leases(leases),
		stream.Handlers(handlers), stream.Poll(time.Millisecond))
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	take := func() time.Duration {
		begun := time.Now()
		s.left.Store(int64(answers))
		<-turn
		return time.Since(begun)
	}
	take() // the first includes the start
	return take
}
