package explore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// person has two unique values.
type person struct {
	_      struct{}  `ddb:"table=docs,ttl=expires"`
	House  string    `ddb:"-"`
	ID     string    `ddb:"pk=ID#{ID}"`
	Email  string    `ddb:"sk=HEAD,unique"`
	Tenant string    `ddb:"sk=HEAD"`
	Nick   string    `ddb:"sk=HEAD,unique='Tenant,Nick'"`
	Mark   string    `ddb:"sk=HEAD"`
	Until  time.Time `ddb:"sk=HEAD,ttl,all"`
	Parts  []part    `ddb:"sk=M#{Name}"`
}

// detached is a person whose guards are in a table of their own.
type detached struct {
	_      struct{}  `ddb:"table=docs,ttl=expires"`
	House  string    `ddb:"-"`
	ID     string    `ddb:"pk=ID#{ID}"`
	Email  string    `ddb:"sk=HEAD,unique,guards=guards,as='person#Email'"`
	Tenant string    `ddb:"sk=HEAD"`
	Nick   string    `ddb:"sk=HEAD,unique='Tenant,Nick',guards=guards,as='person#Tenant,Nick'"`
	Mark   string    `ddb:"sk=HEAD"`
	Until  time.Time `ddb:"sk=HEAD,ttl,all"`
	Parts  []part    `ddb:"sk=M#{Name}"`
}

// lodger is a person on a shard. Their number changes from 2 to 3: early programs write 2, and late ones 3.
type lodger struct {
	_      struct{}  `ddb:"table=docs,ttl=expires,shards=3,shardby=ID"`
	House  string    `ddb:"pk=HOUSE#{House}#{shard}"`
	ID     string    `ddb:"sk=ID#{ID}#HEAD"`
	Email  string    `ddb:"sk=ID#{ID}#HEAD,unique,as='person#Email'"`
	Tenant string    `ddb:"sk=ID#{ID}#HEAD"`
	Nick   string    `ddb:"sk=ID#{ID}#HEAD,unique='Tenant,Nick',as='person#Tenant,Nick'"`
	Mark   string    `ddb:"sk=ID#{ID}#HEAD"`
	Until  time.Time `ddb:"sk=ID#{ID}#HEAD,ttl,all"`
	Parts  []part    `ddb:"sk=ID#{^ID}#M#{Name}"`
}

type early struct {
	_      struct{}  `ddb:"table=docs,ttl=expires,shards='2,3',shardby=ID"`
	House  string    `ddb:"pk=HOUSE#{House}#{shard}"`
	ID     string    `ddb:"sk=ID#{ID}#HEAD"`
	Email  string    `ddb:"sk=ID#{ID}#HEAD,unique,as='person#Email'"`
	Tenant string    `ddb:"sk=ID#{ID}#HEAD"`
	Nick   string    `ddb:"sk=ID#{ID}#HEAD,unique='Tenant,Nick',as='person#Tenant,Nick'"`
	Mark   string    `ddb:"sk=ID#{ID}#HEAD"`
	Until  time.Time `ddb:"sk=ID#{ID}#HEAD,ttl,all"`
	Parts  []part    `ddb:"sk=ID#{^ID}#M#{Name}"`
}

type late struct {
	_      struct{}  `ddb:"table=docs,ttl=expires,shards='3,2',shardby=ID"`
	House  string    `ddb:"pk=HOUSE#{House}#{shard}"`
	ID     string    `ddb:"sk=ID#{ID}#HEAD"`
	Email  string    `ddb:"sk=ID#{ID}#HEAD,unique,as='person#Email'"`
	Tenant string    `ddb:"sk=ID#{ID}#HEAD"`
	Nick   string    `ddb:"sk=ID#{ID}#HEAD,unique='Tenant,Nick',as='person#Tenant,Nick'"`
	Mark   string    `ddb:"sk=ID#{ID}#HEAD"`
	Until  time.Time `ddb:"sk=ID#{ID}#HEAD,ttl,all"`
	Parts  []part    `ddb:"sk=ID#{^ID}#M#{Name}"`
}

type human interface {
	person | detached | lodger | early | late
}

// inPerson is the pointer to a field of a person, whose layout in memory all humans have.
func inPerson[P human](field func(v *person) *string) func(v *P) *string {
	return func(v *P) *string { return field((*person)(unsafe.Pointer(v))) }
}

// lookUp returns the selection of a lookup.
func lookUp[P human](s sought) *query.Node[P] {
	return mapperimpl.Lookup(s.u, func(v *P) {
		p := person(*v)
		if s.u == 0 {
			p.Email = s.value
		} else {
			p.Tenant, p.Nick, _ = cutTuple(s.value)
		}
		*v = P(p)
	})
}

func cutTuple(value string) (tenant, nick string, ok bool) {
	_, err := fmt.Sscanf(value, "%1s#%s", &tenant, &nick)
	return tenant, nick, err == nil
}

func ownedOf(v person) owned { return owned{v.Email, v.Tenant, v.Nick} }

func pick[V any](r *rand.Rand, all []V) V { return all[r.IntN(len(all))] }

// personActor is one of the actors of a run, with its own choices.
type personActor[P human] struct {
	*people
	*rand.Rand
	name string
	ctx  context.Context
	net  *explore.Transport
	m    *mapper.Mapper[P]
	// unwatched reports that the client does not pass on the options of calls.
	unwatched bool
}

func mapperOf[P human](x *people, client mapper.Client) *mapper.Mapper[P] {
	m, err := mapper.New[P](client, mapper.Tables(func(name string) string { return x.lab.table[name] }),
		mapper.ExpiryMargin(x.margin), mapper.AssumeVerified())
	if err != nil {
		panic(err)
	}
	door.Mapper.Model(m).Now = func() time.Time { return x.now }
	return m
}

// call runs a call, and records it.
func (a *personActor[P]) call(o *personOp, do func(ctx context.Context) error) error {
	o.what = a.name + " " + o.what
	o.from = len(a.moments) - 1
	a.run.Trace = append(a.run.Trace, "  "+o.what)
	o.err = do(context.WithValue(a.ctx, opKey{}, o))
	o.to, o.crashed = len(a.moments)-1, a.net.Crashed()
	o.certain = !a.net.Faulty && !a.net.Refused && !a.unwatched
	a.run.Trace = append(a.run.Trace, fmt.Sprintf("  %s ends: %v", o.what, o.err))
	a.ops = append(a.ops, o)
	a.judge(o)
	return o.err
}

// values draws the values of an entity.
func (a *personActor[P]) values() owned {
	o := owned{email: pick(a.Rand, a.emails), tenant: pick(a.Rand, a.tenants)}
	if a.narrow {
		if slices.Contains(a.kinds, "save") && a.IntN(3) == 0 {
			o.email = ""
		}
		return owned{email: o.email}
	}
	if a.IntN(3) == 0 {
		o.email = ""
	}
	if a.IntN(3) > 0 {
		o.nick = pick(a.Rand, a.nicks)
	}
	return o
}

func (a *personActor[P]) until() time.Time {
	n := 4
	if slices.Contains(a.kinds, "tick") {
		n = 2
	}
	if a.IntN(n) > 0 {
		return time.Time{}
	}
	return a.now.Add(30 * time.Minute)
}

// wanting reports whether values are in the way of an entity's.
func wanting(all ...owned) func(int, rootState) bool {
	return func(u int, r rootState) bool {
		return slices.ContainsFunc(all, func(o owned) bool { return o.value(u) != "" && o.value(u) == r.value(u) })
	}
}

func (a *personActor[P]) newMark() string {
	return fmt.Sprint(a.name, "-", len(a.ops), "-", a.IntN(1000))
}

// key is the key of an entity.
func (a *personActor[P]) key(id string) *query.Key[P] {
	if a.onShards() {
		return a.m.Key(house, id)
	}
	return a.m.Key(id)
}

// fresh returns a new entity.
func (a *personActor[P]) fresh(id string, o owned, mark string) *mapper.Entity[P] {
	v := person{House: house, ID: id, Email: o.email, Tenant: o.tenant, Nick: o.nick, Mark: mark, Until: a.until()}
	for i := range a.IntN(3) {
		v.Parts = append(v.Parts, part{fmt.Sprint("P", i), mark})
	}
	return a.m.New(P(v))
}

// has reports whether a moment has an entity with a mark and values.
func has(id, mark string, o owned) func(moment) bool {
	return func(m moment) bool {
		r := m.roots[id]
		return r.live && r.mark == mark && r.owned == o
	}
}

func (a *personActor[P]) insert(id string, o owned) error {
	mark := a.newMark()
	e := a.fresh(id, o, mark)
	staged := stagedIf(a.IntN(2) < a.staged)
	op := &personOp{
		what: fmt.Sprint("inserts ", id, o, len(staged)), mark: mark, ids: []string{id}, wants: wanting(o),
		parts: len(person(e.Value).Parts), done: has(id, mark, o),
	}
	return a.call(op, func(ctx context.Context) error {
		_, err := a.m.Save(ctx, e, staged...)
		return err
	})
}

// load loads an entity, nil for none.
func (a *personActor[P]) load(id string) (e *mapper.Entity[P]) {
	options := []mapper.ReadOption{mapper.Strong()}
	if a.IntN(3) == 0 {
		options = nil
	}
	e, err := a.m.Load(a.ctx, a.key(id), options...)
	if err != nil {
		return nil
	}
	return e
}

// change changes some values.
func (a *personActor[P]) change(v *person) {
	o := a.values()
	switch a.IntN(4) {
	case 0:
		v.Email = o.email
	case 1:
		v.Tenant = o.tenant
	case 2:
		v.Nick = o.nick
	case 3:
		v.Email, v.Tenant, v.Nick = o.email, o.tenant, o.nick
	}
	if a.IntN(4) == 0 {
		v.Until = a.until()
	}
}

func (a *personActor[P]) save(id string) {
	e := a.load(id)
	if e == nil {
		return
	}
	mark := a.newMark()
	v := person(e.Value)
	a.change(&v)
	v.Mark = mark
	e.Value = P(v)
	o := ownedOf(v)
	op := &personOp{
		what: fmt.Sprint("saves ", id, o), mark: mark, ids: []string{id}, wants: wanting(o), done: has(id, mark, o),
	}
	_ = a.call(op, func(ctx context.Context) error {
		_, err := a.m.Save(ctx, e)
		return err
	})
}

// update changes an entity by its key or a lookup, with retries.
func (a *personActor[P]) update(id string) {
	mark := a.newMark()
	var last person
	var all []owned
	op := &personOp{what: "updates " + id, mark: mark, ids: []string{id}}
	var of query.Selection[P] = a.key(id)
	if a.IntN(2) == 0 {
		s := pick(a.Rand, a.all())
		op.what, op.lookup, op.ids, of = fmt.Sprint("updates the owner of ", s), &s, nil, lookUp[P](s)
	}
	op.wants = func(u int, r rootState) bool { return wanting(all...)(u, r) }
	op.done = func(m moment) bool { return has(last.ID, mark, ownedOf(last))(m) }
	change := func(p *P) error {
		v := person(*p)
		op.ids = append(op.ids, v.ID) // an update by a lookup saves the entity as it was loaded
		a.change(&v)
		v.Mark = mark
		last, all = v, append(all, ownedOf(v))
		*p = P(v)
		return nil
	}
	write := a.m.Update
	if a.IntN(3) == 0 {
		op.what += " (UpdateAll)"
		write = func(ctx context.Context, s query.Selection[P], update func(*P) error, o ...mapper.WriteOption) (
			*mapper.Receipt, error,
		) {
			var p P
			return mapper.UpdateAll(ctx, func() error { return update(&p) }, a.m.UpdatePart(&p, s, o...))
		}
	}
	_ = a.call(op, func(ctx context.Context) error {
		_, err := write(ctx, of, change)
		return err
	})
}

// patch returns a patch of an entity, and the function that says whether it needs a value.
func (a *personActor[P]) patch(n *query.Node[P], mark string) (
	*mapper.ItemPatch[P, *P], func(int, rootState) bool,
) {
	e, o, kind := handmade.Entity[P]{Node: n}, a.values(), a.IntN(6)
	wants := func(u int, r rootState) bool {
		switch {
		case u == 0:
			return (kind == 0 || kind == 3) && r.email == o.email
		case kind == 1 || kind == 3:
			return r.nick == o.nick
		}
		return kind == 2 && r.tenant == o.tenant
	}
	text := func(name string, at func(*person) *string) *field.String[*P, string] {
		return handmade.String(name, "", inPerson[P](at))
	}
	emailOf := text("Email", func(v *person) *string { return &v.Email })
	tenantOf := text("Tenant", func(v *person) *string { return &v.Tenant })
	nickOf := text("Nick", func(v *person) *string { return &v.Nick })
	set := text("Mark", func(v *person) *string { return &v.Mark }).Set(mark)
	email := emailOf.Set(o.email)
	if o.email == "" {
		email = emailOf.Remove()
	}
	switch kind {
	case 0:
		return e.Patch(set, email), wants
	case 1:
		return e.Patch(set, nickOf.Set(o.nick)), wants
	case 2:
		return e.Patch(set, tenantOf.Set(o.tenant)), wants
	case 3:
		return e.Patch(set, email, nickOf.Set(o.nick)), wants
	case 4:
		return e.Patch(set, nickOf.Remove()), wants
	}
	return e.Patch(set), wants
}

// marked reports whether a moment has an entity with the mark.
func marked(id, mark string) func(moment) bool {
	return func(m moment) bool { return (id == "" || m.roots[id].live) && slices.Contains(m.marks(), mark) }
}

func (m moment) marks() (all []string) {
	for _, r := range m.roots {
		if r.live {
			all = append(all, r.mark)
		}
	}
	return all
}

func (a *personActor[P]) patches(id string) {
	mark := a.newMark()
	op := &personOp{what: "patches " + id, mark: mark, ids: []string{id}, done: marked(id, mark)}
	n := handmade.Node(a.key(id))
	if a.IntN(3) == 0 {
		s := pick(a.Rand, a.all())
		op.what, op.lookup, op.ids, op.done = fmt.Sprint("patches the owner of ", s), &s, nil, marked("", mark)
		n = lookUp[P](s)
	}
	p, wants := a.patch(n, mark)
	op.wants = wants
	switch {
	case op.lookup == nil && a.IntN(3) == 0 && a.layout != resharding:
		p, op.what = p.Upsert(), op.what+" (upsert)"
	case a.IntN(4) == 0:
		p = p.IfEntityExists()
	}
	other := pick(a.Rand, a.ids)
	if op.lookup != nil && a.IntN(3) == 0 { // and another entity with some of the values
		o := a.values()
		e := a.fresh(other, o, mark)
		also := wanting(o)
		op.wants, op.rivals = func(u int, r rootState) bool { return wants(u, r) || also(u, r) }, true
		op.what, op.ids = fmt.Sprint(op.what, " and inserts ", other, o), append(op.ids, other)
		_ = a.call(op, func(ctx context.Context) error {
			_, err := mapper.Transact(ctx, p.PatchPart(a.m), a.m.SavePart(e))
			return err
		})
		return
	}
	if a.IntN(4) > 0 || slices.Contains(op.ids, other) || op.lookup != nil || a.layout == resharding {
		_ = a.call(op, func(ctx context.Context) error {
			_, err := p.Exec(ctx, a.m)
			return err
		})
		return
	}
	q, also := a.patch(handmade.Node(a.key(other)), mark)
	op.wants, op.rivals = func(u int, r rootState) bool { return wants(u, r) || also(u, r) }, true
	op.what, op.ids = op.what+" and "+other, append(op.ids, other)
	_ = a.call(op, func(ctx context.Context) error {
		_, err := mapper.Transact(ctx, p.PatchPart(a.m), q.PatchPart(a.m))
		return err
	})
}

// lacks reports whether a moment lacks an entity.
func lacks(id string) func(moment) bool { return func(m moment) bool { return !m.roots[id].is() } }

func (a *personActor[P]) delete(id string) {
	staged := stagedIf(a.IntN(3) < a.staged)
	op := &personOp{what: fmt.Sprint("deletes ", id, len(staged)), ids: []string{id}, done: lacks(id)}
	switch a.IntN(3) {
	case 0:
		e := a.load(id)
		if e == nil {
			return
		}
		op.what += " loaded"
		_ = a.call(op, func(ctx context.Context) error {
			_, err := a.m.Delete(ctx, e, staged...)
			return err
		})
	case 1:
		_ = a.call(op, func(ctx context.Context) error {
			_, err := a.m.DeleteByKey(ctx, a.key(id), staged...)
			return err
		})
	case 2:
		s := pick(a.Rand, a.all())
		op.what, op.lookup, op.ids = fmt.Sprint("deletes the owner of ", s), &s, nil
		op.done = func(m moment) bool { return m.owner(s.u, s.value) == "" }
		_ = a.call(op, func(ctx context.Context) error {
			_, err := a.m.DeleteByKey(ctx, lookUp[P](s))
			return err
		})
	}
}

// move moves an entity to another key, perhaps with other values.
func (a *personActor[P]) move(id, to string) {
	e := a.load(id)
	if e == nil || id == to {
		return
	}
	mark := a.newMark()
	v := person(e.Value)
	v.ID, v.Mark = to, mark
	if a.IntN(3) == 0 {
		a.change(&v)
	}
	e.Value = P(v)
	o := ownedOf(v)
	done := func(m moment) bool { return has(to, mark, o)(m) && m.roots[id].mark != mark }
	op := &personOp{
		what: fmt.Sprint("moves ", id, " to ", to, o), mark: mark, ids: []string{id, to}, wants: wanting(o), done: done,
	}
	_ = a.call(op, func(ctx context.Context) error {
		_, err := a.m.Save(ctx, e, mapper.Move())
		return err
	})
}

// swap exchanges values of two entities.
func (a *personActor[P]) swap(one, two string) {
	if one == two {
		return
	}
	e, f := a.load(one), a.load(two)
	if e == nil || f == nil {
		return
	}
	mark := a.newMark()
	v, w := person(e.Value), person(f.Value)
	v.Mark, w.Mark = mark, mark
	v.Email, w.Email = w.Email, v.Email
	if a.IntN(2) == 0 {
		v.Nick, w.Nick, v.Tenant, w.Tenant = w.Nick, v.Nick, w.Tenant, v.Tenant
	}
	e.Value, f.Value = P(v), P(w)
	o, p := ownedOf(v), ownedOf(w)
	done := func(m moment) bool { return has(one, mark, o)(m) && has(two, mark, p)(m) }
	op := &personOp{
		what: "swaps " + one + " " + two, mark: mark, ids: []string{one, two}, wants: wanting(o, p), done: done,
	}
	_ = a.call(op, func(ctx context.Context) error {
		_, err := mapper.Transact(ctx, a.m.SavePart(e), a.m.SavePart(f))
		return err
	})
}

// replace deletes an entity, and inserts another with its values.
func (a *personActor[P]) replace(id, by string) {
	e := a.load(id)
	if e == nil || id == by {
		return
	}
	mark, o := a.newMark(), ownedOf(person(e.Value))
	if a.IntN(4) == 0 {
		o = a.values()
	}
	f := a.fresh(by, o, mark)
	deletion := a.m.DeletePart(e)
	op := &personOp{
		what: fmt.Sprint("replaces ", id, " by ", by, o), mark: mark, ids: []string{id, by}, wants: wanting(o),
	}
	loaded := person(e.Value).Mark
	op.done = func(m moment) bool { return has(by, mark, o)(m) && (!m.roots[id].live || m.roots[id].mark != loaded) }
	if s := (sought{0, o.email}); a.IntN(3) == 0 && o.email != "" {
		deletion = a.m.DeletePartByKey(lookUp[P](s))
		op.what, op.ids, op.lookup = fmt.Sprint("replaces the owner of ", s, " by ", by, o), []string{by}, &s
		op.done = has(by, mark, o) // the owner may be another one than the loaded entity
	}
	_ = a.call(op, func(ctx context.Context) error {
		_, err := mapper.Transact(ctx, deletion, a.m.SavePart(f))
		return err
	})
}

// find loads the owner of a value.
func (a *personActor[P]) find() {
	s := pick(a.Rand, a.all())
	op := &personOp{what: fmt.Sprint("looks ", s, " up"), lookup: &s}
	options, strong := []mapper.ReadOption{mapper.Strong()}, true
	if a.IntN(2) == 0 {
		options, strong = nil, false
	}
	var e *mapper.Entity[P]
	err := a.call(op, func(ctx context.Context) (err error) {
		e, err = a.m.Load(ctx, lookUp[P](s), options...)
		return err
	})
	if err != nil {
		return
	}
	got := person(e.Value)
	if a.stale && !strong {
		op.from = 0
	}
	owns := func(m moment) bool { return m.owner(s.u, s.value) == got.ID }
	if ownedOf(got).value(s.u) != s.value || !a.some(op, owns) {
		a.fault("%s: got %+v, which never owned it", op.what, got)
	}
}

// tick lets time pass, and expire deletes an expired root item, as DynamoDB does.
func (a *personActor[P]) tick() {
	a.net.Think()
	a.now = a.now.Add(time.Hour)
	a.run.Trace = append(a.run.Trace, "  an hour later")
	a.look(nil)
}

func (a *personActor[P]) expire(id string) {
	a.net.Think()
	for _, at := range a.places(id) {
		if _, err := a.lab.base().DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
			TableName: aws.String(a.lab.table["docs"]), Key: at, ConditionExpression: aws.String("expires <= :now"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":now": &types.AttributeValueMemberN{Value: fmt.Sprint(a.now.Unix())},
			},
		}); err == nil {
			a.run.Trace = append(a.run.Trace, "  DynamoDB deletes "+id)
		} else if !errors.As(err, new(*types.ConditionalCheckFailedException)) {
			a.fault("expire: %v", err)
		}
	}
	a.look(nil)
}

// reshard moves an entity to the shard that the actor's program writes.
func (a *personActor[P]) reshard(id string) {
	e := a.load(id)
	if e == nil {
		return
	}
	_ = a.call(&personOp{what: "moves " + id + " to its shard", ids: []string{id}}, func(ctx context.Context) error {
		_, err := a.m.Save(ctx, e, mapper.Move())
		return err
	})
}

// step makes one call that is drawn.
func (a *personActor[P]) step() {
	one, two := pick(a.Rand, a.ids), pick(a.Rand, a.ids)
	for range 2 { // entities that exist are more interesting
		if !a.moments[len(a.moments)-1].roots[one].live {
			one = pick(a.Rand, a.ids)
		}
	}
	if a.layout == resharding && a.IntN(4) == 0 {
		a.reshard(one)
		return
	}
	switch pick(a.Rand, a.kinds) {
	case "insert":
		_ = a.insert(two, a.values())
	case "save":
		a.save(one)
	case "update":
		a.update(one)
	case "patch":
		a.patches(one)
	case "delete":
		a.delete(one)
	case "move":
		a.move(one, two)
	case "swap":
		a.swap(one, two)
	case "replace":
		a.replace(one, two)
	case "find":
		a.find()
	case "tick":
		a.tick()
	case "expire":
		a.expire(one)
	}
}

// personKinds are the calls. A run draws some of them.
var personKinds = []string{
	"insert", "save", "update", "patch", "delete", "move", "swap", "replace", "find", "tick", "expire",
}

// narrowKinds are the calls of runs with one value.
var narrowKinds = [][]string{
	{"insert", "delete"},
	{"insert", "insert", "delete", "tick", "expire"},
	{"insert", "save", "tick"},
	{"insert", "save", "patch", "find"},
	{"insert", "move", "replace", "delete", "find"},
}

// acts are the calls of an actor.
type acts interface {
	// one makes one call that is drawn, unless the actor has crashed.
	one()
	insert(id string, o owned) error
	// lookAll looks each value up.
	lookAll()
}

func (a *personActor[P]) one() {
	if !a.net.Crashed() {
		a.step()
	}
}

func (a *personActor[P]) lookAll() {
	for _, s := range a.all() {
		_, _ = a.m.Load(a.ctx, lookUp[P](s))
	}
}

// acting returns an actor. While the number of shards changes, some actors are early, and others late.
func (x *people) acting(name string, r *rand.Rand, do func(a acts)) explore.Actor {
	switch {
	case x.layout == separate:
		return actingAs[detached](x, name, r, do)
	case x.layout == sharded:
		return actingAs[lodger](x, name, r, do)
	case x.layout == resharding && r.IntN(2) == 0:
		return actingAs[early](x, name, r, do)
	case x.layout == resharding:
		return actingAs[late](x, name, r, do)
	}
	return actingAs[person](x, name, r, do)
}

func actingAs[P human](x *people, name string, r *rand.Rand, do func(a acts)) explore.Actor {
	a := &personActor[P]{people: x, Rand: rand.New(rand.NewPCG(r.Uint64(), 1)), name: name}
	s := setup{Attempts: 1 + r.IntN(3), Unwatched: r.IntN(8) == 0 && name != "end"} // whose refusals have to be certain
	a.unwatched = s.Unwatched
	return explore.Actor{Name: name, Do: func(ctx context.Context, net *explore.Transport) {
		a.ctx, a.net, a.m = ctx, net, mapperOf[P](x, newClient(x.lab.base, net, s))
		do(a)
	}}
}

// actor returns an actor of some calls.
func (x *people) actor(name string, r *rand.Rand, calls int) explore.Actor {
	return x.acting(name, r, func(a acts) {
		for range calls {
			a.one()
		}
	})
}

// No unique value has two owners, and each result was true during its call, with faults at every request.
func TestExploreUniques(t *testing.T) {
	l := newLab(t)
	failures := 0
	for _, seed := range draws.Schedules(t, draws.For(time.Second, 60*time.Second, 60*time.Minute)) {
		r := explore.NewRandom(seed)
		x := newPeople(l, r.Rand)
		x.play(r)
		if x.wrong != nil {
			t.Errorf("%s=%d: %v\n%s", draws.ScheduleVariable, seed, x.wrong, strings.Join(x.trace, "\n"))
			if failures++; failures == 10 {
				return
			}
		}
	}
}

func newPeople(l *lab, r *rand.Rand) *people {
	name := fmt.Sprint("u", l.runs.Add(1))
	x := &people{
		lab: l, name: name, now: time.Unix(2e9, 0), stale: r.IntN(4) == 0, staged: r.IntN(3),
		answers: map[string][][]byte{}, born: map[string]int{}, replaced: map[string]bool{},
	}
	if r.IntN(4) == 0 {
		x.margin = 45 * time.Minute // entities expire in 30 minutes, and an hour passes at once
	}
	for i := range 3 {
		x.ids = append(x.ids, fmt.Sprint(name, "-", i))
		x.emails = append(x.emails, fmt.Sprint(name, "e", i))
	}
	x.ids, x.emails = x.ids[:1+r.IntN(3)], x.emails[:1+r.IntN(3)]
	x.tenants = []string{"t", "u"}[:1+r.IntN(2)]
	x.nicks = []string{name + "n", name + "m"}[:1+r.IntN(2)]
	x.kinds = []string{"insert"}
	for range 1 + r.IntN(6) {
		x.kinds = append(x.kinds, pick(r, personKinds))
	}
	if x.stale {
		x.kinds = append(x.kinds, "find", "find")
	}
	switch r.IntN(8) {
	case 0:
		x.kinds = personKinds
	case 1, 2, 3:
		x.narrow, x.emails, x.kinds = true, x.emails[:1], pick(r, narrowKinds)
	}
	x.layout = pick(r, []layout{inPartitions, inPartitions, separate, sharded, resharding})
	x.model = door.Mapper.Model(mapperOf[person](x, l.base()))
	return x
}

// play makes a run: some calls in turn, some at once, and at the end each value is taken.
func (x *people) play(c *explore.Random) {
	ctx, r := context.Background(), c.Rand
	x.run = &explore.Run{Engine: x}
	x.look(nil)
	x.run.Chooser = &crashAt{}
	if x.stale { // an early answer to each lookup
		x.run.Go(ctx, x.acting("first", r, acts.lookAll))
	}
	for i := range r.IntN(5) {
		x.run.Chooser, x.run.Limits = &crashAt{}, explore.Limits{}
		if r.IntN(3) == 0 {
			x.run.Chooser, x.run.Crashes = &crashAt{left: 1 + r.IntN(6)}, 1
		}
		x.run.Go(ctx, x.actor(fmt.Sprint("before", i), r, 1))
	}
	x.run.Chooser, x.run.Limits = c, explore.Limits{}
	if r.IntN(3) > 0 {
		x.run.Limits = explore.Limits{Faults: r.IntN(3), Crashes: r.IntN(2), Late: r.IntN(3), Throttles: r.IntN(2)}
	}
	var actors []explore.Actor
	for i := range 2 + r.IntN(3) {
		actors = append(actors, x.actor(string(rune('A'+i)), r, 1+r.IntN(3)))
	}
	x.run.Go(ctx, actors...)
	x.run.Limits = explore.Limits{}
	early := r.IntN(2) == 0
	if early {
		x.takeAll(ctx, r)
	}
	x.run.ArriveAll()
	if !early {
		x.takeAll(ctx, r)
	}
}

// takeAll lets one actor insert an entity with each value: it gets it, unless the value has an owner.
func (x *people) takeAll(ctx context.Context, r *rand.Rand) {
	for i, s := range x.all() {
		owner := x.moments[len(x.moments)-1].holder(s.u, s.value)
		id := fmt.Sprint(x.name, "-end", len(x.ids), i)
		x.ids = append(x.ids, id)
		v := owned{email: s.value}
		if s.u == 1 {
			v = owned{}
			v.tenant, v.nick, _ = cutTuple(s.value)
		}
		x.run.Go(ctx, x.acting("end", r, func(a acts) {
			err := a.insert(id, v)
			if owner == "" && err != nil || owner != "" && !errors.Is(err, mapper.ErrTaken) {
				x.fault("one actor takes %v of %q: %v", s, owner, err)
			}
		}))
	}
}
