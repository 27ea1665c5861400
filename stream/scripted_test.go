package stream_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/stream"
)

// scripted is a service of change streams in memory, whose shards a test splits, trims and deletes: the engines have
// one shard for each table. It gives the errors that the documentation of the service names.
type scripted struct {
	mu     sync.Mutex
	shards []*scriptedShard // in the order of their creation
	next   int              // sequence number
	arn    string
	// page is the number of shards in an answer of DescribeStream.
	page int
	// epoch grows when all iterators expire.
	epoch int
	// fail returns an error for a request, nil for none. It is called without the lock.
	fail func(operation, shard string) error
	// asked counts requests by operation and shard.
	asked map[string]int
	now   func() time.Time
	// former are the shards of a stream that was replaced.
	former    []*scriptedShard
	formerARN string
	// older are the shards of streams that were replaced before.
	older map[string][]*scriptedShard
}

type scriptedShard struct {
	id, parent string
	hidden     bool // DescribeStream does not show it yet
	closed     bool
	deleted    bool
	trimmed    int // the number of records that are trimmed
	records    []types.Record
	low, high  uint32 // the hashes of keys that it has
}

func newScripted() *scripted {
	s := &scripted{
		arn: "arn:aws:dynamodb:us-east-1:000000000000:table/accounts/stream/1", page: 100, asked: map[string]int{},
		now: time.Now,
	}
	s.add("", 0, 1<<32-1)
	return s
}

func (s *scripted) add(parent string, low, high uint32) *scriptedShard {
	sh := &scriptedShard{
		id: fmt.Sprintf("shardId-%020d-%08x", len(s.shards)+1, low), parent: parent, low: low,
		high: high,
	}
	s.shards = append(s.shards, sh)
	return sh
}

// describing is a client of DynamoDB that describes the table with the scripted stream.
type describing struct {
	stream.Client
	s *scripted
}

func (d describing) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	if err := d.s.before(ctx, "DescribeTable", ""); err != nil {
		return nil, err
	}
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	return &dynamodb.DescribeTableOutput{Table: &dynamodbtypes.TableDescription{
		TableName: in.TableName, LatestStreamArn: aws.String(d.s.arn),
		StreamSpecification: &dynamodbtypes.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: dynamodbtypes.StreamViewTypeNewAndOldImages,
		},
	}}, nil
}

func (s *scripted) before(ctx context.Context, operation, shard string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	s.asked[operation+" "+shard]++
	s.asked[operation]++
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		return fail(operation, shard)
	}
	return nil
}

// requests returns how often an operation was requested, for a shard or for all ("").
func (s *scripted) requests(operation, shard string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shard != "" {
		operation += " " + shard
	}
	return s.asked[operation]
}

func hashOf(key string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return h.Sum32() * 2654435761 // the keys of a test are similar
}

// write appends the change of an account's counter from n-1 to n to the open shard of its key.
func (s *scripted) write(id string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.shards {
		if h := hashOf(id); sh.closed || sh.deleted || h < sh.low || h > sh.high {
			continue
		}
		s.next++
		keys := map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "ACCOUNT#" + id},
			"SK": &types.AttributeValueMemberS{Value: "HEAD"},
		}
		image := func(n int) map[string]types.AttributeValue {
			if n == 0 {
				return nil
			}
			return map[string]types.AttributeValue{
				"PK": keys["PK"], "SK": keys["SK"], "Counter": &types.AttributeValueMemberN{Value: strconv.Itoa(n)},
			}
		}
		sh.records = append(sh.records, types.Record{
			EventID: aws.String(strconv.Itoa(s.next)),
			Dynamodb: &types.StreamRecord{
				Keys: keys, OldImage: image(n - 1), NewImage: image(n),
				StreamViewType:              types.StreamViewTypeNewAndOldImages,
				SequenceNumber:              aws.String(fmt.Sprintf("%021d", s.next)),
				ApproximateCreationDateTime: aws.Time(s.now()),
			},
		})
		return
	}
	panic("no open shard for " + id)
}

// split closes an open shard, and adds two that follow it. hidden ones are not listed at first.
func (s *scripted) split(i int, hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []*scriptedShard
	for _, sh := range s.shards {
		if !sh.closed && sh.high-sh.low > 1 {
			open = append(open, sh)
		}
	}
	if len(open) == 0 {
		return
	}
	sh := open[i%len(open)]
	sh.closed = true
	hidden = hidden || sh.hidden // a listing never has a shard without its parent, unless that was deleted
	middle := sh.low + (sh.high-sh.low)/2
	s.add(sh.id, sh.low, middle).hidden = hidden
	s.add(sh.id, middle+1, sh.high).hidden = hidden
}

// show lists all hidden shards.
func (s *scripted) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.shards {
		sh.hidden = false
	}
}

// expire ends all iterators.
func (s *scripted) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
}

// shard returns a shard by its number, from 0.
func (s *scripted) shard(i int) *scriptedShard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shards[i]
}

// delete deletes a shard, as the service does when all of its records are trimmed.
func (s *scripted) delete(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards[i].deleted, s.shards[i].closed = true, true
}

// trim removes the first records of a shard.
func (s *scripted) trim(i, records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards[i].trimmed = records
}

func (s *scripted) find(id string) *scriptedShard {
	all := slices.Concat(s.shards, s.former)
	for _, more := range s.older {
		all = append(all, more...)
	}
	for _, sh := range all {
		if sh.id == id && !sh.deleted {
			return sh
		}
	}
	return nil
}

// ListStreams lists the former stream and the present one.
func (s *scripted) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput,
	_ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.ListStreamsOutput, error) {
	if err := s.before(ctx, "ListStreams", ""); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &dynamodbstreams.ListStreamsOutput{}
	all := append(slices.Sorted(maps.Keys(s.older)), s.arn)
	if s.formerARN != "" {
		all = append([]string{s.formerARN}, all...)
	}
	i := slices.Index(all, aws.ToString(in.ExclusiveStartStreamArn)) + 1
	out.Streams = []types.Stream{{StreamArn: &all[i]}} // pages of one
	if i < len(all)-1 {
		out.LastEvaluatedStreamArn = &all[i]
	}
	return out, nil
}

func (s *scripted) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	_ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if err := s.before(ctx, "DescribeStream", ""); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &types.StreamDescription{StreamArn: in.StreamArn}
	begun, shards := in.ExclusiveStartShardId == nil, s.shards
	if *in.StreamArn == s.formerARN {
		shards = s.former
	}
	if more := s.older[*in.StreamArn]; more != nil {
		shards = more
	}
	for _, sh := range shards {
		if !begun {
			begun = sh.id == *in.ExclusiveStartShardId
			continue
		}
		if sh.deleted || sh.hidden {
			continue
		}
		if len(out.Shards) == s.page {
			out.LastEvaluatedShardId = out.Shards[len(out.Shards)-1].ShardId
			break
		}
		shard := types.Shard{ShardId: aws.String(sh.id), SequenceNumberRange: &types.SequenceNumberRange{}}
		if sh.parent != "" {
			shard.ParentShardId = aws.String(sh.parent)
		}
		if sh.closed {
			shard.SequenceNumberRange.EndingSequenceNumber = aws.String("0")
		}
		out.Shards = append(out.Shards, shard)
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

func (s *scripted) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput,
	_ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if err := s.before(ctx, "GetShardIterator", *in.ShardId); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.find(*in.ShardId)
	if sh == nil {
		return nil, &types.ResourceNotFoundException{Message: aws.String("shard " + *in.ShardId)}
	}
	at := sh.trimmed
	if in.SequenceNumber != nil {
		for i, r := range sh.records {
			if *r.Dynamodb.SequenceNumber == *in.SequenceNumber {
				at = i
			}
		}
		if at < sh.trimmed || sh.trimmed > 0 && *sh.records[at].Dynamodb.SequenceNumber != *in.SequenceNumber {
			return nil, &types.TrimmedDataAccessException{Message: aws.String("trimmed")}
		}
		if in.ShardIteratorType == types.ShardIteratorTypeAfterSequenceNumber {
			at++
		}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(fmt.Sprintf("%s|%d|%d", sh.id, at,
		s.epoch))}, nil
}

func (s *scripted) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	_ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	parts := strings.Split(*in.ShardIterator, "|")
	if err := s.before(ctx, "GetRecords", parts[0]); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := strconv.Atoi(parts[1])
	sh := s.find(parts[0])
	switch {
	case sh == nil:
		return nil, &types.ResourceNotFoundException{Message: aws.String("shard " + parts[0])}
	case parts[2] != strconv.Itoa(s.epoch):
		return nil, &types.ExpiredIteratorException{Message: aws.String("expired")}
	case at < sh.trimmed:
		return nil, &types.TrimmedDataAccessException{Message: aws.String("trimmed")}
	}
	end := min(at+1000, len(sh.records))
	if in.Limit != nil {
		end = min(end, at+int(*in.Limit))
	}
	out := &dynamodbstreams.GetRecordsOutput{Records: slices.Clone(sh.records[at:end])} // tests edit them
	if !sh.closed || end < len(sh.records) {
		out.NextShardIterator = aws.String(fmt.Sprintf("%s|%d|%d", sh.id, end, s.epoch))
	}
	return out, nil
}

// cut is a client and a service that a test can cut off, as a dead process or a network does: no request arrives then.
type cut struct {
	mu              sync.Mutex
	dead            bool
	operation, text string // requests do not arrive that are of an operation, and have a text
}

var errCut = fmt.Errorf("the network is cut: %w", syscall.ECONNRESET)

func (c *cut) setFor(operation, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operation, c.text = operation, text
}

func (c *cut) has(operation, body string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead || c.operation != "" && operation == c.operation && strings.Contains(body, c.text)
}

func (c *cut) set(dead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = dead
}

func (c *cut) is() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// cutStreams is a service behind a cut.
type cutStreams struct {
	stream.Streams
	*cut
}

func (c cutStreams) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if c.has("DescribeStream", "") {
		return nil, errCut
	}
	return c.Streams.DescribeStream(ctx, in, o...)
}

func (c cutStreams) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if c.has("GetShardIterator", *in.ShardId) {
		return nil, errCut
	}
	return c.Streams.GetShardIterator(ctx, in, o...)
}

func (c cutStreams) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	if c.has("GetRecords", *in.ShardIterator) {
		return nil, errCut
	}
	return c.Streams.GetRecords(ctx, in, o...)
}
