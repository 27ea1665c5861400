package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/model/tabledef"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// matches reports whether a value passes a pattern, by the documented grammar of filters:
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax
func matches(pattern, value any, exists bool) bool {
	switch p := pattern.(type) {
	case map[string]any: // all keys
		m, ok := value.(map[string]any)
		for name, of := range p {
			v, has := m[name]
			if !matches(of, v, ok && has) {
				return false
			}
		}
		return true
	case []any: // one of the rules
		return slices.ContainsFunc(p, func(rule any) bool { return passes(rule, value, exists) })
	}
	panic(fmt.Sprintf("a pattern has objects and lists, not %v", pattern))
}

func passes(rule, value any, exists bool) bool {
	r, ok := rule.(map[string]any)
	if !ok {
		return exists && rule == value
	}
	text, isText := value.(string)
	for operator, operand := range r {
		switch operator {
		case "prefix":
			return exists && isText && strings.HasPrefix(text, operand.(string))
		case "exists":
			return exists == operand.(bool)
		}
	}
	panic(fmt.Sprintf("the rule %v is not used here", rule))
}

// The models have keys with the signs that JSON, YAML and patterns use for themselves.
type (
	quoted struct {
		_     struct{} `ddb:"table=texts"`
		ID    string   `ddb:"pk=Ü'*?{ID}"`
		Text  string   `ddb:"sk=A*"`
		Lines []line   `ddb:"sk=<L>&#{N:04}"`
	}
	nameless struct {
		_     struct{} `ddb:"table=texts"`
		ID    string   `ddb:"pk={ID}"`
		Text  string   `ddb:"sk=ROOT"`
		Lines []line   `ddb:"sk=ROOT#{N:04}"`
	}
	anything struct {
		_    struct{} `ddb:"table=texts"`
		ID   string   `ddb:"pk={ID}"`
		Name string   `ddb:"sk={Name}"`
		Text string   `ddb:"sk={Name}"`
	}
	numbered struct {
		_    struct{} `ddb:"table=numbers,range=N"`
		ID   string   `ddb:"pk=NUMBER#{ID}"`
		N    int      `ddb:"sk={N}"`
		Text string   `ddb:"sk={N}"`
	}
	binaries struct {
		_     struct{} `ddb:"table=binaries,hash=B"`
		ID    []byte   `ddb:"pk={ID}"`
		Text  string   `ddb:"sk=ROOT"`
		Lines []line   `ddb:"sk=L#{N:04}"`
	}
	single struct {
		_    struct{} `ddb:"table=singles,range=-"`
		ID   string   `ddb:"pk=SINGLE${ID}"`
		Text string
	}
)

type line struct {
	N    int
	Text string
}

// Filters select every record of their models, also with hostile keys, and none of a model with another beginning.
func TestFiltersSelectTheRecordsOfTheirModels(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(draws.Seed(t), 67))
	hostile := func() string {
		signs := []string{
			"\"", "\\", "*", "?", "{", "}", "[", "]", "$", "%", "~", "é", "💡", "\u2028", "'", " ",
			"\n", "a", "Ü", "0",
		}
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(signs[r.IntN(len(signs))])
		}
		return b.String()
	}
	lines := func() []line { return []line{{r.IntN(5), "x"}, {5 + r.IntN(5), "y"}} }
	for _, c := range []struct {
		name, hash, sort string
		filters          func(t *testing.T, table string) (mine []byte, patterns []string)
		none             bool
	}{
		{"quoted", "PK:S", "SK:S", filtered(func() quoted {
			return quoted{
				ID: hostile(), Text: "x",
				Lines: lines(),
			}
		}), false},
		{"nameless", "PK:S", "SK:S", filtered(func() nameless {
			return nameless{
				ID: hostile(), Text: "x",
				Lines: lines(),
			}
		}), false},
		{"anything", "PK:S", "SK:S", filtered(func() anything {
			return anything{
				ID: hostile(), Name: hostile(),
				Text: "x",
			}
		}), true},
		{"numbered", "PK:S", "N:N", filtered(func() numbered {
			return numbered{
				ID: hostile(), N: r.IntN(9),
				Text: "x",
			}
		}), false},
		{"binaries", "B:B", "SK:S", filtered(func() binaries {
			return binaries{
				ID: []byte(hostile()), Text: "x",
				Lines: lines(),
			}
		}), false},
		{"single", "PK:S", "", filtered(func() single { return single{ID: hostile(), Text: "x"} }), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := testengine.Table(t, c.hash, c.sort)
			enable(t, table)
			event, patterns := c.filters(t, table)
			if (len(patterns) == 0) != c.none {
				t.Fatalf("patterns: %q", patterns)
			}
			var in struct{ Records []any }
			if err := json.Unmarshal(event, &in); err != nil || len(in.Records) < 20 {
				t.Fatal(err, len(in.Records))
			}
			for _, rec := range in.Records {
				if !c.none && !slices.ContainsFunc(patterns, func(p string) bool {
					return matches(parsed(t, p), rec,
						true)
				}) {
					t.Errorf("no filter of %q selects %v", patterns, rec)
				}
			}
			other := parsed(t,
				`{"dynamodb": {"Keys": {"PK": {"S": "O"}, "SK": {"S": "O"}, "N": {"N": "7"}, "B": {"B": "AAAA"}}}}`)
			for _, p := range patterns {
				if matches(parsed(t, p), other, true) {
					t.Errorf("the filter %s selects another item", p)
				}
			}
		})
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// filtered inserts random entities, and returns the event of their records and the patterns of the model.
func filtered[T any](draw func() T) func(*testing.T, string) ([]byte, []string) {
	return func(t *testing.T, table string) ([]byte, []string) {
		t.Helper()
		ctx, engine := context.Background(), testengine.Start(t)
		m := kit.Must(mapper.New[T](engine.Client(), mapper.Table(table)))(t)
		for range 25 {
			if _, err := m.Save(ctx, m.New(draw())); err != nil {
				t.Log(err) // some keys are drawn twice
			}
		}
		mappings := tabledef.Events([]*schema.Entity{door.Mapper.Model(m).Schema},
			func(*schema.Entity) []string { return []string{table} })
		arn := arnOf(t, table)
		return event(t, arn, bodies(t, arn)), mappings[0].Patterns
	}
}

// bodies returns the bodies of the answers to GetRecords, for all records of a stream.
func bodies(t *testing.T, arn string) [][]byte {
	t.Helper()
	ctx := context.Background()
	tape := &taped{RoundTripper: http.DefaultTransport}
	o := testengine.Start(t).Client().Options()
	c := dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, Credentials: o.Credentials, BaseEndpoint: o.BaseEndpoint,
		HTTPClient: &http.Client{Transport: tape},
	})
	d := kit.Must(c.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}))(t)
	for _, shard := range d.StreamDescription.Shards {
		it := kit.Must(c.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
		}))(t)
		for next, empty := it.ShardIterator, 0; next != nil && empty < 20; {
			out := kit.Must(c.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
				ShardIterator: next,
				Limit:         aws.Int32(7),
			}))(t)
			if next = out.NextShardIterator; len(out.Records) == 0 {
				empty++
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	return tape.bodies
}
