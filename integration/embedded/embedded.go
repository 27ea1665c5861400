// Package embedded gives a unit test its own DynamoDB engine, inside the test process. It needs only
// Go, and starts in a millisecond. The engine is minidyn (github.com/truora/minidyn).
//
// minidyn has less than DynamoDB. docs/testing.md lists the missing features (such as PartiQL and
// streams) and the differences. Use it for tests of an
// application's own logic. To test the behavior of DynamoDB, use DynamoDB Local or dynoxide, which
// package enginetest starts.
package embedded

import (
	"net/http/httptest"
	"testing"

	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/internal/testing/engines"
)

// Memory starts an engine for one test and stops it at the end of the test. Create tables with its
// CreateTable. Parallel tests do not share anything.
func Memory(t testing.TB) *integration.Engine {
	t.Helper()
	s := httptest.NewServer(Handler())
	t.Cleanup(s.Close)
	return &integration.Engine{Name: engines.Minidyn, Endpoint: s.URL}
}
