package migrate_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// restored rolls an entity of three events back, which dies before a request behind its write of the
// monolith; it reports whether items are left.
func restored(ctx context.Context, t *testing.T, at int) (s *setup, more bool) {
	t.Helper()
	s = newSetup(t)
	s.put(document("a", 3))
	s.mustRun(ctx)
	dies, kill := context.WithCancel(ctx)
	defer kill()
	c, g := s.gated(matching("PutItem", `"`+s.source+`"`))
	c = dynamodb.New(c.Options(),
		func(o *dynamodb.Options) { o.HTTPClient = &behind{next: o.HTTPClient, of: g, at: int32(at), do: kill} })
	g.release()
	_, _ = s.over(c).Rollback(dies)
	return s, len(s.collections()) > 0
}

// behind does something before a request behind the one that a gate is for.
type behind struct {
	next dynamodb.HTTPClient
	of   *gate
	at   int32
	sent atomic.Int32
	do   func()
}

// Do is described at dynamodb.HTTPClient.
func (b *behind) Do(r *http.Request) (*http.Response, error) {
	if b.of.held.Load() {
		if b.sent.Add(1) == b.at {
			b.do()
		}
	}
	return b.next.Do(r)
}

// A rollback dies after its write of the monolith, and the old program deletes that: the entity no
// longer exists, and no reader sees a part of it. Only between the write and its record on the root,
// two consecutive requests, the whole entity is restored.
func TestWhatWasRestoredIsDeleted(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	died, back := 0, 0
	for at := 1; ; at++ {
		s, more := restored(ctx, t, at)
		if !more {
			break
		}
		died++
		s.remove(s.source, attributes{"name": textValue("a")})
		w, m := s.wrapped()
		if e, err := w.Load(ctx, m.Key("a")); err == nil && len(e.Value.Events) != 3 {
			t.Errorf("died at request %d: a load shows %d events of 3", at, len(e.Value.Events))
		}
		s.rollBack(ctx, s.client)
		all := s.all(s.source)
		back += len(all)
		if len(all) > 0 && eventsOf(all[0]) != 3 {
			t.Errorf("died at request %d: a monolith of %d events of 3 comes back", at, eventsOf(all[0]))
		}
		if keys := s.keys(); keys != "" {
			t.Errorf("died at request %d: items are left: %s", at, keys)
		}
	}
	if died < 5 || back > 1 {
		t.Errorf("of %d rollbacks that died %d bring the entity back", died, back)
	}
}

// A rollback dies after its write of the monolith, and the old program writes that again. The monolith
// is kept, or an operator decides; the cure in the message loses nothing.
func TestWhatWasRestoredIsWritten(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	conflicts := 0
	for at := 1; ; at++ {
		s, more := restored(ctx, t, at)
		if !more {
			break
		}
		later := document("a", 1)
		later["description"] = textValue("later")
		s.put(later)
		r, err := s.migration().Rollback(ctx)
		if err != nil {
			t.Fatal(err)
		}
		events := 1
		if r.This.Conflicts > 0 {
			conflicts++
			events = 3
			st, err := s.migration().Status(ctx)
			if err != nil || len(st.DeadLetters) != 1 ||
				!strings.Contains(st.DeadLetters[0].Reasons[0], "or remove the monolith, and roll back again") {
				t.Fatal(st, err)
			}
			s.remove(s.source, attributes{"name": textValue("a")})
			s.rollBack(ctx, s.client)
		}
		if all := s.all(s.source); len(all) != 1 || eventsOf(all[0]) != events || s.keys() != "" {
			t.Errorf("died at request %d: %v, want %d events; items %s", at, all, events, s.keys())
		}
	}
	if conflicts > 1 {
		t.Errorf("%d conflicts: the note tells that the monolith is the truth", conflicts)
	}
}

// Two rollbacks at once, and a write of an item without Wrap between their reads: it is in the monolith, or kept.
func TestForeignItemDuringTwoRollbacks(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, secondEndsFirst := range []bool{false, true} {
		s := newSetup(t)
		s.put(document("a", 2))
		s.mustRun(ctx)
		roll := func() (*gate, <-chan struct{}) {
			c, g := s.gated(matching("PutItem", `"`+s.source+`"`))
			rolled := inBackground(func() { _, _ = s.over(c, migrate.Segments(1)).Rollback(ctx) })
			s.held(g)
			return g, rolled
		}
		first, firstEnds := roll()
		if err := s.changesItem(ctx, "TAG#latest"); err != nil {
			t.Fatal(err)
		}
		second, secondEnds := roll()
		if secondEndsFirst {
			second.release()
			s.waits(secondEnds)
			first.release()
		} else {
			first.release()
			s.waits(firstEnds)
			second.release()
		}
		s.waits(firstEnds)
		s.waits(secondEnds)
		if !s.has("foreign") {
			t.Errorf("an accepted write is nowhere; monoliths %q, items %s", s.unmarked(), s.keys())
		}
	}
}

// A request that puts parts gets no answer, and is applied later: it brings back no element that was
// removed since, and no item of an entity that was deleted.
func TestLateParts(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, deleted := range []bool{false, true} {
		s := newSetup(t)
		s.put(document("a", 2))
		late := &lostOnce{next: s.client.Options().HTTPClient, text: "TAG#latest"}
		c := dynamodb.New(s.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = late })
		if r, err := s.over(c).Run(ctx); err != nil || r.This.Moved != 1 {
			t.Fatal(r, err)
		}
		w, m := s.wrapped()
		if deleted {
			s.deletes(ctx, w)
		} else if _, err := w.Update(ctx, m.Key("a"),
			func(p *Package) error { delete(p.Tags, "latest"); return nil }); err != nil {
			t.Fatal(err)
		}
		late.arrives(t)
		if e, err := w.Load(ctx, m.Key("a")); deleted != errors.Is(err, mapper.ErrNotFound) || !deleted &&
			len(e.Value.Tags) > 0 {
			t.Errorf("deleted %v: %+v, %v", deleted, e, err)
		}
		s.mustRun(ctx)
		if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
			t.Errorf("deleted %v: %+v, %v", deleted, v, err)
		}
		s.rollBack(ctx, s.client)
		if keys := s.keys(); keys != "" {
			t.Errorf("deleted %v: items are left: %s", deleted, keys)
		}
	}
}

// lostOnce loses the first statements with a text, which arrive later.
type lostOnce struct {
	next dynamodb.HTTPClient
	text string
	mu   sync.Mutex
	lost *http.Request
	body []byte
}

// Do is described at dynamodb.HTTPClient.
func (l *lostOnce) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "BatchExecuteStatement") &&
		strings.Contains(string(body), l.text) {
		l.lost, l.body = r.Clone(context.WithoutCancel(r.Context())), body
		return nil, errors.New("lost")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return l.next.Do(r)
}

func (l *lostOnce) arrives(t *testing.T) {
	t.Helper()
	l.lost.Body = io.NopCloser(bytes.NewReader(l.body))
	resp, err := l.next.Do(l.lost)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// A run dies behind a claim that it puts behind the contract: the claim does not block the key.
func TestClaimBehindAContract(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, deletes := range []bool{false, true} {
		s := newSetup(t)
		s.put(document("a", 1))
		s.mustRun(ctx)
		w, m := s.wrapped()
		s.put(document("late", 2))
		dies, kill := context.WithCancel(ctx)
		c, claims := s.gated(matching("BatchExecuteStatement", "PACKAGE#late"))
		ran := inBackground(func() { _, _ = s.over(&deadBehindClaim{c, kill}).Run(dies) })
		s.held(claims)
		s.mustRun(ctx)
		if err := w.Delete(ctx, m.Key("late")); err != nil {
			t.Fatal(err)
		}
		s.contracts(ctx)
		claims.release()
		s.waits(ran)
		if keys := s.keys(); !strings.Contains(keys, "PACKAGE#late/HEAD") {
			t.Fatal("no claim exists: ", keys)
		}
		if deletes {
			if err := w.Delete(ctx, m.Key("late")); !errors.Is(err, mapper.ErrNotFound) {
				t.Error(err)
			}
			if keys := s.keys(); strings.Contains(keys, "PACKAGE#late") {
				t.Error(keys)
			}
		}
		if _, err := w.Insert(ctx, Package{Name: "late"}); err != nil {
			t.Error(err)
		}
		if e, err := m.Load(ctx, m.Key("late"), mapper.Strong()); err != nil || len(e.Value.Events) > 0 {
			t.Error(e, err)
		}
	}
}

// contracts verifies, cuts over, and contracts.
func (s *setup) contracts(ctx context.Context) {
	s.Helper()
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
		s.Fatal(v, err)
	}
	if _, err := s.migration().Cutover(ctx); err != nil {
		s.Fatal(err)
	}
	if _, err := s.migration().Contract(ctx, s.source, false); err != nil {
		s.Fatal(err)
	}
}

// deadBehindClaim is the client of a program that dies behind the first statements that it sends.
type deadBehindClaim struct {
	migrate.Client
	kill context.CancelFunc
}

// BatchExecuteStatement is described at dynamodb.Client.
func (d *deadBehindClaim) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	out, err := d.Client.BatchExecuteStatement(ctx, in, o...)
	d.kill()
	return out, err
}

// An old program has read a marked monolith, and puts it again as it was, or changed, behind the note
// of a rollback: the entity is that monolith.
func TestMarkedMonolithIsPutAgainDuringARollback(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, changes := range []bool{false, true} {
		s := newSetup(t)
		s.put(document("a", 3))
		s.mustRun(ctx)
		marked := s.all(s.source)[0]
		if changes {
			marked["description"] = textValue("changed")
		}
		c := fakedynamo.Before(s.client, "DeleteItem", "PACKAGE#a", func() { s.putIn(s.source, marked) })
		r, err := s.over(c).Rollback(ctx)
		if err != nil || changes != (r.This.Conflicts == 1) {
			t.Fatal(changes, r, err)
		}
		if changes {
			st, err := s.migration().Status(ctx)
			if err != nil || len(st.DeadLetters) != 1 ||
				!strings.Contains(st.DeadLetters[0].Reasons[0], "-keep monolith)") {
				t.Fatal(st, err)
			}
			if err := s.migration().KeepMonolith(ctx, attributes{"name": textValue("a")}); err != nil {
				t.Fatal(err)
			}
			s.rollBack(ctx, s.client)
		}
		w, m := s.wrapped()
		if e, err := w.Load(ctx, m.Key("a")); err != nil || len(e.Value.Events) != 3 ||
			changes != (e.Value.Description == "changed") || s.keys() != "" {
			t.Error(changes, e, err, s.keys())
		}
	}
}

// Another program puts the root item again without _a: no step removes the other items of the entity.
func TestReplacedRootKeepsItsItems(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, without := range [][]string{{"_a", "_s", "_v", "_m"}, {"_a", "_s", "_v"}, {"_a", "_s", "_m"}, {"_a", "_s"}} {
		s := newSetup(t)
		s.put(document("a", 3))
		s.mustRun(ctx)
		keys := s.keys()
		for _, root := range s.collections() {
			if text(root["SK"]) == "HEAD" {
				for _, name := range without {
					delete(root, name)
				}
				s.putIn(s.target, root)
			}
		}
		if v, err := s.migration().Verify(ctx); err != nil || v.Clean() {
			t.Error(v, err)
		}
		if r, err := s.migration().Rollback(ctx); err != nil || r.This.Conflicts != 1 || s.keys() != keys {
			t.Errorf("without %v: %+v, %v; items %s", without, r, err, s.keys())
		}
	}
}

// putIn puts an item, as another program does.
func (s *setup) putIn(table string, a attributes) {
	s.Helper()
	if _, err := s.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &table, Item: a}); err != nil {
		s.Fatal(err)
	}
}

// A run that a rollback stops removes its claim and its parts, also if it has put them twice.
func TestStoppedRunLeavesNoClaim(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 2))
	late := &lostOnce{next: s.client.Options().HTTPClient, text: "TAG#latest"}
	c := dynamodb.New(s.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = late })
	c = fakedynamo.Before(c, "BatchExecuteStatement", "PACKAGE#a", func() { s.rollBack(ctx, s.client) })
	if _, err := s.over(c, migrate.Segments(1)).Run(ctx); err == nil || late.lost == nil {
		t.Fatal("it was not stopped")
	}
	if keys := s.keys(); keys != "" {
		t.Error("it leaves ", keys)
	}
}

// A rollback is held before it freezes an item, another one copies that, and then a program without
// Wrap changes it: the change is kept.
func TestForeignItemIsNotFrozenTwice(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 2))
	s.mustRun(ctx)
	c, second := s.gated(matching("UpdateItem", "TAG#latest", `"rollingback"`))
	secondEnds := inBackground(func() { _, _ = s.over(c, migrate.Segments(1)).Rollback(ctx) })
	s.held(second)
	c, first := s.gated(matching("DeleteItem", "TAG#latest"))
	firstEnds := inBackground(func() { _, _ = s.over(c, migrate.Segments(1)).Rollback(ctx) })
	s.held(first)
	if err := s.changesItem(ctx, "TAG#latest"); err != nil {
		t.Fatal(err)
	}
	second.release()
	s.waits(secondEnds)
	first.release()
	s.waits(firstEnds)
	if !s.has("foreign") {
		t.Errorf("an accepted write is nowhere; monoliths %q, items %s", s.unmarked(), s.keys())
	}
}
