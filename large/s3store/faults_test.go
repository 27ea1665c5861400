package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// album has a value in parts next to its items, one in a table of parts, and one that is an object.
type album struct {
	_     struct{} `ddb:"table=albums"`
	ID    string   `ddb:"pk=ALBUM#{ID}"`
	Name  string   `ddb:"sk=HEAD"`
	Story string   `ddb:"sk=STORY,chunk,inline=100"`
	Cover []byte   `ddb:"sk=COVER,s3=covers,inline=100"`
	Notes []string `ddb:"sk=STORY,chunk,table=AlbumParts,inline=100"`
}

// albums are a place for albums: tables, and a bucket.
type albums struct {
	table, parts, bucket string
	s3                   *engines.S3
}

func newAlbums(t testing.TB) *albums {
	t.Helper()
	a := &albums{table: testengine.Table(t, "PK:S", "SK:S"), parts: testengine.Table(t, "PK:S", "")}
	a.s3, a.bucket = testengine.S3(t)
	return a
}

// mapper returns a mapper with clients of its own, at a time.
func (a *albums) mapper(t testing.TB, db *dynamodb.Client, objects *s3.Client,
	now func() time.Time,
) *mapper.Mapper[album] {
	t.Helper()
	names := map[string]string{"albums": a.table, "AlbumParts": a.parts}
	m, err := mapper.New[album](db, mapper.Tables(func(n string) string { return names[n] }),
		s3store.Objects(objects, s3store.Buckets(func(string) string { return a.bucket })))
	if err != nil {
		t.Fatal(err)
	}
	setNow(m, now)
	return m
}

// stored lists the ids of external values, of records, and of pointers. Those of items with the mark of
// a staged insert, which may never go live, are hidden.
func (a *albums) stored(t testing.TB) (external, records, pointers, hidden map[string]bool) {
	t.Helper()
	ctx := context.Background()
	external, records, pointers, hidden = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	client := testengine.Start(t).Client()
	for _, table := range []string{a.table, a.parts} {
		for p := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table}); p.HasMorePages(); {
			page := must(p.NextPage(ctx))(t)
			for _, item := range page.Items {
				pk := item["PK"].(*types.AttributeValueMemberS).Value
				switch {
				case strings.HasPrefix(pk, "~blob#"):
					for _, v := range item["~values"].(*types.AttributeValueMemberL).Value {
						id := v.(*types.AttributeValueMemberM).Value["id"]
						records[id.(*types.AttributeValueMemberS).Value] = true
					}
				case strings.Contains(pk, "#~"):
					external[strings.Split(strings.Split(pk, "#~")[1], "#")[0]] = true
				default:
					for _, v := range item {
						p, ok := extern.PointerOf(v)
						switch {
						case ok && item["_s"] != nil:
							hidden[p.ID] = true
						case ok:
							pointers[p.ID] = true
						}
					}
				}
			}
		}
	}
	objects := clientOf(a.s3)
	for p := s3.NewListObjectsV2Paginator(objects, &s3.ListObjectsV2Input{Bucket: &a.bucket}); p.HasMorePages(); {
		page := must(p.NextPage(ctx))(t)
		for _, o := range page.Contents {
			external[strings.TrimPrefix(*o.Key, "itemize/")] = true
		}
	}
	return external, records, pointers, hidden
}

// clean fails unless just what items point to is stored.
func (a *albums) clean(t testing.TB) {
	t.Helper()
	external, records, pointers, hidden := a.stored(t)
	bad := !maps.Equal(external, records)
	for id := range pointers {
		bad = bad || !external[id]
	}
	for id := range external {
		bad = bad || !pointers[id] && !hidden[id]
	}
	if bad {
		t.Fatalf("stored are %v, in records %v, and items point to %v, hidden ones to %v", external, records, pointers,
			hidden)
	}
}

// clock is a time that tests move on.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

// collect collects as often as it takes, hours apart.
func collect[T any](t testing.TB, m *mapper.Mapper[T], c *clock) {
	t.Helper()
	for range 3 {
		c.Time = c.Add(3 * time.Hour)
		if done, err := collectAll(context.Background(), m, large.Delete()); err != nil {
			t.Fatalf("%+v, %v", done, err)
		}
	}
}

func albumOf(id, what string) album {
	return album{
		ID: id, Name: what, Story: strings.Repeat(what, 200), Cover: bytes.Repeat([]byte(what), 300),
		Notes: []string{what, strings.Repeat(what, 100)},
	}
}

func sameAlbum(a, b album) bool {
	return a.Name == b.Name && a.Story == b.Story && bytes.Equal(a.Cover, b.Cover) &&
		fmt.Sprint(a.Notes) == fmt.Sprint(b.Notes)
}

// A collection reports its findings, records them, and deletes them after the grace period; values with
// a pointer are kept.
func TestCollect(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a := newAlbums(t)
	c := &clock{time.Now()}
	m := a.mapper(t, testengine.Start(t).Client(), clientOf(a.s3), c.now)
	e := m.New(albumOf("a", "first"))
	r := must(m.Save(ctx, e))(t)
	if r.Predicted().Objects.Puts != 1 || r.Predicted().Objects.Sent != int64(len(e.Value.Cover)) {
		t.Errorf("the receipt tells of the objects %+v", r.Predicted().Objects)
	}
	for range 2 {
		e.Value = albumOf("a", "second "+fmt.Sprint(c.Unix()))
		must(m.Save(ctx, e))(t)
		c.Time = c.Add(time.Second)
	}
	other := m.New(albumOf("b", "other"))
	must(m.Save(ctx, other))(t)
	must(m.Delete(ctx, other))(t)
	expect := func(done *extern.Report, records, unreferenced, removed int) {
		t.Helper()
		if done.Records != records || done.Unreferenced != unreferenced || done.Removed != removed || done.Next != "" {
			t.Errorf("%+v", done)
		}
	}
	expect(must(collectAll(ctx, m))(t), 4, 9, 0)
	c.Time = c.Add(2 * time.Hour)
	expect(must(collectAll(ctx, m))(t), 4, 9, 0) // it has only reported
	expect(must(collectAll(ctx, m, large.Delete()))(t), 4, 9, 0)
	c.Time = c.Add(30 * time.Minute)
	expect(must(collectAll(ctx, m, large.Delete()))(t), 4, 9, 0)
	c.Time = c.Add(time.Hour)
	expect(must(collectAll(ctx, m))(t), 4, 9, 0)
	done := must(collectAll(ctx, m, large.Delete()))(t)
	expect(done, 4, 0, 9)
	if done.Objects != 3 || done.Parts != 6 || done.S3.Deletes != 3 {
		t.Errorf("%+v", done)
	}
	expect(must(collectAll(ctx, m, large.Delete(), large.Rate(1000)))(t), 1, 0, 0)
	if done, err := collectAll(ctx, m, large.Resume("64/x")); err == nil {
		t.Errorf("it went on where no collection ends: %+v", done)
	}
	expect(must(collectAll(ctx, m, large.Resume("63/~")))(t), 0, 0, 0)
	a.clean(t)
	if got := must(m.Load(ctx, m.Key("a")))(t); !sameAlbum(got.Value, e.Value) {
		t.Errorf("%+v", got.Value.Name)
	}
}

// Every fault at every request of a write, a delete or a collection. A reader sees the old value or the
// new one completely, acknowledged values exist, and after the collector there is no value without a
// pointer.
func TestLargeFaults(t *testing.T) {
	t.Parallel()
	old, now := albumOf("", "old "), albumOf("", "now ")
	for name, op := range map[string]func(context.Context, *mapper.Mapper[album], string, *mapper.Entity[album]) error{
		"insert": func(ctx context.Context, m *mapper.Mapper[album], id string, _ *mapper.Entity[album]) error {
			v := now
			v.ID = id
			_, err := m.Save(ctx, m.New(v))
			return err
		},
		"staged insert": func(ctx context.Context, m *mapper.Mapper[album], id string, _ *mapper.Entity[album]) error {
			v := now
			v.ID = id
			_, err := m.Save(ctx, m.New(v), mapper.Staged())
			return err
		},
		"replace": func(ctx context.Context, m *mapper.Mapper[album], id string, _ *mapper.Entity[album]) error {
			_, err := m.Update(ctx, m.Key(id), func(v *album) error {
				id := v.ID
				*v = now
				v.ID = id
				return nil
			})
			return err
		},
		"delete": func(ctx context.Context, m *mapper.Mapper[album], id string, e *mapper.Entity[album]) error {
			_, err := m.DeleteByKey(ctx, m.Key(id), mapper.Staged())
			return err
		},
		"collect": func(ctx context.Context, m *mapper.Mapper[album], id string, e *mapper.Entity[album]) error {
			_, err := collectAll(ctx, m, large.Delete())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &largeFaults{albums: newAlbums(t), old: old, now: now, name: name, op: op, clock: &clock{time.Now()}}
			f.plain = f.mapper(t, testengine.Start(t).Client(), clientOf(f.s3), f.clock.now)
			seed := draws.Seed(t)
			faultsAt(seed, draws.Times(1, 12, draws.All),
				func(at int, fault fakedynamo.Fault) int { return f.once(t, at, fault) })
		})
	}
}

// faultsAt does something once without a fault, and then with faults at requests, from 1, that it
// sent: most of all pairs by a seed.
func faultsAt(seed uint64, most int, once func(at int, fault fakedynamo.Fault) int) {
	sent := once(0, 0)
	for _, drawn := range draws.Some(seed, sent*int(fakedynamo.Faults), most) {
		once(1+drawn/int(fakedynamo.Faults), fakedynamo.Fault(drawn%int(fakedynamo.Faults)))
	}
}

type largeFaults struct {
	*albums
	old, now album
	name     string
	op       func(context.Context, *mapper.Mapper[album], string, *mapper.Entity[album]) error
	plain    *mapper.Mapper[album]
	clock    *clock
	n        int
}

// once does the operation with a fault at a request, from 1, or none for 0, and returns how many requests it took.
func (f *largeFaults) once(t *testing.T, at int, fault fakedynamo.Fault) int {
	t.Helper()
	ctx := context.Background()
	f.n++
	id := fmt.Sprint(f.n)
	inserts := strings.Contains(f.name, "insert")
	if !inserts {
		v := f.old
		v.ID = id
		e := f.plain.New(v)
		must(f.plain.Save(ctx, e))(t)
		if f.name == "collect" { // there is something to do
			e.Value.Story, e.Value.Cover, e.Value.Notes = f.now.Story, f.now.Cover, f.now.Notes
			must(f.plain.Save(ctx, e))(t)
			f.clock.Time = f.clock.Add(3 * time.Hour)
			must(collectAll(ctx, f.plain, large.Delete()))(t)
			f.clock.Time = f.clock.Add(3 * time.Hour)
		}
	}
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	x := &fakedynamo.Transport{At: at, Fault: fault, Kill: kill}
	m := f.mapper(t, x.Client(testengine.Start(t).Client()), faulty(x, clientOf(f.s3)), f.clock.now)
	err := f.op(ctx, m, id, nil)
	what := fmt.Sprintf("%s, %s at request %d: %v", f.name, fault, at, err)
	if at == 0 && err != nil {
		t.Fatal(what)
	}
	f.see(t, id, what, err)
	collect(t, f.plain, f.clock)
	f.see(t, id, what+", collected", err)
	f.clean(t)
	return x.Sent()
}

// see fails unless a reader sees what an operation of this outcome may leave.
func (f *largeFaults) see(t *testing.T, id, what string, outcome error) {
	t.Helper()
	got, err := f.plain.Load(context.Background(), f.plain.Key(id))
	var unknown *mapper.OutcomeUnknownError
	var partial *mapper.PartialError
	killed := errors.Is(outcome, context.Canceled) || errors.Is(outcome, fakedynamo.Err)
	sure := outcome == nil || !errors.As(outcome, &unknown) && !errors.As(outcome, &partial) && !killed
	switch missing := errors.Is(err, mapper.ErrNotFound); {
	case err != nil && !missing:
		t.Fatalf("%s: a load: %v", what, err)
	case f.name == "collect":
		v := f.now
		v.Name = f.old.Name
		if missing || !sameAlbum(got.Value, v) {
			t.Fatalf("%s: a load gives something else", what)
		}
	case f.name == "delete":
		if !missing && (!sameAlbum(got.Value, f.old) || outcome == nil) || missing && sure && outcome != nil {
			t.Fatalf("%s: a load gives %v", what, err)
		}
	case missing:
		if f.name == "replace" || outcome == nil {
			t.Fatalf("%s: it is not there", what)
		}
	case sameAlbum(got.Value, f.now):
		if sure && outcome != nil {
			t.Fatalf("%s: it was written", what)
		}
	case !sameAlbum(got.Value, f.old):
		t.Fatalf("%s: neither the old value nor the new: %s, story %d, cover %d, notes %d", what, got.Value.Name,
			len(got.Value.Story), len(got.Value.Cover), len(got.Value.Notes))
	case outcome == nil:
		t.Fatalf("%s: it was not written", what)
	}
}
