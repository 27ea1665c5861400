package mapperimpl

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/codec"
)

// Model is implemented by models with generated code. The parameter of its method
// keeps a struct that embeds a model, and gets the method with it, from being taken
// for one.
type Model[T any] interface{ ItemizeCodec(*T) *Codec[T] }

// Codec is the generated codec of a model.
type Codec[T any] struct {
	// Layout is the fingerprint of the layout that the code was generated from.
	Layout    string
	KeyFields KeyFields[T]
	// Items are in the order of the layout's items.
	Items []Item[T]
}

// KeyFields reads and writes the model's fields that keys name, by their index in the
// layout.
type KeyFields[T any] struct {
	Get   func(v *T, i int) (Value, error)
	Set   func(v *T, i int, value Value) error
	Same  func(a, b *T) bool
	Clone func(dst, src *T)
}

// Item is the codec of one kind of item: made by Singleton, Slice, PointerSlice,
// Map or PointerMap.
type Item[T any] struct {
	record   codec.Record
	elements codec.Elements
}

// Record is the codec of an item's records of type R: the model itself for a
// singleton, an element for others. Attributes and sources are given by their
// index in the layout.
type Record[R any] struct {
	Encode func(r *R, attribute int) (types.AttributeValue, error)
	Decode func(r *R, attribute int, value types.AttributeValue) error
	Same   func(a, b *R, attribute int) bool
	Equal  func(a, b *R) bool
	Clone  func(dst, src *R)
	// Present and Allocate are nil for elements.
	Present  func(r *R) bool
	Allocate func(r *R)
	// Expiry is nil for an item without one.
	Expiry func(r *R) (time.Time, bool)
	// Key and SetKey are nil where the key names nothing of the record.
	Key    func(r *R, source int) (Value, error)
	SetKey func(r *R, source int, value Value) error
}

// Singleton returns the codec of a singleton.
func Singleton[T any](r Record[T]) Item[T] { return Item[T]{record: &record[T]{r}} }

// Internal returns the codec as the mapper uses it. It is for the mapper.
func (c *Codec[T]) Internal() codec.Model { return &model[T]{c} }

type model[T any] struct{ c *Codec[T] }

func (m *model[T]) New() any                                { return new(T) }
func (m *model[T]) KeyField(v any, i int) (Value, error)    { return m.c.KeyFields.Get(v.(*T), i) }
func (m *model[T]) SetKeyField(v any, i int, x Value) error { return m.c.KeyFields.Set(v.(*T), i, x) }
func (m *model[T]) SameKeyFields(a, b any) bool             { return m.c.KeyFields.Same(a.(*T), b.(*T)) }
func (m *model[T]) CloneKeyFields(dst, src any)             { m.c.KeyFields.Clone(dst.(*T), src.(*T)) }
func (m *model[T]) Record(item int) codec.Record            { return m.c.Items[item].record }
func (m *model[T]) Elements(item int) codec.Elements        { return m.c.Items[item].elements }

// record makes a Record a codec.Record.
type record[R any] struct{ r Record[R] }

func (x *record[R]) Encode(rec any, a int) (types.AttributeValue, error) {
	return x.r.Encode(rec.(*R), a)
}

func (x *record[R]) Decode(rec any, a int, v types.AttributeValue) error {
	return x.r.Decode(rec.(*R), a, v)
}

func (x *record[R]) Same(a, b any, i int) bool { return x.r.Same(a.(*R), b.(*R), i) }
func (x *record[R]) Equal(a, b any) bool       { return x.r.Equal(a.(*R), b.(*R)) }
func (x *record[R]) Clone(dst, src any)        { x.r.Clone(dst.(*R), src.(*R)) }

func (x *record[R]) Present(rec any) bool { return x.r.Present == nil || x.r.Present(rec.(*R)) }

func (x *record[R]) Allocate(rec any) {
	if x.r.Allocate != nil {
		x.r.Allocate(rec.(*R))
	}
}

func (x *record[R]) Expiry(rec any) (time.Time, bool) {
	if x.r.Expiry == nil {
		return time.Time{}, false
	}
	return x.r.Expiry(rec.(*R))
}

func (x *record[R]) Key(rec any, source int) (Value, error) { return x.r.Key(rec.(*R), source) }

func (x *record[R]) SetKey(rec any, source int, v Value) error {
	return x.r.SetKey(rec.(*R), source, v)
}
