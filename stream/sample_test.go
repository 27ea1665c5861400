package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
	shown := func(handle func(*stream.Router) error) (out []string) {
		router := stream.NewRouter()
		stream.On(router, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
			out = append(out, fmt.Sprintf("%s %s %v %v", c.EntityEvent, c.ItemEvent, c.Key,
				[]string{fmt.Sprintf("%+v", c.Old), fmt.Sprintf("%+v", c.New)}))
			return nil
		})
		if err := handle(router); err != nil {
			t.Fatal(err)
		}
		slices.Sort(out)
		return out
	}
	all := func(records []*stream.Record) func(*stream.Router) error {
		return func(router *stream.Router) error {
			_, err := stream.HandleAll(ctx, router, records)
			return err
		}
	}
	engine := shown(all(recordsOf(t, table)))
	if diff := cmp.Diff(engine, shown(all(made))); diff != "" {
		t.Errorf("made records (-engine +made):\n%s", diff)
	}
	inEvent := shown(func(router *stream.Router) error {
		answer, err := stream.Lambda(router).Invoke(ctx, kit.Must(stream.EventOf(made...))(t))
		if string(answer) != `{"batchItemFailures":[]}` {
			t.Errorf("the answer of the function: %s", answer)
		}
		return err
	})
	if diff := cmp.Diff(engine, inEvent); diff != "" {
		t.Errorf("made event (-engine +made):\n%s", diff)
	}
}

// An event keeps what a handler can ask of its records: deletes by the time to live, binary keys, tables.
func TestEventsKeepTheirRecords(t *testing.T) {
	t.Parallel()
	key := map[string]types.AttributeValue{"K": &types.AttributeValueMemberB{Value: []byte{0, 255}}}
	in := &stream.Record{
		Table: "others", ID: "1", SequenceNumber: "7", Time: time.Unix(1_700_000_000, 0).UTC(), Keys: key, Old: key,
		Expired: true, View: "NEW_AND_OLD_IMAGES",
	}
	var got *stream.Record
	router := stream.NewRouter()
	router.Unmatched(func(_ context.Context, r *stream.Record) error { got = r; return nil })
	kit.Must(stream.Lambda(router).Handle(context.Background(), kit.Must(stream.EventOf(in))(t)))(t)
	if diff := cmp.Diff(in, got, cmpopts.IgnoreUnexported(types.AttributeValueMemberB{})); diff != "" {
		t.Errorf("record (-in +out):\n%s", diff)
	}
	for _, bad := range []*stream.Record{nil, {View: "KEYS_ONLY"}} {
		if _, err := stream.EventOf(bad); err == nil {
			t.Errorf("no error for %v", bad)
		}
	}
}
