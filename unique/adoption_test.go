package unique_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

// writers write until stop is called, each with random numbers of its own, and pause after each write.
func writers(ctx context.Context, seed uint64, pause time.Duration,
	each ...func(ctx context.Context, r *rand.Rand),
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for i, write := range each {
		group.Go(func() {
			for r := rand.New(rand.NewPCG(seed, uint64(i))); ctx.Err() == nil; {
				write(ctx, r)
				time.Sleep(pause)
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// Stored entities get their guards while programs with the tag and without it write. When the last program without it
// has ended, and the duplicates are settled, verify succeeds while others write: from then on each value has one owner.
func TestAdoptionWhileProgramsOfBothVersionsWrite(t *testing.T) {
	ctx, seed := context.Background(), draws.Seed(t)
	stored, twins := draws.Times(300, 3_000, 100_000), 50
	pause := time.Duration(stored/1000) * time.Millisecond // a run of minutes would else have duplicates of all values
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	old := kit.Must(mapper.New[oldUser](client, mapper.Table(table)))(t)
	m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	report := kit.Must(old.BulkLoad(ctx, func(yield func(oldUser, error) bool) {
		for i := range stored {
			e := oldUser{ID: fmt.Sprint(i), Email: fmt.Sprint("mail", i), Tenant: "t", Name: fmt.Sprint(i)}
			if i < twins {
				e.Email = fmt.Sprint("mail", stored-1-i)
			}
			if !yield(e, nil) {
				return
			}
		}
	}))(t)
	if report.Entities != stored {
		t.Fatalf("stored %d of %d", report.Entities, stored)
	}
	id := func(r *rand.Rand) string { return fmt.Sprint(r.IntN(stored + 50)) }
	email := func(r *rand.Rand) string { return fmt.Sprint("new", r.IntN(2*stored)) }
	ofOld := func(ctx context.Context, r *rand.Rand) {
		_, _ = old.Update(ctx, old.Key(id(r)), func(u *oldUser) error { u.Email = email(r); return nil })
		_, _ = old.Save(ctx, old.New(oldUser{ID: id(r), Email: email(r), Tenant: "t", Name: "x" + email(r)}))
	}
	ofNew := func(ctx context.Context, r *rand.Rand) {
		switch r.IntN(5) {
		case 0:
			_, _ = m.Update(ctx, m.Key(id(r)), func(u *user) error { u.Email = email(r); return nil })
		case 1:
			_, _ = m.Save(ctx, m.New(user{ID: id(r), Email: email(r), Tenant: "t", Name: "y" + email(r)}))
		case 2:
			if r.IntN(10) == 0 {
				_, _ = m.DeleteByKey(ctx, m.Key(id(r)))
			}
		case 3:
			_, _ = m.Update(ctx, m.Key(id(r)), func(u *user) error { u.Name = "z" + email(r); return nil })
		default:
			if e, err := m.Load(ctx, m.Key(id(r))); err == nil {
				e.Value.ID = id(r)
				_, _ = m.Save(ctx, e, mapper.Move())
			}
		}
	}
	stop := writers(ctx, seed, pause, ofOld, ofNew, ofNew)
	kit.Must(unique.Run(ctx, m, unique.Segments(4)))(t)
	stop()

	stop = writers(ctx, seed+1, pause, ofNew, ofNew)
	defer func() { stop() }()
	for try := 0; ; try++ {
		if try == 20 {
			t.Fatal("the duplicates do not end")
		}
		var duplicates []unique.Duplicate
		r := kit.Must(unique.Run(ctx, m, unique.Segments(4),
			unique.OnDuplicate(func(d unique.Duplicate) { duplicates = append(duplicates, d) })))(t)
		t.Logf("run %d, of %d duplicates: %+v", try, len(duplicates), r)
		for _, d := range duplicates {
			settle(ctx, t, m, d.Entity.Partition[len("USER#"):])
		}
		if len(duplicates) > 0 {
			continue
		}
		r = kit.Must(unique.Verify(ctx, m, unique.Segments(4)))(t)
		t.Logf("verify: %+v", r)
		if r.Verified() {
			break
		}
	}
	stop()
	owners := map[string]string{}
	for e, err := range m.Scan(ctx, mapper.Strong()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"email " + e.Value.Email, "name " + e.Value.Tenant + " " + e.Value.Name} {
			if other := owners[value]; other != "" {
				t.Errorf("%s: %s and %s", value, other, e.Value.ID)
			}
			owners[value] = e.Value.ID
		}
	}
	if r := kit.Must(unique.Verify(ctx, m, unique.Segments(4)))(t); !r.Verified() || r.Guarded != len(owners) {
		t.Errorf("after the writers: %+v, and %d values", r, len(owners))
	}
}

// settle gives an entity other values.
func settle(ctx context.Context, t *testing.T, m *mapper.Mapper[user], id string) {
	t.Helper()
	_, err := m.Update(ctx, m.Key(id), func(u *user) error {
		u.Email, u.Name = fmt.Sprint("settled", id, rand.Int()), fmt.Sprint("settled", id, rand.Int())
		return nil
	})
	if err != nil && !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
}
