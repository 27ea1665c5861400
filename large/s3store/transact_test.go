package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

// A transaction of several entities writes the large values of all of them, or none. It costs the
// planned units, and a conflict of one leaves no values of the others. Parts that a transaction cannot
// write are refused.
func TestLargeTransact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c := newAlbums(t), &clock{time.Now()}
	m := a.mapper(t, testengine.Start(t).Client(), clientOf(a.s3), c.now)
	one, two := m.New(albumOf("1", "first")), m.New(albumOf("2", "second"))
	plan := must(mapper.PlanTransact(m.SavePart(one), m.SavePart(two)))(t)
	r := must(mapper.Transact(ctx, m.SavePart(one), m.SavePart(two)))(t)
	if r.Predicted().WCU != plan.WCU || r.Predicted().Requests != plan.Requests ||
		r.Predicted().Objects != plan.Objects ||
		r.Predicted().Objects.Puts != 2 {
		t.Errorf("planned %v, and it took %v", plan, r)
	}
	other := must(m.Load(ctx, m.Key("2")))(t)
	other.Value.Story = albumOf("", "other").Story
	must(m.Save(ctx, other))(t)
	one.Value, two.Value = albumOf("1", "third"), albumOf("2", "fourth")
	var conflict *mapper.ConflictError
	if _, err := mapper.Transact(ctx, m.SavePart(one), m.SavePart(two)); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if got := must(m.Load(ctx, m.Key("1")))(t); !sameAlbum(got.Value, albumOf("1", "first")) {
		t.Errorf("a part of the transaction was written: %s", got.Value.Name)
	}
	must(mapper.Transact(ctx, m.SavePart(one), m.DeletePart(other)))(t)
	if got := must(m.Load(ctx, m.Key("1")))(t); !sameAlbum(got.Value, one.Value) {
		t.Errorf("the transaction was not written: %s", got.Value.Name)
	}
	collect(t, m, c)
	a.clean(t)
}

// The patches of an album, as generated code has their handles.
var (
	albumName  = handmade.String("Name", "", func(v *album) *string { return &v.Name })
	albumStory = handmade.String("Story", "", func(v *album) *string { return &v.Story })
	albumCover = handmade.Bytes("Cover", "", func(v *album) *[]byte { return &v.Cover })
)

// patchOf sets what albumOf has, but the notes.
func patchOf(m *mapper.Mapper[album], v album) *mapper.ItemPatch[album, *album] {
	return handmade.EntityOf(m.Key(v.ID)).Patch(albumName.Set(v.Name), albumStory.Set(v.Story), albumCover.Set(v.Cover))
}

// A patch writes large values without reading the values that they replace. It costs the planned units,
// may be a part of a transaction, and leaves nothing if it is refused.
func TestLargePatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c := newAlbums(t), &clock{time.Now()}
	m := a.mapper(t, testengine.Start(t).Client(), clientOf(a.s3), c.now)
	want := albumOf("1", "first")
	must(m.Save(ctx, m.New(want)))(t)
	now := albumOf("1", "second")
	now.Notes = want.Notes
	p := patchOf(m, now)
	plan := must(p.Plan(m))(t)
	r := must(p.Exec(ctx, m))(t)
	if p := r.Predicted(); p.Requests != plan.Requests || p.Objects != plan.Objects || p.Objects.Puts != 1 {
		t.Errorf("planned %v, and it took %v", plan, r)
	}
	if got := must(m.Load(ctx, m.Key("1")))(t); !sameAlbum(got.Value, now) {
		t.Errorf("%+v", got.Value.Name)
	}
	if _, err := patchOf(m, albumOf("none", "x")).Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("a patch of what is not there: %v", err)
	}
	now = albumOf("1", "third")
	now.Notes = want.Notes
	two := m.New(albumOf("2", "two"))
	must(mapper.Transact(ctx, patchOf(m, now).PatchPart(m), m.SavePart(two)))(t)
	if got := must(m.Load(ctx, m.Key("1")))(t); !sameAlbum(got.Value, now) {
		t.Errorf("%+v", got.Value.Name)
	}
	collect(t, m, c)
	a.clean(t)
	// A collector that discards slow values: the save begins again with new ids.
	behind := func() *mapper.Mapper[album] {
		return a.mapper(t, fakedynamo.Before(testengine.Start(t).Client(), "TransactWriteItems", "", func() {
			c.Time = c.Add(100 * time.Hour)
			if done, err := collectAll(ctx, m, large.Delete()); err != nil || done.Discarded == 0 {
				t.Errorf("%+v, %v", done, err)
			}
		}), clientOf(a.s3), c.now)
	}
	must(patchOf(m, albumOf("1", "fourth")).Exec(ctx, behind()))(t)
	late := behind()
	e := must(late.Load(ctx, late.Key("2")))(t)
	e.Value = albumOf("2", "fifth")
	must(mapper.Transact(ctx, patchOf(m, albumOf("1", "fifth")).PatchPart(late), late.SavePart(e)))(t)
	collect(t, m, c)
	a.clean(t)
	for _, id := range []string{"1", "2"} {
		if got := must(m.Load(ctx, m.Key(id)))(t); got.Value.Name != "fifth" ||
			got.Value.Story != albumOf("", "fifth").Story {
			t.Errorf("%s: %+v", id, got.Value.Name)
		}
	}
}

// The receipt of a save whose answer was lost has its writes, as its record shows that it was applied.
func TestLargeReceiptAfterALostAnswer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c := newAlbums(t), &clock{time.Now()}
	want := 0
	for at := range 2 {
		x := &fakedynamo.Transport{At: at * want, Fault: fakedynamo.LostAnswer, Kill: func() {}}
		m := a.mapper(t, x.Client(testengine.Start(t).Client()), faulty(x, clientOf(a.s3)), c.now)
		e := m.New(albumOf(fmt.Sprint(at), "x"))
		plan := must(m.PlanSave(e))(t)
		r := must(m.Save(ctx, e))(t)
		if want = x.Sent(); len(r.Predicted().Items) != len(plan.Items) || r.Predicted().WCU != plan.WCU {
			t.Errorf("planned %v, and the receipt has %v", plan, r)
		}
	}
}

// Every fault at every request of a transaction of saves, of a patch, or of both. Either all values are
// the old ones, or all are the new ones, and after the collector there is no value without a pointer.
func TestLargeTransactFaults(t *testing.T) {
	t.Parallel()
	saving := func(ctx context.Context, m *mapper.Mapper[album], id string) (mapper.Part, error) {
		e, err := m.Load(ctx, m.Key(id))
		if err != nil {
			return mapper.Part{}, err
		}
		notes := e.Value.Notes
		e.Value = albumOf(id, "now")
		e.Value.Notes = notes
		return m.SavePart(e), nil
	}
	patching := func(_ context.Context, m *mapper.Mapper[album], id string) (mapper.Part, error) {
		return patchOf(m, albumOf(id, "now")).PatchPart(m), nil
	}
	type part = func(context.Context, *mapper.Mapper[album], string) (mapper.Part, error)
	for name, makes := range map[string][]part{
		"saves": {saving, saving}, "save and patch": {saving, patching},
		"patches": {patching, patching}, "patch": {nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			a, c, n := newAlbums(t), &clock{time.Now()}, 0
			plain := a.mapper(t, testengine.Start(t).Client(), clientOf(a.s3), c.now)
			once := func(at int, fault fakedynamo.Fault) int {
				n++
				ids := []string{fmt.Sprint(n, "a"), fmt.Sprint(n, "b")}[:len(makes)]
				for _, id := range ids {
					must(plain.Save(ctx, plain.New(albumOf(id, "old"))))(t)
				}
				killable, kill := context.WithCancel(ctx)
				defer kill()
				x := &fakedynamo.Transport{At: at, Fault: fault, Kill: kill}
				m := a.mapper(t, x.Client(testengine.Start(t).Client()), faulty(x, clientOf(a.s3)), c.now)
				var parts []mapper.Part
				var err error
				if name == "patch" {
					_, err = patchOf(m, albumOf(ids[0], "now")).Exec(killable, m)
				} else {
					for i, id := range ids {
						var p mapper.Part
						if p, err = makes[i](killable, m, id); err != nil {
							break
						}
						parts = append(parts, p)
					}
					if err == nil {
						_, err = mapper.Transact(killable, parts...)
					}
				}
				what := fmt.Sprintf("%s at request %d: %v", fault, at, err)
				if at == 0 && err != nil {
					t.Fatal(what)
				}
				collect(t, plain, c)
				a.clean(t)
				is := map[string]int{}
				for _, id := range ids {
					got := must(plain.Load(ctx, plain.Key(id)))(t)
					want := albumOf(id, got.Value.Name)
					want.Notes = albumOf(id, "old").Notes
					if !sameAlbum(got.Value, want) {
						t.Fatalf("%s: what is there is not whole", what)
					}
					is[got.Value.Name]++
				}
				var unknown *mapper.OutcomeUnknownError
				sure := !errors.As(err, &unknown) && !errors.Is(err, context.Canceled) &&
					!errors.Is(err, fakedynamo.Err)
				if is["old"] != len(ids) && is["now"] != len(ids) || err == nil && is["now"] != len(ids) ||
					err != nil && sure && is["old"] != len(ids) {
					t.Fatalf("%s: there are %v", what, is)
				}
				return x.Sent()
			}
			faultsAt(draws.Seed(t), draws.Times(1, 8, draws.All), once)
		})
	}
}
