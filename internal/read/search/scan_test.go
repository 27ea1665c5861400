package search_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A scan yields each entity once, as Load returns it, and reports items that belong to none: orphans,
// leftover items, unfinished writes, and others' items.
func TestScan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3)
	raw := kit.NewForeign(t, table)
	want := map[string]kit.Account{}
	for i := range draws.Times(20, 60, 60) {
		id := fmt.Sprint(i)
		a := kit.Account{ID: id, Counter: 1 + i, Left: strings.Repeat("l", i), Flags: map[string]bool{}}
		for n := range i {
			a.Entries = append(a.Entries, kit.Part{N: n, Text: "x"})
		}
		options := []mapper.WriteOption{mapper.Independent()}
		if i%3 == 0 {
			options = []mapper.WriteOption{mapper.Staged()}
		}
		kit.Must(m.Save(ctx, m.New(a), options...))(t)
		want[id] = a
	}
	c := &kit.Crash{Left: 3} // the claim, and two parts
	dying := kit.NewAccounts(t, table, c.Transport(), 1)
	_, _ = dying.Save(ctx, dying.New(kit.Account{ID: "claimed", Counter: 1, Left: "l", Right: "r"}), mapper.Staged())
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "marked", Counter: 1, Left: "l"})))(t)
	c = &kit.Crash{Left: 4} // the readings, and the mark
	dying = kit.NewAccounts(t, table, c.Transport(), 1)
	_, _ = dying.DeleteByKey(ctx, dying.Key("marked"), mapper.Staged())
	raw.Put(kit.Item{"PK": kit.S("ACCOUNT#orphan"), "SK": kit.S("LEFT"), "Left": kit.S("x")})
	raw.Put(kit.Item{
		"PK": kit.S("ACCOUNT#7"), "SK": kit.S("RIGHT"), "Right": kit.S("x"),
		"_a": &types.AttributeValueMemberB{Value: []byte("other")},
	})
	raw.Put(kit.Item{"PK": kit.S("ACCOUNT#7"), "SK": kit.S("OTHER"), "Right": kit.S("x")})
	raw.Put(kit.Item{"PK": kit.S("USER#7"), "SK": kit.S("HEAD")})
	strays := map[string]string{
		"ACCOUNT#claimed HEAD": "staged", "ACCOUNT#claimed LEFT": "staged", "ACCOUNT#claimed RIGHT": "staged",
		"ACCOUNT#orphan LEFT": "orphan", "ACCOUNT#7 RIGHT": "dead", "ACCOUNT#7 OTHER": "unknown",
		"USER#7 HEAD": "unknown",
	}
	for _, options := range [][]mapper.ScanOption{
		nil,
		{mapper.Segments(5)},
		{mapper.Strong(), mapper.Segments(2), mapper.ReadRate(5000)},
	} {
		var r mapper.Receipt
		got, seen := map[string]kit.Account{}, map[string]string{}
		for e, err := range m.Scan(ctx,
			append(options, mapper.ReceiptTo(&r),
				mapper.OnStray(func(s mapper.Stray) { seen[s.Key.String()] = s.State }))...) {
			if err != nil {
				t.Fatal(err)
			}
			if _, twice := got[e.Value.ID]; twice {
				t.Errorf("%s twice", e.Value.ID)
			}
			got[e.Value.ID] = e.Value
			if e.Value.ID == "7" && e.Unknown() != 1 {
				t.Errorf("%d unknown items", e.Unknown())
			}
		}
		for at, state := range seen {
			if strings.HasPrefix(at, "ACCOUNT#marked") && state == "deleting" {
				delete(seen, at)
			}
		}
		if diff := cmp.Diff(want, got, kit.AccountOptions); diff != "" {
			t.Errorf("%s", diff)
		}
		if diff := cmp.Diff(strays, seen); diff != "" {
			t.Errorf("%s", diff)
		}
		if r.Predicted().Requests == 0 || r.Predicted().Mode != "read" || !r.Predicted().RCU.Contains(r.Consumed.RCU) &&
			testengine.ReportsMisses(t) {
			t.Errorf("%v", &r)
		}
	}
	// One is enough, and what it yields can be saved.
	for e, err := range m.Scan(ctx, mapper.Segments(3)) {
		if err != nil {
			t.Fatal(err)
		}
		e.Value.Right = "changed"
		kit.Must(m.Save(ctx, e))(t)
		break
	}
	for text, options := range map[string][]mapper.ScanOption{
		"Segments is -1": {mapper.Segments(-1)},
		"ReadRate is -2": {mapper.ReadRate(-2)},
	} {
		for _, err := range m.Scan(ctx, options...) {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v", err)
			}
		}
	}
	stub := kit.Must(mapper.New[kit.Account](failingScan{}))(t)
	n := 0
	for _, err := range stub.Scan(ctx, mapper.Segments(4)) {
		if n++; !errors.Is(err, kit.ErrCalled) {
			t.Errorf("%v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}

// Flat models: entities of one item and of several, that share a partition.
func TestScanFlat(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	threads := kit.NewMapper[models.Thread](t, "ForumName:S", "Subject:S")
	want := map[string]int{}
	for i := range 50 {
		th := models.Thread{Forum: fmt.Sprint("f", i%3), Title: fmt.Sprint("t", i), Views: i}
		kit.Must(threads.Save(ctx, threads.New(th)))(t)
		want[th.Forum+th.Title] = i
	}
	got := map[string]int{}
	for e, err := range threads.Scan(ctx, mapper.Segments(3)) {
		if err != nil {
			t.Fatal(err)
		}
		got[e.Value.Forum+e.Value.Title] = e.Value.Views
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// A rate is kept: for the scan, and for its additional reads.
func TestScanRate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}, 3)
	for i := range 40 { // 4 RCU each
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: fmt.Sprint(i), Left: strings.Repeat("x", 31_000)})))(t)
	}
	var r mapper.Receipt
	began := time.Now()
	for _, err := range m.Scan(ctx, mapper.Segments(2), mapper.ReadRate(80), mapper.ReceiptTo(&r)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	// The last answers of both segments are not waited for.
	if took := time.Since(began).Seconds(); took < (r.Predicted().RCU.Expected-80)/80 {
		t.Errorf("%v RCU in %v s", r.Predicted().RCU, took)
	}
}

// Of many entities a scan keeps no more than an answer of each segment, and to its rate.
func TestScanMany(t *testing.T) {
	ctx := context.Background()
	many, rate := draws.Times(300, 2_000, 100_000), 5000.0
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3)
	for i := range many {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: fmt.Sprint(i), Counter: i + 1}), mapper.Independent()))(t)
		if i%1000 == 0 {
			kit.NewForeign(t, table).Put(kit.Item{
				"PK": kit.S(fmt.Sprint("ACCOUNT#orphan", i)), "SK": kit.S("LEFT"),
				"Left": kit.S("x"),
			})
		}
	}
	var peak uint64
	seen, orphans := make([]bool, many), 0
	var r mapper.Receipt
	began := time.Now()
	n := 0
	for e, err := range m.Scan(ctx, mapper.Segments(8), mapper.ReadRate(rate), mapper.ReceiptTo(&r),
		mapper.OnStray(func(x mapper.Stray) {
			if x.State == "orphan" {
				orphans++
			}
		})) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%5000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		i := kit.Must(strconv.Atoi(e.Value.ID))(t)
		if seen[i] || e.Value.Counter != i+1 {
			t.Fatalf("%+v", e.Value)
		}
		seen[i] = true
	}
	if slices.Contains(seen, false) || orphans != (many+999)/1000 {
		t.Errorf("%d of %d, %d orphans", n, many, orphans)
	}
	took := time.Since(began)
	t.Logf("%d entities in %v: %d requests, %v RCU, heap of %d KB", n, took, r.Predicted().Requests, r.Predicted().RCU,
		peak>>10)
	if took.Seconds() < (r.Predicted().RCU.Expected-2*rate)/rate { // nobody waits for the last answers of segments
		t.Errorf("faster than %v RCU a second", rate)
	}
}

// failingScan is a client whose scans fail.
type failingScan struct{ kit.Failing }

func (failingScan) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput,
	error,
) {
	return nil, kit.ErrCalled
}

// saving.md: Entity.Unknown counts the items of the collection that match no template; scan.go: "each
// entity is as Load would see it".
func TestScanCountsUnknownItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("AAA")})
	for e := range m.Scan(ctx) {
		if e.Unknown() != 1 {
			t.Errorf("%d unknown items", e.Unknown())
		}
	}
}

// A scan yields each entity as Load would return it. An entity that is inserted during the scan may be
// seen or not, but never in part.
func TestScanNeverYieldsPartOfEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3)
	kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("G")}) // another model's
	c := &small{Client: testengine.Start(t).Client(), n: 1, between: func(call int) {
		if call == 2 {
			kit.Must(clean.Save(ctx,
				clean.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "x"}}})))(t)
		}
	}}
	m := kit.Must(mapper.New[kit.Account](c, mapper.Table(table)))(t)
	for e, err := range m.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Value.Entries) != 1 {
			t.Errorf("seen in part: %+v", e.Value)
		}
	}
}

func goroutine() string {
	b := make([]byte, 64)
	f := strings.Fields(string(b[:runtime.Stack(b, false)]))
	return f[1]
}

// The body of a loop over a scan must run in the goroutine of the loop. Otherwise the caller cannot
// recover a panic in it (or t.Fatal), and the program ends.
func TestScanRunsInCallersGoroutine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}, 3)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	mine := goroutine()
	for range m.Scan(ctx) {
		if is := goroutine(); is != mine {
			t.Errorf("the body runs in goroutine %s, and the loop in %s", is, mine)
		}
	}
}

// A panic in the body of a scan is the caller's to recover, and leaves no goroutine behind.
func TestScanPassesPanicToCaller(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}, 3)
	for i := range 5 {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: fmt.Sprint(i), Counter: 1})))(t)
	}
	scan := func() {
		defer func() {
			if recover() == nil {
				t.Error("nothing to recover")
			}
		}()
		for range m.Scan(ctx) {
			panic("the body's")
		}
	}
	scan()
	stacks := make([]byte, 1<<20)
	for wait := 0; ; wait++ {
		text := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(text, "search.(*scan)") {
			return
		}
		if wait == 50 {
			t.Fatalf("left behind:\n%s", text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// scan.go: "An error ends it": a scan whose context ends has not seen every entity, and may not look as if it had.
func TestCanceledScanEndsWithError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}, 3)
	for i := range 5 {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: fmt.Sprint(i), Counter: 1})))(t)
	}
	n := 0
	var last error
	for _, err := range m.Scan(ctx) {
		if last = err; err == nil {
			n++
		}
		cancel()
	}
	if n < 5 && last == nil {
		t.Errorf("%d of 5 entities, and no error", n)
	}
}

// stale is a client whose scans answer with an item as it was before.
type stale struct {
	*dynamodb.Client
	old kit.Item
}

func (c *stale) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput,
	error,
) {
	out, err := c.Client.Scan(ctx, in, o...)
	if err == nil {
		for i, it := range out.Items {
			if it["SK"].(*types.AttributeValueMemberS).Value == "HEAD" {
				out.Items[i] = c.old
			}
		}
	}
	return out, err
}

// From the design: "An item of another incarnation is dead if a strong GetItem of the root, made after
// the item was read, shows another _a, or no root". An eventually consistent scan does not prove it.
func TestScanReadsRootStronglyBeforeStray(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Right: "r"})))(t)
	old := kit.NewForeign(t, table).Get("ACCOUNT#1", "HEAD")
	kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2, Right: "r"})))(t)
	m := kit.Must(mapper.New[kit.Account](&stale{testengine.Start(t).Client(), old}, mapper.Table(table)))(t)
	for _, err := range m.Scan(ctx,
		mapper.OnStray(func(x mapper.Stray) { t.Errorf("an item of the live entity is a stray: %+v", x) })) {
		if err != nil {
			t.Error(err)
		}
	}
}
