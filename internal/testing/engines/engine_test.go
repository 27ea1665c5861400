package engines_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// The engine that is found answers, and stops when asked: no test leaves one behind.
func TestStartAndStop(t *testing.T) {
	ctx := context.Background()
	testengine.Need(t)
	e, err := engines.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.CreateTable(ctx, "start-and-stop", "PK:S", "SK:N"); err != nil {
		t.Error(err)
	}
	e.Stop()
	if e.Name == engines.External {
		return // another program started it, and it continues
	}
	_, err = e.Client(func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }).ListTables(ctx, &dynamodb.ListTablesInput{})
	if err == nil {
		t.Error("the engine still answers")
	}
}

// The engines have the traits on which tests that compare capacity rely.
func TestTraits(t *testing.T) {
	e := testengine.Start(t)
	got, err := e.Traits()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]engines.Traits{
		engines.Local:  {Capacity: true, ARNs: true},
		engines.Docker: {Capacity: true, ARNs: true}, engines.Dynoxide: {
			Capacity: true, Transactions: true,
			Misses: true,
		},
	}
	if w, found := want[e.Name]; found && got != w {
		t.Errorf("%s: %+v; want %+v", e.Name, got, w)
	}
}

// An unknown name says which there are.
func TestUnknownEngine(t *testing.T) {
	_, err := engines.StartNamed(context.Background(), "mysql")
	if err == nil || !strings.Contains(err.Error(),
		`unknown engine "mysql" in ITEMIZE_ENGINE: write dynamodb-local, dynoxide, docker or minidyn`) {
		t.Error(err)
	}
}

func TestEndpointIsURL(t *testing.T) {
	t.Setenv("DYNAMODB_ENDPOINT", "localhost:8000")
	if _, err := engines.StartFull(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "write it with its scheme, as in http://localhost:8000") {
		t.Errorf("%v", err)
	}
}
