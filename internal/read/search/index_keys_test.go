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

// New refuses what DynamoDB would refuse at CreateTable. It also refuses a key of an index that is made of more than
// the keys of its item hold: a part that is loaded, or patched, would not know it.
func TestIndexIsRefusedByNew(t *testing.T) {
	t.Parallel()
	type spaced struct {
		_     struct{} `ddb:"table=refuseds"`
		_     struct{} `ddb:"index=by owner,pk={Owner}"`
		ID    string   `ddb:"pk=A#{ID}"`
		Owner string   `ddb:"sk=HEAD"`
	}
	type twice struct {
		_     struct{}    `ddb:"table=refuseds"`
		_     struct{}    `ddb:"index=byA,hash=X,range=XS,pk={N},sk={S}"`
		_     struct{}    `ddb:"index=byB,hash=X,range=YS,pk=T#{By},sk=L,on=Lines"`
		ID    string      `ddb:"pk=A#{ID}"`
		N     int         `ddb:"sk=HEAD"`
		S     string      `ddb:"sk=HEAD"`
		Lines []lossyLine `ddb:"sk=T#{No:04}"`
	}
	client := testengine.Start(t).Client()
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"an index name with a space": {kit.Err(mapper.New[spaced](client)), []string{
			`the index name "by owner" contains " "`,
		}},
		"one key attribute as a number and as text": {kit.Err(mapper.New[twice](client)), []string{
			`the attribute "X" is a key of type S in the index byB, and of type N in another key`,
		}},
		"fields that are not loaded": {kit.Err(mapper.New[lossyDay](client)), []string{
			"the keys of Detail hold the field as {At:date} only, but the index needs {At:millis}: write " +
				"{At:date}, or name a field of Detail",
			"the keys of Lines hold the field as {At:date} only",
		}},
	} {
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%s: %v", name, c.err)
			}
		}
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

// An entity is in an index if its key has a value. A prefix of "" selects everything after the values before it, and
// nothing else. Times before 1970 are in the order of time. A zero time leaves the key out, also where the key is an
// attribute as it is.
func TestIndexSelectsByStoredKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old := time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
	names := []texty{
		{ID: "0", Kind: "a", Name: "n0", Due: kit.Monday},
		{ID: "1", Kind: "a", Name: "n1", Due: kit.Monday},
		{ID: "2", Kind: "b", Name: "n2", Due: kit.Monday},
	}
	times := []texty{{ID: "1", Kind: "a", Name: "n", Due: old}, {ID: "2", Kind: "a", Name: "n", Due: kit.Monday}}
	for _, c := range []struct {
		name     string
		stored   []texty
		selected func(m *mapper.Mapper[texty]) query.Selection[texty]
		want     int
	}{
		{
			"values select what begins with them", names,
			func(m *mapper.Mapper[texty]) query.Selection[texty] { return m.Index("byName", "a") }, 2,
		},
		{
			"a prefix selects what begins with it", names,
			func(m *mapper.Mapper[texty]) query.Selection[texty] { return m.Index("byName", "a").BeginsWith("n") }, 2,
		},
		{
			"an empty prefix selects all after the values", names,
			func(m *mapper.Mapper[texty]) query.Selection[texty] { return m.Index("byName", "a").BeginsWith("") }, 2,
		},
		{
			"a time before 1970 is in the index", times,
			func(m *mapper.Mapper[texty]) query.Selection[texty] { return m.Index("byDue") }, 2,
		},
		{
			"a time before 1970 is in a range", times,
			func(m *mapper.Mapper[texty]) query.Selection[texty] { return m.Index("byDue").AtMost(kit.Monday) }, 2,
		},
		{
			"a zero time leaves the key out",
			[]texty{{ID: "1", Kind: "a", Name: "n"}},
			func(m *mapper.Mapper[texty]) query.Selection[texty] { return m.Index("byDue") }, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := kit.Indexed[texty](t, nil)
			for _, v := range c.stored {
				kit.Must(m.Save(ctx, m.New(v)))(t)
			}
			if n := kit.Must(query.Of[texty](c.selected(m)).Count(ctx, m))(t); n != c.want {
				t.Errorf("%d, want %d; the keys of byDue are %v", n, c.want, storedIn(t, m, "Due"))
			}
		})
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

// sharing has two indexes whose key attribute has one name, each declared on one kind of item.
type sharing struct {
	_     struct{}    `ddb:"table=sharings"`
	_     struct{}    `ddb:"index=byOwner,hash=X,pk=O#{Owner}"`
	_     struct{}    `ddb:"index=byLine,hash=X,range=XS,pk=L#{By},sk={No:04},on=Lines"`
	ID    string      `ddb:"pk=A#{ID}"`
	Owner string      `ddb:"sk=HEAD"`
	Lines []lossyLine `ddb:"sk=T#{No:04}"`
}

// inverse has an index of the table's keys, which all items have, declared on one kind alone.
type inverse struct {
	_     struct{}    `ddb:"table=inverses"`
	_     struct{}    `ddb:"index=inverse,hash=SK,range=PK"`
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
	lines := []lossyLine{{1, "bob"}, {2, "eve"}}
	t.Run("its key attribute has the name of another index's", func(t *testing.T) {
		chargedAsPlanned(t, sharing{ID: "1", Owner: "ann", Lines: lines})
	})
	t.Run("the index has the keys of the table", func(t *testing.T) {
		chargedAsPlanned(t, inverse{ID: "1", Owner: "ann", Lines: lines})
	})
}

func chargedAsPlanned[T any](t *testing.T, v T) {
	t.Helper()
	client := testengine.Start(t).Client()
	m, err := mapper.New[T](client,
		mapper.Tables(func(n string) string { return fmt.Sprintf("%s-%d", n, time.Now().UnixNano()) }))
	if err != nil {
		return // it is refused, as it may be
	}
	kit.Must(client.CreateTable(context.Background(), tables.Of(m)[0].Create))(t)
	e := m.New(v)
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
