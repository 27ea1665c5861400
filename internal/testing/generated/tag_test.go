package generated

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

type patches[T any] interface {
	Exec(context.Context, query.Source[T], ...mapper.WriteOption) (*mapper.Receipt, error)
}

// A patch with the tag of the whole entity is written if each of its items is as in the tag, or missing
// as in the tag. It is refused if an item was changed, deleted or created since.
func TestPatchIfTagRequiresEachItemAsInTheTag(t *testing.T) {
	ctx := context.Background()
	m := newMapper[Log](t)
	k := LogByID("1")
	at := time.Date(2026, time.November, 26, 0, 0, 0, 0, time.UTC)
	event := Event{At: at, K: "k"}
	all := map[string]patches[Log]{
		"set": k.Extra().Patch(ExtraFields.A.Set(5)), "increment": k.Extra().Patch(ExtraFields.A.Increment(5)),
		"set if absent": k.Extra().Patch(ExtraFields.A.SetIfAbsent(5)),
		"put":           k.Nanos().Put(event), "add": k.Nanos().Add(event), "delete": k.Extra().Delete(),
		"two items":      k.Patch(LogFields.Name.Set("n")).And(k.Extra().Patch(ExtraFields.A.Set(5))),
		"and an element": k.Patch(LogFields.Name.Set("n")).And(k.Nanos().Add(event)),
	}
	without, with := Log{ID: "1", Name: "a"}, Log{
		ID: "1", Name: "a", Nanos: []Event{event},
		Extra: &Extra{A: 1, B: "b"},
	}
	insert := func(v Log) string {
		t.Helper()
		if _, err := m.DeleteByKey(ctx, k); err != nil && !errors.Is(err, mapper.ErrNotFound) {
			t.Fatal(err)
		}
		e := m.New(v)
		must(m.Save(ctx, e))(t)
		return e.Tag()
	}
	update := func(change func(*Log)) {
		t.Helper()
		must(m.Update(ctx, k, func(v *Log) error { change(v); return nil }))(t)
	}
	other := m.New(Log{ID: "2", Name: "a"})
	must(m.Save(ctx, other))(t)
	for name, p := range all {
		for _, c := range []struct {
			state   string
			value   Log
			between func()
			written bool
		}{
			{"as in the tag", with, nil, !strings.Contains(name, "add") && name != "and an element"},
			{"missing, as in the tag", without, nil, name != "delete"},
			{"changed", with, func() { update(func(v *Log) { v.Extra.B, v.Nanos[0].K = "c", "l" }) }, false},
			{"deleted", with, func() { update(func(v *Log) { v.Extra, v.Nanos = nil, nil }) }, false},
			{"made", without, func() { update(func(v *Log) { v.Extra, v.Nanos = with.Extra, with.Nanos }) }, false},
			{"replaced", with, func() { insert(with) }, false},
		} {
			tag := insert(c.value)
			if c.between != nil {
				c.between()
			}
			before := must(m.Load(ctx, k, mapper.Strong()))(t).Tag()
			_, err := p.Exec(ctx, m, mapper.IfTag(tag))
			var conflict *mapper.ConflictError
			if missing := name == "delete" && strings.HasPrefix(c.state, "missing"); missing &&
				errors.Is(err, mapper.ErrNotFound) {
				continue
			}
			if c.written && err != nil || !c.written && !errors.As(err, &conflict) &&
				!errors.Is(err, mapper.ErrExists) {
				t.Errorf("%s, %s: %v", name, c.state, err)
			}
			if after := must(m.Load(ctx, k, mapper.Strong()))(t).Tag(); !c.written && after != before {
				t.Errorf("%s, %s: it was written", name, c.state)
			}
		}
		insert(without)
		for _, tag := range []string{"text", other.Tag()} {
			var conflict *mapper.ConflictError
			if _, err := p.Exec(ctx, m, mapper.IfTag(tag)); !errors.As(err, &conflict) {
				t.Errorf("%s with the tag %s: %v", name, tag, err)
			}
		}
	}
}

// A patch with Upsert and the tag of an entity that was deleted since is refused at once.
func TestUpsertIfTagOfDeletedEntity(t *testing.T) {
	ctx := context.Background()
	m := newMapper[Log](t)
	k := LogByID("1")
	e := m.New(Log{ID: "1", Name: "a", Extra: &Extra{A: 1}})
	must(m.Save(ctx, e))(t)
	must(m.DeleteByKey(ctx, k))(t)
	r, err := k.Patch(LogFields.Name.Set("x")).And(k.Extra().Patch(ExtraFields.A.Set(1))).Upsert().Exec(ctx, m,
		mapper.IfTag(e.Tag()))
	if !errors.Is(err, mapper.ErrNotFound) || r.Predicted().Requests > 3 {
		t.Errorf("%v: %v", r, err)
	}
}
