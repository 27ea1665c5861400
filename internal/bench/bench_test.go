package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/bench/patterns"
	"github.com/itemize/itemize/internal/testing/engines"
)

var engine *engines.Engine

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		if engine, err = engines.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer engine.Stop()
		return m.Run()
	}()
	os.Exit(code)
}

// tables and runs give each table and each run of a job a number of its own.
var tables, runs atomic.Int64

func next() int { return int(runs.Add(1)) }

// client returns a client of the engine over a transport.
func client(t *patterns.Transport) *dynamodb.Client {
	return engine.Client(func(o *dynamodb.Options) { o.HTTPClient = t })
}

// open returns a library at work on a table of its own that is filled for a job, "" for all, and its transport.
func open(tb testing.TB, l Library, job string) (*Opened, *patterns.Transport) {
	tb.Helper()
	ctx := context.Background()
	table := fmt.Sprint("bench-", tables.Add(1))
	t := &patterns.Transport{}
	c := client(t)
	err := engine.CreateTable(ctx, table, "PK:S", "SK:S")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = engine.DeleteTable(ctx, table) })
	o, err := l.Open(c, table)
	if err == nil {
		err = o.Fill(ctx)
	}
	if err == nil && (job == "" || job == Page) {
		err = o.FillPage(ctx)
	}
	if err != nil {
		tb.Fatalf("%s: %v", l.Name, err)
	}
	if o.Close != nil {
		tb.Cleanup(func() { _ = o.Close() })
	}
	return o, t
}

// Each library does each job, and finds what it has stored.
func TestJobs(t *testing.T) {
	for _, l := range Libraries {
		o, _ := open(t, l, "")
		for _, name := range Jobs {
			job := o.Jobs[name]
			if lacks := slices.Contains(l.Lacks, name); lacks != (job == nil) {
				t.Errorf("%s: %s: it lacks it: %v", l.Name, name, lacks)
			}
			if job != nil {
				for range 3 {
					if err := job(context.Background(), next()); err != nil {
						t.Errorf("%s: %s: %v", l.Name, name, err)
					}
				}
			}
		}
	}
}

// answerAtOnce has a transport note what an engine answers to a job, and give it again from then on.
func answerAtOnce(tb testing.TB, job Job, t *patterns.Transport) {
	tb.Helper()
	modes := []patterns.Mode{patterns.Pass, patterns.Count, patterns.Note}
	for _, m := range modes { // the first job makes what later ones need
		t.Set(m)
		if err := job(context.Background(), next()); err != nil {
			tb.Fatal(err)
		}
	}
	t.Set(patterns.Again)
}

// Saves and loads allocate no more often than the SDK by hand and 10 times, and a page with shared
// strings a twentieth as often.
func TestAllocations(t *testing.T) {
	allocations := func(library, name string) float64 {
		at := slices.IndexFunc(Libraries, func(l Library) bool { return l.Name == library })
		o, answers := open(t, Libraries[at], name)
		job := o.Jobs[name]
		answerAtOnce(t, job, answers)
		least := math.Inf(1) // of many: garbage collection, and the race detector, empty pools of either side
		for range 100 {
			least = min(least, testing.AllocsPerRun(1, func() {
				if err := job(context.Background(), next()); err != nil {
					t.Error(err)
				}
			}))
		}
		return least
	}
	for _, name := range []string{Small, Get, Touch, Insert, Load, Change, Add, Month} {
		if sdk, own := allocations("sdk", name), allocations("itemize", name); own > sdk+10 {
			t.Errorf("%s: %v allocations, by hand %v", name, own, sdk)
		}
	}
	if sdk, own := allocations("sdk", Page), allocations("itemize-shared", Page); own > sdk/20 {
		t.Errorf("%s: %v allocations, by hand %v", Page, own, sdk)
	}
}

// BenchmarkAtOnce times the program alone: the answers are those of an engine, noted and given again. It also counts
// requests, bytes of bodies, and capacity units.
func BenchmarkAtOnce(b *testing.B) {
	each(b, func(b *testing.B, job Job, t *patterns.Transport) {
		ctx := context.Background()
		answerAtOnce(b, job, t)
		b.ReportAllocs()
		for b.Loop() {
			if err := job(ctx, next()); err != nil {
				b.Fatal(err)
			}
		}
		c := t.Counts
		b.ReportMetric(float64(c.Requests), "requests")
		b.ReportMetric(float64(c.Sent), "sent-B")
		b.ReportMetric(float64(c.Received), "received-B")
		b.ReportMetric(c.WCU, "WCU")
		b.ReportMetric(c.RCU, "RCU")
	})
}

// BenchmarkEngine times the jobs on an engine.
func BenchmarkEngine(b *testing.B) {
	each(b, func(b *testing.B, job Job, _ *patterns.Transport) {
		for b.Loop() {
			if err := job(context.Background(), next()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func each(b *testing.B, run func(*testing.B, Job, *patterns.Transport)) {
	for _, name := range Jobs {
		for _, l := range Libraries {
			if slices.Contains(l.Lacks, name) {
				continue
			}
			b.Run(fmt.Sprintf("job=%s/lib=%s", name, l.Name), func(b *testing.B) {
				o, t := open(b, l, name)
				job := o.Jobs[name]
				if job == nil {
					b.Fatal("it has no such job")
				}
				run(b, job, t)
			})
		}
	}
}

// BenchmarkKept measures what stays in memory of a page of which one short string is kept.
func BenchmarkKept(b *testing.B) {
	for _, l := range Libraries {
		if l.Kept == nil {
			continue
		}
		b.Run("lib="+l.Name, func(b *testing.B) {
			_, t := open(b, l, Page)
			c := client(t)
			keep, err := l.Kept(c, fmt.Sprint("bench-", tables.Load()))
			if err != nil {
				b.Fatal(err)
			}
			const pages = 32
			kept := make([]string, pages)
			for range 3 { // setup that is done once
				if _, err = keep(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			before := heap()
			for i := range kept {
				if kept[i], err = keep(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(heap()-before)/pages, "held-B/page")
			b.ReportMetric(0, "ns/op")
			runtime.KeepAlive(kept)
		})
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	for range 3 { // pools give up what they hold after two
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
