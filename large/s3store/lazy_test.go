package s3store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// article has values that are read when they are asked for.
type article struct {
	_      struct{}                      `ddb:"table=articles"`
	ID     string                        `ddb:"pk=ARTICLE#{ID}"`
	Title  string                        `ddb:"sk=HEAD"`
	Text   large.Value[string]           `ddb:"sk=HEAD,compress=zstd,chunk,preview=20,inline=1KB"`
	Image  large.Value[[]byte]           `ddb:"sk=HEAD,s3=images,compress=gzip,inline=1KB"`
	Tables large.Value[map[string][]int] `ddb:"sk=TABLES,chunk,inline=1KB"`
	Notes  []note                        `ddb:"sk=NOTE#{No:03}"`
}

type note struct {
	No   int
	Text large.Value[string] `ddb:"chunk,inline=100,preview=5"`
}

func newArticles(t testing.TB, options ...mapper.Option) (m *mapper.Mapper[article], table string) {
	t.Helper()
	table = testengine.Table(t, "PK:S", "SK:S")
	gateway, bucket := testengine.S3(t)
	options = append(options, compress.Zstd(), mapper.Table(table),
		s3store.Objects(clientOf(gateway), s3store.Buckets(func(string) string { return bucket })))
	m, err := mapper.New[article](testengine.Start(t).Client(), options...)
	if err != nil {
		t.Fatal(err)
	}
	return m, table
}

// A load of a lazy value costs only its preview. The value is read when it is needed, as a whole or as
// a stream, and is written if it was set.
func TestLazyValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(3, 4))
	m, _ := newArticles(t)
	text, image := letters(rnd, 700_000), []byte(words(rnd, 300_000))
	e := m.New(article{
		ID: "a", Title: "first", Text: large.Of(text), Image: large.Of(image),
		Tables: large.Of(map[string][]int{"x": rnd.Perm(2000)}),
		Notes:  []note{{1, large.Of(letters(rnd, 1000))}, {2, large.Of("short")}, {3, large.Value[string]{}}},
	})
	must(m.Save(ctx, e))(t)
	if r := must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Errorf("a second save sent %v", r)
	}
	var r mapper.Receipt
	got := must(m.Load(ctx, m.Key("a"), mapper.ReceiptTo(&r)))(t)
	if r.Predicted().Requests != 1 || r.Predicted().RCU.Max > 0.5 {
		t.Errorf("the load cost %v", &r)
	}
	v := &got.Value
	if p := v.Text.Preview(); p != text[:20] {
		t.Errorf("the preview is %q", p)
	}
	if p := v.Notes[1].Text.Preview(); p != "short" {
		t.Errorf("the preview of a short one is %q", p)
	}
	if s, err := v.Text.Get(ctx); err != nil || s != text {
		t.Errorf("the text is %d bytes, %v", len(s), err)
	}
	if b, err := v.Image.Get(ctx); err != nil || !bytes.Equal(b, image) {
		t.Errorf("the image is %d bytes, %v", len(b), err)
	}
	if x, err := v.Tables.Get(ctx); err != nil || len(x["x"]) != 2000 {
		t.Errorf("the tables are %v, %v", len(x["x"]), err)
	}
	if x, err := v.Notes[0].Text.Get(ctx); err != nil || len(x) != 1000 || v.Notes[2].Text.IsZero() == false {
		t.Errorf("the notes are %d bytes, %v", len(x), err)
	}
	if n, ok := v.Text.Len(); !ok || n != 700_000 {
		t.Errorf("the text has %d bytes, %v", n, ok)
	}
	for name, x := range map[string]interface {
		Reader(context.Context) (io.ReadCloser, error)
	}{"text": v.Text, "image": v.Image} {
		stream := must(x.Reader(ctx))(t)
		b, err := io.ReadAll(stream)
		if err = errors.Join(err, stream.Close()); err != nil ||
			string(b) != map[string]string{"text": text, "image": string(image)}[name] {
			t.Errorf("the stream of the %s has %d bytes, %v", name, len(b), err)
		}
	}
	address := must(v.Image.PresignGet(ctx, time.Minute))(t)
	answer := must((&http.Client{Transport: &http.Transport{DisableCompression: true}}).Get(address))(t)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s gives %s: %s", address, answer.Status, b)
	}
	unzipped := must(gzip.NewReader(answer.Body))(t)
	if b, err := io.ReadAll(unzipped); err != nil || !bytes.Equal(b, image) ||
		answer.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the address gives %d bytes, %v, %v", len(b), err, answer.Header)
	}
	if r := must(m.Save(ctx, got))(t); r.Predicted().Requests != 0 {
		t.Errorf("a save of what was loaded sent %v", r)
	}
	v.Title = "second"
	if r := must(m.Save(ctx, got))(t); r.Predicted().WCU.Max != 1 {
		t.Errorf("a change of the title cost %v", r)
	}
	before := must(m.Load(ctx, m.Key("a")))(t)
	v.Text.Set("now")
	v.Image.Clear()
	must(m.Save(ctx, got))(t)
	after := must(m.Load(ctx, m.Key("a")))(t)
	if s, err := after.Value.Text.Get(ctx); err != nil || s != "now" || !after.Value.Image.IsZero() {
		t.Errorf("the text is %q, %v", s, err)
	}
	if s, err := before.Value.Text.Get(ctx); err != nil || s != text {
		t.Errorf("within its grace the old text is %d bytes, %v", len(s), err)
	}
	copied := m.New(article{ID: "b", Text: before.Value.Text})
	must(m.Save(ctx, copied))(t)
	if s, err := must(m.Load(ctx, m.Key("b")))(t).Value.Text.Get(ctx); err != nil || s != text {
		t.Errorf("the copy of the old text is %d bytes, %v", len(s), err)
	}
}

// A stored value that differs from the written one is an error that says so, and is distinguished from
// one that was replaced.
func TestDamagedValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(5, 6))
	m := newReports(t)
	client := testengine.Start(t).Client()
	damage := func(name string, do func(parts []map[string]types.AttributeValue)) {
		t.Run(name, func(t *testing.T) {
			id := strings.ReplaceAll(name, " ", "-")
			must(m.Save(ctx, m.New(report{ID: id, Scan: noise(rnd, 600_000), Title: "x"})))(t)
			var parts []map[string]types.AttributeValue
			for p := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &m.table}); p.HasMorePages(); {
				for _, item := range must(p.NextPage(ctx))(t).Items {
					if strings.HasPrefix(item["PK"].(*types.AttributeValueMemberS).Value, "REPORT#"+id+"#~") {
						parts = append(parts, item)
					}
				}
			}
			do(parts)
			e, err := m.Load(ctx, m.Key(id))
			var corrupt *extern.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Field != "Scan" {
				t.Fatalf("%v, %v", e, err)
			}
			t.Log(err)
		})
	}
	put := func(item map[string]types.AttributeValue) {
		must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &m.table, Item: item}))(t)
	}
	damage("missing part", func(parts []map[string]types.AttributeValue) {
		must(client.DeleteItem(ctx,
			&dynamodb.DeleteItemInput{
				TableName: &m.table,
				Key:       map[string]types.AttributeValue{"PK": parts[1]["PK"], "SK": parts[1]["SK"]},
			}))(t)
	})
	damage("swapped parts", func(parts []map[string]types.AttributeValue) {
		parts[0]["~data"], parts[1]["~data"] = parts[1]["~data"], parts[0]["~data"]
		put(parts[0])
		put(parts[1])
	})
	damage("flipped byte", func(parts []map[string]types.AttributeValue) {
		parts[2]["~data"].(*types.AttributeValueMemberB).Value[77] ^= 4
		put(parts[2])
	})
	damage("short part", func(parts []map[string]types.AttributeValue) {
		b := parts[2]["~data"].(*types.AttributeValueMemberB)
		b.Value = b.Value[:len(b.Value)-1]
		put(parts[2])
	})
}

// A compressed value that is damaged inside its item is an error that says so: a changed byte, the
// frame of another codec, and no frame.
func TestDamagedInItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newReports(t)
	client := testengine.Start(t).Client()
	must(m.Save(ctx, m.New(report{ID: "a", Log: words(rand.New(rand.NewPCG(9, 9)), 9000)})))(t)
	key := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "REPORT#a"},
		"SK": &types.AttributeValueMemberS{Value: "LOG"},
	}
	item := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &m.table, Key: key}))(t).Item
	whole := item["Log"].(*types.AttributeValueMemberB).Value
	for name, damage := range map[string]func(b []byte) []byte{
		"a byte":        func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"another codec": func(b []byte) []byte { return append([]byte{0x28, 0xb5, 0x2f, 0xfd}, b[4:]...) },
		"no frame":      func(b []byte) []byte { return b[5:] },
		"cut":           func(b []byte) []byte { return b[:len(b)-9] },
	} {
		item["Log"] = &types.AttributeValueMemberB{Value: damage(bytes.Clone(whole))}
		must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &m.table, Item: item}))(t)
		var corrupt *extern.CorruptError
		if e, err := m.Load(ctx, m.Key("a")); !errors.As(err, &corrupt) || corrupt.Field != "Log" {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
}

// A value with more bytes than a mapper may read is an error before it is read, and so is a hostile
// pointer.
func TestMaxValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all, m := newReports(t), newReports(t, mapper.MaxValue(100_000))
	must(all.Save(ctx, all.New(report{ID: "a", Scan: make([]byte, 500_000)})))(t)
	if _, err := m.Save(ctx, m.New(report{ID: "a", Scan: make([]byte, 500_000)})); err == nil ||
		!strings.Contains(err.Error(), "bytes are over the limit of") {
		t.Errorf("what could not be loaded was saved: %v", err)
	}
	m.Mapper = must(mapper.New[report](testengine.Start(t).Client(), compress.Zstd(), compress.Snappy(),
		mapper.Tables(func(n string) string {
			return map[string]string{"reports": all.table, "ReportParts": all.parts}[n]
		}), mapper.MaxValue(100_000)))(t)
	m.table = all.table
	if _, err := m.Load(ctx, m.Key("a")); err == nil ||
		!strings.Contains(err.Error(), "over the limit of 100,000 bytes for reading: raise the limit "+
			"(mapper.MaxValue)") {
		t.Errorf("%v", err)
	}
	client := testengine.Start(t).Client()
	key := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "REPORT#a"},
		"SK": &types.AttributeValueMemberS{Value: "SCAN"},
	}
	item := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &m.table, Key: key}))(t).Item
	pointer := item["Scan"].(*types.AttributeValueMemberM).Value
	for name, n := range map[string]string{"parts": "99999999999999", "size": "0", "length": "99999", "stored": "-1"} {
		whole := maps.Clone(pointer)
		pointer[name] = &types.AttributeValueMemberN{Value: n}
		must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &m.table, Item: item}))(t)
		if _, err := m.Load(ctx, m.Key("a")); err == nil {
			t.Errorf("a pointer with %s of %s was followed", name, n)
		}
		clear(pointer)
		maps.Copy(pointer, whole)
	}
}
