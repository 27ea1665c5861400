// Package stream handles the changes of a table's items, as DynamoDB's change streams report them.
//
// A [Router] has a handler for each model of a table:
//
//	router := stream.NewRouter()
//	stream.On(router, users, func(ctx context.Context, c *stream.Change[User]) error {
//		switch {
//		case c.EntityEvent == stream.Created:
//			return welcome(ctx, c.New.Email)
//		case c.Changed(UserFields.Email):
//			return index(ctx, c.New.ID, c.New.Email)
//		}
//		return nil
//	})
//
// Records come to it in a Lambda function ([Lambda]) or in a service ([NewConsumer]). The stream of the
// table needs the view type NEW_AND_OLD_IMAGES.
//
// Rules:
//   - Each change is handled at least once. A handler can see a change again, after changes that
//     followed it, so it must be idempotent.
//   - The changes of one partition key are handled in their order. A transaction has no order.
//   - An item that has been changed twice gives two changes. Nothing groups the items of one save.
package stream
