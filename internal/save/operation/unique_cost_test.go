package operation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/unique"
)

// priced is a call on unique values: its plan, the call, and its price. nil plans are those of reads before the call.
type priced struct {
	name     string
	plan     func() (*mapper.Plan, error)
	call     func() (*mapper.Receipt, error)
	wcu, rcu float64
	// refused is the price of the refused requests, which DynamoDB does not report.
	refused float64
	err     error
	// unread reports that the plan does not know what the call reads: the price is in its bounds.
	unread bool
}

// clerk makes the calls of a table.
type clerk struct {
	ctx     context.Context
	m       *mapper.Mapper[player]
	t       *testing.T
	padding string
	n       int
}

// player returns a new player with both values, and with others if it has none.
func (c *clerk) player(values bool) *mapper.Entity[player] {
	c.n++
	k := player{ID: fmt.Sprintf("%03d", c.n), Name: c.padding}
	if values {
		k.Email, k.Tenant, k.Nick = "e"+k.ID, "t", "n"+k.ID
	}
	return c.m.New(k)
}

// stored returns a player that is stored.
func (c *clerk) stored(values bool) *mapper.Entity[player] {
	e := c.player(values)
	kit.Must(c.m.Save(c.ctx, e))(c.t)
	return e
}

func (c *clerk) node(e *mapper.Entity[player]) handmade.Entity[player] {
	return handmade.EntityOf(c.m.Key(e.Value.ID))
}

func (c *clerk) save(name string, e *mapper.Entity[player], wcu, rcu float64, o ...mapper.WriteOption) priced {
	return priced{
		name: name, wcu: wcu, rcu: rcu,
		plan: func() (*mapper.Plan, error) { return c.m.PlanSave(e, o...) },
		call: func() (*mapper.Receipt, error) { return c.m.Save(c.ctx, e, o...) },
	}
}

func (c *clerk) changed(name string, change func(*player), values bool, wcu float64) priced {
	e := c.stored(values)
	change(&e.Value)
	return c.save(name, e, wcu, 0)
}

// patched is a patch of any item.
type patched interface {
	Plan(m query.Source[player], o ...mapper.WriteOption) (*mapper.Plan, error)
	Exec(ctx context.Context, m query.Source[player], o ...mapper.WriteOption) (*mapper.Receipt, error)
}

func (c *clerk) patch(name string, p patched, wcu, rcu float64) priced {
	return priced{
		name: name, wcu: wcu, rcu: rcu, unread: true,
		plan: func() (*mapper.Plan, error) { return p.Plan(c.m) },
		call: func() (*mapper.Receipt, error) { return p.Exec(c.ctx, c.m) },
	}
}

func (c *clerk) transact(name string, wcu, rcu float64, parts ...mapper.Part) priced {
	return priced{
		name: name, wcu: wcu, rcu: rcu,
		plan: func() (*mapper.Plan, error) { return mapper.PlanTransact(parts...) },
		call: func() (*mapper.Receipt, error) { return mapper.Transact(c.ctx, parts...) },
	}
}

func (c *clerk) load(name string, rcu float64, o ...mapper.ReadOption) priced {
	e := c.stored(true)
	by := byEmail(e.Value.Email)
	var r mapper.Receipt
	return priced{
		name: name, rcu: rcu, unread: true,
		plan: func() (*mapper.Plan, error) { return c.m.PlanLoad(by, o...) },
		call: func() (*mapper.Receipt, error) {
			_, err := c.m.Load(c.ctx, by, append(o, mapper.ReceiptTo(&r))...)
			return &r, err
		},
	}
}

func byEmail(email string) *query.Node[player] {
	return mapperimpl.Lookup(0, func(k *player) { k.Email = email })
}

// inserts are the rows of inserts and deletes, with a root item of w WCU and r RCU.
func (c *clerk) inserts(w, r float64) []priced {
	staged := c.player(true)
	staged.Value.Notes = []playerNote{{1, "x"}}
	moving, deleted := c.stored(true), c.stored(true)
	moving.Value.ID += "b"
	stagedly, owner := c.stored(true), c.stored(true)
	byOwner := byEmail(owner.Value.Email)
	return []priced{
		c.save("insert without values", c.player(false), w, 0),
		c.save("insert", c.player(true), 2*w+4, 0),
		c.transact("insert in a transaction", 4*w+4, 0, c.m.SavePart(c.player(true)), c.m.SavePart(c.player(false))),
		c.save("staged insert", staged, w+1+2*w+4, 2, mapper.Staged()),
		c.save("Move", moving, 4*w+4, 1, mapper.Move()),
		{
			name: "delete", wcu: w + 2, rcu: 1,
			plan: func() (*mapper.Plan, error) { return c.m.PlanDelete(deleted) },
			call: func() (*mapper.Receipt, error) { return c.m.Delete(c.ctx, deleted) },
		},
		{
			name: "staged delete", wcu: 2*w + 2, rcu: 3 * r,
			plan: func() (*mapper.Plan, error) { return c.m.PlanDelete(stagedly, mapper.Staged()) },
			call: func() (*mapper.Receipt, error) { return c.m.Delete(c.ctx, stagedly, mapper.Staged()) },
		},
		c.transact("delete in a transaction", 4*w+2, 1, c.m.DeletePart(c.stored(true)),
			c.m.SavePart(c.player(false))),
		{
			name: "delete by a lookup", wcu: w + 2, rcu: 2 + 2*r,
			call: func() (*mapper.Receipt, error) { return c.m.DeleteByKey(c.ctx, byOwner) },
		},
	}
}

// changes are the rows of changes and lookups, with a root item of w WCU and r RCU.
func (c *clerk) changes(w, r float64) []priced {
	a, b := c.stored(true), c.stored(true)
	a.Value.Email, b.Value.Email = b.Value.Email, a.Value.Email
	upsert := c.node(c.player(true)).Patch(playerEmail.Set("upsert"), playerNick.Set("alone"),
		playerName.Set(c.padding))
	taken, owner := c.player(true), c.stored(true)
	taken.Value.Email = owner.Value.Email
	refused := c.save("refused claim", taken, 0, r)
	refused.refused, refused.err = 2*w+4, mapper.ErrTaken
	root, other := byEmail(c.stored(true).Value.Email), byEmail(c.stored(true).Value.Email)
	missing := c.load("lookup without an owner", 1.5)
	var receipt mapper.Receipt
	missing.err, missing.call = mapper.ErrNotFound, func() (*mapper.Receipt, error) {
		_, err := c.m.Load(c.ctx, byEmail("nobody"), mapper.ReceiptTo(&receipt))
		return &receipt, err
	}
	set := func(email string) func(*player) { return func(k *player) { k.Email = email } }
	return []priced{
		c.changed("change of a value", set("x"), true, 2*w+4),
		c.changed("first value", set("y"), false, 2*w+2),
		c.changed("emptied", set(""), true, 2*w+2),
		c.changed("change of both", func(k *player) { k.Email, k.Nick = "z", "z" }, true, 2*w+8),
		c.changed("another field", func(k *player) { k.Ends = time.Now().Add(time.Hour) }, true, w),
		c.patch("patch of a value", c.node(c.stored(true)).Patch(playerEmail.Set("p")), 2*w+4, r),
		c.patch("patch of a first value", c.node(c.stored(false)).Patch(playerEmail.Set("q")), 2*w+2, r),
		c.patch("patch of another field", c.node(c.stored(true)).Patch(playerName.Set(c.padding)), w, 0),
		c.patch("Upsert", upsert.Upsert(), 2*w+2, 1),
		c.patch("patch of the root item by a lookup",
			handmade.Entity[player]{Node: root}.Patch(playerName.Set(c.padding)),
			w, 1+r),
		c.patch("patch of another item by a lookup", handmade.Elements[player, playerNote]{Node: other, Item: 1}.Put(
			playerNote{N: 1}), 2+2*w, 1+r),
		c.transact("swap", 4*w+4, 0, c.m.SavePart(a), c.m.SavePart(b)),
		refused,
		c.load("lookup", 0.5+r/2),
		c.load("strong lookup", 1+r, mapper.Strong()),
		missing,
	}
}

// Each call on unique values costs what its plan and the documented table say.
func TestPricesOfUniqueValues(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	for name, root := range map[string]struct {
		bytes int
		w, r  float64
	}{"1 KB": {100, 1, 1}, "6 KB": {5500, 6, 2}} {
		c := &clerk{ctx: t.Context(), t: t, padding: strings.Repeat("x", root.bytes)}
		c.m = kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.AssumeVerified(),
			mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
		for _, p := range append(c.inserts(root.w, root.r), c.changes(root.w, root.r)...) {
			p.check(t, name)
		}
	}
}

// A bulk load of entities with unique values consumes what its plan and the documented table say.
func TestPriceOfBulkLoadsWithUniqueValues(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	ctx := context.Background()
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(),
		mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	for values, wcu := range []float64{6 + 1, 2*6 + 2*1 + 2, 2*6 + 2*1 + 4} { // a root item of 6 KB and a note
		all := []player{{ID: fmt.Sprint(values), Name: strings.Repeat("x", 5500), Notes: []playerNote{{N: 1}}}}
		if values > 0 {
			all[0].Email = "bulk" + all[0].ID
		}
		if values > 1 {
			all[0].Tenant, all[0].Nick = "bulk", "n"
		}
		plan := kit.Must(m.PlanBulkLoad(mapper.NoErrors(slices.Values(all))))(t)
		r := kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all))))(t)
		if r.Entities != 1 || r.WCU != wcu || plan.WCU.Expected != wcu || !plan.WCU.Contains(wcu) {
			t.Errorf("%d values: consumed %v WCU of %v, want %v: %+v", values, r.WCU, plan.WCU, wcu, r)
		}
	}
}

// The first lookup of a field reads the note.
func TestPriceOfTheNote(t *testing.T) {
	t.Parallel()
	ctx, client := context.Background(), testengine.Start(t).Client()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	kit.Must(unique.Verify(ctx, kit.Must(mapper.New[player](client, table))(t)))(t)
	m := kit.Must(mapper.New[player](client, table))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a"})))(t)
	for _, want := range []float64{1 + 1, 1} {
		var r mapper.Receipt
		plan := kit.Must(m.PlanLoad(byEmail("a")))(t)
		kit.Must(m.Load(ctx, byEmail("a"), mapper.ReceiptTo(&r)))(t)
		if r.Consumed.RCU != want || r.Predicted().RCU.Expected != want || !plan.RCU.Contains(want) {
			t.Errorf("a lookup consumed %v RCU of %v, planned %v, want %v", r.Consumed.RCU, r.Predicted().RCU, plan.RCU,
				want)
		}
	}
}

// check compares a price with the plan, the receipt and what the engine has consumed.
func (p *priced) check(t *testing.T, root string) {
	var plan *mapper.Plan
	if p.plan != nil {
		plan = kit.Must(p.plan())(t)
	}
	r, err := p.call()
	if p.err == nil && err != nil || p.err != nil && !errors.Is(err, p.err) {
		t.Fatalf("%s, %s: %v", root, p.name, err)
	}
	all := r.Predicted()
	if r.Consumed.WCU != p.wcu || r.Consumed.RCU != p.rcu || r.Refused.Expected != p.refused ||
		all.WCU.Expected != p.wcu+p.refused || all.RCU.Expected != p.rcu {
		t.Errorf("%s, %s: consumed %+v, predicted %v, refused %v, want %v WCU, %v RCU", root, p.name, r.Consumed, all,
			r.Refused, p.wcu, p.rcu)
	}
	fits := func(u cost.Units, n float64) bool { return u.Contains(n) && (p.unread || u.Expected == n) }
	if plan != nil && p.err == nil && (!fits(plan.WCU, p.wcu) || !fits(plan.RCU, p.rcu)) {
		t.Errorf("%s, %s: planned %v, want %v WCU, %v RCU", root, p.name, plan, p.wcu, p.rcu)
	}
}
