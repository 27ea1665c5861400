package record_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost/record"
)

// answers is an HTTP client that answers at once, so that a call takes only its own time.
type answers struct{ text []byte }

func (a answers) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Body: io.NopCloser(bytes.NewReader(a.text)), ContentLength: int64(len(a.text)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// BenchmarkOverhead compares calls of a client with and without a recorder, at the default rate, for 10,000 items. The
// answers come at once: this is the call's own time. Both take turns, and overhead-% is the median of all turns.
func BenchmarkOverhead(b *testing.B) {
	table := "claims"
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
	})
	pair := func(text []byte) (plain, recorded *dynamodb.Client) {
		o := dynamodb.Options{
			Region: "us-east-1", HTTPClient: answers{text}, Credentials: credentials,
		}
		plain = dynamodb.New(o)
		record.New(record.Options{Keys: map[string][]string{table: {"pk", "sk"}}}).Client(&o)
		return plain, dynamodb.New(o)
	}
	run := func(name string, text []byte, call func(*dynamodb.Client, int) error) {
		b.Run(name, func(b *testing.B) {
			plain, recorded := pair(text)
			var shares []float64
			n := 0
			for b.Loop() {
				times := [2]time.Duration{}
				for turn := range 2 {
					client := []*dynamodb.Client{plain, recorded}[(turn+len(shares))%2]
					start := time.Now()
					for i := range 640 { // ten sampled items in the mean
						if err := call(client, n+i); err != nil {
							b.Fatal(err)
						}
					}
					times[(turn+len(shares))%2] = time.Since(start)
				}
				n += 640
				shares = append(shares, float64(times[1])/float64(times[0])-1)
			}
			slices.Sort(shares)
			b.ReportMetric(100*shares[len(shares)/2], "overhead-%")
		})
	}
	for _, kb := range []int{1, 20, 150} {
		text := fmt.Appendf(nil, `{"Item":{"pk":{"S":"CLAIM#1"},"sk":{"S":"PROFILE"},"text":{"S":%q},"log":{"L":[`,
			strings.Repeat("x", kb*512))
		for i := range kb * 2 {
			if i > 0 {
				text = append(text, ',')
			}
			text = fmt.Appendf(text, `{"M":{"at":{"S":"2026-01-01"},"note":{"S":%q}}}`, strings.Repeat("n", 200))
		}
		run(fmt.Sprintf("get/KB=%d", kb), append(text, "]}}}"...), func(c *dynamodb.Client, n int) error {
			_, err := c.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &table, Key: keyOf(n % 10_000)})
			return err
		})
	}
	for _, entries := range []int{3, 300} {
		items := make([]item, 1000)
		for i := range items {
			items[i] = claim(i, entries)
		}
		run(fmt.Sprintf("put/entries=%d", entries), []byte("{}"), func(c *dynamodb.Client, n int) error {
			_, err := c.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: items[n%1000]})
			return err
		})
	}
}
