package migrate

import "time"

// pace estimates the rates of a run, and the time that is left. The rates are means over the latter half of the run, at
// least of its last ten seconds: the segments complete their pages at the same moments, so that shorter times show
// little of the rate. Pauses are left out.
type pace struct {
	began  time.Time
	points []pacePoint
	// paused is the time without work so far: the times of the points are earlier by it.
	paused time.Duration
}

// pacePoint is the work that was done at a moment.
type pacePoint struct {
	at       time.Time
	entities int
	wcu      float64
}

const (
	leastWindow = 10 * time.Second
	// leastBase is the time from which the rate is measured after the first work.
	leastBase = 2 * time.Second
	// pauseAfter is how many times longer than usual a time without work is a pause, as of throttles.
	pauseAfter = 5
	// mostPoints bounds the memory: then every second point is left out.
	mostPoints = 1000
)

// add notes the work that is done at a moment.
func (p *pace) add(at time.Time, entities int, wcu float64) {
	if len(p.points) == 0 {
		p.points = append(p.points, pacePoint{at: p.began})
	}
	if len(p.points) >= mostPoints {
		kept := p.points[:0]
		for i := 0; i < len(p.points); i += 2 {
			kept = append(kept, p.points[i])
		}
		p.points = kept
	}
	if len(p.points) == 1 && entities == 0 {
		return // nothing was done yet
	}
	at = at.Add(-p.paused)
	if n := len(p.points); n > pauseAfter {
		last := p.points[n-1].at
		usual := last.Sub(p.points[1].at) / time.Duration(n-2)
		if gap := at.Sub(last); gap > leastWindow && gap > pauseAfter*usual {
			p.paused += gap - usual
			at = last.Add(usual)
		}
	}
	p.points = append(p.points, pacePoint{at, entities, wcu})
}

// rates returns the entities and the WCU of a second, 0 before there is a measure.
func (p *pace) rates() (entities, wcu float64) {
	if len(p.points) < 2 {
		return 0, 0
	}
	last := p.points[len(p.points)-1]
	window := max(last.at.Sub(p.began)/2, leastWindow)
	first := p.points[0]
	if began := p.points[1]; len(p.points) > 4 &&
		last.at.Sub(began.at) >= leastBase { // without the time before the first work
		first = began
	}
	for _, q := range p.points[1:] {
		if last.at.Sub(q.at) < window {
			break
		}
		first = q
	}
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0, 0
	}
	return float64(last.entities-first.entities) / seconds, (last.wcu - first.wcu) / seconds
}

// left returns the time for the rest of the work, 0 if it is unknown.
func (p *pace) left(rest int) time.Duration {
	entities, _ := p.rates()
	if rest <= 0 || entities <= 0 {
		return 0
	}
	return time.Duration(float64(rest) / entities * float64(time.Second))
}
