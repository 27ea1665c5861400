package change_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A save never overwrites a value of a program without this library that it has not seen.
func TestSaveNeverOverwritesForeignChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	raw := kit.NewForeign(t, table)
	foreign := func(sk, name string, v types.AttributeValue) { raw.Set("FOREIGN#1", sk, name, v) }
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
			raw.Set("BOARD#1", "A", name, kit.S("in "+name))
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
