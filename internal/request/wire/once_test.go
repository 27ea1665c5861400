package wire_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request/wire"
)

// A request that must not be applied twice is sent again after throttles, as often as the client's own retryer sends
// it, and after no other answer.
func TestOnceRepeatsThrottlesAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answers string
		sent          int
		works         bool
	}{
		{"an answer", ".", 1, true},
		{"throttles", "ttttt.", 6, true},
		{"throttles for long", "tttttttttt", 8, false},
		{"a fault", "5.", 1, false},
		{"a fault after throttles", "tt5.", 3, false},
		{"throttles as a fault of the server", "s.", 1, false},
		{"no answer", "x.", 1, false},
		{"no answer after a throttle", "tx.", 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				answer := c.answers[min(sent, len(c.answers)-1)]
				sent++
				fault, status := "", http.StatusOK
				switch answer {
				case 't':
					fault, status = "ProvisionedThroughputExceededException", http.StatusBadRequest
				case 's':
					fault, status = "ThrottlingException", http.StatusServiceUnavailable
				case '5':
					fault, status = "InternalServerError", http.StatusInternalServerError
				case 'x':
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(status)
				if fault == "" {
					_, _ = io.WriteString(w, "{}")
					return
				}
				_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#`+fault+`"}`)
			}))
			defer s.Close()
			client := dynamodb.New(dynamodb.Options{
				Region: "us-east-1", BaseEndpoint: &s.URL,
				Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
				}),
				Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
					o.MaxAttempts, o.MaxBackoff, o.RateLimiter = 8, time.Millisecond, ratelimit.None
				}),
			})
			_, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{
				TableName: aws.String("t"), Item: map[string]types.AttributeValue{},
			}, wire.Once)
			if sent != c.sent || (err == nil) != c.works {
				t.Errorf("%s: sent %d times, want %d: %v", strings.TrimSpace(c.answers), sent, c.sent, err)
			}
		})
	}
}

// A request for which no connection can be made is tried as often as others.
func TestOnceRepeatsUnsentRequests(t *testing.T) {
	t.Parallel()
	tries := &counting{retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = 5, time.Millisecond, ratelimit.None
	}), 0}
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), Retryer: tries,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})
	_, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: aws.String("t"), Item: map[string]types.AttributeValue{},
	}, wire.Once)
	if err == nil || tries.n != 4 {
		t.Errorf("%d times again: %v", tries.n, err)
	}
}

// counting counts the pauses of a retryer.
type counting struct {
	*retry.Standard
	n int
}

// RetryDelay is described at aws.Retryer.
func (c *counting) RetryDelay(attempt int, err error) (time.Duration, error) {
	c.n++
	return c.Standard.RetryDelay(attempt, err)
}
