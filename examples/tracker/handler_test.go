package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	ejected "github.com/itemize/itemize/examples/ejected/tracker"
	"github.com/itemize/itemize/examples/tracker/web"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/mapper"
)

// trackers are the tracker on the library, and the one on the code that itemize eject has written. The tests of this
// file run on both.
var trackers = map[string]func(t *testing.T, c mapper.Client, table string) web.Tracker{
	"library": func(t *testing.T, c mapper.Client, table string) web.Tracker { return served{trackerOn(t, c, table)} },
	"ejected": func(_ *testing.T, c mapper.Client, table string) web.Tracker { return ejected.New(c, table) },
}

// eachTracker runs a test for each tracker, with a table of its own.
func eachTracker(t *testing.T, test func(t *testing.T, tr web.Tracker)) {
	t.Helper()
	for name, newTracker := range trackers {
		t.Run(name, func(t *testing.T) {
			test(t, newTracker(t, enginetest.Start(t).Client(), enginetest.Table(t, "PK:S", "SK:S")))
		})
	}
}

// request sends a request to the handler, and returns the status and the decoded answer.
func request(t *testing.T, tr web.Tracker, method, path, body string) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	web.Handler(tr).ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
	}
	return w.Code, out
}

// The handler's answers, and the status of each error.
func TestHandler(t *testing.T) { eachTracker(t, testHandler) }

func testHandler(t *testing.T, tr web.Tracker) {
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // a part of the answer
	}{
		{"GET", "/acme/p", "", 404, `does not exist`},
		{"POST", "/acme/p/tickets", `{"title": "t"}`, 404, `does not exist`},
		{"PUT", "/acme/p/members/ada", `{"role": "lead"}`, 404, `does not exist`},
		{"PUT", "/acme/p", `{"name": "Rockets"}`, 200, `wcu`},
		{"PUT", "/acme/p", `{"name": "Again"}`, 409, `exists`},
		{"PUT", "/acme/p", `{"name": `, 400, `bad request`},
		{"PUT", "/acme/p/members/ada", `{"role": "lead"}`, 200, `wcu`},
		{"POST", "/acme/p/tickets", `{"title": " "}`, 400, `needs a title`},
		{"POST", "/acme/p/tickets", `{"title": "First", "text": "a"}`, 200, `number`},
		{"POST", "/acme/p/tickets", `{"title": "Second", "text": "b"}`, 200, `number`},
		{"PUT", "/acme/p/tickets/1", `{"title": "First!", "text": "aa"}`, 200, `wcu`},
		{"PUT", "/acme/p/tickets/9", `{"title": "none"}`, 404, `does not exist`},
		{
			"PUT", "/acme/p/tickets/1", fmt.Sprintf(`{"title": "large", "text": %q}`, strings.Repeat("x", 500_000)),
			400,
			`Text`,
		},
		{"POST", "/acme/p/tickets/1/comments", `{"author": "ada", "text": "seen"}`, 200, `wcu`},
		{"POST", "/acme/p/tickets/9/comments", `{"author": "ada", "text": "seen"}`, 404, ``},
		{"POST", "/acme/p/tickets/1/labels", `{"add": ["a"], "remove": ["b"]}`, 400, `add labels, or remove some`},
		{"POST", "/acme/p/tickets/9/labels", `{"add": ["a"]}`, 404, ``},
		{"POST", "/acme/p/tickets/1/close", ``, 200, `wcu`},
		{"POST", "/acme/p/tickets/1/close", ``, 409, `State = ?`},
		{"POST", "/acme/p/tickets/9/close", ``, 404, ``},
		{"GET", "/acme/p/tickets/x", ``, 400, `is not the number of a ticket`},
		{"GET", "/acme/p/tickets/1", ``, 200, `seen`},
		{"GET", "/acme/p/tickets?limit=1", ``, 200, `Second`},
		{"GET", "/acme/p/tickets?limit=0", ``, 400, `limit`},
		{"GET", "/acme/p/tickets?after=nonsense", ``, 400, `cursor`},
		{"GET", "/acme/p", ``, 200, `"Open":1`},
	} {
		code, out := request(t, tr, c.method, c.path, c.body)
		text, _ := json.Marshal(out)
		text = bytes.ReplaceAll(text, []byte(`\"`), []byte(`"`))
		if code != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, code, text, c.status, c.want)
		}
	}
	if _, err := tr.CreateProject(context.Background(), "", "p", "no tenant"); err == nil || tr.Status(err) != 400 {
		t.Error(err)
	}
}

// Concurrent requests never get the same number.
func TestNumbers(t *testing.T) { eachTracker(t, testNumbers) }

func testNumbers(t *testing.T, tr web.Tracker) {
	ctx := context.Background()
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	numbers := map[int]bool{}
	for i := range 8 {
		wg.Go(func() {
			n, err := tr.OpenTicket(ctx, "acme", "p", fmt.Sprint(i), "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil || numbers[n] {
				t.Errorf("%d: %v", n, err)
			}
			numbers[n] = true
		})
	}
	wg.Wait()
	_, p := request(t, tr, "GET", "/acme/p", "")
	if counters, ok := p["Counters"].(map[string]any); !ok || counters["Open"] != 8.0 || length(p["Activity"]) != 8 {
		t.Error(p)
	}
}

// length is the length of a list of an answer.
func length(of any) int {
	list, _ := of.([]any)
	return len(list)
}

// losing is a client that loses the answer of one write that was applied.
type losing struct {
	mapper.Client
	lose bool
}

func (c *losing) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.Client.UpdateItem(ctx, in, o...)
	if c.lose && err == nil {
		c.lose = false
		return nil, errors.New("connection reset")
	}
	return out, err
}

// A lost answer is a 503, and a load shows whether the write was applied.
func TestLostAnswer(t *testing.T) {
	for name, newTracker := range trackers {
		t.Run(name, func(t *testing.T) {
			c := &losing{Client: enginetest.Start(t).Client()}
			testLostAnswer(t, c, newTracker(t, c, enginetest.Table(t, "PK:S", "SK:S")))
		})
	}
}

func testLostAnswer(t *testing.T, c *losing, tr web.Tracker) {
	ctx := context.Background()
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.OpenTicket(ctx, "acme", "p", "t", ""); err != nil {
		t.Fatal(err)
	}
	c.lose = true
	if code, out := request(t, tr, "PUT", "/acme/p/tickets/1",
		`{"title": "new", "text": ""}`); code != http.StatusServiceUnavailable && code != http.StatusOK {
		t.Error(code, out)
	}
	if _, ticket := request(t, tr, "GET", "/acme/p/tickets/1", ""); ticket["Title"] != "new" {
		t.Error(ticket)
	}
}

// A list is charged for the heads, and not for the texts.
func TestRootOnlyQueriesAreCheap(t *testing.T) { eachTracker(t, testRootOnlyQueriesAreCheap) }

func testRootOnlyQueriesAreCheap(t *testing.T, tr web.Tracker) {
	ctx := context.Background()
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	for i := range 80 {
		if _, err := tr.OpenTicket(ctx, "acme", "p", fmt.Sprint(i), strings.Repeat("x", 20_000)); err != nil {
			t.Fatal(err)
		}
	}
	page, err := tr.Tickets(ctx, "acme", "p", 2, "")
	if err != nil || len(page.Tickets) != 2 || page.RCU > 1 {
		t.Errorf("%+v: %v", page, err)
	}
}

// A cursor continues a list in another process: this test runs itself again.
func TestCursorsAcrossProcesses(t *testing.T) {
	if after, ok := os.LookupEnv("TRACKER_TEST_CURSOR"); ok {
		continueList(t, after)
		return
	}
	for name := range trackers {
		t.Run(name, func(t *testing.T) { testCursorsAcrossProcesses(t, name) })
	}
}

func testCursorsAcrossProcesses(t *testing.T, name string) {
	ctx := context.Background()
	engine, table := enginetest.Start(t), enginetest.Table(t, "PK:S", "SK:S")
	tr := trackers[name](t, engine.Client(), table)
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := tr.OpenTicket(ctx, "acme", "p", fmt.Sprint(i), ""); err != nil {
			t.Fatal(err)
		}
	}
	code, out := request(t, tr, "GET", "/acme/p/tickets?limit=3", "")
	if code != 200 || out["next"] == "" {
		t.Fatal(code, out)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCursorsAcrossProcesses$", "-test.v")
	cmd.Env = append(os.Environ(), "TRACKER_TEST_CURSOR="+out["next"].(string), "TRACKER_TEST_TABLE="+table,
		"TRACKER_TEST_NAME="+name, "DYNAMODB_ENDPOINT="+engine.Endpoint)
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "rest: [2 1]") {
		t.Errorf("%v\n%s", err, text)
	}
}

func continueList(t *testing.T, after string) {
	tr := trackers[os.Getenv("TRACKER_TEST_NAME")](t, enginetest.Start(t).Client(), os.Getenv("TRACKER_TEST_TABLE"))
	code, out := request(t, tr, "GET", "/acme/p/tickets?after="+after, "")
	var rest []any
	if code == 200 {
		for _, x := range out["tickets"].([]any) {
			rest = append(rest, x.(map[string]any)["Number"])
		}
	}
	t.Log("rest:", rest, code)
}

// Labels are a set: they are added and removed without a read.
func TestLabels(t *testing.T) { eachTracker(t, testLabels) }

func testLabels(t *testing.T, tr web.Tracker) {
	ctx := context.Background()
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.OpenTicket(ctx, "acme", "p", "t", ""); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"add": ["a", "b"]}`, `{"add": ["c"]}`, `{"remove": ["a"]}`} {
		if code, out := request(t, tr, "POST", "/acme/p/tickets/1/labels", body); code != 200 {
			t.Fatal(code, out)
		}
	}
	if _, ticket := request(t, tr, "GET", "/acme/p/tickets/1", ""); length(ticket["Labels"]) != 2 {
		t.Error(ticket)
	}
}
