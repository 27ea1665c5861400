package estimate

import (
	"reflect"
	"sync"

	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
)

// Answers records what recent queries cost, as moving averages: one for each form of a query. It is safe for concurrent
// use. The zero value has no queries.
type Answers struct {
	mu sync.Mutex
	of map[form]answer
}

// form is the part of a query that decides on its cost in addition to the stored items.
type form struct {
	index         string
	elem          reflect.Type
	kind          selection.Kind
	limit         int
	fetch, rooted bool
}

// answer is the average of one answer of DynamoDB, with the reads of the table that follow it: requests, and RCU of
// eventually consistent reads.
type answer struct{ requests, rcu float64 }

// maxForms is the number of forms that are recorded, which bounds the memory.
const maxForms = 1000

func formOf(x *search.Search, r search.Request) form {
	f := form{elem: r.Elem, limit: r.Limit, fetch: r.Fetch, rooted: r.Roots}
	for _, p := range x.Parts() {
		f.kind = max(f.kind, p.Range.Kind)
		if p.In != nil {
			f.index, f.kind = p.In.Entry.Index.Name, max(f.kind, p.In.Range.Kind)
		}
	}
	return f
}

// Observe records the requests and the RCU of a query that had so many answers.
func (a *Answers) Observe(x *search.Search, r search.Request, answers, requests int, rcu float64) {
	if answers == 0 || requests == 0 {
		return
	}
	n := float64(answers)
	now := answer{float64(requests) / n, rcu / n / (2 * consistency(r.Strong))}
	f := formOf(x, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	was, found := a.of[f]
	switch {
	case found:
		now = answer{was.requests + (now.requests-was.requests)/4, was.rcu + (now.rcu-was.rcu)/4}
	case a.of == nil:
		a.of = map[form]answer{}
	case len(a.of) >= maxForms:
		clear(a.of)
	}
	a.of[f] = now
}

// likely returns the average of a query's form, zero for none.
func (a *Answers) likely(x *search.Search, r search.Request) answer {
	f := formOf(x, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[f]
}
