package integration

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The engine that is found answers, and stops when asked: no test leaves one behind.
func TestStartAndStop(t *testing.T) {
	ctx := context.Background()
	e, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.CreateTable(ctx, "start-and-stop", "PK:S", "SK:N"); err != nil {
		t.Error(err)
	}
	e.Stop()
	if e.Name == External {
		return // it is somebody else's, and goes on
	}
	_, err = e.Client(func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }).ListTables(ctx, &dynamodb.ListTablesInput{})
	if err == nil {
		t.Error("the engine still answers")
	}
}

// What the engines report is what the tests that compare capacity go by.
func TestTraits(t *testing.T) {
	ctx := context.Background()
	e, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	got, err := e.Traits()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Traits{Local: {}, Docker: {}, Dynoxide: {Transactions: true, Misses: true}}
	if w, known := want[e.Name]; known && got != w {
		t.Errorf("%s: %+v; want %+v", e.Name, got, w)
	}
}

// An unknown name says which there are.
func TestUnknownEngine(t *testing.T) {
	_, err := StartNamed(context.Background(), "mysql")
	if err == nil || !strings.Contains(err.Error(), `unknown engine "mysql" in ITEMIZE_ENGINE: write dynamodb-local, dynoxide or docker`) {
		t.Error(err)
	}
}

// What is half fetched is never taken for whole, and two that fetch get one.
func TestFetch(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	calls := 0
	get := func(fail bool) func(string) error {
		return func(dir string) error {
			calls++
			if err := os.WriteFile(dir+"/file", nil, 0o666); err != nil || !fail {
				return err
			}
			return os.ErrDeadlineExceeded
		}
	}
	if _, err := fetch("thing", "a thing", get(true)); err == nil {
		t.Error("a failed fetch succeeded")
	}
	if cached("thing") != "" {
		t.Error("a failed fetch was kept")
	}
	for range 2 {
		if _, err := fetch("thing", "a thing", get(false)); err != nil {
			t.Error(err)
		}
	}
	if calls != 2 {
		t.Errorf("fetched %d times", calls)
	}
}
