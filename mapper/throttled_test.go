package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/mapper"
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
				m, err := mapper.New[board](dynamodb.New(dynamodb.Options{
					Region: "eu-west-1", HTTPClient: refusing(body), Retryer: aws.NopRetryer{},
					Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
						return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
					}),
				}), mapper.Table("boards"))
				if err != nil {
					t.Fatal(err)
				}
				_, read := m.Load(t.Context(), m.Key("1"))
				_, write := m.Save(t.Context(), m.New(board{ID: "1"}))
				want := mapper.ThrottlingReason{
					Reason: reason, Resource: resource, Limit: limit,
					Index: strings.HasPrefix(of, "Index"), Write: strings.HasSuffix(of, "Write"),
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
