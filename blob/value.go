package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/redact"
)

// Value is a large value that is read when it is asked for: the type of a field with chunk or s3= in
// its tag. A load of the item reads no more than the item, with the value's preview; a field of the
// type T is read with its item.
//
// The zero Value is nothing stored. A Value may be copied; a copy that is loaded reads from where the
// item lies that it was loaded of. T is encoded as attributevalue does it.
type Value[T any] struct{ cell }

type cell = large.Cell

// ErrChanged says that a Value was replaced, or its item deleted, since it was loaded, and what it was
// has been collected. The error that wraps it names the item.
var ErrChanged = large.ErrChanged

// Of returns a Value to be stored.
func Of[T any](v T) Value[T] {
	var x Value[T]
	x.Set(v)
	return x
}

// Set makes it a new value, which the next save of the item stores. An error of encoding v is the save's.
func (x *Value[T]) Set(v T) {
	av, err := attributevalue.Marshal(v)
	x.cell.Hold(av, err)
}

// SetReader makes it text or bytes that the next save of the item, or plan of one, reads from r to its
// end: what a save has in memory of them is some parts at one time. A value of more than 400 KB lies
// outside of its item then. A reader that is an io.ReaderAt and an io.Seeker too, as an *os.File is,
// has to stay open until the save is over, and is read from where it stands; what another one gives is
// kept in a temporary file, as what a codec makes of either is. After the save the Value is what is
// stored. A T that is neither text nor bytes is the save's error, as that of reading is.
func (x *Value[T]) SetReader(r io.Reader) {
	t := reflect.TypeFor[T]()
	switch {
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
	case t.Kind() == reflect.String:
		x.cell.HoldReader(r, large.Text)
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		x.cell.HoldReader(r, large.Binary)
		return
	}
	x.cell.Hold(nil, fmt.Errorf("SetReader is for text and bytes, and a %s is neither: use Set", t))
}

var marshaler = reflect.TypeFor[attributevalue.Marshaler]()

// Clear makes it nothing, so that the next save removes what is stored.
func (x *Value[T]) Clear() { x.cell.Clear() }

// IsZero reports whether there is nothing.
func (x Value[T]) IsZero() bool { return x.cell.Empty() }

// Get reads the value: from its parts, or its object; what lies in the item, or was Set, needs no
// request. It is checked by its length and SHA-256. Where it was replaced since it was loaded it is the
// old value, until that was collected: the error is ErrChanged then, and ErrCorrupt where it was not
// replaced and is not whole.
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
	return v, attributevalue.Unmarshal(av, &v)
}

// Reader reads text or bytes as a stream, in bounded memory: at most some parts at a time. The last
// Read tells by its error whether all of it was what was written: io.EOF says so, and ErrChanged or
// ErrCorrupt that what was read is to be thrown away. Close it.
func (x Value[T]) Reader(ctx context.Context) (io.ReadCloser, error) { return x.cell.Open(ctx) }

// Len returns how many bytes the value has that lies outside of its item: of text and bytes as they are, of others
// in DynamoDB's JSON; and of one that was given as a reader. ok is false of one that lies in its item, or is new.
func (x Value[T]) Len() (n int64, ok bool) {
	return x.cell.Size()
}

// Preview returns the beginning of text or bytes, which lies in the item (the tag preview=N): all of it
// where the value does. It makes no request.
func (x Value[T]) Preview() T {
	var v T
	if x.IsZero() {
		return v
	}
	av, err := x.cell.Beginning()
	if err == nil && av != nil {
		_ = attributevalue.Unmarshal(av, &v) // what cannot be read has no beginning
	}
	return v
}

// PresignGet returns an address at which anybody can read the object of a value for some time, without
// credentials: compressed, if the tag says so, with its Content-Encoding. Nothing of it is stored. The
// value may be replaced meanwhile: let the collector's Grace be as long as addresses are valid.
func (x Value[T]) PresignGet(ctx context.Context, valid time.Duration) (string, error) {
	address, err := x.cell.Presign(ctx, valid)
	if err != nil {
		return "", fmt.Errorf("blob: presigning: %w", err)
	}
	return address, nil
}

// Equal reports whether both are the same: new values that are encoded alike, or the same stored one. It reads nothing.
func (x Value[T]) Equal(y Value[T]) bool { return x.cell.Same(&y.cell) }

// MarshalDynamoDBAttributeValue is for itemize, which stores a large value by it.
func (x Value[T]) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	av, err := x.cell.Attribute()
	return av, redact.Safe(err)
}

// UnmarshalDynamoDBAttributeValue is for itemize, which tells the Value afterwards where it was read.
func (x *Value[T]) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	if av == nil {
		return errors.New("there is no value to keep")
	}
	if _, null := av.(*types.AttributeValueMemberNULL); null {
		x.cell.Clear()
		return nil
	}
	x.cell.Keep(av)
	return nil
}
