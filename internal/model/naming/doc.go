// Package naming has the ways by which names from stored data and from the code of users reach messages, written files
// and reports.
//
//   - near.go: the name that a misspelled word may mean
//   - data.go: names that are data, and stay out of every output
//   - text.go: how a name is written in Go, in a tag, in a comment, in a shell, in YAML and in HCL
//
// JSON and HTML are escaped by encoding/json and html/template.
package naming
