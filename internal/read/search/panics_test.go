package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func TestMain(m *testing.M) { testengine.Run(m) }

// errHook is the value with which AfterLoad panics while panics is set.
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
	m, err := mapper.New[event](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")))
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
		"Load":                func() error { _, err := m.Load(ctx, keys[0]); return err },
		"LoadMany":            func() error { _, err := m.LoadMany(ctx, keys); return err },
		"a query over shards": func() error { _, err := query.Of[event](m.Key("1")).Collect(ctx, m); return err },
		"its first": func() error {
			_, err := query.Of[event](m.Key("1")).Limit(1).Collect(ctx, m)
			return err
		},
		"a page of it": func() error {
			_, err := query.Of[event](m.Key("1")).Limit(3).Page(ctx, m)
			return err
		},
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

// A nil context is an error of every call, before anything is sent.
func TestNilContextIsAnError(t *testing.T) {
	m, err := mapper.New[event](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")))
	if err != nil {
		t.Fatal(err)
	}
	stored := m.New(event{Day: "1", ID: "1", Title: "a"})
	if _, err := m.Save(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	stored.Value.Title = "b"
	key := m.Key("1", "1")
	var none context.Context
	for name, call := range map[string]func() error{
		"Load":      func() error { _, err := m.Load(none, key); return err },
		"LoadMany":  func() error { _, err := m.LoadMany(none, []query.Selection[event]{key}); return err },
		"a query":   func() error { _, err := query.Of[event](m.Key("1")).Collect(none, m); return err },
		"a page":    func() error { _, err := query.Of[event](m.Key("1")).Limit(3).Page(none, m); return err },
		"Count":     func() error { _, err := query.Of[event](m.Key("1")).Count(none, m); return err },
		"Scan":      func() error { return first(m.Scan(none)) },
		"an insert": func() error { _, err := m.Save(none, m.New(event{Day: "1", ID: "2", Title: "a"})); return err },
		"a save":    func() error { _, err := m.Save(none, stored); return err },
		"Update": func() error {
			_, err := m.Update(none, key, func(e *event) error { e.Title = "c"; return nil })
			return err
		},
		"Delete":      func() error { _, err := m.Delete(none, stored); return err },
		"DeleteByKey": func() error { _, err := m.DeleteByKey(none, key); return err },
		"Transact":    func() error { _, err := mapper.Transact(none, m.DeletePart(stored)); return err },
		"BulkLoad": func() error {
			_, err := m.BulkLoad(none, mapper.NoErrors(slices.Values([]event{{Day: "1", ID: "3"}})))
			return err
		},
	} {
		err := call()
		if err == nil || !strings.Contains(err.Error(), "the context is nil") {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := query.Of[event](m.Key("1")).Collect(t.Context(), m)
	if err != nil || len(all) != 1 || all[0].Title != "a" {
		t.Errorf("afterwards there is %v, %v", all, err)
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
