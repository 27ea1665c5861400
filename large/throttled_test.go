package large_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

// throttling passes requests on, and throttles all while it is on.
type throttling struct {
	dynamodb.HTTPClient
	on atomic.Bool
}

func (c *throttling) Do(r *http.Request) (*http.Response, error) {
	if !c.on.Load() {
		return c.HTTPClient.Do(r)
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"ThrottlingException","message":"m"}`)),
	}, nil
}

// Reading and collecting the parts of a large value while DynamoDB throttles gives a *mapper.ThrottledError.
func TestThrottledPartsAreThrottledErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, client, table := newFilms(t)
	wire := &throttling{HTTPClient: client.Options().HTTPClient}
	films, err := mapper.New[film](dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.Retryer = wire, aws.NopRetryer{}
	}), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	reel := make([]byte, 2<<20)
	if _, err := films.Save(ctx, films.New(film{ID: "a", Reel: large.Of(reel)})); err != nil {
		t.Fatal(err)
	}
	e, err := films.Load(ctx, films.Key("a"))
	if err != nil {
		t.Fatal(err)
	}
	wire.on.Store(true)
	for name, do := range map[string]func() error{
		"get":     func() error { _, err := e.Value.Reel.Get(ctx); return err },
		"collect": func() error { _, err := large.Collect(ctx, films); return err },
		"read": func() error {
			r, err := e.Value.Reel.Reader(ctx)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			return err
		},
	} {
		if err := do(); !errors.As(err, new(*mapper.ThrottledError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
