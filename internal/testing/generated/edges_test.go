package generated

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// A flat model whose partition key holds a part of a time that the sort key holds in
// full: the partition is queried as a whole, and by ranges within.
func TestTimeInBothKeys(t *testing.T) {
	ctx := context.Background()
	m := newMapper[Happening](t)
	day := time.Date(2021, time.November, 14, 0, 0, 0, 0, time.UTC)
	for i, id := range []string{"a", "b", "c"} {
		must(m.Save(ctx, m.New(Happening{At: day.Add(time.Duration(9+i) * time.Hour), ID: id, Text: id})))(t)
	}
	ids := func(q *query.Query[Happening, Happening]) (out string) {
		for _, h := range must(q.Collect(ctx, m))(t) {
			out += h.ID
		}
		return out
	}
	for _, at := range []time.Time{day, day.Add(9 * time.Hour)} {
		q := HappeningByAt(at)
		for _, c := range []struct{ got, want string }{
			{ids(q.Query()), "abc"},
			{ids(q.Since(day.Add(10 * time.Hour)).Query()), "bc"},
			{ids(q.Hour(2021, time.November, 14, 10)), "b"},
			{ids(q.At(day.Add(11 * time.Hour)).Query()), "c"},
		} {
			if c.got != c.want {
				t.Errorf("%v: got %q, want %q", at, c.got, c.want)
			}
		}
	}
	e := must(m.Load(ctx, HappeningByAtID(day.Add(10*time.Hour), "b")))(t)
	if e.Value.Text != "b" {
		t.Errorf("%+v", e.Value)
	}
}

// A time that another placeholder follows without a delimiter; ranges whose ends are the
// zero time, or beyond what a key can hold; several ranges joined.
func TestEdgesOfRanges(t *testing.T) {
	ctx := context.Background()
	m := newMapper[Shelf](t)
	day := time.Date(2021, time.November, 14, 0, 0, 0, 0, time.UTC)
	must(m.Save(ctx, m.New(
		Shelf{
			ID: "1", Name: "n",
			Books: []Event{{day.Add(time.Hour), "x"}, {day.Add(2 * time.Hour), "y"}, {day.AddDate(0, 0, 1), "z"}},
		},
	)))(t)
	b := ShelfByID("1").Books()
	names := func(q *query.Query[Shelf, Event]) (out string) {
		for _, e := range must(q.Collect(ctx, m))(t) {
			out += e.K
		}
		return out
	}
	far := time.Date(9999, time.December, 31, 23, 0, 0, 0, time.UTC).In(time.FixedZone("", 5*3600))
	for i, c := range []struct{ got, want string }{
		{names(b.Day(2021, time.November, 14).Query()), "xy"},
		{names(b.Between(day, day.Add(90*time.Minute)).Query()), "x"},
		{names(b.Before(day.Add(90 * time.Minute)).Query()), "x"},
		{names(b.Since(day.Add(90 * time.Minute)).Query()), "yz"},
		{names(b.Between(day, time.Time{}).Query()), ""},
		{names(b.Between(time.Time{}, time.Time{}).Query()), ""},
		{names(b.Between(time.Time{}, far).Query()), "xyz"},
		{names(b.Since(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)).Query()), ""},
		{names(query.Of[Event](
			query.Join[Shelf](b.Between(day, day.Add(90*time.Minute)), b.Day(2021, time.November, 15)),
		)), "xz"},
	} {
		if c.got != c.want {
			t.Errorf("%d: got %q, want %q", i, c.got, c.want)
		}
	}
	if got := pages(t, m, b.Between(day, far).Query(), 1); len(got) != 3 {
		t.Errorf("%v", got)
	}
	logs, _ := newLog(t)
	if got := must(LogByID("1").Unix().Since(time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)).Count(ctx,
		logs))(t); got != len(instants()) {
		t.Errorf("%d since 1960", got)
	}
	if got := must(LogByID("1").Unix().Year(1960).Count(ctx, logs))(t); got != 0 {
		t.Errorf("%d in 1960", got)
	}
	tickets := newMapper[Ticket](t)
	if _, err := TicketByQueue("q").Filter(TicketFields.Title.Equal("x")).Collect(ctx, tickets); err == nil ||
		!strings.Contains(err.Error(), "an entity has several") {
		t.Errorf("%v", err)
	}
}

// A patch must not revive an expired item, make an unsigned number negative, or change one attribute in
// two ways. Items of an insert that never went live do not exist.
func TestEdgesOfPatches(t *testing.T) {
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	client := testengine.Start(t).Client()
	m := must(mapper.New[Shelf](client, mapper.Table(table)))(t)
	must(m.Save(ctx, m.New(
		Shelf{ID: "1", Name: "n", Level: 3, Session: &Session{"old", time.Now().Add(-time.Hour)}},
	)))(t)
	p, f := ShelfByID("1"), ShelfFields
	if _, err := p.Patch(f.Name.Set("n")).Upsert().Exec(ctx, m); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := p.Patch(f.Session.Set(Session{Token: "new"})).Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("an expired item was patched: %v", err)
	}
	var conflict *mapper.ConflictError
	if _, err := p.Patch(f.Level.Decrement(4)).Exec(ctx, m); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	must(p.Patch(f.Level.Decrement(3), f.Name.Set("a"), f.Name.Set("b")).Exec(ctx, m))(t)
	if e := must(m.Load(ctx, ShelfByID("1")))(t); e.Value.Name != "b" || e.Value.Level != 0 {
		t.Errorf("%+v", e.Value)
	}
	for name, p := range map[string]patch[Shelf]{
		"set, incremented": p.Patch(f.Level.Set(1), f.Level.Increment(1)),
	} {
		if r, err := p.Exec(ctx, m); err == nil || r.Predicted().Requests != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A part of an insert whose root never came, and one of the live entity.
	for id, live := range map[string]bool{"2": false, "3": true} {
		e := m.New(Shelf{ID: id, Name: "n", Notes: &Extra{1, "x"}})
		must(m.Save(ctx, e, mapper.Staged()))(t)
		if !live {
			_, err := client.DeleteItem(ctx,
				&dynamodb.DeleteItemInput{TableName: &table, Key: map[string]types.AttributeValue{
					"PK": &types.AttributeValueMemberS{Value: "SHELF#" + id},
					"SK": &types.AttributeValueMemberS{Value: "HEAD"},
				}})
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := ShelfByID(id).Patch(f.Notes.Set(Extra{2, "y"})).Exec(ctx, m)
		if live != (err == nil) || !live && !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("live %v: %v", live, err)
		}
	}
	if e := must(m.Load(ctx, ShelfByID("3")))(t); *e.Value.Notes != (Extra{2, "y"}) {
		t.Errorf("%+v", e.Value.Notes)
	}
	// An upsert of an entity whose key has a part of a time stores the time.
	happenings := newMapper[Happening](t)
	at := time.Date(2021, time.November, 14, 9, 30, 0, 0, time.UTC)
	must(HappeningByAtID(at, "x").Patch(HappeningFields.Text.Set("t")).Upsert().Exec(ctx, happenings))(t)
	if e := must(happenings.Load(ctx, HappeningByAtID(at, "x")))(t); !e.Value.At.Equal(at) {
		t.Errorf("%v", e.Value.At)
	}
}
