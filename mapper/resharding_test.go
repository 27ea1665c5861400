package mapper_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// hooks are called before each request of an operation, with its number from 1, and return its fault.
type hooks map[string]func(number int) fault

// resharding stores an entity on one of two shards, while the number of shards changes. It returns its
// number, and the transport of a client with hooks.
func resharding(t *testing.T, lines ...part) (x *shops, n int, f *faulty, at hooks) {
	x, f, at = newShops(t), &faulty{at: -1}, hooks{}
	n = x.splitKeys(t, 1)[0]
	must(x.a.Save(context.Background(), x.a.New(shopOld{Shop: "s", N: n, By: "first", Line: lines})))(t)
	numbers := map[string]int{}
	f.pick = func() fault {
		operation := f.log[len(f.log)-1]
		numbers[operation]++
		if hook := at[operation]; hook != nil {
			return hook(numbers[operation])
		}
		return none
	}
	return x, n, f, at
}

// move moves an entity to its new shard, and back returns it to the old one.
func (x *shops) move(t *testing.T, n int) {
	ctx := context.Background()
	must(x.c.Save(ctx, must(x.c.Load(ctx, x.c.Key("s", n)))(t), mapper.Move()))(t)
}

func (x *shops) back(t *testing.T, n int) {
	ctx := context.Background()
	must(x.b.Save(ctx, must(x.b.Load(ctx, x.b.Key("s", n)))(t), mapper.Move()))(t)
}

// mapperOf returns a mapper with a client of its own.
func (x *shops) mapperOf(t *testing.T, f *faulty) *mapper.Mapper[shopExpected] {
	return must(mapper.New[shopExpected](client(t, f, 1), x.table))(t)
}

// stored returns an entity, nil if it does not exist.
func (x *shops) stored(t *testing.T, n int) *shopNew {
	e, err := x.c.Load(context.Background(), x.c.Key("s", n), mapper.Strong())
	if errors.Is(err, mapper.ErrNotFound) {
		return nil
	}
	return &must(e, err)(t).Value
}

// checkDeleted fails a test if a delete returned nil or ErrNotFound though the entity exists.
func (x *shops) checkDeleted(t *testing.T, n int, err error) {
	t.Helper()
	if x.stored(t, n) != nil && (err == nil || errors.Is(err, mapper.ErrNotFound)) {
		t.Errorf("the entity exists, and the delete returned %v", err)
	}
}

// A missing item does not show that a delete without an answer was applied: another writer may have moved the entity.
func TestLostDeleteOfMovedEntityIsUnknown(t *testing.T) {
	for name, loaded := range map[string]bool{"by key": false, "loaded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := request.WithoutPauses(context.Background())
			x, n, f, at := resharding(t)
			lost := false
			at["DeleteItem"] = func(number int) fault {
				if lost = number == 1; lost {
					return dropRequest
				}
				return none
			}
			at["GetItem"] = func(int) fault {
				if lost {
					lost = false
					x.move(t, n)
				}
				return none
			}
			m := x.mapperOf(t, f)
			var selected query.Selection[shopExpected] = m.Key("s", n)
			if loaded {
				selected = must(m.Load(ctx, m.Key("s", n)))(t)
			}
			_, err := m.DeleteByKey(ctx, selected)
			x.checkDeleted(t, n, err)
			if isUnknown(err) && errors.Unwrap(err) == nil {
				t.Errorf("no cause: %v", err)
			}
		})
	}
}

// The same holds for an element that a save removes.
func TestLostRemovalOfMovedElementIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x, n, f, at := resharding(t, part{N: 1})
	lost := false
	at["DeleteItem"] = func(number int) fault {
		if lost = number == 1; lost {
			return dropRequest
		}
		return none
	}
	at["GetItem"] = func(int) fault {
		if lost {
			lost = false
			x.move(t, n)
		}
		return none
	}
	m := x.mapperOf(t, f)
	_, err := m.Update(ctx, m.Key("s", n), func(v *shopExpected) error { v.Line = nil; return nil })
	if now := x.stored(t, n); err == nil && len(now.Line) > 0 {
		t.Errorf("the removal is acknowledged, and %+v is stored", now.Line)
	}
}

// A delete by key finds an entity that moves to another shard and back while it is deleted.
func TestDeleteFindsEntityThatMovesAndReturns(t *testing.T) {
	for name, options := range map[string][]mapper.WriteOption{"Query": nil, "DeleteItem": {mapper.Independent()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := request.WithoutPauses(context.Background())
			x, n, f, at := resharding(t, part{N: 1}, part{N: 2})
			moved := false
			at[name] = func(number int) fault { // before anything is read, or after an item was deleted
				if !moved && number >= 1+len(options) {
					moved = true
					x.move(t, n)
				}
				return none
			}
			at["BatchGetItem"] = func(number int) fault {
				if number == 2 {
					x.back(t, n)
				}
				return none
			}
			m := x.mapperOf(t, f)
			_, err := m.DeleteByKey(ctx, m.Key("s", n), options...)
			if !moved {
				t.Error("the entity did not move")
			}
			x.checkDeleted(t, n, err)
		})
	}
}

// A delete by key that finds only leftover items on the old shard follows the entity to the new one.
func TestDeleteOfLeftoverFollowsMovedEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x, n, f, at := resharding(t)
	earlier := must(x.a.Load(ctx, x.a.Key("s", n)))(t)
	must(x.a.DeleteByKey(ctx, x.a.Key("s", n)))(t)
	earlier.Value.Line = []part{{N: 9}}
	must(x.a.Save(ctx, earlier, mapper.Blind()))(t) // a leftover item
	must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n, By: "second", Line: []part{{N: 1}}})))(t)
	moved := false
	at["Query"] = func(int) fault {
		if !moved {
			moved = true
			x.move(t, n)
		}
		return none
	}
	m := x.mapperOf(t, f)
	must(m.DeleteByKey(ctx, m.Key("s", n)))(t)
	if now := x.stored(t, n); !moved || now != nil {
		t.Errorf("the delete is acknowledged, and %+v is stored", now)
	}
}

// A delete of a loaded entity that another writer moved to another shard is a conflict: the entity exists.
func TestDeleteOfLoadedEntityAfterMoveIsConflict(t *testing.T) {
	for name, options := range map[string][]mapper.WriteOption{"plain": nil, "staged": {mapper.Staged()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := request.WithoutPauses(context.Background())
			x, n, f, _ := resharding(t, part{N: 1})
			m := x.mapperOf(t, f)
			e := must(m.Load(ctx, m.Key("s", n)))(t)
			x.move(t, n)
			var conflict *mapper.ConflictError
			if _, err := m.Delete(ctx, e, options...); !errors.As(err, &conflict) ||
				errors.Is(err, mapper.ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

// A delete does not delete the next entity of its key, on another shard.
func TestDeleteKeepsNextEntityOnOtherShard(t *testing.T) {
	t.Run("independent", func(t *testing.T) {
		t.Parallel()
		ctx := request.WithoutPauses(context.Background())
		x, n, f, at := resharding(t, part{N: 1}, part{N: 2})
		at["DeleteItem"] = func(number int) fault {
			if number == 2 {
				must(x.a.DeleteByKey(ctx, x.a.Key("s", n)))(t)
				must(x.c.Save(ctx, x.c.New(shopNew{Shop: "s", N: n, By: "second"})))(t)
			}
			return none
		}
		m := x.mapperOf(t, f)
		_, err := m.DeleteByKey(ctx, m.Key("s", n), mapper.Independent())
		if now := x.stored(t, n); now == nil || !isUnknown(err) {
			t.Errorf("%+v is stored: %v", now, err)
		}
	})
	t.Run("unwatched", func(t *testing.T) {
		t.Parallel()
		ctx := request.WithoutPauses(context.Background())
		x, n, f, at := resharding(t)
		at["DeleteItem"] = func(number int) fault {
			switch number {
			case 1:
				return dropAnswer // it is applied
			case 2: // by the SDK
				must(x.b.Save(ctx, x.b.New(shopExpected{Shop: "s", N: n, By: "second"})))(t)
			}
			return none
		}
		at["Query"] = func(number int) fault {
			if number == 2 {
				x.move(t, n)
			}
			return none
		}
		m := must(mapper.New[shopExpected](unwatched{client(t, f, 2)}, x.table))(t)
		_, err := m.DeleteByKey(ctx, m.Key("s", n))
		if now := x.stored(t, n); now == nil || !isUnknown(err) {
			t.Errorf("%+v is stored: %v", now, err)
		}
	})
}

// The same holds for a transaction without an answer, of which another entity shows nothing any more.
func TestLostTransactionOfMovedEntityIsUnknown(t *testing.T) {
	for name, deletes := range map[string]bool{"deleted": true, "an element removed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := request.WithoutPauses(context.Background())
			x, n, f, at := resharding(t, part{N: 1})
			m := x.mapperOf(t, f)
			must(x.a.Save(ctx, x.a.New(shopOld{Shop: "other", N: 1, By: "first"})))(t)
			e, other := must(m.Load(ctx, m.Key("s", n)))(t), must(m.Load(ctx, m.Key("other", 1)))(t)
			at["TransactWriteItems"] = func(int) fault { return dropRequest }
			other.Value.By, e.Value.Line = "changed", nil
			change := m.SavePart(e)
			if deletes {
				change = m.DeletePart(e)
			}
			if _, err := mapper.Transact(ctx, change, m.SavePart(other)); !isUnknown(err) {
				t.Fatal(err)
			}
			at["TransactWriteItems"] = nil
			x.move(t, n)
			must(x.b.Update(ctx, x.b.Key("other", 1),
				func(v *shopExpected) error { v.By = "another writer"; return nil }))(t)
			var err error
			if deletes {
				_, err = m.Delete(ctx, e)
			} else {
				_, err = m.Save(ctx, e)
			}
			if now := x.stored(t, n); err == nil && (deletes || len(now.Line) > 0) {
				t.Errorf("it is acknowledged, and %+v is stored", now)
			}
		})
	}
}

// A delete without an answer is resolved as before if both numbers of shards give the entity the same shard.
func TestLostDeleteOfEntityWithOneShardIsResolved(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x, f := newShops(t), &faulty{at: -1}
	n, distinct := 1, x.splitKeys(t, 8)
	for slices.Contains(distinct, n) {
		n++
	}
	must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n, By: "first"})))(t)
	lost := false
	f.pick = func() fault {
		if f.log[len(f.log)-1] == "DeleteItem" && !lost {
			lost = true
			return dropAnswer
		}
		return none
	}
	m := x.mapperOf(t, f)
	must(m.Delete(ctx, must(m.Load(ctx, m.Key("s", n)))(t)))(t)
	if !lost {
		t.Error("no answer was lost")
	}
}
