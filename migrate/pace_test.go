package migrate

import (
	"math"
	"testing"
	"time"
)

// After a tenth of the work, the rate and the time that is left are within a fifth of the truth: with pages of many
// segments that end at once, with a slow start, and with a rate that changes.
func TestPaceIsNearTheTruth(t *testing.T) {
	const entities, units = 10_000, 3.0
	for name, c := range map[string]struct {
		// group is the number of entities that are reported at once, and rate those of a second, by the share of work.
		group int
		rate  func(done float64) float64
		// from is the share of work from which the estimates are right.
		from float64
	}{
		"one by one":              {1, func(float64) float64 { return 95 }, 0.1},
		"pages of eight segments": {800, func(float64) float64 { return 95 }, 0.1},
		"a fast run":              {100, func(float64) float64 { return 4000 }, 0.1},
		"a slow run":              {5, func(float64) float64 { return 1.5 }, 0.1},
		"slower from the half on": {100, func(done float64) float64 {
			if done < 0.5 {
				return 100
			}
			return 25
		}, 0.75},
	} {
		begun := time.Unix(1_800_000_000, 0)
		p := pace{began: begun}
		var at time.Duration
		var times []time.Duration
		var done []int
		for n := 0; n < entities; {
			more := min(c.group, entities-n)
			n += more
			at += time.Duration(float64(more) / c.rate(float64(n)/entities) * float64(time.Second))
			times, done = append(times, at), append(done, n)
		}
		last := time.Duration(-1)
		for i, d := range times {
			if d-last < reportEvery && i < len(times)-1 {
				continue
			}
			last = d
			p.add(begun.Add(d), done[i], float64(done[i])*units)
			if float64(done[i]) < c.from*entities || done[i] > entities*9/10 {
				continue
			}
			rate, wcu := p.rates()
			truth := c.rate(float64(done[i]) / entities)
			left, rest := p.left(entities-done[i]).Seconds(), (times[len(times)-1] - d).Seconds()
			if name == "slower from the half on" {
				left = rest // the rate is a mean of the latter half
			}
			if math.Abs(rate/truth-1) > 0.2 && name != "slower from the half on" || math.Abs(wcu/rate/units-1) > 1e-9 ||
				math.Abs(left/rest-1) > 0.2 {
				t.Fatalf(
					"%s: after %d of %d: %.1f a second, truth %.1f; %.0f s left, truth %.0f",
					name,
					done[i],
					entities,
					rate,
					truth,
					left,
					rest,
				)
			}
		}
		if len(p.points) > mostPoints {
			t.Errorf("%s: %d points", name, len(p.points))
		}
	}
	for _, pause := range []time.Duration{time.Minute, 10 * time.Minute} {
		begun := time.Unix(1_800_000_000, 0)
		p := pace{began: begun}
		for done, at := 100, begun; done <= entities; done += 100 {
			if at = at.Add(time.Second); done == 3000 {
				at = at.Add(pause)
			}
			p.add(at, done, 0)
			rest := float64(entities-done) / 100
			if left := p.left(entities - done).Seconds(); done >= entities/10 && rest > 5 &&
				math.Abs(left/rest-1) > 0.2 {
				t.Fatalf("a pause of %v: after %d of %d: %.0f s left, truth %.0f", pause, done, entities, left, rest)
			}
		}
	}
	if e, w := (&pace{began: time.Now()}).rates(); e != 0 || w != 0 {
		t.Error("a rate before there is a measure")
	}
}
