// Package migrate turns monoliths, one large item for each entity, into the item collections of a
// model, and back, while applications read and write them.
//
// It works on attribute values, by the layout in itemize.lock.json, which itemize gen writes. So the
// command itemize migrate needs no code of the application, and no attribute is lost in a Go type:
// attributes that no field names stay on the root item.
//
// The steps are [Migration.Plan], which writes nothing, [Migration.Run], [Migration.Verify],
// [Migration.Cutover] and [Migration.Contract]. Each can be repeated, and continues where it ended.
// [Migration.Rollback] undoes them until Contract. Applications use [Wrap] in the meantime.
// docs/migration.md is the guide, docs/design/migration.md explains the protocol.
package migrate
