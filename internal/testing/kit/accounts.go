package kit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Version returns a version of an entity that differs from others.
func Version(id string, n int) Account {
	a := Account{ID: id, Counter: n, Left: fmt.Sprint("v", n), Right: fmt.Sprint("v", n)}
	for i := range 4 {
		a.Entries = append(a.Entries, Part{i*(n+1) + 1, fmt.Sprint("v", n)})
	}
	return a
}

// ItemsOf counts the stored items under an account's partition key.
func ItemsOf(t *testing.T, table, id string) int {
	t.Helper()
	out, err := testengine.Start(t).Client().Query(context.Background(), QueryAll(table, "ACCOUNT#"+id))
	if err != nil {
		t.Fatal(err)
	}
	return int(out.Count)
}

// AccountOptions compare accounts.
var AccountOptions = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Account{}, "_")}

// NewAccounts returns a mapper on a table.
func NewAccounts(t testing.TB, table string, f *Faulty, attempts int) *mapper.Mapper[Account] {
	t.Helper()
	m, err := mapper.New[Account](Client(t, f, attempts), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Stored loads a stored account, nil for none.
func Stored(t testing.TB, m *mapper.Mapper[Account], id string) *Account {
	t.Helper()
	e, err := m.Load(context.Background(), m.Key(id), mapper.Strong())
	if errors.Is(err, mapper.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &e.Value
}

// Same compares accounts except for their IDs.
func Same(a, b *Account) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.ID, y.ID = "", ""
	return cmp.Equal(x, y, AccountOptions)
}

// LeaveEntries leaves leftover items of an account 1 that is deleted: a writer that had loaded it adds
// them afterwards.
func LeaveEntries(t *testing.T, m *mapper.Mapper[Account], entries ...Part) {
	t.Helper()
	ctx := context.Background()
	Must(m.Save(ctx, m.New(Account{ID: "1", Counter: 1})))(t)
	late := Must(m.Load(ctx, m.Key("1")))(t)
	Must(m.DeleteByKey(ctx, m.Key("1")))(t)
	late.Value.Entries = entries
	Must(m.Save(ctx, late, mapper.Blind()))(t)
}

// Account is the model of the tests about failures: a counter that shows lost
// and doubled changes, and two items that a torn change would leave unlike.
type Account struct {
	_       struct{}        `ddb:"table=accounts"`
	ID      string          `ddb:"pk=ACCOUNT#{ID}"`
	Counter int             `ddb:"sk=HEAD"`
	Left    string          `ddb:"sk=LEFT"`
	Right   string          `ddb:"sk=RIGHT"`
	Entries []Part          `ddb:"sk=ENTRY#{N:04}"`
	Flags   map[string]bool `ddb:"sk=FLAG#{key}"`
}

// Six is an account of six entries.
func Six(id, text string) Account {
	v := Account{ID: id, Counter: 1}
	for i := range 6 {
		v.Entries = append(v.Entries, Part{i + 1, text})
	}
	return v
}

// Claimed leaves the pending root item of a staged insert, and returns a transport that has another
// writer change it before each request that would take it over.
func Claimed(t *testing.T, table string) *Faulty {
	t.Helper()
	c := &Crash{Left: 1}
	dying := NewAccounts(t, table, c.Transport(), 1)
	_, _ = dying.Save(context.Background(), dying.New(Account{ID: "1", Counter: 1, Entries: []Part{{1, "a"}}}),
		mapper.Staged())
	r := NewForeign(t, table)
	var n atomic.Int64
	return &Faulty{At: -1, Late: func(q *http.Request) bool {
		if op := OperationOf(q); op == "TransactWriteItems" || op == "PutItem" {
			r.Set("ACCOUNT#1", "HEAD", "_v", S(fmt.Sprint("other", n.Add(1))))
		}
		return false
	}}
}
