package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// usualAttempts is the number of times that a request is sent, if its answers are errors that can pass. A throttled
// request is sent throttledAttempts times: with the pauses of maxPause that is about a quarter of an hour.
const (
	usualAttempts     = 10
	throttledAttempts = 60
	maxPause          = 20 * time.Second
	dialAttempts      = 3
	// manyThrottles is the number of throttles in a pause from which a line says so, though other requests are
	// answered.
	manyThrottles = 20
)

// patience is the one policy of all commands for answers that are slow, lost or throttled. It sends requests, and
// prints a line for each pause in which no answer arrives.
type patience struct {
	client aws.HTTPClient
	stderr io.Writer
	// pause is the time without an answer after which a line is printed, and lost the time after which a request
	// counts as lost, and is sent again.
	pause, lost time.Duration
	// longest is the longest time before a request is sent again.
	longest time.Duration

	mu sync.Mutex
	// answered is the time of the last answer that was no throttle, and printed that of the last line.
	answered, printed time.Time
	throttles         int
	// recent are the throttles since counted, which is at most a pause ago.
	recent  int
	counted time.Time
}

// patience returns the policy with its usual times.
func (c *command) patience() *patience {
	p := &patience{stderr: c.stderr, pause: 30 * time.Second, longest: maxPause, answered: time.Now()}
	p.wait(time.Minute)
	return p
}

// wait sets the time after which a request counts as lost.
func (p *patience) wait(d time.Duration) {
	p.lost = d
	p.client = awshttp.NewBuildableClient().
		WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = d })
}

// Do sends a request.
func (p *patience) Do(r *http.Request) (*http.Response, error) {
	from := time.Now()
	slow := time.AfterFunc(p.pause, func() {
		p.say(from, "no answer from %s for %s: it is sent again after %s", r.URL.Host, p.pause, p.lost)
	})
	defer slow.Stop()
	out, err := p.client.Do(r)
	if err == nil {
		err = p.whole(out)
	}
	if err != nil {
		return nil, err
	}
	if out.StatusCode < http.StatusBadRequest {
		p.mu.Lock()
		p.answered, p.throttles = time.Now(), 0
		p.mu.Unlock()
	}
	return out, nil
}

// whole reads the body of an answer, which has a few megabytes at most. It is an error if a part does not arrive for
// the time after which a request counts as lost.
func (p *patience) whole(out *http.Response) error {
	body := out.Body
	var stalled atomic.Bool
	late := time.AfterFunc(p.lost, func() {
		stalled.Store(true)
		_ = body.Close() // which ends the read
	})
	defer late.Stop()
	content, err := io.ReadAll(body)
	if stalled.Load() {
		return silence{}
	}
	if e := body.Close(); err == nil {
		err = e
	}
	out.Body = io.NopCloser(bytes.NewReader(content))
	return err
}

// silence is the error of an answer that stopped in its middle. The SDK sends the request again after a timeout.
type silence struct{}

func (silence) Error() string   { return "the answer stopped in its middle" }
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

// say prints a line, if none was printed for a pause.
func (p *patience) say(now time.Time, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.printed) < p.pause {
		return
	}
	p.printed = time.Now()
	fmt.Fprintf(p.stderr, "itemize: "+format+"\n", args...)
}

// throttled notes a throttled answer.
func (p *patience) throttled() {
	p.mu.Lock()
	p.throttles++
	since, n := time.Since(p.answered), p.throttles
	if time.Since(p.counted) > p.pause {
		p.counted, p.recent = time.Now(), 0
	}
	p.recent++
	recent := p.recent
	p.mu.Unlock()
	switch {
	case since >= p.pause:
		p.say(time.Now(), "throttled for %s, %d times: %s", since.Round(time.Second), n, throttleCure)
	case recent >= manyThrottles:
		p.say(time.Now(), "throttled %d times in %s: %s", recent, p.pause, throttleCure)
	}
}

const throttleCure = "raise the capacity of the table, or write a lower -rate if the command has it"

// retryer sends a request again after answers that can pass. Without a quota: many throttles in a row are a reason to
// wait, and not to stop.
func (p *patience) retryer(attempts int) aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = attempts, p.longest, ratelimit.None
	})
	if attempts == 1 { // the command measures throttles
		return standard
	}
	return &waiting{standard, p, attempts}
}

// waiting is a retryer that sends throttled requests more often.
type waiting struct {
	*retry.Standard
	p        *patience
	attempts int
}

// MaxAttempts returns the larger number of attempts; IsErrorRetryable and RetryDelay end those of other errors.
func (r *waiting) MaxAttempts() int { return max(r.attempts, throttledAttempts) }

// RetryDelay returns the pause before a request is sent again. The error ends the attempts.
func (r *waiting) RetryDelay(attempt int, err error) (time.Duration, error) {
	if isThrottle(err) {
		r.p.throttled()
	} else if attempt >= r.attempts || attempt >= dialAttempts && isDial(err) {
		return 0, err
	}
	return r.Standard.RetryDelay(attempt, err)
}

// isDial reports whether no connection could be made: the endpoint is wrong, or nothing runs there.
func isDial(err error) bool {
	e := (&net.OpError{})
	return errors.As(err, &e) && e.Op == "dial" || errors.As(err, new(*net.DNSError))
}

// isThrottle reports whether an answer says that requests come too fast.
func isThrottle(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
}

// withCure adds what to do about an error that ends a command, if the error does not say it.
func withCure(err error, text string) string {
	if isThrottle(err) && !strings.Contains(text, throttleCure) {
		return text + ": " + throttleCure
	}
	return text
}
