package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// A tag is a tag of the state of the loaded items. It changes with each write, add and delete of an
// item, and one state has one tag.
func TestTagChangesWithEachItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &faulty{at: -1}, 1)
	e := m.New(account{ID: "1", Counter: 1, Entries: []part{{1, "a"}}})
	if tag := e.Tag(); tag != "" {
		t.Errorf("of a new entity: %q", tag)
	}
	must(m.Save(ctx, e))(t)
	before := e.Tag()
	for _, c := range []struct {
		name   string
		change func(a *account) error
	}{
		{"the root item", func(a *account) error { a.Counter++; return nil }},
		{"another item", func(a *account) error { a.Left = "x"; return nil }},
		{"an element", func(a *account) error { a.Entries[0].Text = "b"; return nil }},
		{"a new element", func(a *account) error { a.Entries = append(a.Entries, part{2, "c"}); return nil }},
		{"no element", func(a *account) error { a.Entries = a.Entries[:1]; return nil }},
	} {
		must(m.Update(ctx, m.Key("1"), c.change))(t)
		one, two := must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t), must(m.Load(ctx, m.Key("1")))(t)
		if one.Tag() != two.Tag() || one.Tag() == "" ||
			strings.Trim(one.Tag(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			t.Errorf("%s: %q and %q", c.name, one.Tag(), two.Tag())
		}
		if one.Tag() == before {
			t.Errorf("the tag after a write of %s is the one before", c.name)
		}
		before = one.Tag()
		if _, err := m.Load(ctx, m.Key("1"), mapper.IfTag(`W/"`+one.Tag()+`"`)); err != nil {
			t.Errorf("%s: a load by its tag: %v", c.name, err)
		}
	}
	saved := must(m.Load(ctx, m.Key("1")))(t)
	saved.Value.Left = "y"
	must(m.Save(ctx, saved))(t)
	if loaded := must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t); loaded.Tag() != saved.Tag() {
		t.Error("the tag after a save is not that of the saved state")
	}
}

// With IfTag each call is refused with a conflict, before anything is written, unless the entity is as it was.
func TestIfTagRequiresTheState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, many := range []int{1, 100} { // entries, and a digest
		m := newAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &faulty{at: -1}, 1)
		a := account{ID: "1", Counter: 1, Left: "l"}
		for i := range many {
			a.Entries = append(a.Entries, part{i, "x"})
		}
		must(m.Save(ctx, m.New(a), mapper.Independent()))(t)
		e := must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
		tag := e.Tag()
		must(m.Update(ctx, m.Key("1"), func(a *account) error { a.Left = "changed"; return nil }))(t)
		now := must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
		now.Value.Counter = 50
		for name, err := range map[string]error{
			"load": failed(m.Load(ctx, m.Key("1"), mapper.IfTag(tag))),
			"save": failed(m.Save(ctx, now, mapper.IfTag(tag))),
			"update": failed(m.Update(ctx, m.Key("1"), func(a *account) error { a.Counter = 50; return nil },
				mapper.IfTag(tag))),
			"delete": failed(m.Delete(ctx, now, mapper.IfTag(tag))),
			"part":   failed(mapper.Transact(ctx, m.SavePart(now, mapper.IfTag(tag)))),
			"no tag": failed(m.Load(ctx, m.Key("1"), mapper.IfTag("any text"))),
			"cut":    failed(m.Load(ctx, m.Key("1"), mapper.IfTag(now.Tag()[:len(now.Tag())-4]))),
		} {
			var conflict *mapper.ConflictError
			if !errors.As(err, &conflict) || errors.Is(err, mapper.ErrNotFound) {
				t.Errorf("%d entries: %s: %v", many, name, err)
			}
			if many == 1 && name == "save" && fmt.Sprint(conflict.Items) != "[{mapper_test.account ACCOUNT#1 LEFT "+
				"Left changed}]" {
				t.Errorf("%v", conflict.Items)
			}
		}
		if e := must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t); e.Value.Counter != 1 || e.Value.Left != "changed" {
			t.Errorf("%d entries: stored is %+v", many, e.Value)
		}
		must(m.Save(ctx, now, mapper.IfTag(now.Tag())))(t)
		must(m.Update(ctx, m.Key("1"), func(a *account) error { a.Counter = 51; return nil },
			mapper.IfTag(now.Tag())))(t)
		now = must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
		must(m.Delete(ctx, now, mapper.IfTag(now.Tag())))(t)
	}
}

// A patch with IfTag requires the versions of the items that it changes, and reads nothing.
func TestPatchIfTagRequiresItsItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	v.save("first")
	name, hits := v.root(nameOfVisited.Set("new")), v.hits(hitsOfVisited.Increment(1))
	tag := func() string { return must(v.other.Load(ctx, v.other.Key("1"), mapper.Strong()))(t).Tag() }
	conflicts := func(what string, err error) {
		t.Helper()
		var conflict *mapper.ConflictError
		if !errors.As(err, &conflict) || errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	first := tag()
	must(hits.Exec(ctx, v.other, mapper.IfTag(first)))(t) // it is missing, as in the tag, and is made
	conflicts("an item that was made since", failed(hits.Exec(ctx, v.other, mapper.IfTag(first))))
	second := tag()
	must(name.Exec(ctx, v.other, mapper.IfTag(first)))(t) // its item is as it was
	conflicts("a changed item", failed(name.Exec(ctx, v.other, mapper.IfTag(second))))
	conflicts("one of two items", failed(hits.And(name).Exec(ctx, v.other, mapper.IfTag(second))))
	must(hits.Exec(ctx, v.other, mapper.IfTag(second)))(t)
	must(name.And(hits).Exec(ctx, v.other, mapper.IfTag(tag())))(t)
	v.shows("at the end", "new", 3)
	now := tag()
	v.f.log = nil
	must(hits.Exec(ctx, v.watched, mapper.IfTag(now)))(t)
	if fmt.Sprint(v.f.log) != "[UpdateItem]" {
		t.Errorf("the patch sent %v", v.f.log)
	}
	conflicts("the text is not a tag: pass the text that Tag returned", failed(name.Exec(ctx, v.other,
		mapper.IfTag("x"))))
}

// Update with the tag of another state ends after the load: its function is not called.
func TestUpdateIfTagIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &faulty{at: -1}
	m := newAccounts(t, testengine.Table(t, "PK:S", "SK:S"), f, 1)
	e := m.New(account{ID: "1", Counter: 1})
	must(m.Save(ctx, e))(t)
	tag := e.Tag()
	e.Value.Counter++
	must(m.Save(ctx, e))(t)
	f.log = nil
	calls := 0
	err := failed(m.Update(ctx, m.Key("1"), func(*account) error { calls++; return nil }, mapper.IfTag(tag)))
	if want := "conflict: the entity has changed since the tag was made: ACCOUNT#1 HEAD (Counter) was changed: " +
		"load again"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if calls > 0 || len(f.log) != 1 {
		t.Errorf("%d calls of the function; sent %v", calls, f.log)
	}
}

// A save that was written in part is sent again with the same tag: its own writes are no changes.
func TestIfTagAllowsSavingTheRest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &faulty{at: -1}
	m := newAccounts(t, testengine.Table(t, "PK:S", "SK:S"), f, 1)
	must(m.Save(ctx, m.New(account{ID: "1", Counter: 1, Left: "l", Right: "r"})))(t)
	e := must(m.Load(ctx, m.Key("1")))(t)
	tag := mapper.IfTag(e.Tag())
	e.Value.Counter, e.Value.Left, e.Value.Right = 2, "m", "s"
	f.log = nil
	f.pick = func() fault {
		if len(f.log) > 1 {
			return dropRequest
		}
		return none
	}
	var partial *mapper.PartialError
	if err := failed(m.Save(ctx, e, tag, mapper.Independent())); !errors.As(err, &partial) {
		t.Fatal(err)
	}
	f.pick = nil
	must(m.Save(ctx, e, tag, mapper.Independent()))(t)
	if now := stored(t, m, "1"); now.Counter != 2 || now.Left != "m" || now.Right != "s" {
		t.Errorf("%+v", now)
	}
}

// A tag of another entity is a conflict in every comparison, because a client has sent it.
func TestTagOfSomethingElseIsConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	v.save("first")
	m := v.other
	must(m.Save(ctx, m.New(visited{ID: "2", Name: "x"})))(t)
	of := func(s query.Selection[visited]) string { return must(m.Load(ctx, s, mapper.Strong()))(t).Tag() }
	e := must(m.Load(ctx, m.Key("1")))(t)
	for tag, want := range map[string]string{
		of(m.Key("2")): "the tag is of another entity",
		of(m.Key("1").Item("HEAD")): "the tag is of another selection of the entity: load the " +
			"selection of the tag",
		"text":                                   "the text is not a tag: pass the text that Tag returned",
		e.Tag() + "\n":                           "the text is not a tag: pass the text that Tag returned",
		of(query.Join(m.Key("1").Item("STATS"))): "the tag is of another selection",
	} {
		for name, err := range map[string]error{
			"load": failed(m.Load(ctx, m.Key("1"), mapper.IfTag(tag))),
			"save": failed(m.Save(ctx, e, mapper.IfTag(tag))), "delete": failed(m.Delete(ctx, e, mapper.IfTag(tag))),
			"update": failed(m.Update(ctx, m.Key("1"), func(*visited) error { return nil }, mapper.IfTag(tag))),
			"patch":  failed(v.hits(hitsOfVisited.Increment(1)).Exec(ctx, m, mapper.IfTag(tag))),
		} {
			var conflict *mapper.ConflictError
			if !errors.As(err, &conflict) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
	head, stats := m.Key("1").Item("HEAD"), m.Key("1").Item("STATS")
	must(m.Load(ctx, query.Join(head, stats), mapper.IfTag(of(query.Join(stats, head)))))(t)
}

// A part without items has a tag: it is that of no items.
func TestTagOfNoItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	v.save("first")
	stats := v.other.Key("1").Item("STATS")
	tag := mapper.IfTag(must(v.other.Load(ctx, stats))(t).Tag())
	must(v.other.Load(ctx, stats, tag))(t)
	must(v.hits(hitsOfVisited.Increment(1)).Exec(ctx, v.other))(t)
	var conflict *mapper.ConflictError
	if err := failed(v.other.Load(ctx, stats, tag, mapper.Strong())); !errors.As(err, &conflict) ||
		fmt.Sprint(conflict.Items) != "[{mapper_test.visited ACCOUNT#1 STATS Hits created}]" {
		t.Errorf("%v", err)
	}
}

// What compares no tag says so, and an empty tag is an error.
func TestIfTagIsRefusedWhereNothingIsCompared(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	v.save("first")
	m := v.other
	tag := mapper.IfTag(must(m.Load(ctx, m.Key("1")))(t).Tag())
	for want, err := range map[string]error{
		"DeleteByKey does not compare a tag: Load the entity with IfTag, and Delete it": failed(m.DeleteByKey(ctx,
			m.Key("1"),
			tag)),
		"LoadMany does not compare tags: Load the entity with IfTag": failed(m.LoadMany(ctx,
			[]query.Selection[visited]{m.Key("1")}, tag)),

		"a query does not compare a tag": failed(query.Of[visited](m.Key("1")).Count(ctx, m,
			tag)),
		"a new entity has none: leave IfTag out": failed(m.Save(ctx, m.New(visited{ID: "3"}), tag)),
		"the tag is empty: leave IfTag out":      failed(m.Load(ctx, m.Key("1"), mapper.IfTag(""))),
		"the tag is empty: leave IfTag out if no": failed(v.root(nameOfVisited.Set("x")).Exec(ctx, m,
			mapper.IfTag(""))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func failed[T any](_ T, err error) error { return err }

// Loaded distinguishes a field that was not loaded from one whose value is zero.
func TestLoadedReportsFieldsOfTheSelection(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &faulty{at: -1}, 1)
	must(m.Save(ctx, m.New(account{ID: "1", Counter: 1})))(t)
	for name, c := range map[string]struct {
		of   query.Selection[account]
		want string
	}{
		"all":      {m.Key("1"), "[true true true true true true]"},
		"the root": {m.Key("1").Item("HEAD"), "[true true false false false false]"},
		"elements": {m.Key("1").Prefix("ENTRY#"), "[true false false false true false]"},
		"some":     {m.Key("1").Item("ENTRY#0001"), "[true false false false false false]"},
		"two": {
			query.Join(m.Key("1").Item("HEAD"), m.Key("1").Item("LEFT"), m.Key("1").Prefix("FLAG#")),
			"[true true true false false true]",
		},
	} {
		e := must(m.Load(ctx, c.of))(t)
		v := &e.Value
		got := fmt.Sprint([]bool{
			e.Loaded(&v.ID), e.Loaded(&v.Counter), e.Loaded(&v.Left), e.Loaded(&v.Right),
			e.Loaded(&v.Entries), e.Loaded(&v.Flags),
		})
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	e := m.New(account{ID: "1"})
	if !e.Loaded(&e.Value.Left) {
		t.Error("a field of a new entity is not loaded")
	}
	var other account
	for _, p := range []any{nil, 1, &other.Left, e.Value.Left, &e.Value} {
		func() {
			defer func() {
				if r := recover(); r == nil {
					t.Errorf("%T is taken for a field", p)
				}
			}()
			e.Loaded(p)
		}()
	}
}
