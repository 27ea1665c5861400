package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/itemize/itemize/blob"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/breaking"
	"github.com/itemize/itemize/internal/draws"
	"github.com/itemize/itemize/mapper"
)

// A transaction of several entities writes the large values of all of them, or none; it costs what was planned, and a conflict of one
// leaves nothing of the others. What a transaction cannot write it says.
func TestLargeTransact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c := newAlbums(t), &clock{time.Now()}
	m := a.mapper(t, enginetest.Start(t).Client(), a.s3.Client(), c.now)
	one, two := m.New(albumOf("1", "first")), m.New(albumOf("2", "second"))
	plan := must(mapper.PlanTransact(m.Saving(one), m.Saving(two)))(t)
	r := must(mapper.Transact(ctx, m.Saving(one), m.Saving(two)))(t)
	if r.WCU != plan.WCU || r.Requests() != plan.Requests() || r.Objects != plan.Objects || r.Objects.Puts != 2 {
		t.Errorf("planned %v, and it took %v", plan, r)
	}
	other := must(m.Load(ctx, m.Key("2")))(t)
	other.Value.Story = albumOf("", "other").Story
	must(m.Save(ctx, other))(t)
	one.Value, two.Value = albumOf("1", "third"), albumOf("2", "fourth")
	var conflict *mapper.ConflictError
	if _, err := mapper.Transact(ctx, m.Saving(one), m.Saving(two)); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if got := must(m.Load(ctx, m.Key("1")))(t); !sameAlbum(got.Value, albumOf("1", "first")) {
		t.Errorf("a part of the transaction was written: %s", got.Value.Name)
	}
	must(mapper.Transact(ctx, m.Saving(one), m.Deleting(other)))(t)
	if got := must(m.Load(ctx, m.Key("1")))(t); !sameAlbum(got.Value, one.Value) {
		t.Errorf("the transaction was not written: %s", got.Value.Name)
	}
	collect(t, m, c)
	a.clean(t)
}

// Whichever request of such a transaction meets a fault: both entities have the old values, or both the new ones, and after the
// collector nothing is left that nothing points to.
func TestLargeTransactFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c, n := newAlbums(t), &clock{time.Now()}, 0
	plain := a.mapper(t, enginetest.Start(t).Client(), a.s3.Client(), c.now)
	once := func(at int, fault breaking.Fault) int {
		n++
		ids := []string{fmt.Sprint(n, "a"), fmt.Sprint(n, "b")}
		for _, id := range ids {
			must(plain.Save(ctx, plain.New(albumOf(id, "old"))))(t)
		}
		killable, kill := context.WithCancel(ctx)
		defer kill()
		x := &breaking.Transport{At: at, Fault: fault, Kill: kill}
		m := a.mapper(t, x.Client(enginetest.Start(t).Client()), x.S3(a.s3.Client()), c.now)
		var parts []mapper.Part
		var err error
		for _, id := range ids {
			var e *mapper.Entity[album]
			if e, err = m.Load(killable, m.Key(id)); err != nil {
				break
			}
			e.Value = albumOf(id, "now")
			parts = append(parts, m.Saving(e))
		}
		if err == nil {
			_, err = mapper.Transact(killable, parts...)
		}
		what := fmt.Sprintf("%s at request %d: %v", fault, at, err)
		if at == 0 && err != nil {
			t.Fatal(what)
		}
		for range 3 {
			c.Time = c.Add(3 * time.Hour)
			must(blob.Collect(ctx, plain, blob.Delete()))(t)
		}
		a.clean(t)
		is := map[string]int{}
		for _, id := range ids {
			got := must(plain.Load(ctx, plain.Key(id)))(t)
			if !sameAlbum(got.Value, albumOf(id, got.Value.Name)) {
				t.Fatalf("%s: what is there is not whole", what)
			}
			is[got.Value.Name]++
		}
		var unknown *mapper.OutcomeUnknownError
		sure := !errors.As(err, &unknown) && !errors.Is(err, context.Canceled) && !errors.Is(err, breaking.Err)
		if is["old"] != 2 && is["now"] != 2 || err == nil && is["now"] != 2 || err != nil && sure && is["old"] != 2 {
			t.Fatalf("%s: there are %v", what, is)
		}
		return x.Sent()
	}
	sent := once(0, 0)
	for _, at := range draws.Some(draws.Seed(t), sent, 3) {
		for fault := range breaking.Faults {
			once(at+1, fault)
		}
	}
}
