package search_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// A load leaves out stored items that do not belong to the live entity. It counts items that match
// nothing, and does not find an entity whose root is not live.
func TestLoad(t *testing.T) {
	m := Of[Session](t)
	sel := m.Select([]any{"1"})
	root := Item("1", "HEAD", item.Attributes{"User": S("u"), "_v": B("v"), "_a": B("x")})
	load := func(sel selection.Selection, v *Session, answers ...Answer) (*snapshot.Snapshot, error) {
		return engine(m, &Client{Answers: answers}).Load(context.Background(), sel, v, read.Options{}, &write.Tally{})
	}
	var v Session
	s, err := load(sel, &v, Page("", root, Item("1", "OTHER", nil), Item("1", "STEP#001", of("x")),
		Item("1", "STEP#002", item.Attributes{"expires": N("5")}), Item("1", "STEP#003", of("y"))))
	if err != nil || v.ID != "1" || v.User != "u" || len(v.Steps) != 1 || s.Unknown != 1 || len(s.Hidden) != 0 {
		t.Errorf("%+v of %+v: %v", v, s, err)
	}
	if incarnation, exists := s.Incarnation(); !exists || Show(incarnation) != "b'x'" {
		t.Errorf("of the incarnation %v, %v", incarnation, exists)
	}
	for name, c := range map[string]struct {
		more item.Attributes
		want string
	}{
		"expired":  {item.Attributes{"expires": N("5")}, "it has expired"},
		"a claim":  {item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()}, "an insert that began at"},
		"a delete": {item.Attributes{"_s": item.NewStage(item.Deleting, Now).Value()}, "a delete that began at"},
	} {
		_, err := load(sel, new(Session), Page("", Item("1", "HEAD", c.more)))
		var missing *search.NotFound
		if !errors.As(err, &missing) || !strings.HasPrefix(missing.Pending, c.want) || missing.Name != `ID "1"` {
			t.Errorf("%s: %v", name, err)
		}
	}
	var missing *search.NotFound
	if _, err := load(sel, new(Session), Page("")); !errors.As(err, &missing) || missing.Pending != "" {
		t.Errorf("nothing: %v", err)
	}
	steps := ranged(m, "1", prefix("STEP#"))
	if _, err := load(steps, new(Session), Page("")); err != nil {
		t.Errorf("a part of nothing: %v", err)
	}
	s, err = load(steps, new(Session), Page("", Item("1", "STEP#001", marked("x"))), Stored(root), Page(""),
		Stored(root))
	if incarnation, exists := s.Incarnation(); err != nil || !exists || Show(incarnation) != "b'x'" {
		t.Errorf("a part whose root was read is of the incarnation %v, %v: %v", incarnation, exists, err)
	}
	if _, err := load(sel, new(Session), Failed("AccessDeniedException")); err == nil || errors.As(err, &missing) {
		t.Errorf("denied: %v", err)
	}
}

// Items that a load leaves out before its root do not affect those after it.
func TestLoadInFrontOfTheRoot(t *testing.T) {
	m := Of[Shop](t)
	for _, in := range []item.Attributes{Item("SHOP#1", "A", nil), Item("SHOP#1", "ADDRESS", of("y"))} {
		client := &Client{
			Answers: []Answer{Page("", in, Item("SHOP#1", "HEAD", live("x", false)), line("a", marked("x")),
				line("b", nil), line("c", marked("x")), line("d", marked("y")), line("e", of("x")))},
		}
		var v Shop
		s, err := engine(m, client).Load(context.Background(), m.Select([]any{"1"}), &v, read.Options{}, &write.Tally{})
		var got []string
		for _, l := range v.Lines {
			got = append(got, l.SKU)
		}
		if incarnation, _ := s.Incarnation(); err != nil || strings.Join(got, " ") != "a b c e" ||
			Show(incarnation) != "b'x'" {
			t.Errorf("%s: %v of %v: %v", Show(in["SK"]), got, incarnation, err)
		}
	}
}

// Tail is a model whose root sorts last.
type Tail struct {
	_     struct{} `ddb:"table=tails"`
	ID    string   `ddb:"pk={ID}"`
	Lines []Line   `ddb:"sk=LINE#{SKU}"`
	Name  string   `ddb:"sk=ROOT,root"`
}

// A root that sorts last is read first, by a backward query; the loaded items are still in their order.
func TestLoadBackwards(t *testing.T) {
	m := Of[Tail](t)
	client := &Client{Answers: []Answer{Page("", Item("1", "ROOT", nil), Item("1", "LINE#b", nil),
		Item("1", "LINE#a", nil))}}
	var v Tail
	_, err := engine(m, client).Load(context.Background(), m.Select([]any{"1"}), &v, read.Options{}, &write.Tally{})
	if in := client.Calls()[0].Input.(*dynamodb.QueryInput); err != nil || aws.ToBool(in.ScanIndexForward) ||
		in.ScanIndexForward == nil {
		t.Errorf("%v: %v", in.ScanIndexForward, err)
	}
	if len(v.Lines) != 2 || v.Lines[0].SKU != "a" {
		t.Errorf("%+v", v.Lines)
	}
}
