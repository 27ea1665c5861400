package large

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/redact"
)

// Value is a large value that is read on request: the type of a field with chunk or s3= in its tag. A
// load of the item reads only the item, with the preview of the value. (A field of the type T is read
// with its item.)
//
// The zero Value is empty. A Value may be copied; a loaded copy reads from the same item. T is encoded
// as by attributevalue.
type Value[T any] struct{ cell }

type cell = extern.Cell

// ErrChanged says that a Value was replaced, or its item deleted, after the load, and that the old
// value was collected. The error that wraps it names the item.
var ErrChanged = extern.ErrChanged

// Of returns a new Value.
func Of[T any](v T) Value[T] {
	var x Value[T]
	x.Set(v)
	return x
}

// Set sets a new value, which the next save of the item stores. If v cannot be encoded, the save
// returns the error.
func (x *Value[T]) Set(v T) {
	av, err := codec.Marshal(&v)
	x.cell.Hold(av, err)
}

// SetReader sets text or bytes from a reader. The next plan or save of the item reads r to its end,
// with a few parts in memory at a time. More than 400 KB are stored outside of the item.
//
// If r is also an io.ReaderAt and an io.Seeker, such as an *os.File, it is read from its present
// position. It must then stay open and unchanged until the save ends. The content of other readers, and
// the output of a codec, is kept in a temporary file. After the save the Value is the stored value. If
// T is neither text nor bytes, or reading fails, the save returns the error.
func (x *Value[T]) SetReader(r io.Reader) {
	t := reflect.TypeFor[T]()
	switch {
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
	case t.Kind() == reflect.String:
		x.cell.HoldReader(r, extern.Text)
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		x.cell.HoldReader(r, extern.Binary)
		return
	}
	x.cell.Hold(nil, fmt.Errorf("SetReader is for text and bytes, not for a %s: use Set", t))
}

var marshaler = reflect.TypeFor[attributevalue.Marshaler]()

// Clear empties the Value, so the next save removes the stored one.
func (x *Value[T]) Clear() { x.cell.Clear() }

// IsZero reports whether the Value is empty.
func (x Value[T]) IsZero() bool { return x.cell.Empty() }

// Get returns the value. It reads the parts or the object; a value inside the item, or from Set, needs
// no request. Length and SHA-256 are verified. If the value was replaced after the load, Get returns
// the old value until that is collected, and then ErrChanged. If a value that was not replaced is
// damaged, the error is ErrCorrupt.
func (x Value[T]) Get(ctx context.Context) (T, error) {
	var v T
	av, own, err := x.cell.Value(ctx)
	if err != nil || x.IsZero() {
		return v, err
	}
	if b, ok := av.(*types.AttributeValueMemberB); ok && own {
		if to, ok := any(&v).(*[]byte); ok {
			*to = b.Value
			return v, nil
		}
	}
	return v, codec.Unmarshal(av, &v)
}

// Reader reads text or bytes as a stream, with a few parts in memory at a time. The last Read verifies
// the value: io.EOF means that it is complete; after ErrChanged or ErrCorrupt, discard the data.
// Close the reader.
func (x Value[T]) Reader(ctx context.Context) (io.ReadCloser, error) { return x.cell.Open(ctx) }

// Len returns the size of an external value in bytes: of text and bytes as they are, of other values in
// DynamoDB's JSON. It also returns the size of a value from a reader. ok is false if the value is
// inside its item, or new.
func (x Value[T]) Len() (n int64, ok bool) {
	return x.cell.Size()
}

// Preview returns the first bytes of a text or bytes value, which are stored in the item (tag
// preview=N), or the whole value if it is in the item. It sends no request.
func (x Value[T]) Preview() T {
	var v T
	if x.IsZero() {
		return v
	}
	av, err := x.cell.Beginning()
	if err == nil && av != nil {
		_ = codec.Unmarshal(av, &v) // a value that cannot be decoded has an empty preview
	}
	return v
}

// PresignGet returns an address at which anyone can read the object of the value, without credentials,
// for the given time. If the tag says so, the object is compressed and has a Content-Encoding. The
// address is not stored. The value may be replaced in the meantime, so let the Grace of collections be
// at least as long.
func (x Value[T]) PresignGet(ctx context.Context, valid time.Duration) (string, error) {
	address, err := x.cell.Presign(ctx, valid)
	if err != nil {
		return "", fmt.Errorf("large: presigning: %w", err)
	}
	return address, nil
}

// Equal reports whether both are the same stored value, or new values with the same encoding. It reads
// nothing.
func (x Value[T]) Equal(y Value[T]) bool { return x.cell.Same(&y.cell) }

// MarshalDynamoDBAttributeValue is for itemize, which stores large values with it.
func (x Value[T]) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	av, err := x.cell.Attribute()
	return av, redact.Safe(err)
}

// UnmarshalDynamoDBAttributeValue is for itemize, which sets the source of the Value afterwards.
func (x *Value[T]) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	if av == nil {
		return errors.New("the value is empty: load or set it before Keep")
	}
	if _, null := av.(*types.AttributeValueMemberNULL); null {
		x.cell.Clear()
		return nil
	}
	x.cell.Keep(av)
	return nil
}
