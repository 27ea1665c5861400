// Package mapperimpl is what generated code needs of the library. It is for code
// that itemize gen writes, and may change with it: a constant in each generated
// file stops the compiler where the two do not fit.
package mapperimpl

// Version is that of the generated code that this package works with.
const Version = 3

// EnforceVersion makes a generated file fail to compile where its version is another: a negative constant does not fit.
//
//	const _, _ = mapperimpl.EnforceVersion(3 - mapperimpl.Version), mapperimpl.EnforceVersion(mapperimpl.Version - 3)
type EnforceVersion uint
