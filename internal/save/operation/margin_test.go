package operation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

type tenure struct {
	_     struct{}     `ddb:"table=leases,ttl=ends"`
	ID    string       `ddb:"pk=LEASE#{ID}"`
	Owner string       `ddb:"sk=HEAD"`
	Ends  time.Time    `ddb:"sk=HEAD,ttl"`
	Notes []tenureNote `ddb:"sk=NOTE#{N:02}"`
}

type tenureNote struct {
	N    int
	Text string
	Ends time.Time `ddb:"ttl"`
}

// A client whose clock is fast by less than the margin replaces nothing that is live by the clock of another client:
// neither an entity nor an element, in no kind of write.
func TestFastClockReplacesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := mapper.Table(testengine.Table(t, "PK:S", "SK:S")), testengine.Start(t).Client()
	slow := kit.Must(mapper.New[tenure](client, table))(t)
	fast := kit.Must(mapper.New[tenure](client, table))(t)
	door.Mapper.Model(fast).Now = func() time.Time { return time.Now().Add(20 * time.Minute) }
	soon := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	e := slow.New(tenure{ID: "1", Owner: "slow", Ends: soon, Notes: []tenureNote{{1, "slow", soon}}})
	kit.Must(slow.Save(ctx, e))(t)
	for name, insert := range map[string]func() error{
		"an insert": func() error { _, err := fast.Save(ctx, fast.New(tenure{ID: "1", Owner: "fast"})); return err },
		"an insert of several items": func() error {
			_, err := fast.Save(ctx, fast.New(tenure{ID: "1", Owner: "fast", Notes: []tenureNote{{
				N:    1,
				Text: "fast",
			}}}))
			return err
		},
		"a staged insert": func() error {
			_, err := fast.Save(ctx, fast.New(tenure{ID: "1", Owner: "fast", Notes: []tenureNote{{N: 1}}}),
				mapper.Staged())
			return err
		},
		"a transaction": func() error {
			_, err := mapper.Transact(ctx, fast.SavePart(fast.New(tenure{ID: "1", Owner: "fast"})))
			return err
		},
		"an element": func() error {
			_, err := handmade.Elements[tenure, tenureNote]{
				Node: handmade.Node(fast.Key("1")),
				Item: 1,
			}.Add(tenureNote{N: 1}).Exec(ctx, fast)
			return err
		},
	} {
		if err := insert(); err == nil {
			t.Errorf("%s replaces a live item", name)
		}
		got := kit.Must(slow.Load(ctx, slow.Key("1"), mapper.Strong()))(t).Value
		if got.Owner != "slow" || len(got.Notes) != 1 || got.Notes[0].Text != "slow" {
			t.Fatalf("%s has left %+v", name, got)
		}
	}
	// A lease of a second: the margin is as short as the clocks are exact.
	second := kit.Must(mapper.New[tenure](client, table, mapper.ExpiryMargin(time.Second)))(t)
	ends := time.Now().Truncate(time.Second) // the clock stands, so that a slow machine changes nothing
	door.Mapper.Model(second).Now = func() time.Time { return ends }
	kit.Must(second.Save(ctx, second.New(tenure{ID: "2", Owner: "a", Ends: ends})))(t)
	if _, err := second.Save(ctx, second.New(tenure{ID: "2", Owner: "b"})); !errors.Is(err, mapper.ErrExists) {
		t.Error(err)
	}
	door.Mapper.Model(second).Now = func() time.Time { return ends.Add(2 * time.Second) }
	kit.Must(second.Save(ctx, second.New(tenure{ID: "2", Owner: "b"})))(t)
	if _, err := mapper.New[tenure](client, table, mapper.ExpiryMargin(-1)); err == nil {
		t.Error("a negative margin")
	}
}
