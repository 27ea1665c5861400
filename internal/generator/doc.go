// Package generator generates, for the models of Go packages, typed keys and queries, patches, and the code
// that the mapper uses in place of reflection.
//
// It works in three steps. Load finds the models of packages and their faults: it parses and
// type-checks them, and uses the validator of package schema, as mapper.New does. Generate returns
// files and diagnostics, and writes nothing. The caller, the command itemize or package codegen,
// decides whether to write the files.
package generator
