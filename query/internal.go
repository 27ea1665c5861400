package query

import (
	"context"
	"iter"
	"unsafe"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
)

// no is the model where none is known: the memory of a Node, Key, Items or Query does not depend on its types. A method
// of these types would be compiled for each model, and again for each generated type that embeds a node.
type no = struct{}

func init() {
	door.Query.Spec = func(node unsafe.Pointer) selection.Selection { return specOf((*Node[no])(node)) }
	door.Query.Set = func(node unsafe.Pointer, s selection.Selection) { (*Node[no])(node).spec = s }
	door.Query.Key = func(key unsafe.Pointer, m *model.Model, s selection.Selection) {
		*(*Key[no])(key) = Key[no]{node: Node[no]{s}, model: m}
	}
	door.Query.Items = func(items unsafe.Pointer, m *model.Model, s selection.Selection) {
		*(*Items[no])(items) = Items[no]{Node[no]{s}, m}
	}
	door.Query.Entities = func(q unsafe.Pointer) door.Entities { return entities{(*Query[no, no])(q).is.ofEntities()} }
}

type entities struct{ *definition }

// Hits is described at door.Entities.
func (e entities) Hits(ctx context.Context, r search.Runner, options any) iter.Seq2[search.Hit, error] {
	return e.hits(ctx, r, options.([]ReadOption))
}
