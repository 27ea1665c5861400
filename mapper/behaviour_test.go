package mapper_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Key fields may not change after the load, unless Move is set and everything is loaded. Then all items
// move, with the attributes that the model does not know.
func TestMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	r.Set("USER#1", "U#Information", "unknown", kit.S("kept"))
	r.Set("USER#1", "M#Card#visa", "unknown", kit.S("kept"))
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("X#Unknown"), "a": kit.S("stays")})
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	e.Value.ID = "2"
	receipt, err := users.Save(ctx, e)
	var changed *mapper.ValueError
	if !errors.As(err, &changed) || changed.Field != "ID" ||
		!strings.Contains(changed.Reason, `the key field was changed from "1" to "2" after the load`) ||
		receipt.Predicted().Requests != 0 {
		t.Errorf("%v", err)
	}
	part := kit.Must(users.Load(ctx, users.Key("1").Prefix("U#")))(t)
	part.Value.ID = "2"
	receipt, err = users.Save(ctx, part, mapper.Move())
	kit.WantError(t, receipt, err,
		"kit.User.ID: Move needs the whole entity, but only a part was loaded: load it by its key")

	plan := kit.Must(users.PlanSave(e, mapper.Move()))(t)
	receipt = kit.Must(users.Save(ctx, e, mapper.Move()))(t)
	if plan.WCU != receipt.Predicted().WCU || !plan.RCU.Contains(receipt.Consumed.RCU) ||
		len(receipt.Predicted().Items) != 18 || receipt.Predicted().Requests != 2 || len(receipt.LeftBehind) > 0 {
		t.Errorf("%v", receipt)
	}
	want := kit.SomeUser("2")
	got := kit.Must(users.Load(ctx, users.Key("2")))(t)
	if d := cmp.Diff(want, got.Value, kit.UserOptions); d != "" {
		t.Error(d)
	}
	if kit.Text(r.Get("USER#2", "U#Information")["unknown"]) != "kept" ||
		kit.Text(r.Get("USER#2", "M#Card#visa")["unknown"]) != "kept" {
		t.Error("unknown attributes did not move")
	}
	if left := r.All("USER#1"); len(left) != 1 || left["X#Unknown"] == nil {
		t.Errorf("left: %v", left)
	}
	if _, err := users.Load(ctx, users.Key("1")); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	// The entity can be used under its new key.
	e.Value.Email = "moved"
	kit.Must(users.Save(ctx, e))(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("3"))))(t)
	e.Value.ID = "3"
	_, err = users.Save(ctx, e, mapper.Move())
	if !errors.Is(err, mapper.ErrExists) {
		t.Error(err)
	}
	// It moves at once, or not.
	e.Value.ID = "4"
	receipt, err = users.Save(ctx, e, mapper.Move(), mapper.Independent())
	kit.WantError(t, receipt, err,
		"kit.User: Independent and Move exclude each other, since an entity moves in one transaction: leave "+
			"one out")
	for i := range 100 {
		e.Value.Public = append(e.Value.Public, kit.Wish{AddedAt: kit.Day(12, 1).Add(time.Duration(i) * time.Hour)})
	}
	receipt, err = users.Save(ctx, e, mapper.Move())
	kit.WantError(t, receipt, err, "an entity moves in one transaction: insert a copy under the new key, with Staged, "+
		"and delete the old one")
}

// Options that contradict each other, or the entity, are refused, never ignored.
func TestOptionsThatContradict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	e := users.New(kit.SomeUser("1"))
	for _, c := range []struct {
		options []mapper.WriteOption
		want    string
	}{
		{
			[]mapper.WriteOption{mapper.Independent(), mapper.Staged()},
			"kit.User: Independent and Staged exclude each other: use one of them",
		},
		{
			[]mapper.WriteOption{mapper.Independent(), mapper.CheckLoaded()},
			"kit.User: Independent and CheckLoaded exclude each other, since only a transaction checks " +
				"other items: leave one out",
		},
		{
			[]mapper.WriteOption{mapper.Staged(), mapper.CheckLoaded()},
			"kit.User: Staged and CheckLoaded exclude each other, since only a transaction checks other " +
				"items: leave one out",
		},
		{
			[]mapper.WriteOption{mapper.Staged(), mapper.ExactlyOnce()},
			"kit.User: Staged and ExactlyOnce exclude each other: use one of them",
		},
	} {
		receipt, err := users.Save(ctx, e, c.options...)
		kit.WantError(t, receipt, err, c.want)
		_, err = users.PlanSave(e, c.options...)
		kit.WantError(t, nil, err, c.want)
	}
	receipt, err := users.Delete(ctx, e)
	kit.WantError(t, receipt, err,
		"kit.User: the entity is not stored: nothing to delete (itemize: item not found)")
	kit.Must(users.Save(ctx, e))(t)
	e.Value.Email = "x"
	receipt, err = users.Save(ctx, e, mapper.Staged())
	kit.WantError(t, receipt, err,
		"kit.User: Staged is for inserts and deletes: save without it, or with Independent")
	receipt, err = users.Delete(ctx, e, mapper.CheckLoaded())
	kit.WantError(t, receipt, err, "kit.User: CheckLoaded has no effect on a delete, which checks all items "+
		"that it deletes: leave it out")
	receipt, err = users.DeleteByKey(ctx, users.Key("1").Prefix("U#Address#"), mapper.Staged())
	kit.WantError(t, receipt, err, "kit.User: Staged deletes a whole entity: select it by its key")
	receipt, err = users.DeleteByKey(ctx, users.Key("1").Prefix("U#"))
	kit.WantError(t, receipt, err,
		"kit.User: the selection includes the root, but not the whole entity, whose "+
			"other items would remain: select the entity by its key, or leave the root out")
	receipt, err = users.DeleteByKey(ctx, users.Key("1").Item("X#Unknown"))
	kit.WantError(t, receipt, err, `kit.User: no item has the sort key "X#Unknown": the templates are `+
		`U#Information, U#Address#Home, U#Address#Delivery, M#WishList#Public#{AddedAt}, `+
		`M#WishList#Private#{AddedAt}, M#Card#{key}`)
	for i := range 120 {
		e.Value.Public = append(e.Value.Public, kit.Wish{AddedAt: kit.Day(1, 1).Add(time.Duration(i) * time.Hour)})
	}
	receipt, err = users.Save(ctx, e)
	kit.WantError(t, receipt, err, "in all (limit 4 MB): save with Independent, one by one, or save in parts")
	receipt = kit.Must(users.Save(ctx, e, mapper.Independent()))(t)
	if receipt.Predicted().Requests != 122 || receipt.Consumed.WCU != 121 {
		t.Errorf("%v", receipt)
	}
	other := kit.Must(mapper.New[kit.User](testengine.Start(t).Client()))(t)
	receipt, err = other.Save(ctx, e)
	kit.WantError(t, receipt, err,
		"kit.User: the entity is nil or of another mapper: make it with New or Load of this mapper")
	receipt, err = users.Save(ctx, nil)
	kit.WantError(t, receipt, err, "the entity is nil or of another mapper")
	receipt, err = users.Save(ctx, &mapper.Entity[kit.User]{})
	kit.WantError(t, receipt, err, "the entity is nil or of another mapper")
}

// The fault of a selection is reported when it is used, before any request.
func TestBadSelections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users := kit.Must(mapper.New[kit.User](kit.Failing{}))(t)
	k := users.Key("1")
	for want, sel := range map[string]query.Selection[kit.User]{
		"kit.User: Key takes 1 values, and got 2: pass ID":                     users.Key("1", "2"),
		"kit.User: Key takes 1 values, and got 0: pass ID":                     users.Key(),
		"kit.User: the key field ID takes a string: the value is of type int":  users.Key(1),
		"kit.User: the key field ID takes a string: the value is nil":          users.Key(nil),
		`kit.User: {ID} in "USER#{ID}": an empty string in a key: set a value`: users.Key(""),
		`kit.User: the prefix "U#Add" ends within a segment`:                   k.Prefix("U#Add"),
		`kit.User: the prefix "M#WishList#Public#2021-1" ends within a segment`: k.Prefix(
			"M#WishList#Public#2021-1",
		),
		`kit.User: no table "cards": the model's tables are users`: k.Table("cards"),
		"kit.User: the sort key of the table \"users\" is of type S, and the value 7 is of type " +
			"int": k.Item(7),
		"the selections are of different entities: load them one by one": query.Join(k,
			users.Key("2")),
		"query.Join of no selections: pass at least one":                               query.Join[kit.User](),
		"the selection is nil: make one with the mapper's Key, or with generated code": nil,
		`kit.User.SK: sort key "": the key is empty: set a value`:                      k.Item(""),
	} {
		_, err := users.Load(ctx, sel)
		kit.WantError(t, nil, err, want)
		receipt, err := users.DeleteByKey(ctx, sel)
		kit.WantError(t, receipt, err, want)
		if sel == nil {
			continue
		}
		_, err = query.Of[kit.Wish](sel).Collect(ctx, users)
		kit.WantError(t, nil, err, want)
	}
	for _, p := range []string{
		"M#", "M#WishList#", "M#WishList#Public#2021-", "M#WishList#Public#2021-11-",
		"M#WishList#Public#2021-11-14T", "M#WishList#Public#2021-11-14T09:",
	} {
		if _, err := users.Load(ctx, k.Prefix(p)); !errors.Is(err, kit.ErrCalled) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// Update loads, applies, saves, and on a conflict loads and applies again; an error
// of the function ends it with nothing written.
func TestUpdate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	calls := 0
	receipt, err := users.Update(ctx, users.Key("1").Item("U#Information"), func(u *kit.User) error {
		if calls++; calls == 1 { // another writer is faster
			e := kit.Must(users.Load(ctx, users.Key("1").Item("U#Information")))(t)
			e.Value.Name = "Quick"
			kit.Must(users.Save(ctx, e))(t)
		}
		u.Email = u.Name + "@example.com"
		return nil
	})
	if err != nil || calls != 2 || receipt.Consumed.WCU != 1 || receipt.Consumed.RCU != 2 {
		t.Errorf("%d calls, %v, %v", calls, receipt, err)
	}
	if e := kit.Must(users.Load(ctx, users.Key("1")))(t); e.Value.Email != "Quick@example.com" {
		t.Errorf("stored %q", e.Value.Email)
	}
	stop := errors.New("stop")
	receipt, err = users.Update(ctx, users.Key("1"), func(u *kit.User) error { u.Email = "x"; return stop })
	if !errors.Is(err, stop) || receipt.Consumed.WCU != 0 {
		t.Errorf("%v, %v", receipt, err)
	}
	if _, err := users.Update(ctx, users.Key("2"), func(*kit.User) error { return nil }); !errors.Is(err,
		mapper.ErrNotFound) {
		t.Error(err)
	}
}

// Deletes of a whole entity, of a part, of one item, and of an entity that does not exist.
func TestDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("X#Unknown"), "a": kit.S("stays")})
	receipt := kit.Must(users.DeleteByKey(ctx, users.Key("1").Item("M#Card#visa")))(t)
	if receipt.Predicted().Requests != 1 || receipt.Consumed.WCU != 1 || receipt.Consumed.RCU != 0 {
		t.Errorf("%v", receipt)
	}
	receipt = kit.Must(users.DeleteByKey(ctx, users.Key("1").Prefix("M#WishList#")))(t)
	if receipt.Predicted().Requests != 2 || len(receipt.Predicted().Items) != 4 {
		t.Errorf("%v", receipt)
	}
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	if len(e.Value.Public)+len(e.Value.Private) != 0 || len(e.Value.Cards) != 1 {
		t.Errorf("left %+v", e.Value)
	}
	// As it was loaded, or not at all.
	other := kit.Must(users.Load(ctx, users.Key("1")))(t)
	other.Value.Email = "other"
	kit.Must(users.Save(ctx, other))(t)
	_, err := users.Delete(ctx, e)
	kit.WantConflict(t, err, "U#Information", "changed")
	kit.Must(users.Delete(ctx, other))(t)
	if left := r.All("USER#1"); len(left) != 1 || left["X#Unknown"] == nil {
		t.Errorf("left: %v", left)
	}
	_, err = users.DeleteByKey(ctx, users.Key("1"))
	if !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	// A deleted entity can be saved again, which inserts it.
	kit.Must(users.Save(ctx, other))(t)
	if e := kit.Must(users.Load(ctx, users.Key("1")))(t); e.Value.Email != "other" {
		t.Errorf("%+v", e.Value)
	}
	receipt = kit.Must(users.DeleteByKey(ctx, users.Key("1"), mapper.Independent()))(t)
	if receipt.Consumed.WCU != float64(len(receipt.Predicted().Items)) {
		t.Errorf("%v", receipt)
	}
}

// An insert of seven small items: 14 WCU in one transaction, 7 one by one, 8 staged
// . The plan shows all three.
func TestKindsOfInserts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	seven := func(id string) kit.User {
		u := kit.SomeUser(id)
		u.Private, u.Cards = nil, map[string]kit.Card{"visa": {Last4: "1"}}
		return u
	}
	plan := kit.Must(users.PlanSave(users.New(seven("1"))))(t)
	want := []mapper.Alternative{
		{Option: "Independent()", Requests: 8, WCU: cost.Exactly(7)},
		{Option: "Staged()", Requests: 8, WCU: cost.Exactly(8)},
	}
	if plan.Requests != 1 || plan.WCU != cost.Exactly(14) || !cmp.Equal(plan.Alternatives, want) {
		t.Errorf("%v", plan)
	}
	for id, c := range map[string]struct {
		option   []mapper.WriteOption
		requests int
		wcu      float64
	}{
		"1": {nil, 1, 14}, "2": {[]mapper.WriteOption{mapper.Independent()}, 8, 7},
		"3": {[]mapper.WriteOption{mapper.Staged()}, 8, 8},
	} {
		e := users.New(seven(id))
		plan := kit.Must(users.PlanSave(e, c.option...))(t)
		receipt := kit.Must(users.Save(ctx, e, c.option...))(t)
		if plan.Requests != c.requests || receipt.Predicted().Requests != c.requests || plan.WCU.Max != c.wcu ||
			receipt.Predicted().WCU != plan.WCU {
			t.Errorf("%s: planned %v, sent %v", id, plan, receipt)
		}
		if receipt.Consumed.WCU != c.wcu && (testengine.ReportsTransactions(t) || id != "1") {
			t.Errorf("%s: consumed %v", id, receipt.Consumed)
		}
	}
}

// Plans and receipts print as small tables, and encode to JSON with their requests.
func TestPlanForms(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	e := users.New(kit.User{ID: "1", Email: "a@example.com"})
	kit.Must(users.Save(ctx, e))(t)
	e.Value.Email = "b@example.com"
	plan := kit.Must(users.PlanSave(e))(t)
	table := plan.Items[0].Table
	want := "one request: 1 WCU\n  update  " + table + "  USER#1 U#Information  61 > 61 B  1 WCU  email"
	if plan.String() != want {
		t.Errorf("%s\nwant\n%s", plan, want)
	}
	receipt := kit.Must(users.Save(ctx, e))(t)
	if want := strings.Replace(want, "1 WCU\n", "1 WCU; consumed 1 WCU\n", 1); receipt.String() != want {
		t.Errorf("%s\nwant\n%s", receipt, want)
	}
	b := kit.Must(json.Marshal(receipt))(t)
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	wantJSON := map[string]any{
		"predicted": map[string]any{
			"requests": 1.0, "mode": "one", "wcu": map[string]any{"min": 1.0, "expected": 1.0, "max": 1.0},
			"rcu": map[string]any{"min": 0.0, "expected": 0.0, "max": 0.0},
			"items": []any{map[string]any{
				"kind": "update", "table": table, "partition": "USER#1", "sort": "U#Information",
				"field":      "U#Information",
				"attributes": []any{"email"}, "oldBytes": 61.0, "newBytes": 61.0, "wcu": map[string]any{
					"min":      1.0,
					"expected": 1.0, "max": 1.0,
				},
			}},
		},
		"consumed": map[string]any{"wcu": 1.0, "rcu": 0.0},
	}
	if d := cmp.Diff(wantJSON, got); d != "" {
		t.Error(d)
	}
	nothing := kit.Must(users.PlanSave(e))(t)
	if nothing.String() != "nothing to write" {
		t.Errorf("%q", nothing)
	}
	if b := kit.Must(json.Marshal(nothing))(t); string(b) != `{"requests":0,"mode":"nothing","items":[],`+
		`"wcu":{"min":0,"expected":0,"max":0},"rcu":{"min":0,"expected":0,"max":0}}` {
		t.Errorf("%s", b)
	}
}

// A missing table, another key schema, denied access, a foreign item: clear errors
// or kept data, never a panic.
func TestWrongSetups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	engine := testengine.Start(t)
	load := func(m *mapper.Mapper[kit.User]) error {
		_, err := m.Load(ctx, m.Key("1"))
		_, saveErr := m.Save(ctx, m.New(kit.SomeUser("1")))
		if (err == nil) != (saveErr == nil) {
			t.Errorf("load: %v, save: %v", err, saveErr)
		}
		return err
	}
	missing := kit.Must(mapper.New[kit.User](engine.Client(), mapper.Table("no-such-table")))(t)
	kit.WantError(t, nil, load(missing),
		`kit.User: the table "no-such-table" does not exist in this account and `+
			`Region: create it, or set the right name with mapper.Table`)
	other := testengine.Table(t, "Id:S", "")
	wrong := kit.Must(mapper.New[kit.User](engine.Client(), mapper.Table(other)))(t)
	kit.WantError(t, nil, load(wrong), `kit.User: the key attributes of the table "`+other+
		`" differ from the model's (the model has PK and SK, and the table `)
	number := testengine.Table(t, "PK:N", "SK:S")
	wrong = kit.Must(mapper.New[kit.User](engine.Client(), mapper.Table(number)))(t)
	kit.WantError(t, nil, load(wrong), `differ from the model's`)
	denied := kit.Must(mapper.New[kit.User](kit.Client(t,
		&kit.Faulty{At: -1, Pick: func() kit.Fault { return kit.Deny }}, 1),
		mapper.Table("table")))(t)
	kit.WantError(t, nil, load(denied),
		`kit.User: access to the table "table" is denied: allow the operation in `+
			`the caller's IAM policy`)

	users, r := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	r.Set("USER#1", "U#Address#Home", "City", kit.L(kit.N("7")))
	_, err := users.Load(ctx, users.Key("1"))
	kit.WantError(t, nil, err,
		`kit.User.Home.City: item USER#1 U#Address#Home: attribute "City": cannot decode `+
			`a stored list into string`)
	r.Set("USER#1", "U#Address#Home", "City", kit.S("C"))
	r.Set("USER#1", "U#Information", "EMAIL", kit.S("not this one"))
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	if e.Value.Email != "a@example.com" {
		t.Errorf("an attribute that differs in case won: %s", e.Value.Email)
	}
}

// Names of attributes match exactly inside of attributes, too.
func TestExactNamesInside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type model struct {
		_    struct{}               `ddb:"table=exact"`
		ID   string                 `ddb:"pk={ID}"`
		Home kit.Address            `ddb:"sk=HEAD,nested"`
		List []kit.Address          `ddb:"sk=HEAD"`
		Map  map[string]kit.Address `ddb:"sk=HEAD"`
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[model](testengine.Start(t).Client(), mapper.Table(table)))(t)
	a := kit.Address{Street: "S", City: "C"}
	want := model{ID: "1", Home: a, List: []kit.Address{a}, Map: map[string]kit.Address{"k": a}}
	kit.Must(m.Save(ctx, m.New(want)))(t)
	r := kit.NewForeign(t, table)
	foreign := kit.Item{"Street": kit.S("S"), "City": kit.S("C"), "STREET": kit.S("no"), "city": kit.S("no")}
	r.Set("1", "HEAD", "Home", kit.M(foreign))
	r.Set("1", "HEAD", "List", kit.L(kit.M(foreign)))
	r.Set("1", "HEAD", "Map", kit.M(kit.Item{"k": kit.M(foreign)}))
	for range 20 { // maps come in any order
		got := kit.Must(m.Load(ctx, m.Key("1")))(t)
		if d := cmp.Diff(want, got.Value, cmpopts.IgnoreFields(model{}, "_")); d != "" {
			t.Fatal(d)
		}
	}
}

// Transactions that collide with others, which neither engine raises, are tried
// again; so are single writes that do.
func TestTransactionConflict(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	left := 0
	tr := &kit.Faulty{At: -1, Pick: func() kit.Fault {
		if left > 0 {
			left--
			return kit.Collide
		}
		return kit.None
	}}
	m := kit.NewAccounts(t, table, tr, 1)
	e := m.New(kit.Version("1", 1))
	for round := range 3 {
		left = 5
		receipt, err := m.Save(ctx, e)
		if err != nil || receipt.Predicted().Requests != 6 {
			t.Fatalf("round %d: %v, %v", round, receipt, err)
		}
		e.Value.Counter++
		if round == 1 {
			e.Value.Left = "x"
		}
	}
	left = 1000
	e.Value.Left, e.Value.Right = "y", "y"
	receipt, err := m.Save(ctx, e)
	left = 0
	var unknown *mapper.OutcomeUnknownError
	if err == nil || errors.As(err, &unknown) || !strings.Contains(err.Error(), "TransactionConflict") {
		t.Errorf("%v, %v", receipt, err)
	}
	kit.Must(m.Save(ctx, e))(t)
}

// Without versions it is unknown whose write is stored after a lost answer: the outcome is unknown, and
// nothing is applied twice.
func TestLostAnswerWithoutVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	tr := &kit.Faulty{At: -1, Fault: kit.DropAnswer}
	m := kit.Must(mapper.New[kit.Counter](kit.Client(t, tr, 3), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Counter{ID: "1"})))(t)
	calls := 0
	tr.Count, tr.At = 0, 1 // the update, after the read
	_, err := m.Update(ctx, m.Key("1"), func(c *kit.Counter) error { calls++; c.Count++; return nil })
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) || calls != 1 || len(unknown.Items) != 1 || unknown.Items[0].Sort != "HEAD" {
		t.Errorf("%d calls: %v", calls, err)
	}
	if e := kit.Must(m.Load(ctx, m.Key("1")))(t); e.Value.Count != 1 {
		t.Errorf("stored %d", e.Value.Count)
	}
}

// A client that cannot be watched may retry unseen: a failed condition is then no
// proof of a conflict, unless the item shows whose write it holds.
func TestClientThatCannotBeWatched(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, &kit.Faulty{At: -1}, 3)},
		mapper.Table(table)))(t)
	e := m.New(kit.Version("1", 1))
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Counter = 5
	kit.Must(m.Save(ctx, e))(t)
	other := kit.Must(m.Load(ctx, m.Key("1")))(t)
	other.Value.Counter = 6
	kit.Must(m.Save(ctx, other))(t)
	e.Value.Counter = 7
	_, err := m.Save(ctx, e)
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Error(err)
	}
	if a := kit.Stored(t, m, "1"); a.Counter != 6 {
		t.Errorf("stored %+v", a)
	}
}

// Values of interfaces that attributevalue would silently drop are refused.
func TestInterfacesThatHoldTheUnstorable(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Open](kit.Failing{}))(t)
	for _, v := range []any{
		make(chan int), func() {}, complex(1, 2),
		[]any{1, func() {}},
		map[string]any{"a": make(chan int)},
		struct{ F any }{func() {}},
	} {
		if _, err := m.Save(context.Background(), m.New(kit.Open{ID: "1", Any: v})); err == nil ||
			!strings.Contains(err.Error(), "cannot store") {
			t.Errorf("%T: %v", v, err)
		}
	}
}

// Items that a deleted entity left behind keep an insert from succeeding, with a cure
// that works: a delete by the key.
func TestItemsLeftBehind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("M#Card#visa"), "Last4": kit.S("1111")})
	_, err := users.Save(ctx, users.New(kit.SomeUser("1")))
	if err == nil || !strings.Contains(err.Error(), "delete it by its key") {
		t.Fatal(err)
	}
	kit.Must(users.DeleteByKey(ctx, users.Key("1")))(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
}

// A loaded entity that another writer has deleted is not found; it is no conflict.
func TestDeleteOfMissingEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	kit.Must(users.DeleteByKey(ctx, users.Key("1")))(t)
	if _, err := users.Delete(ctx, e); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
