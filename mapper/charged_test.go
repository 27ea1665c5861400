package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func filler(bytes int) string { return strings.Repeat("x", bytes) }

// DynamoDB charges a refused write for the stored item, whatever its size, and twice that in a
// transaction. The receipt has this charge separately from the reported units.
func TestRefusedWritesAreCharged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, raw := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	refused := func(name string, want cost.Units, r *mapper.Receipt, err error) {
		t.Helper()
		var conflict *mapper.ConflictError
		if !errors.As(err, &conflict) && !errors.Is(err, mapper.ErrExists) {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Refused != want || r.Predicted().WCU != want || r.Consumed.WCU != 0 {
			t.Errorf("%s: %v, want %v", name, r, want)
		}
		if text := "; refused writes, which are charged and not reported: " + want.String() +
			" WCU"; !strings.Contains(r.String(), text) {
			t.Errorf("%s: %v", name, r)
		}
	}
	late := kit.Must(users.Load(ctx, users.Key("1")))(t)
	kit.Must(users.Update(ctx, users.Key("1").Item("U#Information"),
		func(u *kit.User) error { u.Name = filler(300_000); return nil }))(t)
	late.Value.Email = "late@example.com"
	r, err := users.Save(ctx, late)
	refused("an update", cost.Exactly(294), r, err)
	r, err = users.Save(ctx, late, mapper.ExactlyOnce())
	refused("one in a transaction", cost.Units{Min: 294, Expected: 588, Max: 588}, r, err)
	r, err = users.Save(ctx, users.New(kit.User{ID: "1"}))
	refused("an insert over a large root", cost.Exactly(294), r, err)
	late.Value.Home.City = "Elsewhere"
	r, err = users.Save(ctx, late)
	refused("one of two", cost.Units{Min: 295, Expected: 590, Max: 590}, r, err)
	r, err = users.Delete(ctx, late, mapper.Independent())
	if r.Refused.Expected != 294 || !errors.As(err, new(*mapper.PartialError)) {
		t.Errorf("a delete: %v, %v", r, err)
	}
	raw.Put(kit.Item{"PK": kit.S("USER#2"), "SK": kit.S("U#Information"), "name": kit.S(filler(100_000))})
	if r, err = users.Save(ctx, users.New(kit.User{ID: "2", Email: filler(200_000)})); r.Refused != (cost.Units{
		Min:      98,
		Expected: 98, Max: 196,
	}) {
		t.Errorf("a larger item that is not written: %v, %v", r, err)
	}
}

// pagesOf has elements of any size before and behind the root, in the order of their keys.
type pagesOf struct {
	_    struct{}          `ddb:"table=pages"`
	ID   string            `ddb:"pk={ID}"`
	Text string            `ddb:"sk=N"`
	Last map[string]string `ddb:"sk=Z#{key}"`
	Tens map[string]string `ddb:"sk=A#{key}"`
}

// The plan of a load of several pages is exact. A page ends with the item that takes it to 1 MB, in
// order of the sort keys, and items that the model does not know count too.
func TestPlanOfLoadOverPages(t *testing.T) {
	t.Parallel()
	if e := testengine.Start(t); e.Name == engines.Dynoxide {
		return // it ends an answer before the item that would take it over 1 MB, DynamoDB after it
	}
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[pagesOf](testengine.Start(t).Client(), mapper.Table(table)))(t)
	e := m.New(pagesOf{
		ID: "1", Last: map[string]string{"1": filler(390_000), "2": filler(300_000)},
		Tens: map[string]string{"1": filler(390_000), "2": filler(10_000), "3": filler(390_000)},
	})
	kit.Must(m.Save(ctx, e))(t)
	r := kit.NewForeign(t, table)
	r.Put(kit.Item{"PK": kit.S("1"), "SK": kit.S("B"), "x": kit.S(filler(350_000))})
	r.Put(kit.Item{"PK": kit.S("1"), "SK": kit.S("zz"), "x": kit.S(filler(150_000))})
	check := func(name string, sel query.Selection[pagesOf], requests int) {
		t.Helper()
		e := kit.Must(m.Load(ctx, sel))(t)
		plan := kit.Must(m.PlanLoad(e))(t)
		var r mapper.Receipt
		kit.Must(m.Load(ctx, e, mapper.ReceiptTo(&r)))(t)
		if !plan.RCU.Exact() || plan.RCU != r.Predicted().RCU || plan.RCU.Min != r.Consumed.RCU ||
			plan.Requests != r.Predicted().Requests || r.Predicted().Requests != requests {
			t.Errorf("%s: planned %v, sent %v, want %d requests", name, plan, &r, requests)
		}
	}
	check("all", m.Key("1"), 5) // the first page, the root, both pages, the root
	check("joined", query.Join(m.Key("1"), m.Key("1").Prefix("A#"), m.Key("1").Item("N"), m.Key("1").Item("Z#1")), 12)
	kit.Must(m.Update(ctx, m.Key("1"), func(p *pagesOf) error { p.Tens["2"] = filler(60_000); return nil }))(t)
	check("grown", m.Key("1"), 5)
	kit.Must(m.Save(ctx, m.New(
		pagesOf{ID: "2", Tens: map[string]string{"1": filler(390_000), "2": filler(390_000), "3": filler(390_000)}},
	)))(t)
	part := kit.Must(m.Load(ctx, m.Key("2").Prefix("A#")))(t)
	if p := kit.Must(m.PlanLoad(part))(t); p.RCU.Exact() || p.RCU.Max != p.RCU.Min+0.5 || p.Requests != 1 {
		t.Errorf("an answer that the last item takes to 1 MB: %v", p)
	}
}

// Other writers may have enlarged an item that is not guarded. Its price is a bound, and the expected
// price is that of the known size.
func TestUnguardedItemsAreBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Counter](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Counter{ID: "1", Count: 1, Notes: filler(3000)})))(t)
	for _, c := range []struct {
		notes    int
		consumed float64
	}{{41_000, 41}, {10, 3}, {3000, 3}} {
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		kit.NewForeign(t, table).Set("1", "HEAD", "Notes", kit.S(filler(c.notes)))
		e.Value.Count++
		plan := kit.Must(m.PlanSave(e))(t)
		r := kit.Must(m.Save(ctx, e))(t)
		if r.Predicted().WCU != plan.WCU || !plan.WCU.Contains(r.Consumed.WCU) || plan.WCU.Max != 400 ||
			plan.WCU.Min != 1 || plan.WCU.If != "other writers enlarged the item" {
			t.Errorf("%d bytes of notes: planned %v, %v", c.notes, plan, r)
		}
		kit.NewForeign(t, table).Set("1", "HEAD", "Notes", kit.S(filler(3000)))
	}
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	kit.NewForeign(t, table).Set("1", "HEAD", "more", kit.S(filler(5000)))
	plan := kit.Must(m.PlanDelete(e))(t)
	r := kit.Must(m.Delete(ctx, e))(t)
	if r.Consumed.WCU != 8 ||
		plan.WCU != (cost.Units{Min: 3, Expected: 3, Max: 400, If: "other writers enlarged the item"}) {
		t.Errorf("planned %v, %v", plan, r)
	}
}

// The units of indexes are separate in the receipt, which no longer calls the price
// known: a model does not declare them.
func TestIndexesAreSeparate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	name := fmt.Sprintf("indexed-%d", time.Now().UnixNano())
	key := func(attribute string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &attribute, KeyType: kind}
	}
	all := &types.Projection{ProjectionType: types.ProjectionTypeAll}
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: "S"}, {
				AttributeName: aws.String("SK"),
				AttributeType: "S",
			}, {AttributeName: aws.String("email"), AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{key("PK", "HASH"), key("SK", "RANGE")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("byEmail"),
			KeySchema: []types.KeySchemaElement{key("email", "HASH")}, Projection: all,
		}},
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
			IndexName: aws.String("own"),
			KeySchema: []types.KeySchemaElement{key("PK", "HASH"), key("email", "RANGE")}, Projection: all,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var totals mapper.Totals
	m := kit.Must(mapper.New[kit.User](client, mapper.Table(name), mapper.Observe(&totals)))(t)
	e := m.New(kit.User{ID: "1", Email: "a", Name: filler(2500)})
	r := kit.Must(m.Save(ctx, e))(t)
	if c := r.Consumed; c.WCU != 9 || len(c.Indexes) != 2 || c.Indexes[name+"/byEmail"] != 3 ||
		c.Indexes[name+"/own"] != 3 || r.Predicted().WCU.Exact() || r.Predicted().WCU.Expected != 3 ||
		!r.Predicted().WCU.Contains(9) {
		t.Errorf("%+v", r)
	}
	want := "one request: 3 WCU; consumed 9 WCU, of these in indexes: " + name +
		"/byEmail 3 (the model does not declare it), " + name + "/own 3 (the model does not declare it)\n"
	if !strings.HasPrefix(r.String(), want) {
		t.Errorf("%s\nwant\n%s", r, want)
	}
	e.Value.Name = filler(1900)
	plan := kit.Must(m.PlanSave(e, mapper.ExactlyOnce()))(t)
	if text := plan.String(); !strings.HasPrefix(text, "one transaction: 6 WCU\n") ||
		!strings.HasSuffix(text, "\n  bounds: 6 to 16 WCU, more than expected if the table has indexes that the "+
			"model does not declare") {
		t.Errorf("%v", plan)
	}
	r = kit.Must(m.Save(ctx, e, mapper.ExactlyOnce()))(t)
	if len(r.Consumed.Indexes) != 2 || r.Predicted().WCU.Min != 6 || r.Predicted().WCU.Exact() ||
		testengine.ReportsTransactions(t) && (r.Consumed.WCU != 12 || r.Consumed.Indexes[name+"/own"] != 3) {
		t.Errorf("in a transaction: %v", r)
	}
	e.Value.Home = kit.Address{Street: "Street", City: "Town"} // an item without the indexes' key
	if r = kit.Must(m.Save(ctx, e))(t); !r.Predicted().WCU.Exact() || r.Consumed.Indexes != nil {
		t.Errorf("%v", r)
	}
	e.Value.Email = "b"
	e.Value.Home.City = "City"
	if plan := kit.Must(m.PlanSave(e))(t); plan.WCU.Min != 6 || plan.WCU.Exact() || len(plan.Alternatives) != 1 ||
		plan.Alternatives[0].WCU.Exact() {
		t.Errorf("%v", plan)
	}
	if other := kit.Must(mapper.New[kit.User](client,
		mapper.Table(name)))(t); !kit.Must(other.PlanSave(other.New(e.Value)))(t).
		WCU.Exact() {
		t.Error("a mapper knows of indexes that it has not met")
	}
	if total := totals.Rows()[0]; total.WCU.Expected != 10 || len(total.Consumed.Indexes) != 2 {
		t.Errorf("%+v", total)
	}
}

// An insert that may meet an expired item expects none, and says what it costs if there is
// one.
func TestExpectedInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[models.ExpiringAll](t, "PK:S", "SK:S")
	e := m.New(models.ExpiringAll{ID: "1", Until: time.Now().Add(time.Hour), Text: "t"})
	plan := kit.Must(m.PlanSave(e))(t)
	if text := plan.String(); !strings.HasPrefix(text, "one request: 1 WCU\n") ||
		!strings.HasSuffix(text, "\n  bounds: 1 to 400 WCU, more than expected if an expired item has the same key") {
		t.Errorf("%v", plan)
	}
	if r := kit.Must(m.Save(ctx, e))(t); r.Predicted().WCU != plan.WCU || r.Consumed.WCU != 1 {
		t.Errorf("%v", r)
	}
	e.Value.Text = "changed"
	if plan := kit.Must(m.PlanSave(e))(t); plan.WCU != cost.Exactly(1) {
		t.Errorf("%v", plan)
	}
}

// The expected cost of a patch is the cost for the items that the mapper has read, written or patched
// before; a hint replaces them.
func TestExpectedPatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	with := func(options ...mapper.Option) *mapper.Mapper[store.User] {
		t.Helper()
		return kit.Must(mapper.New[store.User](testengine.Start(t).Client(),
			append(options, mapper.Table(table))...))(t)
	}
	u := store.UserFields
	patch := store.UserByID("1").Patch(u.Email.Set("b@example.com"))
	expect := func(name string, m *mapper.Mapper[store.User], want string) {
		t.Helper()
		plan := kit.Must(patch.Plan(m))(t)
		if text := plan.String(); !strings.HasPrefix(text, "one request: "+want+" WCU\n") ||
			!strings.HasSuffix(text, "\n  bounds: 1 to 400 WCU, more than expected if the item is larger") {
			t.Errorf("%s: %v", name, plan)
		}
	}
	m := with()
	expect("nothing is known", m, "1")
	expect("a hint", with(mapper.SizeEstimate("U#Information", 5000)), "5")
	kit.Must(m.Save(ctx, m.New(store.User{ID: "1", Email: filler(3500)})))(t)
	expect("written", m, "4")
	reader := with()
	kit.Must(reader.Load(ctx, reader.Key("1")))(t)
	expect("read", reader, "4")
	patcher := with()
	if r := kit.Must(patch.Exec(ctx, patcher))(t); r.Consumed.WCU != 4 || r.Predicted().WCU.Expected != 1 ||
		!r.Predicted().WCU.Contains(4) {
		t.Errorf("%v", r)
	}
	expect("patched", patcher, "4")
	hinted := with(mapper.SizeEstimate("Cart", 3500))
	if plan := kit.Must(hinted.PlanDeleteByKey(hinted.Key("1").Item("M#Cart")))(t); plan.WCU.Expected != 4 ||
		plan.WCU.Max != 400 {
		t.Errorf("%v", plan)
	}
	if plan := kit.Must(with(mapper.SizeEstimate("U#Information", 9000)).
		PlanLoad(reader.Key("1").Item("U#Information")))(t); plan.RCU.Expected != 1.5 {
		t.Errorf("%v", plan)
	}
	if plan := kit.Must(reader.PlanLoad(reader.Key("2"),
		mapper.Strong()))(t); plan.String() != "read: 1 request, 1 RCU\n  bounds: 1 to 356 RCU, more than expected "+
		"if the range has more items" {
		t.Errorf("%v", plan)
	}
	kit.Must(m.Save(ctx, m.New(store.User{ID: "2", Cart: store.Cart{Lines: filler(90_000)}})))(t)
	kit.Must(reader.Load(ctx, reader.Key("2")))(t)
	if plan := kit.Must(reader.PlanLoad(reader.Key("3"), mapper.Strong()))(t); plan.RCU.Expected != 7 {
		t.Errorf("%v", plan)
	}
	_, err := mapper.New[store.User](testengine.Start(t).Client(), mapper.SizeEstimate("none", 1))
	kit.WantError(t, nil, err,
		`SizeEstimate of "none", which is not a kind of item of the model: name one of U#Information`)
	_, err = mapper.New[store.User](testengine.Start(t).Client(), mapper.SizeEstimate("U#Information", -1))
	kit.WantError(t, nil, err, "an item has at most 400 KB")
}

// A receipt of an engine that reports something else than was predicted says once which
// figure is whose.
func TestMisreports(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users := kit.Must(mapper.New[kit.User](&misreporting{Client: testengine.Start(t).Client()},
		mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	r := kit.Must(users.Save(ctx,
		users.New(kit.User{ID: "1", Email: "a", Home: kit.Address{Street: "Street", City: "Town"}})))(t)
	if text, _, _ := strings.Cut(r.String(), "\n"); text != "one transaction: predicted 4 WCU; the engine reported 2 "+
		"WCU; Independent(): 3 requests, 2 WCU; Staged(): 3 requests, 3 WCU" {
		t.Errorf("%v", r)
	}
	if strings.Count(r.String(), "reported") != 1 {
		t.Errorf("%v", r)
	}
	var read mapper.Receipt
	kit.Must(users.Load(ctx, users.Key("1").Item("U#Information"), mapper.ReceiptTo(&read)))(t)
	if read.String() != "read: 1 request, predicted 0.5 RCU; the engine reported 0 RCU" {
		t.Errorf("%v", &read)
	}
}

// misreporting reports two units for every transaction, and none for reads.
type misreporting struct{ mapper.Client }

func (c *misreporting) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	out, err := c.Client.GetItem(ctx, in, o...)
	if err == nil {
		out.ConsumedCapacity = nil
	}
	return out, err
}

func (c *misreporting) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := c.Client.TransactWriteItems(ctx, in, o...)
	if err == nil {
		out.ConsumedCapacity = []types.ConsumedCapacity{{
			CapacityUnits:      aws.Float64(2),
			WriteCapacityUnits: aws.Float64(2),
		}}
	}
	return out, err
}
