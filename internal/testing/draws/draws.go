// Package draws sets how often tests of laws draw at random, and from which seed.
//
// Each test states three numbers: for the default run (go test ./...), for .ci/full and for long runs by
// hand. The environment variable ITEMIZE_DRAWS chooses: unset, "ci" or "long". After a failure it
// prints the command that repeats the test ([With]).
package draws

import (
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Variable is the environment variable that chooses the run: unset, "ci" or "long".
const Variable = "ITEMIZE_DRAWS"

// SeedVariable is the environment variable that repeats a failure: the seed that the failed test printed.
const SeedVariable = "ITEMIZE_RANDOM_SEED"

// DurationVariable is the environment variable that says how long explorers explore: "1h".
const DurationVariable = "ITEMIZE_EXPLORE"

// ScheduleVariable is the environment variable that makes an explorer play one schedule: the seed that
// a failure printed.
const ScheduleVariable = "ITEMIZE_EXPLORE_SEED"

// All is the count of an exhaustive run of [Some].
const All = 1<<31 - 1

// Times returns how often to draw in this run.
func Times(byDefault, ci, long int) int { return choose(byDefault, ci, long) }

// For returns how long to draw in this run, or the duration in the environment's [DurationVariable].
func For(byDefault, ci, long time.Duration) time.Duration {
	v := os.Getenv(DurationVariable)
	if v == "" {
		return choose(byDefault, ci, long)
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		panic(DurationVariable + "=" + v + `: want a duration, as "1h"`)
	}
	return d
}

// Some returns count of the numbers from 0 to n-1 in random order, and all of them where count is larger than n.
func Some(seed uint64, n, count int) []int {
	return rand.New(rand.NewPCG(seed, 0)).Perm(n)[:min(n, count)]
}

func choose[N int | time.Duration](byDefault, ci, long N) N {
	switch v := os.Getenv(Variable); v {
	case "":
		return byDefault
	case "ci":
		return ci
	case "long":
		return long
	default:
		panic(Variable + "=" + v + `: want "ci" or "long", or leave it unset`)
	}
}

// Seed returns a new seed, or that of the environment's [SeedVariable]. If the test fails, its log ends with the
// command that repeats it with this seed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, ok := number(SeedVariable)
	if !ok {
		seed = rand.Uint64()
	}
	With(t, SeedVariable, strconv.FormatUint(seed, 10))
	return seed
}

// Schedules returns numbers and seeds of schedules to explore, for a duration, or the one schedule of
// the environment's [ScheduleVariable]. The seeds follow from [Seed]: a run with the same seed explores
// the same schedules again, and a run that continues another takes its seed plus its number of
// schedules.
func Schedules(t testing.TB, d time.Duration) iter.Seq2[int, uint64] {
	t.Helper()
	return func(yield func(int, uint64) bool) {
		if seed, ok := number(ScheduleVariable); ok {
			With(t, ScheduleVariable, strconv.FormatUint(seed, 10))
			yield(0, seed)
			return
		}
		first := Seed(t)
		n := 0
		for end := time.Now().Add(d); time.Now().Before(end); n++ {
			if !t.Failed() { // else the schedule that failed is to be repeated
				With(t, ScheduleVariable, strconv.FormatUint(first+uint64(n), 10))
			}
			if !yield(n, first+uint64(n)) {
				return
			}
		}
		t.Logf("%d schedules from %s=%d", n, SeedVariable, first)
	}
}

// number returns a variable of the environment that is a number, and whether it is set.
func number(variable string) (uint64, bool) {
	v := os.Getenv(variable)
	if v == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		panic(variable + "=" + v + ": want a number")
	}
	return n, true
}
