package operation_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

type zooLine struct {
	No    int
	Kind  string
	Words string
}

type zooCard struct{ Kind, Words string }

type zooTTL struct {
	_     struct{}           `ddb:"table=zoottls,ttl=exp"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=H#{Rank:sortable}"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=L#{^ID}#{No:04},on=Lines"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=C#{key}#{^ID},on=Cards"`
	_     struct{}           `ddb:"index=byOwn,pk={Owner},sk={Rank},project='Name'"`
	_     struct{}           `ddb:"index=loc,local,range=exp,sk={Due:unix},project='Kind'"`
	ID    string             `ddb:"pk=ZOO#{ID}"`
	Kind  string             `ddb:"sk=HEAD"`
	Owner string             `ddb:"sk=HEAD"`
	Rank  int                `ddb:"sk=HEAD"`
	Due   time.Time          `ddb:"sk=HEAD,ttl" dynamodbav:"exp,unixtime"`
	Name  string             `ddb:"sk=HEAD"`
	Text  string             `ddb:"sk=HEAD"`
	Note  string             `ddb:"sk=NOTE"`
	Lines []zooLine          `ddb:"sk=LINE#{No:04}"`
	Cards map[string]zooCard `ddb:"sk=CARD#{key}"`
}

type zoo struct {
	_     struct{}           `ddb:"table=zoos"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=H#{Rank:sortable}"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=L#{^ID}#{No:04},on=Lines"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=C#{key}#{^ID},on=Cards"`
	_     struct{}           `ddb:"index=byOwn,pk={Owner},sk={Rank},project='Name'"`
	_     struct{}           `ddb:"index=loc,local,range=Due,sk={Due:unix},project='Kind'"`
	ID    string             `ddb:"pk=ZOO#{ID}"`
	Kind  string             `ddb:"sk=HEAD"`
	Owner string             `ddb:"sk=HEAD"`
	Rank  int                `ddb:"sk=HEAD"`
	Due   time.Time          `ddb:"sk=HEAD" dynamodbav:",unixtime"`
	Name  string             `ddb:"sk=HEAD"`
	Text  string             `ddb:"sk=HEAD"`
	Note  string             `ddb:"sk=NOTE"`
	Lines []zooLine          `ddb:"sk=LINE#{No:04}"`
	Cards map[string]zooCard `ddb:"sk=CARD#{key}"`
}

type zooBare struct {
	_     struct{}           `ddb:"table=zoobares,noversion"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=H#{Rank:sortable}"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=L#{^ID}#{No:04},on=Lines"`
	_     struct{}           `ddb:"index=byKind,hash=K,range=KS,pk=K#{Kind},sk=C#{key}#{^ID},on=Cards"`
	_     struct{}           `ddb:"index=byOwn,pk={Owner},sk={Rank},project='Name'"`
	_     struct{}           `ddb:"index=loc,local,range=Due,sk={Due:unix},project='Kind'"`
	ID    string             `ddb:"pk=ZOO#{ID}"`
	Kind  string             `ddb:"sk=HEAD"`
	Owner string             `ddb:"sk=HEAD"`
	Rank  int                `ddb:"sk=HEAD"`
	Due   time.Time          `ddb:"sk=HEAD" dynamodbav:",unixtime"`
	Name  string             `ddb:"sk=HEAD"`
	Text  string             `ddb:"sk=HEAD"`
	Note  string             `ddb:"sk=NOTE"`
	Lines []zooLine          `ddb:"sk=LINE#{No:04}"`
	Cards map[string]zooCard `ddb:"sk=CARD#{key}"`
}

type zooModel interface{ zoo | zooTTL | zooBare }

type zooRun[T zooModel] struct {
	*testing.T
	r      *rand.Rand
	m      *mapper.Mapper[T]
	now    map[string]*mapper.Entity[T]
	serial int
}

func (x *zooRun[T]) one(of ...string) string { return of[x.r.IntN(len(of))] }
func (x *zooRun[T]) text(n int) string       { return strings.Repeat("x", x.r.IntN(n)) }

func (x *zooRun[T]) edit(p *T) {
	v := zoo(*p)
	v.Lines, v.Cards = slices.Clone(v.Lines), maps.Clone(v.Cards)
	for range 1 + x.r.IntN(3) {
		switch x.r.IntN(10) {
		case 0:
			v.Kind = x.one("", "a", "b")
		case 1:
			v.Owner = x.one("", "ann", "bob")
		case 2:
			v.Rank = x.r.IntN(4) - 1
		case 3:
			v.Due = time.Now().Add(time.Duration(x.r.IntN(5)+1) * time.Hour)
		case 4:
			v.Text = x.text(5000)
			if x.r.IntN(6) == 0 {
				v.Text = strings.Repeat("y", 398_000+x.r.IntN(9000))
			}
		case 5:
			v.Name = x.text(2000)
		case 6:
			v.Note = x.one("", "n", x.text(3000))
		case 7:
			x.serial++
			v.Lines = append(v.Lines, zooLine{No: x.serial % 10000, Kind: x.one("", "a", "b"), Words: x.text(2500)})
		case 8:
			if v.Cards == nil {
				v.Cards = map[string]zooCard{}
			}
			k := x.one("x", "y", "z")
			if x.r.IntN(3) == 0 {
				delete(v.Cards, k)
			} else {
				v.Cards[k] = zooCard{Kind: x.one("", "a", "b"), Words: x.text(2500)}
			}
		default:
			if n := len(v.Lines); n > 0 {
				i := x.r.IntN(n)
				switch x.r.IntN(3) {
				case 0:
					v.Lines = slices.Delete(v.Lines, i, i+1)
				case 1:
					v.Lines[i].Kind = x.one("", "a", "b")
				default:
					v.Lines[i].Words = x.text(2500)
				}
			}
		}
	}
	*p = T(v)
}

func (x *zooRun[T]) step(ctx context.Context) {
	options := [][]mapper.WriteOption{
		nil, nil,
		{mapper.Independent()},
		{mapper.ExactlyOnce()},
		{mapper.Reindex()},
	}[x.r.IntN(5)]
	_, bare := any(x).(*zooRun[zooBare])
	if len(x.now) < 4 || x.r.IntN(12) == 0 {
		x.serial++
		v := T(zoo{ID: strconv.Itoa(x.serial), Due: time.Now().Add(time.Hour)})
		x.edit(&v)
		x.edit(&v)
		x.edit(&v)
		e := x.m.New(v)
		if !bare && x.r.IntN(2) == 0 {
			options = []mapper.WriteOption{mapper.Staged()}
		}
		plan := kit.Must(x.m.PlanSave(e, options...))(x)
		r, err := x.m.Save(ctx, e, options...)
		checkCharged(x, "insert "+fmt.Sprint(options), plan, r, err)
		x.now[zoo(v).ID] = e
		return
	}
	ids := slices.Sorted(maps.Keys(x.now))
	id := ids[x.r.IntN(len(ids))]
	e := x.now[id]
	switch n := x.r.IntN(20); {
	case n == 0:
		plan := kit.Must(x.m.PlanDelete(e))(x)
		r, err := x.m.Delete(ctx, e)
		checkCharged(x, "delete", plan, r, err)
		delete(x.now, id)
	case n == 1 && !bare:
		r, err := x.m.DeleteByKey(ctx, x.m.Key(id), mapper.Staged())
		checkCharged(x, "delete, staged", nil, r, err)
		delete(x.now, id)
	case n == 2:
		r, err := x.m.DeleteByKey(ctx, x.m.Key(id).Prefix("LINE#"))
		checkCharged(x, "delete of lines", nil, r, err)
		x.now[id] = kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x)
	case n == 3: // moves
		v := zoo(e.Value)
		x.serial++
		v.ID = strconv.Itoa(x.serial)
		e.Value = T(v)
		x.edit(&e.Value)
		plan := kit.Must(x.m.PlanSave(e, mapper.Move()))(x)
		r, err := x.m.Save(ctx, e, mapper.Move())
		checkCharged(x, "move", plan, r, err)
		delete(x.now, id)
		x.now[v.ID] = e
	case n == 4: // a save that conflicts in part
		stale := kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x)
		x.edit(&e.Value)
		r, err := x.m.Save(ctx, e)
		checkCharged(x, "save", nil, r, err)
		x.edit(&stale.Value)
		x.edit(&stale.Value)
		_, _ = x.m.Save(ctx, stale, mapper.Independent())
		x.now[id] = kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x)
	case n < 7:
		x.found(ctx)
	case n < 11:
		x.patch(ctx, id, e)
	default:
		x.edit(&e.Value)
		plan := kit.Must(x.m.PlanSave(e, options...))(x)
		r, err := x.m.Save(ctx, e, options...)
		checkCharged(x, "save "+fmt.Sprint(options), plan, r, err)
	}
}

// found saves an entity that a query of an index yields: only what the index has.
func (x *zooRun[T]) found(ctx context.Context) {
	index := []*query.Items[T]{x.m.Index("byOwn", x.one("ann", "bob")), x.m.Index("byKind/HEAD", x.one("a",
		"b"))}[x.r.IntN(2)]
	for e, err := range x.m.Entities(ctx, query.Of[T](index).Limit(1)) {
		if err != nil {
			x.Fatal(err)
		}
		id := zoo(e.Value).ID
		want := zoo(kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x).Value)
		read := zooPart(want, func(field string) bool { return e.Loaded(zooString(&e.Value, field)) },
			e.Loaded(zooInt(&e.Value)))
		if part := zooPart(zoo(e.Value), func(string) bool { return true }, true); part != read {
			x.Errorf("the index has %+v, stored is %+v", part, read)
		}
		unread := false
		for _, field := range []string{"Owner", "Name", "Kind"}[:1+x.r.IntN(3)] {
			text := x.one("", "a", "ann", "bob")
			unread = unread || !e.Loaded(zooString(&e.Value, field)) && text != ""
			*zooString(&e.Value, field) = text
			v := T(want)
			*zooString(&v, field) = text
			want = zoo(v)
		}
		plan, err := x.m.PlanSave(e)
		var missing *mapper.NotLoadedError
		if unread {
			if !errors.As(err, &missing) {
				x.Errorf("a change of an unread field: %v", err)
			}
			return
		}
		if !e.Loaded(zooString(&e.Value, "Kind")) {
			want.Kind = zoo(kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x).Value).Kind
		}
		if errors.As(err, &missing) {
			return // a key of another index names a field that was not read
		}
		if err != nil {
			x.Fatal(err)
		}
		r, err := x.m.Save(ctx, e)
		checkCharged(x, "save of the index's part", plan, r, err)
		x.now[id] = kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x)
		if now := zoo(x.now[id].Value); !reflect.DeepEqual(now, want) {
			x.Errorf("%+v, want %+v", now, want)
		}
	}
}

// zooFields are fields of a root item.
type zooFields struct {
	owner, name, kind string
	rank              int
}

// zooPart returns the fields that were read.
func zooPart(v zoo, read func(string) bool, rank bool) zooFields {
	var f zooFields
	for name, to := range map[string]*string{"Owner": &f.owner, "Name": &f.name, "Kind": &f.kind} {
		if read(name) {
			*to = *zooString(&v, name)
		}
	}
	if rank {
		f.rank = v.Rank
	}
	return f
}

func (x *zooRun[T]) patch(ctx context.Context, id string, e *mapper.Entity[T]) {
	str := func(name string) *field.String[*T, string] {
		return handmade.String(name, "", func(v *T) *string { return zooString(v, name) })
	}
	rank := handmade.Number("Rank", "", func(v *T) *int { return zooInt(v) })
	owner, name, note, kind := str("Owner"), str("Name"), str("Note"), str("Kind")
	head := mapperimpl.Item[T, T](x.m.Key(id).Item("HEAD"), 0)
	noteItem := mapperimpl.Item[T, T](x.m.Key(id).Item("NOTE"), 1)
	var p *mapper.Patch[T]
	what := ""
	switch x.r.IntN(11) {
	case 0:
		what, p = "owner", head.Patch(owner.Set(x.one("", "ann", "eve"))).And()
	case 1:
		what, p = "rank+name", head.Patch(name.Set(x.text(2000)), owner.SetIfAbsent("zed")).And()
	case 2:
		what, p = "kind+rank", head.Patch(kind.Set(x.one("", "a", "b")), rank.Set(x.r.IntN(5))).And()
	case 3:
		what, p = "note", noteItem.Patch(note.Set(x.one("q", x.text(3000)))).And()
	case 4:
		what, p = "note delete", noteItem.Delete()
	case 5:
		x.serial++
		what, p = "add line", handmade.Elements[T, zooLine]{
			Node: x.m.Key(id).Prefix("LINE#"),
			Item: 2,
		}.Add(zooLine{No: x.serial % 10000, Kind: x.one("", "a", "b"), Words: x.text(2500)})
	case 6:
		n := x.serial
		if l := zoo(e.Value).Lines; len(l) > 0 {
			n = l[0].No
		}
		what, p = "put line", handmade.Elements[T, zooLine]{
			Node: x.m.Key(id).Prefix("LINE#"),
			Item: 2,
		}.Put(zooLine{No: n, Kind: x.one("", "a", "b"), Words: x.text(2500)})
	case 7:
		what, p = "put card", mapperimpl.Put(x.m.Key(id).Prefix("CARD#"), 3, x.one("x", "y", "z"),
			&zooCard{Kind: x.one("", "a"), Words: x.text(2000)})
	case 8:
		what, p = "owner remove, if entity", head.Patch(owner.Remove()).And().IfEntityExists()
	case 9:
		what, p = "upsert kind+rank", head.Patch(kind.Set("a"), rank.Set(2), owner.Set("ann")).And().Upsert()
	default:
		what, p = "note, if entity", noteItem.Patch(note.Set(x.text(1000)+"w")).And().IfEntityExists()
	}
	plan, err := p.Plan(x.m)
	if err != nil {
		x.Fatalf("%s: %v", what, err)
	}
	if x.r.IntN(4) == 0 {
		r, err := mapper.Transact(ctx, p.PatchPart(x.m))
		if err == nil {
			checkCharged(x, "transact "+what, nil, r, err)
		} else if strings.Contains(err.Error(), "ValidationException") {
			x.Error(err)
		}
	} else {
		r, err := p.Exec(ctx, x.m)
		switch {
		case err == nil:
			checkCharged(x, "patch "+what, plan, r, err)
		case strings.Contains(err.Error(), "ValidationException"):
			x.Error(what, err)
		default:
			x.Log(what, err)
		}
	}
	x.now[id] = kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x)
}

// The plan of an addition by a mapper that does not know the entity reckons with the incarnation, in
// the item and in the entries of its indexes.
func TestPlanOfAdditionReckonsIncarnationInIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e := testengine.Start(t)
	name := fmt.Sprint("zoos-", time.Now().UnixNano())
	m := kit.Must(mapper.New[zoo](e.Client(), mapper.Table(name)))(t)
	kit.Must(e.Client().CreateTable(ctx, tables.Of(m)[0].Create))(t)
	kit.Must(m.Save(ctx, m.New(zoo{ID: "1", Kind: "a"})))(t)
	for n := 950; n < 966; n++ { // items of 1,012 to 1,027 bytes
		cold := kit.Must(mapper.New[zoo](e.Client(), mapper.Table(name)))(t)
		p := handmade.Elements[zoo, zooLine]{
			Node: cold.Key("1").Prefix("LINE#"),
			Item: 2,
		}.Add(zooLine{No: n, Kind: "a", Words: strings.Repeat("w", n)})
		plan := kit.Must(p.Plan(cold))(t)
		r, err := p.Exec(ctx, cold)
		checkCharged(t, fmt.Sprint("of ", n, " words"), plan, r, err)
	}
}

func zooString[T zooModel](v *T, name string) *string {
	switch z := any(v).(type) {
	case *zoo:
		return map[string]*string{"Owner": &z.Owner, "Name": &z.Name, "Note": &z.Note, "Kind": &z.Kind}[name]
	case *zooTTL:
		return map[string]*string{"Owner": &z.Owner, "Name": &z.Name, "Note": &z.Note, "Kind": &z.Kind}[name]
	case *zooBare:
		return map[string]*string{"Owner": &z.Owner, "Name": &z.Name, "Note": &z.Note, "Kind": &z.Kind}[name]
	}
	return nil
}

func zooInt[T zooModel](v *T) *int {
	switch z := any(v).(type) {
	case *zoo:
		return &z.Rank
	case *zooTTL:
		return &z.Rank
	case *zooBare:
		return &z.Rank
	}
	return nil
}

// stored compares the derived keys of all items with the expected ones.
func (x *zooRun[T]) stored(ctx context.Context) {
	x.Helper()
	want := map[string]string{}
	n, own := 0, 0
	for id, e := range x.now {
		v := zoo(e.Value)
		add := func(sk, kind, key string) {
			n++
			text := " "
			if kind != "" {
				text = "K#" + kind + " "
			}
			want["ZOO#"+id+" "+sk] = text + key
		}
		add("HEAD", v.Kind, fmt.Sprintf("H#%020d", uint64(int64(v.Rank))+1<<63))
		if v.Owner != "" {
			own++
		}
		for _, l := range v.Lines {
			add(fmt.Sprintf("LINE#%04d", l.No), l.Kind, fmt.Sprintf("L#%s#%04d", id, l.No))
		}
		for k, c := range v.Cards {
			add("CARD#"+k, c.Kind, fmt.Sprintf("C#%s#%s", k, id))
		}
	}
	got, owners := map[string]string{}, 0
	pages := dynamodb.NewScanPaginator(testengine.Start(x).Client(),
		&dynamodb.ScanInput{TableName: aws.String(tables.Of(x.m)[0].Name), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		out := kit.Must(pages.NextPage(ctx))(x)
		for _, a := range out.Items {
			s := func(name string) string {
				if v, ok := a[name].(*types.AttributeValueMemberS); ok {
					return v.Value
				}
				return ""
			}
			if a["Owner"] != nil {
				owners++
			}
			if s("SK") != "NOTE" {
				got[s("PK")+" "+s("SK")] = s("K") + " " + s("KS")
			}
		}
	}
	for k, v := range want {
		if got[k] != v {
			x.Errorf("%s: %q, want %q", k, got[k], v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			x.Errorf("%s: %q is left over", k, v)
		}
	}
	if own != owners {
		x.Errorf("%d owners, want %d", owners, own)
	}
}

func runZoo[T zooModel](t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return
	}
	seed := draws.Seed(t)
	ctx := context.Background()
	x := &zooRun[T]{
		T: t, r: rand.New(rand.NewPCG(seed, 0)), m: kit.Indexed[T](t, nil),
		now: map[string]*mapper.Entity[T]{},
	}
	for i := range draws.Times(60, 400, 4_000) {
		x.step(ctx)
		if i%20 == 19 {
			x.stored(ctx)
		}
		if t.Failed() {
			t.Fatal(fmt.Sprint("after ", i, " operations"))
		}
	}
}

// Random histories of a model with all kinds of indexes have the predicted units, and the expected keys of all entries.
func TestIndexZoo(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*testing.T){
		"with versions": runZoo[zoo], "with an expiry": runZoo[zooTTL], "without versions": runZoo[zooBare],
	} {
		t.Run(name, run)
	}
}
