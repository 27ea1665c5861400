// Package discover finds out what a table holds, where its money goes, and which model would cost less.
//
//   - sample.go reads items: of a table by segments, of an export, of JSON files
//   - keys.go, groups.go: key patterns, and the entity types that they and the attributes show
//   - profile.go, elements.go: types and sizes of attributes, and lists whose elements could be items
//   - propose.go, names.go, shape.go, source.go: the model of an entity type, as a layout and as Go code
//   - reshape.go: functions for monoliths in other forms
//   - price.go, report.go: what the table and the model cost
//
// A report has no values of the data. Literals of keys that fewer than 5 partitions share, and names of map entries
// with more than 50 variants, are {...}. Package gate decides which other names are data.
package discover
