package operation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/unique"
)

// lobbyOf returns a lobby whose requests a transport may change.
func lobbyOf[G aGuest](t *testing.T, table string, f *kit.Faulty, o ...mapper.Option) *lobby[G] {
	all := append([]mapper.Option{mapper.Table(table), mapper.AssumeVerified()}, o...)
	return &lobby[G]{t, context.Background(), kit.Must(mapper.New[G](kit.Client(t, f, 3), all...))(t)}
}

// A transaction that deletes the expired owner on another shard has no check of that shard. Each of its parts gets its
// own answers: another entity takes the value first, or changes another part, or takes the value and leaves it.
func TestEachPartGetsItsAnswersWithoutTheCheckOfAShard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	name := handmade.String("Name", "", func(v *guestLate) *string { return &v.Name })
	kinds := map[string]func(l *lobby[guestLate], x *mapper.Entity[guestLate]) mapper.Part{
		"alone": nil,
		"save": func(l *lobby[guestLate], x *mapper.Entity[guestLate]) mapper.Part {
			x.Value.Name = "mine"
			return l.m.SavePart(x)
		},
		"patch": func(l *lobby[guestLate], x *mapper.Entity[guestLate]) mapper.Part {
			return handmade.Entity[guestLate]{Node: handmade.Node(x)}.Patch(name.Set("mine")).PatchPart(l.m)
		},
		"delete": func(l *lobby[guestLate], x *mapper.Entity[guestLate]) mapper.Part { return l.m.DeletePart(x) },
		"patch by a lookup": func(l *lobby[guestLate], _ *mapper.Entity[guestLate]) mapper.Part {
			return l.rename("x", "mine").PatchPart(l.m)
		},
		"delete by a lookup": func(l *lobby[guestLate], _ *mapper.Entity[guestLate]) mapper.Part {
			return l.m.DeletePartByKey(l.by("x"))
		},
		"new element": func(l *lobby[guestLate], _ *mapper.Entity[guestLate]) mapper.Part {
			return handmade.Elements[guestLate, bag]{Node: l.by("x"), Item: 1}.Add(bag{5}).PatchPart(l.m)
		},
	}
	for kind, other := range kinds {
		for _, event := range []string{"taken", "changed", "taken and left"} {
			for n := range 3 { // on each shard
				table := testengine.Table(t, "PK:S", "SK:S")
				rival := newLobby[guestEarly](t, table)
				must(t, rival.insert(guest{Inn: "other", ID: "x", Email: "x", Bags: []bag{{1}}}))
				g := guest{Inn: "i", ID: fmt.Sprint(n), Email: "a", Ends: time.Now().Add(-time.Hour)}
				must(t, rival.insert(g))
				f := kit.AtRequest("TransactWriteItems", 2, func() {
					if event == "changed" {
						must(t, rival.update("x", func(g *guest) { g.Name = "theirs" }))
						return
					}
					must(t, rival.insert(guest{Inn: "other", ID: "y", Email: "a"}))
					if event == "taken and left" {
						must(t, rival.update("a", func(g *guest) { g.Email = "y" }))
					}
				})
				l := lobbyOf[guestLate](t, table, f)
				g.Ends = time.Time{}
				parts := []mapper.Part{l.m.SavePart(l.m.New(guestLate(g)))}
				if other != nil {
					parts = append(parts, other(l, kit.Must(l.m.Load(ctx, l.by("x")))(t)))
				}
				_, err := mapper.Transact(ctx, parts...)
				var conflict *mapper.ConflictError
				isConflict := errors.As(err, &conflict) && len(conflict.Items) == 1 &&
					conflict.Items[0].Key.Partition[:9] == "INN#other"
				switch loaded := kind == "save" || kind == "delete"; {
				case len(f.Log) > 0 && slices.Index(f.Log, "TransactWriteItems") < 0, event == "taken" &&
					!errors.Is(err, mapper.ErrTaken), event == "taken and left" && err != nil,
					event == "changed" && loaded && !isConflict, event == "changed" && !loaded && err != nil:
					t.Errorf("%s, %s, %d: %v", kind, event, n, err)
				}
			}
		}
	}
}

// A delete by a lookup whose request was lost deletes no entity that has another value by then, and reports no success
// for an entity that has moved.
func TestLostDeletesByLookupDeleteNoOtherOwner(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	options := map[string][]mapper.WriteOption{
		"plain": nil, "staged": {mapper.Staged()}, "exactly once": {mapper.ExactlyOnce()}, "transaction": nil,
		"two parts": nil,
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, testengine.Start(t).Client())
	n := 0
	for how, o := range options {
		for _, watched := range []bool{true, false} {
			for _, notes := range [][]playerNote{nil, {{N: 1}}} {
				for _, moves := range []bool{false, true} {
					n++
					a, b := fmt.Sprint("a", n), fmt.Sprint("b", n)
					what := fmt.Sprint(how, " watched ", watched, " notes ", len(notes), " moves ", moves)
					e := m.New(player{ID: a, Email: a, Notes: notes})
					kit.Must(m.Save(ctx, e))(t)
					done, f := false, &kit.Faulty{At: -1}
					f.Pick = func() kit.Fault {
						op := f.Log[len(f.Log)-1]
						if done || op != "DeleteItem" && op != "TransactWriteItems" && op != "UpdateItem" {
							return kit.None
						}
						if done = true; moves {
							e.Value.ID = "moved" + a
							kit.Must(m.Save(ctx, e, mapper.Move()))(t)
							return kit.DropRequest
						}
						kit.Must(handmade.EntityOf(m.Key(a)).Patch(playerEmail.Set(b)).Exec(ctx, m))(t)
						return kit.DropRequest
					}
					var c mapper.Client = kit.Client(t, f, 3)
					if !watched {
						c = kit.Unwatched{C: kit.Client(t, f, 3)}
					}
					other := kit.Must(mapper.New[player](c, mapper.Table(table), mapper.AssumeVerified()))(t)
					var err error
					switch how {
					case "transaction":
						_, err = mapper.Transact(ctx, other.DeletePartByKey(byEmail(a)))
					case "two parts":
						_, err = mapper.Transact(ctx, other.DeletePartByKey(byEmail(a)),
							other.SavePart(other.New(player{ID: "new" + a})))
					default:
						_, err = other.DeleteByKey(ctx, byEmail(a), o...)
					}
					if moves {
						_, lives := m.Load(ctx, byEmail(a), mapper.Strong())
						if err == nil && lives == nil {
							t.Errorf("%s: the delete succeeded, and the entity lives", what)
						}
					} else if _, err2 := m.Load(ctx, byEmail(b), mapper.Strong()); err2 != nil || err == nil {
						t.Errorf("%s: %v, and the entity with the other value: %v", what, err, err2)
					}
				}
			}
		}
	}
}

// An independent delete cannot require the value of a lookup: it is refused before anything is sent.
func TestIndependentDeletesByLookupAreRefused(t *testing.T) {
	t.Parallel()
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[player](kit.Client(t, f, 1), mapper.Table("players"), mapper.AssumeVerified()))(t)
	_, err := m.DeleteByKey(context.Background(), byEmail("a"), mapper.Independent())
	if !errors.Is(err, mapper.ErrUsage) || len(f.Log) > 0 {
		t.Errorf("%v, %v", err, f.Log)
	}
}

// A staged insert on another shard deletes the owner of its value that expires while it runs.
func TestStagedInsertDeletesTheOwnerThatExpires(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"PutItem", "TransactWriteItems"} {
		for n := range 3 {
			t.Run(fmt.Sprint(operation, n), func(t *testing.T) {
				t.Parallel()
				table := testengine.Table(t, "PK:S", "SK:S")
				ends := time.Now().Add(4 * time.Second)
				g := guest{Inn: "i", ID: fmt.Sprint(n), Email: "a", Ends: ends}
				must(t, newLobby[guestEarly](t, table).insert(g))
				at := 1
				if operation == "PutItem" {
					at = 2
				}
				f := kit.AtRequest(operation, at, func() { time.Sleep(time.Until(ends.Add(1500 * time.Millisecond))) })
				late := lobbyOf[guestLate](t, table, f, mapper.ExpiryMargin(0))
				g.Ends, g.Bags = time.Time{}, []bag{{1}, {2}}
				err := late.insert(g, mapper.Staged())
				if r := kit.Must(unique.Verify(late.ctx, late.m))(t); err != nil && !errors.Is(err, mapper.ErrExists) ||
					!r.Verified() {
					t.Errorf("%v, %+v", err, r)
				}
			})
		}
	}
}

// A pass counts no guard of a value that was emptied before it could write one.
func TestPassesCountTheGuardsThatTheyWrite(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	foreign := kit.NewForeign(t, table)
	foreign.Put(kit.Item{"PK": kit.S("PLAYER#1"), "SK": kit.S("HEAD"), "Email": kit.S("a")})
	f := kit.AtRequest("TransactWriteItems", 1, func() {
		foreign.Put(kit.Item{"PK": kit.S("PLAYER#1"), "SK": kit.S("HEAD"), "Name": kit.S("x")})
	})
	r, err := unique.Run(ctx, playersOf(t, table, kit.Client(t, f, 3)))
	if err != nil || r.Written != 0 || r.Guarded != 0 || len(guardKeys(t, table)) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A bulk load that ends early reports all entities that it has stored, and those that were refused before.
func TestBulkLoadsReportWhatTheyStoredBeforeTheirEnd(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		table := testengine.Table(t, "PK:S", "SK:S")
		m := playersOf(t, table, testengine.Start(t).Client())
		kit.Must(m.Save(context.Background(), m.New(player{ID: "owner", Email: "taken"})))(t)
		var all []player
		for i := range 24 {
			p := player{ID: fmt.Sprint(i)}
			switch {
			case i == 21:
				p.Email = "taken"
			case i >= 20:
				p.Email = fmt.Sprint(i)
			}
			all = append(all, p)
		}
		loading := playersOf(t, table, kit.Client(t, kit.AtRequest("TransactWriteItems", at, cancel), 1))
		r, err := loading.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Concurrency(1))
		stored := -1 // without the owner
		for e, err := range m.Scan(context.Background()) {
			kit.Must(e, err)(t)
			stored++
		}
		if refused := at / 3; err == nil || r.Entities != stored || r.Failed != refused {
			t.Errorf("%d stored, %d refused: %+v, %v", stored, refused, r, err)
		}
	}
}

// Lookups of one value in one LoadMany each load what they select.
func TestLoadManyLoadsWhatEachLookupSelects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := playersOf(t, testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client())
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Notes: []playerNote{{N: 1}, {N: 2}}})))(t)
	sels := []query.Selection[player]{
		mapperimpl.Items(byEmail("a"), 0, 1), byEmail("a"), mapperimpl.Items(byEmail("a"), 1, 1), byEmail("a"),
	}
	parts := 0
	for i, e := range kit.Must(m.LoadMany(ctx, sels))(t) {
		want := kit.Must(m.Load(ctx, sels[i]))(t).Value
		if fmt.Sprint(e.Value) != fmt.Sprint(want) {
			t.Errorf("%d: %+v, want %+v", i, e.Value, want)
		}
		if len(want.Notes) == 0 {
			parts++
		}
	}
	if parts == 0 {
		t.Error("each selection has all items: the test shows nothing")
	}
}

// A staged delete by a lookup whose request was lost ends what another delete began, which marked the entity and died.
func TestStagedDeletesByLookupEndWhatAnotherBegan(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, testengine.Start(t).Client())
	for _, watched := range []bool{true, false} {
		id := fmt.Sprint("marked ", watched)
		kit.Must(m.Save(ctx, m.New(player{ID: id, Email: id, Notes: []playerNote{{N: 1}}})))(t)
		done, f := false, &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			if done || f.Log[len(f.Log)-1] != "UpdateItem" {
				return kit.None
			}
			done = true
			dies, cancel := context.WithCancel(ctx)
			mark := kit.AtRequest("DeleteItem", 1, cancel)
			dying := playersOf(t, table, kit.Client(t, mark, 1))
			if _, err := dying.DeleteByKey(dies, m.Key(id), mapper.Staged()); err == nil {
				t.Error("the other delete did not die")
			}
			return kit.DropRequest
		}
		var c mapper.Client = kit.Client(t, f, 3)
		if !watched {
			c = kit.Unwatched{C: kit.Client(t, f, 3)}
		}
		other := kit.Must(mapper.New[player](c, mapper.Table(table), mapper.AssumeVerified()))(t)
		_, err := other.DeleteByKey(ctx, byEmail(id), mapper.Staged())
		left := len(kit.NewForeign(t, table).All("PLAYER#" + id))
		var unknown *mapper.OutcomeUnknownError
		if left > 0 && !errors.As(err, &unknown) || err != nil && !errors.As(err, &unknown) {
			t.Errorf("watched %v: %v, %d items are left", watched, err, left)
		}
	}
}

// A staged insert of an entity that lives on another shard, with the same value, is refused by one transaction.
func TestStagedInsertsOfEntitiesOnOtherShardsAreRefusedOnce(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		table := testengine.Table(t, "PK:S", "SK:S")
		g := guest{Inn: "i", ID: fmt.Sprint(n), Email: "a", Bags: []bag{{1}, {2}}}
		must(t, newLobby[guestEarly](t, table).insert(g))
		f := &kit.Faulty{At: -1}
		err := lobbyOf[guestLate](t, table, f).insert(g, mapper.Staged())
		last := 0
		for _, op := range f.Log {
			if op == "TransactWriteItems" {
				last++
			}
		}
		if !errors.Is(err, mapper.ErrExists) || last > 1 {
			t.Errorf("%d: %v, %v", n, err, f.Log)
		}
	}
}
