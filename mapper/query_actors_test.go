package mapper_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/modeltest/models"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// meddling is somebody who deletes what is read over several pages, and may insert it again.
type meddling struct {
	page, at      int  // the size of the reader's pages, and the request before which it happens
	before        bool // what is read was put by a staged insert
	again, staged bool // it is inserted again, by a staged insert
}

func (x meddling) String() string {
	return fmt.Sprintf("%d-%d-%v-%v-%v", x.page, x.at, x.before, x.again, x.staged)
}

// eachMeddling calls f with all of them, up to a request.
func eachMeddling(last int, f func(meddling)) {
	for _, page := range []int{1, 3} {
		for at := 1; at <= last; at++ {
			for kind := range 6 {
				f(meddling{page, at, kind&1 == 1, kind > 1, kind > 3})
			}
		}
	}
}

func staging(yes bool) []mapper.WriteOption {
	if yes {
		return []mapper.WriteOption{mapper.Staged()}
	}
	return nil
}

// A load, over pages, of an entity that is deleted and inserted between any two of its requests
// is one of them, whole, or none.
func TestLoadsOfWhatIsInsertedAgain(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	account := func(id, text string) account {
		return account{ID: id, Counter: 1, Left: text, Right: text, Entries: []entry{{1, text}, {2, text}, {3, text}}, Flags: map[string]bool{"a": true}}
	}
	eachMeddling(6, func(x meddling) {
		id := x.String()
		was, is := account(id, "old"), account(id, "new")
		must(clean.Save(ctx, clean.New(was), staging(x.before)...))(t)
		reader := newAccounts(t, table, smallPages(x.page, x.at, func() {
			must(clean.Delete(ctx, clean.Key(id)))(t)
			if x.again {
				must(clean.Save(ctx, clean.New(is), staging(x.staged)...))(t)
			}
		}), 1)
		e, err := reader.Load(ctx, reader.Key(id))
		switch {
		case errors.Is(err, mapper.ErrNotFound):
		case err != nil, !same(&e.Value, &was) && !same(&e.Value, &is):
			t.Errorf("%s: %+v: %v", id, e, err)
		}
	})
}

// The same of a query for elements, which may also be an error that says what happened. One with
// a limit ends before the entity does.
func TestQueriesOfWhatIsInsertedAgain(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	account := func(id, text string) (v account) {
		v.ID, v.Counter = id, 1
		for i := range 6 {
			v.Entries = append(v.Entries, entry{i + 1, text})
		}
		return v
	}
	eachMeddling(7, func(x meddling) {
		for _, limit := range []int{0, 4} {
			id := fmt.Sprint(x, " ", limit)
			was, is := account(id, "old"), account(id, "new")
			must(clean.Save(ctx, clean.New(was), staging(x.before)...))(t)
			reader := newAccounts(t, table, smallPages(x.page, x.at, func() {
				must(clean.Delete(ctx, clean.Key(id)))(t)
				if x.again {
					must(clean.Save(ctx, clean.New(is), staging(x.staged)...))(t)
				}
			}), 1)
			q := query.Of[entry](reader.Key(id).Prefix("ENTRY#"))
			if limit > 0 {
				q = q.Limit(limit)
			}
			got, err := q.Slice(ctx, reader, mapper.Strong())
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
func TestEntitiesThatAreInsertedAgain(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := must(mapper.New[models.Order](client(t, &faulty{at: -1}, 1), mapper.Table(table)))(t)
	order := func(c string, n int, text string) models.Order {
		return models.Order{Customer: c, N: n, Status: text, Lines: []models.Line{{Line: 1, SKU: text}, {Line: 2, SKU: text}}}
	}
	eachMeddling(6, func(x meddling) {
		for _, reverse := range []bool{false, true} {
			c := fmt.Sprint(x, reverse)
			for n := 1; n <= 2; n++ {
				must(clean.Save(ctx, clean.New(order(c, n, "old")), staging(x.before)...))(t)
			}
			m := must(mapper.New[models.Order](client(t, smallPages(x.page, x.at, func() {
				for n := 1; n <= 2; n++ {
					must(clean.Delete(ctx, clean.Key(c, n)))(t)
					if x.again {
						must(clean.Save(ctx, clean.New(order(c, n, "new")), staging(x.staged)...))(t)
					}
				}
			}), 1), mapper.Table(table)))(t)
			q := query.Of[models.Order](m.Key(c))
			if reverse {
				q = q.Reverse()
			}
			for _, o := range must(q.Slice(ctx, m, mapper.Strong()))(t) {
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
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	v := account{ID: "1", Counter: 1}
	for i := range 6 {
		v.Entries = append(v.Entries, entry{i + 1, "x"})
	}
	must(clean.Save(ctx, clean.New(v), mapper.Staged()))(t)
	newRaw(t, table).set("ACCOUNT#1", "HEAD", "_s", m2(item{"state": s("live"), "since": n(fmt.Sprint(time.Now().Add(-time.Hour).Unix()))}))
	reader := newAccounts(t, table, smallPages(2, 3, func() {
		must(clean.Delete(ctx, clean.Key("1"), mapper.Staged()))(t)
	}), 1)
	got, err := query.Of[entry](reader.Key("1").Prefix("ENTRY#")).Slice(ctx, reader, mapper.Strong())
	if err == nil || !strings.Contains(err.Error(), "query again") {
		t.Errorf("part of the entity: %v, %v", got, err)
	}
}

// A query with a limit is read again, while a delete dies: what it yields are the first elements,
// or it is an error.
func TestQueryWithALimitReadAgain(t *testing.T) {
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	v := account{ID: "1", Counter: 1}
	for i := range 6 {
		v.Entries = append(v.Entries, entry{i + 1, "x"})
	}
	must(clean.Save(ctx, clean.New(v), mapper.Staged()))(t)
	reader := newAccounts(t, table, atRequest("Query", 2, func() {
		gone := 0
		dying := newAccounts(t, table, &faulty{at: -1, late: func(r *http.Request) bool {
			if operation(r) == "DeleteItem" {
				gone++
				return gone > 2
			}
			return false
		}}, 1)
		_, _ = dying.Delete(ctx, dying.Key("1"), mapper.Staged())
	}), 1)
	got, err := query.Of[entry](reader.Key("1").Prefix("ENTRY#")).Limit(4).Slice(ctx, reader, mapper.Strong())
	if err == nil && len(got) > 0 && !slices.Equal(got, v.Entries[:4]) {
		t.Errorf("not the first of the entity: %v", got)
	}
}
