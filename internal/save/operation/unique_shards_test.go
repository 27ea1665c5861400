package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/unique"
)

// A guest on one of three shards, chosen by a field or drawn, and while their number changes from 2 to 3.
type (
	guest struct {
		_     struct{}  `ddb:"table=guests,ttl=ends,shards=3,shardby=ID"`
		Inn   string    `ddb:"pk=INN#{Inn}#{shard}"`
		ID    string    `ddb:"sk=G#{ID}#HEAD"`
		Email string    `ddb:"sk=G#{ID}#HEAD,unique,as='guest#email'"`
		Name  string    `ddb:"sk=G#{ID}#HEAD"`
		Ends  time.Time `ddb:"sk=G#{ID}#HEAD,ttl,all"`
		Bags  []bag     `ddb:"sk=G#{^ID}#BAG#{N:02}"`
	}
	guestDrawn struct {
		_     struct{}  `ddb:"table=guests,ttl=ends,shards=3,shardby=random"`
		Inn   string    `ddb:"pk=INN#{Inn}#{shard}"`
		ID    string    `ddb:"sk=G#{ID}#HEAD"`
		Email string    `ddb:"sk=G#{ID}#HEAD,unique,as='guest#email'"`
		Name  string    `ddb:"sk=G#{ID}#HEAD"`
		Ends  time.Time `ddb:"sk=G#{ID}#HEAD,ttl,all"`
		Bags  []bag     `ddb:"sk=G#{^ID}#BAG#{N:02}"`
	}
	guestEarly struct {
		_     struct{}  `ddb:"table=guests,ttl=ends,shards='2,3',shardby=ID"`
		Inn   string    `ddb:"pk=INN#{Inn}#{shard}"`
		ID    string    `ddb:"sk=G#{ID}#HEAD"`
		Email string    `ddb:"sk=G#{ID}#HEAD,unique,as='guest#email'"`
		Name  string    `ddb:"sk=G#{ID}#HEAD"`
		Ends  time.Time `ddb:"sk=G#{ID}#HEAD,ttl,all"`
		Bags  []bag     `ddb:"sk=G#{^ID}#BAG#{N:02}"`
	}
	guestLate struct {
		_     struct{}  `ddb:"table=guests,ttl=ends,shards='3,2',shardby=ID"`
		Inn   string    `ddb:"pk=INN#{Inn}#{shard}"`
		ID    string    `ddb:"sk=G#{ID}#HEAD"`
		Email string    `ddb:"sk=G#{ID}#HEAD,unique,as='guest#email'"`
		Name  string    `ddb:"sk=G#{ID}#HEAD"`
		Ends  time.Time `ddb:"sk=G#{ID}#HEAD,ttl,all"`
		Bags  []bag     `ddb:"sk=G#{^ID}#BAG#{N:02}"`
	}
	bag struct{ N int }

	aGuest interface {
		guest | guestDrawn | guestEarly | guestLate
	}
)

// lobby has the guests of one program.
type lobby[G aGuest] struct {
	t   *testing.T
	ctx context.Context
	m   *mapper.Mapper[G]
}

func newLobby[G aGuest](t *testing.T, table string) *lobby[G] {
	m := kit.Must(mapper.New[G](testengine.Start(t).Client(), mapper.Table(table), mapper.AssumeVerified()))(t)
	return &lobby[G]{t, context.Background(), m}
}

func (l *lobby[G]) by(email string) *query.Node[G] {
	return mapperimpl.Lookup(0, func(g *G) { (*guest)(unsafe.Pointer(g)).Email = email })
}

func (l *lobby[G]) find(email string) *guest {
	l.t.Helper()
	e, err := l.m.Load(l.ctx, l.by(email))
	if errors.Is(err, mapper.ErrNotFound) {
		return nil
	}
	g := guest(kit.Must(e, err)(l.t).Value)
	return &g
}

func (l *lobby[G]) is(email string, want *guest) {
	l.t.Helper()
	got := l.find(email)
	if (got == nil) != (want == nil) || got != nil && fmt.Sprint(*got) != fmt.Sprint(*want) {
		l.t.Errorf("%s: got %v, want %v", email, got, want)
	}
}

func (l *lobby[G]) insert(g guest, o ...mapper.WriteOption) error {
	return kit.Err(l.m.Save(l.ctx, l.m.New(G(g)), o...))
}

// update changes the guest with an e-mail address.
func (l *lobby[G]) update(email string, change func(*guest), o ...mapper.WriteOption) error {
	return kit.Err(l.m.Update(l.ctx, l.by(email), func(v *G) error {
		change((*guest)(unsafe.Pointer(v)))
		return nil
	}, o...))
}

// rename patches the name of the guest with an e-mail address.
func (l *lobby[G]) rename(email, name string) *mapper.ItemPatch[G, *G] {
	f := handmade.String("Name", "", func(v *G) *string { return &(*guest)(unsafe.Pointer(v)).Name })
	return handmade.Entity[G]{Node: l.by(email)}.Patch(f.Set(name))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// calls makes each call of a program by lookups.
func (l *lobby[G]) calls(t *testing.T) {
	taken := func(err error) {
		t.Helper()
		if !errors.Is(err, mapper.ErrTaken) {
			t.Errorf("got %v, want ErrTaken", err)
		}
	}
	a := guest{Inn: "i", ID: "1", Email: "a", Bags: []bag{{1}}}
	b := guest{Inn: "i", ID: "2", Email: "b"}
	must(t, l.insert(a))
	must(t, l.insert(b, mapper.Staged()))
	taken(l.insert(guest{Inn: "i", ID: "3", Email: "a"}))
	taken(l.insert(guest{Inn: "j", ID: "1", Email: "a", Bags: []bag{{1}}}, mapper.Staged()))
	l.is("a", &a)
	l.is("b", &b)
	kit.Must(l.rename("a", "ann").Exec(l.ctx, l.m))(t)
	kit.Must(mapper.Transact(l.ctx, l.rename("b", "bob").PatchPart(l.m)))(t)
	a.Name, b.Name = "ann", "bob"
	l.is("a", &a)
	l.is("b", &b)
	taken(l.update("a", func(g *guest) { g.Email = "b" }))
	must(t, l.update("a", func(g *guest) { g.Email, g.Bags = "c", append(g.Bags, bag{2}) }))
	a.Email, a.Bags = "c", append(a.Bags, bag{2})
	l.is("a", nil)
	l.is("c", &a)
	var receipt mapper.Receipt
	loaded := kit.Must(l.m.Load(l.ctx, l.by("c"), mapper.ReceiptTo(&receipt)))(t)
	p := kit.Must(l.m.PlanLoad(l.by("c")))(t)
	if got := receipt.Consumed.RCU; !p.RCU.Contains(got) || receipt.Predicted().RCU.Expected != got {
		t.Errorf("a lookup consumed %v RCU, planned %v: %+v", got, p, receipt)
	}
	// One entity leaves the value that another one gets.
	c := guest{Inn: "i", ID: "9", Email: "c"}
	kit.Must(mapper.Transact(l.ctx, l.m.DeletePart(loaded), l.m.SavePart(l.m.New(G(c)))))(t)
	l.is("c", &c)
	kit.Must(l.m.DeleteByKey(l.ctx, l.by("c")))(t)
	l.is("c", nil)
	must(t, l.insert(guest{Inn: "i", ID: "4", Email: "c"}))
	for _, email := range []string{"b", "c"} {
		kit.Must(l.m.DeleteByKey(l.ctx, l.by(email)))(t)
	}
}

// Guards name owners with their shards, so that entities are found, changed and deleted by their values, also if the
// shard was drawn.
func TestUniqueValuesOnShards(t *testing.T) {
	table := func(t *testing.T) string { return testengine.Table(t, "PK:S", "SK:S") }
	t.Run("by a field", func(t *testing.T) { newLobby[guest](t, table(t)).calls(t) })
	t.Run("drawn", func(t *testing.T) { newLobby[guestDrawn](t, table(t)).calls(t) })
	t.Run("early", func(t *testing.T) { newLobby[guestEarly](t, table(t)).calls(t) })
	t.Run("late", func(t *testing.T) { newLobby[guestLate](t, table(t)).calls(t) })
}

// An entity keeps its values when it moves to another shard, and an insert on another shard finds that the entity
// exists.
func TestValuesMoveWithTheShard(t *testing.T) {
	table := testengine.Table(t, "PK:S", "SK:S")
	early, late := newLobby[guestEarly](t, table), newLobby[guestLate](t, table)
	for n := range 12 {
		g := guest{Inn: "i", ID: fmt.Sprint(n), Email: fmt.Sprint("e", n), Bags: []bag{{1}}}
		must(t, early.insert(g))
		for name, err := range map[string]error{"insert": late.insert(g), "staged": late.insert(g, mapper.Staged())} {
			if !errors.Is(err, mapper.ErrExists) || errors.Is(err, mapper.ErrTaken) {
				t.Errorf("%s of %d: %v, want ErrExists", name, n, err)
			}
		}
		early.is(g.Email, &g)
		must(t, late.update(g.Email, func(*guest) {}, mapper.Move()))
		early.is(g.Email, &g)
		must(t, early.update(g.Email, func(v *guest) { v.Email += "x" }))
		g.Email += "x"
		late.is(g.Email, &g)
	}
	if got := guardKeys(t, table); len(got) != 12 {
		t.Errorf("guards: %q", got)
	}
}

// Independent does not leave out the check of the other shard, also if guards or external values are written with the
// root item.
func TestIndependentInsertsCheckTheOtherShard(t *testing.T) {
	table := testengine.Table(t, "PK:S", "SK:S")
	early, late := newLobby[guestEarly](t, table), newLobby[guestLate](t, table)
	for n := range 12 {
		g := guest{Inn: "i", ID: fmt.Sprint(n), Email: fmt.Sprint("e", n)}
		must(t, early.insert(g))
		moves := kit.Err(late.m.Load(late.ctx, late.m.Key("i", g.ID))) == nil
		g.Email += "x"
		if err := late.insert(g, mapper.Independent()); err == nil {
			t.Errorf("%d: a second entity with the key was inserted (%v)", n, moves)
		}
	}
	ids := map[string]int{}
	for e, err := range late.m.Scan(late.ctx) {
		ids[guest(kit.Must(e, err)(t).Value).ID]++
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("%s exists %d times", id, n)
		}
	}
}

// An update by a lookup adds an element while the number of shards changes: one check of the root item serves both.
func TestUpdatesByLookupAddItemsWhileShardsChange(t *testing.T) {
	for _, o := range [][]mapper.WriteOption{
		nil,
		{mapper.CheckRoot()},
		{mapper.CheckLoaded()},
		{mapper.ExactlyOnce()},
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		early, late := newLobby[guestEarly](t, table), newLobby[guestLate](t, table)
		for n := range 6 {
			email := fmt.Sprint("e", n)
			must(t, early.insert(guest{Inn: "i", ID: fmt.Sprint(n), Email: email}))
			must(t, late.update(email, func(v *guest) { v.Bags = append(v.Bags, bag{1}) }, o...))
			must(t, early.update(email, func(v *guest) { v.Bags = append(v.Bags, bag{2}) }, mapper.Move()))
			if g := late.find(email); g == nil || len(g.Bags) != 2 {
				t.Errorf("%d: %+v", n, g)
			}
		}
	}
}

// UpdateAll by lookups finds the entities on the shards of both programs.
func TestUpdateAllByLookupWhileShardsChange(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	early, late := newLobby[guestEarly](t, table), newLobby[guestLate](t, table)
	for n := range 8 {
		for i, o := range [][]mapper.WriteOption{nil, {mapper.CheckRoot()}, {mapper.CheckLoaded()}} {
			one, two := fmt.Sprint("one", n, i), fmt.Sprint("two", n, i)
			must(t, early.insert(guest{Inn: "i", ID: one, Email: one}))
			must(t, late.insert(guest{Inn: "i", ID: two, Email: two}))
			must(t, late.exchange(one, two, o...))
			must(t, early.exchange(two, one, o...))
			a, b := late.find(one), early.find(two)
			if a == nil || b == nil || a.ID != one || b.ID != two || len(a.Bags) != 2 || len(b.Bags) != 2 {
				t.Errorf("%d, %d: %+v, %+v", n, i, a, b)
			}
		}
	}
	if r := kit.Must(unique.Verify(late.ctx, late.m))(t); !r.Verified() || r.Entities != 48 || r.Guarded != 48 {
		t.Errorf("%+v", r)
	}
}

// exchange exchanges two e-mail addresses, and gives both guests a bag.
func (l *lobby[G]) exchange(one, two string, o ...mapper.WriteOption) error {
	var v, w G
	a, b := (*guest)(unsafe.Pointer(&v)), (*guest)(unsafe.Pointer(&w))
	return kit.Err(mapper.UpdateAll(l.ctx, func() error {
		a.Email, b.Email = b.Email, a.Email
		a.Bags, b.Bags = append(a.Bags, bag{len(a.Bags)}), append(b.Bags, bag{len(b.Bags)})
		return nil
	}, l.m.UpdatePart(&v, l.by(one), o...), l.m.UpdatePart(&w, l.by(two), o...)))
}

// An insert on another shard deletes the expired root item whose value it takes: a late save cannot restore that one,
// and verify finds no fault.
func TestInsertsOnAnotherShardDeleteTheExpiredOwner(t *testing.T) {
	for name, o := range map[string][]mapper.WriteOption{"at once": nil, "staged": {mapper.Staged()}} {
		table := testengine.Table(t, "PK:S", "SK:S")
		early, late := newLobby[guestEarly](t, table), newLobby[guestLate](t, table)
		for n := range 6 {
			g := guest{Inn: "i", ID: fmt.Sprint(n), Email: fmt.Sprint("e", n), Ends: time.Now().Add(-time.Hour)}
			must(t, early.insert(g))
			g.Ends = time.Time{}
			must(t, late.insert(g, o...))
			if n%2 == 0 {
				must(t, late.update(g.Email, func(v *guest) { v.Email += "x" }))
			}
		}
		if r := kit.Must(unique.Verify(late.ctx, late.m))(t); !r.Verified() || r.Entities != 6 || r.Guarded != 6 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Each option with each change, by a key and by a lookup, from both programs: a call succeeds as a whole, or is refused
// before DynamoDB refuses the request, and no entity exists twice.
func TestOptionsOfWritesWithGuardsOnShards(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	early, late := newLobby[guestEarly](t, table), newLobby[guestLate](t, table)
	n := 0
	for _, first := range []program{early, late} {
		for _, second := range []program{early, late} {
			for option, o := range map[string][]mapper.WriteOption{
				"none": nil, "Independent": {mapper.Independent()}, "Staged": {mapper.Staged()},
				"Move":        {mapper.Move()},
				"ExactlyOnce": {mapper.ExactlyOnce()}, "CheckRoot": {mapper.CheckRoot()}, "Reindex": {mapper.Reindex()},
				"CheckLoaded": {mapper.CheckLoaded()},
			} {
				for what, change := range map[string]func(*guest){
					"nothing": func(*guest) {}, "add": func(g *guest) { g.Bags = append(g.Bags, bag{9}) },
					"value": func(g *guest) { g.Email += "x" }, "field": func(g *guest) { g.Name = "y" },
					"both":   func(g *guest) { g.Email, g.Bags = g.Email+"x", append(g.Bags, bag{9}) },
					"remove": func(g *guest) { g.Bags = nil }, "empty": func(g *guest) { g.Email = "" },
				} {
					for _, lookup := range []bool{false, true} {
						n++
						g := guest{Inn: "i", ID: fmt.Sprint(n), Email: fmt.Sprint("e", n), Bags: []bag{{1}}}
						must(t, first.insert(g))
						name := fmt.Sprintf("%T, %T, %s, %s, by lookup %v", first, second, option, what, lookup)
						playTwice(t, name, g, second, change, lookup, o)
					}
				}
			}
		}
	}
	if r := kit.Must(unique.Verify(late.ctx, late.m))(t); !r.Verified() || r.Entities != n {
		t.Errorf("%d entities: %+v", n, r)
	}
}

// program is a lobby of any program.
type program interface {
	insert(g guest, o ...mapper.WriteOption) error
	change(g guest, lookup bool, change func(*guest), o ...mapper.WriteOption) error
	loaded(id string) (guest, error)
	find(email string) *guest
}

func (l *lobby[G]) change(g guest, lookup bool, change func(*guest), o ...mapper.WriteOption) error {
	var of query.Selection[G] = l.m.Key(g.Inn, g.ID)
	if lookup {
		of = l.by(g.Email)
	}
	return kit.Err(l.m.Update(l.ctx, of, func(v *G) error {
		change((*guest)(unsafe.Pointer(v)))
		return nil
	}, o...))
}

func (l *lobby[G]) loaded(id string) (guest, error) {
	e, err := l.m.Load(l.ctx, l.m.Key("i", id), mapper.Strong())
	if err != nil {
		return guest{}, err
	}
	return guest(e.Value), nil
}

// playTwice inserts an entity again, and changes it.
func playTwice(t *testing.T, name string, g guest, l program, change func(*guest), lookup bool,
	o []mapper.WriteOption,
) {
	again, want := g, g
	again.Email += "again"
	if err := l.insert(again, o...); err == nil {
		t.Errorf("%s: the entity was inserted twice", name)
	}
	err := l.change(g, lookup, change, o...)
	if err == nil {
		change(&want)
	} else if strings.Contains(err.Error(), "ValidationException") || errors.As(err, new(*mapper.PartialError)) {
		t.Errorf("%s: %v", name, err)
	}
	if got, err := l.loaded(g.ID); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
	}
	if want.Email == "" {
		return
	}
	if got := l.find(want.Email); got == nil || got.ID != g.ID {
		t.Errorf("%s: a lookup found %+v", name, got)
	}
}
