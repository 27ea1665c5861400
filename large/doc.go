// Package large has large values that are stored outside of their items: in parts, or as objects in S3
// (package s3store). [Value] is the type of a field that is read on request, and [Collect] deletes
// unreferenced values. The tags compress= and chunk alone do not need this package.
//
// A value is written under a new id, with a record, before a transaction makes its item point to it. So
// a reader sees the whole old or the whole new value, whatever fails in between. Replaced values, and
// those of failed saves, stay until a collection. docs/large-values.md explains the tags, their cost,
// and the collection.
package large
