package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/mapper"
)

// poem has large values, and a number, on its root and in elements.
type poem struct {
	_      struct{}            `ddb:"table=poems"`
	ID     string              `ddb:"pk=POEM#{ID}"`
	Name   string              `ddb:"sk=HEAD"`
	Text   string              `ddb:"sk=HEAD,chunk,inline=100"`
	Reads  int                 `ddb:"sk=HEAD"`
	Lines  []line              `ddb:"sk=LINE#{No:03}"`
	First  large.Value[string] `ddb:"sk=EXTRA,compress=zstd,chunk,inline=100"`
	Second large.Value[string] `ddb:"sk=EXTRA,compress=zstd,chunk,inline=100"`
}

type line struct {
	No   int
	Pad  string
	Text string              `ddb:"chunk,inline=100"`
	Note large.Value[string] `ddb:"compress=zstd,chunk"`
}

var (
	poemText  = handmade.String("Text", "", func(v *poem) *string { return &v.Text })
	poemReads = handmade.Number("Reads", "", func(v *poem) *int { return &v.Reads })
)

// poems are a place for poems, with a mapper whose n-th transaction something comes before.
type poems struct {
	*testing.T
	clock
	table         string
	client        *dynamodb.Client
	plain, hooked *mapper.Mapper[poem]
	before        map[int]func()
	n             int
}

func newPoems(t *testing.T) *poems {
	t.Helper()
	p := &poems{
		T: t, clock: clock{time.Now()}, table: testengine.Table(t, "PK:S", "SK:S"),
		client: testengine.Start(t).Client(), before: map[int]func(){},
	}
	hooked := dynamodb.New(p.client.Options(), func(o *dynamodb.Options) {
		next := o.HTTPClient
		o.HTTPClient = doing(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "TransactWriteItems") {
				if p.n++; p.before[p.n] != nil {
					p.before[p.n]()
				}
			}
			return next.Do(r)
		})
	})
	p.plain = must(mapper.New[poem](p.client, compress.Zstd(), mapper.Table(p.table)))(t)
	p.hooked = must(mapper.New[poem](hooked, compress.Zstd(), mapper.Table(p.table)))(t)
	setNow(p.plain, p.now)
	setNow(p.hooked, p.now)
	return p
}

// collect discards unfinished values, and deletes those without a pointer.
func (p *poems) collect() {
	p.Helper()
	p.Time = p.Add(100 * time.Hour)
	must(collectAll(context.Background(), p.plain, large.Delete()))(p)
}

func (p *poems) set(expression string, values map[string]types.AttributeValue) {
	p.Helper()
	must(p.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &p.table, Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "POEM#1"},
			"SK": &types.AttributeValueMemberS{Value: "HEAD"},
		},
		UpdateExpression: aws.String(expression), ExpressionAttributeNames: map[string]string{
			"#n": "Reads",
			"#v": "_v",
		}, ExpressionAttributeValues: values,
	}))(p)
}

// If the values of a patch were discarded and the patch is then planned again for the stored items, it
// points to its new values. This holds for both kinds of stances that it keeps, and in a transaction.
func TestPatchIsRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := strings.Repeat("new ", 100)
	t.Run("rewritten", func(t *testing.T) {
		p := newPoems(t)
		must(p.plain.Save(ctx, p.plain.New(poem{ID: "1", Name: "n", Text: strings.Repeat("old ", 100)})))(t)
		null := map[string]types.AttributeValue{
			":n": &types.AttributeValueMemberNULL{Value: true},
			":v": &types.AttributeValueMemberB{Value: []byte("0123456789abcdef")},
		}
		p.set("SET #n = :n, #v = :v", null)
		p.before[2] = p.collect
		p.before[3] = func() {
			null[":v"] = &types.AttributeValueMemberB{Value: []byte("fedcba9876543210")}
			p.set("SET #n = :n, #v = :v", null)
		}
		must(handmade.EntityOf(p.plain.Key("1")).Patch(poemText.Set(now), poemReads.Increment(1)).Exec(ctx,
			p.hooked))(t)
		if got := must(p.plain.Load(ctx, p.plain.Key("1")))(t); got.Value.Text != now || p.n != 4 {
			t.Errorf("after %d transactions: %.20s", p.n, got.Value.Text)
		}
	})
	for _, inOne := range []bool{false, true} {
		t.Run(fmt.Sprint("another entity, together ", inOne), func(t *testing.T) {
			p := newPoems(t)
			must(p.plain.Save(ctx, p.plain.New(poem{ID: "1", Name: "n"}), mapper.Staged()))(t)
			p.before[1] = p.collect
			p.before[2] = func() {
				must(p.plain.DeleteByKey(ctx, p.plain.Key("1")))(t)
				must(p.plain.Save(ctx, p.plain.New(poem{ID: "1", Name: "again"}), mapper.Staged()))(t)
			}
			patch := handmade.Elements[poem, line]{
				Node: handmade.Node(p.plain.Key("1")),
				Item: 1,
			}.Put(line{No: 1, Text: now}).IfEntityExists()
			if inOne {
				must(mapper.Transact(ctx, patch.PatchPart(p.hooked),
					p.hooked.SavePart(p.hooked.New(poem{ID: "2", Name: "x", Text: now}))))(t)
			} else {
				must(patch.Exec(ctx, p.hooked))(t)
			}
			if got := must(p.plain.Load(ctx, p.plain.Key("1")))(t); len(got.Value.Lines) != 1 ||
				got.Value.Lines[0].Text != now {
				t.Errorf("after %d transactions: %+v", p.n, got.Value.Lines)
			}
		})
	}
}

// Where a collector has given up the record of one part of a transaction, all begins again.
func TestOneRecordAborted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, id := range []string{"1", "2"} {
		p := newPoems(t)
		abort := func() {
			for _, it := range must(p.client.Scan(ctx, &dynamodb.ScanInput{TableName: &p.table}))(t).Items {
				state, ok := it["~state"].(*types.AttributeValueMemberS)
				if !ok || state.Value != "open" ||
					it["~values"].(*types.AttributeValueMemberL).Value[0].(*types.AttributeValueMemberM).
						Value["pk"].(*types.AttributeValueMemberS).Value != "POEM#"+id {
					continue
				}
				must(p.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
					TableName: &p.table, Key: map[string]types.AttributeValue{"PK": it["PK"], "SK": it["SK"]},
					UpdateExpression:         aws.String("SET #c = :n, #s = :t"),
					ExpressionAttributeNames: map[string]string{"#c": "~state", "#s": "~since"},
					ExpressionAttributeValues: map[string]types.AttributeValue{
						":n": &types.AttributeValueMemberS{Value: "aborted"},
						":t": &types.AttributeValueMemberN{Value: fmt.Sprint(p.UnixMilli())},
					},
				}))(t)
			}
		}
		one, two := p.hooked.New(poem{ID: "1", Text: strings.Repeat("one ", 100)}),
			p.hooked.New(poem{ID: "2", Text: strings.Repeat("two ", 100)})
		p.before[1], p.before[3] = abort, abort
		must(mapper.Transact(ctx, p.hooked.SavePart(one), p.hooked.SavePart(two)))(t)
		now := strings.Repeat("new ", 100)
		patch := func(id string) mapper.Part {
			return handmade.EntityOf(p.plain.Key(id)).Patch(poemText.Set(now)).PatchPart(p.hooked)
		}
		must(mapper.Transact(ctx, patch("1"), patch("2")))(t)
		for _, key := range []string{"1", "2"} {
			if got := must(p.plain.Load(ctx, p.plain.Key(key)))(t); got.Value.Text != now || p.n != 4 {
				t.Errorf("%s after %d transactions: %.20s", key, p.n, got.Value.Text)
			}
		}
	}
}

// A value that was put into another field of its item, or put back, is read from its storage after the
// save. A value inside its item is unchanged, however often it was copied.
func TestCopyInsideAnItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPoems(t)
	text := letters(rand.New(rand.NewPCG(21, 22)), 900)
	must(p.plain.Save(ctx, p.plain.New(poem{ID: "1", First: large.Of(text)})))(t)
	e := must(p.plain.Load(ctx, p.plain.Key("1")))(t)
	save := func(change func(v *poem)) {
		t.Helper()
		change(&e.Value)
		must(p.plain.Save(ctx, e))(t)
	}
	check := func() {
		t.Helper()
		for range 3 {
			p.collect()
		}
		if s, err := e.Value.Second.Get(ctx); err != nil || s != text {
			t.Errorf("%d bytes, %v", len(s), err)
		}
	}
	save(func(v *poem) { v.Second = v.First })
	save(func(v *poem) { v.First.Set("x") })
	check()
	var was large.Value[string]
	save(func(v *poem) { was = v.Second; v.Second.Set("y") })
	save(func(v *poem) { v.Second = was })
	check()
	small := words(rand.New(rand.NewPCG(23, 24)), 9000)
	a := p.plain.New(poem{ID: "a", Lines: []line{{No: 1, Note: large.Of(small)}}})
	must(p.plain.Save(ctx, a))(t)
	for i, pad := range []string{"", strings.Repeat("x", 409_000)} {
		b := p.plain.New(poem{ID: fmt.Sprint("b", i), Lines: []line{{No: 1, Pad: pad, Note: a.Value.Lines[0].Note}}})
		must(p.plain.Save(ctx, b))(t)
		note := b.Value.Lines[0].Note
		s, err := note.Get(ctx)
		r, err2 := note.Reader(ctx)
		if err := errors.Join(err, err2); err != nil || s != small {
			t.Errorf("%d bytes, %v", len(s), err)
			continue
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != small {
			t.Errorf("a stream of %d bytes, %v", len(got), err)
		}
	}
}

// What a reader gives that is stored compressed in its item is not written again.
func TestSetReaderOfWhatIsCompressed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPoems(t)
	text := strings.Repeat("one letter ", 100_000)
	e := p.plain.New(poem{ID: "1", Lines: []line{{No: 1, Note: large.Of(text)}}})
	must(p.plain.Save(ctx, e))(t)
	e = must(p.plain.Load(ctx, p.plain.Key("1")))(t)
	e.Value.Lines[0].Note.SetReader(strings.NewReader(text))
	if r := must(p.plain.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Errorf("it sent %v", r)
	}
	if s, err := e.Value.Lines[0].Note.Get(ctx); err != nil || s != text {
		t.Errorf("%d bytes, %v", len(s), err)
	}
}

// A reader that was filled again for another attempt of an Update has its new content.
func TestUpdateRefillsReaders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	must(m.Save(ctx, m.New(article{ID: "a", Title: "0"})))(t)
	var b bytes.Buffer
	tries := 0
	must(m.Update(ctx, m.Key("a"), func(v *article) error {
		if tries++; tries < 4 {
			o := must(m.Load(ctx, m.Key("a")))(t)
			o.Value.Title += "x"
			must(m.Save(ctx, o))(t)
		}
		b.Reset()
		fmt.Fprintf(&b, "the title is %s", v.Title)
		v.Text.SetReader(&b)
		return nil
	}))(t)
	got := must(m.Load(ctx, m.Key("a")))(t)
	if s, err := got.Value.Text.Get(ctx); err != nil || s != "the title is 0xxx" || got.Value.Title != "0xxx" {
		t.Errorf("%s: %q, %v", got.Value.Title, s, err)
	}
}

// One reader for two values is an error wherever it is written, and any reader will do.
func TestOneReaderForTwo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newArticles(t)
	for name, do := range map[string]func(a, b article) error{
		"save": func(a, _ article) error { _, err := m.Save(ctx, m.New(a)); return err },
		"plan": func(a, _ article) error { _, err := m.PlanSave(m.New(a)); return err },
		"transact": func(a, _ article) error {
			_, err := mapper.Transact(ctx, m.SavePart(m.New(a)), m.SavePart(m.New(article{ID: "z"})))
			return err
		},
		"two parts": func(a, b article) error {
			a.Image.Clear()
			_, err := mapper.Transact(ctx, m.SavePart(m.New(a)), m.SavePart(m.New(b)))
			return err
		},
		"bulk load": func(a, _ article) error {
			r, err := m.BulkLoad(ctx, mapper.NoErrors(slices.Values([]article{a})))
			if err == nil && r.Failed == 1 {
				err = r.Failures[0].Err
			}
			return err
		},
	} {
		r := once("hello")
		a, b := article{ID: "a"}, article{ID: "b"}
		a.Text.SetReader(r)
		a.Image.SetReader(r)
		b.Text.SetReader(r)
		if err := do(a, b); err == nil || !strings.Contains(err.Error(), "another value has the same reader") {
			t.Errorf("%s: %v", name, err)
		}
	}
	e := m.New(article{ID: "c"})
	e.Value.Text.SetReader(io.NopCloser(readerFunc(strings.NewReader("hello").Read))) // which cannot be compared
	must(m.Save(ctx, e))(t)
	if s, err := must(m.Load(ctx, m.Key("c")))(t).Value.Text.Get(ctx); err != nil || s != "hello" {
		t.Errorf("%q, %v", s, err)
	}
}

type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(b []byte) (int, error) { return r(b) }

// Small readers need only the memory of their content.
func TestSmallReadersAreSmall(t *testing.T) {
	m, _ := newArticles(t)
	e := m.New(article{ID: "a", Notes: make([]note, 400)})
	for i := range e.Value.Notes {
		e.Value.Notes[i].No = i
		e.Value.Notes[i].Text.SetReader(once("hello"))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	must(m.PlanSave(e))(t)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("400 values of 5 bytes hold %d MB", grown>>20)
	}
	runtime.KeepAlive(e)
}
