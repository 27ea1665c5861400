package migrate_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// throttling passes requests on, and throttles all but descriptions of tables while it is on.
type throttling struct {
	dynamodb.HTTPClient
	on atomic.Bool
}

func (c *throttling) Do(r *http.Request) (*http.Response, error) {
	if !c.on.Load() || strings.HasSuffix(r.Header.Get("X-Amz-Target"), "DescribeTable") {
		return c.HTTPClient.Do(r)
	}
	const body = `{"__type":"ThrottlingException","message":"m","throttlingReasons":[` +
		`{"reason":"TableWriteAccountLimitExceeded"}]}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// Each step of a migration that DynamoDB throttles ends with a *mapper.ThrottledError with the reasons.
func TestThrottledStepsAreThrottledErrors(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.put(document("a", 30))
	wire := &throttling{HTTPClient: s.client.Options().HTTPClient}
	m := s.over(dynamodb.New(s.client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.Retryer = wire, aws.NopRetryer{}
	}))
	ctx := t.Context()
	check := func(step string, err error) {
		t.Helper()
		var got *mapper.ThrottledError
		if !errors.As(err, &got) || got.Model == "" || len(got.Reasons) != 1 ||
			got.Reasons[0].Limit != mapper.LimitAccount {
			t.Errorf("%s: %v", step, err)
		}
	}
	wire.on.Store(true)
	_, err := m.Plan(ctx, migrate.PlanOptions{})
	check("plan", err)
	_, err = m.Run(ctx)
	check("run", err)
	wire.on.Store(false)
	if _, err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
	wire.on.Store(true)
	for step, do := range map[string]func() error{
		"status":   func() error { _, err := m.Status(ctx); return err },
		"verify":   func() error { _, err := m.Verify(ctx); return err },
		"cutover":  func() error { _, err := m.Cutover(ctx); return err },
		"rollback": func() error { _, err := m.Rollback(ctx); return err },
		"contract": func() error { _, err := m.Contract(ctx, s.source, false); return err },
		"monolith": func() error { return settles("monolith", m, ctx, "a") },
		"keep":     func() error { return settles("collection", m, ctx, "a") },
	} {
		check(step, do())
	}
}
