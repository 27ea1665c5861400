package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

type coarseLine struct {
	At   time.Time
	No   int
	By   string
	Word string
}

// coarse has keys of indexes with the day of a time that is stored to the nanosecond.
type coarse struct {
	_     struct{}     `ddb:"table=coarses"`
	_     struct{}     `ddb:"index=byDay,hash=G,range=GS,pk=ALL,sk={At:date}#{ID}"`
	_     struct{}     `ddb:"index=byDayList,hash=G,range=GS,pk=ALL,sk={At:date}#{ID},project='Name'"`
	_     struct{}     `ddb:"index=byBy,hash=By,range=SK,pk={By},on=Lines"`
	_     struct{}     `ddb:"index=byWordDay,hash=W,range=WS,pk=W#{Word},sk={At:date},on=Lines,project='By'"`
	ID    string       `ddb:"pk=COARSE#{ID}"`
	At    time.Time    `ddb:"sk=HEAD"`
	Name  string       `ddb:"sk=HEAD"`
	Lines []coarseLine `ddb:"sk=LINE#{At:date}#{No:04}"`
}

var coarseFields = struct {
	Name *field.String[*coarse, string]
	By   *field.String[*coarseLine, string]
}{
	handmade.String("Name", "", func(x *coarse) *string { return &x.Name }),
	handmade.String("By", "", func(x *coarseLine) *string { return &x.By }),
}

// Where a key holds less than the bounds say, the instant that is stored decides, whatever is asked.
func TestIndexRangeByStoredInstant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[coarse](t, nil)
	for i := range 4 {
		at := kit.Monday.Add(time.Duration(i) * time.Hour)
		kit.Must(m.Save(ctx,
			m.New(coarse{
				ID: fmt.Sprint(i), At: at, Name: "n",
				Lines: []coarseLine{{At: at, No: i, By: "bob", Word: "w"}},
			})))(t)
	}
	from, to := kit.Monday.Add(time.Hour), kit.Monday.Add(3*time.Hour) // which is not included
	count := func(name string, want int, f func() (int, error)) {
		t.Helper()
		if n, err := f(); n != want || err != nil {
			t.Errorf("%s: %d, want %d: %v", name, n, want, err)
		}
	}
	of := query.Of[coarse, coarse]
	lines := query.Of[coarseLine, coarse]
	sliceOf := func(q interface {
		Collect(context.Context, query.Source[coarse], ...query.ReadOption) ([]coarse, error)
	},
	) func() (int, error) {
		return func() (int, error) { x, err := q.Collect(ctx, m); return len(x), err }
	}
	linesOf := func(q *query.Query[coarse, coarseLine]) func() (int, error) {
		return func() (int, error) { x, err := q.Collect(ctx, m); return len(x), err }
	}
	day := m.Index("byDay").Between(from, to)
	count("slice", 2, sliceOf(of(day)))
	count("count", 2, func() (int, error) { return of(day).Count(ctx, m) })
	count("heads", 2, func() (int, error) { x, err := of(day).Roots().Collect(ctx, m); return len(x), err })
	count("heads count", 2, func() (int, error) { return of(day).Roots().Count(ctx, m) })
	list := m.Index("byDayList").Between(from, to)
	if _, err := of(list).Collect(ctx, m); err == nil || !strings.Contains(err.Error(), "does not project At of HEAD") {
		t.Error(err)
	}
	count("list slice", 2, sliceOf(of(list).Fetch()))
	count("list count", 2, func() (int, error) { return of(list).Fetch().Count(ctx, m) })
	count("list heads fetch", 2,
		func() (int, error) { x, err := of(list).Fetch().Roots().Collect(ctx, m); return len(x), err })
	count("list heads count", 2, func() (int, error) { return of(list).Fetch().Roots().Count(ctx, m) })
	by := m.Index("byBy", "bob").Between(from, to)
	count("lines by the table's sort key", 2, linesOf(lines(by)))
	count("lines by the table's sort key, counted", 2, func() (int, error) { return lines(by).Count(ctx, m) })
	words := m.Index("byWordDay", "w").Between(from, to)
	count("words", 2, linesOf(lines(words).Fetch()))
	count("words, fetched, counted", 2, func() (int, error) { return lines(words).Fetch().Count(ctx, m) })
	count("words, projected", 2, linesOf(lines(words).Project(coarseFields.By).Fetch()))
}

// ephemeral expires with its root.
type ephemeral struct {
	_     struct{}    `ddb:"table=ephemerals,ttl=exp"`
	_     struct{}    `ddb:"index=byBy,hash=G,pk=B#{By},on=Lines"`
	_     struct{}    `ddb:"index=byName,pk={Name}"`
	ID    string      `ddb:"pk=EPH#{ID}"`
	Name  string      `ddb:"sk=HEAD"`
	Exp   time.Time   `ddb:"sk=HEAD,ttl"`
	Lines []lossyLine `ddb:"sk=LINE#{No:04}"`
}

// No index query returns items of an expired entity.
func TestIndexHidesExpiredEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[ephemeral](t, nil)
	kit.Must(m.Save(ctx, m.New(
		ephemeral{ID: "1", Name: "n", Exp: time.Now().Add(-time.Hour), Lines: []lossyLine{{1, "bob"}}},
	)))(t)
	_, err := m.Load(ctx, m.Key("1"))
	n := kit.Must(query.Of[ephemeral](m.Index("byName", "n")).Count(ctx, m))(t)
	k := kit.Must(query.Of[lossyLine](m.Index("byBy", "bob")).Count(ctx, m))(t)
	if err == nil || n != 0 || k != 0 {
		t.Errorf("load: %v; %d entities and %d elements by index", err, n, k)
	}
}

// Pages of an index skip leftover items and items of others.
func TestIndexPagesSkipForeignItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[kit.Issue](t, nil)
	client := testengine.Start(t).Client()
	var want []string
	for i := range 40 {
		at := kit.Monday.Add(time.Duration(i) * time.Minute)
		if i%3 == 0 {
			kit.Must(m.Save(ctx,
				m.New(kit.IssueOf(fmt.Sprint(i), "open", "ann", at,
					kit.IssueText{At: at, By: "bob", Words: fmt.Sprint(i)}))))(t)
			want = append(want, fmt.Sprint(i))
			continue
		}
		text := at.Format("2006-01-02T15:04:05.000000000Z")
		s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
		x := map[string]types.AttributeValue{
			"PK": s(fmt.Sprint("TICKET#z", i)), "SK": s("TEXT#" + text), "By": s("bob"), "Author": s("BY#bob"),
			"AuthorAt": s(text), "_a": &types.AttributeValueMemberB{Value: []byte("0123456789abcdef")},
			"GSI1PK": s("STATE#open"), "GSI1SK": s(at.Format("2006-01-02T15:04:05.000Z")),
		}
		if i%3 == 2 {
			x["SK"] = s(fmt.Sprint("OTHER#", i))
		}
		kit.Must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tables.Of(m)[0].Name), Item: x}))(t)
	}
	for _, drawn := range draws.Some(draws.Seed(t), 12, draws.Times(4, draws.All, draws.All)) {
		limit, reverse := drawn/2, drawn%2 == 1
		var got, texts []string
		q, w := query.Of[kit.Issue, kit.Issue](m.Index("byState", "open")).Limit(limit),
			query.Of[kit.IssueText](m.Index("byAuthor", "bob")).Limit(limit)
		if reverse {
			q, w = q.Reverse(), w.Reverse()
		}
		for next := query.Cursor(""); ; {
			p := kit.Must(q.After(next).Page(ctx, m))(t)
			for _, x := range p.Items {
				got = append(got, x.ID)
			}
			if next = p.Next; next == "" {
				break
			}
		}
		for next := query.Cursor(""); ; {
			p := kit.Must(w.After(next).Page(ctx, m))(t)
			for _, x := range p.Items {
				texts = append(texts, x.Words)
			}
			if next = p.Next; next == "" {
				break
			}
		}
		if reverse {
			slices.Reverse(got)
			slices.Reverse(texts)
		}
		if !slices.Equal(got, want) || !slices.Equal(texts, want) {
			t.Errorf("limit %d, reverse %v: %v, %v, want %v", limit, reverse, got, texts, want)
		}
	}
}

// rootHead has its root in an item of its own, as a pointer.
type rootHead struct {
	State string
	N     int
}
type ownRoot struct {
	_    struct{}  `ddb:"table=apartroots"`
	_    struct{}  `ddb:"index=byState,hash=X,pk=S#{State}"`
	_    struct{}  `ddb:"index=byN,hash=Y,range=N,pk=ALL,sk={N}"`
	ID   string    `ddb:"pk=A#{ID}"`
	Head *rootHead `ddb:"sk=HEAD,root"`
	Note string    `ddb:"sk=NOTE"`
}

// A root that is a nil pointer has no keys of indexes, or zero ones, and is no panic.
func TestIndexOfNilRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[ownRoot](t, nil)
	e := m.New(ownRoot{ID: "1", Note: "x"})
	if _, err := m.Save(ctx, e); err != nil {
		t.Error(err)
	}
	e.Value.Head = &rootHead{"open", 3}
	if _, err := m.Save(ctx, e); err != nil {
		t.Error(err)
	}
	if n := kit.Must(query.Of[ownRoot, ownRoot](m.Index("byState", "open")).Count(ctx, m))(t); n != 1 {
		t.Error(n)
	}
	e.Value.Head = nil
	if _, err := m.Save(ctx, e); err != nil {
		t.Error(err)
	}
	if n := kit.Must(query.Of[ownRoot, ownRoot](m.Index("byState", "open")).Count(ctx, m))(t); n != 0 {
		t.Error(n)
	}
	t.Log(storedIn(t, m, "N"), storedIn(t, m, "Y"))
}
