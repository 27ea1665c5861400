package operation_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// hooked is an entity that other programs have stored, with the calls of its saves.
type hooked[T any] struct {
	*kit.Foreign
	*kit.Faulty
	m *mapper.Mapper[T]
	e *mapper.Entity[T]
}

// loadHooked stores items of the entity 1, and loads it.
func loadHooked[T any](t *testing.T, items ...kit.Item) *hooked[T] {
	t.Helper()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	h := &hooked[T]{Foreign: kit.NewForeign(t, table), Faulty: &kit.Faulty{At: -1}}
	for _, it := range items {
		it["PK"], it["_a"] = kit.S("N#1"), kit.S("a")
		h.Put(it)
	}
	h.m = kit.Must(mapper.New[T](kit.Client(t, h.Faulty, 1), mapper.Table(table)))(t)
	h.e = kit.Must(h.m.Load(ctx, h.m.Key("1")))(t)
	return h
}

// save saves a change, and requires the calls, if any are given.
func (h *hooked[T]) save(change func(*T), calls ...string) {
	h.Helper()
	change(&h.e.Value)
	h.Log = nil
	if _, err := h.m.Save(request.WithoutPauses(context.Background()), h.e, mapper.Move()); err != nil {
		h.Fatal(err)
	}
	if calls != nil && !slices.Equal(h.Log, calls[1:]) {
		h.Errorf("the calls are %v, want %v", h.Log, calls[1:])
	}
}

// has requires attributes of an item; nil is none.
func (h *hooked[T]) has(pk, sk string, want kit.Item) {
	h.Helper()
	got := h.Get(pk, sk)
	for name, v := range want {
		if (v == nil) != (got[name] == nil) || v != nil && !attr.Same(v, got[name]) {
			h.Errorf("%s %s: %s is stored as %v, want %v", pk, sk, name, got[name], v)
		}
	}
}

// twoNames has an attribute with a former name.
type twoNames struct {
	_     struct{} `ddb:"table=notes"`
	ID    string   `ddb:"pk=N#{ID}"`
	Count int      `ddb:"sk=HEAD"`
	Big   string   `ddb:"sk=HEAD"`
	Now   string   `ddb:"sk=HEAD,was='Old,Older'"`
}

// Law 2: if a value is stored under its present name and under former names, a put near the limit keeps it.
func TestPutKeepsValueThatIsStoredUnderTwoNames(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, big} {
		for _, names := range []string{"Now Old", "Now Old Older", "Old Older", "Older"} {
			it := kit.Item{"SK": kit.S("HEAD"), "_v": kit.S("v"), "Big": kit.S(strings.Repeat("b", size))}
			for _, name := range strings.Fields(names) {
				it[name] = kit.S(name)
			}
			h := loadHooked[twoNames](t, it)
			h.save(func(v *twoNames) { v.Count++ })
			h.has("N#1", "HEAD", kit.Item{"Now": kit.S(strings.Fields(names)[0]), "Old": nil, "Older": nil})
		}
	}
}

// partB does not know all of what is stored.
type partB struct{ B string }

// bareParts has no versions.
type bareParts struct {
	_   struct{} `ddb:"table=notes,noversion"`
	ID  string   `ddb:"pk=N#{ID}"`
	Now []partB  `ddb:"sk=HEAD,was=Old"`
}

// Law 2: a change of a value under a former name keeps its unknown parts, also without versions.
func TestChangeUnderFormerNameKeepsUnknownParts(t *testing.T) {
	t.Parallel()
	part := func(b string) types.AttributeValue { return kit.L(kit.M(kit.Item{"B": kit.S(b), "U": kit.S("u")})) }
	for _, id := range []string{"1", "2"} {
		h := loadHooked[bareParts](t, kit.Item{"SK": kit.S("HEAD"), "Old": part("b")})
		h.save(func(v *bareParts) { v.ID, v.Now[0].B = id, "x" })
		h.has("N#"+id, "HEAD", kit.Item{"Now": part("x"), "Old": nil})
	}
}

// emptiedSide has items whose fields AfterLoad empties.
type emptiedSide struct {
	_     struct{} `ddb:"table=notes"`
	ID    string   `ddb:"pk=N#{ID}"`
	Count int      `ddb:"sk=HEAD"`
	Note  string   `ddb:"sk=NOTE"`
	Extra string   `ddb:"sk=NOTE"`
	Side  *partB   `ddb:"sk=SIDE"`
}

func (s *emptiedSide) AfterLoad() { s.Note, s.Side = "", nil }

// Law 2: an item stays if AfterLoad has emptied its fields: in a move, and if the program clears its last other field.
func TestItemsStayWhoseFieldsAfterLoadHasEmptied(t *testing.T) {
	t.Parallel()
	for _, unknown := range []types.AttributeValue{nil, kit.S("u")} {
		note := kit.Item{"SK": kit.S("NOTE"), "_v": kit.S("v"), "Note": kit.S("n"), "Extra": kit.S("x")}
		if unknown != nil {
			note["U"] = unknown
		}
		h := loadHooked[emptiedSide](t, kit.Item{"SK": kit.S("HEAD"), "_v": kit.S("v")}, note,
			kit.Item{"SK": kit.S("SIDE"), "_v": kit.S("v"), "B": kit.S("b")})
		h.save(func(v *emptiedSide) { v.Extra = "" }, "", "UpdateItem")
		h.has("N#1", "NOTE", kit.Item{"Note": kit.S("n"), "U": unknown})
		h.save(func(v *emptiedSide) { v.ID = "2" })
		h.has("N#2", "NOTE", kit.Item{"Note": kit.S("n"), "U": unknown})
		h.has("N#2", "SIDE", kit.Item{"B": kit.S("b")})
		h.save(func(v *emptiedSide) { v.Extra = "y" }, "", "UpdateItem")
		h.has("N#2", "NOTE", kit.Item{"Note": kit.S("n"), "Extra": kit.S("y")})
	}
}

// A singleton that the program itself empties is deleted.
func TestItemsAreDeletedThatTheProgramEmpties(t *testing.T) {
	t.Parallel()
	h := loadHooked[emptiedSide](t, kit.Item{"SK": kit.S("HEAD"), "_v": kit.S("v")},
		kit.Item{"SK": kit.S("NOTE"), "_v": kit.S("v"), "Extra": kit.S("x")})
	h.save(func(v *emptiedSide) { v.Extra = "" }, "", "DeleteItem")
}

type (
	// texts has external values.
	texts struct {
		_     struct{}          `ddb:"table=notes"`
		ID    string            `ddb:"pk=N#{ID}"`
		Count int               `ddb:"sk=HEAD"`
		Big   string            `ddb:"sk=HEAD"`
		Body  map[string]string `ddb:"sk=HEAD,chunk,inline=1000" dynamodbav:",omitempty"`
		Side  map[string]string `ddb:"sk=SIDE,chunk,inline=1000" dynamodbav:",omitempty"`
	}
	// changedTexts is texts with an AfterLoad: it empties two of them, and sets one.
	changedTexts struct {
		_     struct{}          `ddb:"table=notes"`
		ID    string            `ddb:"pk=N#{ID}"`
		Count int               `ddb:"sk=HEAD"`
		Big   string            `ddb:"sk=HEAD"`
		Body  map[string]string `ddb:"sk=HEAD,chunk,inline=1000" dynamodbav:",omitempty"`
		Side  map[string]string `ddb:"sk=SIDE,chunk,inline=1000" dynamodbav:",omitempty"`
		More  map[string]string `ddb:"sk=HEAD,chunk,inline=1000"`
	}
)

func (c *changedTexts) AfterLoad() { c.Body, c.Side, c.More = nil, nil, map[string]string{"a": "set"} }

// Law 2: saves neither remove an external value that AfterLoad has emptied, nor store one that it has set.
func TestSavesKeepExternalValuesThatAfterLoadHasEmptied(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, size := range []int{10, big} {
		for _, n := range []int{100, 5000} {
			it := kit.Item{"SK": kit.S("HEAD"), "_v": kit.S("v"), "Big": kit.S(strings.Repeat("b", size))}
			h := loadHooked[texts](t, it)
			text := map[string]string{"a": strings.Repeat("x", n)}
			h.save(func(v *texts) { v.Body, v.Side = text, text })
			m := kit.Must(mapper.New[changedTexts](kit.Client(t, h.Faulty, 1), mapper.Table(h.Table)))(t)
			e := kit.Must(m.Load(ctx, m.Key("1")))(t)
			h.Log = nil
			for range 3 {
				e.Value.Count++
				kit.Must(m.Save(ctx, e))(t)
			}
			got := kit.Must(h.m.Load(ctx, h.m.Key("1"), mapper.Strong()))(t).Value
			if got.Count != 3 || len(got.Body["a"]) != n || len(got.Side["a"]) != n {
				t.Errorf("%d, %d: body %d, side %d", size, n, len(got.Body["a"]), len(got.Side["a"]))
			}
			h.has("N#1", "HEAD", kit.Item{"More": nil})
			// what the program sets and clears is stored and removed
			for _, v := range []map[string]string{{"a": "b"}, nil} {
				e.Value.Body = v
				kit.Must(m.Save(ctx, e))(t)
				if got := kit.Must(h.m.Load(ctx, h.m.Key("1"), mapper.Strong()))(t).Value.Body; got["a"] != v["a"] {
					t.Errorf("%d, %d: the body is %v, want %v", size, n, got, v)
				}
			}
		}
	}
}

// ownText has an encoding of its own.
type ownText struct{ s string }

func (c ownText) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return kit.S("own:" + c.s), nil
}

func (c *ownText) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	c.s = strings.TrimPrefix(kit.Text(v), "own:")
	return nil
}

type (
	changedOwn struct {
		_ struct{} `ddb:"table=notes"`
		OwnFields
	}
	bareOwn struct {
		_ struct{} `ddb:"table=notes,noversion"`
		OwnFields
	}
	// OwnFields are compared by their encodings. AfterLoad changes all of them, and sets New, which is not stored.
	OwnFields struct {
		ID    string   `ddb:"pk=N#{ID}"`
		Count int      `ddb:"sk=HEAD"`
		Big   string   `ddb:"sk=HEAD"`
		Text  ownText  `ddb:"sk=HEAD"`
		Left  *ownText `ddb:"sk=HEAD" dynamodbav:",omitempty"`
		Now   ownText  `ddb:"sk=HEAD,was=Old"`
		Any   any      `ddb:"sk=HEAD"`
		New   *ownText `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	}
)

func (o *OwnFields) AfterLoad() {
	o.Text, o.Left, o.Now, o.Any, o.New = ownText{"set"}, nil, ownText{"set"}, "set", &ownText{"set"}
}

// Law 2: each save of an entity keeps stored values of types with own methods whose fields AfterLoad has changed.
func TestSavesKeepOpaqueValuesThatAfterLoadHasChanged(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, big} {
		for _, moves := range []bool{false, true} {
			keepsOpaque(t, size, moves, kit.S("v"), func(v *changedOwn) *OwnFields { return &v.OwnFields })
			keepsOpaque(t, size, moves, nil, func(v *bareOwn) *OwnFields { return &v.OwnFields })
		}
	}
}

func keepsOpaque[T any](t *testing.T, size int, moves bool, version types.AttributeValue, fields func(*T) *OwnFields) {
	t.Helper()
	it := kit.Item{
		"SK": kit.S("HEAD"), "Big": kit.S(strings.Repeat("b", size)), "Text": kit.S("own:t"), "Left": kit.S("own:l"),
		"Old": kit.S("own:n"), "Any": kit.N("1"),
	}
	if version != nil {
		it["_v"] = version
	}
	h := loadHooked[T](t, it)
	want := kit.Item{"Text": it["Text"], "Left": it["Left"], "Now": it["Old"], "Any": it["Any"], "New": nil}
	for i := range 3 {
		h.save(func(v *T) {
			if fields(v).Count++; moves && i != 1 {
				fields(v).ID += "1"
			}
		})
		h.has("N#"+fields(&h.e.Value).ID, "HEAD", want)
		h.save(func(*T) {}, "")
	}
	h.save(func(v *T) { fields(v).Text, fields(v).Left = ownText{"x"}, &ownText{"y"} })
	want["Text"], want["Left"] = kit.S("own:x"), kit.S("own:y")
	h.has("N#"+fields(&h.e.Value).ID, "HEAD", want)
	h.save(func(v *T) { fields(v).Text, fields(v).Left = ownText{"set"}, nil })
	want["Text"], want["Left"] = kit.S("own:set"), nil
	h.has("N#"+fields(&h.e.Value).ID, "HEAD", want)
}

// unexpiring has an AfterLoad that empties the expiry.
type unexpiring struct {
	_       struct{}      `ddb:"table=notes,ttl=TTL"`
	ID      string        `ddb:"pk=N#{ID}"`
	Count   int           `ddb:"sk=HEAD"`
	Expires time.Time     `ddb:"sk=HEAD,ttl,all"`
	Lines   []expiredLine `ddb:"sk=LINE#{N:02}"`
}

type expiredLine struct {
	N    int
	Text string
}

func (u *unexpiring) AfterLoad() { u.Expires = time.Time{} }

// Law 2: new items expire with the stored root item, whatever AfterLoad has made of the field.
func TestNewItemsExpireWithTheStoredRoot(t *testing.T) {
	t.Parallel()
	at, next := kit.N("4000000000"), kit.N("4100000000")
	h := loadHooked[unexpiring](t,
		kit.Item{"SK": kit.S("HEAD"), "_v": kit.S("v"), "Expires": kit.S("2096-10-02T07:06:40Z"), "TTL": at})
	h.save(func(v *unexpiring) { v.Lines = append(v.Lines, expiredLine{1, "a"}) })
	h.save(func(v *unexpiring) { v.Count++; v.Lines = append(v.Lines, expiredLine{2, "b"}) })
	for _, sk := range []string{"HEAD", "LINE#01", "LINE#02"} {
		h.has("N#1", sk, kit.Item{"TTL": at})
	}
	h.save(func(v *unexpiring) { v.Expires = time.Unix(4100000000, 0) })
	h.save(func(v *unexpiring) { v.Lines = append(v.Lines, expiredLine{3, "c"}) })
	for _, sk := range []string{"HEAD", "LINE#01", "LINE#02", "LINE#03"} {
		h.has("N#1", sk, kit.Item{"TTL": next})
	}
}
