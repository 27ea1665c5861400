package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/mapper"
)

// Here somebody meets what an entity that is no more has left behind, or what another one is
// about to put, and it must not pass for the entity's.

// While A's staged insert puts its parts, B loads some of them and adds an element where A is
// about to put one: B must not take the claim's incarnation for the entity's, nor A B's element
// for its own.
func TestTellClaim(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	v := account{ID: "1", Counter: 1, Entries: []entry{{1, "a"}, {2, "a"}, {3, "a"}}}
	var saved error
	a := newAccounts(t, table, atRequest("PutItem", 3, func() {
		e, err := clean.Load(ctx, clean.Key("1").Prefix("ENTRY#"), mapper.Strong())
		if err != nil {
			return
		}
		for n := range 5 {
			if r := newRaw(t, table).get("ACCOUNT#1", fmt.Sprintf("ENTRY#%04d", n+1)); r == nil && n < 3 {
				e.Value.Entries = []entry{{n + 1, "b"}}
			}
		}
		_, saved = clean.Save(ctx, e)
	}), 1)
	_, err := a.Save(ctx, a.New(v), mapper.Staged())
	got := stored(t, clean, "1")
	if err == nil && saved == nil {
		t.Errorf("both were acknowledged: %+v", got)
	} else if err == nil && !same(got, &v) {
		t.Errorf("torn: %+v", got)
	}
}

// A crashed insert has left a claim, to which nothing can be added.
func TestTellCrashedClaim(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	c := &crash{left: 2} // the claim, and one part
	dying := newAccounts(t, table, c.transport(), 1)
	_, _ = dying.Save(ctx, dying.New(account{ID: "1", Counter: 1, Entries: []entry{{1, "a"}}}), mapper.Staged())
	m := newAccounts(t, table, &faulty{at: -1}, 1)
	e := must(m.Load(ctx, m.Key("1").Prefix("ENTRY#"), mapper.Strong()))(t)
	e.Value.Entries = []entry{{2, "b"}}
	if _, err := m.Save(ctx, e); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("there is no root, and the save says %v", err)
	}
}

// A move by a key field which leaves the root in place reports what somebody added under the old
// key meanwhile.
func TestMoveLeftBehind(t *testing.T) {
	ctx := context.Background()
	m := newMapper[regional](t, "PK:S", "SK:S")
	e := m.New(regional{ID: "1", Region: "eu", Notes: "n", Stock: []stock{{"a", 1}}})
	must(m.Save(ctx, e))(t)
	b := must(m.Load(ctx, m.Key("1")))(t)
	b.Value.Stock = append(b.Value.Stock, stock{"b", 2})
	must(m.Save(ctx, b))(t) // acknowledged
	e.Value.Region = "us"
	r := must(m.Save(ctx, e, mapper.Move()))(t)
	if len(r.LeftBehind) != 1 || r.LeftBehind[0].Sort != "STOCK#eu#b" {
		t.Errorf("left behind: %v", r.LeftBehind)
	}
}

// An element is added over a leftover, if the entity exists; it is deleted and inserted again
// after the root was read: the element is then one of the new entity's.
func TestIfEntityExistsOverALeftover(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1})))(t)
	late := must(clean.Load(ctx, clean.Key("1")))(t)
	must(clean.Delete(ctx, clean.Key("1")))(t)
	late.Value.Entries = []entry{{1, "dead"}}
	must(clean.Save(ctx, late))(t) // left over
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 2})))(t)
	before := must(clean.Load(ctx, clean.Key("1")))(t)
	if len(before.Value.Entries) > 0 {
		t.Fatal("joined")
	}
	m := newAccounts(t, table, atRequest("TransactWriteItems", 2, func() {
		must(clean.Delete(ctx, before))(t) // as it was loaded: without the leftover
		must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 3})))(t)
	}), 1)
	_, err := mapper.NewElementsNode[account, entry](m.Key("1").Node, 3).Add(entry{1, "new"}).IfEntityExists().Exec(ctx, m)
	got := stored(t, clean, "1")
	if err == nil && (got == nil || len(got.Entries) != 1) {
		t.Errorf("the add was acknowledged, the entity exists, and there is %+v", got)
	}
}

// Of a delete, exactly once, the first copy is lost, and the second refused because the item is
// staged. The first may still arrive, and delete what somebody has saved since: that is unknown.
func TestExactlyOnceDelete(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1, Left: "a"}), mapper.Staged()))(t)
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := newAccounts(t, table, l.transport(), 2)
	_, err := m.Delete(ctx, m.Key("1").Item("LEFT"), mapper.ExactlyOnce())
	e := must(clean.Load(ctx, clean.Key("1")))(t)
	e.Value.Left = "b"
	must(clean.Save(ctx, e))(t)
	l.deliver(t)
	got := stored(t, clean, "1")
	if err == nil && got.Left != "b" {
		t.Errorf("the delete was applied twice: %+v", got)
	}
}

// CheckLoaded holds the root to the incarnation that it had, also where nothing was loaded.
func TestCheckLoadedUntold(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1})))(t)
	m := newAccounts(t, table, &faulty{at: -1, late: func() func(r *http.Request) bool {
		done := false
		return func(r *http.Request) bool {
			if op := operation(r); !done && (op == "PutItem" || op == "TransactWriteItems") {
				done = true
				must(clean.Delete(ctx, clean.Key("1")))(t)
				must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 2})))(t)
			}
			return false
		}
	}()}, 1)
	e := must(m.Load(ctx, m.Key("1").Prefix("ENTRY#")))(t)
	e.Value.Entries = []entry{{1, "new"}}
	_, err := m.Save(ctx, e, mapper.CheckLoaded())
	got := stored(t, clean, "1")
	if err == nil && len(got.Entries) != 1 {
		t.Errorf("the add was acknowledged, and there is %+v", got)
	}
}

// An own mark that arrives late, after its caller has looked and before it compares, is no
// conflict.
func TestOwnMarkArrivesLate(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	l := &losing{operation: "UpdateItem"}
	m := newAccounts(t, table, l.transport(), 1)
	e := m.New(account{ID: "1", Counter: 1, Left: "a"})
	must(m.Save(ctx, e))(t)
	l.lose = 100
	var unknown *mapper.OutcomeUnknownError
	if _, err := m.Delete(ctx, e, mapper.Staged()); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	l.lose = 0
	l.before = func(operation string) {
		if operation == "Query" {
			l.before = nil
			l.deliver(t)
		}
	}
	if _, err := m.Delete(ctx, e, mapper.Staged()); err != nil {
		t.Errorf("its own mark stands in its way: %v", err)
	}
}

// A client that cannot be watched: the element that was put over a leftover is changed by
// somebody before the SDK sends it again. That it is there does not say that it was before.
func TestUnwatchedAddOverALeftover(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1})))(t)
	late := must(clean.Load(ctx, clean.Key("1")))(t)
	must(clean.Delete(ctx, clean.Key("1")))(t)
	late.Value.Entries = []entry{{1, "dead"}}
	must(clean.Save(ctx, late))(t) // left over
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 2})))(t)
	puts := 0
	tr := &faulty{at: -1}
	tr.late = func(r *http.Request) bool {
		if operation(r) == "PutItem" {
			puts++
			if puts == 3 {
				e := must(clean.Load(ctx, clean.Key("1")))(t)
				e.Value.Entries[0].Text = "changed"
				must(clean.Save(ctx, e))(t)
			}
		}
		return false
	}
	n := 0
	tr.pick = func() fault {
		n++
		if n == 3 { // put, root, put
			return dropAnswer
		}
		return none
	}
	m := must(mapper.New[account](deaf{client(t, tr, 2)}, mapper.Table(table)))(t)
	_, err := mapper.NewElementsNode[account, entry](m.Key("1").Node, 3).Add(entry{1, "new"}).Exec(ctx, m)
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("its put was applied, and it says %v; %v", err, tr.log)
	}
}

// A delete of an entity that is being inserted ends the insert before it takes any of its items,
// also with Independent: here it dies after the first.
func TestIndependentDeleteOfAClaim(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	v := account{ID: "1", Counter: 1, Left: "a", Right: "b"}
	a := newAccounts(t, table, atRequest("UpdateItem", 1, func() {
		n := 0
		b := newAccounts(t, table, &faulty{at: -1, late: func(r *http.Request) bool {
			if operation(r) == "DeleteItem" {
				n++
				return n > 1
			}
			return false
		}}, 1)
		_, _ = b.Delete(ctx, b.Key("1"), mapper.Independent())
	}), 1)
	_, err := a.Save(ctx, a.New(v), mapper.Staged())
	got := stored(t, a, "1")
	if err == nil && !same(got, &v) {
		t.Errorf("torn: %+v", got)
	}
}

// Two elements are added by one patch, each over a leftover, and between them the entity is
// inserted again: both are of the new one.
func TestPatchOfTwoIncarnations(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1})))(t)
	late := must(clean.Load(ctx, clean.Key("1")))(t)
	late2 := must(clean.Load(ctx, clean.Key("1")))(t)
	must(clean.Delete(ctx, clean.Key("1")))(t)
	late.Value.Entries = []entry{{1, "dead"}}
	must(clean.Save(ctx, late))(t) // left over
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 2})))(t)
	before := must(clean.Load(ctx, clean.Key("1")))(t)
	m := newAccounts(t, table, atRequest("TransactWriteItems", 2, func() {
		must(clean.Delete(ctx, before))(t)
		late2.Value.Entries = []entry{{2, "dead"}}
		must(clean.Save(ctx, late2))(t) // another left over
		must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 3})))(t)
	}), 1)
	node := mapper.NewElementsNode[account, entry](m.Key("1").Node, 3)
	_, err := node.Add(entry{1, "new"}).And(node.Add(entry{2, "new"})).IfEntityExists().Exec(ctx, m)
	if got := stored(t, clean, "1"); err != nil || len(got.Entries) != 2 {
		t.Errorf("one transaction, of which one is seen: %+v: %v", got.Entries, err)
	}
}

type lease2 struct {
	_     struct{}  `ddb:"table=leases,ttl=exp"`
	ID    string    `ddb:"pk=E#{ID}"`
	Until time.Time `ddb:"sk=HEAD,ttl"`
	Left  string    `ddb:"sk=LEFT"`
	Parts []part    `ddb:"sk=PART#{N:02}"`
}

// An entity that has expired, and that DynamoDB has not removed yet, is in nobody's way: its items
// can be deleted, and nothing can be added to it.
func TestDeleteOfAnItemOfAnExpiredEntity(t *testing.T) {
	ctx := context.Background()
	m := newMapper[lease2](t, "PK:S", "SK:S")
	must(m.Save(ctx, m.New(lease2{ID: "1", Until: time.Now().Add(-time.Minute), Left: "a", Parts: []part{{1, "x"}}}), mapper.Staged()))(t)
	if _, err := m.Delete(ctx, m.Key("1").Item("LEFT")); err != nil {
		t.Errorf("nobody else is there: %v", err)
	}
	e, err := m.Load(ctx, m.Key("1").Prefix("PART#"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 1} {
		e.Value.Parts = []part{{n, "new"}}
		if _, err = m.Save(ctx, e); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("added with %v", err)
		}
	}
}

type tallied struct {
	_    struct{} `ddb:"table=tallied"`
	ID   string   `ddb:"pk=T#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Hits struct {
		N    int
		Note string
	} `ddb:"sk=HITS"`
}

// The same of an increment: it must not be sent again as an update of its own put.
func TestUnwatchedIncrementOverALeftover(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := must(mapper.New[tallied](client(t, &faulty{at: -1}, 1), mapper.Table(table)))(t)
	c := &crash{left: 2}
	dying := must(mapper.New[tallied](client(t, c.transport(), 1), mapper.Table(table)))(t)
	v := tallied{ID: "1", Name: "dead"}
	v.Hits.N = 100
	_, _ = dying.Save(ctx, dying.New(v), mapper.Staged())
	must(clean.Save(ctx, clean.New(tallied{ID: "1", Name: "live"})))(t)
	hits := field.NewNumber("Hits.N", "", func(v *tallied) *int { return &v.Hits.N })
	puts, dropped := 0, false
	tr := &faulty{at: -1}
	tr.late = func(r *http.Request) bool {
		if operation(r) == "PutItem" {
			if puts++; puts == 2 {
				e := must(clean.Load(ctx, clean.Key("1")))(t)
				e.Value.Hits.Note = "B"
				must(clean.Save(ctx, e))(t)
			}
		}
		return false
	}
	tr.pick = func() fault {
		if n := len(tr.log); !dropped && n == 2 { // update, root, put
			dropped = true
			return dropAnswer
		}
		return none
	}
	m := must(mapper.New[tallied](deaf{client(t, tr, 2)}, mapper.Table(table)))(t)
	_, err := mapper.NewEntityNode[tallied](m.Key("1").Node).Patch(hits.Increment(1)).Upsert().Exec(ctx, m)
	got := must(clean.Load(ctx, clean.Key("1")))(t)
	if got.Value.Hits.N > 1 {
		t.Errorf("incremented by 1, and it is %d: %v", got.Value.Hits.N, err)
	}
}

// A client that cannot be watched loses the first copy of a patch, and the second is refused
// because the item is of an unfinished insert. The first may still arrive.
func TestUnwatchedPatchRefused(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	c := &crash{left: 3} // the claim, and two parts
	dying := newAccounts(t, table, c.transport(), 1)
	_, _ = dying.Save(ctx, dying.New(account{ID: "1", Counter: 1, Left: "a", Right: "b"}), mapper.Staged())
	l := &losing{operation: "UpdateItem", lose: 1}
	m := must(mapper.New[account](deaf{client(t, l.transport(), 2)}, mapper.Table(table)))(t)
	left := field.NewString("Left", "", func(v *account) *string { return &v.Left })
	_, err := mapper.NewEntityNode[account](m.Key("1").Node).Patch(left.Set("patched")).Exec(ctx, m)
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("a copy of it is on its way, and it says %v", err)
	}
}
