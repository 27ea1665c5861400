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

	"github.com/itemize/itemize/integration/enginetest"
)

// The tests of this file are the same in examples/tracker and examples/ejected: TestEjected compares them.

// request sends a request to the handler, and returns the status and the decoded answer.
func request(t *testing.T, tr *Tracker, method, path, body string) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	tr.Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
	}
	return w.Code, out
}

// The handler's answers, and the status of each error.
func TestHandler(t *testing.T) {
	tr := newTracker(t)
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
	if _, err := tr.CreateProject(context.Background(), "", "p", "no tenant"); status(err) != 400 {
		t.Error(err)
	}
}

// Concurrent requests never get the same number.
func TestNumbers(t *testing.T) {
	ctx := context.Background()
	tr := newTracker(t)
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	numbers := map[int]bool{}
	for i := range 8 {
		wg.Go(func() {
			n, _, err := tr.OpenTicket(ctx, "acme", "p", fmt.Sprint(i), "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil || numbers[n] {
				t.Errorf("%d: %v", n, err)
			}
			numbers[n] = true
		})
	}
	wg.Wait()
	p, err := tr.Project(ctx, "acme", "p")
	if err != nil || p.Counters.Open != 8 || len(p.Activity) != 8 {
		t.Errorf("%+v, %v", p, err)
	}
}

// losing is a client that loses the answer of one write that was applied.
type losing struct {
	client
	lose bool
}

func (c *losing) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.client.UpdateItem(ctx, in, o...)
	if c.lose && err == nil {
		c.lose = false
		return nil, errors.New("connection reset")
	}
	return out, err
}

// A lost answer is a 503, and a load shows whether the write was applied.
func TestLostAnswer(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	c := &losing{client: enginetest.Start(t).Client()}
	tr := trackerOn(t, c, table)
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tr.OpenTicket(ctx, "acme", "p", "t", ""); err != nil {
		t.Fatal(err)
	}
	c.lose = true
	if code, out := request(t, tr, "PUT", "/acme/p/tickets/1",
		`{"title": "new", "text": ""}`); code != http.StatusServiceUnavailable && code != http.StatusOK {
		t.Error(code, out)
	}
	ticket, err := tr.Ticket(ctx, At{"acme", "p", 1})
	if err != nil || ticket.Title != "new" {
		t.Errorf("%+v, %v", ticket, err)
	}
}

// A list is charged for the heads, and not for the texts.
func TestRootOnlyQueriesAreCheap(t *testing.T) {
	ctx := context.Background()
	tr := newTracker(t)
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	for i := range 80 {
		if _, _, err := tr.OpenTicket(ctx, "acme", "p", fmt.Sprint(i), strings.Repeat("x", 20_000)); err != nil {
			t.Fatal(err)
		}
	}
	page, err := tr.Tickets(ctx, "acme", "p", 2, "")
	if err != nil || len(page.Items) != 2 || page.RCU > 1 {
		t.Errorf("%d heads for %v RCU: %v", len(page.Items), page.RCU, err)
	}
}

// A cursor continues a list in another process: this test runs itself again.
func TestCursorsAcrossProcesses(t *testing.T) {
	ctx := context.Background()
	if after, ok := os.LookupEnv("TRACKER_TEST_CURSOR"); ok {
		continueList(t, after)
		return
	}
	engine, table := enginetest.Start(t), enginetest.Table(t, "PK:S", "SK:S")
	tr := trackerOn(t, engine.Client(), table)
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, _, err := tr.OpenTicket(ctx, "acme", "p", fmt.Sprint(i), ""); err != nil {
			t.Fatal(err)
		}
	}
	code, out := request(t, tr, "GET", "/acme/p/tickets?limit=3", "")
	if code != 200 || out["next"] == "" {
		t.Fatal(code, out)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCursorsAcrossProcesses$", "-test.v")
	cmd.Env = append(os.Environ(), "TRACKER_TEST_CURSOR="+out["next"].(string), "TRACKER_TEST_TABLE="+table,
		"DYNAMODB_ENDPOINT="+engine.Endpoint)
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "rest: [2 1]") {
		t.Errorf("%v\n%s", err, text)
	}
}

func continueList(t *testing.T, after string) {
	tr := trackerOn(t, enginetest.Start(t).Client(), os.Getenv("TRACKER_TEST_TABLE"))
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
func TestLabels(t *testing.T) {
	ctx := context.Background()
	tr := newTracker(t)
	if _, err := tr.CreateProject(ctx, "acme", "p", "P"); err != nil {
		t.Fatal(err)
	}
	n, _, err := tr.OpenTicket(ctx, "acme", "p", "t", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2][]string{{{"a", "b"}, nil}, {{"c"}, nil}, {nil, {"a"}}} {
		if _, err := tr.Label(ctx, At{"acme", "p", n}, c[0], c[1]); err != nil {
			t.Fatal(err)
		}
	}
	if ticket, err := tr.Ticket(ctx, At{"acme", "p", n}); err != nil || len(ticket.Labels) != 2 {
		t.Errorf("%+v, %v", ticket, err)
	}
}
