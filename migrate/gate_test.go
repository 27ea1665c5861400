package migrate_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// gate holds the first request that matches until it is released. Then a test acts as a second program
// between two requests of the first.
type gate struct {
	next              dynamodb.HTTPClient
	match             func(operation, body string) bool
	held              atomic.Bool
	arrived, released chan struct{}
}

// gated returns a client whose first request that matches is held.
func (s *setup) gated(match func(operation, body string) bool) (*dynamodb.Client, *gate) {
	g := &gate{match: match, arrived: make(chan struct{}), released: make(chan struct{})}
	return dynamodb.New(s.client.Options(), func(o *dynamodb.Options) { g.next, o.HTTPClient = o.HTTPClient, g }), g
}

// Do is described at dynamodb.HTTPClient.
func (g *gate) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if g.match(strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810."), string(body)) &&
		g.held.CompareAndSwap(false, true) {
		close(g.arrived)
		<-g.released
	}
	return g.next.Do(r)
}

func (g *gate) release() { close(g.released) }

// held waits until the request is held.
func (s *setup) held(g *gate) { s.Helper(); s.waits(g.arrived) }

// waits waits for the end of something, for a minute.
func (s *setup) waits(done <-chan struct{}) {
	s.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		s.Fatal("it does not happen")
	}
}

// inBackground starts a function, and returns a channel that is closed at its end.
func inBackground(do func()) <-chan struct{} {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	return done
}

// matching matches requests of an operation whose bodies contain all of some texts.
func matching(operation string, texts ...string) func(o, body string) bool {
	return func(o, body string) bool {
		return o == operation && !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(body, t) })
	}
}

func (s *setup) mustRun(ctx context.Context) {
	s.Helper()
	if r, err := s.migration().Run(ctx); err != nil {
		s.Fatalf("%+v %v", r, err)
	}
}

// keys are the keys of the items of collections.
func (s *setup) keys() string {
	s.Helper()
	var all []string
	for _, a := range s.collections() {
		all = append(all, text(a["PK"])+"/"+text(a["SK"]))
	}
	return strings.Join(all, " ")
}
