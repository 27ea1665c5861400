// Package kit has what tests of a mapper's calls share: models, mappers on tables of their own, transports and clients
// that fail, and a foreign writer.
package kit

import (
	"errors"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// WantError checks an error's text, and that no request was sent for it.
func WantError(t *testing.T, receipt *mapper.Receipt, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
	if receipt != nil && receipt.Predicted().Requests != 0 {
		t.Errorf("%d requests were sent before: %v", receipt.Predicted().Requests, err)
	}
}

// NewMapper returns a mapper of a table of its own. Key attributes are written as testengine.Table has them.
func NewMapper[T any](t testing.TB, hash, sort string) *mapper.Mapper[T] {
	t.Helper()
	m, err := mapper.New[T](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, hash, sort)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// WantConflict checks that a save was refused because of one item.
func WantConflict(t *testing.T, err error, sort string, kind string) {
	t.Helper()
	var c *mapper.ConflictError
	if !errors.As(err, &c) || len(c.Items) != 1 || c.Items[0].Key.Sort != sort || c.Items[0].Conflict != kind {
		t.Errorf("%v; want a conflict of %s, %s", err, sort, kind)
	}
}

// Must returns a function that fails the test if there is an error, and returns the value.
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Err returns the error of a call.
func Err[T any](_ T, err error) error { return err }
