package protocol_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
)

// broken returns the mover of a process whose n-th request meets a fault.
func (s *setup) broken(at int, f fakedynamo.Fault, kill context.CancelFunc) (*protocol.Mover, *fakedynamo.Transport) {
	b := &fakedynamo.Transport{At: at, Fault: f, Kill: kill}
	return protocol.New(b.Client(s.client), s.Layout, s.Source, s.Keys, s.Tables), b
}

// Killed before and after each request, and with each request and each answer lost, a repeated move
// ends as an undisturbed one. The same holds for the rollback.
func TestFaultsEverywhere(t *testing.T) {
	t.Parallel()
	newSetup(t).faultsEverywhere(t, draws.Times(30, 3, 1)) // .ci/long asks for every request
}

// The same where the monoliths are stored among the items.
func TestFaultsInOneTable(t *testing.T) {
	t.Parallel()
	newOwnSetup(t).faultsEverywhere(t, draws.Times(60, 12, 1))
}

// The same where the collections were imported, one of them before its monolith was written again.
func TestFaultsAfterAnImport(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.importing = true
	s.faultsEverywhere(t, draws.Times(60, 12, 1))
}

func (s *setup) faultsEverywhere(t *testing.T, every int) {
	for f := range fakedynamo.Faults {
		t.Run(f.String(), func(t *testing.T) {
			first := 1 + rand.IntN(every)
			for at := first; ; at += every {
				if !s.oneFault(t, f, at) {
					t.Logf("%d requests, from %d on each %d", at-1, first, every)
					return
				}
			}
		})
	}
}

// oneFault moves entities, and back, with one fault, in this and the other direction. It reports whether
// the fault was met.
func (s *setup) oneFault(t *testing.T, f fakedynamo.Fault, at int) bool {
	t.Helper()
	ctx := request.InOrder(context.Background())
	r := rand.New(rand.NewPCG(1, uint64(at)))
	docs := map[string]item.Attributes{}
	places := map[string]item.Place{}
	for _, n := range []int{0, 27} { // root and few parts, and more than a batch
		id := fmt.Sprint(f, at, " ", n)
		docs[id] = shop(r, id, n)
		d := s.put(docs[id])
		places[id] = d.Place
		if s.importing {
			s.load(d, false)
		}
		if s.importing && n == 27 && at%2 == 0 {
			docs[id]["written since"] = &types.AttributeValueMemberBOOL{Value: true}
			s.put(docs[id])
		}
	}
	hit := s.facing(ctx, f, at,
		func(ctx context.Context, m *protocol.Mover) error { return s.moveAll(ctx, t, m, places) })
	s.check(t, docs, places, true)
	hit = s.facing(ctx, f, at,
		func(ctx context.Context, m *protocol.Mover) error { return s.backAll(ctx, t, m, places) }) || hit
	s.check(t, docs, places, false)
	for _, table := range append([]*item.Table{s.Source}, s.Tables...) {
		for _, a := range s.all(table) {
			if _, err := s.client.DeleteItem(ctx,
				&dynamodb.DeleteItemInput{TableName: &table.Name, Key: keyOf(table, a)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return hit
}

func keyOf(table *item.Table, a item.Attributes) item.Attributes {
	k := item.Attributes{table.Hash: a[table.Hash]}
	if table.Range != "" {
		k[table.Range] = a[table.Range]
	}
	return k
}

// facing does something with a fault at one request, and then, if that was the end of it, again without.
func (s *setup) facing(ctx context.Context, f fakedynamo.Fault, at int,
	do func(context.Context, *protocol.Mover) error,
) (hit bool) {
	c, kill := context.WithCancel(ctx)
	defer kill()
	m, b := s.broken(at, f, kill)
	if err := do(c, m); err != nil || c.Err() != nil {
		if err := do(ctx, s.Mover); err != nil {
			panic(err)
		}
	}
	return b.Sent() >= at
}

func (s *setup) moveAll(ctx context.Context, t *testing.T, m *protocol.Mover, places map[string]item.Place) error {
	var group []*protocol.Entity
	for _, id := range slices.Sorted(maps.Keys(places)) {
		at := places[id]
		d, err := m.Monolith(ctx, at, &write.Tally{})
		if err != nil {
			return err
		}
		group = append(group, &protocol.Entity{Doc: d})
	}
	err := m.Move(ctx, group, &write.Tally{})
	for _, e := range group {
		if e.Err != nil && err == nil {
			t.Errorf("%s: %v", e.Doc.Place, e.Err)
		}
	}
	return err
}

func (s *setup) backAll(ctx context.Context, t *testing.T, m *protocol.Mover, places map[string]item.Place) error {
	var all []*protocol.Return
	for _, id := range slices.Sorted(maps.Keys(places)) {
		at := places[id]
		d := &protocol.Monolith{Place: at, Attributes: item.Attributes{"id": &types.AttributeValueMemberS{Value: id}}}
		root, err := m.RootOf(d)
		if err != nil {
			return err
		}
		all = append(all, &protocol.Return{Doc: at, Root: root})
	}
	err := m.Back(ctx, all, &write.Tally{})
	for _, b := range all {
		if b.Err != nil && err == nil {
			t.Errorf("%s: %v", b.Doc, b.Err)
		}
	}
	return err
}

// check requires that all entities are in one layout, whole, and in this alone.
func (s *setup) check(t *testing.T, docs map[string]item.Attributes, places map[string]item.Place, moved bool) {
	t.Helper()
	want := 0
	for _, doc := range docs {
		c, err := s.Layout.Split(doc)
		if err != nil {
			t.Fatal(err)
		}
		want += len(c.Items)
	}
	left := s.all(s.Tables[0])
	if !moved {
		want = 0
	}
	if len(left) != want {
		t.Errorf("%d items, and not %d: %v", len(left), want, left)
	}
	for _, a := range left {
		if st := s.Layout.Reserved.Header(a); !st.Live() {
			t.Errorf("%v is %v", a["PK"], st.ReadStage())
		}
	}
	for _, a := range s.all(s.Source) {
		id := a["id"].(*types.AttributeValueMemberS).Value
		d := &protocol.Monolith{Place: places[id], Attributes: a}
		if d.Unmarked() == moved || d.Changed() || !attr.SameItem(s.content(d), docs[id]) {
			t.Errorf("%s: unmarked %v, changed %v: %v, which was %v", id, d.Unmarked(), d.Changed(), a, docs[id])
		}
	}
}
