package operation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/unique"
)

// emails returns the names and e-mail addresses of the stored players 1, 2, ...
func emails(t *testing.T, m *mapper.Mapper[player]) (all string) {
	t.Helper()
	for i := range 3 {
		e, err := m.Load(context.Background(), m.Key(fmt.Sprint(i+1)), mapper.Strong())
		if err == nil {
			all += fmt.Sprintf("%s %s %s %d;", e.Value.ID, e.Value.Email, e.Value.Name, len(e.Value.Notes))
		} else if !errors.Is(err, mapper.ErrNotFound) {
			t.Fatal(err)
		}
	}
	return all
}

// UpdateAll takes lookups in all of its parts.
func TestUpdateAllByLookups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, testengine.Start(t).Client())
	for i, email := range []string{"a", "b", "c"} {
		kit.Must(m.Save(ctx, m.New(player{ID: fmt.Sprint(i + 1), Email: email, Notes: []playerNote{{N: 1}}})))(t)
	}
	var a, b player
	kit.Must(mapper.UpdateAll(ctx, func() error {
		a.Email, b.Email = b.Email, a.Email
		a.Notes = append(a.Notes, playerNote{N: 2})
		return nil
	}, m.UpdatePart(&a, byEmail("A")), m.UpdatePart(&b, byEmail("b")),
		handmade.Elements[player, playerNote]{Node: byEmail("c"), Item: 1}.Put(playerNote{N: 2}).PatchPart(m)))(t)
	if got := emails(t, m); got != "1 b  2;2 a  1;3 c  2;" {
		t.Errorf("an exchange: %s", got)
	}
	kit.Must(mapper.UpdateAll(ctx, func() error { a.Name = "x"; return nil }, m.UpdatePart(&a, byEmail("a")),
		m.DeletePartByKey(byEmail("c"))))(t)
	if got := emails(t, m); got != "1 b  2;2 a x 1;" {
		t.Errorf("a delete: %s", got)
	}
	// a part of the entity, and nothing of the root item written
	notes := mapperimpl.Items(byEmail("a"), 1, 1)
	kit.Must(mapper.UpdateAll(ctx, func() error { a.Notes = append(a.Notes, playerNote{N: 3}); return nil },
		m.UpdatePart(&a, notes)))(t)
	if got := emails(t, m); got != "1 b  2;2 a x 2;" {
		t.Errorf("an addition: %s", got)
	}
	never := func() error { t.Error("the function was called"); return nil }
	for name, parts := range map[string][]mapper.Part{
		"a lookup and a key": {m.UpdatePart(&a, byEmail("a")), m.UpdatePart(&b, m.Key("2"))},
		"two lookups":        {m.UpdatePart(&a, byEmail("a")), m.UpdatePart(&b, byEmail("A"))},
		"one value":          {m.UpdatePart(&a, byEmail("a")), m.UpdatePart(&a, byEmail("b"))},
		"a delete":           {m.UpdatePart(&a, byEmail("a")), m.DeletePartByKey(byEmail("A"))},
	} {
		if _, err := mapper.UpdateAll(ctx, never, parts...); err == nil || !strings.Contains(err.Error(), "two parts") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := mapper.UpdateAll(ctx, never, m.UpdatePart(&a, byEmail("nobody")))
	if !errors.Is(err, mapper.ErrNotFound) || strings.Contains(err.Error(), "nobody") {
		t.Errorf("a value without an owner: %v", err)
	}
	f := &kit.Faulty{At: -1}
	empty := playersOf(t, table, kit.Client(t, f, 1)).UpdatePart(&a, byEmail(""))
	if _, err := mapper.UpdateAll(ctx, never, empty); err == nil || len(f.Log) > 0 {
		t.Errorf("an empty value: %v after %q", err, f.Log)
	}
}

// Whatever happens to the value between two requests, UpdateAll writes the entity that has it.
func TestUpdateAllFollowsTheValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	whole := func(n *query.Node[player]) query.Selection[player] { return n }
	root := func(n *query.Node[player]) query.Selection[player] { return mapperimpl.Items(n, 0, 1) }
	notes := func(n *query.Node[player]) query.Selection[player] { return mapperimpl.Items(n, 1, 1) }
	for name, c := range map[string]struct {
		sel, other func(*query.Node[player]) query.Selection[player]
		update     func(v *player)
		updated    string
	}{
		"the entity":          {whole, whole, func(v *player) { v.Notes = append(v.Notes, playerNote{N: 2}) }, " 2"},
		"its notes":           {notes, whole, func(v *player) { v.Notes = append(v.Notes, playerNote{N: 2}) }, " 2"},
		"a note":              {notes, whole, func(v *player) { v.Notes = nil }, " 0"},
		"one transaction":     {root, root, func(v *player) { v.Name = "y" }, "y 1"},
		"a patch":             {nil, whole, func(*player) {}, " 2"},
		"its value":           {root, root, func(v *player) { v.Email, v.Name = "new", "y" }, "y 1"},
		"its value and notes": {whole, whole, func(v *player) { v.Email, v.Notes = "new", nil }, " 0"},
	} {
		for event, do := range map[string]func(*mapper.Mapper[player], *mapper.Entity[player]) error{
			"change": func(m *mapper.Mapper[player], e *mapper.Entity[player]) error {
				e.Value.Email = "free"
				_, err := m.Save(ctx, e)
				return err
			},
			"spelling": func(m *mapper.Mapper[player], e *mapper.Entity[player]) error {
				e.Value.Email = strings.ToUpper(e.Value.Email)
				_, err := m.Save(ctx, e)
				return err
			},
			"move": func(m *mapper.Mapper[player], e *mapper.Entity[player]) error {
				to := e.Value.Email
				e.Value.Email = ""
				other, err := m.Load(ctx, m.Key("2"), mapper.Strong())
				if err != nil {
					return err
				}
				other.Value.Email = to
				_, err = mapper.Transact(ctx, m.SavePart(e), m.SavePart(other))
				return err
			},
			"delete": func(m *mapper.Mapper[player], e *mapper.Entity[player]) error {
				_, err := m.Delete(ctx, e)
				return err
			},
		} {
			for at := 0; ; at++ {
				table := testengine.Table(t, "PK:S", "SK:S")
				quiet := playersOf(t, table, testengine.Start(t).Client())
				kit.Must(quiet.Save(ctx, quiet.New(player{ID: "1", Email: "a", Notes: []playerNote{{N: 1}}})))(t)
				kit.Must(quiet.Save(ctx, quiet.New(player{ID: "2", Email: "b", Notes: []playerNote{{N: 1}}})))(t)
				kit.Must(quiet.Save(ctx, quiet.New(player{ID: "3", Email: "c"})))(t)
				n, written := 0, false // written reports that the event came after the write
				f := &kit.Faulty{At: -1, Late: func(*http.Request) bool {
					if n++; n == at+1 {
						e := kit.Must(quiet.Load(ctx, quiet.Key("1"), mapper.Strong()))(t)
						written = len(e.Value.Notes) != 1 || e.Value.Name != ""
						if err := do(quiet, e); err != nil {
							t.Errorf("%s: %v", event, err)
						}
					}
					return false
				}}
				m := playersOf(t, table, kit.Client(t, f, 1))
				var v, other player
				var part mapper.Part
				if c.sel != nil {
					part = m.UpdatePart(&v, c.sel(byEmail("a")))
				} else {
					notes := handmade.Elements[player, playerNote]{Node: byEmail("a"), Item: 1}
					part = notes.Put(playerNote{N: 2}).PatchPart(m)
				}
				_, err := mapper.UpdateAll(ctx, func() error {
					c.update(&v)
					other.Name = "x"
					return nil
				}, part, m.UpdatePart(&other, c.other(handmade.EntityOf(m.Key("3")).Node)))
				if n <= at {
					break
				}
				want := map[string]string{
					"change": "1 free  1;2 b  1;3 c  0;", "delete": "2 b  1;3 c  0;",
					"move": "1   1;2 a +;3 c x 0;", "spelling": "1 A +;2 b  1;3 c x 0;",
				}[event]
				want = strings.ReplaceAll(want, "+", c.updated)
				if strings.HasPrefix(name, "its value") {
					want = strings.NewReplacer("2 a", "2 new", "1 A", "1 new").Replace(want)
				}
				if written {
					t.Errorf("%s: the event before request %d is after the write", event, at)
				}
				missing := event == "change" || event == "delete"
				if got := emails(t, quiet); got != want || errors.Is(err, mapper.ErrNotFound) != missing || !missing &&
					err != nil {
					t.Errorf("%s, %s before request %d: %s, %v, want %s; requests %q", name, event, at, got, err, want,
						f.Log)
				}
			}
		}
	}
}

// The plans of calls by a lookup have the note until it was read.
func TestPlansOfWritesByLookupHaveTheNote(t *testing.T) {
	t.Parallel()
	ctx, client := context.Background(), testengine.Start(t).Client()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	first := kit.Must(mapper.New[player](client, table))(t)
	kit.Must(unique.Verify(ctx, first))(t)
	kit.Must(first.Save(ctx, first.New(player{ID: "1", Email: "a", Notes: []playerNote{{N: 1}}})))(t)
	patch := func() *mapper.ItemPatch[player, *player] {
		return handmade.Entity[player]{Node: byEmail("a")}.Patch(playerName.Set("x"))
	}
	var v player
	for what, call := range map[string]func(*mapper.Mapper[player]) (*mapper.Plan, *mapper.Receipt, error){
		"a patch": func(m *mapper.Mapper[player]) (*mapper.Plan, *mapper.Receipt, error) {
			plan, err := patch().Plan(m)
			if err != nil {
				return nil, nil, err
			}
			r, err := patch().Exec(ctx, m)
			return plan, r, err
		},
		"UpdateAll": func(m *mapper.Mapper[player]) (*mapper.Plan, *mapper.Receipt, error) {
			plan, err := mapper.PlanUpdateAll(m.UpdatePart(&v, byEmail("a")))
			if err != nil {
				return nil, nil, err
			}
			r, err := mapper.UpdateAll(ctx, func() error { v.Name += "y"; return nil }, m.UpdatePart(&v, byEmail("a")))
			return plan, r, err
		},
	} {
		m := kit.Must(mapper.New[player](client, table))(t)
		var rcu [2]float64
		for i := range rcu {
			plan, r, err := call(m)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			rcu[i] = plan.RCU.Expected
			if plan.RCU.Expected != r.Consumed.RCU || plan.Requests > r.Predicted().Requests {
				t.Errorf("%s, call %d: planned %v RCU in %d requests, consumed %v in %d", what, i, plan.RCU,
					plan.Requests, r.Consumed.RCU, r.Predicted().Requests)
			}
		}
		if rcu[0] != rcu[1]+1 {
			t.Errorf("%s: the note is not in the plan: %v RCU, then %v", what, rcu[0], rcu[1])
		}
	}
}

// chair has two fixed items.
type chair struct {
	_     struct{} `ddb:"table=chairs"`
	ID    string   `ddb:"pk=CHAIR#{ID}"`
	Email string   `ddb:"sk=HEAD,unique"`
	Note  string   `ddb:"sk=NOTE"`
}

// Items with known keys are read in one transaction, with the root items of lookups.
func TestUpdateAllByLookupReadsAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for at := 0; ; at++ {
		table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
		quiet := kit.Must(mapper.New[chair](testengine.Start(t).Client(), table))(t)
		one, two := quiet.New(chair{ID: "1", Email: "a", Note: "-"}), quiet.New(chair{ID: "2", Email: "b", Note: "-"})
		kit.Must(mapper.Transact(ctx, quiet.SavePart(one), quiet.SavePart(two)))(t)
		n := 0
		f := &kit.Faulty{At: -1, Late: func(*http.Request) bool {
			if n++; n == at+1 {
				one.Value.Email, two.Value.Email = "c", "a"
				kit.Must(mapper.Transact(ctx, quiet.SavePart(one), quiet.SavePart(two)))(t)
			}
			return false
		}}
		m := kit.Must(mapper.New[chair](kit.Client(t, f, 1), table, mapper.AssumeVerified()))(t)
		var v chair
		_, err := mapper.UpdateAll(ctx, func() error { v.Note = "x"; return nil },
			m.UpdatePart(&v, mapperimpl.Items(mapperimpl.Lookup(0, func(k *chair) { k.Email = "a" }), 1, 1)))
		atOnce := slices.Contains(f.Log, "TransactGetItems")
		if n <= at {
			break
		}
		e := kit.Must(quiet.Load(ctx, quiet.Key("2"), mapper.Strong()))(t)
		if err != nil || e.Value.Note != "x" || !atOnce {
			t.Errorf("moved before request %d: %+v, %v; requests %q", at, e.Value, err, f.Log)
		}
	}
}
