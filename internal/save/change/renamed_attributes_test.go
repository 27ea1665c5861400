package change_test

import (
	"context"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// memberBefore is a model as it was; memberNow has attributes renamed, and new fields that hooks
// complete.
type memberBefore struct {
	_      struct{}   `ddb:"table=members"`
	ID     string     `ddb:"pk=MEMBER#{ID}"`
	Name   string     `ddb:"sk=HEAD"`
	Visits int        `ddb:"sk=HEAD"`
	Notes  []kit.Part `ddb:"sk=NOTE#{N:03}"`
}

type memberNow struct {
	_        struct{}  `ddb:"table=members"`
	ID       string    `ddb:"pk=MEMBER#{ID}"`
	FullName string    `ddb:"sk=HEAD,was=Name"`
	Visits   int       `ddb:"sk=HEAD"`
	Greeting string    `ddb:"sk=HEAD"`
	Seat     seat      `ddb:"sk=SEAT"`
	Notes    []noteNow `ddb:"sk=NOTE#{N:03}"`
}

type noteNow struct {
	N    int
	Body string `ddb:"was=Text"`
	Kind string
	Mark mark
}

type seat struct{ Row, Kind string }

type mark struct {
	Color string
	Shade string
}

func (m *memberNow) AfterLoad() { m.Greeting = "Hello, " + m.FullName }
func (n *noteNow) AfterLoad()   { n.Kind = "note" }
func (s *seat) AfterLoad()      { s.Kind = "seat" }
func (m *mark) AfterLoad()      { m.Shade = "dark " + m.Color }

var noteNowBody = handmade.String("Body", "", func(n *noteNow) *string { return &n.Body })

func members2(t *testing.T) (*mapper.Mapper[memberBefore], *mapper.Mapper[memberNow], *kit.Foreign) {
	t.Helper()
	table := testengine.Table(t, "PK:S", "SK:S")
	client := testengine.Start(t).Client()
	return kit.Must(mapper.New[memberBefore](client, mapper.Table(table)))(t),
		kit.Must(mapper.New[memberNow](client, mapper.Table(table)))(t), kit.NewForeign(t, table)
}

// A renamed attribute is read under its old name (was=), by loads, queries and projections. A load
// dirties nothing; the next write of an item, a save or a patch, renames what it holds.
func TestRenamedAttributes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	before, now, w := members2(t)
	kit.Must(before.Save(ctx,
		before.New(memberBefore{
			ID: "1", Name: "Ada", Visits: 3,
			Notes: []kit.Part{{N: 1, Text: "one"}, {N: 2, Text: "two"}},
		})))(t)
	node := handmade.Node(now.Key("1"))
	notes := query.Of[noteNow](now.Key("1").Prefix("NOTE#"))
	for _, q := range []*query.Query[memberNow, noteNow]{notes, notes.Project(noteNowBody)} {
		got := kit.Must(q.Collect(ctx, now))(t)
		if len(got) != 2 || got[0].Body != "one" || got[1].Body != "two" {
			t.Errorf("%+v", got)
		}
	}
	if _, err := notes.Filter(noteNowBody.Equal("one")).Collect(ctx, now); err == nil ||
		!strings.Contains(err.Error(), "filter in the application until was= is removed") {
		t.Error("a filter on it:", err)
	}
	note := func(n int) *mapper.ItemNode[memberNow, *noteNow] {
		return mapperimpl.Element[memberNow, noteNow](mapperimpl.Next(mapperimpl.Items(node, 2, 1), 2,
			mapperimpl.IntValue(n)), 2)
	}
	if _, err := note(1).Patch(noteNowBody.Set("x")).If(noteNowBody.Equal("one")).Exec(ctx, now); err == nil ||
		!strings.Contains(err.Error(), "use Update, or leave the condition out until was= is removed") {
		t.Error("a condition on it:", err)
	}
	kit.Must(note(1).Patch(noteNowBody.SetIfAbsent("never")).Exec(ctx, now))(t)
	e := kit.Must(now.Load(ctx, now.Key("1")))(t)
	if v := e.Value; v.FullName != "Ada" || v.Notes[0].Body != "one" || v.Notes[1].Body != "two" {
		t.Errorf("%+v", v)
	}
	if r := kit.Must(now.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Error("a load has dirtied it:", r)
	}
	e.Value.Visits++
	kit.Must(now.Save(ctx, e))(t)
	for sk, names := range map[string][2]string{
		"HEAD": {"FullName", "Name"}, "NOTE#001": {"Body", "Text"},
		"NOTE#002": {"Text", "Body"},
	} {
		if it := w.Get("MEMBER#1", sk); it[names[0]] == nil || it[names[1]] != nil {
			t.Errorf("%s: %v", sk, it)
		}
	}
	e.Value.Notes[1].Kind = "other"
	plan := kit.Must(now.PlanSave(e))(t)
	if text := plan.String(); !strings.Contains(text, "Body") || !strings.Contains(text, "Text") {
		t.Error(text)
	}
	kit.Must(now.Save(ctx, e))(t)
	if it := w.Get("MEMBER#1", "NOTE#002"); it["Text"] != nil || it["Body"] == nil {
		t.Error(it)
	}
}

// AfterLoad runs on each decoded struct, inner ones first, before the snapshot is taken: it
// completes new fields of old items, and dirties nothing.
func TestAfterLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, now, w := members2(t)
	v := memberNow{
		ID: "1", FullName: "Ada", Seat: seat{Row: "4"},
		Notes: []noteNow{{N: 1, Body: "one", Mark: mark{Color: "red"}}},
	}
	kit.Must(now.Save(ctx, now.New(v)))(t)
	e := kit.Must(now.Load(ctx, now.Key("1")))(t)
	g := e.Value
	if g.Greeting != "Hello, Ada" || g.Seat.Kind != "seat" || g.Notes[0].Kind != "note" ||
		g.Notes[0].Mark.Shade != "dark red" {
		t.Errorf("%+v", g)
	}
	if r := kit.Must(now.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Error("a load has dirtied it:", r)
	}
	e.Value.Notes[0].Body = "two"
	kit.Must(now.Save(ctx, e))(t)
	if it := w.Get("MEMBER#1", "HEAD"); it["Greeting"] == nil {
		t.Error(it)
	}
	d := kit.Must(now.Decode(w.Get("MEMBER#1", "NOTE#001")))(t)
	if d.Value.Notes[0].Kind != "note" {
		t.Errorf("%+v", d.Value)
	}
}
