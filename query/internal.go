package query

import (
	"context"
	"iter"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
)

func init() {
	door.Query.Spec = func(s any) selection.Selection {
		return spec(s, func() selection.Selection { return s.(specified).selected() })
	}
	door.Query.Set = func(node any, s selection.Selection) { node.(specified).set(s) }
	door.Query.Bind = func(to any, m *model.Model, s selection.Selection) { to.(bound).bind(m, s) }
	door.Query.Entities = func(ctx context.Context, q any, r search.Runner, options any,
	) iter.Seq2[search.Hit, error] {
		return q.(interface{ entities() *definition }).entities().hits(ctx, r, options.([]ReadOption))
	}
}

// specified is a selection of any model, and bound one that knows its model.
type (
	specified interface {
		selected() selection.Selection
		set(s selection.Selection)
	}
	bound interface {
		bind(m *model.Model, s selection.Selection)
	}
)
