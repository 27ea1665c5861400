package migrate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// Room is in a partition with the other rooms of its building.
type Room struct {
	_        struct{}  `ddb:"table=rooms"`
	Building string    `ddb:"pk=BUILDING#{Building}"`
	Number   int       `dynamodbav:"no"`
	Name     string    `ddb:"sk=ROOM#{Number:04}#A"`
	Messages []Message `ddb:"sk=ROOM#{^Number:04}#M#{At:06}"`
}

// Message is written on the door of a room.
type Message struct {
	At   int
	Text string
}

// rooms is a table of monoliths, and one of the model, or one of both.
type rooms struct {
	testing.TB
	client         *dynamodb.Client
	layout         *migrate.Layout
	source, target string
	options        []migrate.Option
	docs           map[string]attributes
}

func newRooms(t *testing.T, source, target string, o ...migrate.Option) *rooms {
	t.Helper()
	return &rooms{t, testengine.Start(t).Client(), layoutOf[Room](t), source, target, o, map[string]attributes{}}
}

func layoutOf[T any](t testing.TB) *migrate.Layout {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"version": 1, "models": []schema.Layout{e.Layout()}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := migrate.ParseLayout(text, reflect.TypeFor[T]().Name())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *rooms) migration() *migrate.Migration {
	s.Helper()
	o := append([]migrate.Option{migrate.Tables(func(string) string { return s.target }), migrate.Segments(3)},
		s.options...)
	m, err := migrate.Open(context.Background(), s.client, s.layout, s.source, o...)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// put stores the monolith of a room under keys.
func (s *rooms) put(r Room, keys attributes) {
	s.Helper()
	doc, err := attributevalue.MarshalMap(r)
	if err != nil {
		s.Fatal(err)
	}
	for name, v := range keys {
		doc[name] = v
	}
	doc["door"] = &types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"}
	if _, err := s.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
		s.Fatal(err)
	}
	s.docs[fmt.Sprint(r.Building, r.Number)] = doc
}

func room(building string, number int) Room {
	r := Room{Building: building, Number: number, Name: fmt.Sprint("room ", number)}
	for i := range number {
		r.Messages = append(r.Messages, Message{i * 7 % 5, fmt.Sprint("message ", i)})
		r.Messages[i].At += i * 10
	}
	return r
}

// isDoc reports whether a stored item is a monolith.
func isDoc(a attributes) bool { return a["door"] != nil && a["Messages"] != nil }

// stored are the monoliths in the source, and all other items in both tables.
func (s *rooms) stored() (docs, foreign []attributes) {
	s.Helper()
	tables := []string{s.source}
	if s.target != s.source {
		tables = append(tables, s.target)
	}
	for _, table := range tables {
		for _, a := range (&setup{TB: s, client: s.client}).all(table) {
			if isDoc(a) {
				docs = append(docs, a)
			} else {
				foreign = append(foreign, a)
			}
		}
	}
	return docs, foreign
}

// migrateAll goes there and back, with writes between, and there again, and removes the monoliths.
func (s *rooms) migrateAll(strangers int) {
	ctx := context.Background()
	plan, err := s.migration().Plan(ctx, migrate.PlanOptions{})
	if err != nil || !plan.OK() || plan.Entities != len(s.docs) || plan.Full().Foreign != strangers {
		s.Fatalf("%+v, %v", plan, err)
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Moved != len(s.docs) || r.This.WCU != plan.WCU {
		s.Fatalf("%+v, %v; planned %+v", r, err, plan)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != len(s.docs) {
		s.Fatalf("%+v, %v", v, err)
	}
	m, err := mapper.New[Room](s.client, mapper.Table(s.target))
	if err != nil {
		s.Fatal(err)
	}
	w := migrate.Wrap(m, s.migration())
	for _, number := range []int{2, 3} {
		e, err := w.Load(ctx, m.Key("north", number))
		if err != nil || e.Value.Name != fmt.Sprint("room ", number) || len(e.Value.Messages) != number {
			s.Fatalf("%+v, %v", e, err)
		}
	}
	if _, err := w.Update(ctx, m.Key("north", 3), func(r *Room) error { r.Name = "another"; return nil }); err != nil {
		s.Fatal(err)
	}
	if _, err := w.Insert(ctx,
		Room{Building: "north", Number: 77, Name: "new", Messages: []Message{{At: 1}}}); err != nil {
		s.Fatal(err)
	}
	if err := w.Delete(ctx, m.Key("north", 1)); err != nil {
		s.Fatal(err)
	}
	s.docs["north3"]["Name"] = textValue("another")
	delete(s.docs, "north1")
	if _, err := s.migration().Rollback(ctx); err != nil {
		s.Fatal(err)
	}
	docs, foreign := s.stored()
	new := 0
	for _, a := range docs {
		delete(a, "_v")
		k := fmt.Sprint(text(a["Building"]), a["no"].(*types.AttributeValueMemberN).Value)
		if want := s.docs[k]; want == nil || !attr.SameItem(a, want) {
			s.Errorf("%s has come back as %v, and was %v", k, a, want)
		}
	}
	for _, a := range foreign {
		pk, _ := a["PK"].(*types.AttributeValueMemberS)
		switch {
		case a["Building"] != nil && a["Messages"] != nil:
			new++ // it has no door
		case a["strange"] == nil && (pk == nil || !strings.HasPrefix(pk.Value, "~")):
			s.Errorf("%v is left", a)
		}
	}
	if len(docs) != len(s.docs) || new != 1 {
		s.Errorf("%d monoliths, and %d new ones; there were %d", len(docs), new, len(s.docs))
	}
	s.contract(ctx, len(s.docs)+1, strangers)
}

// contract goes there for good.
func (s *rooms) contract(ctx context.Context, n, strangers int) {
	if r, err := s.migration().Run(ctx); err != nil || r.This.Moved != n {
		s.Fatalf("%+v, %v", r, err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
		s.Fatalf("%+v, %v", v, err)
	}
	if _, err := s.migration().Cutover(ctx); err != nil {
		s.Fatal(err)
	}
	if strangers > 0 && s.source != s.target {
		if _, err := s.migration().Contract(ctx, s.source, false); err == nil ||
			!strings.Contains(err.Error(), "of its items are not monoliths") {
			s.Errorf("the table was removed with what else is in it: %v", err)
		}
	}
	r, err := s.migration().Contract(ctx, s.source, true)
	if err != nil || r.This.Moved != n {
		s.Fatalf("%+v, %v", r, err)
	}
	docs, foreign := s.stored()
	for _, a := range foreign {
		if a["strange"] != nil {
			strangers--
		}
	}
	if len(docs) > 0 || strangers != 0 {
		s.Errorf("%d monoliths are left, and %d others are gone", len(docs), strangers)
	}
}

// A table with a sort key, of which both keys are fields; several entities are in one partition of the model's.
func TestHashAndRange(t *testing.T) {
	t.Parallel()
	s := newRooms(t, testengine.Table(t, "Building:S", "no:N"), testengine.Table(t, "PK:S", "SK:S"))
	for n := range 6 {
		s.put(room("north", n), nil)
		s.put(room("south", n), nil)
	}
	s.migrateAll(0)
}

func (s *rooms) insertForeign(keys attributes) {
	s.Helper()
	keys["strange"] = textValue("of another program")
	if _, err := s.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &s.source, Item: keys}); err != nil {
		s.Fatal(err)
	}
}

// Monoliths among the items of the model, under the same partition keys, together with items of others.
func TestOwnTable(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	s := newRooms(t, table, table, migrate.Keys("", "DOC#{Number:04}"))
	for n := range 6 {
		for _, building := range []string{"north", "south"} {
			s.put(room(building, n),
				attributes{"PK": textValue("BUILDING#" + building), "SK": textValue(fmt.Sprintf("DOC#%04d", n))})
		}
	}
	s.insertForeign(attributes{"PK": textValue("BUILDING#north"), "SK": textValue("DOOR#1")})
	s.insertForeign(attributes{"PK": textValue("OTHER"), "SK": textValue("DOC#0001")})
	s.migrateAll(2)
}

// Monoliths whose keys are texts that consist of fields, together with items of others, in a table
// without a sort key.
func TestKeysOfTexts(t *testing.T) {
	t.Parallel()
	s := newRooms(t, testengine.Table(t, "id:S", ""), testengine.Table(t, "PK:S", "SK:S"),
		migrate.Keys("room/{Building}/{Number}", ""))
	for n := range 6 {
		s.put(room("north", n), attributes{"id": textValue(fmt.Sprintf("room/north/%04d", n))})
	}
	s.insertForeign(attributes{"id": textValue("hall/north/1")})
	s.migrateAll(1)
}

// Keys from which the monolith of an entity cannot be found, or that are those of items, are refused
// before anything is read.
func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	own, other, plain := testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "SK:S"),
		testengine.Table(t, "id:S", "")
	for _, x := range []struct {
		source, hash, sort, want string
	}{
		{own, "", "", "write its template for monoliths, such as -sort DOC"},
		{own, "", "DOC", "the field no is in the keys of the model's root, but not of the monoliths"},
		{own, "", "ROOM#{Number}#A", "contains the monoliths, whose sort key could be that of"},
		{own, "", "ROOM#{Number}#{Building}", "contains the monoliths, whose sort key could be that of"},
		{
			own, "", "DOC#{Name}",
			`the key "DOC#{Name}" of monoliths: {Name} is not in the keys of the model's root`,
		},
		{own, "", "DOC#{Number:06}", "{Number:06} is not in the keys of the model's root, so that a monolith " +
			"cannot be found: name one of [{Building} {Number:04}]"},
		{own, "", "DOC#{Number", "of monoliths"},
		{other, "", "", "the key PK of the monoliths is not in the keys of the model's root"},
		{plain, "{Building}", "DOC", "has no sort key: leave -sort out (migrate.Keys)"},
		{plain, "", "", "the key id of the monoliths is not in the keys of the model's root"},
		{plain, "{Building}", "", "the field no is in the keys of the model's root, but not of the monoliths"},
	} {
		s := newRooms(t, x.source, own)
		_, err := migrate.Open(context.Background(), s.client, s.layout, s.source,
			migrate.Tables(func(string) string { return s.target }), migrate.Keys(x.hash, x.sort))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q %q: %v", x.hash, x.sort, err)
		}
	}
}

// Repo is named by two texts.
type Repo struct {
	_    struct{} `ddb:"table=repos"`
	Org  string   `ddb:"pk=REPO#{Org}#{Repo}"`
	Repo string
	Text string `ddb:"sk=A"`
}

// Log is named by a day in its partition key, and by the instant in its sort key.
type Log struct {
	_     struct{}          `ddb:"table=logs"`
	At    time.Time         `ddb:"pk=DAY#{At:date}"`
	Text  string            `ddb:"sk=LOG#{At}#A"`
	Notes map[string]string `ddb:"sk=LOG#{^At}#N#{key}"`
}

// Keys that two entities could share, that cannot be parsed, or that have another type, are refused. A
// bare name is written in full if one of the root's keys has it in full.
func TestKeysOfTwo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	target, plain, numbers := testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "id:S", ""),
		testengine.Table(t, "id:N", "")
	repos, logs := layoutOf[Repo](t), layoutOf[Log](t)
	for _, x := range []struct {
		layout       *migrate.Layout
		source, hash string
		want         string
	}{
		{repos, plain, "pkg/{Org}/{Repo}", "between them, so that two entities could have one key"},
		{repos, plain, "{Org}{Repo}", "between them, so that two entities could have one key"},
		{repos, plain, "pkg#{Org}#{Repo}", ""},
		{repos, numbers, "pkg#{Org}#{Repo}", "are not strings, but templates (-key, -sort) write strings"},
		{logs, plain, "log/{At:date}", "the value of At cannot be read back"},
		{logs, plain, "log/{At}", ""},
	} {
		_, err := migrate.Open(ctx, testengine.Start(t).Client(), x.layout, x.source, migrate.Keys(x.hash, ""),
			migrate.Tables(func(string) string { return target }))
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.hash, err)
		}
	}
}

// Parted has parts with a coarser time than the root's: their entity would be unknown.
type Parted struct {
	_      struct{}       `ddb:"table=parted"`
	At     time.Time      `ddb:"pk=MONTH#{At:month}"`
	Text   string         `ddb:"sk=HEAD#{At}"`
	Values map[string]int `ddb:"sk=V#{^At:date}#{key}"`
}

func TestPartsThatCouldBeAnothers(t *testing.T) {
	t.Parallel()
	e, err := schema.Of(reflect.TypeFor[Parted]())
	if err != nil {
		return // the model is refused before that
	}
	text, err := json.Marshal(map[string]any{"version": 1, "models": []schema.Layout{e.Layout()}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = migrate.ParseLayout(text, "Parted")
	refused(t, err, "the value of At cannot be read back from the keys of Values, so that its entity is unknown")
}

// A migration continues with the keys with which it began. Items with keys of another form are dead
// letters, and a cut-over of no entities is refused.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newRooms(t, testengine.Table(t, "id:S", ""), testengine.Table(t, "PK:S", "SK:S"),
		migrate.Keys("room#{Building}#{Number}", ""))
	s.put(room("north", 7), attributes{"id": textValue("room#north#0007")})
	s.put(room("north", 8), attributes{"id": textValue("room#north#8")})
	if r, err := s.migration().Run(ctx); err != nil || r.This.Moved != 1 || r.This.Dead != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	status, err := s.migration().Status(ctx)
	if err != nil || len(status.DeadLetters) != 1 ||
		!strings.Contains(status.DeadLetters[0].Reasons[0],
			"the model's keys would write the monolith's key as") {
		t.Errorf("%+v, %v", status, err)
	}
	s.options = []migrate.Option{migrate.Keys("rooms#{Building}#{Number}", "")}
	_, err = s.migration().Rollback(ctx)
	refused(t, err, `the migration was begun with the keys "room#{Building}#{Number}" and "" of the monoliths`)
	_, err = s.migration().Verify(ctx)
	refused(t, err, ": pass the same (-key, -sort; migrate.Keys)")
	_, err = s.migration().Run(ctx)
	refused(t, err, "pass the same")
}

// Two tables of monoliths and one table of the model are migrated one after the other. Items that
// existed before the second migration are not taken for its own.
func TestTwoSources(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	target := testengine.Table(t, "PK:S", "SK:S")
	a := newRooms(t, testengine.Table(t, "Building:S", "no:N"), target)
	b := newRooms(t, testengine.Table(t, "Building:S", "no:N"), target)
	a.put(room("north", 1), nil)
	b.put(room("south", 2), nil)
	if _, err := a.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := b.migration().Run(ctx)
	refused(t, err, "a migration of "+a.source+" into the table "+target+" is running")
	for _, step := range []func() error{
		func() error { _, err := a.migration().Verify(ctx); return err },
		func() error { _, err := a.migration().Cutover(ctx); return err },
		func() error { _, err := a.migration().Contract(ctx, a.source, true); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = a.migration().Rollback(ctx)
	refused(t, err, "the migration has ended")
	_, err = a.migration().Cutover(ctx)
	refused(t, err, "the migration has ended")
	s, err := a.migration().Status(ctx)
	if err != nil || s.Phase != "done" {
		t.Errorf("%+v, %v", s, err)
	}
	a.options, b.options = nil, []migrate.Option{migrate.Replace()}
	_, err = b.migration().Run(ctx)
	refused(t, err, "had collections before the migration")
	b.options = nil
	if _, err := b.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := b.migration().Rollback(ctx)
	if err != nil || r.This.Moved != 1 || r.This.Foreign != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	m, err := mapper.New[Room](b.client, mapper.Table(target))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := m.Load(ctx, m.Key("north", 1)); err != nil || e.Value.Name != "room 1" {
		t.Errorf("%+v, %v", e, err)
	}
}

// FieldKey has a field named as the key of the monoliths' table.
type FieldKey struct {
	_    struct{} `ddb:"table=fields"`
	Name string   `ddb:"pk=F#{Name}"`
	ID   string   `ddb:"sk=A" dynamodbav:"id"`
}

// What New and Import refuse of tables.
func TestTablesThatAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	own, plain, numbers := testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "id:S", ""),
		testengine.Table(t, "PK:N", "SK:S")
	to := func(name string) migrate.Option { return migrate.Tables(func(string) string { return name }) }
	_, err := migrate.Open(ctx, client, layoutOf[FieldKey](t), plain, migrate.Keys("pkg#{Name}", ""), to(own))
	refused(t, err, "the key id of the table "+plain+" is a field of the model, so that it needs no template")
	_, err = migrate.Open(ctx, client, layoutOf[Repo](t), plain, migrate.Keys("pkg#{Org}#{Repo}", ""), to(numbers))
	refused(t, err, "are of the types N and S, but S and S in the layout")
	_, err = migrate.Open(ctx, client, layoutOf[Repo](t), "not-there", to(own))
	refused(t, err, "missing table not-there in this account and region")
	m, err := migrate.Open(ctx, client, layoutOf[Room](t), own, migrate.Keys("", "DOC#{Number}"), to(own))
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Import(ctx, migrate.Folder(t.TempDir()))
	refused(t, err, "contains the monoliths")
}

// A dead letter with a similar key does not affect another entity. This is tested in a run from an
// export that has it in that form, and in a rollback while the other's claim exists.
func TestKeysThatResemble(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newRooms(t, testengine.Table(t, "id:S", ""), testengine.Table(t, "PK:S", "SK:S"),
		migrate.Keys("room#{Building}#{Number}", ""))
	s.put(room("north", 7), attributes{"id": textValue("room#north#7")})
	folder := migrate.Folder(t.TempDir())
	(&setup{TB: t, client: s.client, source: s.source}).exported(folder, 1)
	if _, err := s.client.DeleteItem(ctx,
		&dynamodb.DeleteItemInput{TableName: &s.source, Key: attributes{"id": textValue("room#north#7")}}); err != nil {
		t.Fatal(err)
	}
	s.put(room("north", 7), attributes{"id": textValue("room#north#0007")})
	m := s.migration().Mover()
	d, err := m.Monolith(ctx, item.Place{Table: m.Source, PK: key.Scalar{Type: 'S', Text: "room#north#0007"}},
		&write.Tally{})
	if err != nil {
		t.Fatal(err)
	}
	items, err := m.Import(d, false) // a stored claim
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if _, err := s.client.PutItem(ctx,
			&dynamodb.PutItemInput{TableName: &it.Place.Table.Name, Item: it.Attributes}); err != nil {
			t.Fatal(err)
		}
	}
	s.options = append(s.options, migrate.FromExport(folder))
	if r, err := s.migration().Run(ctx); err != nil || r.This.Moved != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, foreign := s.stored(); len(foreign) < len(items) {
		t.Fatalf("%d items are left of %d", len(foreign), len(items))
	}
	s.options = s.options[:1]
	s.put(room("north", 7), attributes{"id": textValue("room#north#007")})
	s.put(room("north", 7), attributes{"id": textValue("room#north#0007")})
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err := s.migration().Rollback(ctx); err != nil || r.This.Moved != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if docs, _ := s.stored(); len(docs) != 2 {
		t.Errorf("%d monoliths are left: %v", len(docs), docs)
	}
}

// A repeated rollback deletes no items from before the migration, and neither does one in the model's
// own table.
func TestRollbackTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	own := testengine.Table(t, "PK:S", "SK:S")
	for _, s := range []*rooms{
		newRooms(t, testengine.Table(t, "Building:S", "no:N"), testengine.Table(t, "PK:S", "SK:S")),
		newRooms(t, own, own, migrate.Keys("", "DOC#{Number:04}")),
	} {
		keys := attributes{}
		if s.source == own {
			keys = attributes{"PK": textValue("BUILDING#north"), "SK": textValue("DOC#0001")}
		}
		s.put(room("north", 1), keys)
		m, err := mapper.New[Room](s.client, mapper.Table(s.target))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Save(ctx, m.New(Room{Building: "south", Number: 5, Name: "before"})); err != nil {
			t.Fatal(err)
		}
		if _, err := s.migration().Run(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := s.migration().Rollback(ctx)
			if err != nil || r.This.Foreign != 1 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		if e, err := m.Load(ctx, m.Key("south", 5)); err != nil || e.Value.Name != "before" {
			t.Errorf("%+v, %v", e, err)
		}
		if docs, _ := s.stored(); len(docs) != 1 {
			t.Errorf("%v", docs)
		}
	}
}

// A migration that died between the removal of its table and its end blocks nothing. A monolith that
// was written during the removal of the old layout is moved by a run.
func TestRemovingEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	target := testengine.Table(t, "PK:S", "SK:S")
	a := newRooms(t, testengine.Table(t, "Building:S", "no:N"), target)
	a.put(room("north", 1), nil)
	cutOver := func() {
		for _, step := range []func() error{
			func() error { _, err := a.migration().Run(ctx); return err },
			func() error { _, err := a.migration().Verify(ctx); return err },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cutOver()
	if _, err := a.migration().Cutover(ctx); err != nil {
		t.Fatal(err)
	}
	dying, die := context.WithCancel(ctx)
	defer die()
	l := &lastWrite{Client: a.client, at: "removing", die: die}
	m, err := migrate.Open(ctx, l, a.layout, a.source, migrate.Tables(func(string) string { return target }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Contract(dying, a.source, false); err == nil {
		t.Fatal("it did not die")
	}
	a.put(room("north", 2), nil)
	if r, err := a.migration().Run(ctx); err != nil || r.This.Moved != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := a.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &a.source}); err != nil {
		t.Fatal(err)
	}
	b := newRooms(t, testengine.Table(t, "Building:S", "no:N"), target)
	b.put(room("south", 3), nil)
	if r, err := b.migration().Run(ctx); err != nil || r.This.Moved != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// lastWrite is a client whose process ends when a phase was entered.
type lastWrite struct {
	migrate.Client
	at  string
	die func()
}

func (l *lastWrite) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	out, err := l.Client.PutItem(ctx, in, o...)
	if p, ok := in.Item["phase"].(*types.AttributeValueMemberS); ok && p.Value == l.at {
		l.die()
	}
	return out, err
}

// A migration that has replaced all monoliths is cut over and contracted, also among other items. One
// whose keys match no item is not.
func TestCutoverOfNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newRooms(t, testengine.Table(t, "id:S", ""), testengine.Table(t, "PK:S", "SK:S"),
		migrate.Keys("room#{Building}#{Number}", ""))
	s.insertForeign(attributes{"id": textValue("hall")})
	all := func() error {
		if _, err := s.migration().Run(ctx); err != nil {
			return err
		}
		if _, err := s.migration().Verify(ctx); err != nil {
			return err
		}
		_, err := s.migration().Cutover(ctx)
		return err
	}
	refused(t, all(), "is a monolith (1 other items): check the keys (-key, -sort)")
	s.put(room("north", 1), attributes{"id": textValue("room#north#0001")})
	s.options = append(s.options, migrate.Replace())
	if err := all(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.migration().Contract(ctx, s.source, true); err != nil {
		t.Error(err)
	}
}
