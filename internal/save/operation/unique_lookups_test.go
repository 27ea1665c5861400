package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Calls that take only keys refuse a lookup before anything is sent, as an error of the call.
func TestCallsThatTakeKeysRefuseLookups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[player](kit.Client(t, f, 1), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.AssumeVerified()))(t)
	by := byEmail("a")
	for name, call := range map[string]func() error{
		"query":        func() error { return kit.Err(query.Of[player](by).Collect(ctx, m)) },
		"count":        func() error { return kit.Err(query.Of[player](by).Count(ctx, m)) },
		"page":         func() error { return kit.Err(query.Of[player](by).Limit(1).Page(ctx, m)) },
		"query plan":   func() error { return kit.Err(query.Of[player](by).Plan(m)) },
		"PlanDelete":   func() error { return kit.Err(m.PlanDeleteByKey(by)) },
		"PlanTransact": func() error { return kit.Err(mapper.PlanTransact(m.DeletePartByKey(by))) },
		"RootKey": func() error {
			_, _, err := m.RootKey(by)
			return err
		},
		"FromItems": func() error { return kit.Err(m.FromItems(by, nil)) },
	} {
		err := call()
		if !errors.Is(err, mapper.ErrUsage) || !strings.HasPrefix(err.Error(), "operation_test.player") ||
			!strings.Contains(err.Error(), "lookup") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, other := range map[string]query.Selection[player]{
		"of two lookups: make the lookup once": byEmail("a"), "of different entities": m.Key("1"),
	} {
		if _, err := m.Load(ctx, query.Join[player](by, other)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a join: %v, want %s", err, want)
		}
	}
	if len(f.Log) > 0 {
		t.Errorf("requests: %q", f.Log)
	}
}

// measure has unique values of each kind.
type measure struct {
	_      struct{}    `ddb:"table=measures"`
	ID     string      `ddb:"pk=M#{ID}"`
	Number json.Number `ddb:"sk=HEAD,unique"`
	Float  float64     `ddb:"sk=HEAD,unique"`
	Text   string      `ddb:"sk=HEAD,unique"`
}

// A lookup of a value that no save stores is an error of the value, and sends nothing.
func TestLookupsOfInvalidValuesAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[measure](kit.Client(t, f, 1), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.AssumeVerified()))(t)
	for _, c := range []struct {
		field string
		value any
		want  string
	}{
		{"Number", json.Number("x"), "the number is invalid"},
		{"Number", json.Number("1e400"), "the number is invalid"},
		{"Number", json.Number("0x10"), "the number is invalid"},
		{"Number", json.Number("NaN"), "the number is invalid"},
		{"Number", json.Number(""), "the number is empty"},
		{"Float", math.NaN(), "the number is invalid"},
		{"Float", math.Inf(1), "the number is invalid"},
		{"Float", 1e300, "the number is invalid"},
		{"Text", "a\xff", "not valid UTF-8"},
		{"Text", "", "a part of it is empty"},
		{"Text", 1, "pass a string"},
	} {
		_, err := m.Load(ctx, m.Unique(c.field, c.value))
		if prefix := "operation_test.measure"; err == nil || !strings.HasPrefix(err.Error(), prefix) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %s", c.field, c.value, err, c.want)
		}
	}
	if len(f.Log) > 0 {
		t.Errorf("requests: %q", f.Log)
	}
	kit.Must(m.Save(ctx, m.New(measure{ID: "1", Number: "1.50", Float: 3})))(t)
	for _, n := range []json.Number{"1.5", "15e-1", "01.5"} {
		if e := kit.Must(m.Load(ctx, m.Unique("Number", n)))(t); e.Value.ID != "1" {
			t.Errorf("%s: %+v", n, e.Value)
		}
	}
}
