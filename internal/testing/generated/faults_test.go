package generated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// lossy is a transport that does something to one request.
type lossy struct {
	n, at int
	kind  string
}

var errLost = errors.New("connection reset by test")

func (l *lossy) Do(r *http.Request) (*http.Response, error) {
	l.n++
	if l.n-1 != l.at {
		return http.DefaultTransport.RoundTrip(r)
	}
	switch l.kind {
	case "request lost":
		return nil, errLost
	case "throttled":
		body := `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",` +
			`"message":"slow down"}`
		return &http.Response{
			StatusCode: 400, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)),
		}, nil
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return nil, errLost // the answer is lost, after the effect
}

// Every fault at every request of every patch. A patch is applied once or not at all, never twice and
// never in part. Its error says so, or says that the outcome is unknown.
func TestFaultsOfPatches(t *testing.T) {
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := must(mapper.New[Log](testengine.Start(t).Client(), mapper.Table(table)))(t)
	added := Event{K: "x"}
	count := LogFields.Count
	patches := map[string]func(*LogKey) patch[Log]{
		"increment":   func(p *LogKey) patch[Log] { return p.Patch(count.Increment(1)) },
		"set":         func(p *LogKey) patch[Log] { return p.Patch(count.Set(6)) },
		"set and add": func(p *LogKey) patch[Log] { return p.Patch(count.Increment(1)).And(p.Address().Add(added)) },
		"if, and another": func(p *LogKey) patch[Log] {
			return p.Patch(count.Set(6)).If(count.Equal(5)).And(p.Address().Add(added))
		},
		"add":           func(p *LogKey) patch[Log] { return p.Address().Add(added) },
		"add and check": func(p *LogKey) patch[Log] { return p.Address().Add(added).IfEntityExists() },
		"remove":        func(p *LogKey) patch[Log] { return p.Book().K("y").Delete() },
	}
	id := 0
	for name, patchOf := range patches {
		for _, exactly := range []bool{false, true} {
			for _, kind := range []string{"request lost", "answer lost", "throttled"} {
				for at := range 4 {
					id++
					what := fmt.Sprintf("%s, exactly once %v, %s at request %d", name, exactly, kind, at)
					key := fmt.Sprint(id)
					before := Log{ID: key, Name: "n", Count: 5, Book: []Event{{K: "y"}}}
					must(clean.Save(ctx, clean.New(before)))(t)
					l := &lossy{at: at, kind: kind}
					m := must(mapper.New[Log](testengine.Start(t).Client(func(o *dynamodb.Options) {
						o.HTTPClient = l
						o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
							o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration,
								error,
							) {
								return time.Millisecond, nil
							})
						})
					}), mapper.Table(table)))(t)
					var options []mapper.WriteOption
					if exactly {
						options = append(options, mapper.ExactlyOnce())
					}
					_, err := patchOf(LogByID(key)).Exec(ctx, m, options...)
					now := must(clean.Load(ctx, LogByID(key), mapper.Strong()))(t).Value
					changed := now.Count != 5 || len(now.Address) > 0 || len(now.Book) == 0
					whole := patched(name, now)
					var unknown *mapper.OutcomeUnknownError
					switch {
					case changed && !whole:
						t.Fatalf("%s: in part, or twice: %+v", what, now)
					case err == nil && !changed:
						t.Fatalf("%s: not done, without an error", what)
					case err != nil && changed && !errors.As(err, &unknown):
						t.Fatalf("%s: done, and the error is %v", what, err)
					case exactly && err != nil:
						t.Fatalf("%s: %v", what, err)
					}
				}
			}
		}
	}
}

// patched reports whether a log is the result of a patch.
func patched(name string, l Log) bool {
	count := map[string]int{
		"increment": 6, "set": 6, "set and add": 6, "if, and another": 6, "add": 5,
		"add and check": 5, "remove": 5,
	}
	events := map[string]int{"set and add": 1, "if, and another": 1, "add": 1, "add and check": 1}
	books := 1
	if name == "remove" {
		books = 0
	}
	return l.Count == count[name] && len(l.Address) == events[name] && len(l.Book) == books
}
