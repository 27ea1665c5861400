package operation_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// Faults of patches and Transact that an attack found, the worst first. Each test failed when it was
// written. Its comment describes the former behavior, and quotes the sentence of the design or of
// docs/saving.md that it broke.

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
