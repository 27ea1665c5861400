package fakedynamo

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Before returns a client that lets something happen before a request reaches the engine: the first of
// an operation whose body has a text, "" for any. Others wait for that.
func Before(c *dynamodb.Client, operation, text string, do func()) *dynamodb.Client {
	return dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &before{next: o.HTTPClient, operation: operation, text: text, do: do}
	})
}

type before struct {
	next            dynamodb.HTTPClient
	operation, text string
	mu              sync.Mutex
	do              func()
}

// Do sends a request.
func (b *before) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), b.operation) && strings.Contains(string(body), b.text) {
		b.mu.Lock()
		if do := b.do; do != nil {
			b.do = nil
			do()
		}
		b.mu.Unlock()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return b.next.Do(r)
}
