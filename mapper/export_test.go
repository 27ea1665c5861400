package mapper

import (
	"errors"
	"reflect"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
)

// NewReflected is New without generated code.
func NewReflected[T any](client Client, options ...Option) (*Mapper[T], error) {
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return newMapper[T](client, e, nil, options)
}

// CodecOf returns the codec of a model's generated code.
func CodecOf[T any](m codec.GeneratedModel[T]) codec.Model {
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	return codec.New(e, m.ItemizeCodec(nil).Table.Form, nil)
}

// Unchanged returns an error unless an entity is recognized as unchanged.
func (m *Mapper[T]) Unchanged(e *Entity[T]) error {
	if !e.state.Unchanged(&e.Value) {
		return errors.New("it has changed")
	}
	return nil
}

// Total is a row of totals.
type Total = total

// Rows returns the totals so far.
func (t *Totals) Rows() []Total { return t.sorted() }
