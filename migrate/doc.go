// Package migrate turns monoliths, one large item for each entity, into the item collections of a model, while
// applications read and write them, and back.
//
// It knows no Go types: it works on attribute values, by the layout of the model as data, which itemize gen writes
// into itemize.lock.json. So the command itemize migrate needs no code of the application, and no attribute is lost by
// passing through a Go type: what no field claims stays on the root.
//
// The steps are [Migration.Plan], which writes nothing, [Migration.Run], [Migration.Verify], [Migration.Cutover]
// and [Migration.Contract]; each can be repeated, is resumed where it ended, and is undone, up to Contract, by
// [Migration.Rollback]. How an entity moves is told in docs/migration.md.
package migrate
