// Package field holds typed handles of stored fields. Generated code declares one for
// each field of a stored struct (UserFields.Email, WishFields.Price); patches, conditions,
// filters and projections are made with them:
//
//	w := store.WishFields
//	node.Patch(w.Price.Set(9.5)).If(w.Price.Greater(20)).Exec(ctx, users)
//	node.Filter(w.Price.Greater(10)).Project(w.Title, w.Price).All(ctx, users)
//
// A handle belongs to its struct: a [Condition] of wishes fits queries and patches of wishes
// only. Values are encoded as the field is stored, with the options of its tag. What no
// handle can say, [Raw] takes from the SDK's package expression.
package field
