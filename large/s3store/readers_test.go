package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// once is a reader that can only be read once.
func once(b string) io.Reader { return iotest.HalfReader(strings.NewReader(b)) }

// The content of a reader is stored like a value of Set, whether or not it can be read again. It costs
// the planned units, is read from its storage after the save, and is not written if it equals the
// stored value.
func TestSetReader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(11, 12))
	m, _ := newArticles(t)
	big := words(rnd, draws.Times(1_000_000, 3_000_000, 3_000_000))
	for name, c := range map[string]struct{ text, image string }{
		"nothing":    {"", ""},
		"few":        {"hello", "world"},
		"many":       {big, big[:len(big)*2/3]},
		"noise":      {letters(rnd, 500_000), string(noise(rnd, 700_000))},
		"one part":   {letters(rnd, 409_601), string(noise(rnd, 409_601))},
		"characters": {strings.Repeat("häßlich 日本 𝄞 ", 90_000), ""},
	} {
		for how, reader := range map[string]func(string) io.Reader{"again": func(s string) io.Reader {
			return strings.NewReader(s)
		}, "once": once} {
			id := strings.ReplaceAll(name, " ", "") + how
			e := m.New(article{ID: id})
			e.Value.Text.SetReader(reader(c.text))
			e.Value.Image.SetReader(reader(c.image))
			e.Value.Notes = []note{{No: 1}}
			e.Value.Notes[0].Text.SetReader(reader(c.text))
			plan := must(m.PlanSave(e))(t)
			r := must(m.Save(ctx, e))(t)
			if r.Predicted().Requests != plan.Requests || r.Predicted().WCU != plan.WCU ||
				r.Predicted().Objects != plan.Objects {
				t.Errorf("%s: planned %v, and it took %v", id, plan, r)
			}
			got := must(m.Load(ctx, m.Key(id)))(t)
			for which, v := range map[string]*article{"saved": &e.Value, "loaded": &got.Value} {
				text, err := v.Text.Get(ctx)
				image, err2 := v.Image.Get(ctx)
				note, err3 := v.Notes[0].Text.Get(ctx)
				if err := errors.Join(err, err2, err3); err != nil || text != c.text || string(image) != c.image ||
					note != c.text {
					t.Errorf("%s: %s: %d, %d and %d bytes, %v", id, which, len(text), len(image), len(note), err)
				}
				if p := v.Text.Preview(); !strings.HasPrefix(c.text, p) || len(p) < min(15, len(c.text)) {
					t.Errorf("%s: %s: the preview is %q", id, which, p)
				}
				stream := must(v.Text.Reader(ctx))(t)
				b, err := io.ReadAll(stream)
				if err = errors.Join(err, stream.Close()); err != nil || string(b) != c.text {
					t.Errorf("%s: %s: the stream has %d bytes, %v", id, which, len(b), err)
				}
			}
			got.Value.Text.SetReader(reader(c.text))
			if r := must(m.Save(ctx, got))(t); r.Predicted().Requests != 0 {
				t.Errorf("%s: the same once more sent %v", id, r)
			}
			if r := must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
				t.Errorf("%s: a second save sent %v", id, r)
			}
		}
	}
}

// A file is read from its position; after the save it is not needed any more. An object of more than
// 64 MiB goes up in parts.
func TestSetReaderFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	name := filepath.Join(t.TempDir(), "image")
	const mb = 70 // over 64 MB an object is sent in parts
	image := noise(rand.New(rand.NewPCG(13, 14)), mb<<20)
	if err := os.WriteFile(name, append([]byte("head"), image...), 0o600); err != nil {
		t.Fatal(err)
	}
	f := must(os.Open(name))(t)
	must(f.Seek(4, io.SeekStart))(t)
	e := m.New(article{ID: "a"})
	e.Value.Image.SetReader(f)
	if n, ok := e.Value.Image.Len(); !ok || n != int64(mb)<<20 {
		t.Errorf("it has %d bytes, %v", n, ok)
	}
	plan := must(m.PlanSave(e))(t)
	r := must(m.Save(ctx, e))(t)
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		t.Error(err)
	}
	if r.Predicted().Objects != plan.Objects || r.Predicted().Objects.Puts != (mb+15)/16+2 {
		t.Errorf("planned %v, and it took %v", plan.Objects, r.Predicted().Objects)
	}
	if b, err := e.Value.Image.Get(ctx); err != nil || !bytes.Equal(b, image) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// What cannot be read, or stored, is an error before anything is sent.
func TestSetReaderRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	broken := errors.New("the line went dead")
	for text, c := range map[string]struct {
		m   *mapper.Mapper[article]
		set func(*article)
	}{
		"keep it open until the save has ended": {m, func(a *article) {
			f := must(os.Open(os.DevNull))(t)
			_ = f.Close()
			a.Text.SetReader(f)
		}},
		"article.Text: attribute \"Text\": the reader passed to SetReader: the line went dead": {m, func(a *article) {
			a.Text.SetReader(io.MultiReader(strings.NewReader(strings.Repeat("x", 500_000)), iotest.ErrReader(broken)))
		}},
		"the reader is nil: pass one, or use Clear": {m, func(a *article) { a.Text.SetReader(nil) }},
		"it is not UTF-8 text: declare the field as a large.Value[[]byte]": {
			m,
			func(a *article) { a.Text.SetReader(once(strings.Repeat("x", 500_000) + "\xff")) },
		},
		"UTF-8": {
			m,
			func(a *article) { a.Text.SetReader(once(strings.Repeat("x", 500_000) + "\xe6\x97")) },
		},
		"SetReader is for text and bytes, not for a": {m, func(a *article) { a.Tables.SetReader(once("x")) }},
	} {
		e := c.m.New(article{ID: "a"})
		c.set(&e.Value)
		r, err := c.m.Save(ctx, e)
		if err == nil || !strings.Contains(err.Error(), text) || r.Predicted().Requests != 0 {
			t.Errorf("%s: %v, %v", text, err, r)
		}
	}
}

// MaxValue limits values that are read as a whole, and not streams.
func TestMaxValueOfStreams(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t, mapper.MaxValue(600_000))
	e := m.New(article{ID: "a"})
	e.Value.Text.SetReader(once(strings.Repeat("x", 600_001)))
	must(m.Save(ctx, e))(t)
	if s, err := e.Value.Text.Get(ctx); err == nil ||
		!strings.Contains(err.Error(), "raise the limit (mapper.MaxValue), or read it as a stream (large.Value, "+
			"Reader)") {
		t.Errorf("%d bytes, %v", len(s), err)
	}
	r := must(e.Value.Text.Reader(ctx))(t)
	if b, err := io.ReadAll(r); err != nil || len(b) != 600_001 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	var corrupt *extern.CorruptError
	if _, err := r.Read(make([]byte, 1)); err == nil || errors.As(err, &corrupt) || errors.Is(err, io.EOF) {
		t.Errorf("reading after Close: %v", err)
	}
}

// A value that was Set is in memory after its save, and is stored: it has an address.
func TestSetAndSaved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	image := noise(rand.New(rand.NewPCG(17, 18)), 500_000)
	e := m.New(article{ID: "a", Image: large.Of(image), Text: large.Of(strings.Repeat("few ", 600))})
	if _, err := e.Value.Image.PresignGet(ctx, time.Minute); err == nil ||
		!strings.Contains(err.Error(), "the value is new: save it") {
		t.Errorf("%v", err)
	}
	must(m.Save(ctx, e))(t)
	address := must(e.Value.Image.PresignGet(ctx, time.Minute))(t)
	if n, ok := e.Value.Image.Len(); !ok || n != 500_000 || !strings.HasPrefix(address, "http") {
		t.Errorf("%d, %v, %s", n, ok, address)
	}
	if _, err := e.Value.Image.PresignGet(ctx, 365*24*time.Hour); err == nil ||
		!strings.Contains(err.Error(), "an address is valid for at most 168h0m0s") {
		t.Errorf("%v", err)
	}
	if _, err := e.Value.Text.PresignGet(ctx, time.Minute); err == nil ||
		!strings.Contains(err.Error(), "article.Text: item") || !strings.Contains(err.Error(), "use Reader") {
		t.Errorf("%v", err)
	}
	b := must(e.Value.Image.Get(ctx))(t)
	b[0]++ // the caller's own
	if again := must(e.Value.Image.Get(ctx))(t); !bytes.Equal(again, image) {
		t.Error("what Get gave is shared")
	}
	stream := must(e.Value.Image.Reader(ctx))(t)
	if got, err := io.ReadAll(stream); err != nil || !bytes.Equal(got, image) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if r := must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Errorf("a second save sent %v", r)
	}
}

// What a load reads outside of items is in its plan.
func TestPlanLoadOfExternalValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c := newAlbums(t), &clock{time.Now()}
	m := a.mapper(t, testengine.Start(t).Client(), clientOf(a.s3), c.now)
	v := albumOf("1", "x")
	v.Story = strings.Repeat("story ", 150_000)
	must(m.Save(ctx, m.New(v)))(t)
	e := must(m.Load(ctx, m.Key("1")))(t)
	plan := must(m.PlanLoad(e))(t)
	var r mapper.Receipt
	must(m.Load(ctx, m.Key("1"), mapper.ReceiptTo(&r)))(t)
	if plan.Requests != r.Predicted().Requests || plan.RCU != r.Predicted().RCU ||
		plan.Objects != r.Predicted().Objects ||
		!strings.Contains(plan.String(), "S3: 1 get, 300 bytes") {
		t.Errorf("planned %v, and it took %v", plan, &r)
	}
}

// A mapper is not made where parts, records or objects could not be, or where a Value would belong to no item.
func TestLargeRefusedAtNew(t *testing.T) {
	t.Parallel()
	client := testengine.Start(t).Client()
	type raw struct {
		_  struct{} `ddb:"table=raws"`
		ID string   `ddb:"pk={ID}"`
		A  string   `ddb:"sk=A,chunk"`
	}
	type own struct {
		_  struct{} `ddb:"table=owns"`
		ID string   `ddb:"pk=OWN#{ID}"`
		A  string   `ddb:"sk=A,chunk,table=owns"`
	}
	type list struct {
		_  struct{}                        `ddb:"table=lists"`
		ID string                          `ddb:"pk=LIST#{ID}"`
		A  []large.Value[[]byte]           `ddb:"sk=A,chunk"`
		B  struct{ C large.Value[string] } `ddb:"sk=B,nested"`
	}
	gateway, _ := testengine.S3(t)
	for text, makes := range map[string]func() error{
		"the records of its external values cannot be in the table raws, which is the model's own": func() error {
			_, err := mapper.New[raw](client, mapper.LargeRecords("raws"))
			return err
		},
		"table= with chunk is the table of the parts": func() error {
			_, err := mapper.New[own](client)
			return err
		},
		"a large.Value in a []large.Value": func() error {
			_, err := mapper.New[list](client)
			return err
		},
		"list.B: a large.Value in a struct": func() error {
			_, err := mapper.New[list](client)
			return err
		},
		`"My_Bucket" is not a valid name of a bucket`: func() error {
			_, err := mapper.New[article](client, compress.Zstd(),
				s3store.Objects(clientOf(gateway), s3store.Buckets(func(string) string { return "My_Bucket" })))
			return err
		},
		"its values may be objects in S3, but the mapper has no S3 client": func() error {
			_, err := mapper.New[article](client, compress.Zstd(), s3store.Objects((*s3.Client)(nil)))
			return err
		},
		"MaxValue(-1): pass a positive number of bytes": func() error {
			_, err := mapper.New[own](client, mapper.MaxValue(-1))
			return err
		},
	} {
		if err := makes(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An entity that moves, and elements that swap their keys, keep their values. They are copies with ids
// of their own, read if they are not in memory, and they cost the planned units. The old values are
// collected.
func TestCopiedValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(15, 16))
	now := &clock{time.Now()}
	m, table := newArticles(t)
	setNow(m, now.now)
	text, image := letters(rnd, 900_000), noise(rnd, 500_000)
	notes := []string{letters(rnd, 600_000), letters(rnd, 200), "few"}
	e := m.New(article{
		ID: "a", Text: large.Of(text), Image: large.Of(image),
		Tables: large.Of(map[string][]int{"x": rnd.Perm(3000)}),
	})
	for i, s := range notes {
		e.Value.Notes = append(e.Value.Notes, note{i, large.Of(s)})
	}
	must(m.Save(ctx, e))(t)
	check := func(id string, order ...int) {
		t.Helper()
		v := &must(m.Load(ctx, m.Key(id)))(t).Value
		got, err := v.Text.Get(ctx)
		b, err2 := v.Image.Get(ctx)
		if err := errors.Join(err, err2); err != nil || got != text || !bytes.Equal(b, image) {
			t.Errorf("%s: the text has %d bytes, the image %d, %v", id, len(got), len(b), err)
		}
		for i, k := range order {
			if s, err := v.Notes[i].Text.Get(ctx); err != nil || s != notes[k] {
				t.Errorf("%s: note %d has %d bytes, %v", id, i, len(s), err)
			}
		}
	}
	e = must(m.Load(ctx, m.Key("a")))(t)
	e.Value.Notes[0].No, e.Value.Notes[1].No = 1, 0
	plan := must(m.PlanSave(e))(t)
	r := must(m.Save(ctx, e))(t)
	if r.Predicted().WCU != plan.WCU || r.Predicted().Requests != plan.Requests || r.Predicted().RCU != plan.RCU {
		t.Errorf("swapping was planned as %v, and took %v", plan, r)
	}
	check("a", 1, 0, 2)
	e.Value.ID = "b"
	plan = must(m.PlanSave(e, mapper.Move()))(t)
	r = must(m.Save(ctx, e, mapper.Move()))(t)
	if r.Predicted().WCU != plan.WCU || r.Predicted().Objects != plan.Objects || r.Predicted().RCU.Max > plan.RCU.Max ||
		r.Predicted().RCU.Min < plan.RCU.Min || r.Predicted().Objects.Puts != 1 || r.Predicted().Objects.Sent != 0 {
		t.Errorf("moving was planned as %v, and took %v", plan, r)
	}
	collect(t, m, now)
	check("b", 1, 0, 2)
	// From one item to another, and from an object to parts. A value that was collected in the meantime
	// is an error that says so.
	from := must(m.Load(ctx, m.Key("b")))(t)
	to := m.New(article{
		ID: "c", Text: from.Value.Text, Image: from.Value.Image,
		Notes: []note{
			{No: 5, Text: from.Value.Text},
			{No: 6, Text: from.Value.Notes[1].Text},
			{No: 7, Text: from.Value.Notes[1].Text},
		},
	})
	must(m.Save(ctx, to))(t)
	check("c")
	if s, err := must(m.Load(ctx, m.Key("c")))(t).Value.Notes[0].Text.Get(ctx); err != nil || s != text {
		t.Errorf("a copy in another field has %d bytes, %v", len(s), err)
	}
	must(m.DeleteByKey(ctx, m.Key("b")))(t)
	collect(t, m, now)
	var changed *extern.ChangedError
	if _, err := m.Save(ctx, m.New(article{ID: "d", Image: from.Value.Image})); !errors.As(err, &changed) {
		t.Errorf("an object that was collected: %v", err)
	}
	if _, err := m.Save(ctx, m.New(article{ID: "d", Text: from.Value.Text})); !errors.As(err, &changed) {
		t.Errorf("parts that were collected: %v", err)
	}
	check("c")
	collect(t, m, now)
	check("c")
	must(m.DeleteByKey(ctx, m.Key("c")))(t)
	collect(t, m, now)
	left := must(testengine.Start(t).Client().Scan(ctx, &dynamodb.ScanInput{TableName: &table}))(t)
	if left.Count != 0 {
		t.Errorf("%d items are left: %v", left.Count, left.Items[0]["PK"])
	}
}

// Every fault at every request of a save that streams, or of a move that copies. Acknowledged values
// exist, an entity is under one of its keys with all of its values, and after the collector there is no
// value without a pointer.
func TestCopyFaults(t *testing.T) {
	t.Parallel()
	old, now := "old "+strings.Repeat("o", 600_000), "now "+strings.Repeat("n", 700_000)
	for name, op := range map[string]func(context.Context, *mapper.Mapper[article], *mapper.Entity[article]) error{
		"stream": func(ctx context.Context, m *mapper.Mapper[article], e *mapper.Entity[article]) error {
			e.Value.Text.SetReader(once(now))
			e.Value.Image.SetReader(once(now))
			e.Value.Notes[0].Text.SetReader(once(now))
			_, err := m.Save(ctx, e)
			return err
		},
		"move": func(ctx context.Context, m *mapper.Mapper[article], e *mapper.Entity[article]) error {
			e.Value.ID += "moved"
			_, err := m.Save(ctx, e, mapper.Move())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			a, c, n := newAlbums(t), &clock{time.Now()}, 0
			plain := a.articles(t, testengine.Start(t).Client(), clientOf(a.s3), c.now)
			again := func(at int, fault fakedynamo.Fault) int {
				n++
				id := fmt.Sprint(n)
				must(plain.Save(ctx,
					plain.New(article{
						ID: id, Text: large.Of(old), Image: large.Of([]byte(old)),
						Notes: []note{{No: 1, Text: large.Of(old)}},
					})))(t)
				killable, kill := context.WithCancel(ctx)
				defer kill()
				x := &fakedynamo.Transport{At: at, Fault: fault, Kill: kill}
				m := a.articles(t, x.Client(testengine.Start(t).Client()), faulty(x, clientOf(a.s3)), c.now)
				e, err := m.Load(killable, m.Key(id))
				if err == nil {
					err = op(killable, m, e)
				}
				what := fmt.Sprintf("%s, %s at request %d: %v", name, fault, at, err)
				if at == 0 && err != nil {
					t.Fatal(what)
				}
				collect(t, plain, c)
				a.clean(t)
				var there []string
				for _, id := range []string{id, id + "moved"} {
					got, loadErr := plain.Load(ctx, plain.Key(id))
					if errors.Is(loadErr, mapper.ErrNotFound) {
						continue
					}
					text, err1 := got.Value.Text.Get(ctx)
					image, err2 := got.Value.Image.Get(ctx)
					note, err3 := got.Value.Notes[0].Text.Get(ctx)
					if err := errors.Join(loadErr, err1, err2, err3); err != nil || string(image) != text ||
						note != text {
						t.Fatalf("%s: %v: %.4s, %.4s, %.4s", what, err, text, image, note)
					}
					there = append(there, id+text[:4])
				}
				want := map[bool]string{true: id + "now ", false: id + "old "}
				if name == "move" {
					want[true] = id + "movedold "
				}
				var unknown *mapper.OutcomeUnknownError
				sure := !errors.As(err, &unknown) && !errors.Is(err, context.Canceled) &&
					!errors.Is(err, fakedynamo.Err)
				if len(there) != 1 || there[0] != want[true] && there[0] != want[false] || err == nil &&
					there[0] != want[true] || sure && err != nil && there[0] != want[false] {
					t.Fatalf("%s: there are %v", what, there)
				}
				return x.Sent()
			}
			faultsAt(draws.Seed(t), draws.Times(1, 16, draws.All), again)
		})
	}
}

// articles returns a mapper of articles with clients of its own, at a time.
func (a *albums) articles(t testing.TB, db *dynamodb.Client, objects *s3.Client,
	now func() time.Time,
) *mapper.Mapper[article] {
	t.Helper()
	m := must(mapper.New[article](db, compress.Zstd(), mapper.Table(a.table),
		s3store.Objects(objects, s3store.Buckets(func(string) string { return a.bucket }))))(t)
	setNow(m, now)
	return m
}

// changing is a file whose bytes are others after it was read to its end.
type changing struct {
	*bytes.Reader
	other *bytes.Reader
	ended bool
}

func (c *changing) ReadAt(b []byte, off int64) (int, error) {
	if c.ended {
		return c.other.ReadAt(b, off)
	}
	n, err := c.Reader.ReadAt(b, off)
	c.ended = errors.Is(err, io.EOF)
	return n, err
}

// A file that changes during its save is an error, and the stored value is kept.
func TestSetReaderChanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	was := strings.Repeat("was ", 300_000)
	must(m.Save(ctx, m.New(
		article{
			ID: "a", Text: large.Of(was), Image: large.Of([]byte(was)), Notes: []note{{No: 1, Text: large.Of(was)}},
		},
	)))(t)
	one, two := bytes.Repeat([]byte("one "), 200_000), bytes.Repeat([]byte("two "), 200_000)
	for name, set := range map[string]func(*article, io.Reader){
		"compressed": func(a *article, r io.Reader) { a.Text.SetReader(r) },
		"object":     func(a *article, r io.Reader) { a.Image.SetReader(r) },
		"parts":      func(a *article, r io.Reader) { a.Notes[0].Text.SetReader(r) },
	} {
		for how, other := range map[string][]byte{"other": two, "shorter": one[:700_000], "gone": nil} {
			e := must(m.Load(ctx, m.Key("a")))(t)
			set(&e.Value, &changing{Reader: bytes.NewReader(one), other: bytes.NewReader(other)})
			if _, err := m.Save(ctx, e); err == nil ||
				!strings.Contains(err.Error(), "the bytes of the reader changed during the save") {
				t.Errorf("%s, %s: %v", name, how, err)
			}
			got := must(m.Load(ctx, m.Key("a")))(t)
			text, err := got.Value.Text.Get(ctx)
			image, err2 := got.Value.Image.Get(ctx)
			note, err3 := got.Value.Notes[0].Text.Get(ctx)
			if err := errors.Join(err, err2, err3); err != nil || text != was || string(image) != was || note != was {
				t.Errorf("%s, %s: what was stored is not any more: %v", name, how, err)
			}
		}
	}
}

// A reader that can be read once gives what it has in each try of an Update, and one that is given to
// two values is an error.
func TestSetReaderOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	must(m.Save(ctx, m.New(article{ID: "a", Title: "x"})))(t)
	for _, text := range []string{"few", strings.Repeat("z", 600_000)} {
		body, n := once(text), 0
		must(m.Update(ctx, m.Key("a"), func(v *article) error {
			if n++; n == 1 { // another writer writes it
				other := must(m.Load(ctx, m.Key("a")))(t)
				other.Value.Title += "x"
				must(m.Save(ctx, other))(t)
			}
			v.Text.SetReader(body)
			return nil
		}))(t)
		if got, err := must(m.Load(ctx, m.Key("a")))(t).Value.Text.Get(ctx); err != nil || got != text || n != 2 {
			t.Errorf("after %d tries there are %d bytes of %d, %v", n, len(got), len(text), err)
		}
	}
	e := m.New(article{ID: "b", Notes: make([]note, 1)})
	body := once("hello")
	e.Value.Text.SetReader(body)
	e.Value.Notes[0].Text.SetReader(body)
	if _, err := m.Save(ctx, e); err == nil ||
		!strings.Contains(err.Error(), "another value has the same reader") {
		t.Errorf("one reader for two values: %v", err)
	}
	r, w := must2(os.Pipe())(t)
	go func() {
		_, _ = w.WriteString("through a pipe")
		_ = w.Close()
	}()
	e = m.New(article{ID: "c"})
	e.Value.Text.SetReader(r)
	must(m.Save(ctx, e))(t)
	if got, err := must(m.Load(ctx, m.Key("c")))(t).Value.Text.Get(ctx); err != nil || got != "through a pipe" {
		t.Errorf("%q, %v", got, err)
	}
}

func must2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a, b
	}
}

// rack has lazy values in the elements of a map.
type rack struct {
	_     struct{}            `ddb:"table=racks"`
	ID    string              `ddb:"pk=RACK#{ID}"`
	Title string              `ddb:"sk=HEAD"`
	Rolls map[string]*roll    `ddb:"sk=ROLL#{key}"`
	Notes map[string]note     `ddb:"sk=NOTE#{key}"`
	Main  large.Value[[]byte] `ddb:"sk=MAIN,chunk,table=RackParts,inline=100"`
}

type roll struct {
	Film large.Value[[]byte] `ddb:"s3=films,inline=100"`
}

// After a save a Value is read from its storage, also in a map, and also if it was unchanged.
func TestResolved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	gateway, _ := testengine.S3(t)
	client, objects := testengine.Start(t).Client(), clientOf(gateway)
	bucket := func() string { _, b := testengine.S3(t); return b }
	make := func() *mapper.Mapper[rack] {
		names, b := map[string]string{
			"racks":     testengine.Table(t, "PK:S", "SK:S"),
			"RackParts": testengine.Table(t, "PK:S", ""),
		}, bucket()
		return must(mapper.New[rack](client, mapper.Tables(func(n string) string { return names[n] }),
			s3store.Objects(objects, s3store.Buckets(func(string) string { return b }))))(t)
	}
	m := make()
	big := bytes.Repeat([]byte("big "), 200_000)
	name := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(name, big, 0o600); err != nil {
		t.Fatal(err)
	}
	f := must(os.Open(name))(t)
	e := m.New(rack{ID: "a", Rolls: map[string]*roll{"x": {}}, Notes: map[string]note{"y": {No: 1}}})
	v := &e.Value
	n := v.Notes["y"]
	n.Text.SetReader(f)
	v.Notes["y"] = n
	v.Rolls["x"].Film.SetReader(f)
	v.Main.SetReader(f)
	must(m.Save(ctx, e))(t)
	v.Main.SetReader(f) // the stored value
	v.Title = "new"
	must(m.Save(ctx, e))(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(v *rack) {
		t.Helper()
		text, err := v.Notes["y"].Text.Get(ctx)
		film, err2 := v.Rolls["x"].Film.Get(ctx)
		main, err3 := v.Main.Get(ctx)
		if err := errors.Join(err, err2, err3); err != nil || text != string(big) || !bytes.Equal(film, big) ||
			!bytes.Equal(main, big) {
			t.Errorf("%d, %d and %d bytes, %v", len(text), len(film), len(main), err)
		}
	}
	check(v)
	v.ID = "b"
	must(m.Save(ctx, e, mapper.Move()))(t)
	check(v)
	v.ID = "c" // and once more, after the value under the first key was deleted
	now := &clock{time.Now()}
	setNow(m, now.now)
	collect(t, m, now)
	check(v)
	must(m.Save(ctx, e, mapper.Move()))(t)
	check(v)
	// To tables and a bucket of other names: planned, and read from the others.
	there := make()
	copied := there.New(*v)
	plan := must(there.PlanSave(copied))(t)
	r := must(there.Save(ctx, copied))(t)
	if r.Predicted().Requests != plan.Requests || r.Predicted().RCU != plan.RCU ||
		r.Predicted().Objects != plan.Objects {
		t.Errorf("planned %v (%v), and it took %v (%v)", plan, plan.Objects, r, r.Predicted().Objects)
	}
	check(&must(there.Load(ctx, there.Key("c")))(t).Value)
	// from parts to an object
	small := there.New(rack{ID: "d", Rolls: map[string]*roll{"x": {Film: copied.Value.Main}}})
	plan = must(there.PlanSave(small))(t)
	r = must(there.Save(ctx, small))(t)
	if r.Predicted().Requests != plan.Requests || r.Predicted().RCU != plan.RCU ||
		r.Predicted().Objects != plan.Objects {
		t.Errorf("planned %v, and it took %v", plan, r)
	}
}

// A save whose values take longer than they may begins again once, and then says so.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, c, n := newAlbums(t), &clock{time.Now()}, 0
	for range 2 {
		slow := 1
		m := a.mapper(t, dynamodb.New(testengine.Start(t).Client().Options(), func(o *dynamodb.Options) {
			next := o.HTTPClient
			o.HTTPClient = doing(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "PutItem") && r.ContentLength < 1200 && slow > 0 {
					slow--
					c.Time = c.Add(2 * time.Hour)
				}
				return next.Do(r)
			})
		}), clientOf(a.s3), c.now)
		n++
		if _, err := m.Save(ctx, m.New(albumOf(fmt.Sprint(n), "x"))); err != nil {
			t.Errorf("slow once: %v", err)
		}
		slow = 100
		_, err := m.Save(ctx, m.New(albumOf(fmt.Sprint(n, "b"), "x")))
		if err == nil ||
			!strings.Contains(err.Error(), "storing the external values of the save took too long") ||
			slow < 80 {
			t.Errorf("slow each time, %d left: %v", slow, err)
		}
	}
}

type doing func(*http.Request) (*http.Response, error)

func (d doing) Do(r *http.Request) (*http.Response, error) { return d(r) }
