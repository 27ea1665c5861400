// Package enginetest gives tests a running DynamoDB engine: one for each test
// binary, found or started as package integration says.
package enginetest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/itemize/itemize/integration"
)

var (
	mu     sync.Mutex
	engine *integration.Engine
	failed error
	tables atomic.Int64
)

// Run runs a package's tests and stops the engine that they may have started. It
// is the whole of a TestMain.
func Run(m *testing.M) {
	code := m.Run()
	engine.Stop()
	gateway.Stop()
	os.Exit(code)
}

// Start returns the engine of this test binary, starting it at first. A test that
// finds none fails: behaviour is only shown on a real engine.
func Start(t testing.TB) *integration.Engine {
	t.Helper()
	e, err := Get()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Get is Start for examples, which have no test to fail.
func Get() (*integration.Engine, error) {
	mu.Lock()
	defer mu.Unlock()
	if engine == nil && failed == nil {
		engine, failed = integration.Start(context.Background())
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
		if strings.ContainsRune("/# ,", r) || r > 127 {
			return '_'
		}
		return r
	}, t.Name())
	name := fmt.Sprintf("%.200s.%d", base, tables.Add(1))
	if err := Start(t).CreateTable(context.Background(), name, hash, sort); err != nil {
		t.Fatal(err)
	}
	return name
}

// ReportsTransactions reports whether the engine reports the capacity of
// transactions as DynamoDB does. DynamoDB Local does not (it reports 4 units for
// small items, however many): there the predicted units are not compared.
func ReportsTransactions(t testing.TB) bool { return traits(t).Transactions }

// ReportsMisses reports whether the engine reports the capacity of missing keys and
// empty answers as DynamoDB does; DynamoDB Local reports none.
func ReportsMisses(t testing.TB) bool { return traits(t).Misses }

func traits(t testing.TB) integration.Traits {
	t.Helper()
	tr, err := Start(t).Traits()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
