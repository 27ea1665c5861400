package search

import (
	"context"
	"time"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// findsAtOnce bounds the requests of a FindMany that are under way at one time.
const findsAtOnce = 16

// FindMany reads selections of one entity each, several at a time. It first reads the items with known
// keys, of all selections together, and then the rest of each selection.
func (e *Engine) FindMany(ctx context.Context, sels []selection.Selection, o read.Options, t *write.Tally) ([]*Found,
	error,
) {
	began := e.Model.Now()
	var keys [][]selection.Part
	for _, sel := range sels {
		if read.Keys(sel.Parts) {
			keys = append(keys, sel.Parts)
		}
	}
	var u read.Usage
	early, err := e.Reader.Batches(ctx, keys, findsAtOnce, o, &u)
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	if err != nil {
		return nil, err
	}
	found := make([]*Found, len(sels))
	tallies := make([]write.Tally, len(sels))
	err = request.AtMost(ctx, findsAtOnce, len(sels), func(ctx context.Context, i int) (err error) {
		p := *e.Protocol
		if read.Keys(sels[i].Parts) {
			p.Reader, p.Now = &read.Ahead{Reader: e.Reader, Early: early}, func() time.Time { return began }
		}
		found[i], err = e.Find(ctx, &p, sels[i], o, &tallies[i])
		return err
	})
	t.AddAll(tallies)
	return found, err
}
