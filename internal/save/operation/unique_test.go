package operation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// player has two unique values: the e-mail address without regard to case, and the tenant with the nick.
type player struct {
	_      struct{}     `ddb:"table=players,ttl=ends"`
	ID     string       `ddb:"pk=PLAYER#{ID}"`
	Email  string       `ddb:"sk=HEAD,unique=fold"`
	Tenant string       `ddb:"sk=HEAD"`
	Nick   string       `ddb:"sk=HEAD,unique='Tenant,Nick'"`
	Name   string       `ddb:"sk=HEAD"`
	Ends   time.Time    `ddb:"sk=HEAD,ttl,all"`
	Notes  []playerNote `ddb:"sk=NOTE#{N:03}"`
}

type playerNote struct {
	N    int
	Text string
}

// guardKeys returns the partition keys of all guards in a table.
func guardKeys(t *testing.T, table string) (keys []string) {
	t.Helper()
	out := kit.Must(testengine.Start(t).Client().Scan(context.Background(), &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true),
	}))(t)
	for _, it := range out.Items {
		if pk := kit.Text(it["PK"]); strings.HasPrefix(pk, "~unique#") {
			keys = append(keys, strings.TrimPrefix(pk, "~unique#"))
		}
	}
	return keys
}

func wantTaken(t *testing.T, err error, owner string) {
	t.Helper()
	var taken *mapper.UniqueError
	if !errors.Is(err, mapper.ErrTaken) || !errors.As(err, &taken) || taken.Owner.Partition != "PLAYER#"+owner {
		t.Errorf("got %v, want ErrTaken with the owner %s", err, owner)
	}
	if errors.Is(err, mapper.ErrExists) || errors.As(err, new(*mapper.ConflictError)) {
		t.Errorf("%v is ErrExists, or a conflict", err)
	}
}

func TestUniqueValuesHaveOneOwner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table)))(t)
	ann := m.New(player{ID: "1", Email: "Ann@example.com", Tenant: "a", Nick: "ann"})
	r := kit.Must(m.Save(ctx, ann))(t)
	if r.Consumed.WCU != 6 && testengine.ReportsTransactions(t) {
		t.Errorf("an insert with two unique values took %v WCU, want 6: %+v", r.Consumed.WCU, r)
	}
	if got := guardKeys(t, table); len(got) != 2 {
		t.Errorf("guards: %q", got)
	}
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "2", Email: "ann@EXAMPLE.com"}))), "1")
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "2", Tenant: "a", Nick: "ann"}))), "1")
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "2", Tenant: "a", Nick: "ann", Notes: []playerNote{{N: 1}}}),
		mapper.Staged())), "1")
	kit.Must(m.Save(ctx, m.New(player{ID: "2", Tenant: "b", Nick: "ann"})))(t)
	bob := kit.Must(m.Load(ctx, m.Key("2")))(t)
	bob.Value.Email = "ann@example.com"
	wantTaken(t, kit.Err(m.Save(ctx, bob)), "1")
	ann.Value.Email = "a@example.com"
	kit.Must(m.Save(ctx, ann))(t)
	kit.Must(m.Save(ctx, bob))(t)
	ann.Value.Name = "Ann"
	if r := kit.Must(m.Save(ctx, ann))(t); r.Consumed.WCU != 1 {
		t.Errorf("a save of another field took %v WCU, want 1", r.Consumed.WCU)
	}
	kit.Must(m.DeleteByKey(ctx, m.Key("2")))(t)
	plan := kit.Must(m.PlanDelete(ann))(t)
	if r := kit.Must(m.Delete(ctx, ann))(t); r.Consumed.WCU != 3 || plan.WCU.Max != 3 || plan.WCU.Min != 3 {
		t.Errorf("a delete took %v WCU, planned %v, want 3", r.Consumed.WCU, plan.WCU)
	}
	if got := guardKeys(t, table); len(got) != 0 {
		t.Errorf("guards after deletes: %q", got)
	}
}

func TestUniqueValuesMoveInOneTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table)))(t)
	a, b := m.New(player{ID: "1", Email: "a"}), m.New(player{ID: "2", Email: "b"})
	kit.Must(mapper.Transact(ctx, m.SavePart(a), m.SavePart(b)))(t)
	a.Value.Email, b.Value.Email = "b", "a"
	kit.Must(mapper.Transact(ctx, m.SavePart(a), m.SavePart(b)))(t)
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "3", Email: "a"}))), "2")
	c := m.New(player{ID: "3", Email: "a"})
	kit.Must(mapper.Transact(ctx, m.SavePart(c), m.DeletePart(b)))(t)
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "4", Email: "a"}))), "3")
	c.Value.ID = "5"
	kit.Must(m.Save(ctx, c, mapper.Move()))(t)
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "4", Email: "A"}))), "5")
	err := kit.Err(mapper.Transact(ctx, m.SavePart(m.New(player{ID: "7", Email: "x"})),
		m.SavePart(m.New(player{ID: "8", Email: "X"}))))
	wantTaken(t, err, "7")
	if got := guardKeys(t, table); len(got) != 2 {
		t.Errorf("guards: %q", got)
	}
}

func TestUniqueValueOfAnExpiredOwnerIsFree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table), mapper.ExpiryMargin(0)))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Ends: time.Now().Add(-time.Hour)})))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "2", Email: "a"})))(t)
	if kit.NewForeign(t, table).Get("PLAYER#1", "HEAD") != nil {
		t.Error("the expired owner exists")
	}
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "3", Email: "a"}))), "2")
}

func TestStagedInsertsTakeUniqueValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table)))(t)
	e := m.New(player{ID: "1", Email: "a", Notes: make([]playerNote, 120)})
	for i := range e.Value.Notes {
		e.Value.Notes[i].N = i
	}
	kit.Must(m.Save(ctx, e))(t)
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "3", Email: "a"}))), "1")
	kit.Must(m.Delete(ctx, e))(t)
	if got := guardKeys(t, table); len(got) != 0 {
		t.Errorf("guards: %q", got)
	}
	kit.Must(m.Save(ctx, e))(t)
	kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
	if got := guardKeys(t, table); len(got) != 0 {
		t.Errorf("guards: %q", got)
	}
}

var (
	playerEmail = handmade.String("Email", "", func(m *player) *string { return &m.Email })
	playerNick  = handmade.String("Nick", "", func(m *player) *string { return &m.Nick })
	playerName  = handmade.String("Name", "", func(m *player) *string { return &m.Name })
)

func TestPatchesChangeUniqueValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Tenant: "t", Nick: "n"})))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "2", Email: "b"})))(t)
	entity := func(id string) handmade.Entity[player] { return handmade.EntityOf(m.Key(id)) }
	patch := entity("1").Patch(playerEmail.Set("b"))
	wantTaken(t, kit.Err(patch.Exec(ctx, m)), "2")
	patch = entity("1").Patch(playerEmail.Set("c"), playerNick.Set("x"))
	plan := kit.Must(patch.Plan(m))(t)
	r := kit.Must(patch.Exec(ctx, m))(t)
	exact := r.Consumed.WCU == 10 || !testengine.ReportsTransactions(t)
	if !exact || plan.WCU.Min > 10 || plan.WCU.Expected != 10 || plan.WCU.Max < 10 {
		t.Errorf("the patch took %v WCU, planned %+v, want 10", r.Consumed.WCU, plan.WCU)
	}
	if r := kit.Must(entity("1").Patch(playerEmail.Set("C")).Exec(ctx, m))(t); r.Consumed.WCU != 1 {
		t.Errorf("a patch to an equal value took %v WCU, want 1", r.Consumed.WCU)
	}
	if r := kit.Must(entity("1").Patch(playerName.Set("y")).Exec(ctx, m))(t); r.Consumed.WCU != 1 ||
		r.Predicted().RCU.Max > 0 {
		t.Errorf("a patch of another field took %+v, want 1 WCU", r.Consumed)
	}
	kit.Must(m.Save(ctx, m.New(player{ID: "3", Email: "a", Tenant: "t", Nick: "n"})))(t)
	kit.Must(entity("1").Patch(playerEmail.Remove()).Exec(ctx, m))(t)
	kit.Must(entity("4").Patch(playerEmail.Set("c")).Upsert().Exec(ctx, m))(t)
	wantTaken(t, kit.Err(entity("5").Patch(playerEmail.Set("C")).Upsert().Exec(ctx, m)), "4")
	kit.Must(mapper.Transact(ctx, entity("4").Patch(playerEmail.Set("d")).PatchPart(m),
		m.SavePart(m.New(player{ID: "6", Email: "c"}))))(t)
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "7", Email: "c"}))), "6")
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "7", Email: "d"}))), "4")
}

func TestBulkLoadsTakeUniqueValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "0", Email: "a"})))(t)
	all := []player{{ID: "1", Email: "A"}, {ID: "2", Email: "b", Notes: []playerNote{{N: 1}}}, {ID: "3"}, {
		ID:    "4",
		Email: "B",
	}}
	plan := kit.Must(m.PlanBulkLoad(mapper.NoErrors(slices.Values(all))))(t)
	r := kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all))))(t)
	if r.Entities != 2 || r.Failed != 2 {
		t.Fatalf("report: %+v, plan %+v", r, plan)
	}
	for i, f := range r.Failures {
		wantTaken(t, f.Err, []string{"0", "2"}[i])
	}
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "5", Email: "b"}))), "2")
	if err := kit.Err(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Overwrite())); err == nil {
		t.Error("Overwrite is accepted")
	}
}

// An owner that has expired counts until the margin of slow clocks has passed.
func TestOwnersThatExpiredLatelyCount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "4", Email: "b", Ends: time.Now().Add(-time.Minute)})))(t)
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "5", Email: "b"}))), "4")
}

// An entity is not in the way of its own values: an insert of a key that exists is ErrExists.
func TestInsertsOfAKeyThatExistsAreNotTaken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Tenant: "t", Nick: "n"})))(t)
	b := m.New(player{ID: "2", Email: "b"})
	kit.Must(m.Save(ctx, b))(t)
	again := func() *mapper.Entity[player] {
		return m.New(player{ID: "1", Email: "a", Tenant: "t", Nick: "n", Notes: []playerNote{{N: 1}}})
	}
	moved := b.Value
	moved.ID, moved.Email = "1", "a"
	b.Value = moved
	for name, err := range map[string]error{
		"alone":          kit.Err(m.Save(ctx, again())),
		"staged":         kit.Err(m.Save(ctx, again(), mapper.Staged())),
		"in transaction": kit.Err(mapper.Transact(ctx, m.SavePart(again()), m.SavePart(m.New(player{ID: "3"})))),
		"move":           kit.Err(m.Save(ctx, b, mapper.Move())),
	} {
		if !errors.Is(err, mapper.ErrExists) || errors.Is(err, mapper.ErrTaken) {
			t.Errorf("%s: %v, want ErrExists", name, err)
		}
	}
}

// Several values of one expired owner are taken in one transaction, which deletes its root item once.
func TestAllValuesOfAnExpiredOwnerAreFree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, take := range map[string]func(m *mapper.Mapper[player], ids *player) (*mapper.Receipt, error){
		"insert": func(m *mapper.Mapper[player], p *player) (*mapper.Receipt, error) {
			return m.Save(ctx, m.New(*p))
		},
		"staged insert": func(m *mapper.Mapper[player], p *player) (*mapper.Receipt, error) {
			p.Notes = []playerNote{{N: 1}}
			return m.Save(ctx, m.New(*p), mapper.Staged())
		},
		"save": func(m *mapper.Mapper[player], p *player) (*mapper.Receipt, error) {
			e := m.New(player{ID: p.ID})
			kit.Must(m.Save(ctx, e))(t)
			e.Value = *p
			return m.Save(ctx, e)
		},
		"patch": func(m *mapper.Mapper[player], p *player) (*mapper.Receipt, error) {
			kit.Must(m.Save(ctx, m.New(player{ID: p.ID, Tenant: p.Tenant})))(t)
			set := handmade.EntityOf(m.Key(p.ID)).Patch(playerEmail.Set(p.Email), playerNick.Set(p.Nick))
			return set.Exec(ctx, m)
		},
		"two parts": func(m *mapper.Mapper[player], p *player) (*mapper.Receipt, error) {
			q := player{ID: "3", Email: p.Email}
			p.Email = ""
			return mapper.Transact(ctx, m.SavePart(m.New(*p)), m.SavePart(m.New(q)))
		},
		"the same key in another part": func(m *mapper.Mapper[player], p *player) (*mapper.Receipt, error) {
			return mapper.Transact(ctx, m.SavePart(m.New(*p)), m.SavePart(m.New(player{ID: "1", Name: "new"})))
		},
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		m := kit.Must(mapper.New[player](testengine.Start(t).Client(), mapper.Table(table), mapper.ExpiryMargin(0)))(t)
		old := player{ID: "1", Email: "a", Tenant: "t", Nick: "n", Ends: time.Now().Add(-time.Hour)}
		kit.Must(m.Save(ctx, m.New(old)))(t)
		if _, err := take(m, &player{ID: "2", Email: "a", Tenant: "t", Nick: "n"}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		root := kit.NewForeign(t, table).Get("PLAYER#1", "HEAD")
		if root != nil && kit.Text(root["Name"]) != "new" {
			t.Errorf("%s: the expired owner exists", name)
		}
		if got := guardKeys(t, table); len(got) != 2 {
			t.Errorf("%s: guards %q", name, got)
		}
	}
}

// Two parts of a transaction cannot give one value to two entities, and the error says that it is another part.
func TestPartsThatTakeOneValueAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[player](kit.Client(t, f, 1), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	_, err := mapper.Transact(ctx, m.SavePart(m.New(player{ID: "1", Email: "a"})),
		m.SavePart(m.New(player{ID: "2", Email: "A"})))
	wantTaken(t, err, "1")
	if err == nil || !strings.Contains(err.Error(), "another part of the transaction") || len(f.Log) > 0 {
		t.Errorf("%v, after %q", err, f.Log)
	}
}
