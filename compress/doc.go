// Package compress has the codecs that compress values by the tag compress=, beyond gzip and zlib,
// which every mapper knows. A mapper of a model that names one of them, or that reads what one of them
// has written, is given its option:
//
//	m, err := mapper.New[User](client, compress.Zstd())
//
// It is a module of its own, so that programs without these codecs do not depend on their libraries.
// Frames are the standard ones of each codec, which other languages' libraries read.
package compress
