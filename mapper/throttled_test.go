package mapper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// refusing answers each request with one error of DynamoDB.
type refusing string

func (body refusing) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(string(body))),
	}, nil
}

// All three errors keep each of DynamoDB's 16 reasons, in a read and in a write, with table or index,
// read or write, limit, resource and cure. The SDK's error stays in the chain.
func TestThrottledAnswerKeepsItsReasons(t *testing.T) {
	t.Parallel()
	const resource = "arn:aws:dynamodb:eu-west-1:123456789012:table/boards"
	cures := map[mapper.ThrottlingLimit]string{
		mapper.LimitProvisioned: "auto scaling", mapper.LimitAccount: "quota", mapper.LimitKeyRange: "shards=",
		mapper.LimitOnDemand: "raise the maximum",
	}
	for code, list := range map[string]string{
		"ThrottlingException": "throttlingReasons", "RequestLimitExceeded": "ThrottlingReasons",
		"ProvisionedThroughputExceededException": "ThrottlingReasons",
	} {
		for limit, cure := range cures {
			for _, of := range []string{"TableRead", "TableWrite", "IndexRead", "IndexWrite"} {
				reason := of + string(limit)
				body := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"m",%q:[{"reason":%q,`+
					`"resource":%q}]}`, code, list, reason, resource)
				m, err := mapper.New[kit.Board](dynamodb.New(dynamodb.Options{
					Region: "eu-west-1", HTTPClient: refusing(body), Retryer: aws.NopRetryer{},
					Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
						return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
					}),
				}), mapper.Table("boards"))
				if err != nil {
					t.Fatal(err)
				}
				_, read := m.Load(t.Context(), m.Key("1"))
				receipt, write := m.Save(t.Context(), m.New(kit.Board{ID: "1"}))
				want := mapper.ThrottlingReason{
					Reason: reason, Resource: resource, Limit: limit,
					Index: strings.HasPrefix(of, "Index"), Write: strings.HasSuffix(of, "Write"),
				}
				if !slices.Equal(receipt.Throttled, []mapper.ThrottlingReason{want}) ||
					!strings.Contains(receipt.String(), cure) {
					t.Errorf("%s %s: the receipt %v", code, reason, receipt)
				}
				for _, err := range []error{read, write} {
					var got *mapper.ThrottledError
					if !errors.As(err, &got) || len(got.Reasons) != 1 || got.Reasons[0] != want || got.Model == "" ||
						!strings.Contains(err.Error(), cure) || !errors.As(err, new(*smithy.OperationError)) {
						t.Errorf("%s %s: %v", code, reason, err)
					}
				}
			}
		}
	}
}

// A reason that DynamoDB adds later is kept as text.
func TestThrottledKeepsUnknownReasons(t *testing.T) {
	t.Parallel()
	r := mapper.ThrottlingReason{Reason: "TableWriteMoonExceeded", Resource: "arn:aws:dynamodb:r:1:table/t/index/i"}
	if r.String() != "TableWriteMoonExceeded t/index/i" {
		t.Error(r)
	}
}

// unprocessed answers each batch with all of its items and keys unprocessed, and each statement with a
// code.
type unprocessed string

func (code unprocessed) Do(r *http.Request) (*http.Response, error) {
	var in struct {
		RequestItems json.RawMessage
		Statements   []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	out := map[string]any{"UnprocessedItems": in.RequestItems}
	switch {
	case in.Statements != nil:
		refused := map[string]any{"Error": map[string]any{"Code": code, "Message": "m"}}
		out = map[string]any{"Responses": slices.Repeat([]any{refused}, len(in.Statements))}
	case strings.HasSuffix(r.Header.Get("X-Amz-Target"), "BatchGetItem"):
		out = map[string]any{"UnprocessedKeys": in.RequestItems}
	}
	body, err := json.Marshal(out)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// Batches whose items stay unprocessed are throttled requests: the error is a *ThrottledError, with the
// reasons if DynamoDB names them, in bulk loads of both forms and in reads, until the retries or the
// context end.
func TestBatchesThatStayThrottledAreThrottledErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the deadlines do not depend on the machine
		const reason = "TableWriteKeyRangeThroughputExceeded"
		boards := mapper.NoErrors(slices.Values([]kit.Board{{ID: "1"}, {ID: "2"}}))
		refused := refusing(`{"__type":"ThrottlingException","message":"m","throttlingReasons":[{"reason":"` + reason +
			`","resource":"arn:aws:dynamodb:eu-west-1:1:table/boards"}]}`)
		for name, c := range map[string]dynamodb.HTTPClient{
			"unprocessed": unprocessed("ThrottlingError"), "limit": unprocessed("RequestLimitExceeded"),
			"provisioned": unprocessed("ProvisionedThroughputExceeded"), "with reasons": refused,
		} {
			named := c == refused
			m, err := mapper.New[kit.Board](dynamodb.New(dynamodb.Options{
				Region: "eu-west-1", HTTPClient: c, Retryer: aws.NopRetryer{}, Credentials: anyCredentials,
			}), mapper.Table("boards"))
			if err != nil {
				t.Fatal(err)
			}
			load := func(options ...mapper.BulkOption) func(context.Context) error {
				return func(ctx context.Context) error {
					r, err := m.BulkLoad(ctx, boards, options...)
					if err == nil {
						err = r.Failures[0].Err
					}
					return err
				}
			}
			for call, do := range map[string]func(context.Context) error{
				"insert": load(), "overwrite": load(mapper.Overwrite()),
				"load": func(ctx context.Context) error {
					return kit.Err(m.LoadMany(ctx, []query.Selection[kit.Board]{
						m.Key("1").Item("A"), m.Key("2").Item("A"),
					}))
				},
			} {
				for _, ends := range []error{nil, context.DeadlineExceeded} {
					if call == "load" && named && ends != nil {
						continue // not sent again
					}
					ctx, cancel := request.WithoutPauses(t.Context()), func() {}
					if ends != nil {
						ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
					}
					err := do(ctx)
					cancel()
					var got *mapper.ThrottledError
					if !errors.As(err, &got) || got.Model == "" || ends != nil && !errors.Is(err, ends) ||
						named && (len(got.Reasons) != 1 || got.Reasons[0].Reason != reason) {
						t.Errorf("%s of %s until %v: %v", call, name, ends, err)
					}
				}
			}
		}
	})
}

var anyCredentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
})

// A request that DynamoDB throttles until the deadline says so: the error of the SDK names the deadline alone.
func TestDeadlineNamesThrottling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the deadline does not depend on the machine
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
		for _, client := range []mapper.Client{throttling, kit.Wrapped{Client: throttling}} {
			m := kit.Must(mapper.New[kit.Account](client, mapper.Table("accounts")))(t)
			for name, call := range map[string]func(ctx context.Context) error{
				"a save": func(ctx context.Context) error {
					return kit.Err(m.Save(ctx, m.New(kit.Account{ID: "1"})))
				},
				"a save of several": func(ctx context.Context) error {
					return kit.Err(m.Save(ctx, m.New(kit.Account{ID: "1", Left: "l"})))
				},
				"a load": func(ctx context.Context) error { return kit.Err(m.Load(ctx, m.Key("1"))) },
				"a load of an item": func(ctx context.Context) error {
					return kit.Err(m.Load(ctx, m.Key("1").Item("HEAD")))
				},
				"many loads": func(ctx context.Context) error {
					return kit.Err(m.LoadMany(ctx,
						[]query.Selection[kit.Account]{m.Key("1").Item("HEAD"), m.Key("2").Item("HEAD")}))
				},
				"a bulk load that overwrites": func(ctx context.Context) error {
					return kit.Err(m.BulkLoad(ctx, mapper.NoErrors(slices.Values([]kit.Account{{ID: "1"}})),
						mapper.Overwrite()))
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
	})
}

// A load whose items DynamoDB throttles one by one until the deadline says so, too.
func TestDeadlineNamesThrottledItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the deadline does not depend on the machine
		client := dynamodb.New(dynamodb.Options{
			Region: "eu-central-1", Credentials: anyCredentials, HTTPClient: unprocessed("ThrottlingError"),
		})
		m := kit.Must(mapper.New[kit.Account](client, mapper.Table("accounts")))(t)
		for name, options := range map[string][]mapper.BulkOption{"inserts": nil, "overwrites": {mapper.Overwrite()}} {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values([]kit.Account{{ID: "1"}, {ID: "2"}})), options...)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "throttled") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
