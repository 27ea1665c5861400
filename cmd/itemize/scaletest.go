package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// scaleClient has the calls of a scale test. It must send each request once, because the test counts
// throttles.
type scaleClient interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput,
		error)
}

// scaleTest describes the requests of a test.
type scaleTest struct {
	Client scaleClient
	Table  string
	// Keys is the number of partition keys. Skew is their distribution: the key of rank k gets a share
	// of 1/k^Skew.
	Keys int
	Skew float64
	// Writes is the share of the requests that write, 0 to 1. Bytes is the size of an item.
	Writes float64
	Bytes  int
	// Rate limits the requests a second, 0 for no limit. Parallel is the number of parallel requests.
	Rate     float64
	Parallel int
	For      time.Duration
	// Seed determines the requests.
	Seed uint64
}

// scaleKey counts the requests to one partition key.
type scaleKey struct {
	Key       string  `json:"key"`
	Requests  int     `json:"requests"`
	Share     float64 `json:"share"` // of all requests
	Throttled int     `json:"throttled"`
	Units     float64 `json:"units"` // RCU and WCU together, as charged
}

// scaleReport is the result of a test.
type scaleReport struct {
	Requests  int           `json:"requests"`
	Writes    int           `json:"writes"`
	Throttled int           `json:"throttled"`
	Failed    int           `json:"failed"`
	Took      time.Duration `json:"took"`
	RCU       float64       `json:"rcu"`
	WCU       float64       `json:"wcu"`
	// P50, P99 and Longest are latencies of the answered requests.
	P50     time.Duration `json:"p50"`
	P99     time.Duration `json:"p99"`
	Longest time.Duration `json:"longest"`
	// Hottest are the keys with the most throttles, or, without throttles, with the most requests.
	Hottest []scaleKey `json:"hottest"`
	// Err is the first failure that is not a throttle.
	Err error `json:"-"`
}

// Check refuses invalid settings.
func (t *scaleTest) Check() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(t.Keys < 1 || t.Keys > maxScaleKeys, "%d keys: write 1 to %d", t.Keys, maxScaleKeys)
	bad(t.Skew < 0 || math.IsNaN(t.Skew), "the skew %v: write 0 for even, about 1 for usual", t.Skew)
	bad(t.Writes < 0 || t.Writes > 1 || math.IsNaN(t.Writes), "the share of writes %v: write a number from 0 to 1",
		t.Writes)
	bad(t.Bytes < 64 || t.Bytes > 400_000, "items of %d bytes: write 64 to 400000", t.Bytes)
	bad(t.For <= 0, "a test of %v: write a time, such as 30s", t.For)
	bad(t.Rate < 0, "%v requests per second: write a number above 0, or none", t.Rate)
	bad(t.Parallel < 1 || t.Parallel > 10_000, "%d requests at a time: write 1 to 10000", t.Parallel)
	if errs != nil {
		return usageError{errors.Join(errs...)}
	}
	return nil
}

const maxScaleKeys = 10_000_000

// keyAttributes are the key attributes of a table.
type keyAttributes struct {
	hash, sort         string
	hashType, sortType types.ScalarAttributeType
}

func (t *scaleTest) describe(ctx context.Context) (*keyAttributes, error) {
	out, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Table})
	if err != nil {
		return nil, fmt.Errorf("the table %s: %w", t.Table, err)
	}
	x := &keyAttributes{}
	typeOf := func(name string) types.ScalarAttributeType {
		for _, a := range out.Table.AttributeDefinitions {
			if aws.ToString(a.AttributeName) == name {
				return a.AttributeType
			}
		}
		return types.ScalarAttributeTypeS
	}
	for _, k := range out.Table.KeySchema {
		name := aws.ToString(k.AttributeName)
		if k.KeyType == types.KeyTypeHash {
			x.hash, x.hashType = name, typeOf(name)
		} else {
			x.sort, x.sortType = name, typeOf(name)
		}
	}
	return x, nil
}

// keyText returns the partition key of a rank, 1 for the hottest. The numbers are unlikely to exist.
func (x *keyAttributes) keyText(rank int) string {
	if x.hashType == types.ScalarAttributeTypeN {
		return fmt.Sprint(-7_770_000_000_000 - int64(rank))
	}
	return fmt.Sprintf("itemize-scaletest#%07d", rank)
}

func (x *keyAttributes) key(rank int) map[string]types.AttributeValue {
	value := func(t types.ScalarAttributeType, text string) types.AttributeValue {
		switch t {
		case types.ScalarAttributeTypeN:
			return &types.AttributeValueMemberN{Value: text}
		case types.ScalarAttributeTypeB:
			return &types.AttributeValueMemberB{Value: []byte(text)}
		}
		return &types.AttributeValueMemberS{Value: text}
	}
	k := map[string]types.AttributeValue{x.hash: value(x.hashType, x.keyText(rank))}
	if x.sort != "" {
		k[x.sort] = value(x.sortType, "0")
	}
	return k
}

// Run sends requests until the time is over, and removes its items.
func (t *scaleTest) Run(ctx context.Context) (*scaleReport, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	x, err := t.describe(ctx)
	if err != nil {
		return nil, err
	}
	r := &scaleRun{
		scaleTest: t, keyAttributes: x, shares: sharesOf(t.Keys, t.Skew), asked: map[int]*scaleKey{},
		written: map[int]bool{},
	}
	begun := time.Now()
	timed, cancel := context.WithTimeout(ctx, t.For)
	defer cancel()
	var all sync.WaitGroup
	for i := range t.Parallel {
		source := rand.New(rand.NewPCG(t.Seed, uint64(i)))
		all.Go(func() { r.ask(timed, source, begun) })
	}
	all.Wait()
	r.report.Took = time.Since(begun)
	r.summarize()
	return &r.report, cmp.Or(ctx.Err(), r.clean(ctx))
}

// sharesOf returns the cumulative shares of the keys. The last one is 1.
func sharesOf(keys int, skew float64) []float64 {
	all := make([]float64, keys)
	sum := 0.0
	for i := range all {
		sum += math.Pow(float64(i+1), -skew)
		all[i] = sum
	}
	return all
}

// scaleRun is a running test.
type scaleRun struct {
	*scaleTest
	*keyAttributes
	shares []float64

	mu        sync.Mutex
	report    scaleReport
	begun     int
	asked     map[int]*scaleKey
	written   map[int]bool
	latencies []time.Duration
}

// ask sends one request after the other.
func (r *scaleRun) ask(ctx context.Context, source *rand.Rand, begun time.Time) {
	for r.turn(ctx, begun) {
		rank := sort.SearchFloat64s(r.shares, source.Float64()*r.shares[len(r.shares)-1]) + 1
		write := source.Float64() < r.Writes
		at := time.Now()
		units, err := r.request(ctx, rank, write)
		if ctx.Err() != nil {
			return
		}
		r.answered(rank, write, units, time.Since(at), err)
	}
}

// turn waits for the turn of a request at the rate.
func (r *scaleRun) turn(ctx context.Context, begun time.Time) bool {
	if r.Rate == 0 {
		return ctx.Err() == nil
	}
	r.mu.Lock()
	at := begun.Add(time.Duration(float64(r.begun) / r.Rate * float64(time.Second)))
	r.begun++
	r.mu.Unlock()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (r *scaleRun) request(ctx context.Context, rank int, write bool) (float64, error) {
	if !write {
		out, err := r.Client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &r.Table, Key: r.key(rank),
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return 0, err
		}
		return unitsOf(out.ConsumedCapacity), nil
	}
	item := r.key(rank)
	item["itemize-scaletest"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", r.Bytes)[:max(r.Bytes-60, 0)]}
	r.mu.Lock()
	r.written[rank] = true
	r.mu.Unlock()
	out, err := r.Client.PutItem(ctx,
		&dynamodb.PutItemInput{
			TableName: &r.Table, Item: item,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
	if err != nil {
		return 0, err
	}
	return unitsOf(out.ConsumedCapacity), nil
}

func unitsOf(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}

// answered records an answer.
func (r *scaleRun) answered(rank int, write bool, units float64, took time.Duration, err error) {
	throttled := err != nil && retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.asked[rank]
	if k == nil {
		k = &scaleKey{Key: r.keyText(rank)}
		r.asked[rank] = k
	}
	r.report.Requests++
	k.Requests++
	k.Units += units
	switch {
	case throttled:
		r.report.Throttled++
		k.Throttled++
		return
	case err != nil:
		r.report.Failed++
		r.report.Err = cmp.Or(r.report.Err, err)
		return
	case write:
		r.report.Writes++
		r.report.WCU += units
	default:
		r.report.RCU += units
	}
	r.latencies = append(r.latencies, took)
}

// maxHottest is the number of keys in a report.
const maxHottest = 5

func (r *scaleRun) summarize() {
	for _, k := range r.asked {
		k.Share = float64(k.Requests) / float64(r.report.Requests)
		r.report.Hottest = append(r.report.Hottest, *k)
	}
	slices.SortFunc(r.report.Hottest, func(a, b scaleKey) int {
		return cmp.Or(cmp.Compare(b.Throttled, a.Throttled), cmp.Compare(b.Requests, a.Requests),
			cmp.Compare(a.Key, b.Key))
	})
	r.report.Hottest = r.report.Hottest[:min(maxHottest, len(r.report.Hottest))]
	if n := len(r.latencies); n > 0 {
		slices.Sort(r.latencies)
		r.report.P50, r.report.P99, r.report.Longest = r.latencies[n/2], r.latencies[n*99/100], r.latencies[n-1]
	}
}

// clean removes the written items.
func (r *scaleRun) clean(ctx context.Context) error {
	for rank := range r.written {
		for try := 0; ; try++ {
			_, err := r.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &r.Table, Key: r.key(rank)})
			if err == nil {
				break
			}
			if ctx.Err() != nil || try == 100 {
				return fmt.Errorf("the items of the test stay, with the partition keys %s and on: %w", r.keyText(1),
					err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}
