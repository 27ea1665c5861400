package operation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
)

// A patch creates an item only in an entity that exists.
func TestPatchMakesItemOnlyInLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	for name, change := range map[string]field.Change[kit.Visited]{
		"an increment": hitsOfVisited.Increment(1), "a set": hitsOfVisited.Set(5),
		"set if absent": hitsOfVisited.SetIfAbsent(5),
	} {
		var missing *mapper.NotFoundError
		if _, err := v.hits(change).Exec(ctx, v.watched); !errors.As(err, &missing) ||
			kit.ItemsOf(t, v.Table, "1") != 0 {
			t.Errorf("%s makes an item of an entity that does not exist: %v", name, err)
		}
	}
	kit.Must(v.watched.Save(ctx, v.watched.New(kit.Visited{ID: "1", Name: "n"})))(t)
	for n := range 3 {
		r := kit.Must(v.hits(hitsOfVisited.Increment(1)).Exec(ctx, v.watched))(t)
		if n > 0 && (r.Predicted().Requests != 1 || r.Consumed.RCU != 0 || r.Consumed.WCU != 1) {
			t.Errorf("an increment of an item that exists is one request: %v", r)
		}
	}
	if e := kit.Must(v.other.Load(ctx, v.other.Key("1"), mapper.Strong()))(t); e.Value.Hits != 3 {
		t.Errorf("3 increments count %d", e.Value.Hits)
	}
	// The patch made an item of this entity, and not of the next one of the key.
	if raw := v.Get("ACCOUNT#1", "STATS"); raw["_a"] == nil {
		t.Errorf("it carries no incarnation: %v", raw)
	}
}

// A patch that creates an item creates it in the entity that is live at its end, even if the entity is
// deleted between two requests.
func TestPatchMakesItemThatIsSeen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, again := range []bool{false, true} {
		for before := range 5 {
			v := newVisits(t)
			v.save("first")
			v.before(before, func() {
				if again {
					v.save("second")
				} else {
					kit.Must(v.other.DeleteByKey(ctx, v.other.Key("1")))(t)
				}
			})
			_, err := v.hits(hitsOfVisited.Increment(1)).Exec(ctx, v.watched)
			deleted := len(v.f.Log) > before // while the patch ran
			name := fmt.Sprintf("deleted before request %d, inserted again %v", before, again)
			if err != nil && !errors.Is(err, mapper.ErrNotFound) || deleted && !again && err == nil {
				t.Errorf("%s: %v", name, err)
			}
			e, missing := v.other.Load(ctx, v.other.Key("1"))
			if err == nil && (missing != nil || e.Value.Hits != 1) || err != nil && missing == nil &&
				e.Value.Hits != 0 {
				t.Errorf("%s: the patch ended with %v, and the entity is %+v (%v)", name, err, e, missing)
			}
			if deleted && !again && kit.ItemsOf(t, v.Table, "1") != 0 {
				t.Errorf("%s: an item is left over", name)
			}
		}
	}
}

// A patch does not take a leftover item for one of the entity, if the mapper has seen the entity, or
// the patch asks for it.
func TestPatchNoticesLeftoverItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, seen := range []bool{true, false} {
		v := newVisits(t)
		v.save("n")
		late := kit.Must(v.other.Load(ctx, v.other.Key("1")))(t)
		kit.Must(v.other.DeleteByKey(ctx, v.other.Key("1")))(t)
		late.Value.Hits = 7
		kit.Must(v.other.Save(ctx, late, mapper.Blind()))(t) // a leftover item
		by := v.other
		if seen {
			by = v.watched
		}
		kit.Must(by.Save(ctx, by.New(kit.Visited{ID: "1", Name: "next"})))(t)
		for range 3 {
			p := v.hits(hitsOfVisited.Increment(1))
			if !seen {
				p = p.IfEntityExists()
			}
			kit.Must(p.Exec(ctx, v.watched))(t)
		}
		if e := kit.Must(v.other.Load(ctx, v.other.Key("1"), mapper.Strong()))(t); e.Value.Hits != 3 {
			t.Errorf("seen %v: 3 increments count %d", seen, e.Value.Hits)
		}
	}
}
