package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// Ticket is in indexes, and expires.
type Ticket struct {
	_      struct{}  `ddb:"table=tickets,ttl=gone"`
	_      struct{}  `ddb:"index=byOwner,pk={Owner},sk={Opened:unix}"`
	_      struct{}  `ddb:"index=byState,hash=G1,pk=STATE#{State},range=G2,sk={Weight:04},project='Owner'"`
	_      struct{}  `ddb:"index=byAuthor,pk={Author},on=Notes,project=keys"`
	_      struct{}  `ddb:"index=inverted,hash=SK,range=PK,project=keys"`
	_      struct{}  `ddb:"index=byWeight,local,range=W,sk={Weight:04}"`
	ID     string    `ddb:"pk=TICKET#{ID}"`
	Owner  string    `ddb:"sk=HEAD"`
	State  string    `ddb:"sk=HEAD"`
	Weight int       `ddb:"sk=HEAD"`
	Opened time.Time `ddb:"sk=HEAD" dynamodbav:",unixtime"`
	Until  time.Time `ddb:"sk=HEAD,ttl,all"`
	Text   string    `ddb:"sk=TEXT"`
	Notes  []Note    `ddb:"sk=NOTE#{N:04}"`
}

// Note is written on a ticket.
type Note struct {
	N            int
	Author, Text string
}

// tickets is a table of tickets as monoliths, with indexes of its own, and the model's.
type tickets struct {
	*setup
	layout *migrate.Layout
	users  *mapper.Mapper[Ticket]
}

func newTickets(t *testing.T) *tickets {
	t.Helper()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	s := &tickets{&setup{TB: t, client: client, docs: map[string]attributes{}}, layoutOf[Ticket](t), nil}
	name := fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	s.source, s.target = name+"-monoliths", name
	var err error
	if s.users, err = mapper.New[Ticket](client, mapper.Table(s.target)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateTable(ctx, tables.Of(s.users)[0].Create); err != nil {
		t.Fatal(err)
	}
	key := func(attribute string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &attribute, KeyType: kind}
	}
	all, keys := &types.Projection{ProjectionType: types.ProjectionTypeAll},
		&types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	_, err = client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &s.source, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("ID"), AttributeType: "S"}, {
				AttributeName: aws.String("State"),
				AttributeType: "S",
			}, {AttributeName: aws.String("Weight"), AttributeType: "N"},
		},
		KeySchema: []types.KeySchemaElement{key("ID", "HASH")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("old"), KeySchema: []types.KeySchemaElement{key("State", "HASH")}, Projection: all},
			{
				IndexName: aws.String("heavy"), KeySchema: []types.KeySchemaElement{key("Weight", "HASH")},
				Projection: keys,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *tickets) migration(o ...migrate.Option) *migrate.Migration {
	s.Helper()
	o = append([]migrate.Option{migrate.Tables(func(string) string { return s.target }), migrate.Segments(3)}, o...)
	m, err := migrate.Open(context.Background(), s.client, s.layout, s.source, o...)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// fill stores tickets, some of them without what their indexes need.
func (s *tickets) fill(n int) {
	s.Helper()
	for i := range n {
		v := Ticket{
			ID: fmt.Sprint("t", i), Owner: "bob", State: fmt.Sprint("s", i%3), Weight: i,
			Opened: time.Unix(1.7e9, int64(i)).UTC(), Until: time.Unix(4e9, 0).UTC(), Text: strings.Repeat("x", i*400),
		}
		if i%4 == 1 {
			v.Owner, v.Until = "", time.Time{}
		}
		for j := range i % 6 {
			v.Notes = append(v.Notes, Note{j, []string{"eve", ""}[j%2], strings.Repeat("y", 700*j)})
		}
		doc, err := attributevalue.MarshalMap(v)
		if err != nil {
			s.Fatal(err)
		}
		if i%5 == 2 && i%4 != 1 { // it expires by itself too, and has a key as an index of the model has it
			doc["gone"], doc["G2"] = &types.AttributeValueMemberN{Value: "4000000000"},
				&types.AttributeValueMemberS{Value: fmt.Sprintf("%04d", i)}
		}
		if _, err := s.client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
			s.Fatal(err)
		}
		s.docs[v.ID] = doc
	}
}

// A model with indexes and a time to live is migrated and rolled back. The items are those that the
// mapper would store, and its queries find them. The units of all indexes, including the source's, are
// as planned.
func TestIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newTickets(t)
	s.fill(30)
	plan, err := s.migration().Plan(ctx, migrate.PlanOptions{})
	if err != nil || !plan.OK() || plan.Full().Indexes == 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Moved != 30 || r.This.WCU != plan.WCU {
		status, _ := s.migration().Status(ctx)
		t.Fatalf("%+v, %v; planned were %+v; %+v", r, err, plan, status)
	}
	// DynamoDB Local reports nothing of statements
	if testengine.ReportsTransactions(t) && r.This.ConsumedWCU != plan.WCU {
		t.Errorf("it took %v WCU, and %v were planned", r.This.ConsumedWCU, plan.WCU)
	}
	owned, err := query.Of[Ticket](s.users.Index("byOwner", "bob")).Count(ctx, s.users)
	state, err2 := query.Of[Ticket](s.users.Index("byState", "s1")).Count(ctx, s.users)
	notes, err3 := query.Of[Note](s.users.Index("byAuthor", "eve")).Count(ctx, s.users)
	if err := errors.Join(err, err2, err3); err != nil || owned != 22 || state != 10 || notes != 45 {
		t.Errorf("the indexes find %d, %d and %d: %v", owned, state, notes, err)
	}
	s.asTheMapperStores()
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != 30 {
		t.Fatalf("%+v, %v", v, err)
	}
	back, err := s.migration().Rollback(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if testengine.ReportsTransactions(t) && back.This.ConsumedWCU != back.This.WCU {
		t.Errorf("the way back took %v WCU, and %v were predicted", back.This.ConsumedWCU, back.This.WCU)
	}
	s.cameBack()
}

// asTheMapperStores requires that a save of each loaded ticket, which computes its index keys again,
// has no changes.
func (s *tickets) asTheMapperStores() {
	s.Helper()
	ctx := context.Background()
	for id := range s.docs {
		e, err := s.users.Load(ctx, s.users.Key(id))
		if err != nil {
			s.Fatal(err)
		}
		plan, err := s.users.PlanSave(e, mapper.Reindex())
		if err != nil || plan.Requests > 0 {
			s.Errorf("%s: a save would write %v, %v", id, plan, err)
		}
	}
}

// cameBack requires that all monoliths are as they were put.
func (s *tickets) cameBack() {
	s.Helper()
	all := s.all(s.source)
	for _, a := range all {
		delete(a, "_v")
		if want := s.docs[text(a["ID"])]; !attr.SameItem(a, want) {
			s.Errorf("%s has come back as %v, and was %v", text(a["ID"]), a, want)
		}
	}
	if len(all) != len(s.docs) {
		s.Errorf("%d monoliths are there, of %d", len(all), len(s.docs))
	}
	left := slices.DeleteFunc(s.all(s.target),
		func(a attributes) bool { return strings.HasPrefix(text(a["PK"]), "~migrate#") })
	if len(left) > 0 {
		s.Errorf("%v are left", left)
	}
}

// Monoliths in the model's table are in its indexes with keys of their own; queries of the indexes
// return only tickets.
func TestIndexesOfOneTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newTickets(t)
	s.source = s.target
	for i := range 6 {
		doc, err := attributevalue.MarshalMap(Ticket{
			ID: fmt.Sprint("t", i), Owner: "bob", State: "s", Weight: i,
			Opened: time.Unix(1.7e9, 0).UTC(),
		})
		if err != nil {
			t.Fatal(err)
		}
		doc["PK"], doc["SK"] = &types.AttributeValueMemberS{Value: fmt.Sprint("TICKET#t", i)},
			&types.AttributeValueMemberS{Value: "DOC"}
		doc["G1"], doc["G2"] = &types.AttributeValueMemberS{Value: "STATE#s"},
			&types.AttributeValueMemberS{Value: fmt.Sprintf("%04d", i)}
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
		s.docs[fmt.Sprint("t", i)] = doc
	}
	m := s.migration(migrate.Keys("", "DOC"))
	plan, err := m.Plan(ctx, migrate.PlanOptions{})
	if err != nil || !plan.OK() {
		t.Fatalf("%+v, %v", plan, err)
	}
	r, err := m.Run(ctx)
	if err != nil || r.This.Moved != 6 || r.This.WCU != plan.WCU {
		t.Fatalf("%+v, %v; planned were %+v", r, err, plan)
	}
	if testengine.ReportsTransactions(t) && r.This.ConsumedWCU != plan.WCU {
		t.Errorf("it took %v WCU, and %v were planned", r.This.ConsumedWCU, plan.WCU)
	}
	n, err := query.Of[Ticket](s.users.Index("byState", "s")).Count(ctx, s.users)
	if err != nil || n != 6 {
		t.Errorf("the index finds %d tickets: %v", n, err)
	}
	if v, err := m.Verify(ctx); err != nil || !v.Clean() || v.Same != 6 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := m.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.all(s.source) {
		delete(a, "_v")
		if id, ok := a["ID"]; !ok && !strings.HasPrefix(text(a["PK"]), "~migrate#") || ok &&
			!attr.SameItem(a, s.docs[text(id)]) {
			t.Errorf("%v is left", a)
		}
	}
}

// DynamoDB deletes expired items, the root first or last. A verification is then clean, and a rollback
// leaves no items.
func TestExpired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newTickets(t)
	for i, until := range []int64{1.6e9, 1.6e9, 4e9} {
		doc, err := attributevalue.MarshalMap(Ticket{
			ID: fmt.Sprint("t", i), Owner: "bob", State: "s",
			Until: time.Unix(until, 0).UTC(), Text: "text", Notes: []Note{{1, "eve", "note"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
		s.docs[fmt.Sprint("t", i)] = doc
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Moved != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, a := range s.all(s.target) { // as DynamoDB does: of one entity all, of another the root, of a third nothing
		if id := text(a["PK"]); id == "TICKET#t0" || id == "TICKET#t1" && text(a["SK"]) == "HEAD" {
			k := attributes{"PK": a["PK"], "SK": a["SK"]}
			if _, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.target, Key: k}); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := s.migration().Verify(ctx)
	if err != nil || !v.Clean() || v.Same != 1 || v.Deleted != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	delete(s.docs, "t0")
	delete(s.docs, "t1")
	if all := s.all(s.source); len(all) != 1 || text(all[0]["ID"]) != "t2" {
		t.Errorf("%v came back", all)
	}
}

// Wrap knows no entity whose time is over, moved or not, and one may be inserted in its place.
func TestWrapExpired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newTickets(t)
	for _, id := range []string{"moved", "unmoved"} {
		doc, err := attributevalue.MarshalMap(Ticket{
			ID: id, Owner: "bob", State: "s", Until: time.Unix(1.6e9, 0).UTC(),
			Notes: []Note{{1, "eve", "note"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
		if id == "moved" {
			if r, err := s.migration().Run(ctx); err != nil || r.This.Moved != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	w := migrate.Wrap(s.users, s.migration())
	for _, id := range []string{"moved", "unmoved"} {
		if e, err := w.Load(ctx, s.users.Key(id)); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: a load: %+v, %v", id, e, err)
		}
		_, err := w.Update(ctx, s.users.Key(id), func(v *Ticket) error { v.Owner = "eve"; return nil })
		if !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: an update: %v", id, err)
		}
		if _, err := w.Insert(ctx,
			Ticket{ID: id, Owner: "new", State: "s", Notes: []Note{{2, "eve", "new"}}}); err != nil {
			t.Errorf("%s: an insert: %v", id, err)
		}
		e, err := w.Load(ctx, s.users.Key(id))
		if err != nil || e.Value.Owner != "new" || len(e.Value.Notes) != 1 || e.Value.Notes[0].N != 2 {
			t.Errorf("%s: %+v, %v", id, e, err)
		}
	}
}

// A monolith that cannot be moved, and whose time is over, is not found either.
func TestWrapFindsNoExpiredDeadLetter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newTickets(t)
	twice := []Note{{1, "eve", "a"}, {1, "eve", "b"}}
	s.store(Ticket{ID: "over", Owner: "bob", State: "s", Until: time.Unix(1.6e9, 0).UTC(), Notes: twice}, nil)
	s.store(Ticket{ID: "yet", Owner: "bob", State: "s", Until: time.Now().Add(time.Hour).UTC(), Notes: twice}, nil)
	w := migrate.Wrap(s.users, s.migration())
	if e, err := w.Load(ctx, s.users.Key("over")); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := w.Load(ctx, s.users.Key("yet")); err != nil || len(e.Value.Notes) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
}

// store stores a monolith.
func (s *tickets) store(v any, change func(attributes)) {
	s.Helper()
	doc, err := attributevalue.MarshalMap(v)
	if err != nil {
		s.Fatal(err)
	}
	if change != nil {
		change(doc)
	}
	if _, err := s.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
		s.Fatal(err)
	}
}

// expire deletes the expired items of the model's table, as DynamoDB does.
func (s *tickets) expire() (n int) {
	s.Helper()
	for _, a := range s.all(s.target) {
		if ended, ok := a["gone"].(*types.AttributeValueMemberN); ok && len(ended.Value) <= 10 &&
			ended.Value <= fmt.Sprint(time.Now().Unix()) {
			n++
			if _, err := s.client.DeleteItem(context.Background(),
				&dynamodb.DeleteItemInput{
					TableName: &s.target,
					Key:       attributes{"PK": a["PK"], "SK": a["SK"]},
				}); err != nil {
				s.Fatal(err)
			}
		}
	}
	return n
}

// Visa expires with its root, or stamp by stamp.
type Visa struct {
	_      struct{}  `ddb:"table=visas,ttl=gone"`
	_      struct{}  `ddb:"index=byOwner,hash=G1,pk=OWNER#{Owner}"`
	ID     string    `ddb:"pk=VISA#{ID}"`
	Owner  string    `ddb:"sk=HEAD"`
	Until  time.Time `ddb:"sk=HEAD,ttl"`
	House  House     `ddb:"sk=HOUSE"`
	Stamps []Stamp   `ddb:"sk=STAMP#{N:04}"`
	Rooms  []Room2   `ddb:"sk=ROOM#{N:04}"`
}

// House, Stamp and Room2 are parts of it.
type (
	House struct{ City string }
	Stamp struct {
		N   int
		End time.Time `ddb:"ttl"`
	}
	Room2 struct{ N int }
)

func newVisas(t *testing.T) (*tickets, *mapper.Mapper[Visa]) {
	t.Helper()
	s := &tickets{&setup{
		TB: t, client: testengine.Start(t).Client(), source: testengine.Table(t, "ID:S", ""),
		target: testengine.Table(t, "PK:S", "SK:S"), docs: map[string]attributes{},
	}, layoutOf[Visa](t), nil}
	m, err := mapper.New[Visa](s.client, mapper.Table(s.target))
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// An attribute of the monolith that belongs to no field may have the name of a time to live or an index
// key in its new item. It is then a dead letter, or stays on the root.
func TestNothingBecomesAnExpiry(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	past := &types.AttributeValueMemberN{Value: "1600000000"}
	for name, tt := range map[string]struct {
		change func(attributes)
		dead   string
	}{
		"in a struct": {func(d attributes) {
			d["House"].(*types.AttributeValueMemberM).Value["gone"] = past
		}, ""},
		"an index's, in a struct": {func(d attributes) {
			d["House"].(*types.AttributeValueMemberM).Value["G1"] = past
		}, ""},
		"in an element": {
			func(d attributes) { element(d, "Rooms")["gone"] = past },
			"Rooms[0].gone: the item has another attribute of that name",
		},
		"an index's in an element": {
			func(d attributes) { element(d, "Rooms")["G1"] = past },
			"Rooms[0].G1: the item has another attribute of that name",
		},
		"on the root": {func(d attributes) { d["gone"] = past }, "it is the table's TTL attribute"},
	} {
		s, _ := newVisas(t)
		s.store(Visa{ID: "a", Owner: "bob", House: House{"Ulm"}, Rooms: []Room2{{1}}}, tt.change)
		before := s.all(s.source)[0]
		plan, err := s.migration().Plan(ctx, migrate.PlanOptions{})
		if err != nil || (plan.Dead > 0) != (tt.dead != "") || tt.dead != "" &&
			!strings.Contains(fmt.Sprint(plan.DeadLetters), tt.dead) {
			t.Errorf("%s: %v, %v", name, plan.DeadLetters, err)
		}
		if tt.dead != "" {
			continue
		}
		if _, err := s.migration().Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := s.expire(); n > 0 {
			t.Errorf("%s: %d items have expired", name, n)
		}
		if _, err := s.migration().Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		after := s.all(s.source)[0]
		delete(after, "_v")
		if !attr.SameItem(before, after) {
			t.Errorf("%s: %v has come back as %v", name, before, after)
		}
	}
}

func element(d attributes, list string) attributes {
	return d[list].(*types.AttributeValueMemberL).Value[0].(*types.AttributeValueMemberM).Value
}

// What DynamoDB deletes of an entity while it moves, and after its application has changed when it
// expires, is nothing wrong.
func TestExpiresDuringAMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, users := newVisas(t)
	s.store(Visa{ID: "part", Owner: "bob", Stamps: []Stamp{{1, time.Now().Add(-time.Hour)}, {2, time.Time{}}}}, nil)
	if _, err := s.over(&stopping{Client: s.client, fails: func(c string) bool { return c == "PutItem HEAD" }}).
		Run(ctx); err == nil {
		t.Error("it was not stopped")
	}
	if n := s.expire(); n != 1 {
		t.Errorf("%d items have expired", n)
	}
	s.store(Visa{ID: "root", Owner: "bob", Until: time.Unix(4e9, 0).UTC(), Stamps: []Stamp{{1, time.Time{}}}}, nil)
	if r, err := s.migration().Run(ctx); err != nil || r.This.Conflicts+r.This.Dead > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	w := migrate.Wrap(users, s.migration())
	if _, err := w.Update(ctx, users.Key("root"),
		func(v *Visa) error { v.Until = time.Now().Add(-time.Hour); return nil }); err != nil {
		t.Fatal(err)
	}
	if n := s.expire(); n != 1 {
		t.Errorf("%d items have expired", n)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Changed != 1 || v.Deleted != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// over is migration over another client.
func (s *tickets) over(c migrate.Client) *migrate.Migration {
	s.Helper()
	m, err := migrate.Open(context.Background(), c, s.layout, s.source,
		migrate.Tables(func(string) string { return s.target }), migrate.Segments(3))
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// An insert in the place of an expired entity that is rolled back in this moment is refused: the monolith comes back.
func TestInsertDuringTheRollbackOfAnExpiredEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := newVisas(t)
	s.store(Visa{ID: "a", Owner: "old", Until: time.Now().Add(-time.Hour), Stamps: []Stamp{{1, time.Time{}}}}, nil)
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	ready, release, done := make(chan bool), make(chan bool), make(chan error, 1)
	c := fakedynamo.Before(s.client, "TransactWriteItems", "VISA#a", func() { close(ready); <-release })
	m, err := mapper.New[Visa](c, mapper.Table(s.target))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := migrate.Wrap(m, s.over(c)).Insert(ctx, Visa{ID: "a", Owner: "new"})
		done <- err
	}()
	<-ready
	back := fakedynamo.Before(s.client, "PutItem", `"Owner"`, func() {
		close(release)
		if err := <-done; err == nil {
			t.Error("it was inserted")
		}
	})
	if r, err := s.over(back).Rollback(ctx); err != nil || r.This.Conflicts > 0 || r.This.Moved != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A change by the application is refused by the index of the monoliths' table. The rollback reports it,
// and continues with the others.
func TestRollbackOfAnIndexedEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newTickets(t)
	s.fill(5)
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := s.users.Load(ctx, s.users.Key("t0"))
	if err != nil {
		t.Fatal(err)
	}
	e.Value.State = ""
	if _, err := s.users.Save(ctx, e); err != nil {
		t.Fatal(err)
	}
	r, err := s.migration().Rollback(ctx)
	if err != nil || r.This.Dead == 0 || r.This.Moved != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	status, err := s.migration().Status(ctx)
	if err != nil || len(status.DeadLetters) != 1 ||
		!strings.Contains(fmt.Sprint(status.DeadLetters), "State: a key of the index old of the table "+
			s.source) {
		t.Errorf("%+v, %v", status, err)
	}
	e.Value.State = "mended"
	if _, err := s.users.Save(ctx, e); err != nil {
		t.Fatal(err)
	}
	if r, err := s.migration().Rollback(ctx); err != nil || r.This.Dead+r.This.Conflicts > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A key that is too long for an index, of the model or not, is a dead letter.
func TestLongKeyOfAnIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := newVisas(t)
	s.store(Visa{ID: "a", Owner: strings.Repeat("x", 3000)}, nil)
	plan, err := s.migration().Plan(ctx, migrate.PlanOptions{})
	if err != nil || plan.Dead != 1 ||
		!strings.Contains(fmt.Sprint(plan.DeadLetters), "Owner: as a key of the index byOwner") {
		t.Errorf("%+v, %v", plan, err)
	}
}
