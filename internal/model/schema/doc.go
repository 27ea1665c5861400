// Package schema describes models: which items an entity has, which attributes each item has, and how
// their keys are made.
//
// An [Entity] is the schema of one model. [Build] makes it from a [Type], which describes the Go type
// of the model and its tags, and reports every fault of the tags at once ([Faults]). Types come from
// two front ends that have to agree: [TypeOf] uses reflect, at run time; package codegen uses go/types,
// and is not linked into applications.
//
//   - type.go, reflect.go, leaf.go: Go types, and the kinds of values
//   - build.go, place.go, fields.go, template.go, keys.go: from fields and tags to items, attributes
//     and keys
//   - index.go, buildindex.go: secondary indexes
//   - shards.go, periods.go: write sharding, and tables that rotate by time
//   - large.go, encoded.go: compression and external values
//   - check.go, meet.go: the checks, for instance that keys of two items cannot be equal (law 4,
//     docs/design/invariants.md)
//   - layout.go, readlayout.go: the layout of a model as JSON, for lock files and the command
//
// The package knows nothing of AWS, and sends nothing.
package schema
