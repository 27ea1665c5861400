package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// table answers DescribeTable, and before that what answer says, by the number of the request.
func table(t *testing.T, answer func(n int, w http.ResponseWriter) (done bool)) (string, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if answer(int(n.Add(1)), w) {
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"Table":{"TableName":"users",`+
			`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, &n
}

func throttle(w http.ResponseWriter) bool {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",`+
		`"message":"too fast"}`)
	return true
}

// described describes the table through the policy of the commands, with short times.
func described(t *testing.T, url string, change func(*patience)) (string, error) {
	t.Helper()
	var stderr bytes.Buffer
	c := &command{ctx: context.Background(), stderr: &plain{to: &stderr}}
	p := c.patience()
	change(p)
	cfg, err := c.access(&remote{endpoint: url})
	if err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.BaseEndpoint, o.Retryer, o.HTTPClient = &url, p.retryer(usualAttempts), p
		o.APIOptions = append(o.APIOptions, withCall)
	})
	name := "users"
	_, err = client.DescribeTable(c.ctx, &dynamodb.DescribeTableInput{TableName: &name})
	return stderr.String(), err
}

// Many throttles in a row are no reason to stop, as a quota of retries is, and a line names the flag.
func TestThrottlesAreWaitedFor(t *testing.T) {
	url, n := table(t, func(n int, w http.ResponseWriter) bool { return n <= 12 && throttle(w) })
	out, err := described(t, url, func(p *patience) { p.pause, p.longest = time.Millisecond, 5*time.Millisecond })
	if err != nil || n.Load() != 13 || !strings.Contains(out, "throttled for ") || !strings.Contains(out, "-rate") {
		t.Errorf("%d requests, %v\n%s", n.Load(), err, out)
	}
}

// Another error that can pass ends after the usual attempts, and one that cannot at once.
func TestOtherErrorsEndSooner(t *testing.T) {
	for status, want := range map[int]int64{http.StatusInternalServerError: usualAttempts, http.StatusForbidden: 1} {
		url, n := table(t, func(_ int, w http.ResponseWriter) bool { w.WriteHeader(status); return true })
		_, err := described(t, url, func(p *patience) { p.longest = time.Millisecond })
		if err == nil || n.Load() != want {
			t.Errorf("%d: %d requests, want %d, %v", status, n.Load(), want, err)
		}
	}
}

// A request without an answer prints a line, and is sent again.
func TestSilenceIsReported(t *testing.T) {
	quiet := make(chan struct{})
	t.Cleanup(func() { close(quiet) })
	url, n := table(t, func(n int, _ http.ResponseWriter) bool {
		if n == 1 {
			select {
			case <-quiet:
			case <-time.After(3 * time.Second):
			}
		}
		return false
	})
	out, err := described(t, url, func(p *patience) { p.pause = 20 * time.Millisecond; p.wait(100 * time.Millisecond) })
	if err != nil || n.Load() != 2 || !strings.Contains(out, "no answer from 127.0.0.1") {
		t.Errorf("%d requests, %v\n%s", n.Load(), err, out)
	}
}

// An endpoint where nothing runs is an error soon.
func TestNoConnection(t *testing.T) {
	begun := time.Now()
	_, err := described(t, "http://127.0.0.1:1", func(*patience) {})
	if err == nil || time.Since(begun) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

// The error that ends a command after throttles says what to do.
func TestThrottledCommandsSayTheCure(t *testing.T) {
	url, _ := table(t, func(_ int, w http.ResponseWriter) bool { return throttle(w) })
	_, err := described(t, url, func(p *patience) { p.longest = time.Microsecond })
	if err == nil || !strings.HasSuffix((&command{}).withCure(err, err.Error()), throttleCure) {
		t.Errorf("%v", err)
	}
	if text := (&command{}).withCure(errors.New("x"), "x"); text != "x" {
		t.Error(text)
	}
}

// An answer that stops in its middle is sent for again.
func TestStalledBodiesAreSentForAgain(t *testing.T) {
	quiet := make(chan struct{})
	t.Cleanup(func() { close(quiet) })
	url, n := table(t, func(n int, w http.ResponseWriter) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"Table":{`)
		w.(http.Flusher).Flush()
		select {
		case <-quiet:
		case <-time.After(5 * time.Second):
		}
		return true
	})
	begun := time.Now()
	out, err := described(t, url, func(p *patience) { p.pause = 20 * time.Millisecond; p.wait(100 * time.Millisecond) })
	if err != nil || n.Load() != 2 || time.Since(begun) > 3*time.Second {
		t.Errorf("%d requests, %v after %v\n%s", n.Load(), err, time.Since(begun), out)
	}
}

// Many throttles are reported, though other requests are answered.
func TestManyThrottlesAreReported(t *testing.T) {
	var stderr bytes.Buffer
	p := (&command{stderr: &stderr}).patience()
	for range manyThrottles {
		p.throttles = 0
		p.throttled()
	}
	if out := stderr.String(); !strings.Contains(out, "throttled 20 times in 30s") {
		t.Errorf("%q", out)
	}
}

// A table whose items DynamoDB has not counted yet has no known units.
func TestUncountedTable(t *testing.T) {
	url, _ := table(t, func(int, http.ResponseWriter) bool { return false })
	var out bytes.Buffer
	if code := run(context.Background(), []string{"discover", "-plan", "-endpoint", url, "users"}, ".", &out,
		&out); code != exitOK {
		t.Fatalf("%d: %s", code, &out)
	}
	if want := "to read up to 1,000 items: unknown RCU"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in %s", want, &out)
	}
}

// The prices of another Region are not those of the table, and a line says so.
func TestPricesOfAnotherRegion(t *testing.T) {
	url, _ := table(t, func(int, http.ResponseWriter) bool { return false })
	var c command
	for _, x := range []struct {
		remote
		want bool
	}{
		{remote{region: "sa-east-1", endpoint: url}, true},
		{remote{endpoint: url}, false},
		{remote{region: "us-east-1", endpoint: url}, false},
	} {
		c.ctx = context.Background()
		if _, err := c.access(&x.remote); err != nil {
			t.Fatal(err)
		}
		p, _, err := c.prices("", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := elsewhere(p, &x.remote); strings.Contains(got, "sa-east-1") != x.want {
			t.Errorf("%+v: %q", x.remote, got)
		}
	}
}

// Credentials come from the profile that is named, and a profile that fails is an error, also with an endpoint.
func TestProfiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte("[profile good]\nregion = eu-west-1\naws_access_key_id = A\n"+
		"aws_secret_access_key = B\n[profile bad]\ncredential_process = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
	c := command{ctx: context.Background()}
	const local = "http://127.0.0.1:1"
	cfg, err := c.access(&remote{profile: "good"})
	if err != nil || cfg.Region != "eu-west-1" {
		t.Fatalf("%v, %v", cfg.Region, err)
	}
	if as, err := cfg.Credentials.Retrieve(c.ctx); err != nil || as.AccessKeyID != "A" {
		t.Errorf("%v, %v", as.AccessKeyID, err)
	}
	for _, r := range []remote{{profile: "bad", endpoint: local}, {profile: "missing", endpoint: local}} {
		if _, err := c.access(&r); err == nil {
			t.Errorf("no error of the profile %s", r.profile)
		}
	}
	t.Setenv("AWS_PROFILE", "bad")
	if _, err := c.access(&remote{endpoint: local}); err == nil || !strings.Contains(err.Error(), "no credentials: ") {
		t.Errorf("%v", err)
	}
	t.Setenv("AWS_PROFILE", "")
	begun := time.Now()
	if cfg, err = c.access(&remote{endpoint: local}); err != nil || cfg.Region != "us-east-1" ||
		time.Since(begun) > 5*time.Second {
		t.Errorf("%v, %v after %v", cfg.Region, err, time.Since(begun))
	}
	if _, err := c.access(&remote{}); err == nil || !strings.Contains(err.Error(), "no region: ") {
		t.Errorf("%v", err)
	}
}
