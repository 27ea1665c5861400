package explore

import (
	"math/rand/v2"
	"slices"
)

// Chooser makes the choices of a run.
type Chooser interface {
	// Choose returns one of several options by their weights, the first of which is to go
	// on as before.
	Choose(weights []int) int
}

// options are the possible next steps.
type options struct {
	weights []int
	do      []func()
}

func (o *options) add(weight int, do func()) {
	o.weights, o.do = append(o.weights, weight), append(o.do, do)
}

func (o *options) pick(c Chooser) {
	i := 0
	if len(o.do) > 1 {
		i = c.Choose(o.weights)
	}
	o.do[i]()
}

// Random chooses by a seed. Some seeds switch often between actors, others seldom.
type Random struct {
	*rand.Rand
	stay int
}

// NewRandom returns the chooser of a seed.
func NewRandom(seed uint64) *Random {
	r := rand.New(rand.NewPCG(seed, 1))
	return &Random{r, []int{1, 4, 16, 64}[r.IntN(4)]}
}

// Choose draws an option by its weight.
func (r *Random) Choose(weights []int) int {
	sum := weights[0] * (r.stay - 1)
	for _, w := range weights {
		sum += w
	}
	n := r.IntN(sum)
	for i, w := range slices.Backward(weights) {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// InOrder goes through all choices in order, with a bounded number of options other than the
// first in each run.
type InOrder struct {
	// Deviations is how often a run may choose another option than the first.
	Deviations int

	script  []int
	options []int
	at      int
	used    int
}

// Choose follows the script, and takes the first option beyond it.
func (c *InOrder) Choose(weights []int) int {
	if c.at == len(c.script) {
		c.script, c.options = append(c.script, 0), append(c.options, 0)
	}
	c.options[c.at] = len(weights)
	choice := c.script[c.at]
	if choice > 0 {
		c.used++
	}
	c.at++
	return choice
}

// Next begins the next run; it reports false where all were made.
func (c *InOrder) Next() bool {
	used := 0
	for _, choice := range c.script[:c.at] {
		if choice > 0 {
			used++
		}
	}
	for i := c.at - 1; i >= 0; i-- {
		if c.script[i] > 0 {
			used--
		}
		if c.script[i]+1 < c.options[i] && used < c.Deviations {
			c.script, c.options = c.script[:i+1], c.options[:i+1]
			c.script[i]++
			c.at, c.used = 0, 0
			return true
		}
	}
	return false
}
