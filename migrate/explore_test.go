package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// scene is one run of actors on one entity.
type scene struct {
	*setup
	ctx     context.Context
	name    string
	run     *explore.Run
	history *explore.History
	// goesBack reports that one of the actors rolls back, so that no other may cut over.
	goesBack bool
	// rolledBack counts the rollbacks that have ended.
	rolledBack *atomic.Int32
}

// through returns the migration and the models of an actor, whose requests go through its transport.
func (s *scene) through(n *explore.Transport) (*migrate.Migration, *migrate.Wrapped[Package], *mapper.Mapper[Package]) {
	c := dynamodb.New(s.client.Options(), func(o *dynamodb.Options) {
		o.RetryMaxAttempts = 1
		if n != nil {
			o.HTTPClient = engines.Plain(n)
		} else {
			o.HTTPClient = engines.Plain(http.DefaultClient)
		}
	})
	described := &expected{Client: c, of: s.client}
	g := s.over(described)
	m, err := mapper.New[Package](described, mapper.Table(s.target))
	if err != nil {
		s.Fatal(err)
	}
	return g, migrate.Wrap(m, g), m
}

// expected answers DescribeTable outside the run.
type expected struct {
	migrate.Client
	of *dynamodb.Client
}

func (k *expected) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	return k.of.DescribeTable(context.WithoutCancel(ctx), in, o...)
}

// resultOf became of an operation, by its error.
func resultOf(n *explore.Transport, err error) explore.Result {
	var unknown *mapper.OutcomeUnknownError
	switch {
	case err == nil:
		return explore.Done
	case n != nil && (n.Faulty || n.Crashed()), errors.As(err, &unknown):
		return explore.Unknown
	}
	return explore.Refused
}

// seen returns an entity in the form of the history: its description, and the writer of each tag.
func seen(p *Package) *explore.Entity {
	e := &explore.Entity{Origin: p.License, Items: map[string]string{"description": p.Description}}
	for tag, by := range p.Tags {
		e.Items[tag] = by
	}
	return e
}

// actor makes an actor of a kind.
func (s *scene) actor(kind, who string) explore.Actor {
	return explore.Actor{Name: who, Do: func(ctx context.Context, n *explore.Transport) { s.act(ctx, kind, who, n) }}
}

func (s *scene) act(ctx context.Context, kind, who string, n *explore.Transport) {
	g, w, m := s.through(n)
	op := &explore.Op{Actor: who, What: kind, Start: s.run.Now()}
	var err error
	exists := func(change func(e *explore.Entity) *explore.Entity) func(world *explore.World,
		past []*explore.World) bool {
		return func(world *explore.World, _ []*explore.World) bool {
			e := world.At(s.name)
			if e == nil {
				return false
			}
			world.Entities[s.name] = change(e)
			return true
		}
	}
	switch kind {
	case "run":
		err = s.move(ctx, g)
	case "rollback":
		if err = s.back(ctx, g); err == nil {
			s.rolledBack.Add(1)
		}
	case "update", "add":
		_, err = w.Update(ctx, m.Key(s.name), func(p *Package) error {
			if kind == "add" {
				if p.Tags == nil {
					p.Tags = map[string]string{}
				}
				p.Tags[who] = who
				return nil
			}
			p.Description = who
			return nil
		})
		name := map[string]string{"update": "description", "add": who}[kind]
		op.Apply = exists(func(e *explore.Entity) *explore.Entity { return e.With(name, who) })
	case "delete":
		err = w.Delete(ctx, m.Key(s.name))
		op.Apply = func(world *explore.World, _ []*explore.World) bool {
			if world.At(s.name) == nil {
				return true // it has removed what another delete did not see, as a delete of a mapper does
			}
			world.Go(s.name)
			delete(world.Entities, s.name)
			return true
		}
	case "insert":
		_, err = w.Insert(ctx, Package{Name: s.name, License: who, Description: who})
		op.Apply = func(world *explore.World, _ []*explore.World) bool {
			if world.At(s.name) != nil {
				return false
			}
			world.Entities[s.name] = &explore.Entity{Origin: who, Items: map[string]string{"description": who}}
			return true
		}
	case "old":
		err = s.old(ctx, n, who)
		op.Apply = exists(func(e *explore.Entity) *explore.Entity { return e.With("description", who) })
	case "reader":
		e, failed := w.Load(ctx, m.Key(s.name), mapper.Strong())
		op.See, err = s.sees(e, failed)
	case "cut over":
		var clean bool
		if clean, err = s.verified(ctx, g); err == nil && clean && !s.goesBack {
			e, failed := m.Load(ctx, m.Key(s.name), mapper.Strong())
			op.See, err = s.sees(e, failed)
		}
	}
	op.End, op.Result, op.Err = s.run.Now(), resultOf(n, err), err
	if op.Apply != nil || op.See != nil {
		s.history.Add(op)
	}
}

// sees returns the check of a load's result.
func (s *scene) sees(e *mapper.Entity[Package], err error) (func(before, seen []*explore.World) string, error) {
	switch {
	case errors.Is(err, mapper.ErrNotFound):
		return explore.SeeWhole(s.name, nil), nil
	case err != nil:
		return nil, err
	}
	return explore.SeeWhole(s.name, seen(&e.Value)), nil
}

// old is a write of a program that knows the old layout, as long as the entity has not moved.
func (s *scene) old(ctx context.Context, n *explore.Transport, who string) error {
	c := dynamodb.New(s.client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.RetryMaxAttempts = engines.Plain(n), 1
	})
	_, err := c.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.source, Key: s.doc().Key(), UpdateExpression: aws.String("SET description = :who"),
		ConditionExpression:       aws.String("attribute_exists(#n) AND attribute_not_exists(#m)"),
		ExpressionAttributeNames:  map[string]string{"#n": "name", "#m": "_m"},
		ExpressionAttributeValues: attributes{":who": textValue(who)},
	})
	return err
}

// verified reports whether a verification finds the entity moved, and nothing wrong with it: who cuts
// over then reads no monoliths.
func (s *scene) verified(ctx context.Context, g *migrate.Migration) (clean bool, err error) {
	at := s.doc()
	at.Table = g.Mover().Source
	d, err := g.Mover().Monolith(ctx, at, &write.Tally{})
	if err != nil || d.Mark() == nil {
		return false, err
	}
	state, _, err := g.Mover().Check(ctx, d, &write.Tally{})
	return state == protocol.Moved || state == protocol.Written || state == protocol.Deleted, err
}

// imported stores the entity's items as an import does.
func (s *scene) imported(g *migrate.Migration) error {
	at := s.doc()
	at.Table = g.Mover().Source
	d, err := g.Mover().Monolith(s.ctx, at, &write.Tally{})
	if err != nil {
		return err
	}
	items, err := g.Mover().Import(d, false)
	for _, it := range items {
		if err == nil {
			_, err = s.client.PutItem(s.ctx,
				&dynamodb.PutItemInput{TableName: &it.Place.Table.Name, Item: it.Attributes})
		}
	}
	return err
}

func (s *scene) doc() item.Place {
	return item.Place{Table: &item.Table{Name: s.source, Hash: "name"}, PK: key.Scalar{Type: 'S', Text: s.name}}
}

// move moves the entity, as a run does on reaching it.
func (s *scene) move(ctx context.Context, g *migrate.Migration) error {
	at := s.doc()
	at.Table = g.Mover().Source
	d, err := g.Mover().Monolith(ctx, at, &write.Tally{})
	if err != nil || !d.There() {
		return err
	}
	e := &protocol.Entity{Doc: d}
	if err := g.Mover().Move(ctx, []*protocol.Entity{e}, &write.Tally{}); err != nil {
		return err
	}
	return e.Err
}

// back rolls the entity back.
func (s *scene) back(ctx context.Context, g *migrate.Migration) error {
	at := s.doc()
	at.Table = g.Mover().Source
	root, err := g.Mover().RootOf(&protocol.Monolith{
		Place:      at,
		Attributes: item.Attributes{"name": &types.AttributeValueMemberS{Value: s.name}},
	})
	if err != nil {
		return err
	}
	b := &protocol.Return{Doc: at, Root: root}
	if err := g.Mover().Back(ctx, []*protocol.Return{b}, &write.Tally{}); err != nil {
		return err
	}
	return b.Err
}

// enter sets the phase of the migration.
func (s *setup) enter(phase string) {
	s.Helper()
	_, err := s.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &s.target, Item: attributes{
		"PK": textValue("~migrate#Package#" + s.source), "SK": textValue("phase"), "phase": textValue(phase),
		"note": textValue(fmt.Sprintf(`{"phase":%q,"since":"2026-01-01T00:00:00Z","by":%q}`, phase,
			strconv.FormatInt(time.Now().UnixNano(), 36))),
	}})
	if err != nil {
		s.Fatal(err)
	}
}

// play runs actors on one entity with a seed, and returns the fault.
func (s *setup) play(seed uint64, n int, done map[string]int) (what string, err error) {
	r := rand.New(rand.NewPCG(seed, 2))
	x := &scene{
		setup: s, ctx: context.Background(), name: fmt.Sprint("e", seed, ".", n), history: &explore.History{},
		rolledBack: new(atomic.Int32),
	}
	doc := document(x.name, 2)
	doc["license"] = &types.AttributeValueMemberS{Value: "seed"}
	doc["dist-tags"] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	if _, err := s.client.PutItem(x.ctx, &dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
		return "", err
	}
	x.history.Seed.Entities = map[string]*explore.Entity{x.name: {
		Origin: "seed",
		Items:  map[string]string{"description": text(doc["description"])},
	}}
	x.run = &explore.Run{Chooser: explore.NewRandom(seed), Engine: http.DefaultTransport}
	x.run.Limits = explore.Limits{Faults: r.IntN(3), Crashes: r.IntN(2), Late: r.IntN(3)}
	switch g, w, m := x.through(nil); r.IntN(6) {
	case 0, 1: // it has moved before
		if err := x.move(x.ctx, g); err != nil {
			return "", err
		}
	case 2: // it was deleted
		if err := w.Delete(x.ctx, m.Key(x.name)); err != nil {
			return "", err
		}
		x.history.Seed.Entities = nil
	case 3:
		if err := x.imported(g); err != nil {
			return "", err
		}
	}
	s.enter([]string{"running", "rollingBack"}[r.IntN(2)]) // entities go back in the second alone
	kinds := []string{
		"run", "run", "rollback", "update", "add", "old", "reader", "reader", "delete", "insert",
		"cut over",
	}
	var actors []explore.Actor
	for i := range 2 + r.IntN(3) {
		kind := kinds[r.IntN(len(kinds))]
		what += kind + " "
		x.goesBack = x.goesBack || kind == "rollback"
		actors = append(actors, x.actor(kind, fmt.Sprint(kind, i)))
	}
	x.run.Go(x.ctx, actors...)
	x.run.ArriveAll()
	x.run.Forward(x.run.Now() + 1)
	after := func(kind string) {
		solo := &explore.Run{Chooser: explore.NewRandom(1), Engine: http.DefaultTransport}
		solo.Forward(x.run.Now() + 1)
		x.run = &explore.Run{}
		x.run.Forward(solo.Now())
		x.act(x.ctx, kind, "after", nil)
		x.run.Forward(x.run.Now() + 1)
	}
	trace := x.run
	for _, kind := range []string{"reader", "rollback", "reader", "run", "reader"} {
		after(kind)
	}
	done["rollback"] += int(x.rolledBack.Load())
	for _, o := range x.history.Ops {
		if o.Result == explore.Done && (o.Apply != nil || o.What == "cut over") {
			done[o.What]++
		}
	}
	if err := x.history.Explain(); err != nil {
		return what, fmt.Errorf("seed %d: %s: %w\n%s\n%s", seed, what, err, x.history, trace)
	}
	return what, nil
}

// In any order of requests, with lost and late requests and crashes, the results of all actors have an
// order in which they are true.
func TestExploreMigration(t *testing.T) {
	s := newSetup(t)
	if _, err := s.migration().Run(t.Context()); err != nil { // of nothing: it has begun
		t.Fatal(err)
	}
	n, done := 0, map[string]int{}
	for i, seed := range draws.Schedules(t, draws.For(time.Second, 24*time.Second, 15*time.Minute)) {
		what, err := s.play(seed, i, done)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		n++
	}
	t.Logf("done: %v", done)
	for _, kind := range []string{"update", "add", "old", "delete", "insert", "rollback"} {
		if done[kind] == 0 && n > 300 {
			t.Errorf("no %s was ever done", kind)
		}
	}
}

// tablesPlay has applications insert, update and delete through Wrap while runs and rollbacks of the
// whole table come and go, by a seed. When all have ended, a rollback leaves monoliths alone.
func tablesPlay(t *testing.T, seed uint64) (what string, err error) {
	r := rand.New(rand.NewPCG(seed, 3))
	s := newSetup(t)
	names := []string{"a", "b", "c"}
	still := document("still", 2) // which is never written
	x := &scene{setup: s, ctx: context.Background(), history: &explore.History{}, rolledBack: new(atomic.Int32)}
	x.history.Seed.Entities = map[string]*explore.Entity{}
	for _, doc := range []attributes{document("a", 1), still} {
		doc["license"] = textValue("seed")
		doc["dist-tags"] = &types.AttributeValueMemberM{Value: attributes{}}
		s.put(doc)
		x.history.Seed.Entities[text(doc["name"])] = &explore.Entity{
			Origin: "seed",
			Items:  map[string]string{"description": text(doc["description"])},
		}
	}
	if r.IntN(3) == 0 {
		if _, err := s.migration().Run(x.ctx); err != nil {
			return "", err
		}
	}
	x.run = &explore.Run{Chooser: explore.NewRandom(seed), Engine: http.DefaultTransport}
	x.run.Limits = explore.Limits{Faults: r.IntN(2), Crashes: r.IntN(3)}
	var actors []explore.Actor
	step := func(who, kind string) explore.Actor {
		what += kind + " "
		return explore.Actor{Name: who, Do: func(ctx context.Context, n *explore.Transport) {
			g, _, _ := x.through(n)
			if kind == "run" {
				_, _ = g.Run(ctx)
			} else {
				_, _ = g.Rollback(ctx)
			}
		}}
	}
	application := func(who string, ops []string) explore.Actor {
		what += fmt.Sprint(ops, " ")
		return explore.Actor{Name: who, Do: func(ctx context.Context, n *explore.Transport) {
			for i := 0; i < len(ops) && !n.Crashed(); i += 2 {
				of := *x
				of.name = ops[i+1]
				of.act(ctx, ops[i], fmt.Sprint(who, i), n)
			}
		}}
	}
	for i := range 1 + r.IntN(2) {
		var ops []string
		for range 2 + r.IntN(3) {
			ops = append(ops, []string{"insert", "insert", "update", "add", "delete", "reader"}[r.IntN(6)],
				names[r.IntN(len(names))])
		}
		actors = append(actors, application(fmt.Sprint("app", i), ops))
	}
	for i := range 1 + r.IntN(2) {
		actors = append(actors, step(fmt.Sprint("table", i), []string{"run", "rollback", "rollback"}[r.IntN(3)]))
	}
	x.run.Go(x.ctx, actors...)
	x.run.ArriveAll()
	trace := x.run
	x.run = &explore.Run{}
	x.run.Forward(trace.Now() + 2)
	lateParts := strings.Contains(fmt.Sprint(trace), "late: BatchExecuteStatement")
	if err := x.endsAsMonoliths(still, lateParts); err != nil {
		return what, fmt.Errorf("seed %d: %s: %w\n%s\n%s", seed, what, err, x.history, trace)
	}
	for _, name := range names {
		of := *x
		of.name = name
		of.act(x.ctx, "reader", "after", nil)
	}
	if err := x.history.Explain(); err != nil {
		return what, fmt.Errorf("seed %d: %s: %w\n%s\n%s", seed, what, err, x.history, trace)
	}
	return what, nil
}

// endsAsMonoliths rolls the table back. It reports remaining items of collections, and whether an
// entity that was never written is unchanged. lateParts reports that parts have arrived late: those
// that arrive after the rollback remain until the next run of their entity.
func (s *scene) endsAsMonoliths(still attributes, lateParts bool) error {
	for try := 0; ; try++ {
		r, err := s.migration().Rollback(s.ctx)
		if err == nil && r.Done && r.This.Conflicts+r.This.Dead == 0 || err != nil &&
			strings.Contains(err.Error(), "was begun") {
			break
		}
		if try == 5 {
			return fmt.Errorf("it cannot be rolled back: %+v, %w", r, err)
		}
	}
	for _, a := range s.all(s.target) {
		if !strings.HasPrefix(text(a["PK"]), "~migrate#") && !(lateParts && text(a["SK"]) != "HEAD") {
			return fmt.Errorf("an item of a collection is left: %v", a)
		}
	}
	for _, a := range s.all(s.source) {
		if a["_m"] != nil && text(a["name"]) == "still" {
			return fmt.Errorf("a monolith is marked: %v", a)
		}
		if delete(a, "_v"); text(a["name"]) == "still" && !attr.SameItem(a, still) {
			return fmt.Errorf("an entity that nobody wrote came back as %v, and was %v", a, still)
		}
	}
	return nil
}

// A table is migrated and rolled back while applications continue. Their results have an order in which
// they are true, and the last rollback leaves no collection.
func TestExploreRollbacks(t *testing.T) {
	n := 0
	for _, seed := range draws.Schedules(t, draws.For(time.Second, 6*time.Second, 15*time.Minute)) {
		if what, err := tablesPlay(t, seed); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		n++
	}
	t.Logf("%d schedules", n)
}
