package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// The tests of this file are the sentences of docs/guarantees.md.

// An element that a save adds was in the live entity before Save returned, or Save returns an error.
func TestSaveAddsOnlyToLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, between := range map[string]func(m *mapper.Mapper[kit.Account]){
		"deleted": func(m *mapper.Mapper[kit.Account]) { kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t) },
		"deleted and inserted again": func(m *mapper.Mapper[kit.Account]) {
			kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 7})))(t)
		},
		"deleted in stages": func(m *mapper.Mapper[kit.Account]) {
			kit.Must(m.DeleteByKey(ctx, m.Key("1"), mapper.Staged()))(t)
		},
	} {
		for _, options := range [][]mapper.WriteOption{nil, {mapper.Independent()}} {
			table := testengine.Table(t, "PK:S", "SK:S")
			m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
			e := kit.Must(m.Load(ctx, m.Key("1")))(t)
			between(m)
			left := kit.ItemsOf(t, table, "1")
			e.Value.Entries, e.Value.Left = []kit.Part{{N: 1, Text: "lost"}}, "lost"
			_, err := m.Save(ctx, e, options...)
			var missing *mapper.NotFoundError
			if !errors.As(err, &missing) {
				t.Errorf("%s: the save is acknowledged: %v", name, err)
			}
			if n := kit.ItemsOf(t, table, "1"); n != left {
				t.Errorf("%s: %d items are left over, %d before the save", name, n, left)
			}
			if e.Value.Entries = nil; e.Value.Left == "lost" { // the entity knows that they are not stored
				e.Value.Left = ""
				if plan := kit.Must(m.PlanSave(e))(t); plan.Mode != "nothing" {
					t.Errorf("%s: %v", name, plan)
				}
			}
		}
	}
}

// If the root item cannot be read after the put, the outcome is unknown, and the next save finds out.
func TestSaveThatCannotReadRootIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, deleted := range []bool{false, true} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
		failing := true
		f := &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			if failing && f.Log[len(f.Log)-1] == "GetItem" {
				return kit.Deny
			}
			return kit.None
		}
		m := kit.NewAccounts(t, table, f, 1)
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
		var unknown *mapper.OutcomeUnknownError
		if _, err := m.Save(ctx, e); !errors.As(err, &unknown) || len(unknown.Items) != 1 ||
			unknown.Items[0].Sort != "ENTRY#0001" {
			t.Errorf("the root item was not read: %v", err)
		}
		if failing = false; deleted {
			kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
		}
		findsOut(t, m, e, table, deleted)
	}
}

// findsOut saves an entity to which an item was added without an answer. The save fails if the entity
// was deleted in the meantime, and no item is left over.
func findsOut(t *testing.T, m *mapper.Mapper[kit.Account], e *mapper.Entity[kit.Account], table string, deleted bool) {
	t.Helper()
	_, err := m.Save(context.Background(), e)
	if deleted != errors.Is(err, mapper.ErrNotFound) || !deleted && err != nil {
		t.Errorf("deleted %v: %v", deleted, err)
	}
	if n := kit.ItemsOf(t, table, "1"); deleted && n != 0 {
		t.Errorf("%d items are left over", n)
	}
}

// An addition without an answer that turns out to be written is confirmed as well.
func TestAdditionWithoutAnswerIsConfirmed(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, deleted := range []bool{false, true} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
		failing := false
		f := &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			switch op := f.Log[len(f.Log)-1]; {
			case failing && op == "PutItem":
				return kit.DropAnswer
			case failing:
				return kit.Deny
			}
			return kit.None
		}
		m := kit.NewAccounts(t, table, f, 1)
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
		failing = true
		var unknown *mapper.OutcomeUnknownError
		if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
			t.Errorf("no answer came: %v", err)
		}
		if failing = false; deleted {
			kit.Must(kit.NewForeign(t, table).DeleteItem(ctx,
				&dynamodb.DeleteItemInput{
					TableName: &table,
					Key:       kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD")},
				}))(t)
		}
		findsOut(t, m, e, table, deleted)
	}
}

// In a transaction of several parts, nothing is written if an item would be added to an entity that is not live.
func TestTransactAddsOnlyToLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	other := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	entries := handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}
	for name, adds := range map[string]func(e *mapper.Entity[kit.Account]) mapper.Part{
		"a save": func(e *mapper.Entity[kit.Account]) mapper.Part {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 9, Text: "x"})
			return m.SavePart(e)
		},
		"an added element": func(*mapper.Entity[kit.Account]) mapper.Part {
			return entries.Add(kit.Part{N: 9, Text: "x"}).PatchPart(m)
		},
	} {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: "2", Counter: 1})))(t)
		kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m))(t) // the incarnation is remembered
		e, second := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("2")))(t)
		kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
		second.Value.Counter = 2
		if _, err := mapper.Transact(ctx, adds(e), m.SavePart(second)); err == nil {
			t.Errorf("%s of a deleted entity is acknowledged", name)
		}
		if got := kit.Stored(t, m, "2"); got.Counter != 1 || kit.ItemsOf(t, table, "1") != 0 {
			t.Errorf("%s: the other part is written: %+v", name, got)
		}
		kit.Must(m.DeleteByKey(ctx, m.Key("2")))(t)
	}
}

// A patch creates an item only in an entity that exists.
func TestPatchMakesItemOnlyInLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Visited](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	hits := handmade.Number[kit.Visited, int]("Hits", "", func(x *kit.Visited) *int { return &x.Hits })
	stats := func(id string) *mapper.ItemPatch[kit.Visited, *kit.Visited] {
		return mapperimpl.Item[kit.Visited, kit.Visited](m.Key(id).Item("STATS"), 1).Patch(hits.Increment(1))
	}
	set := func(id string) *mapper.ItemPatch[kit.Visited, *kit.Visited] {
		return mapperimpl.Item[kit.Visited, kit.Visited](m.Key(id).Item("STATS"), 1).Patch(hits.Set(5))
	}
	for name, p := range map[string]*mapper.ItemPatch[kit.Visited, *kit.Visited]{
		"an increment": stats("nobody"), "a set": set("nobody"),
		"set if absent": mapperimpl.Item[kit.Visited, kit.Visited](m.Key("nobody").Item("STATS"),
			1).Patch(hits.SetIfAbsent(5)),
	} {
		var missing *mapper.NotFoundError
		if _, err := p.Exec(ctx, m); !errors.As(err, &missing) || kit.ItemsOf(t, table, "nobody") != 0 {
			t.Errorf("%s makes an item of an entity that does not exist: %v", name, err)
		}
	}
	kit.Must(m.Save(ctx, m.New(kit.Visited{ID: "1", Name: "n"})))(t)
	for n := range 3 {
		r := kit.Must(stats("1").Exec(ctx, m))(t)
		if n > 0 && (r.Predicted().Requests != 1 || r.Consumed.RCU != 0 || r.Consumed.WCU != 1) {
			t.Errorf("an increment of an item that exists is one request: %v", r)
		}
	}
	e := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
	if e.Value.Hits != 3 {
		t.Errorf("3 increments count %d", e.Value.Hits)
	}
	// What the patch made belongs to this entity, and not to the next one of the key.
	if raw := kit.NewForeign(t, table).Get("ACCOUNT#1", "STATS"); raw["_a"] == nil {
		t.Errorf("it carries no incarnation: %v", raw)
	}
}

// A patch that creates an item creates it in the entity that is live at its end, even if the entity is
// deleted between two requests.
func TestPatchMakesItemThatIsSeen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	on := func(table string, f *kit.Faulty) *mapper.Mapper[kit.Visited] {
		return kit.Must(mapper.New[kit.Visited](kit.Client(t, f, 1), mapper.Table(table)))(t)
	}
	for _, again := range []bool{false, true} {
		for before := range 5 {
			table := testengine.Table(t, "PK:S", "SK:S")
			other, f := on(table, &kit.Faulty{At: -1}), &kit.Faulty{At: -1}
			kit.Must(other.Save(ctx, other.New(kit.Visited{ID: "1", Name: "first"})))(t)
			m := on(table, f)
			f.Pick = func() kit.Fault {
				if len(f.Log) == before+1 {
					kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
					if again {
						kit.Must(other.Save(ctx, other.New(kit.Visited{ID: "1", Name: "second"})))(t)
					}
				}
				return kit.None
			}
			hits := handmade.Number[kit.Visited, int]("Hits", "", func(v *kit.Visited) *int { return &v.Hits })
			_, err := mapperimpl.Item[kit.Visited, kit.Visited](m.Key("1").Item("STATS"),
				1).Patch(hits.Increment(1)).Exec(ctx,
				m)
			deleted := len(f.Log) > before // while the patch ran
			name := fmt.Sprintf("deleted before request %d, inserted again %v", before, again)
			if err != nil && !errors.Is(err, mapper.ErrNotFound) || deleted && !again && err == nil {
				t.Errorf("%s: %v", name, err)
			}
			e, missing := other.Load(ctx, other.Key("1"))
			if err == nil && (missing != nil || e.Value.Hits != 1) || err != nil && missing == nil &&
				e.Value.Hits != 0 {
				t.Errorf("%s: the patch ended with %v, and the entity is %+v (%v)", name, err, e, missing)
			}
			if deleted && !again && kit.ItemsOf(t, table, "1") != 0 {
				t.Errorf("%s: an item is left over", name)
			}
		}
	}
}

// An element is added to a live entity or not at all, also if the mapper remembers another incarnation.
func TestAddOnlyToLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	other := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	entries := handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}
	if _, err := entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) ||
		kit.ItemsOf(t, table, "1") != 0 {
		t.Errorf("an element of an entity that does not exist: %v", err)
	}
	kit.Must(other.Save(ctx, other.New(kit.Account{ID: "1", Counter: 1})))(t)
	if r := kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m))(t); r.Predicted().Requests != 3 ||
		r.Consumed.RCU != 2 {
		t.Errorf("root item, put, root item: %v", r)
	}
	if r := kit.Must(entries.Add(kit.Part{N: 2, Text: "x"}).Exec(ctx, m))(t); r.Predicted().Requests != 2 ||
		r.Consumed.RCU != 1 {
		t.Errorf("put, root item: %v", r)
	}
	kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
	if _, err := entries.Add(kit.Part{N: 3, Text: "x"}).Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) ||
		kit.ItemsOf(t, table, "1") != 0 {
		t.Errorf("an element of an entity that was deleted: %v", err)
	}
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m))(t)
	kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
	kit.Must(other.Save(ctx, other.New(kit.Account{ID: "1", Counter: 2})))(t)
	kit.Must(entries.Add(kit.Part{N: 4, Text: "new"}).Exec(ctx, m))(t)
	if got := kit.Stored(t, other, "1"); got.Counter != 2 || len(got.Entries) != 1 || got.Entries[0].N != 4 {
		t.Errorf("an element of the next entity: %+v", got)
	}
	if n := kit.ItemsOf(t, table, "1"); n != 2 {
		t.Errorf("%d items", n)
	}
}

// Plans and receipts say which of their requests make sure that the entity exists.
func TestPlansSayWhichRequestsReadRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	writer, m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1), kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	e := writer.New(kit.Account{ID: "1", Counter: 1})
	kit.Must(writer.Save(ctx, e))(t)
	says := func(what, text string, plan *mapper.Plan, r *mapper.Receipt) {
		t.Helper()
		if !strings.Contains(plan.String(), text) || !strings.Contains(r.String(), text) ||
			plan.RootReads != r.Predicted().RootReads {
			t.Errorf("%s: %q expected:\n%v\n%v", what, text, plan, r)
		}
	}
	e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
	plan := kit.Must(writer.PlanSave(e))(t)
	says("a save that adds", "2 requests (1 reads the root item), 1 WCU, 1 RCU", plan, kit.Must(writer.Save(ctx, e))(t))
	e.Value.Entries[0].Text = "y"
	plan = kit.Must(writer.PlanSave(e))(t)
	says("a save that changes", "one request: 1 WCU", plan, kit.Must(writer.Save(ctx, e))(t))

	add := handmade.Elements[kit.Account,
		kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}.Add(kit.Part{N: 2, Text: "x"})
	if plan, r := kit.Must(add.Plan(m))(t),
		kit.Must(handmade.Elements[kit.Account,
			kit.Part]{Node: handmade.Node(writer.Key("1")), Item: 3}.Add(kit.Part{N: 4, Text: "x"}).Exec(ctx,
			writer))(t); plan.Items[0].NewBytes != r.Predicted().Items[0].NewBytes {
		t.Errorf("the plan has no incarnation yet, and the item has one: %v, %v", plan, r)
	}
	plan = kit.Must(add.Plan(m))(t)
	says("the first addition", "3 requests (2 read the root item)", plan, kit.Must(add.Exec(ctx, m))(t))
	add = handmade.Elements[kit.Account,
		kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}.Add(kit.Part{N: 3, Text: "x"})
	plan = kit.Must(add.Plan(m))(t)
	says("the second addition", "2 requests (1 reads the root item)", plan, kit.Must(add.Exec(ctx, m))(t))
}

// A delete deletes the items that were added before it returned.
func TestDeleteRemovesWhatWasAddedBeforeItReturned(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, del := range map[string]func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error){
		"as loaded": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error) {
			return m.Delete(ctx, kit.Must(m.Load(ctx, m.Key("1")))(t))
		},
		"by key": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt,
			error,
		) {
			return m.DeleteByKey(ctx, m.Key("1"))
		},
		"one by one": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error) {
			return m.DeleteByKey(ctx, m.Key("1"), mapper.Independent())
		},
		"with others": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error) {
			return mapper.Transact(ctx, m.DeletePartByKey(m.Key("1")),
				m.SavePart(m.New(kit.Account{ID: "2", Counter: 1})))
		},
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "x"})))(t)
		entries := handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(clean.Key("1")), Item: 3}
		added := false
		add := func() {
			if !added {
				added = true
				kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, clean))(t)
			}
		}
		f := &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			if op := f.Log[len(f.Log)-1]; op == "TransactWriteItems" || op == "DeleteItem" {
				add()
			}
			return kit.None
		}
		r, err := del(kit.NewAccounts(t, table, f, 1))
		if n := kit.ItemsOf(t, table, "1"); err != nil || n != 0 || len(r.AlsoDeleted) != 1 {
			t.Errorf("%s: %d items are left, and deleted as well: %v: %v", name, n, r.AlsoDeleted, err)
		}
	}
}

// A save never overwrites a value of a program without this library that it has not seen.
func TestSaveNeverOverwritesForeignChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	raw := kit.NewForeign(t, table)
	foreign := func(sk, name string, v types.AttributeValue) {
		t.Helper()
		_, err := raw.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: kit.Item{"PK": kit.S("FOREIGN#1"), "SK": kit.S(sk)},
			UpdateExpression:         aws.String("SET #n = :v"),
			ExpressionAttributeNames: map[string]string{"#n": name}, ExpressionAttributeValues: kit.Item{":v": v},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	m := kit.Must(mapper.New[foreignDoc](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	versions := kit.Must(mapper.New[foreignDoc](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table),
		mapper.VersionsOnly()))(t)
	long := strings.Repeat("long ", 2000)
	doc := func() foreignDoc {
		return foreignDoc{
			ID: "1", Text: "a", Count: 1, Tags: []string{"a", "b"}, Nested: map[string]int{"a": 1},
			Long: long, Bytes: []byte("abc"), Lines: []kit.Part{{N: 1, Text: "x"}},
		}
	}
	for name, c := range map[string]struct {
		sk, attribute string
		value         types.AttributeValue
		edit          func(d *foreignDoc)
	}{
		"a text":   {"HEAD", "Text", kit.S("theirs"), func(d *foreignDoc) { d.Text = "ours" }},
		"a number": {"HEAD", "Count", kit.N("5"), func(d *foreignDoc) { d.Count++ }},
		"a list": {
			"HEAD", "Tags", kit.L(kit.S("a"), kit.S("c")),
			func(d *foreignDoc) { d.Tags = append(d.Tags, "x") },
		},
		"a map": {
			"HEAD", "Nested", kit.M(kit.Item{"a": kit.N("2")}),
			func(d *foreignDoc) { d.Nested["b"] = 1 },
		},
		"a text of 10 KB": {"HEAD", "Long", kit.S("short"), func(d *foreignDoc) { d.Long += "x" }},
		"bytes": {
			"HEAD", "Bytes", &types.AttributeValueMemberB{Value: []byte("xyz")},
			func(d *foreignDoc) { d.Bytes = []byte("q") },
		},
		"a new attribute":   {"HEAD", "Note", kit.S("theirs"), func(d *foreignDoc) { d.Note = "ours" }},
		"an element":        {"LINE#0001", "Text", kit.S("theirs"), func(d *foreignDoc) { d.Lines[0].Text = "ours" }},
		"a removed element": {"LINE#0001", "Text", kit.S("theirs"), func(d *foreignDoc) { d.Lines = nil }},
		"an unknown of one": {"LINE#0001", "unknown", kit.S("theirs"), func(d *foreignDoc) { d.Lines = nil }},
	} {
		for _, only := range []*mapper.Mapper[foreignDoc]{m, versions} {
			kit.Must(m.Save(ctx, m.New(doc())))(t)
			if name == "an unknown of one" {
				foreign(c.sk, c.attribute, kit.S("first"))
			}
			e := kit.Must(only.Load(ctx, only.Key("1")))(t)
			foreign(c.sk, c.attribute, c.value)
			c.edit(&e.Value)
			_, err := only.Save(ctx, e)
			var conflict *mapper.ConflictError
			if only == versions {
				if err != nil {
					t.Errorf("%s, versions only: %v", name, err)
				}
			} else if !errors.As(err, &conflict) || errors.Is(err, mapper.ErrNotFound) {
				t.Errorf("%s of another program is overwritten: %v", name, err)
			}
			// Update loads it again, and succeeds.
			if _, err := only.Update(ctx, only.Key("1"),
				func(d *foreignDoc) error { c.edit(d); return nil }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
		}
	}
	// A delete, and CheckLoaded, compare as well.
	kit.Must(m.Save(ctx, m.New(doc())))(t)
	e, checked := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	foreign("LINE#0001", "Text", kit.S("theirs"))
	var conflict *mapper.ConflictError
	for name, options := range map[string][]mapper.WriteOption{
		"in one transaction": nil,
		"in stages":          {mapper.Staged()},
	} {
		if _, err := m.Delete(ctx, e, options...); !errors.As(err, &conflict) {
			t.Errorf("it deletes what it has not seen, %s: %v", name, err)
		}
	}
	checked.Value.Text = "ours"
	if _, err := m.Save(ctx, checked, mapper.CheckLoaded()); !errors.As(err, &conflict) {
		t.Errorf("a loaded item has changed: %v", err)
	}
}

type foreignDoc struct {
	_      struct{}       `ddb:"table=foreign"`
	ID     string         `ddb:"pk=FOREIGN#{ID}"`
	Text   string         `ddb:"sk=HEAD"`
	Count  int            `ddb:"sk=HEAD"`
	Tags   []string       `ddb:"sk=HEAD"`
	Nested map[string]int `ddb:"sk=HEAD"`
	Long   string         `ddb:"sk=HEAD"`
	Bytes  []byte         `ddb:"sk=HEAD"`
	Note   string         `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Float  float64        `ddb:"sk=HEAD"`
	Inner  foreignInner   `ddb:"sk=HEAD"`
	Lines  []kit.Part     `ddb:"sk=LINE#{N:04}"`
}

type foreignInner struct {
	A string
	B string `dynamodbav:",omitempty"`
}

// A save compares with the stored form of a value, and not with its encoding. Nested attributes that
// the model does not know are no conflict, and neither are numbers with more digits than a float has.
func TestSaveComparesWithStoredForm(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	raw := kit.NewForeign(t, table)
	for _, sdk := range []bool{false, true} {
		var options []mapper.Option
		if options = append(options, mapper.Table(table)); sdk {
			options = append(options, mapper.DecodeWithSDK())
		}
		m := kit.Must(mapper.New[foreignDoc](kit.Client(t, &kit.Faulty{At: -1}, 1), options...))(t)
		raw.Put(kit.Item{
			"PK": kit.S("FOREIGN#1"), "SK": kit.S("HEAD"),
			"_v":   &types.AttributeValueMemberB{Value: []byte("12345678")},
			"Text": kit.S("a"), "Count": kit.N("1"),
			"Float": kit.N("0.12345678901234567890123"), "Inner": kit.M(kit.Item{
				"A": kit.S("a"), "B": kit.S(""),
				"unknown": kit.N("1"),
			}),
			"Nested": kit.M(kit.Item{"a": kit.N("1")}),
			"Tags":   kit.L(kit.S("a")), "Long": kit.S("l"), "Bytes": &types.AttributeValueMemberB{Value: []byte("b")},
		})
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		e.Value.Float, e.Value.Inner.A, e.Value.Nested["b"] = 2, "b", 2
		if _, err := m.Save(ctx, e); err != nil {
			t.Errorf("nobody else has changed it: %v", err)
		}
		e.Value.Float++
		e.Value.Inner.A = "c"
		if _, err := m.Save(ctx, e); err != nil {
			t.Errorf("nobody else has changed it, again: %v", err)
		}
		kit.Must(m.Delete(ctx, e))(t)
	}
}

// A value that AfterLoad has changed, one that is stored under two names, and one that is compressed are no conflict.
func TestSaveComparesWithStoredValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	hooked := kit.Must(mapper.New[lowered](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(hooked.Save(ctx, hooked.New(lowered{ID: "1", Mail: "A@B"})))(t)
	h := kit.Must(hooked.Load(ctx, hooked.Key("1")))(t)
	h.Value.Mail = "b@c"
	kit.Must(hooked.Save(ctx, h))(t)
	kit.Must(hooked.Delete(ctx, h))(t)

	boards := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	for _, names := range [][2]string{{"Text", "old-Text"}, {"old-Text", "older-Text"}} {
		kit.Must(boards.Save(ctx, boards.New(kit.Board{ID: "1", Main: kit.Cells{N: 1}})))(t)
		raw := kit.NewForeign(t, table)
		for _, name := range names {
			kit.Must(raw.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &table, Key: kit.Item{"PK": kit.S("BOARD#1"), "SK": kit.S("A")},
				UpdateExpression:          aws.String("SET #n = :v"),
				ExpressionAttributeNames:  map[string]string{"#n": name},
				ExpressionAttributeValues: kit.Item{":v": kit.S("in " + name)},
			}))(t)
		}
		e := kit.Must(boards.Load(ctx, boards.Key("1")))(t)
		e.Value.Main.Text = "edited"
		kit.Must(boards.Save(ctx, e))(t)
		kit.Must(boards.Delete(ctx, e))(t)
	}

	packs := kit.Must(mapper.New[packed](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	for _, text := range []string{"a", "ä", strings.Repeat("long ", 3000)} {
		e := packs.New(packed{ID: "1", Text: text, Bytes: []byte(text), List: []string{text}})
		kit.Must(packs.Save(ctx, e))(t)
		for range 2 {
			e.Value.Text, e.Value.Bytes, e.Value.List = e.Value.Text+"b", append(e.Value.Bytes, 'b'),
				append(e.Value.List, "b")
			kit.Must(packs.Save(ctx, e))(t)
		}
		kit.Must(packs.Delete(ctx, e))(t)
	}
}

type lowered struct {
	_    struct{} `ddb:"table=lowered"`
	ID   string   `ddb:"pk=LOWERED#{ID}"`
	Mail string   `ddb:"sk=HEAD"`
}

func (l *lowered) AfterLoad() { l.Mail = strings.ToLower(l.Mail) }

type packed struct {
	_     struct{} `ddb:"table=packed"`
	ID    string   `ddb:"pk=PACKED#{ID}"`
	Text  string   `ddb:"sk=HEAD,compress=gzip"`
	Bytes []byte   `ddb:"sk=HEAD,compress=gzip"`
	List  []string `ddb:"sk=HEAD,compress=gzip"`
}

// A save that checks the root item is refused each time, as long as the entity is not live.
func TestCheckRootIsRefusedEachTime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Left: "a"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	kit.Must(kit.NewForeign(t, table).DeleteItem(ctx,
		&dynamodb.DeleteItemInput{TableName: &table, Key: kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD")}}))(t)
	e.Value.Left = "b"
	for n := range 3 {
		if n == 2 {
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 2})))(t)
		}
		if _, err := m.Save(ctx, e, mapper.CheckRoot()); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%d: an update of an entity that is not live: %v", n, err)
		}
	}
}

// Update applies its function again if the entity was deleted and inserted again in the meantime.
func TestUpdateAppliesToReplacedEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	times := 0
	_, err := m.Update(ctx, m.Key("1"), func(a *kit.Account) error {
		if times++; times == 1 {
			kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 2})))(t)
		}
		a.Entries = []kit.Part{{N: 1, Text: "x"}}
		return nil
	})
	if got := kit.Stored(t, m, "1"); err != nil || times != 2 || got.Counter != 2 || len(got.Entries) != 1 {
		t.Errorf("%d times: %+v: %v", times, got, err)
	}
}

// A patch does not take a leftover item for one of the entity, if the mapper has seen the entity, or
// the patch asks for it.
func TestPatchNoticesLeftoverItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, seen := range []bool{true, false} {
		table := testengine.Table(t, "PK:S", "SK:S")
		m := kit.Must(mapper.New[kit.Visited](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
		other := kit.Must(mapper.New[kit.Visited](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
		kit.Must(other.Save(ctx, other.New(kit.Visited{ID: "1", Name: "n"})))(t)
		late := kit.Must(other.Load(ctx, other.Key("1")))(t)
		kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
		late.Value.Hits = 7
		kit.Must(other.Save(ctx, late, mapper.Blind()))(t) // a leftover item
		by := other
		if seen {
			by = m
		}
		kit.Must(by.Save(ctx, by.New(kit.Visited{ID: "1", Name: "next"})))(t)
		hits := handmade.Number[kit.Visited, int]("Hits", "", func(x *kit.Visited) *int { return &x.Hits })
		for range 3 {
			p := mapperimpl.Item[kit.Visited, kit.Visited](m.Key("1").Item("STATS"), 1).Patch(hits.Increment(1))
			if !seen {
				p = p.IfEntityExists()
			}
			kit.Must(p.Exec(ctx, m))(t)
		}
		if e := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t); e.Value.Hits != 3 {
			t.Errorf("seen %v: 3 increments count %d", seen, e.Value.Hits)
		}
	}
}

// Parts of one transaction may add to one entity.
func TestTransactAddsTwiceToOneEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	entries := handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}
	add := func(n int) mapper.Part { return entries.Add(kit.Part{N: n, Text: "x"}).PatchPart(m) }
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	kit.Must(mapper.Transact(ctx, add(1), add(2)))(t)
	for n, edit := range []func(a *kit.Account){
		func(a *kit.Account) { a.Counter++ }, func(a *kit.Account) { a.Left = "q" },
		func(a *kit.Account) { a.Left = "r" },
	} {
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		edit(&e.Value)
		parts := []mapper.Part{m.SavePart(e), add(3 + 2*n), add(4 + 2*n)}
		if n == 1 {
			parts = []mapper.Part{add(3 + 2*n), m.SavePart(e), add(4 + 2*n)}
		}
		plan := kit.Must(mapper.PlanTransact(parts...))(t)
		r := kit.Must(mapper.Transact(ctx, parts...))(t)
		if len(plan.Items) != len(r.Predicted().Items) || !plan.WCU.Contains(r.Predicted().WCU.Expected) {
			t.Errorf("planned %v, sent %v", plan, r)
		}
	}
	if got := kit.Stored(t, m, "1"); len(got.Entries) != 8 || got.Counter != 2 || got.Left != "r" {
		t.Errorf("%+v", got)
	}
	if _, err := mapper.Transact(ctx, add(9), add(1)); !errors.Is(err, mapper.ErrExists) {
		t.Errorf("one exists: %v", err)
	}
}

// Tables may be named by their ARN.
func TestTablesByARN(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if !testengine.TakesARNs(t) {
		return
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	arn := "arn:aws:dynamodb:us-east-1:000000000000:table/" + table
	m := kit.Must(mapper.New[kit.Account](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(arn)))(t)
	var keys []query.Selection[kit.Account]
	for i := range 5 {
		id := fmt.Sprint(i)
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: id, Counter: i})))(t)
		keys = append(keys, m.Key(id).Item("HEAD"))
	}
	all := kit.Must(m.LoadMany(ctx, keys))(t)
	for i, e := range all {
		if e == nil || e.Value.Counter != i {
			t.Errorf("%d: %+v", i, e)
		}
	}
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
	kit.Must(m.Save(ctx, e))(t)
	kit.Must(m.Delete(ctx, e, mapper.Independent()))(t)
	var values []kit.Account
	for i := range 40 {
		values = append(values, kit.Account{ID: fmt.Sprint("bulk", i), Counter: i + 1, Left: "x"})
	}
	kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(values)), mapper.Overwrite()))(t)
	for _, v := range values {
		if got := kit.Stored(t, m, v.ID); got == nil || got.Counter != v.Counter || got.Left != "x" {
			t.Errorf("%s: %+v", v.ID, got)
		}
	}
}
