// Package enginetest gives the tests of a package a DynamoDB engine, found or started as package
// integration says. All of them share it: each test has tables of its own.
//
//	func TestMain(m *testing.M) { enginetest.Run(m) }
//
//	func TestOrders(t *testing.T) {
//		engine := enginetest.Start(t)
//		orders, err := mapper.New[Order](engine.Client(), mapper.Table(enginetest.Table(t, "PK:S", "SK:S")))
//		...
//	}
package enginetest

import (
	"testing"

	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/internal/testing/enginetest"
)

// Run runs the tests, and ends the engine that they started. It is the whole of a TestMain. Under
// -short it skips examples, most of which need an engine.
func Run(m *testing.M) { enginetest.Run(m) }

// Start returns the engine, which the first call starts. Without an engine the test fails. Under -short it is skipped.
func Start(t testing.TB) *integration.Engine {
	t.Helper()
	e := enginetest.Start(t)
	return &integration.Engine{Name: e.Name, Endpoint: e.Endpoint}
}

// Table creates a table and returns its name, which no other test has. Key attributes are written with
// their types, as "PK:S"; the sort key is "" for none. The table is deleted when the test ends.
func Table(t testing.TB, hash, sort string) string {
	t.Helper()
	return enginetest.Table(t, hash, sort)
}
