// Package gen generates, for the models of Go packages, typed keys and queries, patches, and the code
// that the mapper uses in place of reflection.
//
// It works in three steps. Load finds the models of packages and what is wrong with them: it parses and
// type-checks, and takes the schema's own validator, the one that mapper.New uses. Generate returns
// files and diagnostics, and writes nothing. Whoever calls it, the command itemize or package codegen,
// decides what to do with them.
package gen
