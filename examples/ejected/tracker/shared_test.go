package tracker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/ejected/store"
	"github.com/itemize/itemize/integration/enginetest"
)

// The package has one engine, started by the first test that needs it.
func TestMain(m *testing.M) { enginetest.Run(m) }

// shared is a project in a table that other programs write as well.
type shared struct {
	*testing.T
	client *dynamodb.Client
	table  string
}

func newShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{t, enginetest.Start(t).Client(), enginetest.Table(t, "PK:S", "SK:S")}
	in, err := store.ProjectInsert(s.table, &store.Project{
		TenantID: "t", ProjectID: "p", Name: "n", CreatedAt: time.Unix(1, 0).UTC(),
		Members: map[string]store.Member{"ada": {Role: "lead"}}, Counters: store.Counters{Open: 1},
	})
	if err := errors.Join(err, s.send(in)); err != nil {
		t.Fatal(err)
	}
	return s
}

const sharedPK = "TENANT#t#PROJECT#p"

// send sends a transaction, nil for none.
func (s *shared) send(in *dynamodb.TransactWriteItemsInput) error {
	if in == nil {
		return nil
	}
	_, err := s.client.TransactWriteItems(context.Background(), in)
	return err
}

// put puts an item as another program does.
func (s *shared) put(sk string, texts ...string) {
	s.Helper()
	item := key(sharedPK, sk)
	for i := 0; i < len(texts); i += 2 {
		item[texts[i]] = text(texts[i+1])
	}
	if _, err := s.client.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &s.table,
		Item:      item,
	}); err != nil {
		s.Fatal(err)
	}
}

// set sets an attribute as another program does, which keeps the version.
func (s *shared) set(sk, name, value string) {
	s.Helper()
	_, err := s.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: key(sharedPK, sk), UpdateExpression: aws.String("SET #n = :v"),
		ExpressionAttributeNames:  map[string]string{"#n": name},
		ExpressionAttributeValues: attributes{":v": text(value)},
	})
	if err != nil {
		s.Fatal(err)
	}
}

// read reads the items of the project by their sort keys.
func (s *shared) read() (all []attributes, bySK map[string]attributes) {
	s.Helper()
	q, err := store.ProjectQuery(s.table, "t", "p")
	if err != nil {
		s.Fatal(err)
	}
	out, err := s.client.Query(context.Background(), q)
	if err != nil {
		s.Fatal(err)
	}
	bySK = map[string]attributes{}
	for _, item := range out.Items {
		bySK[item["SK"].(*types.AttributeValueMemberS).Value] = item
	}
	return out.Items, bySK
}

// change reads the project, and returns the transaction of a change.
func (s *shared) change(do func(*store.Project)) *dynamodb.TransactWriteItemsInput {
	s.Helper()
	items, _ := s.read()
	p, err := store.ProjectOf(items)
	if err != nil || p == nil {
		s.Fatal(p, err)
	}
	do(p)
	in, err := store.ProjectSave(s.table, items, p)
	if err != nil {
		s.Fatal(err)
	}
	return in
}

func rename(p *store.Project) { p.Name = "new" }

// A save and a delete leave the items and attributes of other programs alone: other keys, other names, attributes that
// differ in case.
func TestEjectedKeepsOtherItems(t *testing.T) {
	s := newShared(t)
	for _, sk := range []string{"MEMBER#50%", "MEMBER#a%2db", "ACTIVITY#2021#1", "LOG#1"} {
		s.put(sk, "Text", "of another program")
	}
	s.set("HEAD", "name", "of another program")
	s.set("COUNTERS", "Unknown", "of another program")
	if in := s.change(func(*store.Project) {}); in != nil {
		t.Errorf("nothing has changed: %+v", in)
	}
	if err := s.send(s.change(func(p *store.Project) { p.Name, p.Counters = "new", store.Counters{} })); err != nil {
		t.Fatal(err)
	}
	items, bySK := s.read()
	p, err := store.ProjectOf(items)
	if err != nil || p.Name != "new" || p.Counters.Open != 0 || len(p.Members) != 1 || len(items) != 7 {
		t.Errorf("%d items, %+v, %v", len(items), p, err)
	}
	if bySK["HEAD"]["name"] == nil || bySK["COUNTERS"]["Unknown"] == nil || bySK["COUNTERS"]["Open"] != nil {
		t.Errorf("%v, %v", bySK["HEAD"], bySK["COUNTERS"])
	}
	in, err := store.ProjectDelete(s.table, items)
	if err := errors.Join(err, s.send(in)); err != nil {
		t.Fatal(err)
	}
	if items, _ = s.read(); len(items) != 5 { // COUNTERS has an attribute of another program
		t.Errorf("%d items stay", len(items))
	}
}

// A save does not overwrite a change that it has not read, also if that keeps the version.
func TestEjectedSeesChanges(t *testing.T) {
	s := newShared(t)
	in := s.change(rename)
	s.set("HEAD", "Name", "of another program")
	if err := s.send(in); err == nil {
		t.Error("a change of another program was overwritten")
	}
	in = s.change(rename)
	s.set("HEAD", "Color", "red")
	if err := s.send(in); err != nil {
		t.Errorf("a change of another attribute: %v", err)
	}
	if _, bySK := s.read(); bySK["HEAD"]["Color"] == nil {
		t.Error("the attribute of another program was lost")
	}
}

// A save adds no items to a deleted entity, or to another one with its key.
func TestEjectedAddsToItsOwnEntity(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := newShared(t)
		in := s.change(func(p *store.Project) { p.Members["bob"] = store.Member{Role: "dev"} })
		items, _ := s.read()
		deleted, err := store.ProjectDelete(s.table, items)
		if err := errors.Join(err, s.send(deleted)); err != nil {
			t.Fatal(err)
		}
		if again {
			other, err := store.ProjectInsert(s.table, &store.Project{TenantID: "t", ProjectID: "p", Name: "n"})
			if err := errors.Join(err, s.send(other)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.send(in); err == nil {
			t.Errorf("inserted again %v: a member was added", again)
		}
	}
}

// Items of several entities, a changed key, and an item over 400 KB are errors before a request.
func TestEjectedRefuses(t *testing.T) {
	items := []attributes{key("TENANT#t#TICKETS#p", "TICKET#000001"), key("TENANT#t#TICKETS#p", "TICKET#000002")}
	if _, err := store.TicketOf(items); err == nil {
		t.Error("two tickets are one")
	}
	if _, err := store.TicketSave("t", items[:1], &store.Ticket{
		TenantID: "other", ProjectID: "p",
		Number: 1,
	}); err == nil {
		t.Error("the partition key has changed")
	}
	_, err := store.TicketSave("t", items[:1], &store.Ticket{
		TenantID: "t", ProjectID: "p", Number: 1, Text: strings.Repeat("x", 410<<10),
	})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Error(err)
	}
}
