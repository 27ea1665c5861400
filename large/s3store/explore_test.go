package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

// tome has a value in parts on its root, and one on another item.
type tome struct {
	_      struct{} `ddb:"table=tomes"`
	ID     string   `ddb:"pk=TOME#{ID}"`
	Origin string   `ddb:"sk=HEAD"`
	Text   string   `ddb:"sk=TEXT,chunk,inline=40"`
	Index  string   `ddb:"sk=INDEX,chunk,inline=40"`
}

// The fields of a tome, as generated code has their handles.
var (
	tomeText  = handmade.String("Text", "", func(v *tome) *string { return &v.Text })
	tomeIndex = handmade.String("Index", "", func(v *tome) *string { return &v.Index })
)

// long returns a value of three parts that names its writer; short returns one that stays in its item.
func long(who string) string { return strings.Repeat(who+" ", 100/(len(who)+1)) }

func writer(text string) string { return strings.Fields(text + " -")[0] }

// tomeScene is one run of actors on one entity.
type tomeScene struct {
	testing.TB
	table   string
	client  *dynamodb.Client
	id      string
	run     *explore.Run
	history *explore.History
}

func (s *tomeScene) through(n *explore.Transport, after time.Duration) *mapper.Mapper[tome] {
	c := dynamodb.New(s.client.Options(), func(o *dynamodb.Options) {
		o.RetryMaxAttempts = 1
		if n != nil {
			o.HTTPClient = engines.Plain(n)
		}
	})
	m, err := mapper.New[tome](c, mapper.Table(s.table))
	if err != nil {
		s.Fatal(err)
	}
	setPartSize(m, 40)
	setNow(m, func() time.Time { return time.Now().Add(after) })
	return m
}

func tomeSeen(v *tome) *explore.Entity {
	return &explore.Entity{Origin: v.Origin, Items: map[string]string{"text": writer(v.Text), "index": writer(v.Index)}}
}

func (s *tomeScene) actor(kind, who string) explore.Actor {
	return explore.Actor{Name: who, Do: func(ctx context.Context, n *explore.Transport) { s.act(ctx, kind, who, n) }}
}

// wholeTome returns an error for a value that no actor has written.
func wholeTome(v *tome) error {
	for _, text := range []string{v.Text, v.Index} {
		who := writer(text)
		if text != long(who) && text != who && text != "" {
			return fmt.Errorf("a torn value: %q", text)
		}
	}
	return nil
}

func (s *tomeScene) act(ctx context.Context, kind, who string, n *explore.Transport) {
	m := s.through(n, 0)
	op := &explore.Op{Actor: who, What: kind, Start: s.run.Now()}
	var err error
	changed := func(change func(e *explore.Entity) *explore.Entity) func(*explore.World, []*explore.World) bool {
		return func(w *explore.World, _ []*explore.World) bool {
			e := w.At(s.id)
			if e == nil {
				return false
			}
			w.Entities[s.id] = change(e)
			return true
		}
	}
	value := tome{ID: s.id, Origin: who, Text: long(who), Index: long(who)}
	switch kind {
	case "replace", "small", "both":
		_, err = m.Update(ctx, m.Key(s.id), func(v *tome) error {
			v.Text = long(who)
			if kind == "small" {
				v.Text = who
			}
			if kind == "both" {
				v.Index = long(who)
			}
			return nil
		})
		op.Apply = changed(func(e *explore.Entity) *explore.Entity {
			if kind == "both" {
				e = e.With("index", who)
			}
			return e.With("text", who)
		})
	case "patch", "patch both":
		changes := []field.Change[tome]{tomeText.Set(long(who))}
		if kind == "patch both" {
			changes = append(changes, tomeIndex.Set(long(who)))
		}
		_, err = handmade.EntityOf(m.Key(s.id)).Patch(changes...).IfEntityExists().Exec(ctx, m)
		op.Apply = changed(func(e *explore.Entity) *explore.Entity {
			if kind == "patch both" {
				e = e.With("index", who)
			}
			return e.With("text", who)
		})
	case "save", "transact":
		var e *mapper.Entity[tome]
		if e, err = m.Load(ctx, m.Key(s.id), mapper.Strong()); err == nil {
			e.Value.Text = long(who)
			if kind == "save" {
				_, err = m.Save(ctx, e)
			} else {
				_, err = mapper.Transact(ctx, m.SavePart(e))
			}
		}
		op.Apply = changed(func(e *explore.Entity) *explore.Entity { return e.With("text", who) })
	case "insert", "staged insert":
		var options []mapper.WriteOption
		if kind == "staged insert" {
			options = append(options, mapper.Staged())
		}
		_, err = m.Save(ctx, m.New(value), options...)
		op.Apply = func(w *explore.World, _ []*explore.World) bool {
			if w.At(s.id) != nil {
				return false
			}
			w.Entities[s.id] = tomeSeen(&value)
			return true
		}
	case "delete":
		_, err = m.DeleteByKey(ctx, m.Key(s.id))
		op.Apply = func(w *explore.World, _ []*explore.World) bool {
			if w.At(s.id) != nil {
				w.Go(s.id)
				delete(w.Entities, s.id)
			}
			return true
		}
		if errors.Is(err, mapper.ErrNotFound) {
			op.Apply = nil
		}
	case "collector", "remover":
		setNow(m, func() time.Time {
			return time.Now().Add(map[string]time.Duration{"collector": 2 * time.Hour, "remover": 5 * time.Hour}[kind])
		})
		_, err = collectAll(ctx, m, large.Delete())
	case "reader":
		var e *mapper.Entity[tome]
		e, err = m.Load(ctx, m.Key(s.id), mapper.Strong())
		switch {
		case errors.Is(err, mapper.ErrNotFound):
			op.See, err = explore.SeeWhole(s.id, nil), nil
		case err == nil:
			if torn := wholeTome(&e.Value); torn != nil {
				s.Fatal(torn)
			}
			op.See = explore.SeeWhole(s.id, tomeSeen(&e.Value))
		case errors.Is(err, large.ErrCorrupt):
			op.See = func(_, _ []*explore.World) string { return err.Error() }
		}
	}
	var unknown *mapper.OutcomeUnknownError
	op.End, op.Err = s.run.Now(), err
	switch {
	case err == nil:
		op.Result = explore.Done
	case n != nil && (n.Faulty || n.Crashed()), errors.As(err, &unknown):
		op.Result = explore.Unknown
	default:
		op.Result = explore.Refused
	}
	if op.Apply != nil || op.See != nil {
		s.history.Add(op)
	}
}

// play runs actors on one entity with a seed, and returns the fault.
func (s tomeScene) play(seed uint64, n int, done map[string]int) (err error) {
	r := rand.New(rand.NewPCG(seed, 2))
	ctx := context.Background()
	s.id, s.history = fmt.Sprint("t", seed, ".", n), &explore.History{}
	s.run = &explore.Run{Chooser: explore.NewRandom(seed), Engine: http.DefaultTransport}
	plain := s.through(nil, 0)
	if r.IntN(3) > 0 {
		v := tome{ID: s.id, Origin: "seed", Text: long("seed"), Index: long("seed")}
		var options []mapper.WriteOption
		if r.IntN(2) == 0 {
			options = append(options, mapper.Staged()) // its items have the mark of that
		}
		if _, err := plain.Save(ctx, plain.New(v), options...); err != nil {
			return err
		}
		s.history.Seed.Entities = map[string]*explore.Entity{s.id: tomeSeen(&v)}
	}
	s.run.Limits = explore.Limits{Faults: r.IntN(3), Crashes: r.IntN(2), Late: r.IntN(3), Page: int32(r.IntN(2) * 2)}
	kinds := []string{
		"replace", "replace", "both", "save", "transact", "patch", "patch both", "small", "insert",
		"staged insert", "delete", "collector", "remover", "reader", "reader",
	}
	what, removes := "", false
	var actors []explore.Actor
	for i := range 2 + r.IntN(3) {
		kind := kinds[r.IntN(len(kinds))]
		what += kind + " "
		removes = removes || kind == "remover"
		actors = append(actors, s.actor(kind, fmt.Sprint(strings.ReplaceAll(kind, " ", "-"), i)))
	}
	if removes { // hours have passed: earlier signed requests can no longer arrive
		s.run.Late = 0
	}
	s.run.Go(ctx, actors...)
	if !removes {
		s.run.ArriveAll()
	}
	trace := s.run
	s.run = &explore.Run{}
	s.run.Forward(trace.Now() + 1)
	for _, kind := range []string{"reader", "collector", "remover", "collector", "reader"} {
		s.act(ctx, kind, "after", nil)
		s.run.Forward(s.run.Now() + 1)
	}
	for _, o := range s.history.Ops {
		if o.Result == explore.Done {
			done[o.What]++
		}
	}
	if err := s.history.Explain(); err != nil {
		return fmt.Errorf("seed %d: %s: %w\n%s\n%s", seed, what, err, s.history, trace)
	}
	return nil
}

// In any order of requests, with lost and late requests and crashes, the results of writers, readers
// and collectors have an order in which they are true. No value is incomplete, and none is taken for
// damaged.
func TestExploreLarge(t *testing.T) {
	t.Parallel()
	done := map[string]int{}
	var s tomeScene
	for n, seed := range draws.Schedules(t, draws.For(500*time.Millisecond, 30*time.Second, 15*time.Minute)) {
		if n%5 == 0 { // a table for five plays: a collector reads all of its records
			s = tomeScene{TB: t, table: testengine.Table(t, "PK:S", "SK:S"), client: testengine.Start(t).Client()}
		}
		if err := s.play(seed, n%5, done); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("done: %v", done)
}
