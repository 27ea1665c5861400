package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The errors of a call count by their kinds: throttles leave the attempts after other errors as they are.
func TestThrottlesAreNotCountedAsOtherErrors(t *testing.T) {
	for name, other := range map[string]func(w http.ResponseWriter) bool{
		"a fault":   func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusInternalServerError); return true },
		"no answer": func(http.ResponseWriter) bool { panic(http.ErrAbortHandler) },
	} {
		url, n := table(t, func(n int, w http.ResponseWriter) bool {
			switch {
			case n <= 12:
				return throttle(w)
			case n <= 12+usualAttempts-1:
				return other(w)
			}
			return false
		})
		out, err := described(t, url, func(p *patience) { p.longest = time.Millisecond })
		if err != nil || n.Load() != 12+usualAttempts {
			t.Errorf("%s: %d requests, %v\n%s", name, n.Load(), err, out)
		}
	}
}

// A command that had a connection waits for it, for as long as an outage may take.
func TestOutagesAreWaitedFor(t *testing.T) {
	for outage, want := range map[time.Duration]bool{time.Minute: true, time.Millisecond: false} {
		url, _ := table(t, func(int, http.ResponseWriter) bool { return false })
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := "http://" + l.Addr().String()
		forward := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, url, http.StatusTemporaryRedirect)
		})}
		_ = l.Close()
		var stderr bytes.Buffer
		c := &command{ctx: context.Background(), stderr: &plain{to: &stderr}}
		p := c.patience()
		p.pause, p.longest, p.outage = 50*time.Millisecond, 50*time.Millisecond, outage
		p.reached.Store(true)
		cfg, err := c.access(&remote{endpoint: at})
		if err != nil {
			t.Fatal(err)
		}
		client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
			o.BaseEndpoint, o.Retryer, o.HTTPClient = &at, p.retryer(usualAttempts), p
			o.APIOptions = append(o.APIOptions, withCall)
		})
		back := time.AfterFunc(300*time.Millisecond, func() {
			if l, err := net.Listen("tcp", l.Addr().String()); err == nil {
				_ = forward.Serve(l)
			}
		})
		name := "users"
		_, err = client.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &name})
		back.Stop()
		_ = forward.Close()
		if dialed := err == nil || !isDial(err); dialed != want || want && !strings.Contains(stderr.String(),
			"no connection for ") {
			t.Errorf("an outage of up to %v: %v\n%s", outage, err, &stderr)
		}
	}
}

// A body that arrives slowly is read to its end.
func TestSlowBodiesAreRead(t *testing.T) {
	url, n := table(t, func(_ int, w http.ResponseWriter) bool {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		for _, c := range `{"Table":{"TableName":"users"}}` {
			_, _ = io.WriteString(w, string(c))
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
		return true
	})
	out, err := described(t, url, func(p *patience) { p.wait(100 * time.Millisecond) })
	if err != nil || n.Load() != 1 {
		t.Errorf("%d requests, %v\n%s", n.Load(), err, out)
	}
}

// One throttle after a time without requests is no line.
func TestOneThrottleIsNotReported(t *testing.T) {
	url, _ := table(t, func(n int, w http.ResponseWriter) bool { return n == 1 && throttle(w) })
	out, err := described(t, url, func(p *patience) {
		p.pause, p.longest = 50*time.Millisecond, time.Millisecond
		time.Sleep(100 * time.Millisecond)
	})
	if err != nil || out != "" {
		t.Errorf("%v, %q", err, out)
	}
}

// A silence is reported though another line was printed just before it.
func TestSilenceAfterALineIsReported(t *testing.T) {
	url, _ := table(t, func(n int, _ http.ResponseWriter) bool {
		if n == 1 {
			time.Sleep(400 * time.Millisecond)
		}
		return false
	})
	out, err := described(t, url, func(p *patience) { p.pause, p.printed = 100*time.Millisecond, time.Now() })
	if err != nil || !strings.Contains(out, "no answer from ") {
		t.Errorf("%v, %q", err, out)
	}
}

// S3 has the same patience: a bucket that does not answer is asked again, and one that throttles is no table.
func TestPatienceWithBuckets(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1:
			time.Sleep(300 * time.Millisecond)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
		default:
			_, _ = io.WriteString(w, "content")
		}
	}))
	defer s.Close()
	var stderr bytes.Buffer
	c := &command{ctx: context.Background(), stderr: &plain{to: &stderr}}
	p := c.patience()
	p.streams, p.cure, p.pause, p.longest = true, bucketCure, 50*time.Millisecond, time.Millisecond
	p.wait(100 * time.Millisecond)
	cfg, err := c.access(&remote{endpoint: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.Retryer, o.HTTPClient, o.BaseEndpoint, o.UsePathStyle = p.retryer(usualAttempts), p, &s.URL, true
		o.APIOptions = append(o.APIOptions, withCall)
	})
	bucket, key := "b", "k"
	out, err := client.GetObject(c.ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(out.Body)
	if err != nil || string(content) != "content" || n.Load() != 3 || strings.Contains(stderr.String(), "table") {
		t.Errorf("%q, %v after %d requests\n%s", content, err, n.Load(), &stderr)
	}
}

// With -json each line on standard error is JSON, except the error that ends the command.
func TestStandardErrorIsJSON(t *testing.T) {
	m := newMigrating(t, 3)
	for _, args := range [][]string{
		m.args("run", "-json"),
		m.args("run", "-json", "-endpoint", "http://127.0.0.1:1"),
		m.args("verify", "-json"),
	} {
		var out, errs bytes.Buffer
		run(context.Background(), args, m.dir, &out, &errs)
		for line := range strings.Lines(errs.String()) {
			var x map[string]any
			if err := json.Unmarshal([]byte(line), &x); err != nil && !strings.HasPrefix(line, "itemize: ") {
				t.Errorf("%v: %q: %v", args, line, err)
			}
		}
	}
}

// An error of credentials that expired says what to do.
func TestExpiredCredentials(t *testing.T) {
	url, _ := table(t, func(_ int, w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"expired"}`)
		return true
	})
	_, err := described(t, url, func(*patience) {})
	if err == nil || !strings.HasSuffix((&command{}).withCure(err, err.Error()), expiredCure) {
		t.Errorf("%v", err)
	}
}
