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

// BenchmarkRatio compares itemize and guregu/dynamo with the SDK by hand, side by side in one process: in each round
// each side has a turn. The metrics say how many times as fast a library is: x-plain compares with library sdk, and
// x-same with library sdk-same. They are medians. least and most are those of the rounds. x-best compares the fastest
// turns of each side, which a busy machine disturbs least.
func BenchmarkRatio(b *testing.B) {
	for _, name := range Jobs {
		for _, lib := range []string{"itemize", "itemize-shared", "guregu"} {
			if lib == "itemize-shared" && name != Page {
				continue
			}
			b.Run(fmt.Sprintf("job=%s/lib=%s", name, lib), func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				plain := side(b, library("sdk"), name)
				if lib == "guregu" {
					b.ReportMetric(median(ratioOfRounds(turns(plain, side(b, library(lib), name)), 0)), "x-plain")
					return
				}
				of := turns(plain, side(b, library("sdk-same"), name), side(b, library(lib), name))
				same := ratioOfRounds(of, 1)
				b.ReportMetric(median(ratioOfRounds(of, 0)), "x-plain")
				b.ReportMetric(slices.Min(of[1])/slices.Min(of[2]), "x-best")
				b.ReportMetric(slices.Min(same), "least")
				b.ReportMetric(slices.Max(same), "most")
				b.ReportMetric(median(same), "x-same")
			})
		}
	}
}

func library(name string) Library {
	return Libraries[slices.IndexFunc(Libraries, func(l Library) bool { return l.Name == name })]
}

// turns returns the times of each side in each round. Every second round begins with the last side.
func turns(sides ...func() time.Duration) [][]float64 {
	of := make([][]float64, len(sides))
	for round := range rounds {
		for i := range sides {
			if round%2 == 1 {
				i = len(sides) - 1 - i
			}
			of[i] = append(of[i], float64(sides[i]()))
		}
	}
	return of
}

// ratioOfRounds returns how many times as fast the last side is as another one, in each round.
func ratioOfRounds(of [][]float64, other int) []float64 {
	all := make([]float64, rounds)
	for i, own := range of[len(of)-1] {
		all[i] = of[other][i] / own
	}
	return all
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
		runtime.GC()   // the garbage of the other sides
		work(1 + n/10) // fills the pools that the collection has emptied
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
