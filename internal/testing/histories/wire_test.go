package histories

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/mapper"
)

// fault is the fault of a request.
type fault int

const (
	none fault = iota
	lostRequest
	lostAnswer
	late      // the request is lost, and arrives later
	copied    // the answer is lost, and a copy of the request arrives later
	throttled // DynamoDB refuses it for its throughput
	conflict  // DynamoDB refuses it because of a transaction
	failed    // DynamoDB fails, and does nothing
	failedLate
	endBefore // the context ends before the request
	endAfter
	unprocessed // the answer to a batch has nothing
	meddled     // another writer writes before the request
	faults
)

var faultNames = [...]string{
	"", "request lost", "answer lost", "late", "copied", "throttled", "conflict", "failed", "failed late",
	"ends before", "ends after", "unprocessed", "meddled",
}

var errLost = errors.New("connection reset by the history")

// most is how many requests one call may send.
const most = 400

// wire sends the requests of a history one after the other, and records them.
type wire struct {
	engine http.RoundTripper
	record bytes.Buffer
	rename *strings.Replacer
	page   int
	// sent counts the requests of the history.
	sent int
	// faults are those of the next requests, by the number of the request. Other writers meet none.
	faults    map[int]fault
	meddle    func()
	meddling  bool
	late      []delayed
	end       context.CancelFunc
	sinceCall int
	// unordered reports that requests come in any order, without faults.
	unordered bool
	mu        sync.Mutex
	// numbers are those of the random texts so far.
	numbers map[string]string
	// waited is the time between calls.
	waited time.Duration
}

// delayed is a request that arrives before the request with a number.
type delayed struct {
	*call
	before int
}

// call is a request, which can be sent more than once.
type call struct {
	r         *http.Request
	operation string
	body      []byte
}

// Now is the time of a history: four requests take a second.
func (w *wire) Now() time.Time { return begin.Add(w.waited + time.Duration(w.sent/4)*time.Second) }

func (w *wire) note(text string) {
	indent := ""
	if w.meddling {
		indent = "  "
	}
	text = ofEngine.ReplaceAllString(strings.ReplaceAll(w.rename.Replace(text), "\n", `\n`), "ENGINE")
	w.record.WriteString(indent + random.ReplaceAllStringFunc(text, w.number) + "\n")
}

// random matches random texts: versions and incarnations, tokens and ids, and the name of a bulk load.
var random = regexp.MustCompile(`"[A-Za-z0-9+/]{11}="|\b[0-9A-Z]{26}\b|\b[0-9a-f]{16}\b`)

// ofEngine matches texts of the engine that differ in each run.
var ofEngine = regexp.MustCompile(`RequestID: [^,]*|127\.0\.0\.1:[0-9]+`)

// number returns the number of a random text, in the order of their appearance.
func (w *wire) number(text string) string {
	if w.numbers[text] == "" {
		w.numbers[text] = fmt.Sprintf("<random %d>", len(w.numbers)+1)
		if strings.HasPrefix(text, `"`) {
			w.numbers[text] = `"` + w.numbers[text] + `"`
		}
	}
	return w.numbers[text]
}

// Do sends a request of the history.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if w.unordered {
		w.mu.Lock()
		defer w.mu.Unlock()
	}
	c, err := w.read(r)
	if err != nil {
		return nil, err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	f := w.next()
	if w.sinceCall++; w.sinceCall > most {
		w.end()
		return nil, context.Canceled
	}
	w.note(fmt.Sprintf("%s %s", c.operation, canonical(c.body)))
	if f != none {
		w.note("! " + faultNames[f])
	}
	return w.deliver(c, f)
}

// next returns the fault of the next request, after late requests and those of another writer.
func (w *wire) next() fault {
	n := w.sent
	w.sent++
	w.arrive(n)
	f := none
	if !w.meddling {
		f = w.faults[n]
	}
	if f == meddled {
		count := w.sinceCall
		w.meddling = true
		w.meddle()
		w.meddling, w.sinceCall = false, count
	}
	return f
}

// inAnyOrder makes a call whose requests are sent in parallel, and records them sorted.
func (w *wire) inAnyOrder(ctx context.Context, do func(context.Context)) {
	w.faults = nil
	w.arrive(w.sent + most)
	start := w.record.Len()
	w.unordered = true
	do(ctx)
	w.unordered = false
	lines := strings.SplitAfter(w.record.String()[start:], "\n")
	slices.Sort(lines)
	w.record.Truncate(start)
	w.record.WriteString(strings.Join(lines, ""))
}

// arrive delivers late requests.
func (w *wire) arrive(n int) {
	rest := w.late[:0]
	for _, d := range w.late {
		if d.before > n {
			rest = append(rest, d)
			continue
		}
		resp, err := d.send(w.engine)
		w.note(fmt.Sprint("! arrives: ", d.operation, " ", status(resp, err)))
	}
	w.late = rest
}

func status(resp *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(resp.StatusCode)
}

func (w *wire) read(r *http.Request) (*call, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	return &call{r.Clone(context.WithoutCancel(r.Context())), operation, body}, nil
}

func (w *wire) deliver(c *call, f fault) (*http.Response, error) {
	switch f {
	case lostRequest:
		return nil, errLost
	case late:
		w.late = append(w.late, delayed{c, w.sent + 2})
		return nil, errLost
	case endBefore:
		w.end()
		return nil, context.Canceled
	case throttled:
		return c.answer(http.StatusBadRequest, refusal("ProvisionedThroughputExceededException")), nil
	case conflict:
		return c.answer(http.StatusBadRequest, c.conflict()), nil
	case failed:
		return c.answer(http.StatusInternalServerError, refusal("InternalServerError")), nil
	case unprocessed:
		if answer := c.unprocessed(); answer != nil {
			return c.answer(http.StatusOK, answer), nil
		}
	}
	resp, err := c.page(w.page).send(w.engine)
	if err != nil {
		return nil, err
	}
	switch f {
	case lostAnswer:
		return nil, errLost
	case copied:
		w.late = append(w.late, delayed{c, w.sent + 3})
		return nil, errLost
	case failedLate:
		return c.answer(http.StatusInternalServerError, refusal("InternalServerError")), nil
	case endAfter:
		w.end()
		return nil, context.Canceled
	}
	w.note(fmt.Sprint("-> ", resp.StatusCode))
	return resp, nil
}

// send sends the request to the engine, and reads the whole answer.
func (c *call) send(engine http.RoundTripper) (*http.Response, error) {
	r := c.r.Clone(c.r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	resp, err := engine.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, err
}

// renewed sends requests to the engine, which remembers the tokens of transactions: each run of a history has its own.
type renewed struct{ run int }

func (e renewed) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body = token.ReplaceAll(body, fmt.Appendf(nil, `${1}%d-`, e.run))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return http.DefaultTransport.RoundTrip(r)
}

// token matches the beginning of a token of a transaction.
var token = regexp.MustCompile(`("ClientRequestToken":")`)

// page makes the answer to a query hold a few items only, 0 for any number.
func (c *call) page(limit int) *call {
	if limit == 0 || c.operation != "Query" || bytes.Contains(c.body, []byte(`"Limit"`)) {
		return c
	}
	body := append([]byte(fmt.Sprintf(`{"Limit":%d,`, limit)), c.body[1:]...)
	limited := &call{c.r.Clone(c.r.Context()), c.operation, body}
	limited.r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return limited
}

func (c *call) answer(status int, content any) *http.Response {
	body, _ := json.Marshal(content) // texts
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: c.r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}
}

func refusal(name string) any {
	return map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + name, "message": "by the history"}
}

// conflict is the answer to a request that meets a transaction.
func (c *call) conflict() any {
	if c.operation != "TransactWriteItems" && c.operation != "TransactGetItems" {
		return refusal("TransactionConflictException")
	}
	var in struct{ TransactItems []any }
	_ = json.Unmarshal(c.body, &in) // all transactions have them
	reasons := make([]map[string]string, len(in.TransactItems))
	for i := range reasons {
		reasons[i] = map[string]string{"Code": "None"}
	}
	reasons[0] = map[string]string{"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
	return map[string]any{
		"__type":              "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
		"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons",
		"CancellationReasons": reasons,
	}
}

// unprocessed is the answer to a batch of which nothing was done, nil for another request.
func (c *call) unprocessed() any {
	var in struct{ RequestItems any }
	_ = json.Unmarshal(c.body, &in) // requests of the SDK
	switch c.operation {
	case "BatchGetItem":
		return map[string]any{"Responses": map[string]any{}, "UnprocessedKeys": in.RequestItems}
	case "BatchWriteItem":
		return map[string]any{"UnprocessedItems": in.RequestItems}
	}
	return nil
}

// canonical returns a body with sorted names, because the SDK writes maps in random order. Long texts are their hashes.
func canonical(body []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "no JSON: " + string(body)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(short(v)) // as decoded
	return strings.TrimSpace(b.String())
}

func short(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = short(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = short(v[name])
		}
	case string:
		if len(v) > 300 && !strings.Contains(v, " ") { // no expression
			return fmt.Sprintf("%.20s... %d %.6x", v, len(v), sha256.Sum256([]byte(v)))
		}
	}
	return v
}

// client returns a client of the wire that sends a request so often. Unwatched clients do not pass on the options of
// calls.
func (w *wire) client(base func(...func(*dynamodb.Options)) *dynamodb.Client, attempts int,
	unwatched bool,
) mapper.Client {
	c := base(func(o *dynamodb.Options) {
		o.HTTPClient = w
		o.Retryer = noLimit{retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = attempts
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		})}
	})
	if unwatched {
		return unwatchedClient{c}
	}
	return c
}

type noLimit struct{ aws.Retryer }

func (noLimit) GetRetryToken(context.Context, error) (func(error) error, error) {
	return func(error) error { return nil }, nil
}

func (noLimit) GetInitialToken() func(error) error { return func(error) error { return nil } }

// unwatchedClient is a client that does not pass on the options of writes.
type unwatchedClient struct{ *dynamodb.Client }

func (c unwatchedClient) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return c.Client.PutItem(ctx, in)
}

func (c unwatchedClient) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return c.Client.UpdateItem(ctx, in)
}

func (c unwatchedClient) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return c.Client.DeleteItem(ctx, in)
}

func (c unwatchedClient) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return c.Client.TransactWriteItems(ctx, in)
}
