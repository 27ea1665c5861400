package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// message is a request, which can be sent more than once.
type message struct {
	r    *http.Request
	body []byte
}

func newMessage(r *http.Request, page int32) (*message, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m := &message{r.Clone(context.WithoutCancel(r.Context())), body}
	if page > 0 && m.operation() == "Query" {
		m.limit(page)
	}
	return m, nil
}

// limit makes the answer to a query hold a few items only.
func (m *message) limit(page int32) {
	var in map[string]any
	d := json.NewDecoder(bytes.NewReader(m.body))
	d.UseNumber()
	if d.Decode(&in) != nil || in["Limit"] != nil {
		return
	}
	in["Limit"] = page
	if body, err := json.Marshal(in); err == nil {
		m.body = body
		m.r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	}
}

// operation is the name of the call, as "PutItem".
func (m *message) operation() string {
	return strings.TrimPrefix(m.r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
}

// writes reports whether the request may change something.
func (m *message) writes() bool {
	return !slices.Contains([]string{"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"}, m.operation())
}

// describe shows the call and the sort keys that it names.
func (m *message) describe() string {
	body := string(m.body)
	if len(body) > 700 {
		body = body[:700] + "..."
	}
	return m.operation() + " " + body
}

// send sends the request to the engine, and reads the whole answer.
func (m *message) send(engine http.RoundTripper) (*http.Response, error) {
	r := m.r.Clone(m.r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.body)), int64(len(m.body))
	resp, err := engine.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, err
}

// Do sends a request of the actor. It waits until the run selects it.
func (n *Transport) Do(r *http.Request) (*http.Response, error) {
	m, err := newMessage(r, n.run.Page)
	if err != nil {
		return nil, err
	}
	if n.crashed {
		return nil, errLost
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	n.pending = m
	n.run.ready <- n
	v := <-n.goOn
	if v == throttle || v == conflict {
		n.Refused = true
		return m.refused(v), nil
	}
	n.Faulty = n.Faulty || v != deliver
	switch v {
	case loseRequest, crashBefore, endBefore:
		if m.writes() {
			n.run.late = append(n.run.late, m)
		}
		return nil, n.crash(v)
	}
	if n.Torn && m.operation() == "Query" && v == deliver {
		return n.torn(m)
	}
	resp, err := m.send(n.run.Engine)
	if err == nil {
		n.run.trace(fmt.Sprintf("  -> %d", resp.StatusCode))
	}
	if v != deliver {
		return nil, n.crash(v)
	}
	return resp, err
}

// refused is the answer to a request that the engine refuses without doing anything.
func (m *message) refused(v verdict) *http.Response {
	answer := map[string]any{
		"__type":  "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
		"message": "The level of configured provisioned throughput for the table was exceeded",
	}
	if v == conflict {
		var in struct{ TransactItems []any }
		_ = json.Unmarshal(m.body, &in) // all transactions have them
		reasons := make([]map[string]string, len(in.TransactItems))
		for i := range reasons {
			reasons[i] = map[string]string{"Code": "None"}
		}
		reasons[0] = map[string]string{"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
		answer = map[string]any{
			"__type":              "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
			"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons",
			"CancellationReasons": reasons,
		}
	}
	body, _ := json.Marshal(answer) // texts
	return &http.Response{
		StatusCode: http.StatusBadRequest, Status: "400 Bad Request", Request: m.r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}
}

// torn answers a query in two parts, so that the answer is no snapshot: DynamoDB's queries are
// read-committed. The items up to a key are read before other actors continue, and the others
// afterwards.
func (n *Transport) torn(m *message) (*http.Response, error) {
	_, early, err := n.query(m)
	if err != nil {
		return nil, err
	}
	n.pending = m
	n.run.ready <- n
	switch v := <-n.goOn; v {
	case deliver:
	case throttle, conflict:
		n.Refused = true
		return m.refused(v), nil
	default:
		n.Faulty = true
		return nil, n.crash(v)
	}
	resp, out, err := n.query(m)
	if err != nil {
		return nil, err
	}
	late, _ := out["Items"].([]any)
	before, _ := early["Items"].([]any)
	var keys []string
	for _, a := range slices.Concat(before, late) {
		keys = append(keys, sortKey(a))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if len(keys) > 0 {
		last := keys[n.run.Now()%len(keys)]
		n.run.trace(fmt.Sprintf("  torn behind %s", last))
		late = slices.DeleteFunc(late, func(a any) bool { return sortKey(a) <= last })
		before = slices.DeleteFunc(before, func(a any) bool { return sortKey(a) > last })
	}
	all := append(before, late...)
	if bytes.Contains(m.body, []byte(`"ScanIndexForward":false`)) {
		all = append(late, before...)
	}
	out["Items"], out["Count"], out["ScannedCount"] = all, len(all), len(all)
	body, err := json.Marshal(out)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("X-Amz-Crc32")
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return resp, err
}

// query sends a query, and reads its answer.
func (n *Transport) query(m *message) (*http.Response, map[string]any, error) {
	resp, err := m.send(n.run.Engine)
	if err != nil {
		return nil, nil, err
	}
	n.run.trace(fmt.Sprintf("  -> %d", resp.StatusCode))
	var out map[string]any
	d := json.NewDecoder(resp.Body)
	d.UseNumber()
	if err := d.Decode(&out); err != nil || resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("a query ended with %s, %w", resp.Status, err)
	}
	return resp, out, nil
}

// sortKey is an item's sort key as text, "" for none.
func sortKey(a any) string {
	sk, _ := a.(map[string]any)["SK"].(map[string]any)
	text, _ := sk["S"].(string)
	return text
}

// Think waits between two operations, until the run selects the actor.
func (n *Transport) Think() {
	n.pending = nil
	n.run.ready <- n
	<-n.goOn
}

// crash ends the actor, if it is to crash: nothing of it is sent any more. Or it ends its context. The error is that of
// the request.
func (n *Transport) crash(v verdict) error {
	switch v {
	case crashBefore, crashAfter:
		n.crashed = true
		n.cancel(ErrCrashed)
	case endBefore, endAfter:
		n.cancel(context.Canceled)
		return context.Canceled
	}
	return errLost
}

// Crashed reports whether the actor was made to stop.
func (n *Transport) Crashed() bool { return n.crashed }
