package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/tables"
)

// The tests of this file patch fixed items concurrently with other writers, and over leftover items of
// deleted entities.

// visits are mappers of one table of visited, of which watched has a network that f watches.
type visits struct {
	*kit.Foreign
	other, watched *mapper.Mapper[kit.Visited]
	f              *kit.Faulty
}

func newVisits(t *testing.T) *visits {
	t.Helper()
	v := &visits{Foreign: kit.NewForeign(t, testengine.Table(t, "PK:S", "SK:S")), f: &kit.Faulty{At: -1}}
	v.other = kit.Must(mapper.New[kit.Visited](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(v.Table)))(t)
	v.watched = kit.Must(mapper.New[kit.Visited](kit.Client(t, v.f, 1), mapper.Table(v.Table)))(t)
	return v
}

var (
	nameOfVisited = handmade.String[kit.Visited, string]("Name", "", func(v *kit.Visited) *string { return &v.Name })
	hitsOfVisited = handmade.Number[kit.Visited, int]("Hits", "", func(v *kit.Visited) *int { return &v.Hits })
)

// save inserts the entity, or replaces it.
func (v *visits) save(name string) {
	v.Helper()
	if _, err := v.other.DeleteByKey(context.Background(), v.other.Key("1")); err != nil &&
		!errors.Is(err, mapper.ErrNotFound) {
		v.Fatal(err)
	}
	kit.Must(v.other.Save(context.Background(), v.other.New(kit.Visited{ID: "1", Name: name})))(v)
}

// hits returns a patch of the item that has them, and root one of the root item.
func (v *visits) hits(c ...field.Change[kit.Visited]) *mapper.ItemPatch[kit.Visited, *kit.Visited] {
	return mapperimpl.Item[kit.Visited, kit.Visited](v.watched.Key("1").Item("STATS"), 1).Patch(c...)
}

func (v *visits) root(c ...field.Change[kit.Visited]) *mapper.ItemPatch[kit.Visited, *kit.Visited] {
	return handmade.EntityOf(v.watched.Key("1")).Patch(c...)
}

// leave puts hits without an entity around them, or of another one.
func (v *visits) leave(hits int, incarnation types.AttributeValue) {
	v.Helper()
	it := kit.Item{
		"PK": kit.S("ACCOUNT#1"), "SK": kit.S("STATS"), "Hits": kit.N(fmt.Sprint(hits)),
		"_v": bytesOf("version1"),
	}
	if incarnation != nil {
		it["_a"] = incarnation
	}
	v.Put(it)
}

func bytesOf(text string) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: []byte(text)}
}

// before runs something before a request of the watched mapper, from 0.
func (v *visits) before(request int, do func()) {
	v.f.Log = nil
	v.f.Pick = func() kit.Fault {
		if len(v.f.Log) == request+1 {
			do()
		}
		return kit.None
	}
}

// shows fails unless the entity is seen with that name and those hits.
func (v *visits) shows(what, name string, hits int) {
	v.Helper()
	e, err := v.other.Load(context.Background(), v.other.Key("1"), mapper.Strong())
	if err != nil || e.Value.Name != name || e.Value.Hits != hits {
		v.Errorf("%s: it is %+v, %v", what, e, err)
	}
}

// belongs fails unless the hits carry the incarnation of the root item.
func (v *visits) belongs(what string) {
	v.Helper()
	if root, own := v.Get("ACCOUNT#1", "HEAD"), v.Get("ACCOUNT#1", "STATS"); own["_a"] == nil ||
		!attr.Same(own["_a"], root["_a"]) {
		v.Errorf("%s: the incarnations are %v and %v", what, root["_a"], own["_a"])
	}
}

// makesEntity upserts the root item together with the hits: both are seen, and are of one entity.
func (v *visits) makesEntity(what string) {
	v.Helper()
	if _, err := v.root(nameOfVisited.Set("new")).Upsert().And(v.hits(hitsOfVisited.Increment(1))).
		Exec(context.Background(), v.watched); err != nil {
		v.Errorf("%s: %v", what, err)
		return
	}
	v.shows(what, "new", 1)
	v.belongs(what)
}

// A patch that makes the root item makes its other items with the incarnation of that, and of no other entity.
func TestUpsertMakesItemsOfItsEntity(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		before  func(v *visits)
		request int // before which it is called
	}{
		"no entity":                        {func(*visits) {}, 9},
		"an entity":                        {func(v *visits) { v.save("first") }, 0},
		"an entity that is inserted then":  {func(v *visits) { v.save("first") }, 1},
		"a leftover item":                  {func(v *visits) { v.leave(70, bytesOf("deadbeef")) }, 0},
		"a leftover item, then an entity":  {func(v *visits) { v.save("first"); v.leave(70, bytesOf("deadbeef")) }, 1},
		"a leftover item inside an entity": {func(v *visits) { v.save("first"); v.leave(70, bytesOf("deadbeef")) }, 0},
	} {
		v := newVisits(t)
		v.before(c.request, func() { c.before(v) })
		v.makesEntity(what)
	}
}

// The entity is deleted while an Upsert examines the blocking items. The items that it then creates
// belong to the new entity alone.
func TestUpsertOfDeletedEntityMakesItemsOfItsEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	remove := func(v *visits) { kit.Must(v.other.DeleteByKey(ctx, v.other.Key("1")))(t) }
	// the first transaction, and the root item that is read after it
	for what, before := range map[string][]func(v *visits){
		"over a leftover item": {
			func(v *visits) { v.leave(70, bytesOf("deadbeef")) },
			remove,
		},
		"replaced before": {
			func(v *visits) {
				remove(v)
				kit.Must(v.other.Save(ctx, v.other.New(kit.Visited{ID: "1", Name: "second", Hits: 20})))(t)
			},
			remove,
		},
		"of another program, deleted": {remove},
		"of another program": {
			func(v *visits) {
				v.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Name": kit.S("foreign")})
				v.leave(70, bytesOf("deadbeef"))
			},
			remove,
		},
	} {
		v := newVisits(t)
		if v.save("first"); strings.HasSuffix(what, "deleted") {
			v.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Name": kit.S("foreign")})
		}
		v.f.Log = nil
		v.f.Pick = func() kit.Fault {
			if i := len(v.f.Log) - 2; i >= 0 && i < len(before) {
				before[i](v)
			}
			return kit.None
		}
		v.makesEntity(what)
	}
}

// In an entity that another program has inserted, a patch replaces a leftover item, and gives the
// entity no incarnation.
func TestPatchOfForeignEntityReplacesLeftoverItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, leave := range map[string]func(*visits){
		"with a leftover item": func(v *visits) { v.leave(70, bytesOf("deadbeef")) },
		"with nothing else":    func(*visits) {},
	} {
		v := newVisits(t)
		v.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Name": kit.S("foreign")})
		leave(v)
		kit.Must(v.hits(hitsOfVisited.Increment(1)).IfEntityExists().Exec(ctx, v.watched))(t)
		v.shows(what, "foreign", 1)
		leave(v)
		was := v.Get("ACCOUNT#1", "STATS")["_a"] != nil
		kit.Must(v.root(nameOfVisited.Set("new")).Upsert().And(v.hits(hitsOfVisited.Increment(1))).Exec(ctx,
			v.watched))(t)
		if v.shows(what, "new", map[bool]int{true: 1, false: 2}[was]); v.Get("ACCOUNT#1", "HEAD")["_a"] != nil ||
			v.Get("ACCOUNT#1", "STATS")["_a"] != nil {
			t.Errorf("%s: the incarnations are %v and %v", what, v.Get("ACCOUNT#1", "HEAD")["_a"],
				v.Get("ACCOUNT#1", "STATS")["_a"])
		}
	}
}

// If the root item is deleted after an Upsert has read it, the patch makes the entity.
func TestUpsertOfEntityThatIsDeleted(t *testing.T) {
	t.Parallel()
	v := newVisits(t)
	v.save("first")
	v.before(1, func() { kit.Must(v.other.DeleteByKey(context.Background(), v.other.Key("1")))(t) })
	v.makesEntity("deleted")
}

// IfEntityExists finds a leftover item out, also in a transaction, whose answer does not tell what it has written.
func TestRequiredEntityIsThatOfItem(t *testing.T) {
	t.Parallel()
	for _, options := range [][]mapper.WriteOption{nil, {mapper.ExactlyOnce()}} {
		v := newVisits(t)
		v.save("first")
		v.leave(70, bytesOf("deadbeef"))
		if _, err := v.hits(hitsOfVisited.Increment(1)).IfEntityExists().Exec(context.Background(), v.watched,
			options...); err != nil {
			t.Error(err)
		}
		v.shows(fmt.Sprint(len(options), " options"), "first", 1)
	}
}

// A count that may be of an item of the next entity is not repeated.
func TestCountIsNotRepeatedInNextEntity(t *testing.T) {
	t.Parallel()
	v := newVisits(t)
	v.save("first")
	v.before(2, func() { v.save("second"); v.leave(5, nil) })
	_, err := v.hits(hitsOfVisited.Increment(1)).Exec(context.Background(), v.watched, mapper.ExactlyOnce())
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("it cannot be known of which entity the item is: %v", err)
	}
	v.shows("counted", "second", 6)
}

// A patch leaves an item without an incarnation as it is, because it may be of the next entity.
func TestPatchGivesNoIncarnationToForeignItem(t *testing.T) {
	t.Parallel()
	for _, requires := range []bool{false, true} {
		v := newVisits(t)
		v.save("first")
		patch := v.hits(hitsOfVisited.Increment(1))
		if requires {
			patch = patch.IfEntityExists()
		}
		v.before(2, func() { v.save("second"); v.leave(5, nil) })
		_, err := patch.Exec(context.Background(), v.watched)
		if a := v.Get("ACCOUNT#1", "STATS")["_a"]; err != nil || a != nil {
			t.Errorf("requires %v: %v, incarnation %v", requires, err, a)
		}
		v.shows(fmt.Sprintf("requires %v", requires), "second", 6)
	}
}

// A patch that found an item missing reads the root item at its end, even if another writer has created
// the item by then.
func TestPatchOfItemThatAnotherMakesIsConfirmed(t *testing.T) {
	t.Parallel()
	v := newVisits(t)
	v.save("first")
	v.before(2, func() {
		v.leave(5, v.Get("ACCOUNT#1", "HEAD")["_a"])
		kit.Must(v.DeleteItem(context.Background(),
			&dynamodb.DeleteItemInput{
				TableName: &v.Table,
				Key:       kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD")},
			}))(t)
	})
	if r, err := v.hits(hitsOfVisited.Increment(1)).Exec(context.Background(), v.watched); !errors.Is(err,
		mapper.ErrNotFound) {
		t.Errorf("the entity was deleted: %v, %v", err, r)
	}
}

// A condition is asked of the items of the entity, and not of a leftover item: by a mapper that knows
// the entity, or with IfEntityExists.
func TestConditionIsNotAskedOfLeftoverItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	var conflict *mapper.ConflictError
	setUp := func(entity bool) {
		v.f.Pick = nil
		if v.save("first"); !entity {
			kit.Must(v.other.DeleteByKey(ctx, v.other.Key("1")))(t)
		}
		v.leave(70, bytesOf("deadbeef"))
	}
	setUp(true)
	kit.Must(v.watched.Load(ctx, v.watched.Key("1")))(t)
	if _, err := v.root(nameOfVisited.Set("new")).And(v.hits().If(hitsOfVisited.Equal(70))).Exec(ctx,
		v.watched); !errors.As(err, &conflict) {
		t.Errorf("the hits of a deleted entity fulfil the condition: %v", err)
	}
	v.shows("another item", "first", 0)

	ifNone := v.hits(hitsOfVisited.Increment(1)).If(hitsOfVisited.Absent()).IfEntityExists()
	setUp(false)
	cold := kit.Must(mapper.New[kit.Visited](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(v.Table)))(t)
	if _, err := ifNone.Exec(ctx, cold); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("there is no entity: %v", err)
	}
	setUp(true)
	cold = kit.Must(mapper.New[kit.Visited](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(v.Table)))(t)
	if _, err := ifNone.Exec(ctx, cold); err != nil {
		t.Errorf("the entity has no hits: %v", err)
	}
	v.shows("the same item", "first", 1)
}

// An addition to an entity whose time to live is over is taken back. If another writer deletes the item
// before that, nothing is left to know of it.
func TestAdditionThatAnotherTakesBackIsNotUnknown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := kit.NewForeign(t, "zoottls-"+fmt.Sprint(time.Now().UnixNano()))
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[zooTTL](kit.Client(t, f, 1), mapper.Table(r.Table)))(t)
	kit.Must(r.CreateTable(ctx, tables.Of(m)[0].Create))(t)
	// the mapper remembers its incarnation
	kit.Must(m.Save(ctx, m.New(zooTTL{ID: "1", Kind: "a", Due: time.Now().Add(time.Hour)})))(t)
	root := r.Get("ZOO#1", "HEAD")
	root["exp"] = kit.N("1000")
	r.Put(root)
	f.Log = nil
	f.Pick = func() kit.Fault {
		if len(f.Log) == 3 { // the put, the root item, and now the delete
			kit.Must(r.DeleteItem(ctx,
				&dynamodb.DeleteItemInput{
					TableName: &r.Table,
					Key:       kit.Item{"PK": kit.S("ZOO#1"), "SK": kit.S("LINE#0007")},
				}))(t)
		}
		return kit.None
	}
	add := handmade.Elements[zooTTL, zooLine]{Node: m.Key("1").Prefix("LINE#"), Item: 2}.Add(zooLine{No: 7})
	var unknown *mapper.OutcomeUnknownError
	if _, err := add.Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) || errors.As(err, &unknown) {
		t.Errorf("after %d requests: %v", len(f.Log), err)
	}
	if len(f.Log) < 3 || len(r.Get("ZOO#1", "LINE#0007")) > 0 {
		t.Errorf("%d requests, and there is %v", len(f.Log), r.Get("ZOO#1", "LINE#0007"))
	}
}

// Before a delete by key that an unwatched client may have sent twice, another writer deletes the
// entity and inserts the next one. The delete then ends, and deletes nothing of the next entity.
func TestDeleteTakesNothingOfNextEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	v.save("first")
	kit.Must(v.hits(hitsOfVisited.Increment(3)).Exec(ctx, v.other))(t)
	m := kit.Must(mapper.New[kit.Visited](kit.Unwatched{C: kit.Client(t, v.f, 2)}, mapper.Table(v.Table)))(t)
	v.before(1, func() {
		kit.Must(v.other.DeleteByKey(ctx, v.other.Key("1")))(t)
		kit.Must(v.other.Save(ctx, v.other.New(kit.Visited{ID: "1", Name: "next", Hits: 5})))(t)
	})
	if _, err := m.DeleteByKey(ctx, m.Key("1")); err != nil && !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("%v: %v", v.f.Log, err)
	}
	v.shows(fmt.Sprint(v.f.Log), "next", 5)
}

// While a delete by key reads, another writer inserts the entity: behind the place of its root item,
// which the delete has read by then. The delete takes all of that entity, or none of it.
func TestDeleteTakesNothingOfEntityInsertedDuringItsQuery(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, leave := range map[string]func(v *visits){
		"nothing":         func(*visits) {},
		"a leftover item": func(v *visits) { v.leave(70, bytesOf("deadbeef")) },
		"an entity":       func(v *visits) { v.save("first") },
	} {
		for _, options := range [][]mapper.WriteOption{nil, {mapper.Independent()}} {
			v := newVisits(t)
			leave(v)
			c := &fakedynamo.Torn{Client: kit.Client(t, v.f, 1), At: 1, Last: "HEAD", Between: func() {
				_, _ = v.other.DeleteByKey(ctx, v.other.Key("1"))
				kit.Must(v.other.Save(ctx, v.other.New(kit.Visited{ID: "1", Name: "next", Hits: 5})))(t)
			}}
			m := kit.Must(mapper.New[kit.Visited](c, mapper.Table(v.Table), mapper.DecodeWithSDK()))(t)
			_, err := m.DeleteByKey(ctx, m.Key("1"), options...)
			e, loads := v.other.Load(ctx, v.other.Key("1"), mapper.Strong())
			if missing := errors.Is(loads, mapper.ErrNotFound); !missing &&
				(loads != nil || e.Value.Name != "next" || e.Value.Hits != 5) {
				t.Errorf("%s, %d options: the delete: %v; then %+v, %v (%v)", what, len(options), err, e, loads,
					v.f.Log)
			}
		}
	}
}

// The same of an insert that is staged: its claim and an item are put while the delete reads, and it
// goes live afterwards.
func TestDeleteTakesNothingOfStagedInsertDuringItsQuery(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	put, goOn, inserted := make(chan bool), make(chan bool), make(chan error, 1)
	inserts := kit.Must(mapper.New[kit.Visited](kit.Client(t,
		kit.AtRequest("UpdateItem", 1, func() { put <- true; <-goOn }), 1),
		mapper.Table(v.Table)))(t)
	c := &fakedynamo.Torn{Client: kit.Client(t, v.f, 1), At: 1, Last: "HEAD", Between: func() {
		go func() {
			_, err := inserts.Save(ctx, inserts.New(kit.Visited{ID: "1", Name: "next", Hits: 5}), mapper.Staged())
			inserted <- err
		}()
		<-put
	}}
	m := kit.Must(mapper.New[kit.Visited](c, mapper.Table(v.Table), mapper.DecodeWithSDK()))(t)
	_, err := m.DeleteByKey(ctx, m.Key("1"))
	goOn <- true
	if is := <-inserted; is == nil {
		v.shows(fmt.Sprintf("the delete: %v, %v", err, v.f.Log), "next", 5)
	}
}

// An unwatched client may have sent a delete twice, and between the two another writer has changed the
// root item of another program. It is unknown whether that item belongs to the next entity.
func TestUnwatchedDeleteOfChangedForeignEntityIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, change := range map[string]func(v *visits) error{
		"an upsert of the root item": func(v *visits) error {
			_, err := v.root(nameOfVisited.Set("new")).Upsert().Exec(ctx, v.other)
			return err
		},
		"an upsert of two items": func(v *visits) error {
			_, err := v.root(nameOfVisited.Set("new")).Upsert().And(v.hits(hitsOfVisited.Increment(1))).Exec(ctx,
				v.other)
			return err
		},
		"a save": func(v *visits) error {
			_, err := v.other.Update(ctx, v.other.Key("1"), func(x *kit.Visited) error { x.Name = "new"; return nil })
			return err
		},
	} {
		v := newVisits(t)
		v.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Name": kit.S("foreign")})
		v.leave(70, nil)
		m := kit.Must(mapper.New[kit.Visited](kit.Unwatched{C: kit.Client(t, v.f, 2)}, mapper.Table(v.Table)))(t)
		v.before(1, func() {
			if err := change(v); err != nil {
				t.Error(err)
			}
		})
		_, err := m.DeleteByKey(ctx, m.Key("1"))
		var unknown *mapper.OutcomeUnknownError
		if root := v.Get("ACCOUNT#1", "HEAD"); len(root) > 0 && !errors.As(err, &unknown) {
			t.Errorf("%s: %v, and the root item is %v (%v)", what, err, root, v.f.Log)
		}
	}
}
