package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// Rounds of a comparison, and how long each side works in its turn of a round, at least.
const (
	rounds = 10
	turn   = 60 * time.Millisecond
)

// BenchmarkRatio compares itemize with the SDK by hand, side by side in one process: in each round each side has a
// turn. Its metrics are how many times as fast itemize is: x-plain compares with library sdk, x-same with library
// sdk-same. They are medians. least and most are those of the rounds, and x-best compares the fastest turns of each
// side, which a busy machine disturbs least.
func BenchmarkRatio(b *testing.B) {
	find := func(name string) Library {
		return Libraries[slices.IndexFunc(Libraries, func(l Library) bool { return l.Name == name })]
	}
	for _, name := range Jobs {
		for _, lib := range []string{"itemize", "itemize-shared"} {
			if lib == "itemize-shared" && name != Page {
				continue
			}
			b.Run(fmt.Sprintf("job=%s/lib=%s", name, lib), func(b *testing.B) {
				plain,
					same, own := side(b, find("sdk"), name), side(b, find("sdk-same"), name), side(b, find(lib), name)
				var ofPlain, ofSame, sames, owns []float64
				for i := range rounds {
					var p, s, o time.Duration
					if i%2 == 0 {
						p, s, o = plain(), same(), own()
					} else {
						o, s, p = own(), same(), plain()
					}
					ofPlain = append(ofPlain, float64(p)/float64(o))
					ofSame = append(ofSame, float64(s)/float64(o))
					sames, owns = append(sames, float64(s)), append(owns, float64(o))
				}
				b.ReportMetric(median(ofPlain), "x-plain")
				b.ReportMetric(median(ofSame), "x-same")
				b.ReportMetric(slices.Min(sames)/slices.Min(owns), "x-best")
				b.ReportMetric(slices.Min(ofSame), "least")
				b.ReportMetric(slices.Max(ofSame), "most")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// side returns a function that takes a turn at a job of a library, and returns the time per job.
func side(b *testing.B, l Library, name string) func() time.Duration {
	o, t := open(b, l, name)
	job := o.Jobs[name]
	answerAtOnce(b, job, t)
	work := func(n int) {
		for range n {
			if err := job(context.Background(), next()); err != nil {
				b.Fatal(err)
			}
		}
	}
	take := func(n int) time.Duration {
		runtime.GC()   // of what the other sides have left behind
		work(1 + n/10) // which fills the pools that the collection has emptied
		from := time.Now()
		work(n)
		return time.Since(from) / time.Duration(n)
	}
	n := 1
	for time.Duration(n)*take(n) < turn {
		n *= 2
	}
	return func() time.Duration { return take(n) }
}

func median(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}
