package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/enginetest"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// A tag is of the state of the loaded items: it changes with each write of one of them, and with what is added and deleted, and of one state there is one tag.
func TestTagChangesWithEachItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newAccounts(t, enginetest.Table(t, "PK:S", "SK:S"), &faulty{at: -1}, 1)
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
		if one.Tag() != two.Tag() || one.Tag() == "" || strings.Trim(one.Tag(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
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
		m := newAccounts(t, enginetest.Table(t, "PK:S", "SK:S"), &faulty{at: -1}, 1)
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
			"load":   failed(m.Load(ctx, m.Key("1"), mapper.IfTag(tag))),
			"save":   failed(m.Save(ctx, now, mapper.IfTag(tag))),
			"update": failed(m.Update(ctx, m.Key("1"), func(a *account) error { a.Counter = 50; return nil }, mapper.IfTag(tag))),
			"delete": failed(m.Delete(ctx, now, mapper.IfTag(tag))),
			"part":   failed(mapper.Transact(ctx, m.SavePart(now, mapper.IfTag(tag)))),
			"no tag": failed(m.Load(ctx, m.Key("1"), mapper.IfTag("any text"))),
			"cut":    failed(m.Load(ctx, m.Key("1"), mapper.IfTag(now.Tag()[:len(now.Tag())-4]))),
		} {
			var conflict *mapper.ConflictError
			if !errors.As(err, &conflict) || errors.Is(err, mapper.ErrNotFound) {
				t.Errorf("%d entries: %s: %v", many, name, err)
			}
			if many == 1 && name == "save" && fmt.Sprint(conflict.Items) != "[{ACCOUNT#1 LEFT Left changed}]" {
				t.Errorf("%v", conflict.Items)
			}
		}
		if e := must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t); e.Value.Counter != 1 || e.Value.Left != "changed" {
			t.Errorf("%d entries: stored is %+v", many, e.Value)
		}
		must(m.Save(ctx, now, mapper.IfTag(now.Tag())))(t)
		must(m.Update(ctx, m.Key("1"), func(a *account) error { a.Counter = 51; return nil }, mapper.IfTag(now.Tag())))(t)
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
	conflicts("an item that the tag does not have", failed(hits.Exec(ctx, v.other, mapper.IfTag(first))))
	must(hits.Exec(ctx, v.other))(t)
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
	conflicts("text that is no tag", failed(name.Exec(ctx, v.other, mapper.IfTag("x"))))
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
		"DeleteByKey compares no tag: Load the entity with IfTag, and Delete it": failed(m.DeleteByKey(ctx, m.Key("1"), tag)),
		"LoadMany compares no tags: Load the entity with IfTag":                  failed(m.LoadMany(ctx, []query.Selection[visited]{m.Key("1")}, tag)),

		"a query compares no tag":                          failed(query.Of[visited](m.Key("1")).Count(ctx, m, tag)),
		"the tag is of another selection":                  failed(m.Load(ctx, m.Key("1").Item("HEAD"), tag)),
		"IfTag got an empty tag: leave IfTag out":          failed(m.Load(ctx, m.Key("1"), mapper.IfTag(""))),
		"IfTag got an empty tag: leave IfTag out where no": failed(v.root(nameOfVisited.Set("x")).Exec(ctx, m, mapper.IfTag(""))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func failed[T any](_ T, err error) error { return err }

// Loaded tells a field that was not loaded from one whose value is zero.
func TestLoadedReportsFieldsOfTheSelection(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newAccounts(t, enginetest.Table(t, "PK:S", "SK:S"), &faulty{at: -1}, 1)
	must(m.Save(ctx, m.New(account{ID: "1", Counter: 1})))(t)
	for name, c := range map[string]struct {
		of   query.Selection[account]
		want string
	}{
		"all":      {m.Key("1"), "[true true true true true true]"},
		"the root": {m.Key("1").Item("HEAD"), "[true true false false false false]"},
		"elements": {m.Key("1").Prefix("ENTRY#"), "[true false false false true false]"},
		"some":     {m.Key("1").Item("ENTRY#0001"), "[true false false false false false]"},
		"two":      {query.Join(m.Key("1").Item("HEAD"), m.Key("1").Item("LEFT"), m.Key("1").Prefix("FLAG#")), "[true true true false false true]"},
	} {
		e := must(m.Load(ctx, c.of))(t)
		v := &e.Value
		got := fmt.Sprint([]bool{e.Loaded(&v.ID), e.Loaded(&v.Counter), e.Loaded(&v.Left), e.Loaded(&v.Right), e.Loaded(&v.Entries), e.Loaded(&v.Flags)})
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
