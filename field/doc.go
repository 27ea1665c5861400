// Package field has typed handles of stored fields. Generated code declares one for each field of a
// stored struct (UserFields.Email, WishFields.Price). Patches, conditions, filters and projections use
// them:
//
//	w := store.WishFields
//	node.Patch(w.Price.Set(9.5)).If(w.Price.Greater(20)).Exec(ctx, users)
//	node.Filter(w.Price.Greater(10)).Project(w.Title, w.Price).All(ctx, users)
//
// A handle belongs to its struct: a [Condition] on wishes fits only queries and patches of wishes.
// Values are encoded as the field is stored, with the options of its tag. [Raw] accepts any other
// condition from the SDK's package expression.
package field
