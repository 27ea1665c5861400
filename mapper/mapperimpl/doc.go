// Package mapperimpl has the functions that generated code calls. Only code that itemize gen writes
// should use it, and it may change. A constant in each generated file fails to compile if file and
// library do not fit together.
package mapperimpl

// Version is the version of generated code that this package works with.
const Version = 6

// EnforceVersion makes a generated file of another version fail to compile, because a negative constant
// does not fit:
//
//	const _, _ = mapperimpl.EnforceVersion(6 - mapperimpl.Version), mapperimpl.EnforceVersion(mapperimpl.Version - 6)
type EnforceVersion uint
