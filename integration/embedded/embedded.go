// Package embedded gives a unit test a DynamoDB engine of its own, in the test's process: it needs
// Go alone and starts in a millisecond. The engine is minidyn (github.com/truora/minidyn).
//
// It is less than DynamoDB: docs/testing.md lists what it lacks (it reports no consumed capacity,
// has no PartiQL and no pages of 1 MB) and what it gets wrong. It is for tests of an application's
// own logic. Behavior that has to be DynamoDB's belongs on DynamoDB Local or dynoxide, which package
// enginetest starts.
package embedded

import (
	"net/http/httptest"
	"testing"

	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/internal/testing/engines"
)

// Memory starts an engine for one test and stops it at the test's end. It has no tables; create
// them with its CreateTable. Tests that run in parallel do not share anything.
func Memory(t testing.TB) *integration.Engine {
	t.Helper()
	s := httptest.NewServer(Handler())
	t.Cleanup(s.Close)
	return &integration.Engine{Name: engines.Minidyn, Endpoint: s.URL}
}
