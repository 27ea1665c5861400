package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// TestRecordsOfShowsWhatAnEngineShows compares the records that tests of handlers use with those of an engine.
func TestRecordsOfShowsWhatAnEngineShows(t *testing.T) {
	t.Parallel()
	ctx, table := context.Background(), streamed(t)
	r := rand.New(rand.NewPCG(draws.Seed(t), 71))
	m := kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table)))(t)
	account := func(id string) kit.Account {
		a := kit.Account{ID: id, Counter: r.IntN(3), Flags: map[string]bool{}}
		if r.IntN(2) == 0 {
			a.Left = strings.Repeat("x", r.IntN(3))
		}
		for i := range r.IntN(4) {
			a.Entries = append(a.Entries, kit.Part{N: 1 + i + r.IntN(2)*10, Text: strconv.Itoa(r.IntN(2))})
			a.Flags[strconv.Itoa(r.IntN(3))] = r.IntN(2) == 0
		}
		return a
	}
	var made []*stream.Record
	add := func(old, now *kit.Account) {
		made = append(made, kit.Must(stream.RecordsOf(m, old, now))(t)...)
	}
	for n := range draws.Times(20, 100, 500) {
		id := strconv.Itoa(n)
		e := m.New(account(id))
		kit.Must(m.Save(ctx, e))(t)
		add(nil, &e.Value)
		first := e.Value
		if r.IntN(4) > 0 {
			e.Value = account(id)
			kit.Must(m.Save(ctx, e))(t)
			add(&first, &e.Value)
		}
		if r.IntN(2) == 0 {
			add(&e.Value, nil)
			kit.Must(m.Delete(ctx, e))(t)
		}
	}
	shown := func(records []*stream.Record) (out []string) {
		router := stream.NewRouter()
		stream.On(router, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
			out = append(out, fmt.Sprintf("%s %s %v %v", c.EntityEvent, c.ItemEvent, c.Key,
				[]string{fmt.Sprintf("%+v", c.Old), fmt.Sprintf("%+v", c.New)}))
			return nil
		})
		if _, err := stream.HandleAll(ctx, router, records); err != nil {
			t.Fatal(err)
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(shown(recordsOf(t, table)), shown(made)); diff != "" {
		t.Errorf("made records (-engine +made):\n%s", diff)
	}
}
