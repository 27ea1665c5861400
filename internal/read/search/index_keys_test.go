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
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// storedIn returns an attribute of all items of the table, by their sort keys.
func storedIn[T any](t *testing.T, m *mapper.Mapper[T], name string) map[string]string {
	t.Helper()
	out := kit.Must(testengine.Start(t).Client().Scan(context.Background(),
		&dynamodb.ScanInput{TableName: aws.String(tables.Of(m)[0].Name), ConsistentRead: aws.Bool(true)}))(t)
	all := map[string]string{}
	for _, x := range out.Items {
		sk := x["SK"].(*types.AttributeValueMemberS).Value
		switch v := x[name].(type) {
		case *types.AttributeValueMemberS:
			all[sk] = v.Value
		case *types.AttributeValueMemberN:
			all[sk] = v.Value
		}
	}
	return all
}

type lossyLine struct {
	No int
	By string
}

// lossyDay is known by a day and an id; the instant is stored on its root.
type lossyDay struct {
	_      struct{}  `ddb:"table=lossydays"`
	_      struct{}  `ddb:"index=byAt,hash=D,range=DS,pk=ALL,sk={At:millis},on=DETAIL"`
	_      struct{}  `ddb:"index=byLine,hash=L,range=LS,pk=B#{By},sk={^At:millis},on=Lines"`
	_      struct{}  `ddb:"index=byState,hash=S,range=SS,pk=S#{State},sk={At:millis}"`
	At     time.Time `ddb:"pk=DAY#{At:date}#{ID}"`
	ID     string
	State  string      `ddb:"sk=HEAD"`
	Detail string      `ddb:"sk=DETAIL"`
	Lines  []lossyLine `ddb:"sk=LINE#{No:04}"`
}

// A key of an index that is made of more than the keys of its item hold is refused: a part that is
// loaded, or patched, would not know it.
func TestIndexKeyOfUnloadedFieldsIsRefused(t *testing.T) {
	t.Parallel()
	_, err := mapper.New[lossyDay](testengine.Start(t).Client())
	want := "the keys of Detail hold the field as {At:date} only, but the index needs {At:millis}: write " +
		"{At:date}, or name a field of Detail"
	if err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "the keys of Lines hold the field as {At:date} only") {
		t.Error(err)
	}
}

// counted has a key of an index that is made of a number alone, on an item that patches may make.
type counted struct {
	_     struct{} `ddb:"table=counteds"`
	_     struct{} `ddb:"index=byCount,hash=C,range=CS,pk=ALL,sk={Count:010},on=STATS"`
	ID    string   `ddb:"pk=COUNTED#{ID}"`
	Name  string   `ddb:"sk=HEAD"`
	Count int      `ddb:"sk=STATS"`
	Note  string   `ddb:"sk=STATS"`
}

var countedFields = struct {
	Note  *field.String[*counted, string]
	Count *field.Number[*counted, int]
}{
	handmade.String("Note", "", func(x *counted) *string { return &x.Note }),
	handmade.Number("Count", "", func(x *counted) *int { return &x.Count }),
}

// A patch of another field does not put an item that was stored before the index was declared into it
// under the key of zero.
func TestPatchLeavesItemOutOfNewIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type before struct {
		_     struct{} `ddb:"table=counteds"`
		ID    string   `ddb:"pk=COUNTED#{ID}"`
		Name  string   `ddb:"sk=HEAD"`
		Count int      `ddb:"sk=STATS"`
		Note  string   `ddb:"sk=STATS"`
	}
	m := kit.Indexed[counted](t, nil)
	old := kit.Must(mapper.New[before](testengine.Start(t).Client(), mapper.Table(tables.Of(m)[0].Name)))(t)
	kit.Must(old.Save(ctx, old.New(before{ID: "1", Name: "n", Count: 5, Note: "x"})))(t)
	p := mapperimpl.Item[counted, counted](m.Key("1").Item("STATS"), 1).Patch(countedFields.Note.Set("y")).And()
	kit.Must(p.Exec(ctx, m))(t)
	if got := storedIn(t, m, "CS")["STATS"]; got != "" && got != "0000000005" {
		t.Errorf("the item with the count 5 has the key %q", got)
	}
}

// texty is a model with several indexes: the values that an index's key may have.
type texty struct {
	_    struct{}  `ddb:"table=textys"`
	_    struct{}  `ddb:"index=byName,hash=G,range=GS,pk=ALL,sk=K#{Kind}#{Name:raw}"`
	_    struct{}  `ddb:"index=byWord,pk={Word}"`
	_    struct{}  `ddb:"index=bySort,hash=H,range=Sort,pk=ALL,sk={Sort}"`
	_    struct{}  `ddb:"index=byDue,hash=H,range=Due,pk=ALL,sk={Due:unix}"`
	ID   string    `ddb:"pk=TEXTY#{ID}"`
	Kind string    `ddb:"sk=HEAD"`
	Name string    `ddb:"sk=HEAD"`
	Word string    `ddb:"sk=HEAD"`
	Sort string    `ddb:"sk=HEAD"`
	Due  time.Time `ddb:"sk=HEAD" dynamodbav:",unixtime"`
}

var textyFields = struct{ Word, Sort, Name *field.String[*texty, string] }{
	handmade.String("Word", "", func(x *texty) *string { return &x.Word }),
	handmade.String("Sort", "", func(x *texty) *string { return &x.Sort }),
	handmade.String("Name", "", func(x *texty) *string { return &x.Name }),
}

// A prefix of "" selects everything after the given values, and nothing else.
func TestIndexPrefixOfNoText(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[texty](t, nil)
	for i, kind := range []string{"a", "a", "b"} {
		kit.Must(m.Save(ctx, m.New(texty{ID: fmt.Sprint(i), Kind: kind, Name: fmt.Sprint("n", i), Due: kit.Monday})))(t)
	}
	for name, s := range map[string]query.Selection[texty]{
		"given":          m.Index("byName", "a"),
		"begins":         m.Index("byName", "a").BeginsWith("n"),
		"begins nothing": m.Index("byName", "a").BeginsWith(""),
	} {
		if n := kit.Must(query.Of[texty](s).Count(ctx, m))(t); n != 2 {
			t.Errorf("%s: %d, want 2", name, n)
		}
	}
}

// A text that is too long for a key is refused before it is sent, whichever way it is written.
func TestIndexKeyTooLongIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[texty](t, nil)
	e := m.New(texty{ID: "1", Kind: "a", Name: "n", Due: kit.Monday})
	kit.Must(m.Save(ctx, e))(t)
	long := strings.Repeat("x", 1025)
	node := mapperimpl.Item[texty, texty](m.Key("1").Item("HEAD"), 0)
	_, set := node.Patch(textyFields.Sort.Set(long)).Plan(m)
	_, ifAbsent := node.Patch(textyFields.Sort.SetIfAbsent(long)).Plan(m)
	if set == nil || ifAbsent == nil {
		t.Errorf("Set: %v; SetIfAbsent: %v", set, ifAbsent)
	}
	if _, err := node.Patch(textyFields.Sort.SetIfAbsent(long)).Exec(ctx, m); err != nil &&
		strings.Contains(err.Error(), "ValidationException") {
		t.Error(err)
	}
}

// Times before 1970 are in an index by epoch seconds, and in its ranges.
func TestIndexKeyBefore1970(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[texty](t, nil)
	kit.Must(m.Save(ctx, m.New(texty{
		ID: "1", Kind: "a", Name: "n",
		Due: time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC),
	})))(t)
	kit.Must(m.Save(ctx, m.New(texty{ID: "2", Kind: "a", Name: "n", Due: kit.Monday})))(t)
	all := kit.Must(query.Of[texty](m.Index("byDue")).Count(ctx, m))(t)
	most := kit.Must(query.Of[texty](m.Index("byDue").AtMost(kit.Monday)).Count(ctx, m))(t)
	if all != most {
		t.Errorf("%d in the index, %d up to the last", all, most)
	}
}

// A zero time leaves the key out, also where it is an attribute as it is.
func TestIndexKeyOfZeroTimeIsLeftOut(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[texty](t, nil)
	kit.Must(m.Save(ctx, m.New(texty{ID: "1", Kind: "a", Name: "n"})))(t)
	if n := kit.Must(query.Of[texty](m.Index("byDue")).Count(ctx, m))(t); n != 0 {
		t.Errorf("%d with the key %q", n, storedIn(t, m, "Due")["HEAD"])
	}
}

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

// inverted has an index of the table's own keys, the other way round.
type inverted struct {
	_    struct{} `ddb:"table=inverteds"`
	_    struct{} `ddb:"index=inverse,hash=SK,range=PK,on=NOTE,project=keys"`
	ID   string   `ddb:"pk=INV#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Note string   `ddb:"sk=NOTE"`
}

// A patch that may make an item may make its entry in an index of the table's keys.
func TestPatchMakesEntryInIndexOfTableKeys(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	ctx := context.Background()
	m := kit.Indexed[inverted](t, nil)
	kit.Must(m.Save(ctx, m.New(inverted{ID: "1", Name: "n"})))(t)
	note := handmade.String("Note", "", func(x *inverted) *string { return &x.Note })
	p := mapperimpl.Item[inverted, inverted](m.Key("1").Item("NOTE"), 1).Patch(note.Set("x")).And()
	plan := kit.Must(p.Plan(m))(t)
	r := kit.Must(p.Exec(ctx, m))(t)
	for name, got := range r.Consumed.Indexes {
		if !plan.Indexes[name].Contains(got) || !r.Predicted().Indexes[name].Contains(got) {
			t.Errorf("%s took %v, planned %v, predicted %v", name, got, plan.Indexes[name], r.Predicted().Indexes[name])
		}
	}
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

// mixed has an index key that consists of a field that a patch sets and of one of which the primary key
// has only a part.
type mixed struct {
	_     struct{}  `ddb:"table=mixeds"`
	_     struct{}  `ddb:"index=byState,hash=S,range=SS,pk=ALL,sk={State}#{At:millis}"`
	At    time.Time `ddb:"pk=DAY#{At:date}#{ID}"`
	ID    string
	State string      `ddb:"sk=HEAD"`
	Lines []lossyLine `ddb:"sk=LINE#{No:04}"`
}

// A patch by a key with a day does not create index keys with the first instant of the day.
func TestPatchByCoarseKeyMakesNoIndexKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[mixed](t, nil)
	kit.Must(m.Save(ctx, m.New(mixed{At: kit.Monday, ID: "1", State: "open"})))(t)
	midnight := kit.Monday.Truncate(24 * time.Hour)
	state := handmade.String("State", "", func(x *mixed) *string { return &x.State })
	p := mapperimpl.Item[mixed, mixed](m.Key(midnight, "1").Item("HEAD"), 0).Patch(state.Set("closed")).And()
	if _, err := p.Exec(ctx, m); err != nil {
		t.Log(err) // a refusal would do
	}
	if got := storedIn(t, m, "SS")["HEAD"]; !strings.HasSuffix(got, "T08:00:00.000Z") {
		t.Errorf("HEAD has the key %q, and the instant %q is stored", got, storedIn(t, m, "At")["HEAD"])
	}
}

// refusedOrCreated reports how a model ends that is mapped, and its table created.
func refusedOrCreated[T any](t *testing.T, what string) {
	t.Helper()
	client := testengine.Start(t).Client()
	m, err := mapper.New[T](client,
		mapper.Tables(func(n string) string { return fmt.Sprintf("%s-%d", n, time.Now().UnixNano()) }))
	if err != nil {
		return // it is refused, as it should be
	}
	_, err = client.CreateTable(context.Background(), tables.Of(m)[0].Create)
	t.Errorf("%s is not refused by New; CreateTable: %v", what, err)
}

// What DynamoDB would refuse at CreateTable is refused by New.
func TestIndexThatDynamoDBRefusesIsRefused(t *testing.T) {
	t.Parallel()
	type name struct {
		_     struct{} `ddb:"table=refuseds"`
		_     struct{} `ddb:"index=by owner,pk={Owner}"`
		ID    string   `ddb:"pk=A#{ID}"`
		Owner string   `ddb:"sk=HEAD"`
	}
	refusedOrCreated[name](t, "an index name with a space")
	type types struct {
		_     struct{}    `ddb:"table=refuseds"`
		_     struct{}    `ddb:"index=byA,hash=X,range=XS,pk={N},sk={S}"`
		_     struct{}    `ddb:"index=byB,hash=X,range=YS,pk=T#{By},sk=L,on=Lines"`
		ID    string      `ddb:"pk=A#{ID}"`
		N     int         `ddb:"sk=HEAD"`
		S     string      `ddb:"sk=HEAD"`
		Lines []lossyLine `ddb:"sk=T#{No:04}"`
	}
	refusedOrCreated[types](t, "one key attribute as a number and as a text")
}

// sharing has two indexes whose key attribute has one name, each declared on one kind of item.
type sharing struct {
	_     struct{}    `ddb:"table=sharings"`
	_     struct{}    `ddb:"index=byOwner,hash=X,pk=O#{Owner}"`
	_     struct{}    `ddb:"index=byLine,hash=X,range=XS,pk=L#{By},sk={No:04},on=Lines"`
	ID    string      `ddb:"pk=A#{ID}"`
	Owner string      `ddb:"sk=HEAD"`
	Lines []lossyLine `ddb:"sk=T#{No:04}"`
}

// An item in an index that is not declared on it is refused, or priced.
func TestItemInUndeclaredIndexIsRefusedOrPriced(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	chargedAsPlanned(t, func(m *mapper.Mapper[sharing]) *mapper.Entity[sharing] {
		return m.New(sharing{ID: "1", Owner: "ann", Lines: []lossyLine{{1, "bob"}, {2, "eve"}}})
	})
}

// inverse has an index of the table's keys, which all items have, declared on one kind alone.
type inverse struct {
	_     struct{}    `ddb:"table=inverses"`
	_     struct{}    `ddb:"index=inverse,hash=SK,range=PK"`
	ID    string      `ddb:"pk=A#{ID}"`
	Owner string      `ddb:"sk=HEAD"`
	Lines []lossyLine `ddb:"sk=T#{No:04}"`
}

func TestIndexKeysInverseOfTable(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	chargedAsPlanned(t, func(m *mapper.Mapper[inverse]) *mapper.Entity[inverse] {
		return m.New(inverse{ID: "1", Owner: "ann", Lines: []lossyLine{{1, "bob"}, {2, "eve"}}})
	})
}

func chargedAsPlanned[T any](t *testing.T, of func(*mapper.Mapper[T]) *mapper.Entity[T]) {
	t.Helper()
	client := testengine.Start(t).Client()
	m, err := mapper.New[T](client,
		mapper.Tables(func(n string) string { return fmt.Sprintf("%s-%d", n, time.Now().UnixNano()) }))
	if err != nil {
		return // it is refused, as it may be
	}
	kit.Must(client.CreateTable(context.Background(), tables.Of(m)[0].Create))(t)
	e := of(m)
	plan := kit.Must(m.PlanSave(e))(t)
	r := kit.Must(m.Save(context.Background(), e))(t)
	for name, got := range r.Consumed.Indexes {
		if !plan.Indexes[name].Contains(got) {
			t.Errorf("%s took %v, planned %v", name, got, plan.Indexes[name])
		}
	}
}

// A key attribute is not listed among the attributes that an index projects.
func TestIndexDoesNotProjectKeysTwice(t *testing.T) {
	t.Parallel()
	type listed struct {
		_     struct{} `ddb:"table=listeds"`
		_     struct{} `ddb:"index=byOwner,pk={Owner},project='Owner,State'"`
		ID    string   `ddb:"pk=A#{ID}"`
		Owner string   `ddb:"sk=HEAD"`
		State string   `ddb:"sk=HEAD"`
	}
	m := kit.Indexed[listed](t, nil)
	if all := tables.Of(m)[0].Create.GlobalSecondaryIndexes[0].Projection.NonKeyAttributes; slices.Contains(all,
		"Owner") {
		t.Errorf("NonKeyAttributes are %v, of an index on Owner", all)
	}
}

// A condition that compares a text which is a key of an index with nothing is refused: nothing is
// stored of it.
func TestConditionOnEmptyIndexKeyIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[texty](t, nil)
	kit.Must(m.Save(ctx, m.New(texty{ID: "1", Kind: "a", Name: "", Due: kit.Monday})))(t)
	node := mapperimpl.Item[texty, texty](m.Key("1").Item("HEAD"), 0)
	if _, err := node.Patch(textyFields.Sort.Set("x")).If(textyFields.Name.Equal("")).Exec(ctx, m); err != nil {
		t.Errorf("Name is no key of an index as it is: %v", err)
	}
	want := "since it is a key of the index byWord: use Absent"
	if _, err := node.Patch(textyFields.Sort.Set("y")).If(textyFields.Word.Equal("")).Exec(ctx, m); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("Word is: %v", err)
	}
	if _, err := query.Of[texty](m.Index("bySort")).Filter(textyFields.Word.Equal("")).Count(ctx, m); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("the filter: %v", err)
	}
	if _, err := node.Patch(textyFields.Sort.Set("y")).If(textyFields.Word.Absent()).Exec(ctx, m); err != nil {
		t.Error(err)
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
