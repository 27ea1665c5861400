package generated

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Contact has unique values of several types.
type Contact struct {
	_      struct{}      `ddb:"table=contacts,ttl=ends"`
	ID     string        `ddb:"pk=CONTACT#{ID}"`
	Email  Address       `ddb:"sk=HEAD,unique"`
	Tenant string        `ddb:"sk=HEAD"`
	Number int           `ddb:"sk=HEAD,unique='Tenant,Number'"`
	Handle *string       `ddb:"sk=HEAD,unique=fold"`
	Home   *ContactHome  `ddb:"sk=HEAD"`
	Born   time.Time     `ddb:"sk=HEAD,unique"`
	Ends   time.Time     `ddb:"sk=HEAD,ttl"`
	Note   string        `ddb:"sk=NOTE"`
	Calls  []ContactCall `ddb:"sk=CALL#{At:03}"`
}

// Address is an e-mail address.
type Address string

// Normal ignores spaces and the case of letters.
func (a Address) Normal() string { return strings.ToLower(strings.TrimSpace(string(a))) }

// ContactHome is spread over the root item.
type ContactHome struct {
	Phone string `ddb:"unique"`
}

// ContactCall is one call.
type ContactCall struct {
	At   int
	Text string
}

func TestLookupsFindTheOwner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[Contact](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.AssumeVerified()))(t)
	handle, born := "Ann", time.Date(2001, 2, 3, 4, 5, 6, 7, time.FixedZone("x", 3600))
	e := m.New(Contact{
		ID: "1", Email: " Ann@example.com", Tenant: "t", Number: 7, Handle: &handle, Born: born,
		Home: &ContactHome{Phone: "#1"}, Calls: []ContactCall{{At: 1}},
	})
	kit.Must(m.Save(ctx, e))(t)
	keys := map[string]*ContactKey{
		"email": ContactByEmail("ANN@example.com "), "number": ContactByTenantNumber("t", 7),
		"handle": ContactByHandle("ANN"), "phone": ContactByPhone("#1"), "born": ContactByBorn(born.UTC()),
	}
	var all []query.Selection[Contact]
	for name, k := range keys {
		all = append(all, k)
		for _, options := range [][]mapper.ReadOption{nil, {mapper.Strong()}} {
			got, err := m.Load(ctx, k, options...)
			if err != nil || got.Value.ID != "1" || len(got.Value.Calls) != 1 {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
		plan := kit.Must(m.PlanLoad(k))(t)
		if plan.RCU.Expected < 1 || plan.RCU.Max <= plan.RCU.Expected {
			t.Errorf("%s: plan %+v", name, plan)
		}
		if part, err := m.Load(ctx, k.Note()); err != nil || part.Value.Email != " Ann@example.com" {
			t.Errorf("%s: a part: %v, %v", name, part, err)
		}
	}
	for i, e := range kit.Must(m.LoadMany(ctx, append(all, ContactByHandle("nobody"), ContactByID("1"))))(t) {
		if missing := i == len(all); (e == nil) != missing {
			t.Errorf("LoadMany: entity %d is %v", i, e)
		}
	}
	_, err := m.Load(ctx, ContactByHandle("bob"))
	if !errors.Is(err, mapper.ErrNotFound) || strings.Contains(err.Error(), "bob") {
		t.Errorf("a missing value: %v", err)
	}
	if _, err := m.Load(ctx, ContactByHandle("")); err == nil || errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("an empty value: %v", err)
	}
	if _, err := query.Of[Contact](ContactByHandle("Ann")).Collect(ctx, m); err == nil {
		t.Error("a query takes a lookup")
	}
}

func TestWritesByLookup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[Contact](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.AssumeVerified()))(t)
	kit.Must(m.Save(ctx, m.New(Contact{ID: "1", Email: "a", Tenant: "t"})))(t)
	kit.Must(m.Save(ctx, m.New(Contact{ID: "2", Email: "b", Tenant: "t", Number: 1})))(t)
	kit.Must(m.Update(ctx, ContactByEmail("a"), func(c *Contact) error { c.Note = "x"; return nil }))(t)
	kit.Must(m.Update(ctx, ContactByEmail("a"), func(c *Contact) error { c.Email = "c"; return nil }))(t)
	kit.Must(ContactByEmail("c").Patch(ContactFields.Note.Set("y")).Exec(ctx, m))(t)
	kit.Must(ContactByEmail("c").Patch(ContactFields.Email.Set("d")).Exec(ctx, m))(t)
	kit.Must(ContactByEmail("d").Calls().Add(ContactCall{At: 1}).Exec(ctx, m))(t)
	if err := kit.Err(ContactByEmail("c").Patch(ContactFields.Note.Set("z")).Exec(ctx, m)); !errors.Is(err,
		mapper.ErrNotFound) {
		t.Errorf("a patch by a value without an owner: %v", err)
	}
	if err := kit.Err(ContactByEmail("d").Patch(ContactFields.Email.Set("b")).Exec(ctx, m)); !errors.Is(err,
		mapper.ErrTaken) {
		t.Errorf("a patch to a value of another entity: %v", err)
	}
	if plan := kit.Must(ContactByEmail("d").Patch(ContactFields.Note.Set("z")).Plan(m))(t); plan.WCU.Expected != 4 {
		t.Errorf("plan: %+v", plan)
	}
	kit.Must(mapper.Transact(ctx, ContactByEmail("d").Patch(ContactFields.Note.Set("z")).PatchPart(m),
		m.DeletePartByKey(ContactByEmail("b"))))(t)
	got := kit.Must(m.Load(ctx, ContactByID("1")))(t)
	if got.Value.Note != "z" || got.Value.Email != "d" || len(got.Value.Calls) != 1 {
		t.Errorf("got %+v", got.Value)
	}
	kit.Must(m.DeleteByKey(ctx, ContactByEmail("d")))(t)
	for _, email := range []Address{"b", "d"} {
		if err := kit.Err(m.Load(ctx, ContactByEmail(email))); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s after its delete: %v", email, err)
		}
	}
}
