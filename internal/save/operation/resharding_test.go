package operation_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// resharding stores an entity on one of two shards, while the number of shards changes. It returns its
// number, and the transport of a client with hooks.
func resharding(t *testing.T, lines ...kit.Part) (x *kit.Shops, n int, f *kit.Faulty, at hooks) {
	x, f, at = kit.NewShops(t), &kit.Faulty{At: -1}, hooks{}
	n = x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(context.Background(), x.A.New(kit.ShopOld{Shop: "s", N: n, By: "first", Line: lines})))(t)
	at.watch(f)
	return x, n, f, at
}

// A missing item does not show that a delete without an answer was applied: another writer may have moved the entity.
func TestLostDeleteOfMovedEntityIsUnknown(t *testing.T) {
	for name, loaded := range map[string]bool{"by key": false, "loaded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := request.WithoutPauses(context.Background())
			x, n, f, at := resharding(t)
			lost := false
			at["DeleteItem"] = func(number int) kit.Fault {
				if lost = number == 1; lost {
					return kit.DropRequest
				}
				return kit.None
			}
			at["GetItem"] = func(int) kit.Fault {
				if lost {
					lost = false
					x.Move(t, n)
				}
				return kit.None
			}
			m := x.MapperOf(t, f)
			var selected query.Selection[kit.ShopExpected] = m.Key("s", n)
			if loaded {
				selected = kit.Must(m.Load(ctx, m.Key("s", n)))(t)
			}
			_, err := m.DeleteByKey(ctx, selected)
			x.CheckDeleted(t, n, err)
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
	x, n, f, at := resharding(t, kit.Part{N: 1})
	lost := false
	at["DeleteItem"] = func(number int) kit.Fault {
		if lost = number == 1; lost {
			return kit.DropRequest
		}
		return kit.None
	}
	at["GetItem"] = func(int) kit.Fault {
		if lost {
			lost = false
			x.Move(t, n)
		}
		return kit.None
	}
	m := x.MapperOf(t, f)
	_, err := m.Update(ctx, m.Key("s", n), func(v *kit.ShopExpected) error { v.Line = nil; return nil })
	if now := x.Stored(t, n); err == nil && len(now.Line) > 0 {
		t.Errorf("the removal is acknowledged, and %+v is stored", now.Line)
	}
}

// A delete by key finds an entity that moves to another shard and back while it is deleted.
func TestDeleteFindsEntityThatMovesAndReturns(t *testing.T) {
	for name, options := range map[string][]mapper.WriteOption{"Query": nil, "DeleteItem": {mapper.Independent()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := request.WithoutPauses(context.Background())
			x, n, f, at := resharding(t, kit.Part{N: 1}, kit.Part{N: 2})
			moved := false
			at[name] = func(number int) kit.Fault { // before anything is read, or after an item was deleted
				if !moved && number >= 1+len(options) {
					moved = true
					x.Move(t, n)
				}
				return kit.None
			}
			at["BatchGetItem"] = func(number int) kit.Fault {
				if number == 2 {
					x.Back(t, n)
				}
				return kit.None
			}
			m := x.MapperOf(t, f)
			_, err := m.DeleteByKey(ctx, m.Key("s", n), options...)
			if !moved {
				t.Error("the entity did not move")
			}
			x.CheckDeleted(t, n, err)
		})
	}
}

// A delete by key that finds only leftover items on the old shard follows the entity to the new one.
func TestDeleteOfLeftoverFollowsMovedEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x, n, f, at := resharding(t)
	earlier := kit.Must(x.A.Load(ctx, x.A.Key("s", n)))(t)
	kit.Must(x.A.DeleteByKey(ctx, x.A.Key("s", n)))(t)
	earlier.Value.Line = []kit.Part{{N: 9}}
	kit.Must(x.A.Save(ctx, earlier, mapper.Blind()))(t) // a leftover item
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, By: "second", Line: []kit.Part{{N: 1}}})))(t)
	moved := false
	at["Query"] = func(int) kit.Fault {
		if !moved {
			moved = true
			x.Move(t, n)
		}
		return kit.None
	}
	m := x.MapperOf(t, f)
	kit.Must(m.DeleteByKey(ctx, m.Key("s", n)))(t)
	if now := x.Stored(t, n); !moved || now != nil {
		t.Errorf("the delete is acknowledged, and %+v is stored", now)
	}
}

// A delete of a loaded entity that another writer moved to another shard is a conflict: the entity exists.
func TestDeleteOfLoadedEntityAfterMoveIsConflict(t *testing.T) {
	for name, options := range map[string][]mapper.WriteOption{"plain": nil, "staged": {mapper.Staged()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := request.WithoutPauses(context.Background())
			x, n, f, _ := resharding(t, kit.Part{N: 1})
			m := x.MapperOf(t, f)
			e := kit.Must(m.Load(ctx, m.Key("s", n)))(t)
			x.Move(t, n)
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
		x, n, f, at := resharding(t, kit.Part{N: 1}, kit.Part{N: 2})
		at["DeleteItem"] = func(number int) kit.Fault {
			if number == 2 {
				kit.Must(x.A.DeleteByKey(ctx, x.A.Key("s", n)))(t)
				kit.Must(x.C.Save(ctx, x.C.New(kit.ShopNew{Shop: "s", N: n, By: "second"})))(t)
			}
			return kit.None
		}
		m := x.MapperOf(t, f)
		_, err := m.DeleteByKey(ctx, m.Key("s", n), mapper.Independent())
		if now := x.Stored(t, n); now == nil || !isUnknown(err) {
			t.Errorf("%+v is stored: %v", now, err)
		}
	})
	t.Run("unwatched", func(t *testing.T) {
		t.Parallel()
		ctx := request.WithoutPauses(context.Background())
		x, n, f, at := resharding(t)
		at["DeleteItem"] = func(number int) kit.Fault {
			switch number {
			case 1:
				return kit.DropAnswer // it is applied
			case 2: // by the SDK
				kit.Must(x.B.Save(ctx, x.B.New(kit.ShopExpected{Shop: "s", N: n, By: "second"})))(t)
			}
			return kit.None
		}
		at["Query"] = func(number int) kit.Fault {
			if number == 2 {
				x.Move(t, n)
			}
			return kit.None
		}
		m := kit.Must(mapper.New[kit.ShopExpected](kit.Unwatched{C: kit.Client(t, f, 2)}, x.Table))(t)
		_, err := m.DeleteByKey(ctx, m.Key("s", n))
		if now := x.Stored(t, n); now == nil || !isUnknown(err) {
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
			x, n, f, at := resharding(t, kit.Part{N: 1})
			m := x.MapperOf(t, f)
			kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "other", N: 1, By: "first"})))(t)
			e, other := kit.Must(m.Load(ctx, m.Key("s", n)))(t), kit.Must(m.Load(ctx, m.Key("other", 1)))(t)
			at["TransactWriteItems"] = func(int) kit.Fault { return kit.DropRequest }
			other.Value.By, e.Value.Line = "changed", nil
			change := m.SavePart(e)
			if deletes {
				change = m.DeletePart(e)
			}
			if _, err := mapper.Transact(ctx, change, m.SavePart(other)); !isUnknown(err) {
				t.Fatal(err)
			}
			at["TransactWriteItems"] = nil
			x.Move(t, n)
			kit.Must(x.B.Update(ctx, x.B.Key("other", 1),
				func(v *kit.ShopExpected) error { v.By = "another writer"; return nil }))(t)
			var err error
			if deletes {
				_, err = m.Delete(ctx, e)
			} else {
				_, err = m.Save(ctx, e)
			}
			if now := x.Stored(t, n); err == nil && (deletes || len(now.Line) > 0) {
				t.Errorf("it is acknowledged, and %+v is stored", now)
			}
		})
	}
}

// A delete without an answer is resolved as before if both numbers of shards give the entity the same shard.
func TestLostDeleteOfEntityWithOneShardIsResolved(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x, f := kit.NewShops(t), &kit.Faulty{At: -1}
	n, distinct := 1, x.SplitKeys(t, 8)
	for slices.Contains(distinct, n) {
		n++
	}
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, By: "first"})))(t)
	lost := false
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "DeleteItem" && !lost {
			lost = true
			return kit.DropAnswer
		}
		return kit.None
	}
	m := x.MapperOf(t, f)
	kit.Must(m.Delete(ctx, kit.Must(m.Load(ctx, m.Key("s", n)))(t)))(t)
	if !lost {
		t.Error("no answer was lost")
	}
}
