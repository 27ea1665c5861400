package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A bulk load writes entities with external values one by one, and the others in batches. It costs the
// planned units, recognizes its own entities when it continues, and keeps existing ones.
func TestLargeBulkLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c := newAlbums(t), &clock{time.Now()}
	m := a.mapper(t, testengine.Start(t).Client(), clientOf(a.s3), c.now)
	var all []album
	entities := draws.Times(15, 60, 60)
	for i := range entities {
		v := album{ID: fmt.Sprint(i), Name: "small", Story: "small"}
		if i%3 == 0 {
			v = albumOf(v.ID, "large")
		}
		all = append(all, v)
	}
	taken := albumOf("9", "taken")
	must(m.Save(ctx, m.New(taken)))(t)
	rest := mapper.NoErrors(slices.Values(append(slices.Clone(all[:9]), all[10:]...)))
	plan := must(m.PlanBulkLoad(rest))(t)
	// It ends in the middle, and continues.
	var first *mapper.BulkReport
	var err error
	kill := 0
	for at := 20; ; at += 100 {
		killable, cancel := context.WithCancel(ctx)
		x := &fakedynamo.Transport{At: at, Fault: fakedynamo.KilledAfter, Kill: cancel}
		broken := a.mapper(t, x.Client(testengine.Start(t).Client()), faulty(x, clientOf(a.s3)), c.now)
		options := []mapper.BulkOption{mapper.LoadID("load")}
		first, err = broken.BulkLoad(killable, mapper.NoErrors(slices.Values(all)), options...)
		cancel()
		if err == nil {
			break
		}
		kill++
	}
	if kill == 0 || first.Entities != entities-1 || first.Failed != 1 ||
		!errors.Is(first.Failures[0].Err, mapper.ErrExists) || first.Failures[0].Number != 9 {
		t.Errorf("after %d ends: %+v", kill, first)
	}
	for _, v := range all {
		if v.ID == "9" {
			v = taken
		}
		if got := must(m.Load(ctx, m.Key(v.ID)))(t); !sameAlbum(got.Value, v) {
			t.Errorf("%s is %s", v.ID, got.Value.Name)
		}
	}
	collect(t, m, c)
	a.clean(t)
	fresh := newAlbums(t)
	m = fresh.mapper(t, testengine.Start(t).Client(), clientOf(fresh.s3), c.now)
	r := must(m.BulkLoad(ctx, rest))(t)
	if r.Items != plan.Items || testengine.ReportsTransactions(t) && r.WCU < plan.WCU.Min || r.WCU > plan.WCU.Max {
		t.Errorf("planned %+v, and it took %+v", plan, r)
	}
	if r, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Overwrite()); err != nil ||
		r.Failed != entities/3 || !strings.Contains(r.Failures[0].Err.Error(), "save it by itself") {
		t.Errorf("%+v, %v", r, err)
	}
}
