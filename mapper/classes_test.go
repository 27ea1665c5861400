package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// classes are the errors of docs/errors.md.
var classes = map[string]func(error) bool{
	"throttled":    func(err error) bool { return errors.As(err, new(*mapper.ThrottledError)) },
	"sdk":          func(err error) bool { return errors.As(err, new(*smithy.OperationError)) },
	"context":      func(err error) bool { return errors.Is(err, context.Canceled) },
	"unknown":      func(err error) bool { return errors.As(err, new(*mapper.OutcomeUnknownError)) },
	"partial":      func(err error) bool { return errors.As(err, new(*mapper.PartialError)) },
	"conflict":     func(err error) bool { return errors.As(err, new(*mapper.ConflictError)) },
	"changed":      func(err error) bool { return errors.Is(err, large.ErrChanged) },
	"not found":    func(err error) bool { return errors.Is(err, mapper.ErrNotFound) },
	"exists":       func(err error) bool { return errors.Is(err, mapper.ErrExists) },
	"value":        func(err error) bool { return errors.As(err, new(*mapper.ValueError)) },
	"too large":    func(err error) bool { return errors.As(err, new(*mapper.TooLargeError)) },
	"cursor":       func(err error) bool { return errors.Is(err, query.ErrCursor) },
	"stored value": func(err error) bool { return errors.As(err, new(*mapper.StoredValueError)) },
	"corrupt":      func(err error) bool { return errors.Is(err, large.ErrCorrupt) },
	"usage":        func(err error) bool { return errors.Is(err, mapper.ErrUsage) },
	"transaction":  func(err error) bool { return errors.Is(err, mapper.ErrTransactionTooLarge) },
	"not loaded":   func(err error) bool { return errors.As(err, new(*mapper.NotLoadedError)) },
}

type faultyModel struct {
	ID string `ddb:"pk={Nothing}"`
}

// Each error belongs to one class of docs/errors.md.
func TestErrorsBelongToOneClass(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGarage(t, nil)
	client := testengine.Start(t).Client()
	name, _, err := g.drivers.RootKey(g.drivers.Key("a"))
	if err != nil {
		t.Fatal(err)
	}
	first := g.drivers.New(driver{ID: "a", Name: "a", Count: 1, Open: map[string]openRun{"x": {"f", "t"}}})
	kit.Must(g.drivers.Save(ctx, first))(t)
	stale := kit.Must(g.drivers.Load(ctx, g.drivers.Key("a"), mapper.Strong()))(t)
	first.Value.Name = "b"
	kit.Must(g.drivers.Save(ctx, first))(t)
	part := kit.Must(g.drivers.Load(ctx, g.drivers.Key("a").Item("COUNT")))(t)
	kit.Must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "PURSE#bad"}, "SK": &types.AttributeValueMemberS{Value: "PURSE"},
		"Amount": &types.AttributeValueMemberS{Value: "text"},
	}}))(t)
	elsewhere := kit.Must(mapper.New[driver](client, mapper.Table("no-such-table")))(t)
	var none context.Context
	over, cancel := context.WithCancel(ctx)
	cancel()
	many := driver{ID: "many", Open: map[string]openRun{}}
	for i := range 120 {
		many.Open[fmt.Sprint(i)] = openRun{}
	}
	open := query.Of[openRun](g.drivers.Key("a").Prefix("OPEN#"))
	amount := handmade.Number("Amount", "", func(p *purse) *int { return &p.Amount })
	get := func(_ any, err error) error { return err }
	for name, c := range map[string]struct {
		class string
		err   func() error
	}{
		"an item in two parts": {"usage", func() error {
			p := handmade.EntityOf(g.purses.Key("none")).Patch(amount.Set(1))
			return get(mapper.Transact(ctx, p.PatchPart(g.purses), p.PatchPart(g.purses)))
		}},
		"a faulty model":      {"usage", func() error { return get(mapper.New[faultyModel](client)) }},
		"no model":            {"usage", func() error { return get(mapper.New[int](client)) }},
		"no client":           {"usage", func() error { return get(mapper.New[driver](nil)) }},
		"a faulty option":     {"usage", func() error { return get(mapper.New[driver](client, mapper.Table(""))) }},
		"too many key values": {"usage", func() error { return get(g.drivers.Load(ctx, g.drivers.Key("a", "b"))) }},
		"another key type":    {"usage", func() error { return get(g.drivers.Load(ctx, g.drivers.Key(7))) }},
		"another item": {"usage", func() error {
			return get(g.drivers.Load(ctx, g.drivers.Key("a").Item("NONE")))
		}},
		"another index": {"usage", func() error {
			return get(query.Of[driver](g.drivers.Index("none", 1)).Collect(ctx, g.drivers))
		}},
		"nil part of a model": {"usage", func() error { return get(mapper.Transact(ctx, g.drivers.SavePart(nil))) }},
		"missing":             {"not found", func() error { return get(g.drivers.Load(ctx, g.drivers.Key("none"))) }},
		"patched": {"not found", func() error {
			return get(handmade.EntityOf(g.purses.Key("none")).Patch(amount.Set(1)).Exec(ctx, g.purses))
		}},
		"inserted twice": {"exists", func() error { return get(g.drivers.Save(ctx, g.drivers.New(driver{ID: "a"}))) }},
		"in a transaction": {"exists", func() error {
			return get(mapper.Transact(ctx, g.drivers.SavePart(g.drivers.New(driver{ID: "a"})),
				g.purses.SavePart(g.purses.New(purse{ID: "new"}))))
		}},
		"stale": {"conflict", func() error {
			stale.Value.Name = "c"
			return get(g.drivers.Save(ctx, stale))
		}},
		"a tag": {"conflict", func() error {
			return get(g.drivers.Load(ctx, g.drivers.Key("a"),
				mapper.IfTag("other")))
		}},
		"an empty tag": {"usage", func() error {
			return get(g.drivers.Load(ctx, g.drivers.Key("a"),
				mapper.IfTag("")))
		}},
		"an empty key": {"value", func() error { return get(g.drivers.Save(ctx, g.drivers.New(driver{}))) }},
		"a changed key": {"value", func() error {
			part.Value.ID = "z"
			defer func() { part.Value.ID = "a" }()
			return get(g.drivers.Save(ctx, part))
		}},
		"not loaded": {"not loaded", func() error {
			part.Value.Name = "new"
			return get(g.drivers.Save(ctx, part))
		}},
		"a large item": {"too large", func() error {
			return get(g.drivers.Save(ctx, g.drivers.New(driver{ID: "l", Name: strings.Repeat("x", 500_000)})))
		}},
		"a cursor":         {"cursor", func() error { return get(open.After("x").Page(ctx, g.drivers)) }},
		"a foreign value":  {"stored value", func() error { return get(g.purses.Load(ctx, g.purses.Key("bad"))) }},
		"a negative limit": {"usage", func() error { return get(open.Limit(-1).Collect(ctx, g.drivers)) }},
		"no mapper":        {"usage", func() error { return get(open.Collect(ctx, nil)) }},
		"no selection":     {"usage", func() error { return get(g.drivers.Load(ctx, nil)) }},
		"a wrong prefix": {"usage", func() error {
			return get(g.drivers.Load(ctx,
				g.drivers.Key("a").Prefix("NONE#")))
		}},
		"options": {"usage", func() error {
			return get(g.drivers.Save(ctx, stale, mapper.Staged(),
				mapper.Independent()))
		}},
		"no parts":          {"usage", func() error { return get(mapper.Transact(ctx)) }},
		"nothing to update": {"usage", func() error { return get(mapper.UpdateAll(ctx, nil)) }},
		"an empty patch":    {"usage", func() error { return get(new(mapper.Patch[driver]).Exec(ctx, g.drivers)) }},
		"a nil " +
			"patch": {"usage", func() error {
			return get(handmade.EntityOf(g.purses.Key("a")).Patch().And(nil).Exec(ctx, g.purses))
		}},
		"a nil context": {"usage", func() error { return get(g.drivers.Load(none, g.drivers.Key("a"))) }},
		//nolint:staticcheck
		"too many": {"transaction", func() error {
			return get(g.drivers.Save(ctx, g.drivers.New(many), mapper.ExactlyOnce()))
		}},
		"too many in a transaction": {"transaction", func() error {
			return get(mapper.Transact(ctx, g.drivers.SavePart(g.drivers.New(many)),
				g.purses.SavePart(g.purses.New(purse{ID: "n"}))))
		}},
		"a missing table": {"sdk", func() error { return get(elsewhere.Load(ctx, elsewhere.Key("a"))) }},
		"canceled":        {"context", func() error { return get(g.drivers.Load(over, g.drivers.Key("a"))) }},
	} {
		err := c.err()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for class, is := range classes {
			if is(err) != (class == c.class) && !(class == "sdk" && (c.class == "context" || name == "a nil context")) {
				t.Errorf("%s is of the class %q: %v: %v", name, class, is(err), err)
			}
		}
	}
}

// An insert, a staged insert, and a part of a transaction that find their entity return an
// *ExistsError with the model and the root item. None is a *ConflictError, because a loop that loads
// and repeats after conflicts would not end.
func TestExistsErrorIsNoConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{State: "x"}})))(t)
	again := func() *mapper.Entity[kit.Board] { return m.New(kit.Board{ID: "1", Main: kit.Cells{State: "y"}}) }
	for name, write := range map[string]func() error{
		"insert":      func() error { _, err := m.Save(ctx, again()); return err },
		"staged":      func() error { _, err := m.Save(ctx, again(), mapper.Staged()); return err },
		"transaction": func() error { _, err := mapper.Transact(ctx, m.SavePart(again())); return err },
	} {
		err := write()
		var exists *mapper.ExistsError
		if !errors.As(err, &exists) || !errors.Is(err, mapper.ErrExists) || exists.Model != "kit.Board" ||
			exists.Key.Partition == "" || exists.Field == "" {
			t.Errorf("%s: %v: %+v", name, err, exists)
		}
		if errors.As(err, new(*mapper.ConflictError)) {
			t.Errorf("%s: it is a conflict too: %v", name, err)
		}
	}
}
