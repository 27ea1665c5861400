// Package mapperimpl is what generated code needs of the library. It is for code
// that itemize gen writes, and may change with it: a constant in each generated
// file stops the compiler where the two do not fit.
package mapperimpl

// The versions of generated code that this package works with.
const (
	MinVersion = 3
	MaxVersion = 3
)

// EnforceVersion makes a generated file fail to compile where its version is not
// between MinVersion and MaxVersion: a negative constant does not fit.
//
//	const _, _ = mapperimpl.EnforceVersion(3 - mapperimpl.MinVersion), mapperimpl.EnforceVersion(mapperimpl.MaxVersion - 3)
type EnforceVersion uint
