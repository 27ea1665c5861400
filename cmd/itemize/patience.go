package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// patience is the one policy of all commands for answers that are slow, lost or throttled. It sends requests, and
// prints a line for each pause in which no answer arrives.
type patience struct {
	client aws.HTTPClient
	note   func(text string)
	// pause is the time without an answer after which a line is printed, and lost the time after which a request
	// counts as lost, and is sent again.
	pause, lost time.Duration
	// longest is the longest time before a request is sent again, and outage how long a command waits for a
	// connection that it had before.
	longest, outage time.Duration
	// streams reports that bodies are read as they arrive, and not as a whole. cure says what to do about throttles.
	streams bool
	cure    string
	// reached reports that a request was answered.
	reached atomic.Bool

	mu sync.Mutex
	// printed is the time of the last line, and first that of the first throttle since the last other answer.
	printed, first time.Time
	throttles      int
	// recent are the throttles since counted, which is at most a pause ago.
	recent  int
	counted time.Time
}

// patience returns the policy with its usual times.
func (c *command) patience() *patience {
	p := &patience{note: c.note, pause: 30 * time.Second, longest: maxPause, outage: maxOutage, cure: throttleCure}
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
	stop := p.watch("no answer from " + r.URL.Host)
	out, err := p.client.Do(r)
	stop()
	if err != nil {
		return nil, &failed{callIn(r.Context()), err}
	}
	p.reached.Store(true)
	out.Body = &arriving{ReadCloser: out.Body, p: p, host: r.URL.Host}
	if !p.streams {
		if err = whole(out); err != nil {
			return nil, &failed{callIn(r.Context()), err}
		}
	}
	if out.StatusCode < http.StatusBadRequest {
		p.mu.Lock()
		p.throttles = 0
		p.mu.Unlock()
	}
	return out, nil
}

// whole reads the body of an answer, which has a few megabytes at most.
func whole(out *http.Response) error {
	content, err := io.ReadAll(out.Body)
	if e := out.Body.Close(); err == nil {
		err = e
	}
	out.Body = io.NopCloser(bytes.NewReader(content))
	return err
}

// arriving is the body of an answer. A read is an error if no byte arrives for the time after which a request counts as
// lost.
type arriving struct {
	io.ReadCloser
	p    *patience
	host string
}

func (a *arriving) Read(b []byte) (int, error) {
	var stalled atomic.Bool
	stop := a.p.watch("no further part of the answer of " + a.host)
	late := time.AfterFunc(a.p.lost, func() {
		stalled.Store(true)
		_ = a.Close() // which ends the read
	})
	n, err := a.ReadCloser.Read(b)
	stop()
	late.Stop()
	if stalled.Load() {
		return n, silence{}
	}
	return n, err
}

// silence is the error of an answer that stopped in its middle. The SDK sends the request again after a timeout.
type silence struct{}

func (silence) Error() string   { return "the answer stopped in its middle" }
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

// watch prints a line after a pause in which no answer, or no part of one, has arrived, until stop is called.
func (p *patience) watch(missing string) (stop func()) {
	from, ended := time.Now(), make(chan struct{})
	go func() {
		for wait := p.pause; ; wait = p.pause / 2 { // again if another line was printed just before
			select {
			case <-ended:
				return
			case <-time.After(wait):
			}
			if p.say("%s for %s: it counts as lost after %s", missing, time.Since(from).Round(p.pause/30), p.lost) {
				return
			}
		}
	}()
	return func() { close(ended) }
}

// say prints a line, and reports whether it did: not if one was printed less than a pause ago.
func (p *patience) say(format string, args ...any) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.printed) < p.pause {
		return false
	}
	p.printed = time.Now()
	p.note(fmt.Sprintf(format, args...))
	return true
}

// throttled notes a throttled answer.
func (p *patience) throttled() {
	p.mu.Lock()
	if p.throttles == 0 {
		p.first = time.Now()
	}
	p.throttles++
	since, n := time.Since(p.first), p.throttles
	if time.Since(p.counted) > p.pause {
		p.counted, p.recent = time.Now(), 0
	}
	p.recent++
	recent := p.recent
	p.mu.Unlock()
	switch {
	case since >= p.pause:
		p.say("throttled for %s, %d times: %s", since.Round(time.Second), n, p.cure)
	case recent >= manyThrottles:
		p.say("throttled %d times in %s: %s", recent, p.pause, p.cure)
	}
}
