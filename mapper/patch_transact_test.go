package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// Faults of patches and Transact that an attack found, the worst first. Each test failed when it was
// written. Its comment describes the former behavior, and quotes the sentence of the design or of
// docs/saving.md that it broke.

func newBoards(t *testing.T) (*mapper.Mapper[board], string) {
	t.Helper()
	table := testengine.Table(t, "PK:S", "SK:S")
	return must(mapper.New[board](client(t, &faulty{at: -1}, 1), mapper.Table(table)))(t), table
}

func boardMain(m *mapper.Mapper[board]) *mapper.ItemNode[board, cells] {
	return mapperimpl.Item[board, cells](handmade.Node(m.Key("1")), 0)
}

// Increments of one field merge, and only the first one's bounds are checked: 20+100+100 is stored in an int8, and
// the entity cannot be loaded any more. Breaks "Changes of one item merge: increments sum", and inRange's own "an
// integer stays one that its Go type can hold".
func TestPatchChecksBoundsOfMergedIncrements(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Small: 20}})))(t)
	if _, err := boardMain(m).Patch(cellFields.Small.Increment(100), cellFields.Small.Increment(100)).Exec(ctx,
		m); err == nil {
		_, err = m.Load(ctx, m.Key("1"))
		t.Errorf("220 is no int8, and was written; loaded with %v", err)
	}
}

// The other way: what sums to 0 is refused, by the bounds of the first.
func TestPatchAllowsMergedIncrementsInsideBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Small: 100}})))(t)
	if _, err := boardMain(m).Patch(cellFields.Small.Increment(100), cellFields.Small.Increment(-100)).Exec(ctx,
		m); err != nil {
		t.Error(err)
	}
}

// A staged insert marks its items, and stores nil slices as NULL. A patch that appends, adds or sets a
// map's entry there assumed the mark (OfLive) and was refused because of NULL. It was rewritten without
// the assumption, refused because of the mark, and so on: 16 requests, 3 s, and an error. It could not
// be written until the item was saved. An insert of over 100 items is always staged. This broke two
// rules. If the refused item has NULL or no parent, a second request writes the whole attribute. A
// patch that finds the staged mark reads the root, and is ErrNotFound unless that is live.
func TestPatchAppendsToNullAfterStagedInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Other: cells{Text: "x"}, Rows: []cells{{N: 1}}}), mapper.Staged()))(t)
	other := mapperimpl.Item[board, cells](handmade.Node(m.Key("1")), 1)
	r, err := other.Patch(cellFields.Tags.Add("a")).Exec(ctx, m)
	if err != nil {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	r, err = mapper.Transact(ctx, other.Patch(cellFields.Counts.Key("a").Set(1)).PatchPart(m))
	if err != nil {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	row := mapperimpl.Element[board, cells](mapperimpl.Next(mapperimpl.Items(handmade.Node(m.Key("1")), 2, 1), 2,
		mapperimpl.IntValue(1)), 2)
	r, err = row.Patch(cellFields.Lines.Append("a")).Exec(ctx, m)
	if err != nil {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	r, err = row.Patch(cellFields.Primes.Add(1)).IfEntityExists().Exec(ctx, m)
	if err != nil {
		t.Errorf("bound: %d requests: %v", r.Predicted().Requests, err)
	}
}

var leaseLog = handmade.List("Log", "", func(v *lease) *[]string { return &v.Log },
	mapperimpl.Slice[[]string](mapperimpl.String[string]()))

// An append to an item that has expired is acknowledged where the list is NULL: the rewrite requires the version, and
// not any more that the item has not expired. It is lost when DynamoDB removes the item. Breaks "With a TTL, what meets
// an expired item is ErrNotFound".
func TestPatchAppendToExpiredIsNotFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newMapper[lease](t, "PK:S", "SK:S")
	must(m.Save(ctx, m.New(lease{ID: "1", Until: time.Now().Add(-time.Minute)})))(t)
	_, err := handmade.EntityOf(m.Key("1")).Patch(leaseLog.Append("x")).Exec(ctx, m)
	if !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("it has expired: %v", err)
	}
	must(m.Save(ctx, m.New(lease{ID: "2", Until: time.Now().Add(-time.Minute), Log: []string{"a"}})))(t)
	_, err = handmade.EntityOf(m.Key("2")).Patch(leaseLog.Append("x")).Exec(ctx, m)
	if !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("2: it has expired: %v", err)
	}
}

// e was loaded, and is unchanged. Transact(SavePart(e, CheckLoaded()), ...) checked nothing of it,
// because the shortcut of the comparison returned no checks. (With one changed item all others were
// checked, and also if a kind is opaque.) This broke "CheckLoaded() also checks those that were only
// read", and "Of its options only CheckLoaded can be given".
func TestSavingChecksUnchangedEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := newLedger(t, &faulty{at: -1}, 1)
	must(j.accounts.Save(ctx, j.accounts.New(account{ID: "1", Counter: 1, Left: "a"})))(t)
	e := must(j.accounts.Load(ctx, j.accounts.Key("1")))(t)
	must(j.accounts.Update(ctx, j.accounts.Key("1"), func(a *account) error { a.Counter = 2; return nil }))(t)
	_, err := mapper.Transact(ctx, j.accounts.SavePart(e, mapper.CheckLoaded()),
		j.packages.SavePart(j.packages.New(registry.Package{Name: "p"})))
	var conflict *mapper.ConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("what was loaded was changed: %v", err)
	}
}

// A client that cannot be watched loses the first copy of a transaction of patches. The second copy was
// refused because of the staged marks. The transaction was planned again, with another token, and
// acknowledged. Another writer saves both items, and then the first copy arrives and undoes that. This
// broke "ExactlyOnce(), transactions: never [applied twice] within ten minutes". (Exec of several items
// did the same.)
func TestTransactionByUnwatchedClientIsAppliedOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1, Left: "a", Right: "a"}), mapper.Staged()))(t)
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := must(mapper.New[account](unwatched{client(t, l.transport(), 2)}, mapper.Table(table)))(t)
	left := handmade.String("Left", "", func(v *account) *string { return &v.Left })
	right := handmade.String("Right", "", func(v *account) *string { return &v.Right })
	node := handmade.EntityOf(m.Key("1"))
	_, err := mapper.Transact(ctx, node.Patch(left.Set("P"), right.Set("P")).PatchPart(m))
	e := must(clean.Load(ctx, clean.Key("1")))(t)
	e.Value.Left, e.Value.Right = "newer", "newer"
	must(clean.Save(ctx, e))(t)
	l.deliver(t)
	if got := stored(t, clean, "1"); got.Left != "newer" && err == nil {
		t.Errorf("applied twice: %+v", got)
	}
}

// An increment of an integer over a leftover counter of a deleted entity was refused permanently.
// Upserts returned false, since the bounds of the type counted as a condition of the caller. (A float's
// increment was written.) This broke the rule that a missing singleton other than the root is its zero
// value, so that a set or an increment creates it.
func TestPatchIncrementsOverLeftoverItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := must(mapper.New[tallied](client(t, &faulty{at: -1}, 1), mapper.Table(table)))(t)
	c := &crash{left: 2}
	dying := must(mapper.New[tallied](client(t, c.transport(), 1), mapper.Table(table)))(t)
	v := tallied{ID: "1", Name: "dead"}
	v.Hits.N = 100
	_, _ = dying.Save(ctx, dying.New(v), mapper.Staged())
	must(clean.Save(ctx, clean.New(tallied{ID: "1", Name: "live"})))(t)
	hits := handmade.Number("Hits.N", "", func(v *tallied) *int { return &v.Hits.N })
	_, err := handmade.EntityOf(clean.Key("1")).Patch(hits.Increment(1)).Exec(ctx, clean)
	if got := must(clean.Load(ctx, clean.Key("1")))(t); err != nil || got.Value.Hits.N != 1 {
		t.Errorf("%+v: %v", got.Value, err)
	}
}

// The same of a condition that holds of nothing, on the item and on another.
func TestPatchConditionOverLeftoverItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := moveOut(t, table)
	must(users.Save(ctx, users.New(store.User{ID: "1", Email: "new"})))(t)
	a := store.AddressFields
	_, err := store.UserByID("1").Home().Patch(a.City.Set("Rome")).If(a.City.Absent()).Exec(ctx, users)
	if got := must(users.Load(ctx, store.UserByID("1")))(t); err != nil || got.Value.Home.City != "Rome" {
		t.Errorf("%+v: %v", got.Value.Home, err)
	}
	users = moveOut(t, testengine.Table(t, "PK:S", "SK:S"))
	must(users.Save(ctx, users.New(store.User{ID: "1", Email: "new"})))(t)
	_, err = store.UserByID("1").Patch(store.UserFields.Email.Set("x")).
		And(store.UserByID("1").Home().Patch().If(a.City.Absent())).Exec(ctx, users)
	if err != nil {
		t.Error(err)
	}
}

// One entity is in two parts of a transaction that exclude each other and share no item: an element is
// put, and the entity deleted. This was not refused. If DeletePart came first, the entity then took the
// element for stored. The Save that inserted the entity again left the element out: it was lost,
// although everything was acknowledged. This broke "a shared place is an error that names it" and
// "entities are up to date afterwards".
func TestTransactionRefusesEntityInTwoParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := newLedger(t, &faulty{at: -1}, 1)
	e := j.accounts.New(account{ID: "1", Counter: 1})
	must(j.accounts.Save(ctx, e))(t)
	e.Value.Entries = []part{{1, "x"}}
	if _, err := mapper.Transact(ctx, j.accounts.DeletePart(e), j.accounts.SavePart(e)); err == nil {
		must(j.accounts.Save(ctx, e))(t)
		t.Errorf("deleted and saved at once, and saved again: %+v", stored(t, j.accounts, "1"))
	}
}

// An insert is in doubt, and may still arrive. Delete says so (OutcomeUnknown, ErrLate);
// Transact(DeletePart(e)) says that there is nothing to delete, ErrNotFound: deletePart.ready does not
// look at the doubts. Breaks "Errors are those of Save, Delete and Exec", "One that was not applied so
// far stays in mind, since it may yet be".
func TestDeletingUnresolvedInsertIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tables := ledgerTables(t)
	l := &losing{operation: "TransactWriteItems", lose: 100}
	j := newLedger(t, l.transport(), 1, tables...)
	e := j.accounts.New(account{ID: "1", Counter: 1, Left: "a"})
	var unknown *mapper.OutcomeUnknownError
	if _, err := j.accounts.Save(ctx, e); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	l.lose = 0
	_, del := j.accounts.Delete(ctx, e)
	_, err := mapper.Transact(ctx, j.accounts.DeletePart(e))
	if !errors.As(err, &unknown) || errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("Delete says %v, and Transact %v", del, err)
	}
}

// The answer of a transaction is lost that has a patch and deletes (a whole entity, or an element's
// item by SavePart). Only the patch's version was used to find out whether it was applied, and another
// writer patches that item again. The items are deleted, as they should be, but the next saves were
// conflicts with "someone else" for 15 minutes. This broke "nothing, of a delete: it was applied:
// done", and "After one the entity can be saved again".
func TestUnresolvedDeleteIsResolvedByItsItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tables := ledgerTables(t)
	clean := newLedger(t, &faulty{at: -1}, 1, tables...)
	f := &faulty{at: -1}
	j := newLedger(t, f, 1, tables...)
	must(clean.packages.Save(ctx, clean.packages.New(registry.Package{Name: "p"})))(t)
	for name, whole := range map[string]bool{"part": false, "whole": true} {
		e := j.accounts.New(account{ID: name, Counter: 1, Left: "a"})
		must(j.accounts.Save(ctx, e))(t)
		count := registry.PackageByName("p").Root().Patch(registry.PackageFields.License.Set("x"))
		part := j.accounts.DeletePart(e)
		if !whole {
			e.Value.Left = ""
			part = j.accounts.SavePart(e)
		}
		f.pick = func() fault { return dropAnswer }
		_, err := mapper.Transact(ctx, part, count.PatchPart(j.packages))
		f.pick = nil
		var unknown *mapper.OutcomeUnknownError
		if !errors.As(err, &unknown) {
			t.Fatal(name, err)
		}
		must(count.Exec(ctx, clean.packages))(t)
		e.Value.Right = "r"
		if whole {
			e.Value.Left = "a"
		}
		if _, err := j.accounts.Save(ctx, e); err != nil && !errors.As(err, &unknown) {
			t.Errorf("%s: the items in doubt are gone, as they were to be: %v", name, err)
		}
		if _, err := j.accounts.Save(ctx, e); err != nil && !errors.As(err, &unknown) {
			t.Errorf("%s: again: %v", name, err)
		}
	}
}

// An integer that is stored as NULL (of a field that was a pointer before) could not be incremented.
// The bounds require that it is absent or small, which NULL never is. (A float could.) This broke
// "increments [...] on NULL [...]: a second request writes the whole attribute".
func TestPatchIncrementsNull(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	newRaw(t, table).set("BOARD#1", "A", "Count", &types.AttributeValueMemberNULL{Value: true})
	if _, err := boardMain(m).Patch(cellFields.Count.Increment(1)).Exec(ctx, m); err != nil {
		t.Error(err)
	}
}

// A mapper that remembers the incarnation of the entity adds it to the condition of a patch. It dropped the condition
// that the item is as it was read, and the second request overwrote the change of another writer (law 3).
func TestPatchOfNullKeepsAnotherChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Other: cells{Text: "x"}})))(t)
	newRaw(t, table).set("BOARD#1", "OTHER", "Count", &types.AttributeValueMemberNULL{Value: true})
	between, c := &nth{n: -1}, testengine.Start(t).Client()
	patching := must(mapper.New[board](dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		between.next, o.HTTPClient = o.HTTPClient, between
	}), mapper.Table(table)))(t)
	must(patching.Load(ctx, patching.Key("1")))(t)
	other := func(m *mapper.Mapper[board]) *mapper.ItemNode[board, cells] {
		return mapperimpl.Item[board, cells](handmade.Node(m.Key("1")), 1)
	}
	between.n, between.do = 1, func() { must(other(m).Patch(cellFields.Count.Set(100)).Exec(ctx, m))(t) }
	must(other(patching).Patch(cellFields.Count.Increment(1)).Exec(ctx, patching))(t)
	if e := must(m.Load(ctx, m.Key("1")))(t); e.Value.Other.Count != 101 {
		t.Errorf("100 and an increment are %d", e.Value.Other.Count)
	}
}

// A condition that does not hold, together with an append to NULL. This needed 11 requests and ended
// with "kept changing", although nothing changes; with Transact it needed 12, and 3 s of pauses. This
// broke the rule that a refusal names the existence, the state or the condition, and the item that was
// found.
func TestPatchReportsConditionNextToNull(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{State: "x"}})))(t)
	main := boardMain(m)
	r, err := main.Patch(cellFields.Lines.Append("a")).If(cellFields.State.Equal("y")).Exec(ctx, m)
	var conflict *mapper.ConflictError
	if !errors.As(err, &conflict) || !strings.Contains(mapper.Detail(err), `State is "x"`) {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	r, err = mapper.Transact(ctx, main.Patch(cellFields.Lines.Append("a")).If(cellFields.State.Equal("y")).PatchPart(m))
	if !errors.As(err, &conflict) {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
}

// The same for an entity whose insert is not finished: the error was "kept changing" instead of
// ErrNotFound with the pending insert. This broke the same sentence, and "ErrNotFound (Pending) unless
// it is live".
func TestPatchAppendToPendingInsertIsNotFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	c := &crash{left: 1}
	dying := must(mapper.New[board](client(t, c.transport(), 1), mapper.Table(table)))(t)
	_, _ = dying.Save(ctx, dying.New(board{ID: "1", Rows: []cells{{N: 1}}}), mapper.Staged())
	m := must(mapper.New[board](client(t, &faulty{at: -1}, 1), mapper.Table(table)))(t)
	main := mapperimpl.Item[board, cells](handmade.Node(m.Key("1")), 0)
	r, err := main.Patch(cellFields.Lines.Append("a")).Exec(ctx, m)
	var nf *mapper.NotFoundError
	if !errors.As(err, &nf) || nf.Pending == "" {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
}

// A set of a spread struct of which a field is left out (omitempty) counts as a removal, and requires
// the item. Breaks "a set or an increment makes it; a removal requires it".
func TestPatchSetsSpreadStructOfMissingItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	form := mapperimpl.Struct(mapperimpl.Funcs[cells]{}, handmade.Row(cellFields.Text), handmade.Row(cellFields.Left))
	other := handmade.Struct("Other", "", func(v *board) *cells { return &v.Other }, form)
	_, err := handmade.EntityOf(m.Key("1")).Patch(other.Set(cells{Text: "y"})).Exec(ctx, m)
	if got := must(m.Load(ctx, m.Key("1")))(t); err != nil || got.Value.Other.Text != "y" {
		t.Errorf("%v", err)
	}
}

// A client of a type that cannot be compared: a test's double with a map, by value. "Part 1 has another client than the
// first" of a transaction of one part; embedded in another, a panic. Breaks "All share one client".
type (
	wrapped struct{ mapper.Client }
	double  struct {
		failingClient
		_ map[string]int
	}
)

func TestTransactionWithUncomparableClient(t *testing.T) {
	t.Parallel()
	defer func() {
		if x := recover(); x != nil {
			t.Errorf("panic: %v", x)
		}
	}()
	ctx := context.Background()
	for _, c := range []mapper.Client{double{}, wrapped{double{}}} {
		m := must(mapper.New[account](c))(t)
		_, err := mapper.Transact(ctx, m.SavePart(m.New(account{ID: "1"})))
		if !errors.Is(err, errCalled) {
			t.Error(err)
		}
	}
}

// Two mappers share a client, and one of them knows that the client sends each request once. Whether a
// refusal was a conflict depended on the order of the parts. This broke the rule that with
// mapper.ClientNeverRetries() a failed condition is a conflict.
func TestClientNeverRetriesOfAnyMapper(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a := must(mapper.New[account](conflicting{}, mapper.ClientNeverRetries()))(t)
	b := must(mapper.New[tallied](conflicting{}))(t)
	save := a.SavePart(a.New(account{ID: "1", Left: "x"}))
	other := b.SavePart(b.New(tallied{ID: "1"}))
	_, err := mapper.Transact(ctx, other, save)
	if _, turned := mapper.Transact(ctx, save, other); errors.Is(err, mapper.ErrExists) != errors.Is(turned,
		mapper.ErrExists) {
		t.Errorf("%v\n%v", err, turned)
	}
}

// The plan of a change that may need two requests had one, and one write. This broke the rule that a
// second request writes the whole attribute, and that the plan has both.
func TestPatchPlanHasSecondRequest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	p := boardMain(m).Patch(cellFields.Tags.Add("a"))
	plan := must(p.Plan(m))(t)
	r := must(p.Exec(ctx, m))(t)
	if r.Predicted().Requests != 2 || plan.Requests == 1 && !strings.Contains(plan.String(), "NULL") {
		t.Errorf("%v\n%v", plan, r)
	}
}

// With a client that cannot be watched, Exec never wrote an add to a set that is NULL: the outcome was
// unknown each time. Transact wrote it. This broke the same rule.
func TestPatchAddsToNullByUnwatchedClient(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := must(mapper.New[board](unwatched{client(t, &faulty{at: -1}, 1)}, mapper.Table(table)))(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	p := boardMain(m).Patch(cellFields.Tags.Add("a"))
	_, exec := p.Exec(ctx, m)
	_, transact := mapper.Transact(ctx, p.PatchPart(m))
	if (exec == nil) != (transact == nil) {
		t.Errorf("Exec: %v\nTransact: %v", exec, transact)
	}
}

// Raw within Where: of a struct that is one attribute its names are not checked; of a spread one it is
// refused, since Raw counts as the root's. Breaks "field.Raw takes anything else, its names checked
// against the model, with the near miss".
func TestRawConditionInsideStruct(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Inner: inner{City: "Rome"}}})))(t)
	raw := expression.Name("ciyt").Equal(expression.Value("Rome"))
	if _, err := boardMain(m).Patch(cellFields.Text.Set("a")).If(cellFields.Inner.Where(field.Raw[inner](raw))).
		Plan(m); err == nil {
		t.Error("ciyt is no attribute of inner")
	}
	users := must(mapper.New[store.User](failingClient{}))(t)
	raw = expression.Name("City").Equal(expression.Value("Rome"))
	if _, err := store.UserByID("1").Patch(store.UserFields.Home.Set(store.Address{})).
		If(store.UserFields.Home.Where(field.Raw[store.Address](raw))).Plan(users); err != nil {
		t.Error(err)
	}
}

// A patch whose expressions exceed DynamoDB's 4 KB is refused before anything is sent. The condition of
// each entry repeats that of the map, so that patches reach the limit with few entries.
func TestPatchTooLongIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Counts: map[string]int{"a": 1}}})))(t)
	var all []field.Change[cells]
	for i := range 100 {
		all = append(all, cellFields.Counts.Key(fmt.Sprint("k", i)).Increment(1))
	}
	p := boardMain(m).Patch(all...)
	if _, err := p.Plan(m); err == nil {
		if _, err := p.Exec(ctx, m); err != nil {
			t.Errorf("planned, and %v", err)
		}
	}
}

// A patch's outcome is unknown: the cure is "save again, which finds out first". A patch finds out nothing: Exec again
// counts twice. Breaks "increment: never [applied twice]", as far as the message is followed.
func TestUnknownPatchSaysLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &faulty{at: -1}
	m := must(mapper.New[board](client(t, f, 1), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	f.pick = func() fault { return dropAnswer }
	if _, err := boardMain(m).Patch(cellFields.Count.Increment(1)).Exec(ctx, m); strings.Contains(err.Error(),
		"save again") {
		t.Error(err)
	}
}

// A patch that finds an expired root: NotFoundError.Pending was "", and for Load it is "its time to
// live is over". This broke the rule that Pending names an expired time to live.
func TestPatchOfExpiredRootSaysSo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newMapper[lease](t, "PK:S", "SK:S")
	must(m.Save(ctx, m.New(lease{ID: "1", Until: time.Now().Add(-time.Minute), Left: "a"})))(t)
	until := handmade.Time("Until", "", func(v *lease) *time.Time { return &v.Until })
	_, err := handmade.EntityOf(m.Key("1")).Patch(until.Set(time.Now().Add(time.Hour))).Exec(ctx, m)
	var nf *mapper.NotFoundError
	if !errors.As(err, &nf) || nf.Pending == "" {
		t.Error(err)
	}
}

// Raw's key in a table of no model: the names are sorted, the first is taken for the partition key. The
// error names user bob at 5 as "5 bob", Partition 5. Breaks "errors: where".
func TestRawKeyOfUnknownTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "user:S", "at:S")
	c := client(t, &faulty{at: -1}, 1)
	_, err := mapper.Transact(ctx, mapper.RawPart(c, types.TransactWriteItem{Delete: &types.Delete{
		TableName: &table, Key: item{"user": s("bob"), "at": s("5")},
		ConditionExpression:      aws.String("attribute_exists(#u)"),
		ExpressionAttributeNames: map[string]string{"#u": "user"},
	}}))
	var conflict *mapper.ConflictError
	if errors.As(err, &conflict) && conflict.Items[0].Key.Partition != "at=5 user=bob" {
		t.Errorf("%+v", conflict.Items[0].Key)
	}
}

// IfEntityExists of an entity without an incarnation (of another program) that is deleted and inserted
// before the write. The error was "the condition of the patch does not hold", although the patch has
// none; with an incarnation the patch is planned again. This broke "A refusal says existence, state, or
// which condition".
func TestIfEntityExistsRebindsToNewEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	newRaw(t, table).put(item{"PK": s("ACCOUNT#1"), "SK": s("HEAD"), "Counter": n("1")})
	m := newAccounts(t, table, atRequest("TransactWriteItems", 1, func() {
		must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
		must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 2})))(t)
	}), 1)
	left := handmade.String("Left", "", func(v *account) *string { return &v.Left })
	_, err := handmade.EntityOf(m.Key("1")).Patch(left.Set("P")).IfEntityExists().Exec(ctx, m)
	if err != nil {
		t.Error(err)
	}
}

// A rewrite is priced as if the item stayed as large as it was, exactly: the receipt says "predicted 1 WCU; the engine
// reported 3 WCU", 134 > 134 B. What it makes is not measured against 400 KB either: the service's ValidationException
// in place of *TooLargeError. Breaks "plan, receipt and engine agree".
func TestPatchRewriteIsPriced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	r := must(boardMain(m).Patch(cellFields.Tags.Add(strings.Repeat("x", 2500))).Exec(ctx, m))(t)
	if !r.Predicted().Items[0].WCU.Contains(r.Consumed.WCU) {
		t.Errorf("%v", r)
	}
	_, err := boardMain(m).Patch(cellFields.Text.Set(strings.Repeat("x", 300_000))).Exec(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	var tooLarge *mapper.TooLargeError
	_, err = boardMain(m).Patch(cellFields.Lines.Append(strings.Repeat("x", 150_000))).Exec(ctx, m)
	if !errors.As(err, &tooLarge) {
		t.Errorf("%.300v", err)
	}
}

// A transaction of an entity and a patch whose answers are lost, and that is made again as it is: the
// patch is not applied twice.
func TestRepeatedTransactionWritesPatchOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &faulty{at: -1}
	table := testengine.Table(t, "PK:S", "SK:S")
	m := must(mapper.New[board](client(t, f, 1), mapper.Table(table)))(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: "x"}})))(t)
	e := m.New(board{ID: "2", Main: cells{Text: "y"}})
	do := func() error {
		_, err := mapper.Transact(ctx, m.SavePart(e), boardMain(m).Patch(cellFields.Count.Increment(1)).PatchPart(m))
		return err
	}
	f.pick = func() fault { return dropAnswer }
	var unknown *mapper.OutcomeUnknownError
	if err := do(); !errors.As(err, &unknown) || strings.Contains(err.Error(), "save again") {
		t.Errorf("lost: %v", err)
	}
	f.pick = nil
	if err := do(); err == nil || !strings.Contains(err.Error(), "an unresolved transaction of") {
		t.Errorf("again: %v", err)
	}
	if got := must(m.Load(ctx, m.Key("1")))(t).Value.Main.Count; got != 1 {
		t.Errorf("counted %d times", got)
	}
	if err := do(); err != nil { // which is another
		t.Error(err)
	}
}

// Whatever becomes of any of its requests, an entity's insert with a patch that is made again until it
// succeeds, or is said to have been applied, counts once.
func TestRepeatedTransactionCountsOnceUnderFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := must(mapper.New[board](client(t, &faulty{at: -1}, 1), mapper.Table(table)))(t)
	id := 0
	for kind, what := range faultNames {
		for at := range 3 {
			id += 2
			f := &faulty{at: -1, fault: kind}
			first, cancel := context.WithCancel(ctx)
			f.cancel = cancel
			m := must(mapper.New[board](client(t, f, 1), mapper.Table(table)))(t)
			must(clean.Save(ctx, clean.New(board{ID: strconv.Itoa(id), Main: cells{Text: "x"}})))(t)
			e := m.New(board{ID: strconv.Itoa(id + 1), Main: cells{Text: "y"}})
			p := mapperimpl.Item[board, cells](handmade.Node(m.Key(strconv.Itoa(id))),
				0).Patch(cellFields.Count.Increment(1))
			f.count, f.at = 0, at
			err := errors.New("not yet")
			for try := 0; try < 4 && err != nil &&
				!strings.Contains(err.Error(), "was applied, with the patches"); try++ {
				_, err = mapper.Transact(first, m.SavePart(e), p.PatchPart(m))
				first = ctx
			}
			cancel()
			got := must(clean.Load(ctx, clean.Key(strconv.Itoa(id))))(t).Value.Main.Count
			if got != 1 {
				t.Errorf("%s at request %d: counted %d times, and %v", what, at, got, err)
			}
		}
	}
}

// An item that patches make too large is a *TooLargeError, alone and in a transaction.
func TestPatchTooLargeIsTooLargeError(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{Text: strings.Repeat("x", 300_000), Lines: []string{"a"}}})))(t)
	must(m.Save(ctx, m.New(board{ID: "2", Main: cells{Text: "y"}})))(t)
	p := boardMain(m).Patch(cellFields.Lines.Append(strings.Repeat("x", 150_000)))
	other := mapperimpl.Item[board, cells](handmade.Node(m.Key("2")), 0).Patch(cellFields.Count.Increment(1))
	_, alone := p.Exec(ctx, m)
	_, joinedErr := mapper.Transact(ctx, other.PatchPart(m), p.PatchPart(m))
	for _, err := range []error{alone, joinedErr} {
		var large *mapper.TooLargeError
		if !errors.As(err, &large) || large.Key.Partition != "BOARD#1" {
			t.Errorf("%.600v", err)
		}
	}
}
