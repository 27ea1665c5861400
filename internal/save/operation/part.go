package operation

import (
	"context"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/write"
)

// common is the state that all kinds of parts have. Its methods are defaults.
type common struct {
	// env is that of the part's model. It is nil for a raw request.
	env *Env
	// entity is the entity that is saved or deleted. It is nil for a selection, a patch and a raw request.
	entity *Entity
	// changes are those of the last plan.
	changes  []*change.Change
	external external
	// atomic reports that the part is written in one transaction with others.
	atomic bool
	// inTransaction reports that the transaction also writes other entities, so its writes cannot be undone.
	inTransaction bool
	// repeat is described at Prediction.
	repeat string
	// done is called after the part has been written. It may be nil.
	done func()
	// changedRoot reports whether the root item, which the part checks in a request, is not as the part has read it. It
	// is nil for parts that do not read it again.
	changedRoot func(request int, root item.Attributes) bool
}

func (s *common) base() *common { return s }

func (s *common) end() {
	if s.done != nil {
		s.done()
	}
}

func (s *common) prepare(ctx context.Context, t *Tally) error { return nil }

func (s *common) read(context.Context, *Tally) error { return nil }

func (s *common) reads(*write.Plan) (estimate.Reads, error) { return estimate.Reads{}, nil }

func (s *common) applied([]*write.Request) {}

func (s *common) confirm(context.Context, *write.Plan, *Tally) (bool, error) { return false, nil }

func (s *common) finish(context.Context, *Tally) error { return nil }

func (s *common) moved(context.Context, *write.Request, *Tally) (bool, error) { return false, nil }

// unresolved is the default of parts that no entity remembers.
func (s *common) unresolved(o *write.Outcome, _ []*write.Request) bool {
	return len(written(o.Requests)) == 0
}

func (s *common) alternatives(*write.Plan) func() []write.Alternative { return nil }

// stage is never called: only saves and deletes of whole entities have staged plans.
func (s *common) stage(context.Context, *Operation, *write.Plan, *Tally) (bool, error) {
	panic("a part without staged plans")
}
