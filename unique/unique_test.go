package unique_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

func TestMain(m *testing.M) { testengine.Run(m) }

type oldUser struct {
	_      struct{} `ddb:"table=users"`
	ID     string   `ddb:"pk=USER#{ID}"`
	Email  string   `ddb:"sk=HEAD"`
	Tenant string   `ddb:"sk=HEAD"`
	Name   string   `ddb:"sk=HEAD"`
	Notes  []note   `ddb:"sk=NOTE#{N:02}"`
}

type user struct {
	_      struct{} `ddb:"table=users"`
	ID     string   `ddb:"pk=USER#{ID}"`
	Email  string   `ddb:"sk=HEAD,unique"`
	Tenant string   `ddb:"sk=HEAD,unique='Tenant,Name'"`
	Name   string   `ddb:"sk=HEAD"`
	Notes  []note   `ddb:"sk=NOTE#{N:02}"`
}

type note struct{ N int }

func TestAdoptionOfStoredEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	old := kit.Must(mapper.New[oldUser](client, mapper.Table(table)))(t)
	for i := range 60 {
		e := oldUser{
			ID: fmt.Sprint(i), Email: fmt.Sprint("mail", i%50), Tenant: "t", Name: fmt.Sprint(i),
			Notes: []note{{1}},
		}
		kit.Must(old.Save(ctx, old.New(e)))(t)
	}
	m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	if _, err := m.Load(ctx, m.Unique("Email", "mail0")); !errors.Is(err, mapper.ErrUnverified) {
		t.Errorf("a lookup before verify: %v", err)
	}
	if r := kit.Must(unique.Verify(ctx, m))(t); r.Missing != 120 || r.Verified() {
		t.Errorf("verify before run: %+v", r)
	}
	var duplicates []unique.Duplicate
	r := kit.Must(unique.Run(ctx, m, unique.Segments(3),
		unique.OnDuplicate(func(d unique.Duplicate) { duplicates = append(duplicates, d) })))(t)
	if r.Entities != 60 || r.Written != 110 || r.Duplicates != 10 || len(duplicates) != 10 || r.Next != "" {
		t.Errorf("run: %+v, %d duplicates", r, len(duplicates))
	}
	if r := kit.Must(unique.Verify(ctx, m))(t); r.Missing != 0 || r.Duplicates != 10 {
		t.Errorf("verify with duplicates: %+v", r)
	}
	for _, d := range duplicates {
		e := kit.Must(m.Load(ctx, m.Key(d.Entity.Partition[len("USER#"):])))(t)
		e.Value.Email = "other" + e.Value.ID
		kit.Must(m.Save(ctx, e))(t)
	}
	later := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	if r := kit.Must(unique.Verify(ctx, m))(t); !r.Verified() || r.Guarded != 120 {
		t.Errorf("verify: %+v", r)
	}
	for _, m := range []*mapper.Mapper[user]{m, later} {
		if e, err := m.Load(ctx, m.Unique("Tenant,Name", "t", "7")); err != nil || e.Value.ID != "7" {
			t.Errorf("a lookup: %v, %v", e, err)
		}
	}
	if r := kit.Must(unique.Run(ctx, m))(t); r.Written != 0 || r.Guarded != 120 || r.WCU.Max > 0 {
		t.Errorf("a second run: %+v", r)
	}
	dropped := kit.Must(unique.Drop(ctx, client, unique.Table{Name: table, Hash: "PK", Range: "SK"}, "user#Email"))(t)
	if dropped.Written != 60 {
		t.Errorf("drop: %+v", dropped)
	}
}

// A pass that is ended can continue at its Next, and covers each entity.
func TestPassesContinueWhereTheyEnded(t *testing.T) {
	t.Parallel()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	old := kit.Must(mapper.New[oldUser](client, mapper.Table(table)))(t)
	m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	const entities = 30
	for i := range entities {
		kit.Must(old.Save(context.Background(), old.New(oldUser{ID: fmt.Sprint(i), Email: fmt.Sprint(i)})))(t)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := unique.Run(ctx, m, unique.Segments(4), unique.Rate(10_000), unique.OnProgress(func(r unique.Report) {
		if r.Written > 0 {
			cancel()
		}
	}))
	if err == nil || r.Next == "" || r.Verified() {
		t.Fatalf("a pass that was ended: %+v, %v", r, err)
	}
	if r := kit.Must(unique.Run(context.Background(), m, unique.Resume(r.Next)))(t); r.Next != "" {
		t.Errorf("the rest: %+v", r)
	}
	if r := kit.Must(unique.Verify(context.Background(), m))(t); r.Guarded != entities || !r.Verified() {
		t.Errorf("verify: %+v", r)
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	noTypes := base64.RawURLEncoding.EncodeToString([]byte(`[{"after":{"PK":"YQ=="}}]`))
	run := func(o unique.Option) error { return kit.Err(unique.Run(ctx, m, o)) }
	drop := func(c unique.Client, t unique.Table, o ...unique.Option) error {
		return kit.Err(unique.Drop(ctx, c, t, "user#Email", o...))
	}
	at := unique.Table{Name: table, Hash: "PK", Range: "SK"}
	for name, err := range map[string]error{
		"text":             run(unique.Resume("garbage")),
		"no types":         run(unique.Resume(noTypes)),
		"rate":             run(unique.Rate(-1)),
		"verify continued": kit.Err(unique.Verify(ctx, m, unique.Resume(noTypes))),
		"drop":             drop(client, at, unique.Resume(noTypes)),
		"no client":        drop(nil, at),
		"no table":         drop(client, unique.Table{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// tenants are entities on shards, before their name is unique and afterwards: the shard is computed, drawn, and
// computed while the number of shards changes.
type (
	oldTenant struct {
		_    struct{} `ddb:"table=tenants,shards=3,shardby=ID"`
		Land string   `ddb:"pk=LAND#{Land}#{shard}"`
		ID   string   `ddb:"sk=T#{ID}"`
		Name string   `ddb:"sk=T#{ID}"`
	}
	tenant struct {
		_    struct{} `ddb:"table=tenants,shards=3,shardby=ID"`
		Land string   `ddb:"pk=LAND#{Land}#{shard}"`
		ID   string   `ddb:"sk=T#{ID}"`
		Name string   `ddb:"sk=T#{ID},unique"`
	}
	drawnTenant struct {
		_    struct{} `ddb:"table=tenants,shards=3,shardby=random"`
		Land string   `ddb:"pk=LAND#{Land}#{shard}"`
		ID   string   `ddb:"sk=T#{ID}"`
		Name string   `ddb:"sk=T#{ID},unique"`
	}
	lateTenant struct {
		_    struct{} `ddb:"table=tenants,shards='5,3',shardby=ID"`
		Land string   `ddb:"pk=LAND#{Land}#{shard}"`
		ID   string   `ddb:"sk=T#{ID}"`
		Name string   `ddb:"sk=T#{ID},unique"`
	}
)

func adoptTenants[T tenant | drawnTenant | lateTenant](t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	old := kit.Must(mapper.New[oldTenant](client, mapper.Table(table)))(t)
	for i := range 20 {
		v := oldTenant{Land: fmt.Sprint("l", i%2), ID: fmt.Sprint(i), Name: fmt.Sprint("n", i%18)}
		kit.Must(old.Save(ctx, old.New(v)))(t)
	}
	m := kit.Must(mapper.New[T](client, mapper.Table(table)))(t)
	if r := kit.Must(unique.Run(ctx, m))(t); r.Entities != 20 || r.Written != 18 || r.Duplicates != 2 {
		t.Errorf("run: %+v", r)
	}
	for e, err := range m.Scan(ctx) {
		v := oldTenant(kit.Must(e, err)(t).Value)
		v.Name = "name " + v.ID
		e.Value = T(v)
		kit.Must(m.Save(ctx, e))(t)
	}
	if r := kit.Must(unique.Verify(ctx, m))(t); !r.Verified() || r.Guarded != 20 {
		t.Errorf("verify: %+v", r)
	}
	if e := kit.Must(m.Load(ctx, m.Unique("Name", "name 19")))(t); oldTenant(e.Value).ID != "19" {
		t.Errorf("a lookup found %+v", e.Value)
	}
}

func TestAdoptionOnShards(t *testing.T) {
	t.Run("computed", adoptTenants[tenant])
	t.Run("drawn", adoptTenants[drawnTenant])
	t.Run("resharding", adoptTenants[lateTenant])
}

// A value of another type is reported with the key of its entity, and without the value.
func TestInvalidValuesAreReported(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	for _, id := range []string{"1", "2"} {
		kit.Must(m.Save(ctx, m.New(user{ID: id, Email: id})))(t)
	}
	kit.NewForeign(t, table).Set("USER#2", "HEAD", "Email", &types.AttributeValueMemberBOOL{Value: true})
	for name, pass := range map[string]func(context.Context, *mapper.Mapper[user], ...unique.Option) (*unique.Report,
		error){"run": unique.Run[user], "verify": unique.Verify[user]} {
		var all []unique.Invalid
		r, err := pass(ctx, m, unique.OnInvalid(func(v unique.Invalid) { all = append(all, v) }))
		if err != nil || r.Invalid != 1 || r.Verified() || len(all) != 1 {
			t.Fatalf("%s: %+v, %v, %v", name, r, all, err)
		}
		if all[0].Field != "Email" || all[0].Entity.Partition != "USER#2" || all[0].Reason == "" ||
			strings.Contains(all[0].Reason, "true") {
			t.Errorf("%s: %+v", name, all[0])
		}
		t.Log(all[0].Reason)
	}
}
