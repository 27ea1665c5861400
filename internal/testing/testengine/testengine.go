// Package testengine gives tests a running DynamoDB engine: one for each test
// binary, found or started as package integration says.
package testengine

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
)

var (
	mu     sync.Mutex
	engine *engines.Engine
	failed error
	tables atomic.Int64
)

// Run runs a package's tests and stops the engine that they may have started. It
// is the whole of a TestMain. Under -short it skips examples: they have no test that
// could be skipped, and most need an engine.
func Run(m *testing.M) {
	flag.Parse()
	if skip := flag.Lookup("test.skip"); testing.Short() && skip.Value.String() == "" {
		_ = skip.Value.Set("^Example")
	}
	// Most tests wait for the engine: more of them at a time than there are processors.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0)))
	}
	code := m.Run()
	engine.Stop()
	gateway.Stop()
	os.Exit(code)
}

// A Trait is something that a test may need of the engine.
type Trait string

// The traits.
const (
	// Capacity means that the engine reports consumed capacity.
	Capacity Trait = "consumed capacity"
	// Transactions means that it reports the units of transactions as DynamoDB does.
	Transactions Trait = "the units of transactions"
)

// Start returns the engine of this test binary. It starts the engine at the first call, as
// [engines.StartFull] does. Under -short it skips the test. Without an engine the test
// fails: behavior is shown on a real engine only.
func Start(t testing.TB) *engines.Engine {
	t.Helper()
	return Need(t)
}

// Need is [Start] for a test that needs traits. If the engine lacks one, the test fails.
func Need(t testing.TB, traits ...Trait) *engines.Engine {
	t.Helper()
	skipIfShort(t, "a DynamoDB engine")
	e, err := Get()
	if err != nil {
		t.Fatalf("%v, or run go test -short to skip such tests", err)
	}
	if e.Name == engines.External {
		draws.With(t, "DYNAMODB_ENDPOINT", e.Endpoint)
	} else {
		draws.With(t, "ITEMIZE_ENGINE", e.Name)
	}
	if len(traits) == 0 {
		return e
	}
	has, err := e.Traits()
	if err != nil {
		t.Fatal(err)
	}
	for _, trait := range traits {
		if trait == Capacity && !has.Capacity || trait == Transactions && !has.Transactions {
			t.Fatalf("engine %s does not report %s: run with ITEMIZE_ENGINE=dynoxide", e.Name, trait)
		}
	}
	return e
}

// skipIfShort is the only place where a test of this repository is skipped.
func skipIfShort(t testing.TB, need string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("needs %s: run without -short", need)
	}
}

// Get is [Start] for examples, which have no test to fail.
func Get() (*engines.Engine, error) {
	mu.Lock()
	defer mu.Unlock()
	if engine == nil && failed == nil {
		engine, failed = engines.StartFull(context.Background())
		if failed == nil {
			fmt.Fprintln(os.Stderr, "itemize: testing on", engine.Name, "at", engine.Endpoint)
		}
	}
	return engine, failed
}

// Table creates a table with a name of its own and returns that. Key attributes
// are written with their types, as "PK:S"; the sort key is "" for none.
func Table(t testing.TB, hash, sort string) string {
	t.Helper()
	base := strings.Map(func(r rune) rune {
		if r > 127 || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", r) {
			return '_'
		}
		return r
	}, t.Name())
	// The process is in the name because an engine that runs already may serve several.
	name := fmt.Sprintf("%.200s.%d.%d", base, os.Getpid(), tables.Add(1))
	e := Start(t)
	if err := e.CreateTable(context.Background(), name, hash, sort); err != nil {
		t.Fatal(err)
	}
	// DynamoDB Local looks for expired items in all tables, all the time: hundreds of tables take half of its time.
	t.Cleanup(func() { _ = e.DeleteTable(context.Background(), name) })
	return name
}

// ReportsTransactions reports whether the engine reports the capacity of
// transactions as DynamoDB does. DynamoDB Local does not (docs/engines.md): there
// predicted units are not compared.
func ReportsTransactions(t testing.TB) bool { return traits(t).Transactions }

// ReportsMisses reports whether the engine reports the capacity of missing keys and
// empty answers as DynamoDB does; DynamoDB Local reports none.
func ReportsMisses(t testing.TB) bool { return traits(t).Misses }

// TakesARNs reports whether requests to the engine may name a table by its ARN.
func TakesARNs(t testing.TB) bool { return traits(t).ARNs }

func traits(t testing.TB) engines.Traits {
	t.Helper()
	tr, err := Start(t).Traits()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
