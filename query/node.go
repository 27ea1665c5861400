package query

// Elements is a node whose items are all elements of one type. It is a selection and a query, with the
// methods of [Query]: All, Collect, Refs, Page, Count, Plan, Input, Filter, Project, Limit, Reverse,
// After.
type Elements[T, E any] struct {
	node[T]
	queried[T, E]
}

type (
	node[T any]       = Node[T]
	queried[T, E any] = Query[T, E]
)

// Query returns the query without the selection.
func (e Elements[T, E]) Query() Query[T, E] { return e.queried }
