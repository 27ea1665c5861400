package operation_test

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
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// Faults of patches and Transact that an attack found, the worst first. Each test failed when it was
// written. Its comment describes the former behavior, and quotes the sentence of the design or of
// docs/saving.md that it broke.

// Increments of one field merge, and only the first one's bounds are checked: 20+100+100 is stored in an int8, and
// the entity cannot be loaded any more. Breaks "Changes of one item merge: increments sum", and inRange's own "an
// integer stays one that its Go type can hold".
func TestPatchChecksBoundsOfMergedIncrements(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Small: 20}})))(t)
	if _, err := kit.BoardMain(m).Patch(kit.CellFields.Small.Increment(100),
		kit.CellFields.Small.Increment(100)).Exec(ctx,
		m); err == nil {
		_, err = m.Load(ctx, m.Key("1"))
		t.Errorf("220 is no int8, and was written; loaded with %v", err)
	}
}

// The other way: what sums to 0 is refused, by the bounds of the first.
func TestPatchAllowsMergedIncrementsInsideBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Small: 100}})))(t)
	if _, err := kit.BoardMain(m).Patch(kit.CellFields.Small.Increment(100),
		kit.CellFields.Small.Increment(-100)).Exec(ctx,
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Other: kit.Cells{Text: "x"}, Rows: []kit.Cells{{N: 1}}}),
		mapper.Staged()))(t)
	other := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("1")), 1)
	r, err := other.Patch(kit.CellFields.Tags.Add("a")).Exec(ctx, m)
	if err != nil {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	r, err = mapper.Transact(ctx, other.Patch(kit.CellFields.Counts.Key("a").Set(1)).PatchPart(m))
	if err != nil {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	row := mapperimpl.Element[kit.Board,
		kit.Cells](mapperimpl.Next(mapperimpl.Items(handmade.Node(m.Key("1")), 2, 1), 2,
		mapperimpl.IntValue(1)), 2)
	r, err = row.Patch(kit.CellFields.Lines.Append("a")).Exec(ctx, m)
	if err != nil {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	r, err = row.Patch(kit.CellFields.Primes.Add(1)).IfEntityExists().Exec(ctx, m)
	if err != nil {
		t.Errorf("bound: %d requests: %v", r.Predicted().Requests, err)
	}
}

var leaseLog = handmade.List("Log", "", func(v *kit.Lease) *[]string { return &v.Log },
	mapperimpl.Slice[[]string](mapperimpl.String[string]()))

// An append to an item that has expired is acknowledged where the list is NULL: the rewrite requires the version, and
// not any more that the item has not expired. It is lost when DynamoDB removes the item. Breaks "With a TTL, what meets
// an expired item is ErrNotFound".
func TestPatchAppendToExpiredIsNotFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Lease](t, "PK:S", "SK:S")
	kit.Must(m.Save(ctx, m.New(kit.Lease{ID: "1", Until: time.Now().Add(-time.Minute)})))(t)
	_, err := handmade.EntityOf(m.Key("1")).Patch(leaseLog.Append("x")).Exec(ctx, m)
	if !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("it has expired: %v", err)
	}
	kit.Must(m.Save(ctx, m.New(kit.Lease{ID: "2", Until: time.Now().Add(-time.Minute), Log: []string{"a"}})))(t)
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
	j := kit.NewLedger(t, &kit.Faulty{At: -1}, 1)
	kit.Must(j.Accounts.Save(ctx, j.Accounts.New(kit.Account{ID: "1", Counter: 1, Left: "a"})))(t)
	e := kit.Must(j.Accounts.Load(ctx, j.Accounts.Key("1")))(t)
	kit.Must(j.Accounts.Update(ctx, j.Accounts.Key("1"), func(a *kit.Account) error { a.Counter = 2; return nil }))(t)
	_, err := mapper.Transact(ctx, j.Accounts.SavePart(e, mapper.CheckLoaded()),
		j.Packages.SavePart(j.Packages.New(registry.Package{Name: "p"})))
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
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a", Right: "a"}), mapper.Staged()))(t)
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, l.transport(), 2)}, mapper.Table(table)))(t)
	left := handmade.String("Left", "", func(v *kit.Account) *string { return &v.Left })
	right := handmade.String("Right", "", func(v *kit.Account) *string { return &v.Right })
	node := handmade.EntityOf(m.Key("1"))
	_, err := mapper.Transact(ctx, node.Patch(left.Set("P"), right.Set("P")).PatchPart(m))
	e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	e.Value.Left, e.Value.Right = "newer", "newer"
	kit.Must(clean.Save(ctx, e))(t)
	l.Deliver(t)
	if got := kit.Stored(t, clean, "1"); got.Left != "newer" && err == nil {
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
	clean := kit.Must(mapper.New[tallied](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	c := &kit.Crash{Left: 2}
	dying := kit.Must(mapper.New[tallied](kit.Client(t, c.Transport(), 1), mapper.Table(table)))(t)
	v := tallied{ID: "1", Name: "dead"}
	v.Hits.N = 100
	_, _ = dying.Save(ctx, dying.New(v), mapper.Staged())
	kit.Must(clean.Save(ctx, clean.New(tallied{ID: "1", Name: "live"})))(t)
	hits := handmade.Number("Hits.N", "", func(v *tallied) *int { return &v.Hits.N })
	_, err := handmade.EntityOf(clean.Key("1")).Patch(hits.Increment(1)).Exec(ctx, clean)
	if got := kit.Must(clean.Load(ctx, clean.Key("1")))(t); err != nil || got.Value.Hits.N != 1 {
		t.Errorf("%+v: %v", got.Value, err)
	}
}

// The same of a condition that holds of nothing, on the item and on another.
func TestPatchConditionOverLeftoverItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := moveOut(t, table)
	kit.Must(users.Save(ctx, users.New(store.User{ID: "1", Email: "new"})))(t)
	a := store.AddressFields
	_, err := store.UserByID("1").Home().Patch(a.City.Set("Rome")).If(a.City.Absent()).Exec(ctx, users)
	if got := kit.Must(users.Load(ctx, store.UserByID("1")))(t); err != nil || got.Value.Home.City != "Rome" {
		t.Errorf("%+v: %v", got.Value.Home, err)
	}
	users = moveOut(t, testengine.Table(t, "PK:S", "SK:S"))
	kit.Must(users.Save(ctx, users.New(store.User{ID: "1", Email: "new"})))(t)
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
	j := kit.NewLedger(t, &kit.Faulty{At: -1}, 1)
	e := j.Accounts.New(kit.Account{ID: "1", Counter: 1})
	kit.Must(j.Accounts.Save(ctx, e))(t)
	e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
	if _, err := mapper.Transact(ctx, j.Accounts.DeletePart(e), j.Accounts.SavePart(e)); err == nil {
		kit.Must(j.Accounts.Save(ctx, e))(t)
		t.Errorf("deleted and saved at once, and saved again: %+v", kit.Stored(t, j.Accounts, "1"))
	}
}

// An insert is in doubt, and may still arrive. Delete says so (OutcomeUnknown, ErrLate);
// Transact(DeletePart(e)) says that there is nothing to delete, ErrNotFound: deletePart.ready does not
// look at the doubts. Breaks "Errors are those of Save, Delete and Exec", "One that was not applied so
// far stays in mind, since it may yet be".
func TestDeletingUnresolvedInsertIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tables := kit.LedgerTables(t)
	l := &losing{operation: "TransactWriteItems", lose: 100}
	j := kit.NewLedger(t, l.transport(), 1, tables...)
	e := j.Accounts.New(kit.Account{ID: "1", Counter: 1, Left: "a"})
	var unknown *mapper.OutcomeUnknownError
	if _, err := j.Accounts.Save(ctx, e); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	l.lose = 0
	_, del := j.Accounts.Delete(ctx, e)
	_, err := mapper.Transact(ctx, j.Accounts.DeletePart(e))
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
	tables := kit.LedgerTables(t)
	clean := kit.NewLedger(t, &kit.Faulty{At: -1}, 1, tables...)
	f := &kit.Faulty{At: -1}
	j := kit.NewLedger(t, f, 1, tables...)
	kit.Must(clean.Packages.Save(ctx, clean.Packages.New(registry.Package{Name: "p"})))(t)
	for name, whole := range map[string]bool{"part": false, "whole": true} {
		e := j.Accounts.New(kit.Account{ID: name, Counter: 1, Left: "a"})
		kit.Must(j.Accounts.Save(ctx, e))(t)
		count := registry.PackageByName("p").Root().Patch(registry.PackageFields.License.Set("x"))
		part := j.Accounts.DeletePart(e)
		if !whole {
			e.Value.Left = ""
			part = j.Accounts.SavePart(e)
		}
		f.Pick = func() kit.Fault { return kit.DropAnswer }
		_, err := mapper.Transact(ctx, part, count.PatchPart(j.Packages))
		f.Pick = nil
		var unknown *mapper.OutcomeUnknownError
		if !errors.As(err, &unknown) {
			t.Fatal(name, err)
		}
		kit.Must(count.Exec(ctx, clean.Packages))(t)
		e.Value.Right = "r"
		if whole {
			e.Value.Left = "a"
		}
		if _, err := j.Accounts.Save(ctx, e); err != nil && !errors.As(err, &unknown) {
			t.Errorf("%s: the items in doubt are gone, as they were to be: %v", name, err)
		}
		if _, err := j.Accounts.Save(ctx, e); err != nil && !errors.As(err, &unknown) {
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
	m, table := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	kit.NewForeign(t, table).Set("BOARD#1", "A", "Count", &types.AttributeValueMemberNULL{Value: true})
	if _, err := kit.BoardMain(m).Patch(kit.CellFields.Count.Increment(1)).Exec(ctx, m); err != nil {
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{State: "x"}})))(t)
	main := kit.BoardMain(m)
	r, err := main.Patch(kit.CellFields.Lines.Append("a")).If(kit.CellFields.State.Equal("y")).Exec(ctx, m)
	var conflict *mapper.ConflictError
	if !errors.As(err, &conflict) || !strings.Contains(mapper.Detail(err), `State is "x"`) {
		t.Errorf("%d requests: %v", r.Predicted().Requests, err)
	}
	r, err = mapper.Transact(ctx,
		main.Patch(kit.CellFields.Lines.Append("a")).If(kit.CellFields.State.Equal("y")).PatchPart(m))
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
	c := &kit.Crash{Left: 1}
	dying := kit.Must(mapper.New[kit.Board](kit.Client(t, c.Transport(), 1), mapper.Table(table)))(t)
	_, _ = dying.Save(ctx, dying.New(kit.Board{ID: "1", Rows: []kit.Cells{{N: 1}}}), mapper.Staged())
	m := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	main := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("1")), 0)
	r, err := main.Patch(kit.CellFields.Lines.Append("a")).Exec(ctx, m)
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	form := mapperimpl.Struct(mapperimpl.Funcs[kit.Cells]{}, handmade.Row(kit.CellFields.Text),
		handmade.Row(kit.CellFields.Left))
	other := handmade.Struct("Other", "", func(v *kit.Board) *kit.Cells { return &v.Other }, form)
	_, err := handmade.EntityOf(m.Key("1")).Patch(other.Set(kit.Cells{Text: "y"})).Exec(ctx, m)
	if got := kit.Must(m.Load(ctx, m.Key("1")))(t); err != nil || got.Value.Other.Text != "y" {
		t.Errorf("%v", err)
	}
}

func TestTransactionWithUncomparableClient(t *testing.T) {
	t.Parallel()
	defer func() {
		if x := recover(); x != nil {
			t.Errorf("panic: %v", x)
		}
	}()
	ctx := context.Background()
	for _, c := range []mapper.Client{kit.Double{}, kit.Wrapped{Client: kit.Double{}}} {
		m := kit.Must(mapper.New[kit.Account](c))(t)
		_, err := mapper.Transact(ctx, m.SavePart(m.New(kit.Account{ID: "1"})))
		if !errors.Is(err, kit.ErrCalled) {
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
	a := kit.Must(mapper.New[kit.Account](kit.Conflicting{}, mapper.ClientNeverRetries()))(t)
	b := kit.Must(mapper.New[tallied](kit.Conflicting{}))(t)
	save := a.SavePart(a.New(kit.Account{ID: "1", Left: "x"}))
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	p := kit.BoardMain(m).Patch(kit.CellFields.Tags.Add("a"))
	plan := kit.Must(p.Plan(m))(t)
	r := kit.Must(p.Exec(ctx, m))(t)
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
	m := kit.Must(mapper.New[kit.Board](kit.Unwatched{C: kit.Client(t, &kit.Faulty{At: -1}, 1)},
		mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	p := kit.BoardMain(m).Patch(kit.CellFields.Tags.Add("a"))
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Inner: kit.Inner{City: "Rome"}}})))(t)
	raw := expression.Name("ciyt").Equal(expression.Value("Rome"))
	if _, err := kit.BoardMain(m).Patch(kit.CellFields.Text.Set("a")).
		If(kit.CellFields.Inner.Where(field.Raw[kit.Inner](raw))).Plan(m); err == nil {
		t.Error("ciyt is no attribute of inner")
	}
	users := kit.Must(mapper.New[store.User](kit.Failing{}))(t)
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Counts: map[string]int{"a": 1}}})))(t)
	var all []field.Change[kit.Cells]
	for i := range 100 {
		all = append(all, kit.CellFields.Counts.Key(fmt.Sprint("k", i)).Increment(1))
	}
	p := kit.BoardMain(m).Patch(all...)
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
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[kit.Board](kit.Client(t, f, 1), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	f.Pick = func() kit.Fault { return kit.DropAnswer }
	if _, err := kit.BoardMain(m).Patch(kit.CellFields.Count.Increment(1)).Exec(ctx, m); strings.Contains(err.Error(),
		"save again") {
		t.Error(err)
	}
}

// A patch that finds an expired root: NotFoundError.Pending was "", and for Load it is "its time to
// live is over". This broke the rule that Pending names an expired time to live.
func TestPatchOfExpiredRootSaysSo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Lease](t, "PK:S", "SK:S")
	kit.Must(m.Save(ctx, m.New(kit.Lease{ID: "1", Until: time.Now().Add(-time.Minute), Left: "a"})))(t)
	until := handmade.Time("Until", "", func(v *kit.Lease) *time.Time { return &v.Until })
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
	c := kit.Client(t, &kit.Faulty{At: -1}, 1)
	_, err := mapper.Transact(ctx, mapper.RawPart(c, types.TransactWriteItem{Delete: &types.Delete{
		TableName: &table, Key: kit.Item{"user": kit.S("bob"), "at": kit.S("5")},
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
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("1")})
	m := kit.NewAccounts(t, table, kit.AtRequest("TransactWriteItems", 1, func() {
		kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
	}), 1)
	left := handmade.String("Left", "", func(v *kit.Account) *string { return &v.Left })
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	r := kit.Must(kit.BoardMain(m).Patch(kit.CellFields.Tags.Add(strings.Repeat("x", 2500))).Exec(ctx, m))(t)
	if !r.Predicted().Items[0].WCU.Contains(r.Consumed.WCU) {
		t.Errorf("%v", r)
	}
	_, err := kit.BoardMain(m).Patch(kit.CellFields.Text.Set(strings.Repeat("x", 300_000))).Exec(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	var tooLarge *mapper.TooLargeError
	_, err = kit.BoardMain(m).Patch(kit.CellFields.Lines.Append(strings.Repeat("x", 150_000))).Exec(ctx, m)
	if !errors.As(err, &tooLarge) {
		t.Errorf("%.300v", err)
	}
}

// A transaction of an entity and a patch whose answers are lost, and that is made again as it is: the
// patch is not applied twice.
func TestRepeatedTransactionWritesPatchOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &kit.Faulty{At: -1}
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Board](kit.Client(t, f, 1), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	e := m.New(kit.Board{ID: "2", Main: kit.Cells{Text: "y"}})
	do := func() error {
		_, err := mapper.Transact(ctx, m.SavePart(e),
			kit.BoardMain(m).Patch(kit.CellFields.Count.Increment(1)).PatchPart(m))
		return err
	}
	f.Pick = func() kit.Fault { return kit.DropAnswer }
	var unknown *mapper.OutcomeUnknownError
	if err := do(); !errors.As(err, &unknown) || strings.Contains(err.Error(), "save again") {
		t.Errorf("lost: %v", err)
	}
	f.Pick = nil
	if err := do(); err == nil || !strings.Contains(err.Error(), "an unresolved transaction of") {
		t.Errorf("again: %v", err)
	}
	if got := kit.Must(m.Load(ctx, m.Key("1")))(t).Value.Main.Count; got != 1 {
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
	clean := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	id := 0
	for kind, what := range kit.FaultNames {
		for at := range 3 {
			id += 2
			f := &kit.Faulty{At: -1, Fault: kind}
			first, cancel := context.WithCancel(ctx)
			f.Cancel = cancel
			m := kit.Must(mapper.New[kit.Board](kit.Client(t, f, 1), mapper.Table(table)))(t)
			kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: strconv.Itoa(id), Main: kit.Cells{Text: "x"}})))(t)
			e := m.New(kit.Board{ID: strconv.Itoa(id + 1), Main: kit.Cells{Text: "y"}})
			p := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key(strconv.Itoa(id))),
				0).Patch(kit.CellFields.Count.Increment(1))
			f.Count, f.At = 0, at
			err := errors.New("not yet")
			for try := 0; try < 4 && err != nil &&
				!strings.Contains(err.Error(), "was applied, with the patches"); try++ {
				_, err = mapper.Transact(first, m.SavePart(e), p.PatchPart(m))
				first = ctx
			}
			cancel()
			got := kit.Must(clean.Load(ctx, clean.Key(strconv.Itoa(id))))(t).Value.Main.Count
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
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{
		ID:   "1",
		Main: kit.Cells{Text: strings.Repeat("x", 300_000), Lines: []string{"a"}},
	})))(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "2", Main: kit.Cells{Text: "y"}})))(t)
	p := kit.BoardMain(m).Patch(kit.CellFields.Lines.Append(strings.Repeat("x", 150_000)))
	other := mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key("2")),
		0).Patch(kit.CellFields.Count.Increment(1))
	_, alone := p.Exec(ctx, m)
	_, joinedErr := mapper.Transact(ctx, other.PatchPart(m), p.PatchPart(m))
	for _, err := range []error{alone, joinedErr} {
		var large *mapper.TooLargeError
		if !errors.As(err, &large) || large.Key.Partition != "BOARD#1" {
			t.Errorf("%.600v", err)
		}
	}
}
