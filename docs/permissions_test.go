package docs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/itemize/itemize/examples/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
	"github.com/itemize/itemize/unique"
)

type ticket struct {
	_        struct{}  `ddb:"table=permissions"`
	_        struct{}  `ddb:"index=byOwner,pk={Owner},sk={Points}"`
	_        struct{}  `ddb:"index=byAuthor,hash=GSI1PK,range=GSI1SK,pk=BY#{Author},sk={At},on=Comments"`
	ID       string    `ddb:"pk=TICKET#{ID}"`
	Owner    string    `ddb:"sk=HEAD"`
	Points   int       `ddb:"sk=HEAD"`
	Text     string    `ddb:"sk=TEXT"`
	Comments []comment `ddb:"sk=COMMENT#{At}"`
}

type comment struct {
	At           time.Time
	Author, Text string
}

// actions records the IAM actions of the requests that a client sends.
type actions struct {
	mu  sync.Mutex
	all map[string]bool
}

func (a *actions) add(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[name] = true
}

// take returns the recorded actions, and forgets them.
func (a *actions) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := slices.Sorted(maps.Keys(a.all))
	a.all = map[string]bool{}
	return names
}

// watch records each request. A transaction needs the actions of its parts, and a statement the action of its verb
// (IAM: Using IAM policy conditions for fine-grained access control; PartiQL: IAM security policies).
func (a *actions) watch(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("actions", func(ctx context.Context,
		in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		switch in := in.Parameters.(type) {
		case *dynamodb.TransactWriteItemsInput:
			for _, i := range in.TransactItems {
				a.add(actionOf(i))
			}
		case *dynamodb.BatchExecuteStatementInput:
			for _, s := range in.Statements {
				if strings.HasPrefix(*s.Statement, "INSERT ") {
					a.add("PartiQLInsert")
				} else {
					a.add(*s.Statement)
				}
			}
		default:
			a.add(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", in), "*dynamodb."), "Input"))
		}
		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

func actionOf(i types.TransactWriteItem) string {
	switch {
	case i.Put != nil:
		return "PutItem"
	case i.Update != nil:
		return "UpdateItem"
	case i.Delete != nil:
		return "DeleteItem"
	}
	return "ConditionCheckItem"
}

var action = regexp.MustCompile("`([A-Z][A-Za-z]+)`")

// documentedActions returns the actions of each row of the table in recipes/iam-policy.md.
func documentedActions(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("recipes/iam-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, m := range action.FindAllStringSubmatch(cells[2], -1) {
			rows[strings.TrimSpace(cells[1])] = append(rows[strings.TrimSpace(cells[1])], m[1])
		}
	}
	return rows
}

// Each call sends the requests whose actions the page lists, and no others.
func TestPermissions(t *testing.T) {
	ctx := t.Context()
	engine := testengine.Start(t).Client()
	sent := &actions{all: map[string]bool{}}
	client := dynamodb.New(engine.Options(),
		func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, sent.watch) })
	m, err := mapper.New[ticket](client)
	if err != nil {
		t.Fatal(err)
	}
	players, err := mapper.New[models.Player](client)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(tables.Of(m), tables.Of(players)...) {
		if _, err := engine.CreateTable(ctx, d.Create); err != nil {
			t.Fatal(err)
		}
	}
	documented := documentedActions(t)
	// each runs the calls of a row. What a call does before it calls sent.take is not recorded.
	each := func(row string, calls ...func() error) {
		t.Helper()
		recorded := map[string]bool{}
		for i, call := range calls {
			sent.take()
			if err := call(); err != nil {
				t.Errorf("%s: call %d: %v", row, i, err)
			}
			for _, a := range sent.take() {
				recorded[a] = true
			}
		}
		delete(recorded, "GetItem")
		want := slices.Sorted(slices.Values(documented[row]))
		if got := slices.Sorted(maps.Keys(recorded)); !slices.Equal(got, want) {
			t.Errorf("%s: sends %v, and the page lists %v", row, got, want)
		}
		delete(documented, row)
	}
	n, later := 0, time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	value := func() ticket {
		n++
		at := time.Date(2026, time.November, n, 0, 0, 0, 0, time.UTC)
		return ticket{ID: fmt.Sprint(n), Owner: "ann", Points: n, Text: "text", Comments: []comment{{at, "bob", "a"}}}
	}
	insert := func(options ...mapper.WriteOption) error {
		_, err := m.Save(ctx, m.New(value()), options...)
		return err
	}
	key := func() query.Selection[ticket] { return m.Key(fmt.Sprint(n)) }
	change := func(f func(*ticket), options ...mapper.WriteOption) error {
		e, err := m.Load(ctx, key())
		if err != nil {
			return err
		}
		f(&e.Value)
		_, err = m.Save(ctx, e, options...)
		return err
	}
	load := func(s query.Selection[ticket]) error { _, err := m.Load(ctx, s); return err }
	texts := []query.Selection[ticket]{m.Key("1").Item("TEXT"), m.Key("2").Item("TEXT")}

	each("Save of new entities", func() error { return insert() }, func() error { return insert() })
	each("Save with Staged, or of more than 100 new items",
		func() error { // an item of another program has the key of a comment: the insert deletes its items again
			v := value()
			at := v.Comments[0].At.Format("2006-01-02T15:04:05.000000000Z")
			put(ctx, t, engine, "permissions", "TICKET#"+v.ID, "COMMENT#"+at)
			sent.take()
			if _, err := m.Save(ctx, m.New(v), mapper.Staged()); err == nil {
				return errors.New("the insert replaced an item")
			}
			return nil
		},
		func() error { return insert(mapper.Staged()) })
	each("Load, LoadMany",
		func() error { return load(key()) },
		func() error { return load(m.Key("1").Item("TEXT")) },
		func() error { _, err := m.LoadMany(ctx, texts); return err })
	each("queries of nodes and entities", func() error {
		_, err := query.Of[comment](m.Key("1").Prefix("COMMENT#")).Collect(ctx, m)
		return err
	})
	each("queries of a secondary index",
		func() error {
			_, err := query.Of[ticket](m.Index("byOwner", "ann")).Roots().Collect(ctx, m)
			return err
		},
		func() error { _, err := query.Of[comment](m.Index("byAuthor", "bob")).Collect(ctx, m); return err })
	each("Scan", func() error {
		for _, err := range m.Scan(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	each("Save of loaded entities, Update",
		func() error { return change(func(v *ticket) { v.Text = "changed" }) },
		func() error {
			return change(func(v *ticket) { v.Comments = append(v.Comments, comment{At: later, Author: "eve"}) })
		},
		func() error { return change(func(v *ticket) { v.Comments = v.Comments[1:] }) },
		func() error {
			_, err := m.Update(ctx, key(), func(v *ticket) error { v.Points++; v.Text = "again"; return nil })
			return err
		},
		func() error {
			two := query.Join(m.Key(fmt.Sprint(n)).Item("HEAD"), m.Key(fmt.Sprint(n)).Item("TEXT"))
			_, err := m.Update(ctx, two, func(v *ticket) error { v.Points++; return nil })
			return err
		})
	each("Save with CheckLoaded, in addition to Save", func() error {
		return change(func(v *ticket) { sent.take(); v.Text = "checked"; v.Points++ }, mapper.CheckLoaded())
	})
	each("Save with Move", func() error { return change(func(v *ticket) { v.ID += "moved" }, mapper.Move()) })
	each("patches",
		func() error {
			_, err := players.Save(ctx, players.New(models.Player{ID: "ann"}))
			sent.take()
			return err
		},
		func() error {
			_, err := models.PlayerByID("ann").Patch(models.PlayerFields.Name.Set("Ann")).Exec(ctx, players)
			return err
		},
		func() error { _, err := models.PlayerByID("ann").Titles().Add("Rookie").Exec(ctx, players); return err },
		func() error {
			_, err := models.PlayerByID("ann").Titles().Value("Rookie").Delete().Exec(ctx, players)
			return err
		})
	each("Delete, DeleteByKey",
		func() error { err := insert(); sent.take(); return err },
		func() error { _, err := m.DeleteByKey(ctx, key()); return err },
		func() error { err := insert(); sent.take(); return err },
		func() error { _, err := m.DeleteByKey(ctx, key(), mapper.Staged()); return err })
	each("BulkLoad", func() error { return bulk(ctx, m, value(), mapper.LoadID("a")) },
		func() error { // a leftover item
			v := value()
			if _, err := m.Save(ctx, m.New(v)); err != nil {
				return err
			}
			_, err := engine.DeleteItem(ctx,
				&dynamodb.DeleteItemInput{TableName: aws.String("permissions"), Key: keyOf("TICKET#"+v.ID, "HEAD")})
			sent.take()
			return errors.Join(err, bulk(ctx, m, v, mapper.LoadID("b")))
		})
	each("BulkLoad with Overwrite", func() error { return bulk(ctx, m, value(), mapper.Overwrite()) })
	each("Transact that adds items, in addition to its parts", func() error {
		e, err := m.Load(ctx, m.Key("1").Prefix("COMMENT#"))
		if err != nil {
			return err
		}
		sent.take()
		e.Value.Comments = append(e.Value.Comments, comment{At: later, Author: "eve"})
		_, err = mapper.Transact(ctx, m.SavePart(e), models.PlayerByID("ann").
			Patch(models.PlayerFields.Name.Set("Anna")).PatchPart(players))
		return err
	})
	uniquePermissions(ctx, t, client, each, sent)
	delete(documented, "any of the calls below")
	if len(documented) > 0 {
		t.Errorf("rows without a test: %v", documented)
	}
}

// patron has a unique value.
type patron struct {
	_     struct{} `ddb:"table=patrons"`
	ID    string   `ddb:"pk=PATRON#{ID}"`
	Email string   `ddb:"sk=HEAD,unique"`
}

// uniquePermissions tests the rows of unique values.
func uniquePermissions(ctx context.Context, t *testing.T, client *dynamodb.Client,
	each func(row string, calls ...func() error), sent *actions,
) {
	t.Helper()
	m, err := mapper.New[patron](client)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range tables.Of(m) {
		if _, err := client.CreateTable(ctx, d.Create); err != nil {
			t.Fatal(err)
		}
	}
	e := m.New(patron{ID: "1", Email: "a"})
	each("writes of a model with unique values, in addition",
		func() error { _, err := m.Save(ctx, e); return err },
		func() error { e.Value.Email = "b"; _, err := m.Save(ctx, e); return err })
	each("package unique, `itemize unique`",
		func() error { _, err := unique.Verify(ctx, m); return err },
		func() error { // without its guard, and with a note that is not true any more
			_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: aws.String("patrons"), Key: keyOf("~unique#patron#Email#b", "guard"),
			})
			sent.take()
			return err
		},
		func() error { _, err := unique.Verify(ctx, m); return err },
		func() error { _, err := unique.Run(ctx, m); return err },
		func() error {
			_, err := unique.Drop(ctx, client, unique.Table{Name: "patrons", Hash: "PK", Range: "SK"}, "patron#Email")
			return err
		})
}

func bulk(ctx context.Context, m *mapper.Mapper[ticket], v ticket, options ...mapper.BulkOption) error {
	_, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values([]ticket{v})), options...)
	return err
}

func keyOf(partition, sort string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: partition}, "SK": &types.AttributeValueMemberS{Value: sort},
	}
}

// put writes an item without the library.
func put(ctx context.Context, t *testing.T, client *dynamodb.Client, table, partition, sort string) {
	t.Helper()
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: keyOf(partition,
		sort)}); err != nil {
		t.Fatal(err)
	}
}
