package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/testengine"
)

// throttling refuses requests of a key beyond so many in each tenth of a second, as a partition does.
type throttling struct {
	most int
	mu   sync.Mutex
	in   time.Time
	of   map[string]int
	n    int
}

func (c *throttling) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct{ Key, Item map[string]map[string]string }
	_ = json.Unmarshal(body, &in)
	pk := in.Key["PK"]["S"] + in.Item["PK"]["S"]
	if pk != "" && !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "DeleteItem") && c.refuses(pk) {
		text := `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",` +
			`"message":"slow down"}`
		return &http.Response{
			StatusCode: 400, Status: "400",
			Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body:   io.NopCloser(strings.NewReader(text)), Request: r,
		}, nil
	}
	return http.DefaultClient.Do(r)
}

func (c *throttling) refuses(pk string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.in) > 100*time.Millisecond {
		c.in, c.of = now, map[string]int{}
	}
	c.of[pk]++
	if c.of[pk] > c.most {
		c.n++
		return true
	}
	return false
}

// On a table that throttles a hot key the test finds that key and names it. It counts the refused and
// the charged requests, and leaves no items.
func TestScaleTestFindsHotKey(t *testing.T) {
	ctx := context.Background()
	transport := &throttling{most: 12}
	client := testengine.Start(t).Client(func(o *dynamodb.Options) { o.HTTPClient, o.RetryMaxAttempts = transport, 1 })
	name := testengine.Table(t, "PK:S", "SK:S")
	x := &scaleTest{
		Client: client, Table: name, Keys: 200, Skew: 1.2, Writes: 0.5, Bytes: 900, Parallel: 4,
		For: time.Second, Rate: 500, Seed: 1,
	}
	r, err := x.Run(ctx)
	if err != nil || r.Err != nil {
		t.Fatal(err, r)
	}
	t.Logf("%+v", r)
	hot := r.Hottest[0]
	if hot.Key != "itemize-scaletest#0000001" || hot.Throttled == 0 || hot.Share < 0.15 || len(r.Hottest) != 5 {
		t.Errorf("the hottest is %+v", hot)
	}
	if r.Throttled != transport.n || r.Requests > 520 || r.Requests < 100 || r.WCU != float64(r.Writes) || r.RCU == 0 ||
		r.P50 == 0 || r.P99 < r.P50 {
		t.Errorf("%+v, %d throttled", r, transport.n)
	}
	out, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil || out.Count != 0 {
		t.Errorf("%d items left, %v", out.Count, err)
	}
}

// Any key schema is accepted, and an invalid test is refused with all of its faults.
func TestScaleTestTakesAnyKeySchema(t *testing.T) {
	ctx := context.Background()
	client := testengine.Start(t).Client()
	for _, keys := range [][2]string{{"Id:N", ""}, {"Id:B", "At:N"}} {
		x := &scaleTest{
			Client: client, Table: testengine.Table(t, keys[0], keys[1]), Keys: 3, Writes: 1, Bytes: 100,
			Parallel: 2, For: 100 * time.Millisecond,
		}
		if r, err := x.Run(ctx); err != nil || r.Failed > 0 || r.Writes == 0 {
			t.Errorf("%v: %+v %v", keys, r, err)
		}
	}
	_, err := (&scaleTest{Client: client, Skew: -1, Writes: 2}).Run(ctx)
	for _, want := range []string{
		"0 keys: write 1 to 10000000", "the skew -1", "the share of writes 2",
		"items of 0 bytes", "a test of 0s", "0 requests at a time",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	x := &scaleTest{Client: client, Table: "nowhere", Keys: 1, Bytes: 100, Parallel: 1, For: time.Second}
	if _, err := x.Run(ctx); err == nil || !strings.Contains(err.Error(), "the table nowhere") {
		t.Error(err)
	}
}
