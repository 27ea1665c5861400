package mapperimpl

import "github.com/itemize/itemize/internal/model/codec"

// Codec is the generated codec of a model.
type Codec[T any] = codec.Generated[T]
