package search_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// meddling is a writer that deletes the entity during a read of several pages, and may insert it again.
type meddling struct {
	at            int  // the reader's request before which it happens; its pages are of two items
	before        bool // the entity was put by a staged insert
	again, staged bool // it is inserted again, by a staged insert
}

func (x meddling) String() string {
	return fmt.Sprintf("%d-%v-%v-%v", x.at, x.before, x.again, x.staged)
}

// eachMeddling calls f with all kinds of them, at any request up to the last.
func eachMeddling(t *testing.T, last int, f func(meddling)) {
	for _, drawn := range draws.Some(draws.Seed(t), 6*last, draws.Times(10, draws.All, draws.All)) {
		at, kind := 1+drawn/6, drawn%6
		f(meddling{at, kind&1 == 1, kind > 1, kind > 3})
	}
}

func stagedIf(yes bool) []mapper.WriteOption {
	if yes {
		return []mapper.WriteOption{mapper.Staged()}
	}
	return nil
}

// meddled saves an account, and returns the transport of its reader.
func meddled(t *testing.T, m *mapper.Mapper[kit.Account], x meddling, was, is kit.Account) *kit.Faulty {
	t.Helper()
	ctx := context.Background()
	kit.Must(m.Save(ctx, m.New(was), stagedIf(x.before)...))(t)
	return kit.SmallPages(2, x.at, func() {
		kit.Must(m.DeleteByKey(ctx, m.Key(was.ID)))(t)
		if x.again {
			kit.Must(m.Save(ctx, m.New(is), stagedIf(x.staged)...))(t)
		}
	})
}

// A load, over pages, of an entity that is deleted and inserted between any two of its requests
// is one of them, whole, or none.
func TestLoadsOfReinsertedEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	account := func(id, text string) kit.Account {
		return kit.Account{
			ID: id, Counter: 1, Left: text, Right: text, Entries: []kit.Part{
				{N: 1, Text: text},
				{N: 2, Text: text},
				{N: 3, Text: text},
			},
			Flags: map[string]bool{"a": true},
		}
	}
	eachMeddling(t, 8, func(x meddling) {
		id := x.String()
		was, is := account(id, "old"), account(id, "new")
		reader := kit.NewAccounts(t, table, meddled(t, clean, x, was, is), 1)
		e, err := reader.Load(ctx, reader.Key(id))
		switch {
		case errors.Is(err, mapper.ErrNotFound):
		case err != nil, !kit.Same(&e.Value, &was) && !kit.Same(&e.Value, &is):
			t.Errorf("%s: %+v: %v", id, e, err)
		}
	})
}

// The same of a query for elements, which may also be an error that says what happened. One with
// a limit ends before the entity does.
func TestQueriesOfReinsertedEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	eachMeddling(t, 8, func(x meddling) {
		for _, limit := range []int{0, 4} {
			id := fmt.Sprint(x, " ", limit)
			was, is := kit.Six(id, "old"), kit.Six(id, "new")
			reader := kit.NewAccounts(t, table, meddled(t, clean, x, was, is), 1)
			q := query.Of[kit.Part](reader.Key(id).Prefix("ENTRY#"))
			if limit > 0 {
				q = q.Limit(limit)
			}
			got, err := q.Collect(ctx, reader, mapper.Strong())
			n := cmp.Or(limit, 6)
			switch {
			case err != nil && strings.Contains(err.Error(), "query again"), len(got) == 0 && err == nil:
			case err != nil, !slices.Equal(got, was.Entries[:n]) && !slices.Equal(got, is.Entries[:n]):
				t.Errorf("%s: %v: %v", id, got, err)
			}
		}
	})
}

// The same of a query for entities, in both directions.
func TestReinsertedEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[models.Order](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	order := func(c string, n int, text string) models.Order {
		return models.Order{
			Customer: c, N: n, Status: text,
			Lines: []models.Line{{Line: 1, SKU: text}, {Line: 2, SKU: text}},
		}
	}
	eachMeddling(t, 8, func(x meddling) {
		for _, reverse := range []bool{false, true} {
			c := fmt.Sprint(x, reverse)
			for n := 1; n <= 2; n++ {
				kit.Must(clean.Save(ctx, clean.New(order(c, n, "old")), stagedIf(x.before)...))(t)
			}
			m := kit.Must(mapper.New[models.Order](kit.Client(t, kit.SmallPages(2, x.at, func() {
				for n := 1; n <= 2; n++ {
					kit.Must(clean.DeleteByKey(ctx, clean.Key(c, n)))(t)
					if x.again {
						kit.Must(clean.Save(ctx, clean.New(order(c, n, "new")), stagedIf(x.staged)...))(t)
					}
				}
			}), 1), mapper.Table(table)))(t)
			q := query.Of[models.Order](m.Key(c))
			if reverse {
				q = q.Reverse()
			}
			for _, o := range kit.Must(q.Collect(ctx, m, mapper.Strong()))(t) {
				if len(o.Lines) != 2 || o.Lines[0].SKU != o.Status || o.Lines[1].SKU != o.Status {
					t.Errorf("%s: %+v", c, o)
				}
			}
		}
	})
}

// A query of a staged entity that is live for an hour reads nothing again, but the root at its
// end: the delete comes between two pages.
func TestQueryOfWhatWasStagedLongAgo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	v := kit.Six("1", "x")
	kit.Must(clean.Save(ctx, clean.New(v), mapper.Staged()))(t)
	kit.NewForeign(t, table).Set("ACCOUNT#1", "HEAD", "_s",
		kit.M(kit.Item{"state": kit.S("live"), "since": kit.N(fmt.Sprint(time.Now().Add(-time.Hour).Unix()))}))
	reader := kit.NewAccounts(t, table, kit.SmallPages(2, 3, func() {
		kit.Must(clean.DeleteByKey(ctx, clean.Key("1"), mapper.Staged()))(t)
	}), 1)
	got, err := query.Of[kit.Part](reader.Key("1").Prefix("ENTRY#")).Collect(ctx, reader, mapper.Strong())
	if err == nil || !strings.Contains(err.Error(), "query again") {
		t.Errorf("part of the entity: %v, %v", got, err)
	}
}

// A query with a limit is read again, while a delete dies: what it yields are the first elements,
// or it is an error.
func TestQueryWithALimitRereads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	v := kit.Six("1", "x")
	kit.Must(clean.Save(ctx, clean.New(v), mapper.Staged()))(t)
	reader := kit.NewAccounts(t, table, kit.AtRequest("Query", 2, func() {
		var deleted atomic.Int32
		dying := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
			return kit.OperationOf(r) == "DeleteItem" && deleted.Add(1) > 2
		}}, 1)
		_, _ = dying.DeleteByKey(ctx, dying.Key("1"), mapper.Staged())
	}), 1)
	got, err := query.Of[kit.Part](reader.Key("1").Prefix("ENTRY#")).Limit(4).Collect(ctx, reader, mapper.Strong())
	if err == nil && len(got) > 0 && !slices.Equal(got, v.Entries[:4]) {
		t.Errorf("not the first of the entity: %v", got)
	}
}

var textOfEntry = handmade.String("Text", "", func(v *kit.Part) *string { return &v.Text })

// The first page shows nothing about the queried entity: no item there passes the filter, matches a
// template, or carries an incarnation. After it the entity is deleted and inserted again, and the
// second page has items of the new entity.
func TestFirstPageProvesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	bare := kit.Account{ID: "1", Counter: 1}
	for name, x := range map[string]struct {
		was      kit.Account
		parallel func(t *testing.T, table string, m *mapper.Mapper[kit.Account])
		filter   []field.Condition[kit.Part]
		page     int
	}{
		"filtered": {was: kit.Six("1", "old"), filter: []field.Condition[kit.Part]{textOfEntry.Equal("new")}, page: 3},
		"unknown": {was: bare, page: 1, parallel: func(t *testing.T, table string, _ *mapper.Mapper[kit.Account]) {
			for _, sk := range []string{"ENTRY#0003#note", "ENTRY#0009#note"} {
				kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S(sk), "x": kit.S("foreign")})
			}
		}},
		"patched": {was: bare, page: 3, parallel: func(t *testing.T, _ string, m *mapper.Mapper[kit.Account]) {
			for i := range 6 {
				kit.Must(handmade.Elements[kit.Account, kit.Part]{
					Node: handmade.Node(m.Key("1")),
					Item: 3,
				}.Add(kit.Part{N: i + 1, Text: "old"}).Exec(ctx, m))(t)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			table := testengine.Table(t, "PK:S", "SK:S")
			clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
			kit.Must(clean.Save(ctx, clean.New(x.was)))(t)
			if x.parallel != nil {
				x.parallel(t, table, clean)
			}
			tr := kit.SmallPages(x.page, 2, func() {
				kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
				kit.Must(clean.Save(ctx, clean.New(kit.Six("1", "new"))))(t)
			})
			m := kit.NewAccounts(t, table, tr, 1)
			got, err := query.Of[kit.Part](m.Key("1").Prefix("ENTRY#")).Filter(x.filter...).Collect(ctx, m,
				mapper.Strong())
			if err == nil && len(got) > 0 && (len(got) != 6 || got[0].Text != got[5].Text) {
				t.Errorf("torn: %v (%v)", got, tr.Log)
			}
		})
	}
}

type twolists struct {
	_    struct{}   `ddb:"table=twolists"`
	ID   string     `ddb:"pk=T#{ID}"`
	Name string     `ddb:"sk=HEAD"`
	Xs   []kit.Part `ddb:"sk=X#{N:04}"`
	Ws   []kit.Part `ddb:"sk=W#{N:04}"`
}

// Two ranges are merged: X# is read first, then W#, whose keys come first. Between the two the
// entity is deleted and inserted again.
func TestJoinTorn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, staged := range []bool{false, true} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.Must(mapper.New[twolists](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
		v := func(text string) twolists {
			return twolists{
				ID: "1", Name: text, Xs: []kit.Part{{N: 1, Text: text}, {N: 2, Text: text}},
				Ws: []kit.Part{{N: 1, Text: text}, {N: 2, Text: text}},
			}
		}
		kit.Must(clean.Save(ctx, clean.New(v("old"))))(t)
		tr := kit.AtRequest("Query", 2, func() {
			kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
			kit.Must(clean.Save(ctx, clean.New(v("new")), stagedIf(staged)...))(t)
		})
		m := kit.Must(mapper.New[twolists](kit.Client(t, tr, 1), mapper.Table(table)))(t)
		k := m.Key("1")
		got, err := query.Of[kit.Part](query.Join(k.Prefix("X#"), k.Prefix("W#"))).Collect(ctx, m, mapper.Strong())
		if err == nil && len(got) > 0 && (got[0].Text != got[len(got)-1].Text || len(got) != 4) {
			t.Errorf("staged %v: torn: %v (%v)", staged, got, tr.Log)
		}
	}
}

// The same where the range that is read first held nothing of the old entity.
func TestJoinTornEmpty(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[twolists](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(clean.Save(ctx, clean.New(twolists{ID: "1", Name: "old"})))(t)
	tr := kit.AtRequest("Query", 2, func() {
		kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
		kit.Must(clean.Save(ctx, clean.New(twolists{
			ID: "1", Name: "new", Xs: []kit.Part{{N: 1, Text: "x"}},
			Ws: []kit.Part{{N: 1, Text: "w"}},
		})))(t)
	})
	m := kit.Must(mapper.New[twolists](kit.Client(t, tr, 1), mapper.Table(table)))(t)
	k := m.Key("1")
	got, err := query.Of[kit.Part](query.Join(k.Prefix("X#"), k.Prefix("W#"))).Collect(ctx, m, mapper.Strong())
	if err == nil && len(got) == 1 {
		t.Errorf("torn: %v (%v)", got, tr.Log)
	}
}

type diary struct {
	_    struct{} `ddb:"table=diaries"`
	ID   string   `ddb:"pk=D#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Days []happen `ddb:"sk=E#{At:date}#{N:02}"`
}

type happen struct {
	At time.Time
	N  int
}

// A query by a time range, with a limit, reads leftover items of a deleted entity over two pages.
// Without other writers that is no error.
func TestLimitForever(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[diary](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	at := time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)
	kit.Must(clean.Save(ctx, clean.New(diary{ID: "1", Name: "a"})))(t)
	late := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
	for i := range 6 {
		late.Value.Days = append(late.Value.Days, happen{at.Add(time.Duration(i%2) * 12 * time.Hour), i + 1})
	}
	kit.Must(clean.Save(ctx, late, mapper.Blind()))(t) // left over
	m := kit.Must(mapper.New[diary](kit.Client(t, kit.SmallPages(3, -1, nil), 1), mapper.Table(table)))(t)
	sel := door.Query.Spec(unsafe.Pointer(m.Key("1").Prefix("E#2024-01-02#")))
	sel.Parts = slices.Clone(sel.Parts)
	sel.Parts[0].Keep = &selection.Filter{Item: 1, Source: 0, KeyField: -1, From: selection.At(at.Add(time.Hour))}
	node := new(query.Node[diary])
	door.Query.Set(unsafe.Pointer(node), sel)
	for range 3 {
		if _, err := query.Of[happen](node).Limit(2).Collect(ctx, m,
			mapper.Strong()); err != nil {
			t.Errorf("nobody else is there: %v", err)
		}
	}
}

// A query for entities in reverse, over pages. A page ends at an item that matches no template;
// before the next the order is inserted, half of it behind the page.
func TestEntitiesReverse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[models.Order](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.NewForeign(t, table).Put(kit.Item{
		"PK": kit.S("CUSTOMER#c"), "SK": kit.S("ORDER#000009#zzz"),
		"x": kit.S("foreign"),
	})
	kit.NewForeign(t, table).Put(kit.Item{
		"PK": kit.S("CUSTOMER#c"), "SK": kit.S("ORDER#000001#LINE#001#note"),
		"x": kit.S("foreign"),
	})
	kit.NewForeign(t, table).Put(kit.Item{
		"PK": kit.S("CUSTOMER#c"), "SK": kit.S("ORDER#000000#zzz"),
		"x": kit.S("foreign"),
	})
	tr := kit.SmallPages(2, 2, func() {
		kit.Must(clean.Save(ctx,
			clean.New(models.Order{Customer: "c", N: 1, Status: "x", Lines: []models.Line{{Line: 1}, {Line: 2}}})))(t)
	})
	m := kit.Must(mapper.New[models.Order](kit.Client(t, tr, 1), mapper.Table(table)))(t)
	got, err := query.Of[models.Order](m.Key("c")).Reverse().Collect(ctx, m, mapper.Strong())
	if err == nil && len(got) > 0 && len(got[0].Lines) != 2 {
		t.Errorf("torn: %+v", got)
	}
}

// A count with a limit finds out what a slice does.
func TestCountAtLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	v := kit.Six("1", "old")
	v.Entries = v.Entries[:3]
	kit.Must(clean.Save(ctx, clean.New(v)))(t)
	m := kit.NewAccounts(t, table, kit.SmallPages(3, 3, func() { // query, root, query
		kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
		node := handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(clean.Key("1")), Item: 3}
		kit.Must(node.Add(kit.Part{N: 5, Text: "new"}).And(node.Add(kit.Part{N: 6, Text: "new"})).Exec(ctx, clean))(t)
	}), 1)
	q := query.Of[kit.Part](m.Key("1").Prefix("ENTRY#")).Limit(4)
	n, err := q.Count(ctx, m, mapper.Strong())
	if err == nil && n != 3 && n != 2 {
		t.Errorf("counted %d, of 3 and then 2", n)
	}
}

// Queries over pages, with limits, read leftover items of an entity: that is never an error.
func TestStableQueries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	seed := draws.Seed(t)
	for kind := range 4 {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.LeaveEntries(t, clean, kit.Six("1", "dead").Entries...)
		switch kind {
		case 1:
			kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
		case 2:
			kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("1")})
		case 3:
			kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2, Left: "x"}), mapper.Staged()))(t)
			kit.Must(handmade.Elements[kit.Account, kit.Part]{
				Node: handmade.Node(clean.Key("1")),
				Item: 3,
			}.Add(kit.Part{N: 9, Text: "live"}).Exec(ctx, clean))(t)
		}
		for _, drawn := range draws.Some(seed+uint64(kind), 7*8*2, draws.Times(24, draws.All, draws.All)) {
			page, limit, reverse := 1+drawn/16, drawn/2%8, drawn%2 == 1
			m := kit.NewAccounts(t, table, kit.SmallPages(page, -1, nil), 1)
			q := query.Of[kit.Part](m.Key("1").Prefix("ENTRY#"))
			if limit > 0 {
				q = q.Limit(limit)
			}
			if reverse {
				q = q.Reverse()
			}
			if got, err := q.Collect(ctx, m, mapper.Strong()); err != nil {
				t.Errorf("%d: page %d limit %d: %v %v", kind, page, limit, got, err)
			}
		}
	}
}

// A staged delete has died after its mark: no item of the entity exists any more, and no element that
// patches had added.
func TestPatchedElementsOfADeletedEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, st := range []bool{false, true} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Six("1", "a")), stagedIf(st)...))(t)
		kit.Must(handmade.Elements[kit.Account, kit.Part]{
			Node: handmade.Node(clean.Key("1")),
			Item: 3,
		}.Add(kit.Part{N: 7, Text: "patched"}).Exec(ctx, clean))(t)
		c := &kit.Crash{Left: 2} // read all, mark
		dying := kit.NewAccounts(t, table, c.Transport(), 1)
		_, err := dying.DeleteByKey(ctx, dying.Key("1"), mapper.Staged())
		if kit.Stored(t, clean, "1") != nil {
			t.Fatal(err)
		}
		m := kit.NewAccounts(t, table, kit.SmallPages(3, -1, nil), 1)
		got, err := query.Of[kit.Part](m.Key("1").Prefix("ENTRY#")).Collect(ctx, m, mapper.Strong())
		if err == nil && len(got) != 0 && len(got) != 7 {
			t.Errorf("staged %v: a part of it: %v", st, got)
		}
		e, err := clean.Load(ctx, clean.Key("1").Prefix("ENTRY#"), mapper.Strong())
		if err == nil && len(e.Value.Entries) != 0 && len(e.Value.Entries) != 7 {
			t.Errorf("staged %v: load of a part: a part of it: %v", st, e.Value.Entries)
		}
	}
}

// Elements that patches have added without an entity are read over pages. Between two pages the entity
// is inserted, with an element of its own, and then a patch adds another element. A reader that sees
// the latter also sees the entity's own element, or gets an error.
func TestQueryOfWhatIsInserted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for at := 1; at <= 8; at++ {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		node := handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(clean.Key("1")), Item: 3}
		for n := range 4 {
			kit.Must(node.Add(kit.Part{N: n + 1, Text: "bare"}).Exec(ctx, clean, mapper.Blind()))(t)
		}
		m := kit.NewAccounts(t, table, kit.SmallPages(2, at, func() {
			kit.Must(clean.Save(ctx,
				clean.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 5, Text: "own"}}})))(t)
			kit.Must(node.Add(kit.Part{N: 6, Text: "late"}).Exec(ctx, clean))(t)
		}), 1)
		got, err := query.Of[kit.Part](m.Key("1").Prefix("ENTRY#")).Collect(ctx, m, mapper.Strong())
		has := func(n int) bool { return slices.ContainsFunc(got, func(e kit.Part) bool { return e.N == n }) }
		if err == nil && has(6) && !has(5) {
			t.Errorf("at %d: 6 was added after 5 was there: %v", at, got)
		}
	}
}
