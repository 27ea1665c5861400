package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// A tag is a tag of the state of the loaded items. It changes with each write, add and delete of an
// item, and one state has one tag.
func TestTagChangesWithEachItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}, 1)
	e := m.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "a"}}})
	if tag := e.Tag(); tag != "" {
		t.Errorf("of a new entity: %q", tag)
	}
	kit.Must(m.Save(ctx, e))(t)
	before := e.Tag()
	for _, c := range []struct {
		name   string
		change func(a *kit.Account) error
	}{
		{"the root item", func(a *kit.Account) error { a.Counter++; return nil }},
		{"another item", func(a *kit.Account) error { a.Left = "x"; return nil }},
		{"an element", func(a *kit.Account) error { a.Entries[0].Text = "b"; return nil }},
		{"a new element", func(a *kit.Account) error {
			a.Entries = append(a.Entries,
				kit.Part{N: 2, Text: "c"})
			return nil
		}},
		{"no element", func(a *kit.Account) error { a.Entries = a.Entries[:1]; return nil }},
	} {
		kit.Must(m.Update(ctx, m.Key("1"), c.change))(t)
		one, two := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
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
	saved := kit.Must(m.Load(ctx, m.Key("1")))(t)
	saved.Value.Left = "y"
	kit.Must(m.Save(ctx, saved))(t)
	if loaded := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t); loaded.Tag() != saved.Tag() {
		t.Error("the tag after a save is not that of the saved state")
	}
}

// With IfTag each call is refused with a conflict, before anything is written, unless the entity is as it was.
func TestIfTagRequiresTheState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, many := range []int{1, 100} { // entries, and a digest
		m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}, 1)
		a := kit.Account{ID: "1", Counter: 1, Left: "l"}
		for i := range many {
			a.Entries = append(a.Entries, kit.Part{N: i, Text: "x"})
		}
		kit.Must(m.Save(ctx, m.New(a), mapper.Independent()))(t)
		e := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
		tag := e.Tag()
		kit.Must(m.Update(ctx, m.Key("1"), func(a *kit.Account) error { a.Left = "changed"; return nil }))(t)
		now := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
		now.Value.Counter = 50
		for name, err := range map[string]error{
			"load": kit.Err(m.Load(ctx, m.Key("1"), mapper.IfTag(tag))),
			"save": kit.Err(m.Save(ctx, now, mapper.IfTag(tag))),
			"update": kit.Err(m.Update(ctx, m.Key("1"), func(a *kit.Account) error { a.Counter = 50; return nil },
				mapper.IfTag(tag))),
			"delete": kit.Err(m.Delete(ctx, now, mapper.IfTag(tag))),
			"part":   kit.Err(mapper.Transact(ctx, m.SavePart(now, mapper.IfTag(tag)))),
			"no tag": kit.Err(m.Load(ctx, m.Key("1"), mapper.IfTag("any text"))),
			"cut":    kit.Err(m.Load(ctx, m.Key("1"), mapper.IfTag(now.Tag()[:len(now.Tag())-4]))),
		} {
			var conflict *mapper.ConflictError
			if !errors.As(err, &conflict) || errors.Is(err, mapper.ErrNotFound) {
				t.Errorf("%d entries: %s: %v", many, name, err)
			}
			if many == 1 && name == "save" && fmt.Sprint(conflict.Items) != "[{kit.Account ACCOUNT#1 LEFT "+
				"Left changed}]" {
				t.Errorf("%v", conflict.Items)
			}
		}
		if e := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t); e.Value.Counter != 1 ||
			e.Value.Left != "changed" {
			t.Errorf("%d entries: stored is %+v", many, e.Value)
		}
		kit.Must(m.Save(ctx, now, mapper.IfTag(now.Tag())))(t)
		kit.Must(m.Update(ctx, m.Key("1"), func(a *kit.Account) error { a.Counter = 51; return nil },
			mapper.IfTag(now.Tag())))(t)
		now = kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
		kit.Must(m.Delete(ctx, now, mapper.IfTag(now.Tag())))(t)
	}
}

// A patch with IfTag requires the versions of the items that it changes, and reads nothing.
func TestPatchIfTagRequiresItsItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	v.save("first")
	name, hits := v.root(nameOfVisited.Set("new")), v.hits(hitsOfVisited.Increment(1))
	tag := func() string { return kit.Must(v.other.Load(ctx, v.other.Key("1"), mapper.Strong()))(t).Tag() }
	conflicts := func(what string, err error) {
		t.Helper()
		var conflict *mapper.ConflictError
		if !errors.As(err, &conflict) || errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	first := tag()
	kit.Must(hits.Exec(ctx, v.other, mapper.IfTag(first)))(t) // it is missing, as in the tag, and is made
	conflicts("an item that was made since", kit.Err(hits.Exec(ctx, v.other, mapper.IfTag(first))))
	second := tag()
	kit.Must(name.Exec(ctx, v.other, mapper.IfTag(first)))(t) // its item is as it was
	conflicts("a changed item", kit.Err(name.Exec(ctx, v.other, mapper.IfTag(second))))
	conflicts("one of two items", kit.Err(hits.And(name).Exec(ctx, v.other, mapper.IfTag(second))))
	kit.Must(hits.Exec(ctx, v.other, mapper.IfTag(second)))(t)
	kit.Must(name.And(hits).Exec(ctx, v.other, mapper.IfTag(tag())))(t)
	v.shows("at the end", "new", 3)
	now := tag()
	v.f.Log = nil
	kit.Must(hits.Exec(ctx, v.watched, mapper.IfTag(now)))(t)
	if fmt.Sprint(v.f.Log) != "[UpdateItem]" {
		t.Errorf("the patch sent %v", v.f.Log)
	}
	conflicts("the text is not a tag: pass the text that Tag returned", kit.Err(name.Exec(ctx, v.other,
		mapper.IfTag("x"))))
}

// Update with the tag of another state ends after the load: its function is not called.
func TestUpdateIfTagIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &kit.Faulty{At: -1}
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), f, 1)
	e := m.New(kit.Account{ID: "1", Counter: 1})
	kit.Must(m.Save(ctx, e))(t)
	tag := e.Tag()
	e.Value.Counter++
	kit.Must(m.Save(ctx, e))(t)
	f.Log = nil
	calls := 0
	err := kit.Err(m.Update(ctx, m.Key("1"), func(*kit.Account) error { calls++; return nil }, mapper.IfTag(tag)))
	if want := "conflict: the entity has changed since the tag was made: ACCOUNT#1 HEAD (Counter) was changed: " +
		"load again"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if calls > 0 || len(f.Log) != 1 {
		t.Errorf("%d calls of the function; sent %v", calls, f.Log)
	}
}

// A save that was written in part is sent again with the same tag: its own writes are no changes.
func TestIfTagAllowsSavingTheRest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &kit.Faulty{At: -1}
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), f, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Left: "l", Right: "r"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	tag := mapper.IfTag(e.Tag())
	e.Value.Counter, e.Value.Left, e.Value.Right = 2, "m", "s"
	f.Log = nil
	f.Pick = func() kit.Fault {
		if len(f.Log) > 1 {
			return kit.DropRequest
		}
		return kit.None
	}
	var partial *mapper.PartialError
	if err := kit.Err(m.Save(ctx, e, tag, mapper.Independent())); !errors.As(err, &partial) {
		t.Fatal(err)
	}
	f.Pick = nil
	kit.Must(m.Save(ctx, e, tag, mapper.Independent()))(t)
	if now := kit.Stored(t, m, "1"); now.Counter != 2 || now.Left != "m" || now.Right != "s" {
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
	kit.Must(m.Save(ctx, m.New(kit.Visited{ID: "2", Name: "x"})))(t)
	of := func(s query.Selection[kit.Visited]) string { return kit.Must(m.Load(ctx, s, mapper.Strong()))(t).Tag() }
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	for tag, want := range map[string]string{
		of(m.Key("2")): "the tag is of another entity",
		of(m.Key("1").Item("HEAD")): "the tag is of another selection of the entity: load the " +
			"selection of the tag",
		"text":                                   "the text is not a tag: pass the text that Tag returned",
		e.Tag() + "\n":                           "the text is not a tag: pass the text that Tag returned",
		of(query.Join(m.Key("1").Item("STATS"))): "the tag is of another selection",
	} {
		for name, err := range map[string]error{
			"load": kit.Err(m.Load(ctx, m.Key("1"), mapper.IfTag(tag))),
			"save": kit.Err(m.Save(ctx, e, mapper.IfTag(tag))), "delete": kit.Err(m.Delete(ctx, e, mapper.IfTag(tag))),
			"update": kit.Err(m.Update(ctx, m.Key("1"), func(*kit.Visited) error { return nil }, mapper.IfTag(tag))),
			"patch":  kit.Err(v.hits(hitsOfVisited.Increment(1)).Exec(ctx, m, mapper.IfTag(tag))),
		} {
			var conflict *mapper.ConflictError
			if !errors.As(err, &conflict) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
	head, stats := m.Key("1").Item("HEAD"), m.Key("1").Item("STATS")
	kit.Must(m.Load(ctx, query.Join(head, stats), mapper.IfTag(of(query.Join(stats, head)))))(t)
}

// A part without items has a tag: it is that of no items.
func TestTagOfNoItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := newVisits(t)
	v.save("first")
	stats := v.other.Key("1").Item("STATS")
	tag := mapper.IfTag(kit.Must(v.other.Load(ctx, stats))(t).Tag())
	kit.Must(v.other.Load(ctx, stats, tag))(t)
	kit.Must(v.hits(hitsOfVisited.Increment(1)).Exec(ctx, v.other))(t)
	var conflict *mapper.ConflictError
	if err := kit.Err(v.other.Load(ctx, stats, tag, mapper.Strong())); !errors.As(err, &conflict) ||
		fmt.Sprint(conflict.Items) != "[{kit.Visited ACCOUNT#1 STATS Hits created}]" {
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
	tag := mapper.IfTag(kit.Must(m.Load(ctx, m.Key("1")))(t).Tag())
	for want, err := range map[string]error{
		"DeleteByKey does not compare a tag: Load the entity with IfTag, and Delete it": kit.Err(m.DeleteByKey(ctx,
			m.Key("1"),
			tag)),
		"LoadMany does not compare tags: Load the entity with IfTag": kit.Err(m.LoadMany(ctx,
			[]query.Selection[kit.Visited]{m.Key("1")}, tag)),

		"a query does not compare a tag": kit.Err(query.Of[kit.Visited](m.Key("1")).Count(ctx, m,
			tag)),
		"a new entity has none: leave IfTag out": kit.Err(m.Save(ctx, m.New(kit.Visited{ID: "3"}), tag)),
		"the tag is empty: leave IfTag out":      kit.Err(m.Load(ctx, m.Key("1"), mapper.IfTag(""))),
		"the tag is empty: leave IfTag out if no": kit.Err(v.root(nameOfVisited.Set("x")).Exec(ctx, m,
			mapper.IfTag(""))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Loaded distinguishes a field that was not loaded from one whose value is zero.
func TestLoadedReportsFieldsOfTheSelection(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	for name, c := range map[string]struct {
		of   query.Selection[kit.Account]
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
		e := kit.Must(m.Load(ctx, c.of))(t)
		v := &e.Value
		got := fmt.Sprint([]bool{
			e.Loaded(&v.ID), e.Loaded(&v.Counter), e.Loaded(&v.Left), e.Loaded(&v.Right),
			e.Loaded(&v.Entries), e.Loaded(&v.Flags),
		})
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	e := m.New(kit.Account{ID: "1"})
	if !e.Loaded(&e.Value.Left) {
		t.Error("a field of a new entity is not loaded")
	}
	var other kit.Account
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
