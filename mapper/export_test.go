package mapper

import (
	"reflect"

	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/schema"
)

// NewReflected is New without generated code.
func NewReflected[T any](client Client, options ...Option) (*Mapper[T], error) {
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return newMapper[T](client, e, codec.Reflected(e), options)
}
