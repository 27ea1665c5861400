// Package blob stores large values outside of their items: in parts, or as objects in S3 (package
// s3store), and removes what nothing points to any more ([Collect]). Compression and parts need nothing
// of it: the tags compress= and chunk do.
//
// A value that lies outside of its item is written before the transaction that makes the item point to
// it, under an id that nobody else takes, with a record that tells of it. So a reader sees the old
// value or the new one, whole, whatever fails in between; what is left over then, and the values that
// are replaced, stay until a collection. docs/large-values.md tells when to use which tag, what it
// costs, and how to run the collector.
package blob
