package patterns

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Transport passes requests to an engine. It can record its answers and replay them without delay, so
// that only the program is timed.
type Transport struct {
	mu     sync.Mutex
	mode   Mode
	notes  map[string][]noted // by operation
	at     map[string]int
	Counts Counts
}

// Mode is the mode of a transport.
type Mode int

// The modes. Count asks for the consumed capacity of each request, and counts.
const (
	Pass Mode = iota
	Note
	Count
	Again
)

// Counts are the requests and bytes of a job.
type Counts struct {
	Requests       int
	Sent, Received int // bytes of bodies
	WCU, RCU       float64
}

type noted struct {
	header http.Header
	body   []byte
}

// Set sets the mode; Note discards earlier answers.
func (t *Transport) Set(m Mode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mode = m
	switch m {
	case Note:
		t.notes, t.at = map[string][]noted{}, map[string]int{}
	case Count:
		t.Counts = Counts{}
	}
}

// Do is described at http.Client.
func (t *Transport) Do(r *http.Request) (*http.Response, error) {
	op := operation(r)
	t.mu.Lock()
	mode := t.mode
	if mode == Again {
		n := t.notes[op][t.at[op]%len(t.notes[op])]
		t.at[op]++
		t.mu.Unlock()
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return &http.Response{
			StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: n.header,
			Body: io.NopCloser(bytes.NewReader(n.body)), ContentLength: int64(len(n.body)), Request: r,
		}, nil
	}
	t.mu.Unlock()
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	asked := sent
	if mode == Count && !strings.Contains(string(sent), `"ReturnConsumedCapacity"`) {
		asked = append([]byte(`{"ReturnConsumedCapacity":"TOTAL",`), sent[1:]...)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(asked)), int64(len(asked))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	t.mu.Lock()
	defer t.mu.Unlock()
	switch mode {
	case Note:
		t.notes[op] = append(t.notes[op], noted{resp.Header, body})
	case Count:
		t.count(op, len(sent), body)
	}
	return resp, nil
}

func operation(r *http.Request) string {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return op
}

// count adds what a request took.
func (t *Transport) count(op string, sent int, body []byte) {
	type capacity struct{ CapacityUnits float64 }
	var answer struct{ ConsumedCapacity json.RawMessage }
	_ = json.Unmarshal(body, &answer)
	var several []capacity
	if json.Unmarshal(answer.ConsumedCapacity, &several) != nil {
		var one capacity
		_ = json.Unmarshal(answer.ConsumedCapacity, &one)
		several = []capacity{one}
	}
	units := 0.0
	for _, c := range several {
		units += c.CapacityUnits
	}
	c := &t.Counts
	c.Requests, c.Sent, c.Received = c.Requests+1, c.Sent+sent, c.Received+len(body)
	if op == "Query" || op == "Scan" || strings.Contains(op, "Get") {
		c.RCU += units
	} else {
		c.WCU += units
	}
}
