// Package compress has the codecs of the tag compress= that are not in Go's standard library. (Every
// mapper has gzip and zlib.) A mapper needs the option of a codec if its model names the codec, or if
// stored values use it:
//
//	m, err := mapper.New[User](client, compress.Zstd())
//
// It is a separate module, so programs without these codecs do not depend on their libraries. The
// frames are the standard ones of each codec, which libraries of other languages read.
package compress
