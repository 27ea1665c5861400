// Package query says what to read of an item collection: selections, which an
// entity is loaded by, and typed queries over the elements in them.
//
// A [Selection] is part of one entity of the model T: all of it, a prefix of its
// sort keys, or one item. Generated code makes selections; without it,
// Mapper.Key does:
//
//	users.Key("6297D15")                       // the whole collection
//	users.Key("6297D15").Prefix("U#Address#")  // the items whose sort keys begin so
//	users.Key("6297D15").Item("U#Information") // one item
//
// A [Query] yields the elements of a selection as values of their type E, in the order of
// their sort keys, page by page, and never more than a page of each range in memory:
//
//	q := query.Of[store.Wish](users.Key("6297D15").Prefix("M#WishList#Public#2021-"))
//	for wish, err := range q.Reverse().All(ctx, users) { ... }
//
// Selections and queries are values: every method returns a new one, and making
// them does no I/O. The call that uses them returns the errors of their
// arguments.
package query
