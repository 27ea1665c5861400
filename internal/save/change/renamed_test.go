package change_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

type sortedLines struct {
	_     struct{}   `ddb:"table=sorted"`
	ID    string     `ddb:"pk=S#{ID}"`
	Name  string     `ddb:"sk=HEAD"`
	Notes []kit.Part `ddb:"sk=NOTE#{N:03}"`
}

func (s *sortedLines) AfterLoad() {
	slices.SortFunc(s.Notes, func(a, b kit.Part) int { return b.N - a.N })
}

// AfterLoad may sort elements: a change of one is that of the one. (It was lost silently, since positions
// were of before.)
func TestAfterLoadMaySortElements(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[sortedLines](testengine.Start(t).Client(),
		mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(sortedLines{
		ID: "1", Name: "n",
		Notes: []kit.Part{{N: 1, Text: "a"}, {N: 2, Text: "b"}},
	})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	i := slices.IndexFunc(e.Value.Notes, func(n kit.Part) bool { return n.N == 1 })
	e.Value.Notes[i].Text = "b" // note 1 becomes what note 2 is
	kit.Must(m.Save(ctx, e))(t)
	e = kit.Must(m.Load(ctx, m.Key("1")))(t)
	i = slices.IndexFunc(e.Value.Notes, func(n kit.Part) bool { return n.N == 1 })
	if e.Value.Notes[i].Text != "b" {
		t.Errorf("the change was lost: %+v", e.Value.Notes)
	}
}

// AfterLoad that sets a field of a singleton that is not stored does not dirty it. (A change of the head
// put the seat as well.)
func TestAfterLoadDoesNotDirtyMissingFixedItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[kit.Filled](testengine.Start(t).Client(),
		mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(kit.Filled{ID: "1", Name: "n"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Name = "o"
	if p := kit.Must(m.PlanSave(e))(t); len(p.Items) != 1 {
		t.Errorf("a change of the head writes %d items:\n%s", len(p.Items), p)
	}
}

type opaqueFilled struct {
	_    struct{} `ddb:"table=filled"`
	ID   string   `ddb:"pk=F#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Any  any      `ddb:"sk=SEAT"`
	Row  string   `ddb:"sk=SEAT"`
}

func (f *opaqueFilled) AfterLoad() { f.Row = "none" }

// The same with an opaque attribute on the item. (A load alone dirtied it.)
func TestAfterLoadDoesNotDirtyOpaqueItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[opaqueFilled](testengine.Start(t).Client(),
		mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(opaqueFilled{ID: "1", Name: "n"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	if r := kit.Must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Errorf("a load has dirtied it: %v", r)
	}
}

type hookBase struct{ Calls int }

func (b *hookBase) AfterLoad() { b.Calls++ }

type hooked struct {
	_     struct{}   `ddb:"table=hooked"`
	ID    string     `ddb:"pk=H#{ID}"`
	Name  string     `ddb:"sk=HEAD"`
	In    hookIn     `ddb:"sk=IN"`
	Notes []hookNote `ddb:"sk=NOTE#{N:03}"`
}

type hookIn struct {
	hookBase
	Row string
}
type hookNote struct {
	hookBase
	N     int
	Inner hookInner
}
type hookInner struct {
	hookBase
	A string
}

// AfterLoad that an embedded struct promotes runs once.
func TestPromotedAfterLoadRunsOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, err := mapper.New[hooked](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")))
	if err != nil {
		t.Fatal(err)
	}
	kit.Must(m.Save(ctx, m.New(hooked{ID: "1", Name: "n", In: hookIn{Row: "1"}, Notes: []hookNote{{N: 1}}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	if e.Value.In.Calls != 1 || e.Value.Notes[0].Calls != 1 || e.Value.Notes[0].Inner.Calls != 1 {
		t.Errorf("%+v", e.Value)
	}
}

type rekey struct {
	_     struct{}    `ddb:"table=rekey"`
	ID    string      `ddb:"pk=S#{ID}"`
	Name  string      `ddb:"sk=HEAD"`
	Notes []rekeyNote `ddb:"sk=NOTE#{N:03}"`
}

type rekeyNote struct {
	N    int
	Text string
}

func (n *rekeyNote) AfterLoad() { n.N += 10 }

// AfterLoad of an element that changes a field of its key is refused. (It moved the element with the next
// change of any.)
func TestAfterLoadMustNotChangeElementKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[rekey](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(rekey{ID: "1", Name: "n", Notes: []rekeyNote{{1, "a"}, {2, "b"}}})))(t)
	if _, err := m.Load(ctx, m.Key("1")); err == nil || !strings.Contains(err.Error(), "which its key names") {
		t.Error(err)
	}
	_, err := query.Of[rekeyNote](m.Key("1").Prefix("NOTE#")).Collect(ctx, m)
	if err == nil || !strings.Contains(err.Error(), "which its key names") {
		t.Error("a query:", err)
	}
}

// SetIfAbsent moves an attribute to its new name, whatever it holds: the way to get rid of was=.
func TestSetIfAbsentMoves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Board](testengine.Start(t).Client(), mapper.Table(table)))(t)
	w := kit.NewForeign(t, table)
	for i, c := range []struct{ old, want string }{
		{"old-Text", "kept"},
		{"older-Text", "kept"},
		{"Text", "kept"},
		{"Left", ""},
	} {
		id := strconv.Itoa(i)
		kit.Must(m.Save(ctx, m.New(kit.Board{ID: id, Main: kit.Cells{Count: 1}})))(t)
		stored := w.Get("BOARD#"+id, "A")
		delete(stored, "Text")
		stored[c.old] = kit.S("kept")
		w.Put(stored)
		kit.Must(mapperimpl.Item[kit.Board, kit.Cells](handmade.Node(m.Key(id)),
			0).Patch(kit.CellFields.Text.SetIfAbsent("")).Exec(ctx,
			m))(t)
		now := w.Get("BOARD#"+id, "A")
		if text, ok := now["Text"].(*types.AttributeValueMemberS); !ok || text.Value != c.want ||
			now["old-Text"] != nil || now["older-Text"] != nil {
			t.Errorf("%s: %v", c.old, now)
		}
	}
}

type opaque struct {
	_   struct{} `ddb:"table=opaque"`
	ID  string   `ddb:"pk=O#{ID}"`
	N   int      `ddb:"sk=HEAD"`
	Any any      `ddb:"sk=HEAD,was=Old" dynamodbav:",omitempty"`
}

// An attribute of no known shape that was cleared under its old name can be set to what it was.
func TestRenamedOpaqueAttributeCanBeReset(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[opaque](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(opaque{ID: "1", N: 1})))(t)
	kit.NewForeign(t, table).Set("O#1", "HEAD", "Old", kit.S("x"))
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	for _, v := range []any{nil, "x"} {
		e.Value.Any = v
		kit.Must(m.Save(ctx, e))(t)
		if got := kit.Must(m.Load(ctx, m.Key("1")))(t).Value.Any; got != v {
			t.Errorf("%v is stored, want %v", got, v)
		}
	}
}

type fullName struct {
	_      struct{} `ddb:"table=names"`
	ID     string   `ddb:"pk=N#{ID}"`
	Visits int      `ddb:"sk=HEAD"`
	Full   string   `ddb:"sk=HEAD,was=Name" dynamodbav:",omitempty"`
	First  string   `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Last   string   `ddb:"sk=HEAD" dynamodbav:",omitempty"`
}

func (n *fullName) AfterLoad() {
	if n.Full != "" {
		n.First, n.Last, _ = strings.Cut(n.Full, " ")
		n.Full = ""
	}
}

// What AfterLoad makes other fields of is not removed under its old name before they are stored.
func TestAfterLoadKeepsRenamedAttributeUntilStored(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[fullName](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(fullName{ID: "1", Visits: 1})))(t)
	kit.NewForeign(t, table).Set("N#1", "HEAD", "Name", kit.S("Ada Lovelace"))
	for range 2 {
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		if e.Value.First != "Ada" || e.Value.Last != "Lovelace" {
			t.Fatalf("%+v", e.Value)
		}
		e.Value.Visits++
		kit.Must(m.Save(ctx, e))(t)
	}
}

// A projection of an attribute that several kinds of items hold asks for its old name once; an old
// name is refused in a filter.
func TestProjectionAsksForOldNameOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type note struct {
		N    int
		Body string `ddb:"was=Text"`
	}
	type notes struct {
		_       struct{} `ddb:"table=notes"`
		ID      string   `ddb:"pk=L#{ID}"`
		Name    string   `ddb:"sk=HEAD"`
		Public  []note   `ddb:"sk=L#PUB#{N:03}"`
		Private []note   `ddb:"sk=L#PRIV#{N:03}"`
	}
	m := kit.Must(mapper.New[notes](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(notes{ID: "1", Public: []note{{1, "a"}}, Private: []note{{1, "b"}}})))(t)
	q := query.Of[note](m.Key("1").Prefix("L#"))
	if got := kit.Must(q.Project(field.Named[note]("Body")).Collect(ctx, m))(t); len(got) != 2 || got[0].Body != "b" {
		t.Errorf("%+v", got)
	}
	_, err := q.Filter(field.Raw[note](expression.Name("Text").Equal(expression.Value("a")))).Collect(ctx, m)
	if err == nil || !strings.Contains(err.Error(), `the attribute "Text", which is now "Body"`) {
		t.Errorf("a filter by an old name: %v", err)
	}
}

// Without versions, clearing an attribute under its old name compares the new one as well.
func TestClearOfRenamedAttributeWithoutVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type clears struct {
		_    struct{} `ddb:"table=clears,noversion"`
		ID   string   `ddb:"pk=C#{ID}"`
		N    int      `ddb:"sk=HEAD"`
		Full string   `ddb:"sk=HEAD,was=Name" dynamodbav:",omitempty"`
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[clears](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(clears{ID: "1", N: 1})))(t)
	w := kit.NewForeign(t, table)
	w.Set("C#1", "HEAD", "Name", kit.S("Ada"))
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	w.Set("C#1", "HEAD", "Full", kit.S("Zed"))
	e.Value.Full = ""
	var conflict *mapper.ConflictError
	if _, err := m.Save(ctx, e); !errors.As(err, &conflict) {
		t.Errorf("%v, and %+v is stored", err, kit.Must(m.Load(ctx, m.Key("1")))(t).Value)
	}
}
