package mapper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

var anyCredentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
})

// A request that DynamoDB throttles until the deadline says so: the error of the SDK names the deadline alone.
func TestDeadlineNamesThrottling(t *testing.T) {
	t.Parallel()
	throttling := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: anyCredentials, RetryMaxAttempts: 100,
		HTTPClient: smithyhttp.ClientDoFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 400, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
				Body: io.NopCloser(
					strings.NewReader(
						`{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",` +
							`"message":"too many requests"}`,
					),
				),
			}, nil
		}),
	})
	for _, client := range []mapper.Client{throttling, wrapped{throttling}} {
		m := must(mapper.New[account](client, mapper.Table("accounts")))(t)
		for name, call := range map[string]func(ctx context.Context) error{
			"a save": func(ctx context.Context) error {
				return failed(m.Save(ctx, m.New(account{ID: "1"})))
			},
			"a save of several": func(ctx context.Context) error {
				return failed(m.Save(ctx, m.New(account{ID: "1", Left: "l"})))
			},
			"a load": func(ctx context.Context) error { return failed(m.Load(ctx, m.Key("1"))) },
			"a load of an item": func(ctx context.Context) error {
				return failed(m.Load(ctx, m.Key("1").Item("HEAD")))
			},
			"many loads": func(ctx context.Context) error {
				return failed(m.LoadMany(ctx,
					[]query.Selection[account]{m.Key("1").Item("HEAD"), m.Key("2").Item("HEAD")}))
			},
			"a bulk load that overwrites": func(ctx context.Context) error {
				return failed(m.BulkLoad(ctx, mapper.NoErrors(slices.Values([]account{{ID: "1"}})), mapper.Overwrite()))
			},
			"a scan": func(ctx context.Context) error {
				for _, err := range m.Scan(ctx) {
					return err
				}
				return nil
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			err := call(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "throttled") ||
				!strings.Contains(err.Error(), "too many requests") {
				t.Errorf("%s of a %T: %v", name, client, err)
			}
		}
	}
}

// A load whose items DynamoDB throttles one by one until the deadline says so, too.
func TestDeadlineNamesThrottledItems(t *testing.T) {
	t.Parallel()
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: anyCredentials,
		HTTPClient: smithyhttp.ClientDoFunc(func(r *http.Request) (*http.Response, error) {
			var in struct {
				RequestItems json.RawMessage
				Statements   []json.RawMessage
			}
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				return nil, err
			}
			out := map[string]any{"UnprocessedItems": in.RequestItems}
			if in.Statements != nil {
				out = map[string]any{
					"Responses": slices.Repeat(
						[]any{map[string]any{"Error": map[string]any{"Code": "ThrottlingError"}}}, len(in.Statements),
					),
				}
			}
			body, err := json.Marshal(out)
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
				Body: io.NopCloser(bytes.NewReader(body)),
			}, err
		}),
	})
	m := must(mapper.New[account](client, mapper.Table("accounts")))(t)
	for name, options := range map[string][]mapper.BulkOption{"inserts": nil, "overwrites": {mapper.Overwrite()}} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values([]account{{ID: "1"}, {ID: "2"}})), options...)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "throttled") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
