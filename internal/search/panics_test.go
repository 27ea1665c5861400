package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/itemize/itemize/internal/testing/enginetest"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func TestMain(m *testing.M) { enginetest.Run(m) }

// errHook is what AfterLoad panics with while panics is set.
var (
	errHook = errors.New("the hook's")
	panics  atomic.Bool
)

type event struct {
	_     struct{} `ddb:"table=events,shards=4,shardby=ID"`
	Day   string   `ddb:"pk=DAY#{Day}#{shard}"`
	ID    string
	Title string `ddb:"sk=EVENT#{ID}"`
}

func (e *event) AfterLoad() {
	if panics.Load() {
		panic(errHook)
	}
}

// A panic of AfterLoad reaches the caller of every read, who can recover.
func TestPanicOfHookReachesCaller(t *testing.T) {
	ctx := context.Background()
	m, err := mapper.New[event](enginetest.Start(t).Client(), mapper.Table(enginetest.Table(t, "PK:S", "SK:S")))
	if err != nil {
		t.Fatal(err)
	}
	var keys []query.Selection[event]
	for i := range 12 {
		v := event{Day: "1", ID: fmt.Sprint(i), Title: "a"}
		if _, err := m.Save(ctx, m.New(v)); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, m.Key(v.Day, v.ID))
	}
	for name, read := range map[string]func() error{
		"Load":                  func() error { _, err := m.Load(ctx, keys[0]); return err },
		"LoadMany":              func() error { _, err := m.LoadMany(ctx, keys); return err },
		"a query over shards":   func() error { _, err := query.Of[event](m.Key("1")).Collect(ctx, m); return err },
		"its first":             func() error { _, err := query.Of[event](m.Key("1")).Limit(1).Collect(ctx, m); return err },
		"a page of it":          func() error { _, err := query.Of[event](m.Key("1")).Limit(3).Page(ctx, m); return err },
		"Scan":                  func() error { return first(m.Scan(ctx)) },
		"Scan of four segments": func() error { return first(m.Scan(ctx, mapper.Segments(4))) },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		panics.Store(true)
		err := recovered(read)
		if panics.Store(false); !errors.Is(err, errHook) || !strings.Contains(fmt.Sprint(err), "the hook's") {
			t.Errorf("%s: what the caller recovers is %v", name, err)
		}
	}
}

func first[T any](all func(func(T, error) bool)) (err error) {
	for _, err = range all {
		return err
	}
	return nil
}

func recovered(f func() error) (err error) {
	defer func() { err, _ = recover().(error) }()
	if err := f(); err != nil {
		return fmt.Errorf("no panic: %w", err)
	}
	return nil
}
