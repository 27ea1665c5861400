// Package enginetest gives the tests of a package a DynamoDB engine, which package integration finds or
// starts. All tests share it, and each test has its own tables.
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
	"github.com/itemize/itemize/internal/testing/testengine"
)

// Run runs the tests and stops the engine. It is all that a TestMain needs. With -short it skips
// examples, because most of them need an engine.
func Run(m *testing.M) { testengine.Run(m) }

// Start returns the engine. The first call starts it. Without an engine the test fails; with -short it
// is skipped.
func Start(t testing.TB) *integration.Engine {
	t.Helper()
	e := testengine.Start(t)
	return &integration.Engine{Name: e.Name, Endpoint: e.Endpoint}
}

// Table creates a table and returns its unique name. Key attributes have their type, such as "PK:S".
// sort is "" for none. The table is deleted at the end of the test.
func Table(t testing.TB, hash, sort string) string {
	t.Helper()
	return testengine.Table(t, hash, sort)
}
