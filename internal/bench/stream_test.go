package main

import (
	"context"
	"fmt"
	"runtime"
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

// engineShard is a stream of the engine. It gives the answers of its one shard again and again, each by a request.
type engineShard struct {
	shard
	client    *dynamodbstreams.Client
	iterators []*string
	n         atomic.Int64
}

func (s *engineShard) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	if s.left.Add(-1) < 0 {
		return &dynamodbstreams.GetRecordsOutput{NextShardIterator: aws.String("0")}, nil
	}
	n := int(s.n.Add(1)-1) % len(s.iterators)
	return s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterators[n]}, o...)
}

// streamOf makes a table whose stream has changes of 4 MB.
func streamOf(b *testing.B, payload int) *engineShard {
	ctx, client, name := context.Background(), engine.Client(), fmt.Sprintf("posts-%d", time.Now().UnixNano())
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	create := stream.LeaseTable(name)
	create.StreamSpecification = stream.Specification()
	created, err := client.CreateTable(ctx, create)
	must(err)
	m, err := mapper.New[post](client, mapper.Table(name))
	must(err)
	for id := range 2 << 20 / payload / 3 {
		e := m.New(post{ID: strconv.Itoa(id), Text: strings.Repeat("x", payload)})
		for n := range 3 { // an insert, and two changes with both images
			e.Value.N = n + 1
			_, err := m.Save(ctx, e)
			must(err)
		}
	}
	of := client.Options()
	s := &engineShard{client: dynamodbstreams.New(dynamodbstreams.Options{
		Region: of.Region, Credentials: of.Credentials, BaseEndpoint: of.BaseEndpoint,
	})}
	arn := created.TableDescription.LatestStreamArn
	d, err := s.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	must(err)
	first, err := s.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         arn,
		ShardId:           d.StreamDescription.Shards[0].ShardId,
		ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
	})
	must(err)
	for next := first.ShardIterator; ; {
		out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		must(err)
		if len(out.Records) == 0 {
			break
		}
		s.iterators, s.records, next = append(
			s.iterators,
			next,
		), append(
			s.records,
			out.Records...), out.NextShardIterator
	}
	return s
}

// A source gives the same answers to the loop and to the consumer.
type source interface {
	stream.Streams
	// size is the number of records of a turn, and begin begins one.
	size() int
	begin()
}

func (s *shard) size() int { return 20_000 / len(s.records) * len(s.records) }
func (s *shard) begin()    { s.left.Store(int64(20_000 / len(s.records))) }

func (s *engineShard) size() int { return 5 * len(s.records) }
func (s *engineShard) begin()    { s.left.Store(int64(5 * len(s.iterators))) }

// BenchmarkStream compares a consumer with a bare loop over GetRecords that decodes the same records, side by side in
// one process. x-loop is how many times as fast the consumer is, the median of rounds. With source=engine each answer
// is a request to the engine, and with source=memory it costs nothing, so that all is the time of the two themselves.
func BenchmarkStream(b *testing.B) {
	for _, payload := range []int{1 << 10, 20 << 10} {
		for _, kind := range []string{"engine", "memory"} {
			for _, handlers := range []int{1, 16} {
				b.Run(fmt.Sprintf("payload=%d/source=%s/handlers=%d", payload, kind, handlers), func(b *testing.B) {
					b.ReportMetric(0, "ns/op")
					// The consumer reads in the turns of the loop, too: so each has a source of its own.
					all := records(payload)
					var bare, own source = &shard{records: all}, &shard{records: all}
					if kind == "engine" {
						s := streamOf(b, payload)
						bare, own = s, &engineShard{
							shard:     shard{records: s.records},
							client:    s.client,
							iterators: s.iterators,
						}
					}
					of := turns(loop(b, bare), consumer(b, own, handlers))
					ratios := ratioOfRounds(of, 0)
					b.ReportMetric(median(ratios), "x-loop")
					b.ReportMetric(slices.Min(ratios), "least")
					b.ReportMetric(float64(own.size())/(median(of[1])/1e9), "records/s")
				})
			}
		}
	}
}

// loop returns a function that takes a turn of the bare loop.
func loop(b *testing.B, s source) func() time.Duration {
	m, err := mapper.New[post](engine.Client())
	if err != nil {
		b.Fatal(err)
	}
	return func() time.Duration {
		runtime.GC()
		begun := time.Now()
		s.begin()
		for left := s.size(); left > 0; {
			out, err := s.GetRecords(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			left -= len(out.Records)
			for i := range out.Records {
				r := out.Records[i].Dynamodb
				old, err := attributevalue.FromDynamoDBStreamsMap(r.OldImage)
				if err != nil {
					b.Fatal(err)
				}
				if r.OldImage == nil {
					old = nil
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
func consumer(b *testing.B, s source, handlers int) func() time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	m, err := mapper.New[post](engine.Client())
	if err != nil {
		b.Fatal(err)
	}
	leases := fmt.Sprintf("leases-%d", time.Now().UnixNano())
	if err := engine.CreateTable(ctx, leases, "PK:S", "SK:S"); err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	turn := make(chan struct{})
	router := stream.NewRouter()
	stream.On(router, m, func(_ context.Context, c *stream.Change[post]) error {
		if c.New.N == 0 {
			b.Error("no value")
		}
		if left.Add(-1) == 0 {
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
		runtime.GC()
		begun := time.Now()
		left.Store(int64(s.size()))
		s.begin()
		<-turn
		return time.Since(begun)
	}
	take() // the first includes the start
	return take
}
