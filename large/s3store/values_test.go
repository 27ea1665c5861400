package s3store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/mapper"
)

// report is a model of large values: text and bytes, compressed, in parts next to its items and in a
// table of their own. They are on the root, on another item, and in elements.
type report struct {
	_      struct{}          `ddb:"table=reports"`
	ID     string            `ddb:"pk=REPORT#{ID}"`
	Title  string            `ddb:"sk=HEAD"`
	Body   string            `ddb:"sk=HEAD,compress=zstd,chunk,inline=4KB,preview=100"`
	Scan   []byte            `ddb:"sk=SCAN,chunk"`
	Log    string            `ddb:"sk=LOG,compress=gzip"`
	Pages  []page            `ddb:"sk=PAGE#{No:04}"`
	Extras map[string]string `ddb:"sk=EXTRA,chunk,table=ReportParts,inline=1KB"`
}

type page struct {
	No   int
	Text string `ddb:"compress=snappy,chunk,inline=2KB"`
	Note string
}

type reports struct {
	*mapper.Mapper[report]
	table, parts string
}

func newReports(t testing.TB, options ...mapper.Option) *reports {
	t.Helper()
	r := &reports{table: testengine.Table(t, "PK:S", "SK:S"), parts: testengine.Table(t, "PK:S", "")}
	names := map[string]string{"reports": r.table, "ReportParts": r.parts}
	options = append([]mapper.Option{
		compress.Zstd(), compress.Snappy(),
		mapper.Tables(func(name string) string { return names[name] }),
	}, options...)
	m, err := mapper.New[report](testengine.Start(t).Client(), options...)
	if err != nil {
		t.Fatal(err)
	}
	r.Mapper = m
	return r
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// letters are random text.
func letters(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[r.IntN(63)]
	}
	return string(b)
}

// words are text that compresses as text does; letters, that do not repeat, are taken by most codecs as they are.
func words(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(letters(rand.New(rand.NewPCG(r.Uint64N(500), 0)), 3+r.IntN(8)) + " ")
	}
	return b.String()[:n]
}

// Values are read back as they were written, and a save without changes sends nothing.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	m := newReports(t)
	e := m.New(report{
		ID: "a", Title: "first", Body: words(rnd, 2_000_000), Scan: noise(rnd, 1_000_000),
		Log:    strings.Repeat("line of a log\n", 60_000),
		Pages:  []page{{1, letters(rnd, 100_000), "x"}, {2, "short", "y"}},
		Extras: map[string]string{"k": letters(rnd, 3000), "~": "z"},
	})
	plan := must(m.PlanSave(e))(t)
	r := must(m.Save(ctx, e))(t)
	t.Log(plan, "\n", r)
	if plan.Requests != r.Predicted().Requests || plan.WCU != r.Predicted().WCU {
		t.Errorf("planned %d requests, %v; sent %d, %v", plan.Requests, plan.WCU, r.Predicted().Requests,
			r.Predicted().WCU)
	}
	if r := must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Errorf("a second save sent %v", r)
	}
	check := func(want *report) *mapper.Entity[report] {
		t.Helper()
		got := must(m.Load(ctx, m.Key("a")))(t)
		if v := got.Value; v.Title != want.Title || v.Body != want.Body || !bytes.Equal(v.Scan, want.Scan) ||
			v.Log != want.Log || len(v.Pages) != len(want.Pages) || v.Extras["k"] != want.Extras["k"] ||
			v.Extras["~"] != want.Extras["~"] {
			t.Fatalf("it came back as %q, body %d %x, scan %d, log %d, %d pages", v.Title, len(v.Body),
				sha256.Sum256([]byte(v.Body)), len(v.Scan), len(v.Log), len(v.Pages))
		}
		for i := range want.Pages {
			if got.Value.Pages[i] != want.Pages[i] {
				t.Fatalf("the page %d came back as %d bytes", i, len(got.Value.Pages[i].Text))
			}
		}
		return got
	}
	got := check(&e.Value)
	if r := must(m.Save(ctx, got))(t); r.Predicted().Requests != 0 {
		t.Errorf("a save of what was loaded sent %v", r)
	}
	got.Value.Title = "second"
	if r := must(m.Save(ctx, got))(t); r.Predicted().WCU.Max != 1 || r.Predicted().Requests != 1 {
		t.Errorf("a change of the title cost %v", r)
	}
	got.Value.Body = letters(rnd, 300_000)
	got.Value.Pages[1].Text = letters(rnd, 9000)
	got.Value.Pages[0].Note = "new"
	plan = must(m.PlanSave(got))(t)
	r = must(m.Save(ctx, got))(t)
	t.Log(r)
	if plan.Requests != r.Predicted().Requests || plan.WCU != r.Predicted().WCU {
		t.Errorf("planned %d requests, %v; sent %d, %v", plan.Requests, plan.WCU, r.Predicted().Requests,
			r.Predicted().WCU)
	}
	check(&got.Value)
	got.Value.Body, got.Value.Scan, got.Value.Pages = "", nil, nil
	must(m.Save(ctx, got))(t)
	check(&got.Value)
}
