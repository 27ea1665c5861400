package operation_test

import (
	"context"
	"errors"
	"fmt"
	mathbig "math/big"
	"math/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

func attackPlayers(t *testing.T, options ...mapper.Option) (*mapper.Mapper[player], string) {
	t.Helper()
	m, table, _ := attackClient(t, options...)
	return m, table
}

func attackClient(t *testing.T, options ...mapper.Option) (*mapper.Mapper[player], string, mapper.Client) {
	t.Helper()
	table := testengine.Table(t, "PK:S", "SK:S")
	all := append([]mapper.Option{mapper.Table(table), mapper.AssumeVerified()}, options...)
	c := testengine.Start(t).Client()
	return kit.Must(mapper.New[player](c, all...))(t), table, c
}

// holders returns the live entities with an e-mail address.
func holders(t *testing.T, m *mapper.Mapper[player], email string, ids ...string) (all []string) {
	t.Helper()
	for _, id := range ids {
		if e, err := m.Load(context.Background(), m.Key(id), mapper.Strong()); err == nil &&
			strings.EqualFold(e.Value.Email, email) {
			all = append(all, id)
		}
	}
	return all
}

func TestExpiredOwnersThatAnotherPartSavesKeepTheirValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := attackPlayers(t, mapper.ExpiryMargin(0))
	old := m.New(player{ID: "1", Email: "a", Ends: time.Now().Add(time.Second)})
	kit.Must(m.Save(ctx, old))(t)
	time.Sleep(2100 * time.Millisecond)
	old.Value.Ends = time.Now().Add(time.Hour)
	_, err := mapper.Transact(ctx, m.SavePart(old), m.SavePart(m.New(player{ID: "2", Email: "a"})))
	if got := holders(t, m, "a", "1", "2"); len(got) > 1 {
		t.Errorf("two live entities have the value: %v (%v)", got, err)
	}
}

func TestExpiredOwnersThatAnotherPartChecksKeepTheirValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table, c := attackClient(t, mapper.ExpiryMargin(0))
	old := m.New(player{ID: "1", Email: "a", Ends: time.Now().Add(time.Second)})
	kit.Must(m.Save(ctx, old))(t)
	time.Sleep(2100 * time.Millisecond)
	check := mapper.RawPart(c, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &table, Key: map[string]types.AttributeValue{"PK": kit.S("PLAYER#1"), "SK": kit.S("HEAD")},
		ConditionExpression: aws.String("attribute_exists(PK)"),
	}})
	_, err := mapper.Transact(ctx, check, m.SavePart(m.New(player{ID: "2", Email: "a"})))
	old.Value.Ends = time.Now().Add(time.Hour)
	_, err2 := m.Save(ctx, old)
	t.Log(err, "|", err2)
	if got := holders(t, m, "a", "1", "2"); len(got) > 1 {
		t.Errorf("two live entities have the value: %v (%v, %v)", got, err, err2)
	}
}

func TestUniqueExpiredOwnerOfTwoValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := attackPlayers(t, mapper.ExpiryMargin(0))
	kit.Must(m.Save(ctx, m.New(player{
		ID: "1", Email: "a", Tenant: "t", Nick: "n",
		Ends: time.Now().Add(-time.Hour),
	})))(t)
	if _, err := m.Save(ctx, m.New(player{ID: "2", Email: "a", Tenant: "t", Nick: "n"})); err != nil {
		t.Errorf("an insert that takes two values of one expired owner: %v", err)
	}
}

func TestUniqueExpiredOwnerOfTwoValuesInTransact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := attackPlayers(t, mapper.ExpiryMargin(0))
	kit.Must(m.Save(ctx, m.New(player{
		ID: "1", Email: "secret", Tenant: "t", Nick: "n",
		Ends: time.Now().Add(-time.Hour),
	})))(t)
	if _, err := mapper.Transact(ctx, m.SavePart(m.New(player{ID: "2", Email: "secret"})),
		m.SavePart(m.New(player{ID: "3", Tenant: "t", Nick: "n"}))); err != nil {
		t.Errorf("two inserts that take values of one expired owner: %v", err)
	}
}

// seat has a unique number.
type seat struct {
	_    struct{} `ddb:"table=seats"`
	ID   string   `ddb:"pk=SEAT#{ID}"`
	N    int      `ddb:"sk=HEAD,unique"`
	F    float64  `ddb:"sk=HEAD,unique"`
	Name string   `ddb:"sk=HEAD"`
}

var seatN = handmade.Number("N", "", func(m *seat) *int { return &m.N })

func TestAGuardThatWasLeftIsTakenLater(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[seat](testengine.Start(t).Client(), mapper.Table(table)))(t)
	f := kit.NewForeign(t, table)
	kit.Must(m.Save(ctx, m.New(seat{ID: "1", N: 5})))(t)
	// stored before N was unique: its guard is missing
	f.Put(kit.Item{"PK": kit.S("SEAT#2"), "SK": kit.S("HEAD"), "N": kit.N("5")})
	// before the second try of the patch, another writer counts down
	via := kit.AtRequest("TransactWriteItems", 2, func() {
		f.Put(kit.Item{"PK": kit.S("SEAT#2"), "SK": kit.S("HEAD"), "N": kit.N("4")})
	})
	other := kit.Must(mapper.New[seat](kit.Client(t, via, 3), mapper.Table(table)))(t)
	_, err := handmade.EntityOf(other.Key("2")).Patch(seatN.Increment(1)).Exec(ctx, other)
	one, two := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("2")))(t)
	if one.Value.N == two.Value.N {
		t.Errorf("the patch made a duplicate of N=%d: %v", one.Value.N, err)
	}
}

func TestRawPartsOnGuards(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table, c := attackClient(t)
	raw := mapper.RawPart(c, types.TransactWriteItem{Delete: &types.Delete{
		TableName: &table,
		Key:       map[string]types.AttributeValue{"PK": kit.S("~unique#player#Email#secret"), "SK": kit.S("guard")},
	}})
	_, err := mapper.Transact(ctx, m.SavePart(m.New(player{ID: "1", Email: "secret"})), raw)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the value: %v", err)
	}
}

func TestTransactionsThatDeleteAnEntityDoNotAddToIt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table := attackPlayers(t)
	e := m.New(player{ID: "1", Email: "a"})
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Notes = append(e.Value.Notes, playerNote{N: 1, Text: "x"})
	_, err := mapper.Transact(ctx, m.DeletePartByKey(m.Unique("Email", "a")), m.SavePart(e))
	items := kit.NewForeign(t, table).All("PLAYER#1")
	_, byKey := mapper.Transact(ctx, m.DeletePartByKey(m.Key("1")), m.SavePart(e))
	if err == nil {
		t.Errorf("a delete by a lookup, and an addition to the same entity: no error, items %v; by key: %v", items,
			byKey)
	} else {
		t.Logf("by lookup: %v; by key: %v", err, byKey)
	}
}

func TestPlansOfUniqueValuesCountReleases(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	ctx := context.Background()
	m, _ := attackPlayers(t)
	check := func(name string, plan *mapper.Plan, r *mapper.Receipt) {
		t.Helper()
		p := r.Predicted()
		if plan != nil && (plan.WCU.Min > r.Consumed.WCU || plan.WCU.Max < r.Consumed.WCU) {
			t.Errorf("%s: plan %+v, consumed %v", name, plan.WCU, r.Consumed.WCU)
		}
		if p.WCU.Min > r.Consumed.WCU || p.WCU.Max < r.Consumed.WCU {
			t.Errorf("%s: predicted %+v, consumed %v", name, p.WCU, r.Consumed.WCU)
		}
		if p.RCU.Min > r.Consumed.RCU || p.RCU.Max < r.Consumed.RCU {
			t.Errorf("%s: predicted %+v, consumed %v RCU", name, p.RCU, r.Consumed.RCU)
		}
	}
	save := func(name string, e *mapper.Entity[player], o ...mapper.WriteOption) {
		t.Helper()
		plan := kit.Must(m.PlanSave(e, o...))(t)
		check(name, plan, kit.Must(m.Save(ctx, e, o...))(t))
	}
	e := m.New(player{ID: "1", Email: strings.Repeat("x", 990), Tenant: "a", Nick: "ann"})
	save("insert", e)
	e.Value.Email = "b"
	save("change", e)
	e.Value.Email = ""
	save("empty", e)
	e.Value.Email = "c"
	save("first", e)
	save("staged", m.New(player{ID: "2", Email: "d", Notes: []playerNote{{N: 1}, {N: 2}}}), mapper.Staged())
	e2 := kit.Must(m.Load(ctx, m.Key("2")))(t)
	e2.Value.Email, e2.Value.Notes[0].Text = "e", "y"
	save("independent", e2, mapper.Independent())
	e2.Value.ID = "3"
	save("move", e2, mapper.Move())
	plan := kit.Must(m.PlanDelete(e2))(t)
	check("delete", plan, kit.Must(m.Delete(ctx, e2))(t))
	plan = kit.Must(m.PlanDelete(e))(t)
	check("delete root alone", plan, kit.Must(m.Delete(ctx, e))(t))
	e = m.New(player{ID: "4", Email: "d", Notes: []playerNote{{N: 1}, {N: 2}}})
	save("insert", e)
	plan = kit.Must(m.PlanDelete(e, mapper.Staged()))(t)
	check("staged delete", plan, kit.Must(m.Delete(ctx, e, mapper.Staged()))(t))
	e = m.New(player{ID: "4", Email: "d", Notes: []playerNote{{N: 1}, {N: 2}}})
	save("insert", e)
	p := kit.Must(mapper.PlanTransact(m.DeletePart(e), m.SavePart(m.New(player{ID: "5", Email: "d"}))))(t)
	check("delete and take", p, kit.Must(mapper.Transact(ctx, m.DeletePart(e), m.SavePart(m.New(player{
		ID:    "5",
		Email: "d",
	}))))(t))
	patch := handmade.EntityOf(m.Key("5")).Patch(playerEmail.Set("z"))
	pp := kit.Must(patch.Plan(m))(t)
	check("patch", pp, kit.Must(patch.Exec(ctx, m))(t))
	up := handmade.EntityOf(m.Key("6")).Patch(playerEmail.Set("zz")).Upsert()
	pp = kit.Must(up.Plan(m))(t)
	check("upsert", pp, kit.Must(up.Exec(ctx, m))(t))
	rm := handmade.EntityOf(m.Key("6")).Patch(playerEmail.Remove())
	pp = kit.Must(rm.Plan(m))(t)
	check("patch remove", pp, kit.Must(rm.Exec(ctx, m))(t))
	tp := handmade.EntityOf(m.Key("5")).Patch(playerEmail.Set("y"))
	p = kit.Must(mapper.PlanTransact(tp.PatchPart(m), m.SavePart(m.New(player{ID: "8", Email: "z"}))))(t)
	check("transact patch", p, kit.Must(mapper.Transact(ctx, tp.PatchPart(m), m.SavePart(m.New(player{
		ID:    "8",
		Email: "z",
	}))))(t))
}

func TestLookupsOfGuardsWithoutVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table := attackPlayers(t)
	f := kit.NewForeign(t, table)
	f.Put(kit.Item{
		"PK": kit.S("~unique#player#Email#a"), "SK": kit.S("guard"), "~pk": kit.S("PLAYER#9"),
		"~sk": kit.S("HEAD"),
		"_a":  &types.AttributeValueMemberB{Value: []byte("12345678")},
	})
	if _, err := m.Load(ctx, m.Unique("Email", "a")); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("a lookup of a guard without a version: %v", err)
	}
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a"})))(t)
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "2", Email: "a"}))), "1")
}

func TestPatchesByLookupRequireTheValueNextToASave(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table := attackPlayers(t)
	e := m.New(player{ID: "1", Email: "a"})
	kit.Must(m.Save(ctx, e))(t)
	via := kit.AtRequest("TransactWriteItems", 1, func() { // the value goes to another entity
		kit.Must(handmade.EntityOf(m.Key("1")).Patch(playerEmail.Set("b")).Exec(ctx, m))(t)
		kit.Must(m.Save(ctx, m.New(player{ID: "2", Email: "a"})))(t)
	})
	other := kit.Must(mapper.New[player](kit.Client(t, via, 3), mapper.Table(table), mapper.AssumeVerified()))(t)
	mine := kit.Must(other.Load(ctx, other.Key("1")))(t)
	mine.Value.Notes = append(mine.Value.Notes, playerNote{N: 1})
	byEmail := mapperimpl.Lookup(0, func(v *player) { v.Email = "a" })
	notes := handmade.Elements[player, playerNote]{Node: byEmail, Item: 1}
	_, err := mapper.Transact(ctx, notes.Add(playerNote{N: 2}).PatchPart(other), other.SavePart(mine))
	got := kit.Must(m.Load(ctx, m.Key("1")))(t)
	if len(got.Value.Notes) == 2 {
		t.Errorf("the note for the owner of the value was added to an entity that has lost it: %v", err)
	} else {
		t.Logf("%v %+v", err, got.Value)
	}
}

func TestOvertakenStagedInsertsLeaveNoItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, email := range []string{"", "a"} {
		m, table := attackPlayers(t)
		n := 0
		via := kit.AtRequest(map[string]string{"": "UpdateItem", "a": "TransactWriteItems"}[email], 1, func() {
			n++
			kit.Must(m.Save(ctx, m.New(player{ID: "1", Name: "other"})))(t)
		})
		other := kit.Must(mapper.New[player](kit.Client(t, via, 3), mapper.Table(table)))(t)
		_, err := other.Save(ctx, other.New(player{ID: "1", Email: email, Notes: []playerNote{{N: 1}, {N: 2}}}),
			mapper.Staged())
		if items := kit.NewForeign(t, table).All("PLAYER#1"); len(items) != 1 || n != 1 {
			t.Errorf("email %q: %d items are left (%v), %v", email, len(items), err, via.Log)
		}
	}
}

func TestTheDeleteOfAnExpiredOwnerFitsAnInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := attackPlayers(t, mapper.ExpiryMargin(0))
	expired := func(id, email string) {
		kit.Must(m.Save(ctx, m.New(player{ID: id, Email: email, Ends: time.Now().Add(-time.Hour)})))(t)
	}
	notes := make([]playerNote, 98)
	for i := range notes {
		notes[i].N = i
	}
	expired("1", "a")
	if _, err := m.Save(ctx, m.New(player{ID: "2", Email: "a", Notes: notes})); err != nil {
		t.Errorf("an insert of 99 items: %v", err)
	}
}

func TestExpiredOwnersThatAnotherPartPatchesKeepTheirValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table, c := attackClient(t, mapper.ExpiryMargin(0))
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Ends: time.Now().Add(-time.Hour)})))(t)
	raw := mapper.RawPart(c, types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: map[string]types.AttributeValue{"PK": kit.S("PLAYER#1"), "SK": kit.S("HEAD")},
		UpdateExpression:          aws.String("SET Ends = :e, #ends = :e"),
		ExpressionAttributeNames:  map[string]string{"#ends": "ends"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":e": kit.N("4102444800")},
	}})
	_, err := mapper.Transact(ctx, raw, m.SavePart(m.New(player{ID: "2", Email: "a"})))
	if got := holders(t, m, "a", "1", "2"); len(got) > 1 {
		t.Errorf("two live entities have the value: %v (%v)", got, err)
	}
}

func TestAdditionsToRootItemsThatGetAnIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string]mapper.WriteOption{
		"independent": mapper.Independent(),
		"checkroot":   mapper.CheckRoot(),
		"exactlyonce": mapper.ExactlyOnce(), "checkloaded": mapper.CheckLoaded(),
	} {
		m, table := attackPlayers(t)
		f := kit.NewForeign(t, table)
		f.Put(kit.Item{"PK": kit.S("PLAYER#1"), "SK": kit.S("HEAD")})
		f.Put(kit.Item{"PK": kit.S("PLAYER#1"), "SK": kit.S("NOTE#001"), "Text": kit.S("x")})
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		e.Value.Email = "a"
		e.Value.Notes[0].Text = "z"
		e.Value.Notes = append(e.Value.Notes, playerNote{N: 2})
		if _, err := m.Save(ctx, e, o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := kit.Must(m.Load(ctx, m.Key("1")))(t); len(got.Value.Notes) != 2 {
			t.Errorf("%s: got %+v", name, got.Value)
		}
	}
}

// open has partition keys without a prefix, and no sort keys.
type open struct {
	_    struct{} `ddb:"table=open,range=-"`
	ID   string   `ddb:"pk={ID}"`
	Mail string   `ddb:"unique"`
}

func TestPartitionKeysAreNoGuards(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "")
	m, err := mapper.New[open](testengine.Start(t).Client(), mapper.Table(table), mapper.AssumeVerified())
	if err != nil {
		t.Fatal(err)
	}
	kit.Must(m.Save(ctx, m.New(open{ID: "1", Mail: "victim"})))(t)
	_, err = m.Load(ctx, m.Key("~unique#open#Mail#victim"))
	t.Log("load:", err)
	_, err = m.Save(ctx, m.New(open{ID: "~unique#open#Mail#other"}))
	t.Log("forge:", err)
	_, err = m.Save(ctx, m.New(open{ID: "3", Mail: "other"}))
	t.Log("take:", err, guardKeys(t, table))
	_, err = m.Load(ctx, m.Key("~unique#open#Mail#other"))
	t.Log("load forged:", err)
	_, err = m.DeleteByKey(ctx, m.Key("~unique#open#Mail#victim"))
	t.Log(err, guardKeys(t, table))
	if _, err := m.Save(ctx, m.New(open{ID: "2", Mail: "victim"})); err == nil {
		t.Errorf("a delete by the key of a guard made a duplicate")
	}
	n := 0
	for e, err := range m.Scan(ctx) {
		n++
		t.Log(e.Value, err)
	}
	t.Logf("scan: %d", n)
}

// inverted has an index on the unique attribute, and one with the keys of the table in another order.
type inverted struct {
	_     struct{}     `ddb:"table=inverted"`
	_     struct{}     `ddb:"index=byMail,hash=Mail,pk={Mail}"`
	_     struct{}     `ddb:"index=bySort,hash=SK,range=PK,pk=HEAD,sk=INV#{ID}"`
	ID    string       `ddb:"pk=INV#{ID}"`
	Mail  string       `ddb:"sk=HEAD,unique"`
	Name  string       `ddb:"sk=HEAD"`
	Parts []playerNote `ddb:"sk=NOTE#{N:03}"`
}

func TestIndexesOnKeysHaveEntriesOfGuards(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	ctx := context.Background()
	m := kit.Indexed[inverted](t, nil, mapper.AssumeVerified())
	check := func(name string, plan *mapper.Plan, r *mapper.Receipt) {
		t.Helper()
		if plan.WCU.Min > r.Consumed.WCU || plan.WCU.Max < r.Consumed.WCU {
			t.Errorf("%s: plan %+v, consumed %v", name, plan.WCU, r.Consumed.WCU)
		}
	}
	e := m.New(inverted{ID: "1", Mail: "a", Parts: []playerNote{{N: 1}}})
	plan := kit.Must(m.PlanSave(e))(t)
	check("insert", plan, kit.Must(m.Save(ctx, e))(t))
	e.Value.Mail = "b"
	plan = kit.Must(m.PlanSave(e))(t)
	check("change", plan, kit.Must(m.Save(ctx, e))(t))
	e.Value.Mail = ""
	plan = kit.Must(m.PlanSave(e))(t)
	check("empty", plan, kit.Must(m.Save(ctx, e))(t))
	e2 := m.New(inverted{ID: "2", Mail: "a", Parts: []playerNote{{N: 1}}})
	plan = kit.Must(m.PlanSave(e2, mapper.Staged()))(t)
	check("staged", plan, kit.Must(m.Save(ctx, e2, mapper.Staged()))(t))
}

func TestErrorsOfGuardsShowNoValue(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, staged := range []bool{true, false} {
		m, table := attackPlayers(t)
		f := kit.NewForeign(t, table)
		a := &types.AttributeValueMemberB{Value: []byte("12345678")}
		put := func() {
			f.Put(kit.Item{
				"PK": kit.S("~unique#player#Email#secret"), "SK": kit.S("guard"), "~pk": kit.S("PLAYER#9"),
				"~sk": kit.S("HEAD"), "_a": a, "_v": &types.AttributeValueMemberB{Value: []byte(rand2())},
			})
		}
		put()
		via := &kit.Faulty{At: -1}
		via.Late = func(r *http.Request) bool {
			if kit.OperationOf(r) == "TransactWriteItems" {
				put()
			}
			return false
		}
		own := kit.Must(mapper.New[player](kit.Client(t, via, 1), mapper.Table(table)))(t)
		var o []mapper.WriteOption
		if staged {
			o = append(o, mapper.Staged())
		}
		_, err := own.Save(ctx, own.New(player{ID: "1", Email: "secret", Notes: []playerNote{{N: 1}}}), o...)
		t.Log(err)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("staged %v: the error shows the value: %v", staged, err)
		}
		var c *mapper.ConflictError
		if errors.As(err, &c) {
			t.Logf("%+v", c)
		}
		_ = m
	}
}

func rand2() string { return fmt.Sprintf("%08d", rand.Intn(1e8)) }

func TestUpdatesByLookupAreNotIndependent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := attackPlayers(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a"})))(t)
	add := func(p *player) error { p.Notes = []playerNote{{N: 1}, {N: 2}}; return nil }
	_, err := m.Update(ctx, m.Unique("Email", "a"), add, mapper.Independent())
	if err == nil || !strings.Contains(err.Error(), "lookup") {
		t.Errorf("an update by a lookup with Independent: %v", err)
	}
}

// badge has unique values of bytes and of large numbers.
type badge struct {
	_    struct{}     `ddb:"table=badges"`
	ID   string       `ddb:"pk=BADGE#{ID}"`
	Raw  []byte       `ddb:"sk=HEAD,unique"`
	Big  *mathbig.Int `ddb:"sk=HEAD,unique"`
	Bare mathbig.Int  `ddb:"sk=HEAD,unique"`
}

func TestUniqueLookupsOfBytesAndLargeNumbers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, err := mapper.New[badge](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.AssumeVerified())
	if err != nil {
		t.Fatal(err)
	}
	kit.Must(m.Save(ctx, m.New(badge{ID: "1", Raw: []byte("x"), Big: mathbig.NewInt(7), Bare: *mathbig.NewInt(8)})))(t)
	for name, v := range map[string]any{"Raw": []byte("x"), "Big": mathbig.NewInt(7), "Bare": *mathbig.NewInt(8)} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: panic: %v", name, r)
				}
			}()
			if _, err := m.Load(ctx, m.Unique(name, v)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
}

func TestPatchesByTwoLookupsRequireBothValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table := attackPlayers(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Tenant: "t", Nick: "n"})))(t)
	via := kit.AtRequest("TransactWriteItems", 1, func() {
		kit.Must(handmade.EntityOf(m.Key("1")).Patch(playerEmail.Set("b")).Exec(ctx, m))(t)
		kit.Must(m.Save(ctx, m.New(player{ID: "2", Email: "a"})))(t)
	})
	other := kit.Must(mapper.New[player](kit.Client(t, via, 3), mapper.Table(table), mapper.AssumeVerified()))(t)
	byEmail := handmade.Elements[player, playerNote]{
		Node: mapperimpl.Lookup(0, func(v *player) { v.Email = "a" }),
		Item: 1,
	}
	byNick := handmade.Elements[player, playerNote]{Node: mapperimpl.Lookup(1, func(v *player) {
		v.Tenant,
			v.Nick = "t", "n"
	}), Item: 1}
	_, err := mapper.Transact(ctx, byEmail.Add(playerNote{N: 1}).PatchPart(other),
		byNick.Add(playerNote{N: 2}).PatchPart(other))
	if got := kit.Must(m.Load(ctx, m.Key("1")))(t); len(got.Value.Notes) == 2 {
		t.Errorf("the note for the owner of the e-mail address was added to an entity that has lost it: %v", err)
	} else {
		t.Log(err)
	}
}

// A move gives a root item without an incarnation one, so that a late delete of the old entity releases nothing.
func TestMovesRenewTheIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, table := attackPlayers(t)
	f := kit.NewForeign(t, table)
	for _, has := range []bool{true, false} {
		it := kit.Item{"PK": kit.S("PLAYER#1"), "SK": kit.S("HEAD"), "ID": kit.S("1"), "Email": kit.S("x")}
		if has {
			it["_a"] = &types.AttributeValueMemberB{Value: []byte("12345678")}
		}
		f.Put(it)
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		e.Value.ID = "2"
		kit.Must(m.Save(ctx, e, mapper.Move()))(t)
		root, guard := f.Get("PLAYER#2", "HEAD"), f.Get("~unique#player#Email#x", "guard")
		if root["_a"] == nil || !attr.Same(root["_a"], guard["_a"]) || attr.Same(root["_a"], it["_a"]) {
			t.Errorf("incarnation %v: root item %v, guard %v", has, root, guard)
		}
		kit.Must(m.DeleteByKey(ctx, m.Key("2")))(t)
	}
}
