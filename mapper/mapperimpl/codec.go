package mapperimpl

import "github.com/itemize/itemize/internal/codec"

// Model is implemented by models with generated code. The parameter of its method
// keeps a struct that embeds a model, and gets the method with it, from being taken
// for one.
type Model[T any] interface{ ItemizeCodec(*T) *Codec[T] }

// Codec is the generated codec of a model.
type Codec[T any] struct {
	// Layout is the fingerprint of the layout that the code was generated from.
	Layout string
	// Table is the form of the model.
	Table Form[T]
}

// Internal returns the table as the mapper uses it. It is for the mapper.
func (c *Codec[T]) Internal() *codec.Form { return c.Table.Untyped() }
