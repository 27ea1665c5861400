package engines

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// asked looks at a request and sends nothing.
type asked struct{ bodies []io.ReadCloser }

func (a *asked) Do(r *http.Request) (*http.Response, error) {
	a.bodies = append(a.bodies, r.Body)
	if b, err := io.ReadAll(r.Body); err != nil || len(b) == 0 {
		return nil, errors.New("no body")
	}
	return nil, errors.New("not sent")
}

// No body is written by WriteTo, whose end closes the connection before the answer was read; an attempt after
// the first sends the whole body again.
func TestPlainBodies(t *testing.T) {
	seen := &asked{}
	e := &Engine{Endpoint: "http://127.0.0.1:1"}
	_, err := e.Client(func(o *dynamodb.Options) { o.HTTPClient, o.RetryMaxAttempts = seen, 2 }).
		ListTables(context.Background(), &dynamodb.ListTablesInput{})
	if err == nil || len(seen.bodies) != 2 {
		t.Fatal(len(seen.bodies), err)
	}
	for _, b := range seen.bodies {
		if _, ok := b.(io.WriterTo); ok {
			t.Errorf("%T has WriteTo", b)
		}
	}
}
