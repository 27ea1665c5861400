// Package query selects and queries items of an item collection.
//
// A [Selection] is a part of one entity of the model T: the whole entity, a prefix of its sort keys, or
// one item. Generated code makes selections. Without it, use Mapper.Key:
//
//	users.Key("6297D15")                       // the whole collection
//	users.Key("6297D15").Prefix("U#Address#")  // the items whose sort keys have this prefix
//	users.Key("6297D15").Item("U#Information") // one item
//
// A [Query] yields the elements of a selection as values of their type E, in the order of their sort
// keys. It reads page by page, and keeps at most a page of each range in memory:
//
//	q := query.Of[store.Wish](users.Key("6297D15").Prefix("M#WishList#Public#2021-"))
//	for wish, err := range q.Reverse().All(ctx, users) { ... }
//
// The methods of selections and queries do not change them, but return new ones, and send nothing. So
// several goroutines can share a query. The call that uses them returns errors of their arguments. Nil ones are
// not usable.
package query
