package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
)

func textOf(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// set is a write of a program that knows only the old layout.
func (s *setup) set(table *item.Table, k item.Attributes, name, value string) {
	s.Helper()
	_, err := s.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &table.Name, Key: k, UpdateExpression: aws.String("SET #n = :v"),
		ExpressionAttributeNames:  map[string]string{"#n": name},
		ExpressionAttributeValues: item.Attributes{":v": textOf(value)},
	})
	if err != nil {
		s.Fatal(err)
	}
}

// one moves one entity, and back; both return what it became.
func (s *setup) one(id string) error {
	s.Helper()
	d, err := s.Monolith(context.Background(), s.at(id), &write.Tally{})
	if err != nil {
		s.Fatal(err)
	}
	e := &protocol.Entity{Doc: d}
	if err := s.Move(context.Background(), []*protocol.Entity{e}, &write.Tally{}); err != nil {
		s.Fatal(err)
	}
	return e.Err
}

func (s *setup) back(id string) error {
	s.Helper()
	root, err := s.RootOf(&protocol.Monolith{Place: s.at(id), Attributes: item.Attributes{"id": textOf(id)}})
	if err != nil {
		s.Fatal(err)
	}
	b := &protocol.Return{Doc: s.at(id), Root: root}
	if err := s.Back(context.Background(), []*protocol.Return{b}, &write.Tally{}); err != nil {
		s.Fatal(err)
	}
	return b.Err
}

func (s *setup) at(id string) item.Place {
	pk, _ := attr.ScalarOf(textOf(id))
	return item.Place{Table: s.Source, PK: pk}
}

func isConflict(t *testing.T, err error, want string) {
	t.Helper()
	var c *protocol.Conflict
	if !errors.As(err, &c) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, and no conflict about %s", err, want)
	}
}

// A program that knows only the old layout has written an entity that moved: a rollback takes neither layout away.
func TestBackKeepsWhatContradicts(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	r := rand.New(rand.NewPCG(1, 1))
	for _, id := range []string{"put", "updated"} {
		s.put(shop(r, id, 4))
		if err := s.one(id); err != nil {
			t.Fatal(err)
		}
	}
	items := len(s.all(s.Tables[0]))
	s.put(shop(r, "put", 5)) // without its mark
	s.set(s.Source, item.Attributes{"id": textOf("updated")}, "Name", "late")
	isConflict(t, s.back("put"), "wrote a monolith after the entity moved")
	isConflict(t, s.back("updated"), "wrote the monolith after it moved")
	isConflict(t, s.one("put"), "wrote a monolith after the entity moved")
	if n := len(s.all(s.Tables[0])); n != items {
		t.Errorf("%d items of %d are there", n, items)
	}
	d, err := s.Monolith(context.Background(), s.at("updated"), &write.Tally{})
	if err != nil || !attr.Same(d.Attributes["Name"], textOf("late")) {
		t.Errorf("%v, %v", d.Attributes["Name"], err)
	}
}

// An item that another program writes, or adds, during the rollback of its entity is kept, and each
// rollback reports it again.
func TestRollbackKeepsConcurrentWrites(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	r := rand.New(rand.NewPCG(1, 1))
	s.put(shop(r, "a", 4))
	if err := s.one("a"); err != nil {
		t.Fatal(err)
	}
	root, _ := s.RootOf(&protocol.Monolith{Place: s.at("a"), Attributes: item.Attributes{"id": textOf("a")}})
	var incarnation types.AttributeValue
	for _, a := range s.all(s.Tables[0]) {
		incarnation = a["_a"]
	}
	added := item.Attributes{
		"PK": attr.ValueOf(root.PK), "SK": textOf("PRICE#late"), "_a": incarnation,
		"Prices": &types.AttributeValueMemberN{Value: "1"},
	}
	// The copy is made, and the monolith written. Then another program adds and writes without reading
	// the root.
	m, during := s.broken(-1, fakedynamo.KilledBefore, nil)
	b := &protocol.Return{Doc: s.at("a"), Root: root}
	for n := 1; ; n++ { // killed at the first request after the monolith was written
		d, err := s.Monolith(context.Background(), s.at("a"), &write.Tally{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Unmarked() {
			break
		}
		ctx, kill := context.WithCancel(context.Background())
		during.Kill, during.At = kill, during.Sent()+n
		_ = m.Back(ctx, []*protocol.Return{b}, &write.Tally{})
	}
	if _, err := s.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &s.Tables[0].Name, Item: added}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		isConflict(t, s.back("a"), "wrote it during the rollback of its entity")
	}
	found := false
	for _, a := range s.all(s.Tables[0]) {
		found = found || attr.Same(a["SK"], textOf("PRICE#late"))
	}
	if !found {
		t.Error("what was added is gone")
	}
	if _, err := s.client.DeleteItem(context.Background(),
		&dynamodb.DeleteItemInput{
			TableName: &s.Tables[0].Name,
			Key:       item.Attributes{"PK": added["PK"], "SK": added["SK"]},
		}); err != nil {
		t.Fatal(err)
	}
	if err := s.back("a"); err != nil || len(s.all(s.Tables[0])) != 0 {
		t.Errorf("%v, with %d items left", err, len(s.all(s.Tables[0])))
	}
}

// Attributes of the monolith that have reserved names are dead letters; a value that is no mark is
// ignored.
func TestReservedNamesOfTheMonolith(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	r := rand.New(rand.NewPCG(1, 1))
	for name, v := range map[string]types.AttributeValue{
		"_m": &types.AttributeValueMemberM{Value: item.Attributes{"state": textOf("moved")}},
		"_v": &types.AttributeValueMemberN{Value: "7"},
	} {
		doc := shop(r, "own"+name, 2)
		doc[name] = v
		s.put(doc)
		var u *protocol.Unmovable
		if err := s.one("own" + name); !errors.As(err, &u) || !strings.HasPrefix(err.Error(), name+": no field") {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.back("own" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, a := range s.all(s.Source) {
		if a["_m"] == nil && a["_v"] == nil {
			t.Errorf("%v has lost an attribute", a["id"])
		}
	}
}

// Numbered is a model whose keys two monoliths' keys could be.
type Numbered struct {
	_    struct{} `ddb:"table=numbered"`
	ID   int      `ddb:"pk=N#{ID:05}" dynamodbav:"id,string"`
	Name string   `ddb:"sk=HEAD"`
}

// Two monoliths that would be one entity: the one whose key is not as the model writes it is a dead letter.
func TestOneMonolithForEachEntity(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	e, err := schema.Of(reflect.TypeFor[Numbered]())
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New(e.Layout())
	if err != nil {
		t.Fatal(err)
	}
	s.Mover = protocol.New(s.client, l, s.Source, s.Keys, s.Tables)
	for _, id := range []string{"7", "007"} {
		s.put(item.Attributes{"id": textOf(id), "Name": textOf("of " + id)})
	}
	if err := s.one("7"); err != nil {
		t.Error(err)
	}
	if err := s.one("007"); err == nil || !strings.Contains(err.Error(), "two monoliths could be one entity") {
		t.Errorf("%v", err)
	}
	if err := s.back("7"); err != nil {
		t.Error(err)
	}
	if n := len(s.all(s.Source)); n != 2 {
		t.Errorf("%d monoliths of 2", n)
	}
}

// An entity that has grown too large for a monolith while it was rolled back stays a collection, and can be found.
func TestBackOfWhatGrows(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	r := rand.New(rand.NewPCG(1, 1))
	s.put(shop(r, "a", 4))
	if err := s.one("a"); err != nil {
		t.Fatal(err)
	}
	root, _ := s.RootOf(&protocol.Monolith{Place: s.at("a"), Attributes: item.Attributes{"id": textOf("a")}})
	grown := false
	c := &growing{Client: s.client, marked: func() {
		if !grown {
			grown = true
			for i := range 2 {
				s.set(s.Tables[0],
					item.Attributes{"PK": attr.ValueOf(root.PK), "SK": textOf([]string{"ADDRESS", "NOTES"}[i])}, "more",
					strings.Repeat("x", 300_000))
			}
		}
	}}
	m := protocol.New(c, s.Layout, s.Source, s.Keys, s.Tables)
	b := &protocol.Return{Doc: s.at("a"), Root: root}
	if err := m.Back(context.Background(), []*protocol.Return{b}, &write.Tally{}); err != nil {
		t.Fatal(err)
	}
	var u *protocol.Unmovable
	if !errors.As(b.Err, &u) || !strings.Contains(b.Err.Error(), "has grown since it moved") {
		t.Error(b.Err)
	}
	if live, err := s.Live(context.Background(), root, &write.Tally{}); err != nil || !live {
		t.Errorf("live %v, %v", live, err)
	}
	if err := s.back("a"); !errors.As(err, &u) {
		t.Error(err)
	}
}

// growing is a client that reports when a root was marked.
type growing struct {
	protocol.Client
	marked func()
}

func (g *growing) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	out, err := g.Client.UpdateItem(ctx, in, o...)
	if err == nil && strings.Contains(fmt.Sprint(in.ExpressionAttributeNames), "_s") {
		g.marked()
	}
	return out, err
}

// A claim that was marked, and whose monolith a program of the old layout has changed since, does not go live.
func TestFinishOfWhatWasChanged(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	r := rand.New(rand.NewPCG(1, 1))
	s.put(shop(r, "a", 3))
	for at := 1; ; at++ { // killed at the first request behind the mark
		ctx, kill := context.WithCancel(request.WithoutPauses(context.Background()))
		m, _ := s.broken(at, fakedynamo.KilledBefore, kill)
		d, _ := s.Monolith(context.Background(), s.at("a"), &write.Tally{})
		_ = m.Move(ctx, []*protocol.Entity{{Doc: d}}, &write.Tally{})
		kill()
		if d, _ = s.Monolith(context.Background(), s.at("a"), &write.Tally{}); d.Mark() != nil {
			break
		}
	}
	s.set(s.Source, item.Attributes{"id": textOf("a")}, "Name", "late")
	isConflict(t, s.one("a"), "wrote the monolith after it moved")
}

// Two programs continue one imported claim. One moves the entity, and its monolith is deleted. The
// other, which finds no monolith, deletes nothing of the live entity.
func TestTwoOfOneImport(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for at := 1; ; at++ {
		s := newSetup(t)
		d := s.put(shop(rand.New(rand.NewPCG(1, 1)), "a", 5))
		s.load(d, false)
		items := len(s.all(s.Tables[0]))
		during := &concurrent{Client: s.client, at: at, do: func() {
			if err := s.one("a"); err != nil {
				t.Error(err)
			}
			d, err := s.Monolith(ctx, s.at("a"), &write.Tally{})
			if err != nil {
				t.Fatal(err)
			}
			if removed, err := s.Remove(ctx, d, &write.Tally{}); err != nil || !removed {
				t.Errorf("%v, %v", removed, err)
			}
		}}
		e := &protocol.Entity{Doc: d}
		if err := protocol.New(during, s.Layout, s.Source, s.Keys, s.Tables).Move(ctx, []*protocol.Entity{e},
			&write.Tally{}); err != nil {
			t.Fatal(err)
		}
		root, _ := s.RootOf(d)
		if live, err := s.Live(ctx, root, &write.Tally{}); err != nil || !live {
			t.Fatalf("%d: live %v, %v: %v", at, live, err, e.Err)
		}
		if n := len(s.all(s.Tables[0])); n != items {
			t.Fatalf("%d: %d items are left of %d", at, n, items)
		}
		if during.n < at {
			t.Logf("%d requests", during.n)
			return
		}
	}
}

// concurrent is a client that does something before its n-th request that writes or reads an item.
type concurrent struct {
	protocol.Client
	at, n int
	do    func()
}

func (b *concurrent) next() {
	if b.n++; b.n == b.at {
		b.do()
	}
}

func (b *concurrent) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	b.next()
	return b.Client.GetItem(ctx, in, o...)
}

func (b *concurrent) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	b.next()
	return b.Client.UpdateItem(ctx, in, o...)
}

func (b *concurrent) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	b.next()
	return b.Client.PutItem(ctx, in, o...)
}

func (b *concurrent) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	b.next()
	return b.Client.DeleteItem(ctx, in, o...)
}

func (b *concurrent) Query(ctx context.Context, in *dynamodb.QueryInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	b.next()
	return b.Client.Query(ctx, in, o...)
}

// hooked is a mover that lets something happen before its first request of an operation whose body has a text.
func (s *setup) hooked(operation, text string, do func()) *protocol.Mover {
	return protocol.New(fakedynamo.Before(s.client, operation, text, do), s.Layout, s.Source, s.Keys, s.Tables)
}

// A program takes a claim over. Before its request reaches the table, the claim's own program
// continues: the entity is moved, and deleted. It stays deleted. (Found by the explorer: update delete
// update, seed 16895317107150184826.)
func TestTakenOverAfterItWasDeleted(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	d := s.put(shop(rand.New(rand.NewPCG(1, 1)), "a", 4))
	root, _ := s.RootOf(d)
	claimed, goOn, moved := make(chan bool), make(chan bool), make(chan error)
	go func() {
		e := &protocol.Entity{Doc: d}
		err := s.hooked("", `"moved"`, func() { close(claimed); <-goOn }).Move(context.Background(),
			[]*protocol.Entity{e}, &write.Tally{})
		moved <- errors.Join(err, e.Err)
	}()
	<-claimed
	takenOver := false
	m := s.hooked("", `"took"`, func() {
		takenOver = true
		close(goOn)
		if err := <-moved; err != nil {
			t.Error(err)
		}
		for _, a := range s.all(s.Tables[0]) {
			k := item.Attributes{"PK": a["PK"], "SK": a["SK"]}
			if _, err := s.client.DeleteItem(context.Background(),
				&dynamodb.DeleteItemInput{TableName: &s.Tables[0].Name, Key: k}); err != nil {
				t.Error(err)
			}
		}
	})
	e := &protocol.Entity{Doc: d}
	if err := m.Move(context.Background(), []*protocol.Entity{e}, &write.Tally{}); err != nil || e.Err != nil ||
		!takenOver {
		t.Errorf("%v, %v, taken over: %v", err, e.Err, takenOver)
	}
	if now, err := s.Mover.Root(context.Background(), root, &write.Tally{}); err != nil || now.Live() ||
		len(s.all(s.Tables[0])) > 0 {
		t.Errorf("the entity is there again: %v, %v", now, err)
	}
}

// A killed rollback has sent a freeze, which arrives while another rollback deletes the copied items:
// no program has written the item.
func TestFrozenTwice(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	doc := shop(rand.New(rand.NewPCG(1, 1)), "a", 4)
	s.put(doc)
	if err := s.one("a"); err != nil {
		t.Fatal(err)
	}
	root, _ := s.RootOf(&protocol.Monolith{Place: s.at("a"), Attributes: item.Attributes{"id": textOf("a")}})
	late := 0
	m := s.hooked("DeleteItem", "PRICE#", func() {
		for _, a := range s.all(s.Tables[0]) {
			if sk := a["SK"].(*types.AttributeValueMemberS).Value; !strings.HasPrefix(sk, "PRICE#") {
				continue
			}
			version := item.NewToken()
			mark := s.Layout.Reserved.Frozen(version, a)
			_, err := s.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
				TableName: &s.Tables[0].Name, Key: item.Attributes{"PK": a["PK"], "SK": a["SK"]},
				UpdateExpression:          aws.String("SET #v = :v, #s = :s"),
				ConditionExpression:       aws.String("attribute_exists(PK)"),
				ExpressionAttributeNames:  map[string]string{"#v": "_v", "#s": mark.Name},
				ExpressionAttributeValues: item.Attributes{":v": version, ":s": mark.Value},
			})
			if err == nil {
				late++
			}
		}
	})
	b := &protocol.Return{Doc: s.at("a"), Root: root}
	if err := m.Back(context.Background(), []*protocol.Return{b}, &write.Tally{}); err != nil || b.Err != nil ||
		late == 0 {
		t.Errorf("%v, %v, %d came late", err, b.Err, late)
	}
	d, err := s.Monolith(context.Background(), s.at("a"), &write.Tally{})
	if err != nil || !layout.Same(s.content(d), doc) || len(s.all(s.Tables[0])) > 0 {
		t.Errorf("%v, %v", d, err)
	}
}

// Clause OwnMark of Migration.tla, action Stands: a program marks the monolith again only if its claim is still stored.
// One program adopts a claim, and another one adopts it too, moves the entity, and deletes it. Otherwise the mark of
// the first program would be its own and come last: it would take the mark back, and the entity would exist again.
func TestLostClaimDoesNotMarkAgain(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	d := s.put(shop(rand.New(rand.NewPCG(1, 1)), "a", 4))
	root, _ := s.RootOf(d)
	killed, kill := context.WithCancel(ctx)
	_ = s.hooked("", `"live"`, kill).Move(killed, []*protocol.Entity{{Doc: d}}, &write.Tally{})
	first := &concurrent{do: func() { // the first request after the refused mark
		if live, err := s.Live(ctx, root, &write.Tally{}); err != nil || !live {
			t.Errorf("the second program has not moved it: %v", err)
		}
		for _, a := range s.all(s.Tables[0]) {
			k := item.Attributes{"PK": a["PK"], "SK": a["SK"]}
			if _, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &s.Tables[0].Name, Key: k,
			}); err != nil {
				t.Error(err)
			}
		}
	}}
	first.Client = fakedynamo.Before(s.client, "UpdateItem", `"moved"`, func() {
		if err := s.one("a"); err != nil {
			t.Error(err)
		}
		first.at = first.n + 1
	})
	e := &protocol.Entity{Doc: s.read("a")}
	err := protocol.New(first, s.Layout, s.Source, s.Keys, s.Tables).Move(ctx, []*protocol.Entity{e}, &write.Tally{})
	if err != nil || e.Err != nil || first.at == 0 || e.Moved {
		t.Errorf("%v, %v, moved %v", err, e.Err, e.Moved)
	}
	if s.read("a").Unmarked() || len(s.all(s.Tables[0])) > 0 {
		t.Error("the deleted entity exists again")
	}
}

// read returns a monolith as it is stored.
func (s *setup) read(id string) *protocol.Monolith {
	s.Helper()
	d, err := s.Monolith(context.Background(), s.at(id), &write.Tally{})
	if err != nil {
		s.Fatal(err)
	}
	return d
}

// Two programs continue an imported claim. One finds that the monolith cannot be moved, and leaves the
// claim to the other, which finds it unchanged.
func TestSharedClaimStays(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	doc := shop(rand.New(rand.NewPCG(1, 1)), "a", 4)
	d := s.put(doc)
	s.load(d, false)
	move := func(m *protocol.Mover) error {
		e := &protocol.Entity{Doc: d}
		return errors.Join(m.Move(context.Background(), []*protocol.Entity{e}, &write.Tally{}), e.Err)
	}
	committed, over, done := make(chan bool), make(chan bool), make(chan error, 1)
	other := s.hooked("", `"live"`, func() { close(committed); <-over })
	again := func() {
		s.put(doc)
		go func() { done <- move(other) }()
		<-committed
	}
	held := fakedynamo.Before(s.client, "DeleteItem", "HEAD", again)
	first := protocol.New(fakedynamo.Before(held, "", `"moved"`, func() {
		s.set(s.Source, item.Attributes{"id": textOf("a")}, "Prices", "bad")
	}), s.Layout, s.Source, s.Keys, s.Tables)
	if err := move(first); !errors.As(err, new(*protocol.Unmovable)) {
		t.Errorf("it could be moved: %v", err)
	}
	select {
	case <-committed: // the claim was removed
	default:
		go again()
		<-committed
	}
	close(over)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	root, _ := s.RootOf(d)
	c, err := s.Read(context.Background(), root, s.at("a"), &write.Tally{})
	if err != nil || !c.Live && c.Items == nil {
		t.Errorf("the entity is gone: %+v, %v", c, err)
	}
}

// A claim of an import is left to the other programs that may continue it, also if this one finds that no migration is
// under way.
func TestSharedClaimStaysIfMigrationHasEnded(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	d := s.put(shop(rand.New(rand.NewPCG(1, 1)), "a", 4))
	s.load(d, false)
	m := protocol.New(s.client, s.Layout, s.Source, s.Keys, s.Tables)
	m.Underway = func(context.Context) error { return &protocol.NotUnderway{Reason: "it has ended"} }
	err := m.Move(context.Background(), []*protocol.Entity{{Doc: d}}, &write.Tally{})
	root, _ := s.RootOf(d)
	now, readErr := s.Mover.Root(context.Background(), root, &write.Tally{})
	if !errors.As(err, new(*protocol.NotUnderway)) || readErr != nil || now.Stage.State != item.Migrating {
		t.Errorf("%v: the root item is %+v, %v", err, now, readErr)
	}
}

// A claim of the migration of another table is left to that migration, whatever items the entity has
// here.
func TestForeignClaimStays(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	doc := shop(rand.New(rand.NewPCG(1, 1)), "a", 4)
	d := s.put(doc)
	elsewhere := &item.Table{Name: testengine.Table(t, "id:S", ""), Hash: "id"}
	other := protocol.New(s.client, s.Layout, elsewhere, s.Keys, s.Tables)
	root, _ := s.RootOf(d)
	there := item.Place{Table: elsewhere, PK: d.PK}
	claimed, goOn, moved := make(chan bool), make(chan bool), make(chan error)
	go func() {
		e := &protocol.Entity{Doc: d}
		err := s.hooked("", `"moved"`, func() { close(claimed); <-goOn }).Move(context.Background(),
			[]*protocol.Entity{e}, &write.Tally{})
		moved <- errors.Join(err, e.Err)
	}()
	<-claimed
	_, err := other.Finish(context.Background(), root, there, &write.Tally{})
	isConflict(t, err, "a migration of another table moves an entity with that key")
	close(goOn)
	if err := <-moved; err != nil {
		t.Error(err)
	}
	if now, err := s.Mover.Root(context.Background(), root, &write.Tally{}); err != nil || !now.Live() {
		t.Errorf("the entity is gone: %v, %v", now, err)
	}
}
